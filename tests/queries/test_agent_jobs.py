"""Reads of agent_jobs: detection, profile, trees, findings and unusual rows."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from queries.db.errors import DatabaseError
from queries.read import details, search
from queries.read.reader import Reader
from queries.records.action import Proof
from queries.records.finding import Finding
from queries.records.node import Node, Phase, Precision
from queries.workspace import Workspace
from tests.db.agent_jobs import ANNA, BERT, LABEL, STATUSES, AgentJobsDb
from tests.proof import most_in_proof
from tests.queries import plans
from tests.queries.builders import local, opened
from tests.queries.incident_groups import incidents_of
from tests.servers import both_versions

with_and_without = pytest.mark.parametrize("index", ["SELECT", "CREATE INDEX ON jobs (status, created_at, id)"])
SIX = "CHECK (status IN ('pending', 'active', 'completed', 'failed', 'delayed', 'paused'))"


def reader(workspace: Workspace) -> Reader:
    return workspace.engines[LABEL]


async def node(workspace: Workspace, node_id: str) -> Node:
    (found,) = (await reader(workspace).nodes.read([f"{LABEL}/{node_id}"])).nodes
    return found


async def found(workspace: Workspace, code: str) -> list[Finding]:
    return [f for f in (await reader(workspace).findings.read()).findings if f.code == code]


async def all_of(workspace: Workspace, parent: str | None, size: int = 2) -> list[str]:
    """Return all children, or all roots, in small pages."""
    ids: list[str] = []
    cursor = None
    while True:
        look = reader(workspace)
        page = await (
            look.pages.children(f"{LABEL}/{parent}", cursor, size) if parent else look.pages.roots(cursor, size)
        )
        ids += local(page)
        cursor = page.cursor
        if cursor is None:
            return ids


# Detection

ALIKE = {
    "no agents": "DROP TABLE agents CASCADE",
    "agents made again": "DROP TABLE agents CASCADE; CREATE TABLE agents (id uuid PRIMARY KEY, profile jsonb)",
    "agents without a profile": "ALTER TABLE agents DROP COLUMN profile",
    "more columns": "ALTER TABLE jobs ADD COLUMN tenant text, ADD COLUMN result jsonb",
    "no indexes": "DROP INDEX idx_jobs_agent_id_created_at, idx_jobs_user_status_created_at",
    "another CHECK of the same words": "ALTER TABLE jobs DROP CONSTRAINT jobs_status_chk,"
    f" ADD CONSTRAINT other {SIX.replace('IN (', '= ANY (ARRAY[').replace('))', ']))')}",
    "text": "ALTER TABLE jobs ALTER status TYPE text, ALTER job_id TYPE text, ALTER error TYPE varchar(10000)",
}


@both_versions
@pytest.mark.parametrize("change", ALIKE.values(), ids=ALIKE)
async def test_what_it_is_recognised_by(agent_jobs_db: AgentJobsDb, tmp_path: Path, change: str) -> None:
    job = await agent_jobs_db.job()
    await agent_jobs_db.sql(f"{change}; CREATE SCHEMA app; ALTER TABLE jobs SET SCHEMA app")
    await agent_jobs_db.sql("ALTER TABLE IF EXISTS agents SET SCHEMA app")
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    look = reader(workspace)
    assert look.detected.schema == "app"
    (agent,) = (await look.pages.roots()).nodes
    assert local(await look.pages.children(agent.id)) == [f"job:{job}"]
    codes = [f.code for f in (await look.findings.read()).findings]
    assert codes == (["missing_agent"] if change == ALIKE["agents made again"] else [])
    await workspace.close()


# Profiles and options


@both_versions
@pytest.mark.parametrize(
    ("status", "started", "profile"),
    [
        ("pending", None, "mirror"),
        ("failed", None, "mirror"),
        ("completed", None, "mirror"),
        ("active", None, "table"),
        ("delayed", None, "table"),
        ("paused", None, "table"),
        ("completed", 50, "table"),
    ],
)
async def test_the_profile_is_recognised_by_what_only_an_executor_of_the_table_writes(
    agent_jobs_db: AgentJobsDb, tmp_path: Path, status: str, started: float | None, profile: str
) -> None:
    await agent_jobs_db.job("completed", ended=30, user=BERT)
    await agent_jobs_db.job(status, started=started, ended=40 if status in ("completed", "failed") else None)
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    look = reader(workspace)
    assert look.engine.settings["profile"] == profile
    assert [n for n in look.variant.notes if n.startswith(f"profile: {profile} (")]
    assert any(v.name == "mark_failed" for v in look.engine.actions_of("job")) == (profile == "mirror")
    await workspace.close()


async def test_the_operators_word_goes_before_what_is_recognised(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.job("active")
    workspace = await opened(agent_jobs_db.dsn, tmp_path, overrides={LABEL: {"profile": "mirror"}})
    assert reader(workspace).variant.notes == ("profile: mirror (from the settings)",)
    await workspace.close()
    with pytest.raises(DatabaseError, match="it is one of mirror, table"):
        await opened(agent_jobs_db.dsn, tmp_path, overrides={LABEL: {"profile": "bull"}})


async def test_an_option_is_chosen_at_run_time_and_survives_a_new_look(
    agent_jobs_db: AgentJobsDb, tmp_path: Path
) -> None:
    job = await agent_jobs_db.job()
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    assert (await node(workspace, f"job:{job}")).parent_id != f"{LABEL}/user:{ANNA}"
    reader(workspace).variant.set_option("group", "user")
    assert local(await reader(workspace).pages.roots()) == [f"user:{ANNA}"]
    assert (await node(workspace, f"job:{job}")).parent_id == f"{LABEL}/user:{ANNA}"
    assert "group: user (chosen here)" in reader(workspace).variant.notes
    await workspace.detect()
    assert reader(workspace).engine.settings["group"] == "user"
    for option, value in (("group", "planet"), ("colour", "red")):
        with pytest.raises(DatabaseError):
            reader(workspace).variant.set_option(option, value)
    await workspace.close()


async def test_what_has_drifted_is_noted(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.sql("ALTER TABLE jobs DROP CONSTRAINT jobs_agent_id_fkey")
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    assert any(note.startswith("foreign key: missing") for note in reader(workspace).variant.notes)
    await workspace.close()


# Trees


@both_versions
@pytest.mark.parametrize("group", ["agent", "user"])
async def test_trees_by_agent_and_by_user(agent_jobs_db: AgentJobsDb, mirror: Workspace, group: str) -> None:
    agents = sorted([await agent_jobs_db.agent(user, f"agent {n}") for n, user in enumerate((ANNA, ANNA, BERT))])
    jobs: dict[UUID, list[UUID]] = {}
    for n, status in enumerate(STATUSES * 3):
        agent = agents[n % 3]
        owner = ANNA if n % 2 else BERT
        ended = 10 if status in ("completed", "failed") else None
        made = await agent_jobs_db.job(status, age=1000 - n * 10, agent=agent, user=owner, ended=ended)
        jobs.setdefault(agent if group == "agent" else owner, []).append(made)
    reader(mirror).variant.set_option("group", group)
    assert await all_of(mirror, None) == [f"{group}:{key}" for key in sorted(jobs)]
    for key, made in jobs.items():
        assert await all_of(mirror, f"{group}:{key}", 4) == [f"job:{j}" for j in reversed(made)]
    live = [j for made in jobs.values() for j in made if (await agent_jobs_db.row(j))["completed_at"] is None]
    first = await reader(mirror).pages.live(limit=5)
    rest = await reader(mirror).pages.live(first.cursor)
    times = [n.created_at or 0 for n in (*first.nodes, *rest.nodes)]
    assert sorted(times) == times, "oldest first"
    assert set(local(first) + local(rest)) == {f"job:{j}" for j in live}
    assert len(times) == len(live)


@both_versions
@pytest.mark.parametrize("time", ["-infinity", "2024-05-06 07:08:09", "2024-05-06 07:08:09.123456", "infinity"])
@with_and_without
async def test_a_list_shows_the_same_job_as_its_id(
    agent_jobs_db: AgentJobsDb, tmp_path: Path, time: str, index: str
) -> None:
    for status in STATUSES:
        await agent_jobs_db.job(
            status, error='"?" \\ \t' if status == "failed" else None, ended=1, number=f"no {status}"
        )
    await agent_jobs_db.sql(
        "UPDATE jobs SET created_at = $1::text::timestamptz, updated_at = $1::text::timestamptz,"
        " completed_at = CASE WHEN completed_at IS NOT NULL THEN $1::text::timestamptz END",
        time,
    )
    await agent_jobs_db.sql(index)
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    job = await agent_jobs_db.connection.fetchrow("SELECT agent_id, job_id, id FROM jobs LIMIT 1")
    for group in ("agent", "user"):
        reader(workspace).variant.set_option("group", group)
        lists = [
            ((await reader(workspace).pages.live()).nodes, 4),
            ((await reader(workspace).pages.children(f"{LABEL}/agent:{job['agent_id']}")).nodes, 6),
            ((await reader(workspace).pages.children(f"{LABEL}/user:{ANNA}")).nodes, 6),
            (tuple(dead_letter.node for dead_letter in (await reader(workspace).pages.dead()).dead_letters), 1),
            ((await search.find(reader(workspace), job["job_id"])).nodes, 1),
            ((await search.find(reader(workspace), str(job["id"])[:20])).nodes, 1),
        ]
        for nodes, number in lists:
            assert repr(nodes) == repr((await reader(workspace).nodes.read(n.id for n in nodes)).nodes)
            assert len(nodes) == number
    await workspace.close()


@both_versions
async def test_a_job_is_had_by_its_place_until_it_moves(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    await agent_jobs_db.sql(
        "INSERT INTO jobs (job_id, agent_id, user_id) SELECT n, $1, $2 FROM generate_series(1, 5000) AS n",
        await agent_jobs_db.agent(),
        ANNA,
    )
    await agent_jobs_db.sql("VACUUM ANALYZE jobs")
    ids = [n.id for n in (await reader(mirror).pages.live(limit=20)).nodes]
    keys = [UUID(i.partition(":")[2]) for i in ids]

    async def looked_up() -> int:
        """Check the nodes of these ids; return their number."""
        with plans.recorded() as costs:
            read = (await reader(mirror).nodes.read(ids)).nodes
        rows = await agent_jobs_db.connection.fetch("SELECT job_id FROM jobs WHERE id = ANY ($1)", keys)
        assert sorted(n.title for n in read) == sorted(f"job {row['job_id']}" for row in rows)
        ways = [n for n in plans.nodes(costs["nodes"].plan) if n.get("Index Name") == "jobs_pkey"]
        return sum(round(n["Actual Rows"]) for n in ways)

    assert await looked_up() == 0
    await agent_jobs_db.sql("UPDATE jobs SET error = '?' WHERE id = ANY ($1)", keys[:2])
    assert await looked_up() == 2
    assert await looked_up() == 0
    await agent_jobs_db.sql("DELETE FROM jobs WHERE id = $1 OR ctid = '(0,1)'", keys[2])
    await agent_jobs_db.sql("VACUUM FULL jobs")  # moves the rows to other places
    assert await looked_up() > 10
    assert await looked_up() == 0


async def test_phases_and_names(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    agent = await agent_jobs_db.agent(ANNA, "Paper reader")
    jobs = {s: await agent_jobs_db.job(s, agent=agent, age=60 - n) for n, s in enumerate(STATUSES)}
    phases = {s: (await node(mirror, f"job:{j}")).phase for s, j in jobs.items()}
    assert phases == dict(
        zip(STATUSES, (Phase.READY, Phase.RUNNING, Phase.DONE, Phase.FAILED, Phase.SCHEDULED, Phase.HELD), strict=True)
    )
    assert (await node(mirror, f"agent:{agent}")).title == "Paper reader - 4 unfinished"
    assert (await node(mirror, f"user:{ANNA}")).title == f"user {ANNA} - 4 unfinished"
    assert (await node(mirror, "queue:all")).title == "queue (Bull, in Redis)"
    counts = {c.phase: (c.n, c.precision) for c in await reader(mirror).nodes.counts()}
    assert counts == dict.fromkeys(phases.values(), (1, Precision.EXACT))
    for _ in range(16):
        await agent_jobs_db.job(agent=agent, user=BERT, age=5)
    assert (await node(mirror, f"agent:{agent}")).title == "Paper reader - 18+ unfinished", "of the newest 20"


async def test_agents_that_are_gone_or_have_no_name(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.sql("ALTER TABLE jobs DROP CONSTRAINT jobs_agent_id_fkey")
    gone = uuid4()
    await agent_jobs_db.job(agent=gone)
    nameless = await agent_jobs_db.agent(ANNA, "")
    await agent_jobs_db.job(agent=nameless)
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    assert (await node(workspace, f"agent:{gone}")).title == f"agent {gone} (deleted) - 1 unfinished"
    assert (await node(workspace, f"agent:{nameless}")).title.startswith(f"agent {nameless}")
    (finding,) = await found(workspace, "missing_agent")
    assert finding.node_id == f"{LABEL}/agent:{gone}"
    await workspace.close()


async def test_failures_of_agents_that_are_gone_are_their_symptom(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    """An agent that is there fails for another reason."""
    await agent_jobs_db.sql("ALTER TABLE jobs DROP CONSTRAINT jobs_agent_id_fkey")
    there = await agent_jobs_db.agent(ANNA, "clerk")
    for number in range(8):
        await agent_jobs_db.job("failed", agent=uuid4(), ended=60, error=f"Agent configuration {uuid4()} not found")
        await agent_jobs_db.job("failed", agent=there, ended=60, error="Model overloaded", number=str(number))
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    shown = await incidents_of(workspace, LABEL)
    symptoms = {code: [[(s.code, s.n) for s in each.symptoms] for each in some] for code, some in shown.items()}
    assert symptoms == {"missing_agent": [[("failed_alike", 8)]], "failed_alike": [[]]}
    await workspace.close()


async def test_find(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    job = await agent_jobs_db.job("failed", ended=1, error="Agent rag storage limit exceeded", number="4711")
    agent = (await agent_jobs_db.row(job))["agent_id"]
    for text, ids in (
        ("4711", {f"job:{job}"}),
        (str(job)[:13], {f"job:{job}"}),
        (f"{LABEL}/job:{job}", {f"job:{job}"}),
        (str(agent), {f"agent:{agent}"}),
        (str(ANNA), {f"user:{ANNA}"}),
        ("04711", set()),
        ("STORAGE limit", set()),
    ):
        assert set(local(await search.find(reader(mirror), text))) == ids, text
    assert local(await search.find_texts(reader(mirror), "STORAGE limit")) == [f"job:{job}"]
    assert local(await search.find_texts(reader(mirror), "no such thing")) == []


async def test_without_the_indexes_a_large_table_is_not_scanned(
    agent_jobs_db: AgentJobsDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    await agent_jobs_db.job()
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    assert (await reader(workspace).pages.roots()).nodes
    assert {u.code for u in (await reader(workspace).findings.read()).skipped_findings} == {
        "completed_by_wrong_job",
        "job_ids_restarted",
        "redis_emptied",
        "schedule_missed",
        "worker_clock_ahead",
        "worker_clock_behind",
    }
    counts = {c.phase: c.precision for c in await reader(workspace).nodes.counts()}
    assert counts[Phase.READY] == Precision.EXACT
    assert counts[Phase.DONE] in (Precision.ESTIMATED, Precision.UNKNOWN)
    await agent_jobs_db.sql("DROP INDEX idx_jobs_user_status_created_at")
    await workspace.detect()
    for page in (await reader(workspace).pages.roots(), await reader(workspace).pages.live()):
        assert page.scan_required is not None
        assert "jobs.user_id" in page.scan_required.why
    assert reader(workspace).variant.notes[0].startswith("profile: mirror (not checked")
    assert {c.precision for c in await reader(workspace).nodes.counts()} <= {Precision.ESTIMATED, Precision.UNKNOWN}
    await workspace.close()


@both_versions
@pytest.mark.parametrize("seed", most_in_proof([0.1, 0.2, 0.3]))
@with_and_without
async def test_pages_of_users_with_few_and_with_many_jobs_of_equal_age(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, index: str, seed: float
) -> None:
    """Few jobs of a user are read together, many are read status by status."""
    await agent_jobs_db.sql(index)
    await mirror.detect()
    await agent_jobs_db.sql("SELECT setseed($1::float8)", seed)
    await agent_jobs_db.sql(
        "INSERT INTO jobs (job_id, agent_id, user_id, status, created_at)"
        " SELECT n, $1, lpad(((random() ^ 3) * 40)::int::text, 32, '0')::uuid, ($2::text[])[1 + (random() * 5)::int],"
        "        now() - make_interval(hours => (random() * 30)::int) FROM generate_series(1, 1500) AS n",
        await agent_jobs_db.agent(),
        list(STATUSES),
    )
    await agent_jobs_db.sql("VACUUM ANALYZE jobs")
    rows = await agent_jobs_db.connection.fetch("SELECT id, status FROM jobs ORDER BY created_at, id")
    live = [f"job:{row['id']}" for row in rows if row["status"] not in ("completed", "failed")]
    dead = [f"job:{row['id']}" for row in reversed(rows) if row["status"] == "failed"]
    for size in (3, 7, 40, 400, 2000):
        seen: list[str] = []
        page = await reader(mirror).pages.live(limit=size)
        while page.cursor is not None and len(seen) < 40 * size:
            seen += local(page)
            page = await reader(mirror).pages.live(page.cursor, size)
        seen += local(page)
        assert seen == live[: len(seen)], size
        assert len(seen) in (len(live), 41 * size), size
        died: list[str] = []
        dead_letters = await reader(mirror).pages.dead(limit=size)
        while dead_letters.cursor is not None and len(died) < 40 * size:
            died += [dead_letter.node.id.removeprefix(f"{LABEL}/") for dead_letter in dead_letters.dead_letters]
            dead_letters = await reader(mirror).pages.dead(dead_letters.cursor, size)
        died += [dead_letter.node.id.removeprefix(f"{LABEL}/") for dead_letter in dead_letters.dead_letters]
        assert died == dead[: len(died)], size


@both_versions
async def test_each_status_of_a_users_jobs_is_found(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    """The last status of a user's jobs shows which statuses need no read."""
    await agent_jobs_db.sql(
        "INSERT INTO jobs (job_id, agent_id, user_id, status, created_at, completed_at)"
        " SELECT u || ' ' || s, $1, lpad(u::text, 32, '0')::uuid, s, t,"
        "        CASE WHEN s IN ('completed', 'failed') THEN t END"
        " FROM generate_series(1, 63) AS u, unnest($2::text[]) WITH ORDINALITY AS x(s, bit),"
        " LATERAL (SELECT now() - make_interval(hours => 100 - u) AS t) AS made WHERE u >> (bit::int - 1) & 1 = 1",
        await agent_jobs_db.agent(),
        list(STATUSES),
    )

    async def ids(*statuses: str) -> set[str]:
        rows = await agent_jobs_db.connection.fetch("SELECT id FROM jobs WHERE status = ANY ($1::text[])", statuses)
        assert len(rows) == 32 * len(statuses)
        return {f"{LABEL}/job:{row['id']}" for row in rows}

    look = reader(mirror)
    assert {n.id for n in (await look.pages.live(limit=500)).nodes} == await ids(
        "pending", "active", "delayed", "paused"
    )
    assert {x.node.id for x in (await look.pages.dead(limit=500)).dead_letters} == await ids("failed")
    late = [f.node_id for f in (await look.findings.read()).findings if f.code == "late"]
    assert set(late) == await ids("pending")
    await agent_jobs_db.sql("DELETE FROM jobs WHERE status = 'active'")
    for status in ("delayed", "paused"):
        workspace = await Workspace(agent_jobs_db.dsn).open()
        assert f"there are {status} jobs" in reader(workspace).variant.notes[0]
        await workspace.close()
        await agent_jobs_db.sql("DELETE FROM jobs WHERE status = $1", status)


async def test_many_active_jobs_of_a_user_are_all_counted(
    agent_jobs_db: AgentJobsDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    for user, active in ((ANNA, 19), (BERT, 20), (UUID(int=0), 21), (UUID(int=2**128 - 1), 0)):
        for status in ["active"] * active + ["delayed", "pending", "paused", "completed"]:
            await agent_jobs_db.job(status, user=user, ended=1 if status == "completed" else None)
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    counts = {c.phase: (c.n, c.precision) for c in await reader(workspace).nodes.counts()}
    assert counts[Phase.RUNNING] == (60, Precision.EXACT)
    assert {counts[p] for p in (Phase.READY, Phase.SCHEDULED, Phase.HELD)} == {(4, Precision.EXACT)}
    await workspace.close()


async def test_for_many_users_statistics_estimate_the_unfinished_jobs(
    agent_jobs_db: AgentJobsDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)

    async def ready() -> tuple[int | None, Precision]:
        workspace = await opened(agent_jobs_db.dsn, tmp_path)
        (count,) = [c for c in await reader(workspace).nodes.counts() if c.phase is Phase.READY]
        await workspace.close()
        return count.n, count.precision

    for n in range(16):
        job = await agent_jobs_db.job()
        await agent_jobs_db.sql("UPDATE jobs SET user_id = md5($1)::uuid WHERE id::text = $2", str(n), str(job))
    assert await ready() == (16, Precision.EXACT)
    await agent_jobs_db.sql("UPDATE jobs SET user_id = $1 WHERE user_id = md5('0')::uuid", UUID(int=2**128 - 1))
    await agent_jobs_db.job()  # of a 17th
    assert await ready() == (16, Precision.CAPPED)
    await agent_jobs_db.sql("ANALYZE jobs")
    assert await ready() == (17, Precision.ESTIMATED)


# Findings


async def test_a_healthy_mirror_has_none(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    for n in range(20):
        await agent_jobs_db.job("completed", age=1000 - n * 10, ended=980 - n * 10)
    await agent_jobs_db.job("failed", age=500, ended=490, error="boom")
    await agent_jobs_db.job("pending", age=590)
    assert (await reader(mirror).findings.read()).findings == ()


@both_versions
async def test_overdue_and_overtaken(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    slow, lost = await agent_jobs_db.job(age=700, user=BERT), await agent_jobs_db.job(age=701)
    await agent_jobs_db.job("completed", age=600, ended=580, number=99)
    overtaken, overdue = sorted(await found(mirror, "late"), key=lambda f: f.since or 0)
    assert (overdue.node_id, overtaken.node_id) == (agent_jobs_db.id(slow), agent_jobs_db.id(lost))
    assert (overdue.severity, overtaken.severity) == (6, 7)
    assert overtaken.evidence["overtaker"] == "99"
    assert overdue.action == overtaken.action == "mark_failed"
    assert await found(mirror, "queue_stalled") == []


@pytest.mark.parametrize("end", ["completed", "failed"])
async def test_what_runs_when_the_queue_goes_on_is_not_to_be_written_off(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, end: str
) -> None:
    """The jobs created before and after a job show its place in the queue."""
    await agent_jobs_db.job(end, age=5000, ended=4990, user=ANNA)
    old, young = await agent_jobs_db.job(age=4000, user=BERT), await agent_jobs_db.job(age=3000, user=BERT)
    assert {f.node_id: f.action for f in await found(mirror, "late")} == {
        agent_jobs_db.id(old): None,
        agent_jobs_db.id(young): None,
    }
    detail = await details.read(reader(mirror), agent_jobs_db.id(old))
    assert detail is not None
    assert [f.action for f in detail.findings if f.code == "late"] == [None]
    await agent_jobs_db.job(
        "failed", age=2000, ended=1, user=ANNA, error="marked failed by operator anna@laptop: it was stuck"
    )
    assert {f.action for f in await found(mirror, "late")} == {None}, "a job that an operator ended does not count"
    await agent_jobs_db.job(end, age=3500, ended=3490, user=ANNA)
    actions = {f.node_id: f.action for f in await found(mirror, "late")}
    assert actions == {agent_jobs_db.id(old): "mark_failed", agent_jobs_db.id(young): None}


async def test_one_row_is_no_certain_standstill(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    """An unrecorded completion without later jobs leaves the same rows."""
    await agent_jobs_db.job("completed", age=9000, ended=8990)
    await agent_jobs_db.job(age=4000, user=BERT)
    (one,) = await found(mirror, "queue_stalled")
    await agent_jobs_db.job(age=3000, user=BERT)
    (two,) = await found(mirror, "queue_stalled")
    assert one.severity < two.severity == 9
    assert one.proof == two.proof == Proof.ASSUMED
    assert [finding.evidence["pending"] for finding in (one, two)] == [1, 2]
    assert one.evidence["waiting"] == "1 job is"


async def test_the_oldest_of_many_late_jobs_are_reported_first(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    """Jobs of any user and agent are checked until the page is full."""
    made = []
    for n in range(24):
        user = UUID(int=n * 7 % 24 + 1)
        made.append(agent_jobs_db.id(await agent_jobs_db.job(age=9000 - n * 10, user=user)))
        if n % 3 == 0:
            await agent_jobs_db.job("completed", age=800, ended=790, user=user)
    for page in (1, 2, 8, 30):
        seen = await reader(mirror).findings.read(limit=page)
        reported = sorted((f.since, f.node_id, f.severity) for f in seen.findings if f.code == "late")
        assert [(node, severity) for _, node, severity in reported] == [
            (m, 6 + (n % 3 == 0)) for n, m in enumerate(made[:page])
        ]
        assert ("late" in seen.capped) == (page < len(made))


async def test_written_off_jobs_overtake_no_other_job(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    old = await agent_jobs_db.job(age=5000)
    await agent_jobs_db.job("failed", age=4000, ended=1, error="marked failed by operator anna@laptop: it was stuck")
    (late,) = await found(mirror, "late")
    assert (late.node_id, late.evidence["reason"]) == (agent_jobs_db.id(old), "stalled")
    assert len(await found(mirror, "queue_stalled")) == 1, "the queue is still stalled"


@pytest.mark.parametrize(("profile", "suspect"), [("mirror", "Redis"), ("table", "executor")])
async def test_a_stalled_queue(agent_jobs_db: AgentJobsDb, mirror: Workspace, profile: str, suspect: str) -> None:
    for n in range(3):
        await agent_jobs_db.job(age=4000 + n, user=BERT if n else ANNA)
    reader(mirror).variant.set_option("profile", profile)
    (finding,) = await found(mirror, "queue_stalled")
    assert (finding.node_id, finding.severity) == (f"{LABEL}/queue:all", 9)
    assert suspect in finding.sentence
    assert finding.evidence["pending"] == 3
    await agent_jobs_db.job("completed", age=5000, ended=3990, user=BERT)  # made before, ended since
    assert await found(mirror, "queue_stalled") == []


async def test_for_too_many_users_a_recently_ended_job_shows_that_the_queue_moves(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent_jobs_db.job(age=4000)
    agent = await agent_jobs_db.agent()
    await agent_jobs_db.sql(
        "INSERT INTO jobs (job_id, agent_id, user_id, status, created_at, completed_at)"
        " SELECT 'of ' || n, $1, lpad(n::text, 32, '0')::uuid, 'completed', t, t"
        " FROM generate_series(1, 600) AS n, (SELECT now() - interval '1 hour' AS t) AS made",
        agent,
    )
    assert not await found(mirror, "queue_stalled"), "a small table is read as a whole"
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    await mirror.detect()
    assert "queue_stalled" in (await reader(mirror).findings.read()).capped, "a job of another user may have ended"
    await agent_jobs_db.sql("UPDATE jobs SET completed_at = now() - interval '1 min' WHERE job_id = 'of 500'")
    seen = await reader(mirror).findings.read()
    assert "queue_stalled" not in {*seen.capped, *(f.code for f in seen.findings)}


async def test_active_for_long_is_for_tables_only(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, table: Workspace
) -> None:
    by_start = await agent_jobs_db.job("active", age=9000, started=8000)
    by_change = await agent_jobs_db.job("active", age=9000)
    await agent_jobs_db.job("active", age=9000, started=60)
    assert {f.node_id for f in await found(table, "owner_dead")} == {
        agent_jobs_db.id(by_start),
        agent_jobs_db.id(by_change),
    }
    assert all(f.action == "release" for f in await found(table, "owner_dead"))
    assert await found(mirror, "owner_dead") == []


async def test_an_action_of_the_other_profile_is_not_advised(agent_jobs_db: AgentJobsDb, table: Workspace) -> None:
    await agent_jobs_db.job(age=5000)
    assert [f.action for f in await found(table, "late")] == [None]


async def test_contradictions(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    left = await agent_jobs_db.job("completed", ended=50, error="boom")
    over = await agent_jobs_db.job("completed", ended=50, error="marked failed by operator anna@laptop: x")
    unended = await agent_jobs_db.job("failed")
    findings = {f.node_id: f.sentence for f in await found(mirror, "inconsistent")}
    assert findings.keys() == {agent_jobs_db.id(j) for j in (left, over, unended)}
    assert len(set(findings.values())) == 3
    assert "operator" in findings[agent_jobs_db.id(over)]
    assert "completed_at" in findings[agent_jobs_db.id(unended)]


async def test_numbers_that_began_again(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    for n, number in enumerate((101, 103, 102, 104)):  # a little out of order, as usual
        await agent_jobs_db.job("completed", age=1000 - n, ended=900, number=number)
    await agent_jobs_db.job("completed", age=800, ended=700, number="not a number")
    assert await found(mirror, "job_ids_restarted") == []
    again = await agent_jobs_db.job("completed", age=500, ended=400, number=1)
    reused = await agent_jobs_db.job("completed", age=90000, ended=300, number=2)
    (back,) = await found(mirror, "job_ids_restarted")
    assert (back.node_id, back.evidence["before"]) == (agent_jobs_db.id(again), "104")
    (late,) = await found(mirror, "completed_by_wrong_job")
    assert late.node_id == agent_jobs_db.id(reused)


async def test_two_queues_that_number_their_jobs_restarted_nothing(
    agent_jobs_db: AgentJobsDb, mirror: Workspace
) -> None:
    for n in range(9):
        await agent_jobs_db.job("completed", age=1000 - 9 * n, ended=900 - 9 * n, number=500 + n)
        await agent_jobs_db.job("completed", age=999 - 9 * n, ended=899 - 9 * n, number=3 + n)
    assert await found(mirror, "job_ids_restarted") == []


# Unusual rows


async def test_a_number_that_is_a_command(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    job = await agent_jobs_db.job(number="1; rm -rf /")
    detail = await details.read(reader(mirror), agent_jobs_db.id(job))
    assert detail is not None
    (work,) = [s for s in detail.sections if s.name == "work"]
    assert work.rows[0][-1] is None, "a command for a shell contains only plain numbers"
