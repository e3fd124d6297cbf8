"""Read path: complete pages, no duplicates, counts with precision, odd values."""

from __future__ import annotations

import math
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from queries.contract import detect
from queries.db.errors import DatabaseError, UnknownIdError
from queries.read import details, search
from queries.records.node import Match, Page, Phase, Precision
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer, both_versions

pytestmark = pytest.mark.fast

Fetch = Callable[[str | None], Awaitable[Page]]


async def everything(fetch: Fetch) -> list[str]:
    """Return the ids of all pages, in order."""
    ids, cursor = [], None
    for _ in range(500):
        page = await fetch(cursor)
        assert page.scan_required is None
        ids += [node.id for node in page.nodes]
        cursor = page.cursor
        if cursor is None:
            return ids
    raise AssertionError("paging does not end")


async def ids_of(eternaltwin_db: EternaltwinDb, kind: str, query: str, *arguments: Any) -> list[str]:
    return [eternaltwin_db.id(row[0], kind) for row in await eternaltwin_db.connection.fetch(query, *arguments)]


# Pages

TIMES = ["2024-02-29 12:00:00.001+00", "2024-02-29 12:00:00.002+00", "2023-01-01+00", "infinity", "-infinity",
         "294276-12-31 23:59:59.999+00", "4713-01-01 00:00:00+00 BC", "1999-12-31 23:59:59.999+00"]  # fmt: skip
LATER = [*TIMES[:4], "294276-12-31 23:59:59.999+00"]


async def random_rows(eternaltwin_db: EternaltwinDb, rng: Random, jobs: int, tasks: int) -> None:
    """Write random jobs, tasks and timers.

    Many rows have the same time. Some tasks were never polled, and some have several timers.
    """
    await eternaltwin_db.sql("TRUNCATE job, task, task_timer")
    ids = [uuid.UUID(int=rng.getrandbits(128)) for _ in range(jobs)]
    await eternaltwin_db.connection.executemany(
        "INSERT INTO job VALUES ($1, $2::text::timestamptz, NULL, '')", [(i, rng.choice(TIMES)) for i in ids]
    )
    rows = []
    for _ in range(tasks):
        polled = rng.choice([None, *LATER, *LATER])
        created = "-infinity" if polled else rng.choice(TIMES)
        salt = rng.choice([0, 1, 65535])
        status = rng.choice(["Available", "Blocked", "Complete"])
        rows.append((uuid.UUID(int=rng.getrandbits(128)), rng.choice(ids), created, polled, salt, status))
    await eternaltwin_db.connection.executemany(
        "INSERT INTO task SELECT $1, $2, 'Kind', 1, $3::text::timestamptz,"
        " CASE WHEN $4::text IS NOT NULL THEN row($4::text::timestamptz, $5::int)::job_tick END,"
        " 0, $6::text::task_status, '0', '0', '', NULL",
        rows,
    )
    timers = {(rng.choice(TIMES), row[0]) for row in rows for _ in range(rng.randrange(4)) if row[5] != "Available"}
    await eternaltwin_db.connection.executemany(
        "INSERT INTO task_timer VALUES ($1::text::timestamptz, $2)", sorted(timers)
    )


LIVE = """
SELECT task_id FROM task LEFT JOIN LATERAL (SELECT min(deadline) AS due FROM task_timer m
                                             WHERE m.task_id = task.task_id) AS m ON true
 WHERE status <> 'Complete'
 ORDER BY status, CASE WHEN status = 'Available' THEN polled_at END, m.due, task_id
"""


@both_versions
async def test_pages_cover_everything_exactly_once_in_order(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = await opened(eternaltwin, tmp_path)
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    large = await opened(eternaltwin, tmp_path)
    for seed in range(12):
        rng = Random(seed)
        await random_rows(eternaltwin_db, rng, jobs=rng.randint(1, 12), tasks=rng.randint(0, 40))
        pages = [rng.randint(1, 7) for _ in range(5)]
        roots = await everything(lambda c: reader(small).pages.roots(c, limit=pages[0]))  # noqa: B023
        newest = "SELECT job_id FROM job ORDER BY created_at DESC, job_id DESC"
        assert roots == await ids_of(eternaltwin_db, "job", newest)
        assert await everything(lambda c: reader(large).pages.roots(c, limit=pages[1])) == sorted(roots)  # noqa: B023
        live = await everything(lambda c: reader(small).pages.live(c, limit=pages[2]))  # noqa: B023
        assert live == await ids_of(eternaltwin_db, "task", LIVE)
        some = set(await everything(lambda c: reader(large).pages.live(c, limit=pages[3])))  # noqa: B023
        assert some == set(
            await ids_of(
                eternaltwin_db,
                "task",
                "SELECT task_id FROM task t WHERE status = 'Available' OR status = 'Blocked' AND EXISTS"
                " (SELECT FROM task_timer m WHERE m.task_id = t.task_id)",
            )
        )  # fmt: skip
        for job in roots:
            children = await everything(lambda c: reader(small).pages.children(job, c, limit=pages[4]))  # noqa: B023
            oldest = "SELECT task_id FROM task WHERE job_id = $1 ORDER BY created_at, task_id"
            assert children == await ids_of(eternaltwin_db, "task", oldest, uuid.UUID(job.rpartition(":")[2]))
    await small.close()
    await large.close()


async def test_a_tick_without_a_time_is_no_tick(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    """row(NULL, NULL) IS NULL, yet is not NULL: it sorts before it."""
    await eternaltwin_db.tasks([await eternaltwin_db.job()] * 9, polled=None)
    await eternaltwin_db.sql(
        "UPDATE task SET polled_at = row(NULL, NULL)::job_tick WHERE get_byte(uuid_send(task_id), 0) % 2 = 0"
    )
    live = await everything(lambda c: reader(workspace).pages.live(c, limit=2))
    assert sorted(live) == await ids_of(eternaltwin_db, "task", "SELECT task_id FROM task ORDER BY task_id")


async def test_nodes_have_the_requested_order_and_missing_ones_are_skipped(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    tasks = [await eternaltwin_db.task() for _ in range(3)]
    gone, odd = eternaltwin_db.id(uuid.uuid4()), f"{LABEL}/task:x'; --"
    ids = [eternaltwin_db.id(tasks[2]), gone, odd, eternaltwin_db.id(tasks[0])]
    page = await reader(workspace).nodes.read(ids)
    assert [n.id for n in page.nodes] == [ids[0], ids[3]]
    assert (await reader(workspace).nodes.read([])).nodes == ()
    assert await details.read(reader(workspace), gone) is None
    assert await details.read(reader(workspace), odd) is None
    assert (await reader(workspace).pages.children(eternaltwin_db.id(uuid.uuid4(), "job"))).nodes == ()


@both_versions
async def test_a_node_says_what_is_recorded(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    job = await eternaltwin_db.job(age=7200)
    task = await eternaltwin_db.task(
        job, status="Blocked", timer=90, polled=30, age=600, revision=12, cpu=1.5, poll=2.25
    )
    page = await reader(workspace).nodes.read([eternaltwin_db.id(task), eternaltwin_db.id(job, "job")])
    node, root = page.nodes
    assert (node.kind, node.title, node.status, node.phase) == ("task", "SendEmail v1", "Blocked", Phase.SCHEDULED)
    assert (node.parent_id, node.job_id, node.revision) == (
        eternaltwin_db.id(job, "job"),
        eternaltwin_db.id(job, "job"),
        12,
    )
    assert (node.cpu, node.poll, node.owner, node.heartbeat_at, node.error) == (1.5, 2.25, None, None, None)
    assert node.due_at is not None
    assert page.at + 88 < node.due_at < page.at + 91
    assert page.at - 602 < (node.created_at or 0) < page.at - 599
    assert page.at - 32 < (node.changed_at or 0) < page.at - 29
    assert (root.title, root.phase, root.status) == ("SendEmail v1 - 0/1", Phase.SCHEDULED, None)
    assert (root.revision, root.cpu, root.poll) == (12, 1.5, 2.25)


@pytest.mark.parametrize(
    ("statuses", "phase"),
    [
        (["Complete", "Complete"], Phase.DONE),
        (["Complete", "Sleeping"], Phase.SCHEDULED),
        (["Available", "Sleeping"], Phase.READY),
        (["Available", "Sleeping", "Waiting"], Phase.BLOCKED),
        ([], Phase.UNKNOWN),
    ],
)
async def test_a_job_has_the_worst_phase_of_its_tasks(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, statuses: list[str], phase: Phase
) -> None:
    job = await eternaltwin_db.job()
    for status in statuses:
        native = status if status in ("Available", "Complete") else "Blocked"
        await eternaltwin_db.task(job, status=native, timer=60 if status == "Sleeping" else None)
    assert (await reader(workspace).nodes.read([eternaltwin_db.id(job, "job")])).nodes[0].phase == phase


# Finding by text


@both_versions
async def test_find_by_id_and_prefix_and_search_by_kind(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, kind="ArchiveUser")
    other = await eternaltwin_db.task(kind="Sleep", age=50)

    async def find(text: str) -> list[str]:
        return [n.id for n in (await search.find(reader(workspace), text)).nodes]

    key = str(task)
    for text in (key, key.upper(), key.replace("-", ""), key[:13], eternaltwin_db.id(task), f"task:{key}"):
        assert await find(text) == [eternaltwin_db.id(task)], text
    assert await find(str(job)) == [eternaltwin_db.id(job, "job")]
    for text in ("%", "_", "\\", "nothing", "-", "'; --", "é", "\x00"[:0] + "zz", key + "0"):
        assert await find(text) == [], text
        assert (await search.find_texts(reader(workspace), text)).hits == (), text
    kinds = await search.find_texts(reader(workspace), "chiveus")
    assert [(hit.node.id, hit.matched) for hit in kinds.hits] == [(eternaltwin_db.id(task), Match.TITLE)]
    assert {n.id for n in (await search.find_texts(reader(workspace), "e")).nodes} == {
        eternaltwin_db.id(i) for i in (task, other)
    }
    first = await search.find_texts(reader(workspace), "e", limit=1)
    assert (len(first.hits), first.capped) == (1, True)


# What would be costly


@both_versions
async def test_what_would_scan_a_large_table_is_offered_instead(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, status="Blocked", timer=60)
    await eternaltwin_db.sql("ANALYZE")
    workspace = await opened(eternaltwin, tmp_path)
    node = eternaltwin_db.id(job, "job")
    page = await reader(workspace).pages.children(node)
    assert page.nodes == ()
    assert page.at > 0
    assert page.scan_required is not None
    assert page.scan_required.need == "task_by_job"
    assert page.scan_required.blocks == 1
    ddl = "CREATE INDEX CONCURRENTLY task__job_id__created_at__idx ON task (job_id, created_at, task_id)"
    assert page.scan_required.ddl == ddl
    asked = await reader(workspace).pages.children(node, allow_scan=True)
    assert [n.id for n in asked.nodes] == [eternaltwin_db.id(task)]
    assert asked.scan_required is None

    root, leaf = (await reader(workspace).nodes.read([node, eternaltwin_db.id(task)])).nodes
    assert (root.title, root.phase, root.cpu, root.revision) == ("job", Phase.UNKNOWN, None, None)
    assert (leaf.status, leaf.phase) == ("Blocked", Phase.SCHEDULED), "it is among the timers that are due first"
    assert leaf.due_at == pytest.approx(leaf.created_at + 600 + 60, abs=30)
    before = "INSERT INTO task_timer SELECT now() - make_interval(secs => n), $1 FROM generate_series(1, 5000) n"
    await eternaltwin_db.sql(before, await eternaltwin_db.task())
    (leaf,) = (await reader(workspace).nodes.read([eternaltwin_db.id(task)])).nodes
    assert (leaf.status, leaf.phase, leaf.due_at) == ("Blocked", Phase.UNKNOWN, None), "it may have one beyond those"
    detail = await details.read(reader(workspace), eternaltwin_db.id(task))
    assert detail is not None
    assert {s.name for s in detail.sections if s.scan_required} == {"timers"}

    await eternaltwin_db.sql("CREATE INDEX ON task (job_id)")
    await workspace.detect()
    page = await reader(workspace).pages.children(node)
    assert [n.id for n in page.nodes] == [eternaltwin_db.id(task)]
    await workspace.close()


# Counts


async def counts(workspace: Workspace) -> dict[str, tuple[int | None, Precision]]:
    return {c.phase.value: (c.n, c.precision) for c in await reader(workspace).nodes.counts()}


@both_versions
async def test_counts_are_exact_or_say_how_they_were_measured(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact, about, unknown = Precision.EXACT, Precision.ESTIMATED, Precision.UNKNOWN
    jobs = [await eternaltwin_db.job()] * 10
    await eternaltwin_db.tasks(jobs * 3, status="Complete")
    await eternaltwin_db.tasks(jobs, status="Available")
    await eternaltwin_db.tasks(jobs[:7], status="Blocked", timer=60)
    await eternaltwin_db.tasks(jobs[:4], status="Blocked")
    small = await opened(eternaltwin, tmp_path)
    whole = {"ready": (10, exact), "scheduled": (7, exact), "blocked": (4, exact), "done": (30, exact)}
    assert await counts(small) == whole

    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    large = await opened(eternaltwin, tmp_path)
    nothing = {"ready": (10, exact), "scheduled": (7, about), "blocked": (None, unknown), "done": (None, unknown)}
    assert await counts(large) == nothing, "never 0 where it is not known"
    await eternaltwin_db.sql("ANALYZE task")
    assert await counts(large) == {**whole, "scheduled": (7, about), "blocked": (4, about), "done": (30, about)}
    await eternaltwin_db.sql("DELETE FROM task WHERE status = 'Complete'; ANALYZE task")
    assert (await counts(large))["done"] == (0, about)

    await eternaltwin_db.tasks(jobs * 1000 + jobs[:1], status="Available", polled=None, revision=0)
    await eternaltwin_db.timers(await eternaltwin_db.tasks(jobs * 1000, status="Blocked"), 60)
    assert await counts(large) == {
        "ready": (10_000, Precision.CAPPED), "scheduled": (10_000, Precision.CAPPED), "blocked": (None, unknown),
        "done": (0, about),
    }  # fmt: skip
    await small.close()
    await large.close()


@both_versions
async def test_statistics_that_may_not_be_read_are_none(
    eternaltwin_db: EternaltwinDb,
    server: PostgresServer,
    eternaltwin: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(
        f"GRANT SELECT ON job, task_timer TO {role}; GRANT SELECT (task_id, status, polled_at) ON task TO {role}",
        eternaltwin,
    )
    await eternaltwin_db.task()
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    assert (await counts(workspace))["done"] == (None, Precision.UNKNOWN)
    with pytest.raises(DatabaseError, match="Permission denied for table task"):
        await reader(workspace).pages.live()
    await workspace.close()


# Odd values


@both_versions
async def test_times_at_the_ends_of_the_range_and_intervals_with_months(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    ends = ["infinity", "-infinity", "294276-12-31 23:59:59.999+00", "4713-01-01 00:00:00+00 BC"]
    job = await eternaltwin_db.job()
    tasks = await eternaltwin_db.tasks([job] * 4, status="Blocked", polled=None)
    for task, end in zip(tasks, ends, strict=True):
        await eternaltwin_db.sql(
            "UPDATE task SET created_at = '-infinity', polled_at = row($2::text::timestamptz, 9)::job_tick,"
            " cpu_duration = '13 months 3 days 04:05:06.7', poll_duration = '170000000 years' WHERE task_id = $1",
            *(task, end),
        )
        await eternaltwin_db.sql("INSERT INTO task_timer VALUES ($2::text::timestamptz, $1)", task, end)
    page = await reader(workspace).nodes.read([*map(eternaltwin_db.id, tasks), eternaltwin_db.id(job, "job")])
    assert [n.due_at for n in page.nodes[:2]] == [math.inf, -math.inf]
    assert [n.changed_at for n in page.nodes[:2]] == [math.inf, -math.inf]
    assert page.nodes[2].due_at == pytest.approx(9224318015999.999)
    assert page.nodes[3].due_at == pytest.approx(-210863520000.0 + 86400 * 38, abs=86400 * 400)
    month, year = 30 * 86400, 365.25 * 86400
    cpu = year + month + 3 * 86400 + 4 * 3600 + 5 * 60 + 6.7
    assert page.nodes[0].cpu == pytest.approx(cpu)
    assert page.nodes[4].cpu == pytest.approx(4 * cpu)
    assert page.nodes[4].poll == pytest.approx(4 * 170000000 * year), "more than an interval can hold"
    for node in page.nodes:
        detail = await details.read(reader(workspace), node.id)
        assert detail is not None
        assert {s.name for s in detail.sections} >= ({"timers", "times"} if node.kind == "task" else {"tasks"})
    live = await everything(lambda c: reader(workspace).pages.live(c, limit=1))
    assert live == [eternaltwin_db.id(tasks[n]) for n in (1, 3, 2, 0)]
    assert (await reader(workspace).findings.read()).skipped_findings == ()


@pytest.mark.parametrize(
    ("tasks", "row"), [(1000, ("SendEmail v1", "Available", "1000")), (1001, ("too many to sum", None, "1,000+"))]
)
async def test_the_tasks_of_a_large_job_are_not_summed(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, tasks: int, row: tuple[str | None, ...]
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.tasks([job] * tasks)
    detail = await details.read(reader(workspace), eternaltwin_db.id(job, "job"))
    assert detail is not None
    (section,) = (s for s in detail.sections if s.name == "tasks")
    assert [r[:3] for r in section.rows] == [row]


async def test_of_a_large_state_only_the_beginning_is_sent(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    state = b'{"log":"' + b"\xf0\x9f\x8e\x89" * 2_600_000 + b'"}'
    task = await eternaltwin_db.task(state=state, output=b"")
    detail = await details.read(reader(workspace), eternaltwin_db.id(task))
    assert detail is not None
    sections = {s.name: s for s in detail.sections}
    assert [*sections] == ["why", *sorted(sections.keys() - {"why"})]
    payload = sections["state"].payload
    assert payload is not None
    assert (payload.head, payload.size) == (state[:65536], len(state))
    output = sections["output"].payload
    assert output is not None
    assert (output.head, output.size) == (b"", 0)
    more = await details.read(reader(workspace), eternaltwin_db.id(task), size=1 << 20)
    assert more is not None
    assert {len(s.payload.head) for s in more.sections if s.name == "state" and s.payload} == {1 << 20}


async def test_text_that_cannot_be_sent(workspace: Workspace) -> None:
    for text in ("\udcff", "a\0b"):
        with pytest.raises(DatabaseError) as caught:
            await search.find(reader(workspace), text)
        assert caught.value.code.startswith("22")
    assert (await reader(workspace).pages.live()).nodes == ()


async def test_bytes_of_any_kind_and_names_of_any_length(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    raw = bytes(range(256))
    job = await eternaltwin_db.job(state=raw)
    task = await eternaltwin_db.task(job, state=raw, kind="A" * 32, version=4294967295, revision=4294967295)
    detail = await details.read(reader(workspace), eternaltwin_db.id(task))
    assert detail is not None
    assert detail.node.title == f"{'A' * 32} v4294967295"
    assert {s.payload.head for s in detail.sections if s.payload} == {raw}


async def test_what_names_nothing_is_said_so(workspace: Workspace) -> None:
    for text, said in (
        ("nonsense", "not a node id"),
        ("other/task:1", "There is no engine 'other' here; there is eternaltwin."),
        (f"{LABEL}/step:1", "eternaltwin has no nodes of kind 'step'; its kinds are job, task, runner."),
    ):
        with pytest.raises(UnknownIdError, match=said):
            workspace.reader(text)


async def test_the_runner_is_a_node_too(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    runner = f"{LABEL}/runner:runner"
    (node,) = (await reader(workspace).nodes.read([runner])).nodes
    assert (node.phase, node.changed_at) == (Phase.UNKNOWN, None)
    await eternaltwin_db.task(polled=2, status="Complete")
    (node,) = (await reader(workspace).nodes.read([runner])).nodes
    assert node.phase == Phase.RUNNING
    assert await details.read(reader(workspace), runner) is not None


async def test_a_page_names_what_is_stuck_below(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    """A node that waits for a stuck one has no finding of its own, and leads to it."""
    job = await eternaltwin_db.job(age=7200)
    await eternaltwin_db.task(job, status="Blocked", polled=60, timer=600)
    late = await eternaltwin_db.task(job, status="Blocked", timer=-600)
    detail = await details.read(reader(workspace), eternaltwin_db.id(job, "job"))
    assert detail is not None
    assert detail.children is not None
    assert detail.findings == ()
    assert {child.id: child.findings for child in detail.children.nodes if child.findings} == {
        eternaltwin_db.id(late): ("overdue_timer",)
    }
