"""Compare the blast radius of random actions with the demo's executors.

``make radius`` prints a line for each engine; ``RADIUS_ROUNDS=1000`` sets the number of actions, ``RADIUS_SEED`` the
random choices, ``RADIUS_VERBOSE=1`` prints wrong predictions. Two copies of one database run the same ticks: in one the
action was committed, in the other nothing was. The truth is the set of nodes that the executors touched in one copy
only. The prediction is the set of nodes that become ready, follow their job, or stop being ready or running.

A miss is a node of the truth that was not predicted. It is marked if the blast radius names it as related, or if it
says that not all of them are known. Polls are random by node, so both copies decide alike. Nodes with a timer or a
heartbeat that may end meanwhile are not compared, and a miss without a mark must occur again in two new copies.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from console.demo.engine import Connection
from queries.change import loop, perform
from queries.change.plan import plan_versions
from queries.db.errors import DatabaseError
from queries.records.action import BlastRadius, Change, Outcome
from queries.records.finding import OPEN
from queries.records.node import Node, Phase, Precision, split_id
from queries.workspace import Workspace
from tests.queries.builders import OPERATOR, edits
from tests.servers import PostgresServer
from tests.simulators.agent_jobs.executor import Poller
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import Executor, HeldTask
from tests.simulators.eternaltwin.runner import Polled, Runner
from tests.simulators.tasker.orchestrator import Orchestrator
from tests.simulators.tasker.protocol import SQL
from tests.simulators.tasker.templates import TEMPLATES, UNSERVED
from tests.simulators.tasker.worker import Worker
from tests.simulators.uni2work.data import FAILING
from tests.simulators.uni2work.executor import Instance, Job, JobFailed

ROUNDS = int(os.environ.get("RADIUS_ROUNDS", "25"))
SEED = int(os.environ.get("RADIUS_SEED", "1"))
ROUNDS_OF_A_COPY = 4  # actions that are compared with one copy without an action
SOON = 120.0  # seconds: nodes with a timer that ends within this time are not compared
BEAT = 420.0  # seconds: nor those with a heartbeat that is younger
ACTIVE = (Phase.READY, Phase.RUNNING)
ENDED = (Phase.FAILED, Phase.DONE, Phase.CANCELLED)


class Played(NamedTuple):
    """An engine of the demo.

    ``kind``: of the nodes that executors take. ``state``: SQL that returns the id of each node, and a text that changes
    whenever an executor touches it.
    """

    kind: str
    state: str
    run: Callable[[Connection], Awaitable[None]]
    arguments: Mapping[str, Mapping[str, Any]] = {}
    settings: Mapping[str, object] = {}


class _Runner(Runner):
    def __init__(self, connection: Connection) -> None:
        self.random = Random(1)
        super().__init__(connection, self.random, blind_before=datetime(9999, 1, 1, tzinfo=UTC), batch=10_000)

    async def read(self, task_id: UUID) -> Polled | None:
        self.random.seed(str(task_id))
        return await super().read(task_id)


class _Executor(Executor):
    def __init__(self, connection: Connection) -> None:
        self.random = Random(1)
        super().__init__(connection, self.random, permits=10_000, poll_ticks=lambda _: 1, types=tuple(kinds.POLLS))

    async def poll(self, held: HeldTask) -> bool:
        self.random.seed(held.id)
        return await super().poll(held)


class _Worker(Worker):
    def __init__(self, connection: Connection, namespaces: Iterable[str]) -> None:
        self.random = Random(1)
        super().__init__(connection, self.random, namespaces, batch=1000)

    async def hand_in(self, step: UUID) -> bool:
        self.random.seed(str(step))
        return await super().hand_in(step)


async def _eternaltwin(connection: Connection) -> None:
    runner = _Runner(connection)
    for _ in range(2):
        await runner.tick()


async def _estuary(connection: Connection) -> None:
    executor = _Executor(connection)
    for _ in range(3):
        await executor.tick()


async def _agent_jobs(connection: Connection) -> None:
    poller = Poller(connection)
    while (claim := await poller.claim()) is not None:
        await poller.finish(claim)


async def _uni2work(connection: Connection) -> None:
    alive = await connection.fetchval(
        "SELECT creation_instance FROM queued_job ORDER BY creation_time DESC, id DESC LIMIT 1"
    )

    async def work(job: Job) -> None:
        if FAILING in job.content:
            raise JobFailed("HTTP 503 from the mail gateway")

    await Instance(connection, alive, work=work).flush()


async def _tasker(connection: Connection) -> None:
    served = sorted({t.namespace for t in TEMPLATES} - UNSERVED)
    orchestrator, worker = Orchestrator(connection, Random(1)), _Worker(connection, served)
    await orchestrator.ready()
    for row in await connection.fetch(SQL["ready_tasks"], 1000):  # a tick takes 20, so an action would displace others
        await orchestrator.discover(row["task_uuid"], row["current_state"])
    for _ in range(2):
        await orchestrator.tick()
        await worker.tick()


PLAYED = {
    "eternaltwin": Played(
        kind="task",
        state="SELECT 'task:' || task_id AS id, xmin::text AS state FROM task",
        run=_eternaltwin,
        arguments={"wake": {"untimed": True}},
    ),
    "estuary": Played(
        kind="task",
        state="SELECT 'task:' || task_id AS id, xmin::text AS state FROM tasks",
        run=_estuary,
        arguments={
            "wake": {"regardless": True},
            "send": {"message": '{"type":"queued"}'},
            "release": {"early": True},
            "edit": {"unchecked": True},
        },
    ),
    "agent_jobs": Played(
        kind="job",
        state="SELECT 'job:' || id AS id, xmin::text AS state FROM jobs",
        run=_agent_jobs,
        settings={"profile": "table"},
    ),
    "uni2work": Played(
        kind="job",
        state="SELECT 'job:' || id AS id, xmin::text AS state FROM queued_job"
        " UNION ALL SELECT 'cron:' || id, xmin::text FROM cron_last_exec",
        run=_uni2work,
        arguments={"release": {"gone": True}, "refill": {"value": "100"}},
    ),
    "tasker": Played(
        kind="step",
        state="SELECT 'step:' || s.workflow_step_uuid AS id, (SELECT count(*) FROM workflow_step_transitions x"
        " WHERE x.workflow_step_uuid = s.workflow_step_uuid)::text AS state FROM workflow_steps s"
        " UNION ALL SELECT 'task:' || t.task_uuid, (SELECT count(*) FROM task_transitions x"
        " WHERE x.task_uuid = t.task_uuid)::text FROM tasks t",
        run=_tasker,
        arguments={"priority": {"priority": 7}, "complete": {"result": "{}", "in_flight": True}},
    ),
}


class Round(NamedTuple):
    """One action.

    ``marked``: nodes that the blast radius names or leaves open. ``right``: predicted nodes that the executors then
    took, or no longer took. ``truth``: nodes that were treated differently; ``taken``: of the kind that executors take.
    """

    action: str
    node: str
    title: str
    predicted: frozenset[str]
    right: frozenset[str]
    truth: frozenset[str]
    taken: frozenset[str]
    marked: frozenset[str]
    radius: BlastRadius

    @property
    def unmarked(self) -> frozenset[str]:
        """Misses without a mark."""
        return self.truth - self.predicted - self.marked


class Score:
    """Sum of rounds of one engine."""

    def __init__(self) -> None:
        self.rounds: list[Round] = []

    @property
    def precision(self) -> float | None:
        """Share of the predicted nodes that the executors treated as predicted."""
        return self._share(lambda r: (len(r.right), len(r.predicted)))

    @property
    def recall(self) -> float | None:
        """Share of the truth that was predicted, of nodes that executors take."""
        return self._share(lambda r: (len(r.predicted & r.taken), len(r.taken)))

    @property
    def named(self) -> float | None:
        """Share of the truth that was predicted or named as related."""
        return self._share(lambda r: (len(r.truth - r.unmarked), len(r.truth)))

    @property
    def unmarked(self) -> list[Round]:
        """Rounds with a miss without a mark."""
        return [each for each in self.rounds if each.unmarked]

    def _share(self, of: Callable[[Round], tuple[int, int]]) -> float | None:
        parts = [of(each) for each in self.rounds]
        total = sum(whole for _, whole in parts)
        return sum(part for part, _ in parts) / total if total else None

    def line(self, name: str) -> str:
        """Return the figures as a line of the table."""
        shares = "".join(f"{'-' if s is None else f'{s:.3f}':>11}" for s in (self.precision, self.recall, self.named))
        predicted, truth = sum(len(r.predicted) for r in self.rounds), sum(len(r.taken) for r in self.rounds)
        return f"{name:14}{len(self.rounds):>8}{predicted:>11}{truth:>11}{shares}{len(self.unmarked):>11}"


COLUMNS = ("predicted", "truth", "precision", "recall", "named", "unmarked")
HEADING = f"{'engine':14}{'actions':>8}{''.join(f'{column:>11}' for column in COLUMNS)}"


async def score(server: PostgresServer, engine: str, rounds: int, rng: Random) -> Score:
    """Run random actions on copies of the demo's data.

    A round during which the console lost a slow server is repeated.
    """
    found = Score()
    while len(found.rounds) < rounds:
        original = await asyncio.to_thread(server.fresh, engine, filled=True)
        try:
            plain = await _touched(server, original, PLAYED[engine])
            for _ in range(min(ROUNDS_OF_A_COPY, rounds - len(found.rounds))):
                with contextlib.suppress(DatabaseError):
                    found.rounds.append(await _round(server, original, engine, plain, rng))
        finally:
            server.drop(original)
    return found


async def _copy(server: PostgresServer, original: str) -> str:
    name = server.unique("radius")
    text = f"CREATE DATABASE {name} TEMPLATE {original.rpartition('/')[2]}"
    await asyncio.to_thread(server.sql, text)
    return server.dsn(name)


async def _touched(server: PostgresServer, original: str, played: Played) -> frozenset[str]:
    """Return the nodes that the executors touch without an action."""
    copy = await _copy(server, original)
    try:
        return await _run(copy, played)
    finally:
        server.drop(copy)


async def _run(dsn: str, played: Played) -> frozenset[str]:
    connection = await asyncpg.connect(dsn)
    try:
        before = dict(map(tuple, await connection.fetch(played.state)))
        await played.run(connection)
        after = dict(map(tuple, await connection.fetch(played.state)))
    finally:
        await connection.close()
    return frozenset(i for i, state in before.items() if after.get(i) != state)


class Choice(NamedTuple):
    """An action, its node, and its arguments."""

    action: str
    node: str
    arguments: dict[str, Any]


async def _round(server: PostgresServer, original: str, engine: str, plain: frozenset[str], rng: Random) -> Round:
    found, choice = await _compared(server, original, engine, plain, rng)
    if found.unmarked:  # time goes on between the copies, so it must be found again
        plain = await _touched(server, original, PLAYED[engine])
        again, _ = await _compared(server, original, engine, plain, choice)
        found = found._replace(truth=found.truth & again.truth, taken=found.taken & again.taken)
    return found


async def _compared(
    server: PostgresServer, original: str, engine: str, plain: frozenset[str], choose: Random | Choice
) -> tuple[Round, Choice]:
    copy = await _copy(server, original)
    played = PLAYED[engine]
    with tempfile.TemporaryDirectory() as folder:
        workspace = await Workspace(
            copy, {engine: played.settings} if played.settings else None, file=Path(folder) / "own" / "audit_log.jsonl"
        ).open()
        try:
            nodes = await _nodes(workspace, engine)
            if isinstance(choose, Random):
                dry_run, choice = await _random(workspace, engine, nodes, choose)
            else:
                dry_run, choice = await _dry_run(workspace, engine, nodes, choose), choose
            await loop.commit(workspace, dry_run, OPERATOR)
        finally:
            await workspace.close()
        acted = await _run(copy, played)
    server.drop(copy)
    assert dry_run.blast_radius is not None
    uncertain = _uncertain(nodes.values())
    compared = {i.partition("/")[2]: node for i, node in nodes.items() if i.partition("/")[2] not in uncertain}
    ready, stopped, named = _prediction(dry_run.blast_radius, compared)
    truth = (acted ^ plain) & compared.keys()
    marked = named | {i.partition("/")[2] for i in (choice.node, *(change.id for change in dry_run.changes))}
    predicted = frozenset(i for i in ready | stopped if i.startswith(f"{played.kind}:"))
    return Round(
        action=choice.action,
        node=choice.node,
        title=_title(nodes.get(choice.node)),
        predicted=predicted,
        right=((ready & acted) | (stopped - acted)) & predicted,
        truth=truth,
        taken=frozenset(i for i in truth if i.startswith(f"{played.kind}:")),
        marked=(marked | truth if _open(dry_run.blast_radius) else marked) - predicted,
        radius=dry_run.blast_radius,
    ), choice


def _title(node: Node | None) -> str:
    return "" if node is None else f"{node.title} ({node.status})"


def _uncertain(nodes: Iterable[Node]) -> set[str]:
    """Return local ids of nodes that time may change, and of those above them."""
    now, known = time.time(), {node.id: node for node in nodes}
    found = {
        node.id
        for node in known.values()
        if (node.due_at is not None and abs(node.due_at - now) < SOON)
        or (node.heartbeat_at is not None and now - node.heartbeat_at < BEAT)
    }
    left = list(found)
    while left:
        node = known[left.pop()]
        for above in {node.parent_id, node.job_id} & known.keys() - found:
            found.add(above)
            left.append(above)
    return {i.partition("/")[2] for i in found} | {
        node.id.partition("/")[2] for node in known.values() if node.job_id in found
    }


async def _nodes(workspace: Workspace, engine: str) -> dict[str, Node]:
    """Return all nodes that executors may touch."""
    connection = await asyncpg.connect(workspace.database.text)
    ids = [f"{engine}/{row['id']}" for row in await connection.fetch(PLAYED[engine].state)]
    await connection.close()
    return {node.id: node for node in (await workspace.engines[engine].nodes.read(ids)).nodes}


async def _dry_run(workspace: Workspace, engine: str, nodes: Mapping[str, Node], choice: Choice) -> Change:
    reader = workspace.engines[engine]
    node = nodes[choice.node] if choice.node in nodes else (await reader.nodes.read([choice.node])).nodes[0]
    plan = plan_versions(workspace, engine, choice.action, {node.id: node.version})
    if any(action.document is not None for action in plan.actions.values()):
        plan = await anext(edits(workspace, engine, [node], choice.action), plan)
    return await perform.dry_run(workspace, plan, "bench", {**choice.arguments, **plan.arguments}, measures=True)


async def _random(workspace: Workspace, engine: str, nodes: Mapping[str, Node], rng: Random) -> tuple[Change, Choice]:
    """Return the dry run of a random action that changes its node."""
    reader = workspace.engines[engine]
    dead = [each.node for each in (await reader.pages.dead()).dead_letters]
    every = {node.id: node for node in (*nodes.values(), *(await reader.pages.roots()).nodes, *dead)}
    suggested = [f for f in (await reader.findings.read()).findings if f.action and f.node_id in every]
    actions = [a for a in reader.engine.actions_here if a.writes]
    while True:
        given: Mapping[str, Any] = {}
        if suggested and rng.random() < 0.3:
            finding = rng.choice(suggested)
            action = reader.engine.action(str(finding.action), split_id(finding.node_id)[1])
            node, given = every[finding.node_id], finding.arguments
        else:
            action = rng.choice(actions)
            possible = [n for n in every.values() if reader.availability(action, n).ok]
            if not possible:
                continue
            node = rng.choice(possible)
        if action is None:
            continue
        arguments: dict[str, Any] = {a.name: a.default for a in action.arguments if a.default}
        arguments |= {a.name: a.choices[0] for a in action.arguments if a.required and a.choices}
        arguments |= {k: v for k, v in given.items() if v != OPEN}
        fixed = PLAYED[engine].arguments.get(action.name, {})
        arguments |= {k: v for k, v in fixed.items() if k in {a.name for a in action.arguments}}
        choice = Choice(action.name, node.id, arguments)
        dry_run = await _dry_run(workspace, engine, every, choice)
        if any(result.outcome is Outcome.CHANGED for result in dry_run.results):
            return dry_run, choice


def _prediction(
    radius: BlastRadius, nodes: Mapping[str, Node]
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return nodes that executors will take, will not take, and all that are named."""
    ready: set[str] = set()
    stopped: set[str] = set()
    named: set[str] = set()
    ended = {i for reach in radius.reached if reach.code == "becomes" and reach.what in ENDED for i in reach.ids}
    for reach in radius.reached:
        ids = {i.partition("/")[2] for i in reach.ids}
        named |= ids
        if reach.code == "follows":
            under = {i for i in ids if i in nodes and nodes[i].job_id in ended}
            stopped |= under
            ready |= {i for i in ids if i in nodes} - under
        if reach.code in ("becomes", "disappears"):
            known = {i: nodes[i].phase for i in ids if i in nodes}
            if reach.what == Phase.READY:
                ready |= known.keys()
            elif reach.what == Phase.RUNNING:  # it was stalled
                ready |= {i for i, phase in known.items() if phase is Phase.RUNNING}
            elif reach.what not in ACTIVE:
                stopped |= {i for i, phase in known.items() if phase in ACTIVE}
    return frozenset(ready), frozenset(stopped), frozenset(named)


def _open(radius: BlastRadius) -> bool:
    """Return True if some changed or related nodes are not named."""
    return any(reach.precision is Precision.CAPPED for reach in radius.reached)


def _explain(found: Score) -> None:
    """Print the numbers of actions, and what was predicted wrongly or missed."""
    print(f"    {dict(Counter(each.action for each in found.rounds))}")
    for each in found.rounds:
        for what, ids in (("false", each.predicted - each.right), ("missed", each.taken - each.predicted)):
            if ids:
                print(f"    {what}: {each.action} {each.title}, {each.node}: {', '.join(sorted(ids)[:4])}")
                print("      ", [(r.code, r.what, r.n) for r in each.radius.reached], flush=True)


def main() -> None:
    """Print precision, recall, and the misses without a mark."""
    server = PostgresServer()
    server.start()
    try:
        print(HEADING, flush=True)
        every = Score()
        chosen = sys.argv[1:] or list(PLAYED)
        for name in chosen:
            found = asyncio.run(score(server, name, ROUNDS // len(chosen) or 1, Random(f"{SEED}/{name}")))
            every.rounds += found.rounds
            print(found.line(name), flush=True)
            if os.environ.get("RADIUS_VERBOSE"):
                _explain(found)
            by_action = Counter(each.action for each in found.unmarked)
            for each in found.unmarked[:5]:
                print(f"    unmarked: {each.action} {each.node}: {', '.join(sorted(each.unmarked)[:3])}", flush=True)
            if by_action:
                print(f"    {dict(by_action)}", flush=True)
        print(every.line("all"))
    finally:
        server.close()


if __name__ == "__main__":
    main()
