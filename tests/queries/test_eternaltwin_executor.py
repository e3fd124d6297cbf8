"""Actions on rows that the engine's runner is polling."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.change import loop, perform
from queries.change.plan import plan_versions
from queries.log import audit_log
from queries.records.action import Change, Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.proof import proof
from tests.queries.builders import OPERATOR, do, opened, outcomes_of, reader
from tests.servers import both_versions
from tests.simulators.eternaltwin.kinds import encode
from tests.simulators.eternaltwin.runner import SQL, Polled, Runner, Tick

CHANGED, STALE = Outcome.CHANGED, Outcome.STALE
KIND = {"kind": "SendEmail", "version": 2}
STATE = encode({"phase": "Compose", "retries": 0})

# Contents and writers of the table, recorded by a trigger and therefore independent of both sides.
AUDIT = """
CREATE TABLE audit (n bigint GENERATED ALWAYS AS IDENTITY, xid text, who text, task_id uuid, was jsonb, became jsonb);
CREATE FUNCTION brief(t task) RETURNS jsonb LANGUAGE sql AS $$
  SELECT CASE WHEN t.task_id IS NOT NULL THEN jsonb_build_object(
           'status', t.status, 'revision', t.revision,
           'state', octet_length(t.state) || ' bytes, md5 ' || md5(t.state),
           'output', octet_length(t.output) || ' bytes, md5 ' || md5(t.output)) END $$;
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.audit (xid, who, task_id, was, became)
  VALUES (pg_current_xact_id()::text, current_setting('application_name'), coalesce(new.task_id, old.task_id),
          public.brief(old), public.brief(new));
  RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON task FOR EACH ROW EXECUTE FUNCTION audit();
INSERT INTO audit (xid, who, task_id, was, became) SELECT '', 'beginning', t.task_id, NULL, brief(t) FROM task t;
"""


@pytest.fixture
async def runner(eternaltwin: str) -> AsyncIterator[Runner]:
    connection = await asyncpg.connect(eternaltwin, server_settings={"application_name": "runner"})
    yield Runner(connection, Random(1))
    await connection.close()


# A running poll: read before the action, written after it


@both_versions
async def test_a_poll_in_flight_is_discarded_by_cancel(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, runner: Runner
) -> None:
    task = await eternaltwin_db.task(state=STATE, **KIND)
    polled = await runner.read(task)
    assert polled is not None
    assert outcomes_of(await do(workspace, "cancel", [eternaltwin_db.id(task)])) == {eternaltwin_db.id(task): CHANGED}
    assert not await runner.write(polled, Tick(await eternaltwin_db.value(SQL["clock"]), 1))
    row = await eternaltwin_db.row(task)
    assert (row["status"], row["revision"], row["state"], row["output"]) == ("Complete", 4, STATE, None)
    assert runner.misses == 1


async def test_a_poll_in_flight_is_discarded_by_restart(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, runner: Runner
) -> None:
    job = await eternaltwin_db.job(state=encode({"phase": "Compose", "first": True}))
    task = await eternaltwin_db.task(job, state=STATE, **KIND)
    polled = await runner.read(task)
    assert polled is not None
    await do(workspace, "restart", [eternaltwin_db.id(job, "job")], {"confirm": "SendEmail v2"})
    assert not await runner.write(polled, Tick(await eternaltwin_db.value(SQL["clock"]), 1))
    row = await eternaltwin_db.row(task)
    assert (row["status"], row["revision"]) == ("Available", 4)
    assert row["state"] == encode({"phase": "Compose", "first": True})


async def test_a_poll_in_flight_of_a_deleted_job_is_discarded(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, runner: Runner
) -> None:
    job = await eternaltwin_db.job()
    polled = await runner.read(await eternaltwin_db.task(job, state=STATE, **KIND))
    assert polled is not None
    await do(workspace, "delete", [eternaltwin_db.id(job, "job")])
    assert not await runner.write(polled, Tick(await eternaltwin_db.value(SQL["clock"]), 1))
    assert await eternaltwin_db.value("SELECT count(*) FROM task") == 0


async def test_a_poll_written_between_dry_run_and_commit_makes_it_stale(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, runner: Runner
) -> None:
    task = await eternaltwin_db.task(state=STATE, **KIND)
    versions = {n.id: n.version for n in (await reader(workspace).nodes.read([eternaltwin_db.id(task)])).nodes}
    assert await runner.tick() == 1
    assert outcomes_of(await do(workspace, "cancel", versions)) == {eternaltwin_db.id(task): STALE}
    assert (await eternaltwin_db.row(task))["revision"] == 4


async def test_a_woken_task_is_polled_at_the_next_tick(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, runner: Runner
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=9999, state=STATE, **KIND)
    assert await runner.tick() == 0
    await do(workspace, "wake", [eternaltwin_db.id(task)])
    assert await runner.tick() == 1
    row = await eternaltwin_db.row(task)
    assert (row["revision"], row["status"], row["timers"]) == (4, "Available", 0)


# Random actions


class RandomOperator:
    """Operator that applies random actions to random visible nodes."""

    def __init__(self, workspace: Workspace, seed: int) -> None:
        self.workspace, self.rng = workspace, Random(seed)
        self.done: list[Change] = []

    async def act(self, steps: int) -> None:
        for _ in range(steps):
            await self._one()

    async def _one(self) -> None:
        reader_, action = reader(self.workspace), self.rng.choice(["wake", "cancel", "cancel job", "restart", "delete"])
        if action in ("wake", "cancel"):
            nodes = (await reader_.pages.live(limit=200)).nodes
            chosen = self.rng.sample(nodes, min(len(nodes), self.rng.randint(1, 6)))
        else:
            nodes = (await reader_.pages.roots(limit=200)).nodes
            chosen = self.rng.sample(nodes, 1 if action == "delete" else min(len(nodes), self.rng.randint(1, 3)))
        if not chosen:
            return
        name, versions = action.partition(" ")[0], {n.id: n.version for n in chosen}
        arguments: dict[str, Any] = {"untimed": self.rng.random() < 0.5}
        if action == "restart":
            arguments = {"confirm": chosen[0].title.partition(" ·")[0]}
        dry_run = await perform.dry_run(
            self.workspace, plan_versions(self.workspace, LABEL, name, versions), "rain", arguments
        )
        self.done.append(await loop.commit(self.workspace, dry_run, OPERATOR))


@proof
@both_versions
async def test_actions_rain_on_a_running_executor(eternaltwin_demo: str, tmp_path: Path) -> None:
    eternaltwin_db = await EternaltwinDb.open(eternaltwin_demo)
    await eternaltwin_db.sql(AUDIT)
    await eternaltwin_db.sql(audit_log.ddl())
    await eternaltwin_db.sql("CREATE INDEX ON task (job_id); CREATE INDEX ON task_timer (task_id)")
    engine = await asyncpg.connect(eternaltwin_demo, server_settings={"application_name": "runner"})
    polls: list[Polled] = []
    runner = Runner(engine, Random(5), batch=25, on_poll=polls.append)
    consoles = [RandomOperator(await opened(eternaltwin_demo, tmp_path / str(n)), n) for n in (1, 2)]
    over = asyncio.Event()
    written = 0

    async def run() -> None:
        nonlocal written
        start, ticks = await eternaltwin_db.value(SQL["clock"]), 0
        while not over.is_set():
            ticks += 1
            written += await runner.tick(start + timedelta(seconds=3 * ticks))

    running = asyncio.create_task(run())
    await asyncio.gather(*(console.act(60) for console in consoles))
    over.set()
    await running
    await engine.close()
    outcomes = [o for console in consoles for o in console.done]
    for console in consoles:
        await console.workspace.close()

    audit = await eternaltwin_db.connection.fetch("SELECT * FROM audit ORDER BY n")
    entries = await eternaltwin_db.connection.fetch("SELECT xid::text, action, results, changes FROM unstick.audit_log")
    assert await eternaltwin_db.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
    assert written > 100
    assert sum(r.outcome is CHANGED for o in outcomes for r in o.results) > 50
    await eternaltwin_db.connection.close()

    check_revisions(audit, written)
    check_polls(audit, polls)
    check_audit_log(audit, entries, outcomes)


def check_revisions(audit: list[Any], written: int) -> None:
    """Check that a poll or an action made every increment of a revision."""
    last: dict[Any, Any] = {}
    by_runner = 0
    for row in audit:
        was, now = json(row["was"]), json(row["became"])
        assert was == last.get(row["task_id"])
        last[row["task_id"]] = now
        if was and now:
            step = now["revision"] - was["revision"]
            assert step in (0, 1), "one increment at a time, never back"
            assert step or (was["status"], now["status"]) == ("Blocked", "Available"), "only wake keeps the revision"
            by_runner += step if row["who"] == "runner" else 0
    assert by_runner == written, "no poll that was reported as written is lost"


def check_polls(audit: list[Any], polls: list[Polled]) -> None:
    """Check that every polled task was Available, in a known state and revision."""
    there = {(r["task_id"], is_["revision"], is_["state"]) for r in audit if (is_ := json(r["became"]))
             if is_["status"] == "Available"}  # fmt: skip
    for poll in polls:
        digest = hashlib.md5(poll.state, usedforsecurity=False).hexdigest()
        assert (poll.task_id, poll.revision, f"{len(poll.state)} bytes, md5 {digest}") in there
    assert len(polls) > 100


def check_audit_log(audit: list[Any], entries: list[Any], outcomes: list[Change]) -> None:
    """Audit log and outcomes match exactly the rows that were in the table."""
    happened = {(r["xid"], str(r["task_id"])): r for r in audit if r["who"] == "unstick"}
    said = {}
    for entry in entries:
        for change in json(entry["changes"]):
            if change["table"] == "task":
                said[entry["xid"], change["key"]] = (entry["action"], change["before"], change["after"])
    assert said.keys() == happened.keys()
    for place, (action, before, after) in said.items():
        # A delete copies the bytes and not their digest.
        fields = ("status", "revision") if action == "delete" else ("status", "revision", "state", "output")
        was, became = json(happened[place]["was"]), json(happened[place]["became"])
        if was and became:
            fields = tuple(field for field in fields if was[field] != became[field])
            assert not {"status", "revision", "state", "output"}.difference(fields) & {*before, *after}
        assert (part(before, fields), part(after, fields)) == (part(was, fields), part(became, fields))
    changed = sorted(r.id for o in outcomes for r in o.results if r.outcome is CHANGED)
    written_down = sorted(r["id"] for e in entries for r in json(e["results"]) if r["outcome"] == "changed")
    assert changed == written_down
    assert sorted(x for o in outcomes if o.xid for x in o.xid.split()) == sorted(e["xid"] for e in entries)


def part(row: dict[str, Any] | None, fields: tuple[str, ...]) -> dict[str, Any] | None:
    return row and {field: row[field] for field in fields}


def json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)
