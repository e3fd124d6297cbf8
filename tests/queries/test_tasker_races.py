"""Actions of tasker against the engine's unguarded writes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import pytest

from queries.change import loop
from queries.change.transaction import ActionScript
from queries.log import settle
from queries.records.action import Outcome
from tests.db.tasker import TaskerDb
from tests.proof import one_in, repeated
from tests.queries.builders import OPERATOR, outcomes_of, steps
from tests.servers import PostgresServer, both_versions
from tests.simulators.tasker.data import CreatedTask, Data
from tests.simulators.tasker.protocol import SQL, Protocol
from tests.simulators.tasker.step_history import StepHistory, claimed, complete, failed, pending, waiting

CHANGED, STALE, LOCKED = Outcome.CHANGED, Outcome.STALE, Outcome.LOCKED
REFUSED, CONFLICT = Outcome.REFUSED, Outcome.CONFLICT


class Engine(Protocol):
    """Connection that writes as the engine does."""

    lost = 0

    async def final(self, task: UUID) -> None:
        """Write a final state: lock the task first, check nothing."""
        async with self._connection.transaction():
            await self._connection.execute(SQL["complete_locks"], task)
            number = await self._connection.fetchval(SQL["task_next"], task)
            await self._connection.execute(SQL["task_leave"], task)
            await self._connection.execute(SQL["task_enter"], task, None, "blocked_by_failures", "{}", number, None)

    async def flags(self, step: UUID) -> None:
        await self._connection.execute(SQL["failed"], step)

    async def detect(self, task: UUID, state: str) -> None:
        """Act as the staleness detector: write the dead letter first, then the transition."""
        async with self._connection.transaction():
            await self._connection.execute("SELECT create_dlq_entry($1, 'shop', 'refund', $2, 90, 60)", task, state)
            await self._connection.execute(
                "SELECT transition_stale_task_to_error($1, $2, 'shop', 'refund')", task, state
            )

    async def backoff(self, step: UUID) -> None:
        await self._connection.execute(SQL["backoff"], step, 30)


@pytest.fixture
async def engines(tasker_db: TaskerDb) -> AsyncIterator[list[Engine]]:
    """Provide four engine connections."""
    dsn = tasker_db.workspace.database.text
    connections = [await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"}) for _ in range(4)]
    yield [Engine(c) for c in connections]
    for connection in connections:
        await connection.close()


class Case(NamedTuple):
    """Action, task and node: a step's name, "" for the task, or "dead_letter"."""

    action: str
    state: str
    node: str
    steps: dict[str, StepHistory]
    arguments: dict[str, Any]


DONE = {"check_return": complete(9000)}
CASES = [
    Case("retry", "blocked_by_failures", "refund_card", {**DONE, "refund_card": failed(900)}, {}),
    Case("retry", "blocked_by_failures", "", {**DONE, "refund_card": failed(900)}, {}),
    Case("wake", "waiting_for_dependencies", "refund_card", {**DONE, "refund_card": waiting(9, backoff=600)}, {}),
    Case("wake", "waiting_for_dependencies", "", {**DONE, "refund_card": waiting(9, backoff=600)}, {}),
    Case("skip", "blocked_by_failures", "refund_card", {**DONE, "refund_card": failed(900)}, {}),
    Case("complete", "blocked_by_failures", "refund_card", {**DONE, "refund_card": failed(900)}, {"result": {}}),
    Case("cancel", "steps_in_process", "", {**DONE, "refund_card": claimed(900)}, {}),
    Case("release", "steps_in_process", "refund_card", {**DONE, "refund_card": claimed(900)}, {}),
    Case("clear", "waiting_for_dependencies", "refund_card", {**DONE, "refund_card": pending(900, at_work=True)}, {}),
    Case("unstick", "enqueuing_steps", "", {**DONE, "refund_card": pending(900)}, {}),
    Case(
        "finalize",
        "waiting_for_dependencies",
        "",
        dict.fromkeys(("check_return", "refund_card", "notify_customer"), complete(900)),
        {},
    ),
    Case("give_up", "blocked_by_failures", "", {**DONE, "refund_card": failed(900)}, {}),
    Case("revive", "error", "dead_letter", {**DONE, "refund_card": failed(900)}, {}),
    Case("bury", "waiting_for_dependencies", "", DONE, {}),
    Case("resolve", "error", "dead_letter", DONE, {"status": "cancelled"}),
]
AT_ONCE = 4


@repeated(few=3, many=17)
@pytest.mark.parametrize("case", one_in(3, CASES), ids=lambda c: f"{c.action}-{c.node or 'task'}")
async def test_actions_and_engine_never_deadlock(
    tasker_db: TaskerDb, engines: list[Engine], case: Case, times: int
) -> None:
    rng = Random(case.action + case.node)
    data = Data(1)
    made = [data.task("refund", state=case.state, ago=300, steps=case.steps) for _ in range(times * AT_ONCE)]
    dead_letters = [data.dead_letter(m) if case.node == "dead_letter" else None for m in made]
    await tasker_db.write(data)
    ids = [_id(tasker_db, case, m, dead_letter) for m, dead_letter in zip(made, dead_letters, strict=True)]
    outcomes: list[Outcome] = []
    for start in range(0, len(made), AT_ONCE):
        chosen, nodes = made[start : start + AT_ONCE], ids[start : start + AT_ONCE]
        began = time.monotonic()
        dry_run = await tasker_db.dry_run(case.action, *nodes, **case.arguments)
        took = time.monotonic() - began
        assert set(outcomes_of(dry_run).values()) == {CHANGED}, [r.why for r in dry_run.results]
        # Two of the engine's own actors may deadlock, so each writes about a node of its own. A commit takes about as
        # long as its dry run: the writes begin before, within and after it.
        writes = [
            _write(engine, rng, case, m, after=rng.uniform(0, 2 * took))
            for engine, m in zip(engines, chosen, strict=True)
        ]
        committed, *faults = await asyncio.gather(
            loop.commit(tasker_db.workspace, dry_run, OPERATOR), *writes, return_exceptions=True
        )
        for fault in faults:
            assert fault is None or isinstance(fault, asyncpg.UniqueViolationError), repr(fault)
        assert not isinstance(committed, BaseException), repr(committed)
        # A task's dead letter has a copy of its steps, so the gate stops one whose steps have moved since the dry run.
        results = [r for r in committed.results if not (r.outcome is CONFLICT and "Repeat the dry run" in r.why)]
        assert {r.outcome for r in results} <= {CHANGED, STALE, LOCKED, REFUSED}, committed.results
        outcomes += outcomes_of(committed).values()
        for change in committed.changes:
            _followed(change, committed.changes)
    assert CHANGED in outcomes
    for table, key in (("task_transitions", "task_uuid"), ("workflow_step_transitions", "workflow_step_uuid")):
        assert (
            await tasker_db.connection.fetch(
                f"SELECT {key} FROM {table} GROUP BY 1 HAVING count(*) FILTER (WHERE most_recent) <> 1"
            )
            == []
        )


def _id(tasker_db: TaskerDb, case: Case, made: CreatedTask, dead_letter: UUID | None) -> str:
    if dead_letter:
        return tasker_db.dead_letter(dead_letter)
    return tasker_db.step(made, case.node) if case.node else tasker_db.task(made)


async def _write(engine: Engine, rng: Random, case: Case, one: CreatedTask, *, after: float) -> None:
    """Write to a node as the engine may, after ``after`` seconds."""
    await asyncio.sleep(after)
    step = one.steps["refund_card"]
    sort = rng.choice(("task", "step", "final", "flags", "detect", "backoff", "both"))
    if sort in ("task", "both"):
        await engine.move_task(one.id, case.state, case.state, "Demo", None)
    if sort in ("step", "both"):
        state = await engine.step_state(step)
        await engine.move_step(step, state, state, {"type": "Demo"})
    if sort == "final":
        await engine.final(one.id)
    if sort == "flags":
        await engine.flags(step)
    if sort == "backoff":
        await engine.backoff(step)
    if sort == "detect":
        await engine.detect(one.id, case.state)


def _followed(change: Any, changes: Any) -> None:
    """Check that each inserted transition continues its predecessor's state."""
    if change.before is None and change.table.endswith("_transitions"):
        key = "task_uuid" if change.table == "task_transitions" else "workflow_step_uuid"
        before = [
            c.before
            for c in changes
            if c.table == change.table and c.before and c.after and c.before[key] == change.after[key]
        ]
        assert [b["to_state"] for b in before] == [change.after["from_state"]]
        assert before[0]["sort_key"] < change.after["sort_key"]


# Single races, paused at the critical point


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Run a callback after the last statement of an action and before its COMMIT."""

    def hold(during: Callable[[], Awaitable[None]]) -> None:
        send = settle.send_commit

        async def slow(transaction: Any) -> Any:
            await during()
            return await send(transaction)

        monkeypatch.setattr(settle, "send_commit", slow)

    return hold


async def until_waiting(tasker_db: TaskerDb, query: str) -> None:
    """Wait until a session waits for a lock with a statement like this."""
    async with asyncio.timeout(60):
        while not await tasker_db.value(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1"
            " AND datname = current_database()",
            query,
        ):
            await asyncio.sleep(0)


def stuck(data: Data) -> CreatedTask:
    return data.task("refund", state="blocked_by_failures", ago=900, steps={**DONE, "refund_card": failed(900)})


@both_versions
async def test_the_later_writer_loses_against_the_index(tasker_db: TaskerDb, engines: list[Engine], held: Any) -> None:
    """The engine's overlapping transition waits, and its insert is rejected."""
    made = stuck(data := Data(1))
    await tasker_db.write(data)
    step = made.steps["refund_card"]
    late: list[asyncio.Task[bool]] = []

    async def engine_comes() -> None:
        late.append(asyncio.create_task(engines[0].move_step(step, "error", "pending", {"type": "Retry"})))
        await until_waiting(tasker_db, "UPDATE workflow_step_transitions%")

    held(engine_comes)
    outcomes = await tasker_db.do("skip", tasker_db.step(made, "refund_card"))
    assert outcomes_of(outcomes) == {tasker_db.step(made, "refund_card"): CHANGED}
    assert (await late[0], engines[0].overtaken) == (False, 1)
    assert await tasker_db.step_state(step) == "resolved_manually"
    await tasker_db.sound()


@both_versions
async def test_a_node_that_the_engine_is_writing_is_locked(tasker_db: TaskerDb, engines: list[Engine]) -> None:
    made, other = stuck(data := Data(1)), stuck(data)
    await tasker_db.write(data)
    ids = [tasker_db.step(made, "refund_card"), tasker_db.step(other, "refund_card")]
    dry_run = await tasker_db.dry_run("skip", *ids)
    transaction = engines[0]._connection.transaction()
    await transaction.start()
    await engines[0]._connection.execute(SQL["step_leave"], made.steps["refund_card"])
    outcomes = await loop.commit(tasker_db.workspace, dry_run, OPERATOR)
    await transaction.rollback()
    assert outcomes_of(outcomes) == {ids[0]: LOCKED, ids[1]: CHANGED}


@both_versions
@pytest.mark.parametrize("node", ["step", "task"])
async def test_locked_parents_do_not_block_the_engine_s_foreign_keys(
    tasker_db: TaskerDb, engines: list[Engine], held: Any, node: str
) -> None:
    """Foreign key checks run while the engine holds a transition.

    FOR UPDATE on the parents would block them.
    """
    made = stuck(data := Data(1))
    await tasker_db.write(data)
    connection = engines[0]._connection
    referred: list[str] = []

    async def engine_refers() -> None:
        await connection.execute("SET lock_timeout = '2s'")
        referred.append(
            await connection.execute(
                "INSERT INTO workflow_step_result_audit"
                " (workflow_step_uuid, workflow_step_transition_uuid, task_uuid, success)"
                " SELECT $1, workflow_step_transition_uuid, $2, true FROM workflow_step_transitions"
                " WHERE workflow_step_uuid = $1 LIMIT 1",
                made.steps["refund_card"],
                made.id,
            )
        )

    held(engine_refers)
    name = tasker_db.step(made, "refund_card") if node == "step" else tasker_db.task(made)
    assert outcomes_of(await tasker_db.do("retry", name)) == {name: CHANGED}
    assert referred == ["INSERT 0 1"]


async def test_concurrent_writes_are_not_reported_as_changes(
    tasker_db: TaskerDb, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that the engine adds to a locked task are not the action's changes."""
    made = stuck(data := Data(1))
    data.task("newsletter")
    await tasker_db.write(data)
    change, changes = ActionScript.change, []

    async def slow(self: ActionScript, transaction: Any, then: Callable[[], Any]) -> Any:
        changes.append(1)
        changed, _ = await change(self, transaction)
        if len(changes) == 2:  # the commit's: before the copy of what it changed
            await engines[0]._connection.execute(SQL["insert_steps"], made.id, ["render"], [3], [True])
        return changed, await transaction.each([*then()])

    monkeypatch.setattr(ActionScript, "change", slow)
    outcomes = await tasker_db.do("retry", tasker_db.task(made))
    assert outcomes_of(outcomes) == {tasker_db.task(made): CHANGED}
    assert [c.key for c in outcomes.changes if c.table == "workflow_steps"] == [str(made.steps["refund_card"])]
    assert await tasker_db.value("SELECT count(*) FROM workflow_steps WHERE task_uuid = $1", made.id) == 4


@both_versions
async def test_bury_never_blocks_the_detector(
    tasker_db: TaskerDb, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bury waits without holding a transition: the detector locks that last."""
    monkeypatch.setattr("queries.db.database.WRITE_LOCK_SECONDS", 4.0)  # seen while it waits
    made = data_task = (data := Data(1)).task("refund", state="waiting_for_dependencies", ago=9000)
    await tasker_db.write(data)
    connection = engines[0]._connection
    dry_run = await tasker_db.dry_run("bury", tasker_db.task(made))
    transaction = connection.transaction()
    await transaction.start()
    assert await connection.fetchval(
        "SELECT create_dlq_entry($1, 'shop', 'refund', 'waiting_for_dependencies', 90, 60)", data_task.id
    )
    burying = asyncio.create_task(loop.commit(tasker_db.workspace, dry_run, OPERATOR))
    await until_waiting(tasker_db, "WITH%seen AS%")
    await connection.execute("SET LOCAL lock_timeout = '100ms'")
    stale = await connection.fetchval(
        "SELECT transition_task_state_atomic($1, 'waiting_for_dependencies', 'error', NULL)", made.id
    )
    await transaction.commit()
    assert stale is True
    assert outcomes_of(await burying)[tasker_db.task(made)] in (STALE, LOCKED)
    assert await tasker_db.value("SELECT count(*) FROM tasks_dlq") == 1


async def test_a_unique_violation_is_reported_as_stale(
    tasker_db: TaskerDb, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a current row to lock, the unique index detects the engine's insert."""
    made = stuck(data := Data(1))
    await tasker_db.write(data)
    step = made.steps["refund_card"]
    script = tasker_db.reader.engine.actions["skip"]
    insert = next(part for part in script["change"] if ".workflow_step_transitions (" in part.text)
    clash = (
        "INSERT INTO public.workflow_step_transitions"
        " (workflow_step_uuid, to_state, sort_key, most_recent, created_at, updated_at)"
        f" SELECT '{step}', 'pending', 99, true, now(), now()"
    )
    import msgspec

    changed = tuple(
        msgspec.structs.replace(p, text=clash, parameters=()) if p is insert else p for p in script["change"]
    )
    monkeypatch.setitem(tasker_db.reader.engine.actions, "skip", {**script, "change": changed})  # type: ignore[arg-type]
    before = await tasker_db.everything()
    outcomes = await tasker_db.do("skip", tasker_db.step(made, "refund_card"))
    assert outcomes_of(outcomes) == {tasker_db.step(made, "refund_card"): STALE}
    assert "idx_workflow_step_transitions_uuid_most_recent" in outcomes.results[0].why
    assert await tasker_db.everything() == before


@both_versions
async def test_two_operators_decide_on_the_same_dead_letters(tasker_db: TaskerDb, tmp_path: Path) -> None:
    data = Data(1)
    dead_letters = [data.dead_letter(data.task("refund", state="error", ago=900)) for _ in range(20)]
    await tasker_db.write(data)
    other = await TaskerDb.open(tasker_db.workspace.database.text, tmp_path / "other")
    try:
        ids = [tasker_db.dead_letter(i) for i in dead_letters]
        one = await tasker_db.dry_run("resolve", *ids, status="cancelled")
        two = await other.dry_run("resolve", *ids, status="permanently_failed")
        results = await asyncio.gather(
            loop.commit(tasker_db.workspace, one, OPERATOR),
            loop.commit(other.workspace, two, OPERATOR),
        )
        for node in ids:
            mine, theirs = (outcomes_of(r)[node] for r in results)
            assert {mine, theirs} in ({CHANGED, STALE}, {CHANGED, LOCKED})
        late = await loop.commit(other.workspace, two, OPERATOR)
        assert set(outcomes_of(late).values()) == {STALE}
    finally:
        await other.close()


async def test_five_hundred_dead_letters_at_once(tasker_db: TaskerDb) -> None:
    data = Data(1)
    dead_letters = [data.dead_letter(data.task("refund", state="error", ago=900, rest=complete())) for _ in range(520)]
    await tasker_db.write(data)
    ids = [tasker_db.dead_letter(i) for i in dead_letters]
    dry_run = await tasker_db.dry_run("resolve", *ids, status="cancelled")
    seen = []
    async for progress in steps(tasker_db.workspace, dry_run):
        seen.append(progress.done)
        if progress.done:
            progress.loop.leave()
    assert seen[-1] == 500
    assert await tasker_db.value("SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'cancelled'") == 500


@both_versions
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
async def test_ages_and_written_times_are_utc_in_any_server_time_zone(
    server: PostgresServer, tmp_path: Path, zone: str
) -> None:
    dsn = server.fresh("tasker")
    server.sql(f"ALTER DATABASE {dsn.rpartition('/')[2]} SET TimeZone = '{zone}'")
    tasker_db = await TaskerDb.open(dsn, tmp_path)
    try:
        data = Data(1)
        fresh = data.task(
            "refund", state="waiting_for_dependencies", ago=60, steps={"check_return": waiting(50, backoff=600)}
        )
        hidden = data.task("refund", state="waiting_for_dependencies", ago=3700, steps={"check_return": pending(5000)})
        await tasker_db.write(data)
        page = await tasker_db.reader.nodes.read(
            [tasker_db.task(fresh), tasker_db.task(hidden), tasker_db.step(fresh, "check_return")]
        )
        ages = [page.at - (n.changed_at or 0) for n in page.nodes]
        assert [abs(a - b) < 20 for a, b in zip(ages, (60, 3700, 50), strict=True)] == [True] * 3, ages
        assert 500 < (page.nodes[2].due_at or 0) - page.at < 560
        assert {
            c
            for c in await tasker_db.codes(tasker_db.task(fresh), tasker_db.task(hidden))
            if c[1] == "no_longer_polled"
        } == {(tasker_db.task(hidden), "no_longer_polled")}
        assert await tasker_db.ready() == set()
        await tasker_db.do("wake", tasker_db.task(hidden), tasker_db.task(fresh))
        assert await tasker_db.ready() == {hidden.id, fresh.id}
        written = await tasker_db.value(
            "SELECT max(abs(extract(epoch FROM now()::timestamp - created_at))) FROM task_transitions WHERE most_recent"
        )
        assert written < 20
    finally:
        await tasker_db.close()
        server.drop(dsn)
