"""Read tasker: detection, tree, lists, findings, dead letters and details."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from console.text import graph
from queries.check.lab import TIMEOUT_FACTOR
from queries.contract import loader
from queries.read import details, search
from queries.records.action import Outcome
from queries.records.node import Phase, Precision
from queries.workspace import Workspace
from tests.db.tasker import TaskerDb
from tests.proof import most_in_proof, one_in, proof
from tests.queries.builders import opened, outcomes_of, why
from tests.servers import PostgresServer, both_versions
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import (
    StepHistory,
    cancelled,
    claimed,
    complete,
    enqueued,
    failed,
    handed_in,
    pending,
    reset,
    waiting,
)
from tests.simulators.tasker.templates import Step, Template

MINUTE, HOUR = 60.0, 3600.0
NO_QUEUE = "DROP SCHEMA pgmq CASCADE; DROP FUNCTION pgmq_send_with_notify"


@pytest.fixture
def data() -> Data:
    return Data(1)


@pytest.fixture
async def demo(server: PostgresServer, tmp_path: Path) -> AsyncIterator[TaskerDb]:
    """Provide the demo's data without running executors."""
    dsn = server.fresh("tasker", filled=True)
    tasker_db = await TaskerDb.open(dsn, tmp_path)
    yield tasker_db
    await tasker_db.close()
    server.drop(dsn)


# Variants


@both_versions
async def test_without_the_queue_in_this_database_messages_are_external(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", ago=900, steps={"check_return": enqueued(900)})
    dead = data.task("refund", state="error", ago=900)
    await tasker_db.write(data)
    await tasker_db.sql(NO_QUEUE)
    await tasker_db.workspace.detect()
    assert tasker_db.reader.engine.settings["queue"] == "elsewhere"
    for action, node in (("resend", tasker_db.step(made, "check_return")), ("restart", tasker_db.task(dead))):
        outcomes = await tasker_db.do(action, node)
        assert outcomes_of(outcomes) == {node: Outcome.REFUSED}
        assert why(outcomes, node).startswith("external: ")
    found = await tasker_db.findings()
    assert {u.code for u in found.skipped_findings} == {
        "message_lost",
        "result_not_delivered",
        "poison_message",
        "no_worker",
        "no_orchestrator",
        "orchestrators_behind",
        "workers_behind",
        "hidden_message",
    }
    assert all("pgmq" in u.why for u in found.skipped_findings)
    assert outcomes_of(await tasker_db.do("cancel", tasker_db.task(made))) == {tasker_db.task(made): Outcome.CHANGED}


async def test_a_pgmq_without_the_engine_s_queues_is_not_used(tasker_db: TaskerDb, data: Data) -> None:
    await tasker_db.sql("UPDATE pgmq.meta SET queue_name = 'other_' || queue_name")
    data.task("refund", ago=900, steps={"check_return": enqueued(900)})
    await tasker_db.write(data)
    assert tasker_db.reader.engine.settings["queue"] == "elsewhere"
    assert "orchestration_step_results" in tasker_db.reader.variant.notes[0]
    assert {f.code for f in (await tasker_db.findings()).findings} == set()


@both_versions
async def test_with_and_without_the_summaries_of_later_releases(demo: TaskerDb) -> None:
    node = next(f.node_id for f in (await demo.findings()).findings if f.code == "blocked_by_failures")
    columns = []
    for change in ("SELECT 1", "DROP FUNCTION get_task_summaries(uuid[])"):
        await demo.sql(change)
        await demo.workspace.detect()
        detail = await details.read(demo.reader, node)
        assert detail is not None
        view = next(s for s in detail.sections if s.title == "The engine's view")
        assert view.rows[0][0] == "blocked_by_failures"
        columns.append(view.columns)
    assert "lifecycle" in columns[0]
    assert "lifecycle" not in columns[1]


async def test_a_section_that_times_out_does_not_hide_others(demo: TaskerDb) -> None:
    """The engine's own view of a task with about ten thousand steps takes seconds."""
    node = next(f.node_id for f in (await demo.findings()).findings if f.code == "blocked_by_failures")
    whole = await details.read(demo.reader, node)
    slow = (await demo.value("SELECT pg_get_functiondef('get_task_summaries'::regproc)")).replace(
        "BEGIN", "BEGIN PERFORM pg_sleep(60);", 1
    )
    assert "pg_sleep" in slow
    await demo.sql(slow)
    part = await details.read(demo.reader, node)
    assert whole is not None
    assert part is not None
    (view,) = (s for s in part.sections if s.scan_required)
    assert view.title == "The engine's view"
    assert view.scan_required is not None
    assert "statement timeout" in view.scan_required.why
    assert [(s.title, len(s.rows)) for s in part.sections if not s.scan_required] == [
        (s.title, len(s.rows)) for s in whole.sections if s.title != view.title
    ]


@both_versions
async def test_a_read_only_role(server: PostgresServer, tasker_db: TaskerDb, data: Data, tmp_path: Path) -> None:
    made = data.task("refund", state="blocked_by_failures", ago=900, steps={"check_return": failed(900)})
    await tasker_db.write(data)
    role, dsn = server.unique("viewer"), tasker_db.workspace.database.text
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", dsn)
    workspace = await opened(server.dsn(dsn.rpartition("/")[2], user=role, password="x"), tmp_path / "viewer")
    try:
        reader = workspace.engines["tasker"]
        assert reader.engine.settings["queue"] == "elsewhere"
        assert "privileges" in reader.variant.notes[0]
        found = await reader.findings.read()
        assert {f.code for f in found.findings} == {"blocked_by_failures", "failing"}
        node = (await reader.nodes.read([tasker_db.task(made)])).nodes[0]
        action = reader.engine.action("retry", "task")
        assert action is not None
        said = reader.availability(action, node)
        lacks = [p for p in action.privileges if not p.startswith("EXECUTE")]  # granted to PUBLIC
        assert not said.ok
        assert all(privilege in said.why for privilege in (role, *lacks))
    finally:
        await workspace.close()


# The tree


async def tree(tasker_db: TaskerDb, parent: str) -> dict[str, Any]:
    """Return nested titles; check that children read by parent and by id are equal."""
    page = await tasker_db.reader.pages.children(parent)
    assert all(n.parent_id == parent for n in page.nodes)
    return {n.title: await tree(tasker_db, n.id) for n in page.nodes}


@both_versions
async def test_a_step_is_listed_once_under_its_deepest_parent(tasker_db: TaskerDb, data: Data) -> None:
    order, report = data.task("fulfil_order"), data.task("nightly_report")
    await tasker_db.write(data)
    under = (await tree(tasker_db, tasker_db.task(order)))["validate_cart"]
    flat = [title for branch in (under, *under.values()) for title in branch]
    assert sorted(flat) == ["book_carrier", "charge_card", "pack_parcel +1", "reserve_stock"]
    deepest = [below for branch in under.values() for below in branch.values() if below]
    assert deepest == [{"send_confirmation +2": {}}], "once, and below one of level 2"
    books = (await tree(tasker_db, tasker_db.task(report)))["open_books"]
    assert [list(v) for v in books.values()].count(["merge_regions +3"]) == 1
    assert next(v for v in books.values() if v) == {"merge_regions +3": {"audit_totals +1": {"publish": {}}}}


@both_versions
async def test_a_deep_chain_and_a_wide_fan(tasker_db: TaskerDb) -> None:
    chain = tuple(Step(name=f"c{n}", after=(f"c{n - 1}",) if n else ()) for n in range(120))
    ladder = tuple(Step(name=f"l{n}", after=tuple(f"l{m}" for m in range(max(0, n - 3), n))) for n in range(60))
    fan = (Step(name="f"), *(Step(name=f"f{n}", after=("f",)) for n in range(250)))
    templates = [
        Template(namespace="big", name=n, version="1", steps=s)
        for n, s in (("chain", chain), ("ladder", ladder), ("fan", fan))
    ]
    data = Data(1, templates)
    made = {t.name: data.task(t.name) for t in templates}
    await tasker_db.write(data)
    for name, last in (("chain", "c119"), ("ladder", "l59")):
        node, depth = tasker_db.step(made[name], last), 0
        while node.startswith("tasker/step:"):
            node, depth = (await tasker_db.reader.nodes.read([node])).nodes[0].parent_id or "", depth + 1
        assert (node, depth) == (tasker_db.task(made[name]), len(made[name].steps))
    page = await tasker_db.reader.pages.children(tasker_db.step(made["fan"], "f"), None, 500)
    assert [node.title for node in page.nodes] == [f"f{n}" for n in range(250)]


@both_versions
async def test_columns_of_nodes(tasker_db: TaskerDb, data: Data) -> None:
    steps = {
        "validate_cart": complete(600, spent=1234),
        "reserve_stock": waiting(30, attempts=2, backoff=300, error="no stock"),
        "charge_card": claimed(9),
    }
    made = data.task("fulfil_order", ago=30, age=1000, steps=steps, priority=5)
    await tasker_db.write(data)
    page = await tasker_db.reader.nodes.read([tasker_db.task(made), *(tasker_db.step(made, s) for s in steps)])
    task, cart, stock, card = page.nodes
    assert (task.title, task.status, task.phase, task.revision) == (
        "fulfil_order v1.2.0 - 1/6",
        "steps_in_process",
        Phase.RUNNING,
        4,
    )
    assert (cart.phase, cart.poll, cart.error) == (Phase.DONE, 1.234, None)
    assert (stock.phase, stock.attempts, stock.max_attempts, stock.error) == (Phase.SCHEDULED, 2, 3, "no stock")
    assert stock.due_at is not None
    assert 240 < stock.due_at - page.at < 300
    assert (card.phase, card.status) == (Phase.RUNNING, "in_progress")
    assert card.owner is not None
    assert all(n.job_id == tasker_db.task(made) for n in (cart, stock, card))
    assert abs((task.created_at or 0) - (page.at - 1000)) < 20


@both_versions
async def test_counts_live_and_find(demo: TaskerDb) -> None:
    odd = "SELECT task_uuid FROM task_transitions WHERE most_recent AND to_state = 'initializing' LIMIT 1"
    odd = await demo.value(f"UPDATE tasks SET tags = '[\"odd\"]' WHERE task_uuid = ({odd}) RETURNING task_uuid")
    await demo.sql("UPDATE task_transitions SET most_recent = false WHERE task_uuid = $1", odd)
    counts = {c.phase: c for c in await demo.reader.nodes.counts()}
    assert all(c.precision is Precision.EXACT for c in counts.values())
    states = dict(
        await demo.connection.fetch("SELECT to_state, count(*) FROM task_transitions WHERE most_recent GROUP BY 1")
    )
    assert counts[Phase.FAILED].n == states["blocked_by_failures"] + states["error"]
    assert counts[Phase.DONE].n == states["complete"] + states["resolved_manually"]
    assert counts[Phase.UNKNOWN].n == 1
    live = (await demo.reader.pages.live(limit=1000)).nodes
    assert {n.kind for n in live} == {"task", "step"}
    assert not {n.status for n in live} & {"complete", "cancelled", "resolved_manually"}
    task = next(n for n in live if n.kind == "task")
    key = task.id.partition(":")[2]
    row = await demo.row("SELECT correlation_id::text FROM tasks WHERE task_uuid = $1::uuid", key)
    for text in (task.id, f"task:{key}", key, key.replace("-", "")[:24], row[0], row[0][:13]):
        assert task.id in [n.id for n in (await search.find(demo.reader, text)).nodes], text
    assert {n.kind for n in (await search.find(demo.reader, "odd")).nodes} == {"task"}, "a tag"
    assert "nightly_report" in {n.title.split()[0] for n in (await search.find_texts(demo.reader, "nightly")).nodes}
    for read in (search.find, search.find_texts):
        assert (await read(demo.reader, "'; DROP TABLE tasks; --")).nodes == ()


@both_versions
@pytest.mark.parametrize("between", [0, 5, 400], ids=str)
async def test_tasks_near_and_far_in_the_index_are_read_alike(tasker_db: TaskerDb, data: Data, between: int) -> None:
    """The range scan skips a limited number of entries between requested tasks."""
    shapes = [
        ("steps_in_process", {"check_return": complete(600), "refund_card": claimed(9)}),
        ("blocked_by_failures", {"check_return": failed(600, error="no stock")}),
        ("waiting_for_retry", {"check_return": waiting(30, attempts=2, backoff=300)}),
        ("pending", {}),
    ]
    asked = []
    for n, (state, steps) in enumerate(shapes):
        asked.append(data.task("refund", state=state, age=90_000 - 20_000 * n, steps=steps, priority=9))
        for each in range(between):
            data.task("refund", state="cancelled", age=89_000 - 20_000 * n - each, rest=cancelled(60), priority=1)
    bare = data.task("refund", state="pending", age=80_000, priority=9)
    data.task("refund", state="cancelled", age=900, rest=cancelled(60), priority=9)
    await tasker_db.write(data)
    await tasker_db.sql("DELETE FROM workflow_step_transitions USING workflow_steps s WHERE s.workflow_step_uuid ="
                   " workflow_step_transitions.workflow_step_uuid AND s.task_uuid = $1", bare.id)  # fmt: skip
    await tasker_db.sql("DELETE FROM workflow_step_edges e USING workflow_steps s"
                   " WHERE s.workflow_step_uuid = e.to_step_uuid AND s.task_uuid = $1", bare.id)  # fmt: skip
    await tasker_db.sql("DELETE FROM workflow_steps WHERE task_uuid = $1", bare.id)
    ids = [tasker_db.task(made) for made in [*asked, bare]]
    together = (await tasker_db.reader.nodes.read(ids)).nodes
    alone = [(await tasker_db.reader.nodes.read([i])).nodes[0] for i in ids]
    assert together == tuple(alone)
    assert [n.title.split(" - ")[1] for n in together] == ["1/3", "0/3", "0/3", "0/3", "0/0"]
    assert together[1].error == "check_return: no stock"
    assert together[2].due_at is not None
    live = (await tasker_db.reader.pages.live(limit=5)).nodes
    assert sorted(live, key=lambda n: n.id) == sorted(together, key=lambda n: n.id)


# Findings


CALM = [
    ("fulfil_order", "pending", 5.0, {}),
    ("refund", "waiting_for_dependencies", 600.0, {"check_return": waiting(500, backoff=3000)}),
    ("refund", "steps_in_process", 600.0, {"check_return": claimed(600)}),
    ("refund", "waiting_for_retry", 300.0, {"check_return": waiting(300, backoff=900)}),
    ("refund", "evaluating_results", 30.0, {"check_return": complete(60)}),
    ("refund", "steps_in_process", 10.0, {"check_return": enqueued(10)}),
    ("refund", "steps_in_process", 10.0, {"check_return": handed_in(10)}),
    ("refund", "complete", 600.0, dict.fromkeys(("check_return", "refund_card", "notify_customer"), complete(700))),
    ("refund", "cancelled", 600.0, {"check_return": cancelled(600), "refund_card": cancelled(600)}),
    (
        "newsletter",
        "steps_in_process",
        900.0,
        {
            "select_readers": complete(1000),
            "render": complete(1000),
            "deliver_batch": claimed(900, checkpoint={"cursor": 1}, stamped=30),
        },
    ),
]


@both_versions
async def test_healthy_tasks_have_no_findings(tasker_db: TaskerDb, data: Data) -> None:
    for name, state, ago, steps in CALM:
        data.task(name, state=state, ago=ago, steps=steps)
    await tasker_db.write(data)
    found = await tasker_db.findings()
    assert [f.code for f in found.findings] == []
    assert found.skipped_findings == ()


BEYOND: list[tuple[str, str, float, dict[str, StepHistory], str, str]] = [
    ("refund", "blocked_by_failures", 60, {"check_return": failed(60)}, "", "blocked_by_failures"),
    (
        "refund",
        "steps_in_process",
        60,
        {"check_return": failed(60, attempts=1, retryable=False)},
        "check_return",
        "failing",
    ),
    ("refund", "waiting_for_dependencies", 60, {"check_return": reset(60)}, "check_return", "reset_but_not_retryable"),
    ("refund", "steps_in_process", 1860, {"check_return": claimed(1860)}, "check_return", "owner_dead"),
    (
        "refund",
        "waiting_for_dependencies",
        90,
        {"check_return": pending(90, at_work=True)},
        "check_return",
        "stale_flag",
    ),
    ("refund", "steps_in_process", 90, {"check_return": enqueued(90)}, "check_return", "message_lost"),
    ("refund", "steps_in_process", 90, {"check_return": handed_in(90)}, "check_return", "result_not_delivered"),
    ("refund", "waiting_for_dependencies", 3660, {"check_return": pending(9000)}, "", "no_longer_polled"),
    ("refund", "waiting_for_retry", 1860, {"check_return": waiting(1860, backoff=1)}, "", "no_longer_polled"),
    ("refund", "initializing", 660, {}, "", "orchestrator_gone"),
    ("refund", "steps_in_process", 240, {"check_return": complete(300)}, "", "nothing_in_flight"),
    ("refund", "waiting_for_dependencies", 2940, {"check_return": waiting(30, backoff=9000)}, "", "stale_soon"),
    (
        "nightly_report",
        "waiting_for_dependencies",
        240 * 60 * 0.81,
        {"open_books": waiting(30, backoff=9000)},
        "",
        "stale_soon",
    ),
    (
        "newsletter",
        "waiting_for_dependencies",
        60,
        {"select_readers": cancelled(60)},
        "select_readers",
        "cancelled_but_required",
    ),
    (
        "newsletter",
        "steps_in_process",
        960,
        {"deliver_batch": claimed(960, checkpoint={"cursor": 1}, stamped=960)},
        "deliver_batch",
        "batch_stalled",
    ),
]


@pytest.mark.parametrize("case", one_in(4, BEYOND, unpacked=False), ids=lambda c: f"{c[5]}-{c[1]}")
async def test_each_finding_starts_at_its_threshold(tasker_db: TaskerDb, data: Data, case: Any) -> None:
    name, state, ago, steps, node, code = case
    made = data.task(name, state=state, ago=ago, steps=steps)
    await tasker_db.write(data)
    where = tasker_db.step(made, node) if node else tasker_db.task(made)
    assert (where, code) in await tasker_db.codes()
    assert (where, code) in await tasker_db.codes(where)
    finding = next(f for f in (await tasker_db.findings()).findings if f.code == code)
    assert finding.action is None or tasker_db.reader.engine.action(
        finding.action, finding.node_id.split("/")[1].split(":")[0]
    )


PART = "engines/tasker/parts/newest_tasks.sql"
FAILED = """
WITH made AS (
  INSERT INTO tasks (task_uuid, named_task_uuid, requested_at, identity_hash, priority, created_at, updated_at,
                     correlation_id)
  SELECT (lpad(to_hex(n), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid, t.named_task_uuid,
         now(), n, 9, now(), now(), md5(n::text)::uuid
    FROM generate_series(1, $1::int8) AS n CROSS JOIN (SELECT named_task_uuid FROM named_tasks LIMIT 1) AS t
  RETURNING task_uuid
)
INSERT INTO task_transitions (task_uuid, to_state, sort_key, most_recent, created_at, updated_at)
SELECT task_uuid, 'error', 1, true, now(), now() FROM made
"""


@proof
@both_versions
async def test_old_failures_of_high_priority_do_not_hide_tasks_of_low_priority(tasker_db: TaskerDb, data: Data) -> None:
    """Failed tasks stay unfinished permanently, and only 5,000 of these are read."""
    stuck = data.task("refund", state="blocked_by_failures", ago=HOUR, steps={"refund_card": failed(HOUR)}, priority=-1)
    await tasker_db.write(data)
    await tasker_db.sql(FAILED, 6000)
    found = await tasker_db.findings()
    assert "blocked_by_failures" in {f.code for f in found.findings if f.node_id == tasker_db.task(stuck)}
    assert "blocked_by_failures" in found.capped
    assert (Phase.FAILED, Precision.CAPPED) in {(c.phase, c.precision) for c in await tasker_db.reader.nodes.counts()}
    live = [n.id for n in (await tasker_db.reader.pages.live(limit=2)).nodes]
    assert live == [tasker_db.task(stuck), tasker_db.step(stuck, "check_return")], "the list looks past what failed"


@both_versions
@pytest.mark.parametrize("priority", ["n % 3", "0", "n % 50 / 49", "n / 3000", "n % 21"])
async def test_the_newest_of_each_priority_are_merged_without_a_full_scan(
    tasker_db: TaskerDb, data: Data, priority: str
) -> None:
    data.task("refund")
    await tasker_db.write(data)
    await tasker_db.sql(FAILED.replace("n, 9,", f"n, {priority},"), 12_000)
    await tasker_db.sql("VACUUM (ANALYZE) tasks")
    part = "WITH RECURSIVE " + (Path(loader.__file__).parents[1] / PART).read_text("utf-8").replace(':"schema".', "")
    found = await tasker_db.connection.fetch(f"{part} SELECT task_uuid FROM newest_tasks")
    assert found == await tasker_db.connection.fetch(
        "SELECT task_uuid FROM tasks WHERE priority IN (SELECT DISTINCT priority FROM tasks ORDER BY 1 DESC LIMIT 20)"
        " ORDER BY task_uuid DESC LIMIT 5000"
    )
    plan = json.loads(await tasker_db.value(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {part} SELECT FROM newest_tasks"))
    blocks = plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]
    assert blocks < 300, "each priority starts at its place in the index"


@proof
@pytest.mark.parametrize(("number", "truncated"), most_in_proof([(20_010, True), (20_000, False)]))
async def test_more_failures_than_the_search_limit(
    tasker_db: TaskerDb, data: Data, number: int, truncated: bool
) -> None:
    stuck = data.task("refund", state="blocked_by_failures", ago=HOUR, steps={"refund_card": failed(HOUR)}, priority=-1)
    await tasker_db.write(data)
    await tasker_db.sql(FAILED, number)
    tasker_db.workspace.database.patience = TIMEOUT_FACTOR
    page = await tasker_db.reader.pages.live(limit=2)
    assert ("20,000" in page.scope) == truncated
    assert (tasker_db.task(stuck) in {n.id for n in page.nodes}) != truncated


async def test_a_template_s_lifecycle_overrides_the_thresholds(tasker_db: TaskerDb, data: Data) -> None:
    wide = data.task(
        "nightly_report",
        state="waiting_for_dependencies",
        ago=70 * MINUTE,
        steps={"open_books": waiting(30, backoff=9000)},
    )
    short = data.task(
        "refund", state="waiting_for_dependencies", ago=70 * MINUTE, steps={"check_return": waiting(30, backoff=9000)}
    )
    old = data.task(
        "refund",
        state="waiting_for_dependencies",
        ago=60,
        age=23 * HOUR,
        steps={"check_return": waiting(30, backoff=9000)},
    )
    await tasker_db.write(data)
    stale = {f.node_id: f for f in (await tasker_db.findings()).findings if f.code == "stale_soon"}
    assert set(stale) == {tasker_db.task(short), tasker_db.task(old)}
    assert tasker_db.task(wide) not in stale
    evidence = stale[tasker_db.task(short)].evidence
    assert (evidence["spent"], evidence["allowed"], evidence["by"]) == ("70 min", "60 min", "the threshold")
    assert stale[tasker_db.task(old)].evidence["verdict"] == "soon"
    loose = await Workspace(
        tasker_db.workspace.database.text,
        {"tasker": {"stale_waiting_for_dependencies": 7200.0, "stale_lifetime": 172_800.0}},
    ).open()
    assert {f.code for f in (await loose.engines["tasker"].findings.read()).findings} & {"stale_soon"} == set()
    await loose.close()


async def test_an_orphaned_claim_depends_on_the_usual_run_time(tasker_db: TaskerDb, data: Data) -> None:
    for _ in range(5):
        data.task("newsletter", state="complete", ago=HOUR, rest=complete(HOUR, spent=1_200_000))
    slow = data.task("newsletter", steps={"deliver_batch": claimed(40 * MINUTE)})
    gone = data.task("newsletter", steps={"deliver_batch": claimed(120 * MINUTE)})
    await tasker_db.write(data)
    orphans = {n for n, code in await tasker_db.codes() if code == "owner_dead"}
    assert orphans == {tasker_db.step(gone, "deliver_batch")}
    assert tasker_db.step(slow, "deliver_batch") not in orphans


async def test_findings_of_messages(tasker_db: TaskerDb, data: Data) -> None:
    served = data.task("refund", ago=900, steps={"check_return": enqueued(900)})
    ended = data.task("refund", state="cancelled", rest=cancelled(900))
    data.message(served, "check_return", age=400, reads=2)
    data.message(ended, "check_return", age=900, reads=3)
    data.message(ended, "refund_card", age=900, reads=1)
    data.message(served, "check_return", age=900, reads=9, queue=RESULTS)
    quiet = data.task("sync_erp", ago=900, steps={"pull_erp": enqueued(900)})
    data.message(quiet, "pull_erp", age=900)
    await tasker_db.write(data)
    found = {(f.node_id.partition("/")[2], f.code) for f in (await tasker_db.findings()).findings}
    namespace = await tasker_db.value("SELECT task_namespace_uuid FROM task_namespaces WHERE name = 'legacy'")
    assert found == {
        (f"message:{ended.queue}/2", "poison_message"),
        (f"message:{RESULTS}/1", "poison_message"),
        (f"namespace:{namespace}", "no_worker"),
    }


# Dead letters


@both_versions
async def test_dead_letters_are_ordered_by_severity_and_age_with_folded_errors(tasker_db: TaskerDb, data: Data) -> None:
    errors = (
        "503 from http://10.0.0.7:8080 after 512 ms",
        "503 from http://10.1.2.3:9090 after 7 ms",
        "request 00c0ffee00c0ffee reset",
    )
    made = [data.task("refund", state="error", ago=900, steps={"refund_card": failed(950, error=e)}) for e in errors]
    plain = data.task(
        "refund", state="waiting_for_dependencies", ago=60, steps={"check_return": waiting(30, backoff=900)}
    )
    dead_letters = [data.dead_letter(m, age=900 + n) for n, m in enumerate(made)]
    circle = data.dead_letter(plain, reason="dependency_cycle_detected", age=30)
    data.dead_letter(data.task("refund", state="error"), decision="cancelled")
    await tasker_db.write(data)
    dead = await tasker_db.reader.pages.dead()
    assert [x.node.id for x in dead.dead_letters] == [
        tasker_db.dead_letter(circle),
        *map(tasker_db.dead_letter, dead_letters),
    ]
    assert [(x.was, x.is_now) for x in dead.dead_letters] == [
        ("waiting_for_dependencies", "waiting_for_dependencies")
    ] + [("waiting_for_dependencies", "error")] * 3
    prints = [x.fingerprint for x in dead.dead_letters]
    assert prints[1] == prints[2] == "staleness_timeout - shop/refund - refund_card: <n> from <address> after <n> ms"
    assert prints[3].endswith("request <n> reset")
    assert prints[0] == "dependency_cycle_detected - shop/refund - was waiting_for_dependencies"


@both_versions
async def test_dead_letters_of_tasks_in_error_are_found_among_many(tasker_db: TaskerDb, data: Data) -> None:
    revived = [data.task("refund", state="waiting_for_dependencies", ago=60) for _ in range(20)]
    errors = [data.task("refund", state="error", ago=60) for _ in range(4)]
    dead_letters = [data.dead_letter(m, age=900 - n) for n, m in enumerate([*errors[:1], *revived, *errors[1:]])]
    await tasker_db.write(data)
    for page in (1, 2, 3, 4):  # the statement reads twice the page size before all others
        found = (await tasker_db.reader.findings.read(limit=page)).findings
        expected = [tasker_db.dead_letter(each) for each in (dead_letters[0], *dead_letters[21:])][-page:]
        assert [f.node_id for f in found if f.code == "dead_letter"] == expected
    stale = {f.node_id for f in (await tasker_db.findings()).findings if f.code == "stale_dead_letter"}
    assert stale == {tasker_db.dead_letter(each) for each in dead_letters[1:21]}


# Detail pages


def section(detail: Any, title: str) -> list[dict[str, Any]]:
    found = next(s for s in detail.sections if s.title == title)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


@both_versions
async def test_the_detail_page_of_a_task_has_graph_critical_path_and_waits(tasker_db: TaskerDb, data: Data) -> None:
    steps = {
        "validate_cart": complete(900),
        "reserve_stock": complete(300),
        "charge_card": complete(800),
        "book_carrier": failed(200, attempts=2),
    }
    made = data.task("fulfil_order", state="blocked_by_failures", ago=100, steps=steps)
    await tasker_db.write(data)
    detail = await details.read(tasker_db.reader, tasker_db.task(made))
    drawn = next(s for s in detail.sections if s.title == "Steps")
    assert drawn.drawn == "graph"
    found = graph.steps(drawn.columns, drawn.rows)
    rows = {step.name: step for step in found}
    level = graph.levels({step.id: step.parents for step in found})
    assert {name: level[step.id] for name, step in rows.items()} == {
        "validate_cart": 0,
        "reserve_stock": 1,
        "charge_card": 1,
        "pack_parcel": 2,
        "book_carrier": 2,
        "send_confirmation": 3,
    }
    above = {rows[n].id for n in ("charge_card", "book_carrier", "pack_parcel")}
    assert set(rows["send_confirmation"].parents) == above
    assert rows["pack_parcel"].note == "ready"
    assert rows["send_confirmation"].note == "1/3 parents done"
    assert rows["book_carrier"].note.startswith("attempt 2/3, 503")
    assert {n: (s.state, s.phase) for n, s in rows.items() if s.phase != Phase.DONE} == {
        "pack_parcel": ("pending", Phase.READY),
        "book_carrier": ("error", Phase.FAILED),
        "send_confirmation": ("pending", Phase.BLOCKED),
    }
    assert rows["reserve_stock"].seconds == pytest.approx(600, abs=1)
    assert rows["charge_card"].seconds == pytest.approx(100, abs=1)
    assert rows["pack_parcel"].seconds == pytest.approx(300, abs=20), "since its last parent was done"
    assert rows["book_carrier"].seconds == pytest.approx(100, abs=5), "until it failed"
    assert rows["send_confirmation"].seconds is None
    path = {s.name for s in found if s.id in graph.critical(found, level)}
    assert {"validate_cart", "reserve_stock"} < path, "the parent that ended last"
    assert "charge_card" not in path
    timeline = section(detail, "Timeline")
    assert [timeline[0][c] for c in ("lane", "state", "phase")] == ["the task", "blocked_by_failures", "failed"]
    failure = next(r for r in timeline if r["lane"] == "book_carrier" and r["state"] == "error")
    assert (failure["waited"], failure["waited_for"]) == (1.0, "for the orchestrator")
    step = await details.read(tasker_db.reader, tasker_db.step(made, "book_carrier"))
    waits = [(r["state"], r["waited_for"]) for r in section(step, "Timeline")]
    assert ("in_progress", "for a worker") in waits
    assert ("enqueued_as_error_for_orchestration", "for the handler") in waits
    around = {r["step"]: r["where"] for r in section(step, "Parents and dependents")}
    assert around == {"reserve_stock": "parent", "send_confirmation": "child"}
    assert next(s for s in step.sections if s.title == "Error").payload is not None  # type: ignore[union-attr]


@both_versions
async def test_the_readiness_of_a_step_equals_the_engine_s_for_the_whole_task(tasker_db: TaskerDb, data: Data) -> None:
    steps = {
        "validate_cart": complete(900),
        "reserve_stock": complete(300),
        "charge_card": complete(800),
        "book_carrier": failed(200, attempts=2),
    }
    made = data.task("fulfil_order", ago=100, steps=steps)
    await tasker_db.write(data)
    sql = "SELECT *, next_retry_at::text AS next_retry, last_failure_at::text AS last_failure"
    rows = await tasker_db.connection.fetch(f"{sql} FROM get_step_readiness_status($1, NULL)", made.id)
    assert {row["dependencies_satisfied"] for row in rows} == {True, False}
    assert {row["ready_for_execution"] for row in rows} == {True, False}
    for row in rows:
        shown = section(await details.read(tasker_db.reader, tasker_db.step(made, row["name"])), "Readiness")[0]
        assert {
            k: shown[k] for k in ("state", "ready", "parents_done", "retry_allowed", "next_retry", "last_failure")
        } == {
            "state": row["current_state"],
            "ready": str(row["ready_for_execution"]).lower(),
            "parents_done": f"{row['completed_parents']}/{row['total_parents']}",
            "retry_allowed": str(row["retry_eligible"]).lower(),
            "next_retry": row["next_retry"],
            "last_failure": row["last_failure"],
        }, row["name"]


@both_versions
async def test_unusual_values(tasker_db: TaskerDb, data: Data) -> None:
    shapes = {"deliver_batch": claimed(4000, checkpoint={"cursor": 1}, stamped=30), "render": complete(50)}
    made = data.task("newsletter", ago=4000, steps=shapes)
    dead_letter = data.dead_letter(made)
    await tasker_db.write(data)
    batch, done = made.steps["deliver_batch"], made.steps["render"]
    for stamp in (
        '"2026-13-45T99:99:99Z"',
        '"2026-02-31T10:00:00Z"',
        '"soon"',
        "17",
        "null",
        "{}",
        '"2026-02-28T29:00:00"',
        '"9999-12-31T00:00:00Z"',
    ):
        await tasker_db.sql(
            "UPDATE workflow_steps SET checkpoint = jsonb_build_object('timestamp', $2::jsonb)"
            " WHERE workflow_step_uuid = $1",
            batch,
            stamp,
        )
        assert len((await tasker_db.reader.nodes.read([tasker_db.step(made, "deliver_batch")])).nodes) == 1
        assert (await tasker_db.findings()).skipped_findings == ()
    for results in (
        "null",
        "17",
        '"x"',
        "[]",
        '{"metadata": {"execution_time_ms": "12"}, "error": 7}',
        '{"error": {"message": null}}',
        None,
    ):
        await tasker_db.sql(
            "UPDATE workflow_steps SET results = $2::jsonb WHERE workflow_step_uuid = $1", done, results
        )
        assert await details.read(tasker_db.reader, tasker_db.step(made, "render")) is not None
        assert await details.read(tasker_db.reader, tasker_db.task(made)) is not None
    await tasker_db.sql("UPDATE workflow_steps SET attempts = NULL, max_attempts = NULL")
    await tasker_db.sql(
        'UPDATE named_tasks SET configuration = \'{"lifecycle": {"max_steps_in_process_minutes": "soon"}}\''
    )
    await tasker_db.sql(
        "UPDATE tasks SET created_at = 'infinity', requested_at = '-infinity', context = NULL, tags = NULL"
    )
    await tasker_db.sql("UPDATE task_transitions SET metadata = NULL, transition_metadata = '[]'")
    await tasker_db.sql('UPDATE workflow_step_transitions SET metadata = \'{"event": "not json"}\'')
    await tasker_db.sql("UPDATE tasks_dlq SET task_snapshot = '[1]', metadata = NULL")
    found = await tasker_db.findings()
    assert found.skipped_findings == ()
    nodes = await tasker_db.reader.nodes.read(
        [tasker_db.task(made), tasker_db.step(made, "render"), tasker_db.dead_letter(dead_letter)]
    )
    assert nodes.nodes[0].created_at == float("inf")
    assert nodes.nodes[1].max_attempts == 3
    assert len((await tasker_db.reader.pages.dead()).dead_letters) == 1
    for node in nodes.nodes:
        assert await details.read(tasker_db.reader, node.id) is not None
