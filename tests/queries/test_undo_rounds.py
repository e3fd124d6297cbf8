"""Random rounds for each engine: an action, steps of the executor, an undo.

After each undo, every row of an undone node has its earlier value in every column, or the outcome names the column;
all other rows are untouched. In a race with the executor, the undo overwrites no row that is not as the action left it.
`make proof` runs more rounds for each engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from console.demo.engine import Worker
from queries.change import loop, perform
from queries.change import plan as parts
from queries.change.plan import plan_entry, plan_versions
from queries.contract.spec import Action
from queries.db.errors import LostError, SlowError
from queries.db.query import Query
from queries.db.transaction import Transaction
from queries.log import audit_log
from queries.read.reader import Reader
from queries.records.action import Change, Outcome, Result, Undo
from queries.records.node import Node
from queries.text.psql_text import items
from queries.workspace import Workspace
from tests.proof import most_in_proof, one_in, repeated
from tests.queries.builders import OPERATOR, edits
from tests.servers import PostgresServer
from tests.simulators.every import ENGINES

FRESH = 25  # rounds with one set of data
SEED = int(os.environ.get("UNDO_SEED", "1"))

T = TypeVar("T")
Row = dict[str, str | None]
Rows = dict[tuple[str, str], Row]  # by table and key

IDS = {
    ("eternaltwin", "job"): "SELECT job_id::text FROM job",
    ("eternaltwin", "task"): "SELECT task_id::text FROM task",
    ("estuary", "task"): "SELECT task_id::text FROM tasks",
    ("agent_jobs", "job"): "SELECT id::text FROM jobs",
    ("uni2work", "job"): "SELECT id::text FROM queued_job",
    ("uni2work", "cron"): "SELECT id::text FROM cron_last_exec",
    ("uni2work", "bucket"): "SELECT ident::text FROM token_bucket",
    ("uni2work", "holder"): "SELECT DISTINCT lock_instance::text FROM queued_job WHERE lock_instance IS NOT NULL",
    ("tasker", "task"): "SELECT task_uuid::text FROM tasks",
    ("tasker", "step"): "SELECT workflow_step_uuid::text FROM workflow_steps",
    ("tasker", "dead_letter"): "SELECT dlq_entry_uuid::text FROM tasks_dlq WHERE resolution_status = 'pending'",
    ("tasker", "message"): "",
}
ARGUMENTS: dict[tuple[str, str], dict[str, Any]] = {
    ("eternaltwin", "wake"): {"untimed": True},
    ("estuary", "wake"): {"regardless": True},
    ("estuary", "send"): {"message": {"x": [1.50, "a"]}, "unchecked": True},
    ("estuary", "release"): {"early": True},
    ("estuary", "restart"): {"first_message": {"x": 1}},
    ("estuary", "drop"): {"position": 1, "digest": "?", "decodable": True},
    ("estuary", "delete"): {"owned": True, "childless": True},
    ("estuary", "edit"): {"unchecked": True},
    ("uni2work", "release"): {"gone": True},
    ("uni2work", "refill"): {"value": 1_000_000},
    ("tasker", "complete"): {"result": {"ok": [1.0, None]}, "in_flight": True},
    ("tasker", "skip"): {"in_flight": True},
    ("tasker", "release"): {"again": True},
    ("tasker", "give_up"): {"as": "error"},
    ("tasker", "resolve"): {"status": "cancelled", "note": "x" * 3000},
    ("tasker", "retry"): {"checkpoint": "clear"},
}
SETTINGS = {"agent_jobs": {"agent_jobs": {"profile": "table"}}}  # of every second set of data: other actions
TABLES = """
SELECT c.oid::regclass::text AS relation, CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname AS name,
       ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum) AS columns,
       ARRAY(SELECT a.attname::text
               FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
              WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)) AS key
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname IN ('public', 'pgmq') AND c.relkind = 'r'
"""  # noqa: E501
NOTE = """
CREATE SCHEMA seen;
CREATE TABLE seen.overwritten (xid xid8 DEFAULT pg_current_xact_id(), place text, old text);
CREATE FUNCTION seen.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN INSERT INTO seen.overwritten (place, old) VALUES (TG_TABLE_NAME, OLD::text); RETURN NULL; END $$;
"""


class Rounds:
    """A database with an engine's demo, its executor and a workspace."""

    def __init__(self, name: str, connection: asyncpg.Connection[Any], worker: Worker, workspace: Workspace) -> None:
        self.name = name
        self.connection, self.worker, self.workspace = connection, worker, workspace
        self.sizes = (1, 1, 2, 6)  # numbers of nodes of an action
        self.bulks = False  # of wakes, in half of the rounds
        self.done: Counter[str] = Counter()
        self.undone: Counter[str] = Counter()  # nodes by outcome of their undo
        self._read: dict[tuple[str, str, str], Row] = {}  # by table, place and transaction

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, server: PostgresServer, folder: Path, name: str, seed: int) -> AsyncIterator[Rounds]:
        """Fill a new database."""
        dsn = server.fresh(name, filled=True)
        server.sql(audit_log.ddl(), dsn)
        connection, working = [
            await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC", "search_path": "public"}) for _ in range(2)
        ]
        settings = SETTINGS.get(name) if seed % 2 else None
        workspace = await Workspace(dsn, settings, file=folder / "audit_log.jsonl").open()
        engine = next(e for e in ENGINES if e.name == name)()
        try:
            yield cls(name, connection, engine.worker(working, seed), workspace)
        finally:
            await workspace.close()
            await connection.close()
            await working.close()
            server.drop(dsn)

    @property
    def reader(self) -> Reader:
        return self.workspace.engines[self.name]

    async def rows(self) -> Rows:
        """Return every row, each column as text.

        Reads the values of new row versions only.
        """
        found: Rows = {}
        for table in await self.connection.fetch(TABLES):
            relation, name = table["relation"], table["name"]
            key = " || ' ' || ".join(f'"{c}"::text' for c in table["key"]) or "ctid::text"
            query = f"SELECT {key} AS key, ctid::text AS at, xmin::text AS xmin FROM {relation}"
            versions = [(row["key"], (name, row["at"], row["xmin"])) for row in await self.connection.fetch(query)]
            new = [version[1] for _, version in versions if version not in self._read]
            columns = ", ".join(f'"{c}"::text' for c in table["columns"])
            query = f"SELECT ctid::text AS at, xmin::text AS xmin, ARRAY[{columns}] AS row FROM {relation}"
            query += " WHERE ctid = ANY ($1::text[]::tid[])"
            for row in await self.connection.fetch(query, new) if new else ():
                self._read[name, row["at"], row["xmin"]] = dict(zip(table["columns"], row["row"], strict=True))
            found |= {(name, key_text): self._read[version] for key_text, version in versions}
        return found

    async def act(self, rng: Random) -> tuple[Change, Change] | None:
        """Do a random action on random nodes that can take it; None if there are none."""
        actions = [a for a in self.reader.engine.actions_here if a.writes]
        action = rng.choice(actions)
        nodes = await self._nodes(rng, action)
        if not nodes:
            return None
        if self.bulks:
            parts.PART_NODES = rng.choice((1, 500)) if action.name == "wake" else 500
        arguments = {**ARGUMENTS.get((self.name, action.name), {})}
        if action.name == "priority":
            arguments = {"priority": rng.randint(-100, 100)}
        if (self.name, action.name) == ("eternaltwin", "restart"):
            nodes = nodes[:1]
            query = "SELECT kind || ' v' || kind_version FROM task WHERE job_id = $1 ORDER BY created_at LIMIT 1"
            job = UUID(nodes[0].id.partition(":")[2])
            arguments = {"confirm": await self.connection.fetchval(query, job)}
        plan = plan_versions(self.workspace, self.name, action.name, {n.id: n.version for n in nodes})
        if action.document is not None:
            plan = await anext(edits(self.workspace, self.name, nodes), plan)
            arguments |= plan.arguments
        dry_run = await perform.dry_run(self.workspace, plan, "a round", arguments)
        if action.name == "drop" and (digest := re.search("digest now: (.+)", dry_run.results[0].why)):
            dry_run = await perform.dry_run(self.workspace, plan, "a round", {**arguments, "digest": digest[1]})
        outcomes = await loop.commit(self.workspace, dry_run, OPERATOR)
        if not any(r.outcome is Outcome.CHANGED for r in outcomes.results):
            return None
        entries = [(await self.workspace.audit_log.find(entry, changes=True))[0] for entry in outcomes.entries]
        if entries:  # the console has only the rows of nodes that were dry-run
            outcomes = replace(outcomes, changes=tuple(change for entry in entries for change in entry.changes))
        self.done[action.name] += 1
        return dry_run, outcomes

    async def _nodes(self, rng: Random, action: Action) -> list[Node]:
        kind = rng.choice(action.kinds)
        query = IDS[self.name, kind]
        ids = [r[0] for r in await self.connection.fetch(query)] if query else []
        rng.shuffle(ids)
        asked = [f"{self.name}/{kind}:{i}" for i in ids[:40]]
        found = (await self.reader.nodes.read(asked)).nodes if asked else ()
        able = [n for n in found if self.reader.availability(action, n).ok]
        return able[: rng.choice(self.sizes)]

    async def name_of(self, done: Change) -> str:
        """Return the id of the entry or the bulk, or "" if several entries are no bulk."""
        if len(done.entries) == 1:
            return done.entries[0]
        return (await self.workspace.audit_log.page(None, 1))[0][0].run

    async def undo(self, name: str) -> Change:
        """Undo an entry or a bulk."""
        plan = await plan_entry(self.workspace, name)
        dry_run = await perform.dry_run(self.workspace, plan, "a round", plan.arguments)
        outcomes = await loop.commit(self.workspace, dry_run, OPERATOR)
        self.undone.update(map(reason, outcomes.results))
        return outcomes

    async def tick(self, number: int) -> None:
        for _ in range(number):
            await self.worker.tick()

    def check(self, done: Change, before: Rows, left: Rows, after: Rows, undone: Change) -> None:
        """Compare all rows before the action, before the undo (``left``) and after it."""
        append_only = self.reader.engine.spec.append_only
        whys = {r.id: r.sentence for r in undone.results if r.outcome is Outcome.CHANGED}
        restored: dict[tuple[str, str], str] = {}
        for change in done.changes:
            if change.id in whys:
                restored[change.table, change.key] = restored.get((change.table, change.key), "") + whys[change.id]
        assert all(r.why for r in undone.results if r.outcome is not Outcome.CHANGED), undone.results
        for place in before.keys() | left.keys() | after.keys():
            was, now = before.get(place), after.get(place)
            if place[0] in append_only and (place in restored or place not in left):
                assert any(f"{place[0]} has a new row" in why for why in whys.values())
            elif place not in restored:
                assert left.get(place) == now, f"{place} is not of an undone node"
            elif was is None or now is None:
                assert was == now, place
            else:
                named = {column for column in now if f"{place[0]}.{column} is " in restored[place]}
                assert {c for c in now if now[c] != was[c]} <= named, (place, was, now, restored[place])


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a minute for each transaction: the rounds run beside other work."""
    for limit in ("READ_SECONDS", "WRITE_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(f"queries.db.database.{limit}", 60.0)
    monkeypatch.setattr("queries.change.perform.PART_SECONDS", 120.0)


@repeated(few=5, many=40)
@pytest.mark.parametrize("name", most_in_proof([engine.name for engine in ENGINES], 2))
async def test_every_row_is_as_before_or_named(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, times: int
) -> None:
    monkeypatch.setattr(parts, "PART_NODES", parts.PART_NODES)  # the rounds set it
    rng, number, actions, outcomes = Random(f"{SEED}/{name}"), 0, Counter[str](), Counter[str]()
    while number < times:
        async with Rounds.of(server, tmp_path, name, rng.randrange(1000)) as rounds:
            rounds.bulks = True
            await rounds.tick(rng.randrange(4))
            for _ in range(FRESH * 8):
                before = await rounds.rows()
                acted = await in_time(rounds.act(rng))
                if acted is None:
                    continue
                dry_run, done = acted
                made = await rounds.rows()
                ticks = rng.choice((0, 0, 1, 3))
                await rounds.tick(ticks)
                number += 1
                if reversible(rounds, dry_run, done):
                    left = await rounds.rows()
                    undone = await in_time(rounds.undo(await rounds.name_of(done)))
                    if undone is None:
                        continue
                    rounds.check(done, before, left, await rounds.rows(), undone)
                    if not ticks:
                        assert_undone(dry_run, done, undone)
                    if rng.random() < 0.3 and undone.entries:
                        left = await rounds.rows()
                        again = await in_time(rounds.undo(await rounds.name_of(undone)))
                        if again is not None:
                            rounds.check(undone, left_before(made, undone, left), left, await rounds.rows(), again)
                if rng.random() < 0.3:
                    await rounds.tick(1)
                if number % FRESH == 0 or number >= times:
                    break
            actions += rounds.done
            outcomes += rounds.undone
    print(name, number, dict(actions), dict(outcomes))


def reason(result: Result) -> str:
    """Return the outcome of a node's undo and its reason, without names."""
    outcome = result.outcome.value
    if result.outcome is Outcome.CHANGED:
        return f"{outcome}: {'all columns' if not result.why else 'columns named'}"
    why = re.split("[:,]", result.why)[0] if result.outcome is not Outcome.LOCKED else ""
    return f"{outcome}: {re.sub('of [a-z_]+ for.*', 'of a shared row', why)[:60]}"


def reversible(rounds: Rounds, dry_run: Change, done: Change) -> bool:
    """Return True if the entry has images."""
    actions = [a for a in rounds.reader.engine.actions_here if a.name == dry_run.action and a.writes]
    return all(a.undo is not Undo.NONE for a in actions) and bool(done.entries)


def left_before(made: Rows, undone: Change, left: Rows) -> Rows:
    """Return the rows as the action left them, and the others as they are."""
    changed = {(c.table, c.key) for c in undone.changes}
    return {**{p: r for p, r in left.items() if p not in changed}, **{p: r for p, r in made.items() if p in changed}}


def assert_undone(dry_run: Change, done: Change, undone: Change) -> None:
    """Assert that all nodes were undone except those that the dry run named."""
    changed = {r.id for r in done.results if r.outcome is Outcome.CHANGED}
    skipped = {r.id: r.why for r in undone.results if r.outcome is not Outcome.CHANGED}
    for node_id in changed - dry_run.irreversible.keys():
        why = skipped.get(node_id, "")
        assert not why or "irreversible" in why or "which is not undone" in why, why


@repeated(few=2, many=20)
@pytest.mark.parametrize(("name", "part"), one_in(3, [(e.name, c) for e in ENGINES for c in (parts.PART_NODES, 2)]))
async def test_an_undo_in_a_race_overwrites_only_what_the_action_left(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, part: int, times: int
) -> None:
    rng, number = Random(f"{SEED}/race/{name}"), 0
    monkeypatch.setattr(parts, "PART_NODES", part)
    while number < times:
        async with Rounds.of(server, tmp_path, name, rng.randrange(1000)) as rounds:
            rounds.sizes = rounds.sizes if part > 6 else (6,)
            await rounds.connection.execute(NOTE)
            for table in await rounds.connection.fetch(TABLES):
                await rounds.connection.execute(
                    f"CREATE TRIGGER zz_seen AFTER UPDATE OR DELETE ON {table['relation']} FOR EACH ROW"
                    " EXECUTE FUNCTION seen.note()"
                )
            for _ in range(FRESH * 8):
                acted = await in_time(rounds.act(rng))
                if acted is None or not reversible(rounds, *acted):
                    continue
                if not (undoes := await rounds.name_of(acted[1])):
                    continue
                left = await texts(rounds, acted[1].changes)
                ticking = asyncio.create_task(rounds.tick(rng.choice((1, 2, 4))))
                undone = await in_time(rounds.undo(undoes))
                await ticking
                number += 1
                if undone is None:
                    continue
                changed = [r.id for r in acted[1].results if r.outcome is Outcome.CHANGED]
                assert sorted(r.id for r in undone.results) == sorted(changed), "each node has one outcome"
                assert all(r.why for r in undone.results if r.outcome is not Outcome.CHANGED), undone.results
                query = "SELECT place, old FROM seen.overwritten WHERE xid::text = ANY ($1)"
                overwritten = await rounds.connection.fetch(query, (undone.xid or "").split())
                assert {(r["place"], r["old"]) for r in overwritten} <= left
                if number % FRESH == 0 or number >= times:
                    break


@pytest.mark.parametrize("name", most_in_proof([engine.name for engine in ENGINES], 2))
async def test_a_writer_before_and_during_an_undo(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with Rounds.of(server, tmp_path, name, 1) as rounds:
        dry_run, node, update = await one_undo(rounds, Random(name))
        own = {(c.table, c.key) for c in dry_run.changes if c.id == node}
        async with rounds.connection.transaction():
            await rounds.connection.execute(update)
            skipped = await loop.commit(rounds.workspace, dry_run, OPERATOR)
            assert {r.id: r.outcome for r in skipped.results}[node] is Outcome.LOCKED
        left = await rounds.rows()
        skipped = await loop.commit(rounds.workspace, dry_run, OPERATOR)
        (result,) = (r for r in skipped.results if r.id == node)
        assert result.outcome is Outcome.STALE
        assert isinstance(result.detail, str)
        assert "by transaction" in result.detail
        after = await rounds.rows()
        assert {p: after.get(p) for p in own} == {p: left.get(p) for p in own}

        dry_run, node, update = await one_undo(rounds, Random(name))
        writers: list[asyncio.Task[str]] = []
        each = Transaction.each

        async def locking(self: Transaction, queries: Sequence[Query], *more: Any) -> Any:
            """Let another session write a row once the undo holds its lock."""
            answers = await each(self, queries, *more)
            found = [query.statement for query in queries if "images_find" in query.statement.source]
            if not writers and any("SKIP LOCKED" in statement.text for statement in found):
                writers.append(asyncio.create_task(rounds.connection.execute(update)))
                await until_blocked(server, rounds.connection)
            return answers

        monkeypatch.setattr(Transaction, "each", locking)
        undone = await loop.commit(rounds.workspace, dry_run, OPERATOR)
        monkeypatch.undo()
        assert {r.id: r.outcome for r in undone.results}[node] is Outcome.CHANGED
        restored = {(c.table, c.key): c.after for c in undone.changes}
        assert await writers[0] == "UPDATE 1"  # it wrote the restored row
        rows = await rounds.rows()
        for place, row in restored.items():
            if row is not None:
                now = {c: v for c, v in rows[place].items() if c in row and c != "updated_at"}
                assert [c for c, text in now.items() if text != row[c] and _value(text, row[c]) != row[c]] == []


def _value(text: str, as_in: Any) -> Any:
    return items(text) if isinstance(as_in, list) and text[:1] == "{" else json.loads(text)


async def one_undo(rounds: Rounds, rng: Random) -> tuple[Change, str, str]:
    """Act until an undo would change a row back.

    Return its dry run, the node, and an UPDATE of the row that changes no value.
    """
    tables = {row["name"]: row for row in await rounds.connection.fetch(TABLES)}
    append_only = rounds.reader.engine.spec.append_only
    while True:
        acted = await rounds.act(rng)
        if acted is None or not reversible(rounds, *acted):
            continue
        plan = await plan_entry(rounds.workspace, acted[1].entries[0])
        dry_run = await perform.dry_run(rounds.workspace, plan, "a round", {})
        able = {r.id for r in dry_run.results if r.outcome is Outcome.CHANGED}
        for change in acted[1].changes:
            if change.id in able and change.before and change.after and change.table not in append_only:
                table = tables[change.table]
                key = " || ' ' || ".join(f'"{c}"::text' for c in table["key"])
                column = table["key"][0]
                where = f"{key} = '{change.key}'"
                return dry_run, change.id, f'UPDATE {table["relation"]} SET "{column}" = "{column}" WHERE {where}'


async def until_blocked(server: PostgresServer, connection: asyncpg.Connection[Any]) -> None:
    """Wait until a session waits for a lock."""
    pid = connection.get_server_pid()
    query = f"SELECT FROM pg_locks WHERE pid = {pid} AND NOT granted"
    while await asyncio.to_thread(server.sql, query) == "SELECT 0":
        await asyncio.sleep(0.01)


async def in_time(work: Awaitable[T]) -> T | None:
    """Return the result, or None if the machine is too busy."""
    try:
        return await work
    except (SlowError, LostError):
        return None


async def texts(rounds: Rounds, changes: Iterable[Any]) -> set[tuple[str, str]]:
    """Return the rows of these tables as text."""
    found: set[tuple[str, str]] = set()
    for table in {change.table for change in changes}:
        rows = await rounds.connection.fetch(f"SELECT t::text FROM {table} AS t")
        found |= {(table.rpartition(".")[2], r[0]) for r in rows}
    return found
