"""Random actions on the tasks of running executors; invariants after every step.

The test moves the time, for rows and executors alike. The messages of each task are numbered, so that the messages that
an executor reads show lost, duplicate and reordered ones.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import asyncpg

from queries.change import loop
from queries.records.action import Change, Outcome
from queries.records.node import Node, Phase
from queries.workspace import Workspace
from tests.db.estuary import LABEL, EstuaryDb
from tests.proof import ROUNDS, proof
from tests.queries.builders import OPERATOR, dry_run_of, opened, reader
from tests.servers import PostgresServer, both_versions
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import Executor, HeldTask

TIMEOUT = 300.0
# Rows that no executor, message or action of this engine can create.
IMPOSSIBLE = """
SELECT task_id::text || ': ' || CASE
         WHEN heartbeat = '0001-01-01T00:00:00Z' AND inbox_next IS NOT NULL THEN 'inbox_next of an idle task'
         WHEN heartbeat = '0001-01-01T00:00:00Z' AND cardinality(inbox) > 0 AND wake_at IS NULL THEN 'never read'
         WHEN heartbeat <> '0001-01-01T00:00:00Z' AND (wake_at IS NULL OR wake_at > now()) THEN 'held and not due'
         WHEN heartbeat > now() OR heartbeat = '-infinity' THEN 'a heartbeat that is none'
         WHEN EXISTS (SELECT FROM unnest(inbox || inbox_next) AS e
                       WHERE json_typeof(e) IS DISTINCT FROM 'array' OR json_array_length(e) <> 2) THEN 'broken'
       END
  FROM tasks
 WHERE (heartbeat = '0001-01-01T00:00:00Z' AND (inbox_next IS NOT NULL OR cardinality(inbox) > 0 AND wake_at IS NULL))
    OR (heartbeat <> '0001-01-01T00:00:00Z' AND (wake_at IS NULL OR wake_at > now()))
    OR heartbeat > now() OR heartbeat = '-infinity'
    OR EXISTS (SELECT FROM unnest(inbox || inbox_next) AS e
                WHERE json_typeof(e) IS DISTINCT FROM 'array' OR json_array_length(e) <> 2)
"""


class Storm:
    """Executors, messages and random actions on one database."""

    def __init__(self, estuary_db: EstuaryDb, connections: list[Any], workspace: Workspace, rng: Random) -> None:
        self.estuary_db, self.workspace, self.rng = estuary_db, workspace, rng
        self.executors = [self.executor(c, n) for n, c in enumerate(connections)]
        self.connections = connections
        self.holders: dict[str, Executor] = {}
        self.sent: Counter[str] = Counter()  # numbered messages so far, by task
        self.read: dict[str, list[int]] = defaultdict(list)
        self.dropped: dict[str, set[int]] = defaultdict(set)
        self.ends: Counter[str] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.fenced: set[str] = set()
        self.down = [0, 0]  # steps until a dead process is back
        self.began, self.passed, self.moved = time.monotonic(), 0.0, 0.0

    def executor(self, connection: Any, number: int) -> Executor:
        return Executor(
            connection, Random(number), timeout=TIMEOUT, permits=3, types=[kinds.LIVE_SPEC, kinds.FIBONACCI],
            poll_ticks=lambda rng: rng.randint(0, 9),
            on_take=lambda held: self.taken(number, held), on_end=self.ended,
        )  # fmt: skip

    def taken(self, number: int, held: HeldTask) -> None:
        """Check that at most one executor of a task may write."""
        before = self.holders.get(held.id)
        assert before is None or held.id not in before.held, f"{held.id} is polled by two"
        self.holders[held.id] = self.executors[number]

    def ended(self, held: HeldTask, end: str, outcome: kinds.Outcome | None) -> None:
        self.holders.pop(held.id, None)
        self.ends[end] += 1
        assert end != "vanished", f"a poll of {held.id} lost its row"
        if end == "cancelled":
            assert held.id in self.fenced, "a poll was aborted without a fence"
        self.fenced.discard(held.id)
        if end == "persisted" and outcome is not None and held.type == kinds.LIVE_SPEC:
            for element in held.inbox or []:
                self.read[held.id].append(int(json.loads(element or "")[1]["reason"]))

    async def message(self) -> None:
        """Send a controller its next numbered message with the engine's function."""
        tasks = await self.tasks(kinds.LIVE_SPEC)
        if not tasks:
            tasks = [await self.estuary_db.task(kinds.LIVE_SPEC)]
        task = self.rng.choice(tasks)
        self.sent[task] += 1
        await self.estuary_db.send(task, {"type": "republish", "reason": str(self.sent[task])})

    async def tasks(self, type_: int) -> list[str]:
        rows = await self.estuary_db.connection.fetch(
            "SELECT task_id::text FROM tasks WHERE task_type = $1 ORDER BY 1", type_
        )
        return [row[0] for row in rows]

    async def new(self) -> None:
        if self.rng.random() < 0.5 or len(await self.tasks(kinds.LIVE_SPEC)) < 4:
            await self.estuary_db.task(kinds.LIVE_SPEC, wake=self.rng.choice((-1, 30, None)))
        else:
            task = await self.estuary_db.task(kinds.FIBONACCI, state='"Init"')
            await self.estuary_db.send(task, {"value": self.rng.randint(2, 5)})

    async def crash(self) -> None:
        """Kill one process or all; their tasks stay locked."""
        for number in self.rng.choice(([0], [1], [0, 1])):
            self.down[number] = self.rng.randint(2, 14)
            for task in self.executors[number].held:
                self.holders.pop(task, None)
                self.fenced.discard(task)
            self.executors[number] = self.executor(self.connections[number], number)

    async def pass_(self) -> None:
        """Move the time forward, by less than an executor waits between heartbeats."""
        self.passed += float(self.rng.choice((1, 50, 60)))
        seconds = max(0.0, self.passed - (time.monotonic() - self.began) - self.moved)  # the test's own time counts
        self.moved += seconds
        await self.estuary_db.sql(
            "UPDATE tasks SET wake_at = wake_at - make_interval(secs => $1), heartbeat = CASE WHEN heartbeat ="
            " '0001-01-01T00:00:00Z' THEN heartbeat ELSE heartbeat - make_interval(secs => $1) END",
            seconds,
        )
        for held in [h for e in self.executors for h in e.held.values()]:
            held.beat -= seconds
            shift = "SELECT ($1::text::timestamptz - make_interval(secs => $2))::text"
            held.heartbeat = await self.estuary_db.value(shift, held.heartbeat, seconds)
        for number in range(len(self.executors)):
            await self.round(number)

    async def round(self, number: int) -> None:
        """Run one step of one process, if it is up."""
        if self.down[number]:
            self.down[number] -= 1
        else:
            await self.executors[number].tick()

    async def action(self) -> None:
        """Apply a random action to random nodes, with a change between dry run and commit."""
        r = reader(self.workspace, LABEL)
        action = self.rng.choice([v for v in r.engine.actions_of("task") if v.writes])
        nodes = list((await r.pages.live(None, 200)).nodes)
        likely = [n for n in nodes if r.availability(action, n).ok]
        nodes = likely if likely and self.rng.random() < 0.7 else nodes
        picked = self.rng.sample(nodes, min(len(nodes), self.rng.randint(1, 3)))
        arguments: dict[str, Any] = {"childless": True, "regardless": False, "position": 1}
        if action.name == "send":
            picked = [n for n in picked if n.title.startswith("LIVE")][:1]
            if not picked:
                return
            arguments["message"] = {"type": "republish", "reason": str(self.sent[self.key(picked[0])] + 1)}
        if action.name in ("delete", "restart", "drop"):
            picked = [n for n in picked if n.title.startswith("LIVE")][:1]
        if action.name == "drop" and picked and await self.estuary_db.row(self.key(picked[0])):
            arguments |= {**await self.estuary_db.named(self.key(picked[0]), 1), "decodable": True}
        dry_run = await dry_run_of(self.workspace, action.name, {n.id: n.version for n in picked}, arguments, LABEL)
        if self.rng.random() < 0.4:
            await self.round(self.rng.randrange(len(self.executors)))
        await self.commit(action.name, picked, dry_run)

    async def commit(self, action: str, picked: list[Node], dry_run: Change) -> None:
        held = {task for e in self.executors for task in e.held}
        outcomes = await loop.commit(self.workspace, dry_run, OPERATOR)
        changed = {r.id.partition("/task:")[2] for r in outcomes.results if r.outcome is Outcome.CHANGED}
        for result in outcomes.results:
            self.outcomes[action, result.outcome] += 1
            assert result.outcome in (Outcome.CHANGED, Outcome.STALE, Outcome.REFUSED, Outcome.GONE), result
        if action == "fence":
            self.fenced |= changed & held
        elif action != "send":
            assert not changed & held, f"{action} reached a task that is being polled"
        if action == "send":
            self.sent.update(changed)
        if action == "drop":
            for change in outcomes.changes:
                assert change.before is not None
                message = json.loads(change.before["inbox"][0])[1]
                if isinstance(message, dict) and "reason" in message:
                    self.dropped[change.key].add(int(message["reason"]))
        if action == "delete":
            for task in changed:
                self.sent.pop(task, None)

    @staticmethod
    def key(node: Node) -> str:
        return node.id.partition("/task:")[2]

    async def check(self) -> None:
        assert await self.estuary_db.connection.fetch(IMPOSSIBLE) == []

    async def settle(self) -> None:
        """Run until all messages are read and all trees are done."""
        for _ in range(2000):  # a few hundred if the machine has time for it
            await self.estuary_db.sql(
                "UPDATE tasks SET wake_at = now() WHERE wake_at > now() AND heartbeat = '0001-01-01T00:00:00Z' AND"
                " task_type = $1", kinds.FIBONACCI,
            )  # fmt: skip
            await self.pass_()
            await self.check()
            due = await self.estuary_db.value("SELECT count(*) FROM tasks WHERE wake_at <= now()")
            if due == 0 and not any(e.held for e in self.executors):
                return
        raise AssertionError("it never came to rest")


@proof
@both_versions
async def test_what_the_engine_relies_on_survives_any_action(
    estuary_db: EstuaryDb, estuary: str, server: PostgresServer, tmp_path: Path
) -> None:
    rng = Random(server.version)
    workspace = await opened(estuary, tmp_path)
    connections = [await asyncpg.connect(estuary, server_settings={"TimeZone": "UTC"}) for _ in range(2)]
    storm = Storm(estuary_db, connections, workspace, rng)
    for _ in range(4):
        await storm.new()
    weights = {storm.message: 5, storm.new: 1, storm.pass_: 9, storm.crash: 1, storm.action: 10}
    for step in rng.choices([*weights], [*weights.values()], k=round(2000 * ROUNDS)):
        await step()
        await storm.check()
    await storm.settle()
    for task, sent in storm.sent.items():
        expected = [n for n in range(1, sent + 1) if n not in storm.dropped[task]]
        assert storm.read[task] == expected, f"{task} lost, doubled or reordered a message"
    assert storm.ends["persisted"] > 30
    done = {action for (action, outcome), _ in storm.outcomes.items() if outcome == Outcome.CHANGED}
    assert len(done) >= 6, storm.outcomes
    left = [n for n in (await reader(workspace, LABEL).pages.live(None, 500)).nodes if n.phase is Phase.FAILED]
    assert left == []
    await workspace.close()
    for connection in connections:
        await connection.close()
