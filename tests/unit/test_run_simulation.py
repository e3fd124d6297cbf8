"""Plain changes of a simulated server, with consoles that are killed at any step.

Two parts are under way at a time. An answer to COMMIT is lost, a console is killed before, within or after each call, a
failover takes back what was committed last, a transaction that was left behind commits or not, and another console
continues. `make proof` plays more of them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from random import Random

import pytest

from queries.db.errors import LostError
from queries.records.action import Answer, Outcome, Outcomes, Result
from queries.runs.all_at_once import AllAtOnce
from queries.runs.runner import Decisions, Runner
from queries.runs.steps import Changed, ChangePart, Ended, Event, Reason, Watch
from tests.proof import repeated

SEED = int(os.environ.get("RUN_SEED", "1"))
ENOUGH = 5_000  # steps after which a run hangs


class Killed(Exception):
    """The console was killed."""


class Overtaken(Exception):
    """Another console has taken over."""


class Server:
    """Versions of rows, and the log: what survives a console."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.rows = {f"e/job:{n}": 0 for n in range(rng.choice((1, 5, 30, 80)))}
        self.foreign: set[str] = set()  # changed by another operator
        self.log: list[Event] = []
        self.kept = dict(self.rows), list(self.log)  # what a standby has
        self.open: list[Callable[[], None]] = []  # transactions of killed consoles
        self.owner: object = None
        self.life = 0

    def settle(self) -> None:
        """End the transactions that consoles have left, as the lock does."""
        for commit in self.open:
            if self.rng.random() < 0.5:
                commit()
        self.open.clear()

    def fail_over(self) -> None:
        """Go back to what the standby has. Transactions that are open there end."""
        self.open.clear()
        self.rows, self.log = dict(self.kept[0]), list(self.kept[1])
        self.life += 1


class SimulatedWorld:
    """The world of one console, which may be killed at each call."""

    waits = True
    rests = 0.0

    def __init__(self, server: Server, kill: float, lost: float) -> None:
        self._server, self._kill, self._lost = server, kill, lost
        self._life = server.life
        self.sent: set[str] = set()  # nodes of transactions whose COMMIT was sent
        self.closed = False

    def _maybe_killed(self) -> None:
        if self._server.rng.random() < self._kill:
            raise Killed

    def _guard(self) -> None:
        if self._server.owner is not self:
            raise Overtaken

    def room(self, running: int) -> bool:
        return running < 2

    def replaced(self) -> bool:
        return self._life != self._server.life

    async def close(self) -> None:
        self.closed = True

    async def history(self) -> Sequence[Event]:
        self._maybe_killed()
        self._server.settle()
        self._server.owner = self
        self._life = self._server.life
        self._maybe_killed()
        self.sent.clear()  # the log says what became of it
        return list(self._server.log)

    async def change(self, step: ChangePart) -> Changed | None:
        server, rng = self._server, self._server.rng
        for _ in range(rng.randrange(3)):
            await asyncio.sleep(0)  # another part goes on meanwhile
        self._maybe_killed()
        self._meanwhile(step)
        self._guard()
        done = [i for i in step.ids if server.rows[i] == 0]
        results = tuple(Result(id=i, outcome=Outcome.CHANGED if i in done else Outcome.STALE) for i in step.ids)
        changed = Changed(at=0.0, part=step.part, outcomes=Outcomes(results=results))
        life = server.life
        self.sent.update(done)

        def commit() -> None:
            if life == server.life and all(server.rows[i] == 0 for i in done):
                for node_id in done:
                    server.rows[node_id] = 1
                server.log.append(changed)

        if rng.random() < self._kill:
            server.open.append(commit)
            raise Killed
        if rng.random() < self._lost:
            server.open.append(commit)
            if rng.random() < 0.5:
                raise LostError("the answer to COMMIT was lost")
            return None
        if done:
            commit()
        else:
            server.log.append(changed)
        await asyncio.sleep(0)
        self._maybe_killed()
        return changed

    def _meanwhile(self, step: ChangePart) -> None:
        """Do what others do: a standby, a failover, another operator."""
        server, rng = self._server, self._server.rng
        if rng.random() < 0.05:
            server.kept = dict(server.rows), list(server.log)
        if rng.random() < self._lost / 5:
            server.fail_over()
            if rng.random() < 0.5:  # or no connection was in use, and the next one is to the new server
                raise LostError("the server was replaced")
        for node_id in step.ids:
            if rng.random() < 0.01 and not server.rows[node_id]:
                server.rows[node_id] = 7
                server.foreign.add(node_id)

    async def look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        return 0.0, {}

    async def record(self, event: Event) -> None:
        self._maybe_killed()
        self._guard()
        self._server.log.append(event)
        self._maybe_killed()

    async def pause(self, seconds: float) -> None:
        assert seconds > 0


def parts(server: Server, size: int) -> list[tuple[str, ...]]:
    ids = list(server.rows)
    return [tuple(ids[start : start + size]) for start in range(0, len(ids), size)]


async def drive(server: Server, world: SimulatedWorld, size: int, rng: Random, most: int) -> Runner | None:
    """Run one console for at most ``most`` steps.

    Return its runner if it came to the end.
    """
    decisions, watched = Decisions(), 0
    runner = Runner(world, lambda: AllAtOnce(parts(server, size)), decisions)
    try:
        async for step in runner.steps():
            if isinstance(step, Ended):
                return runner
            if rng.random() < 0.002:
                decisions.leave()
            watched += isinstance(step, Watch)
            assert watched < 50, "it hangs: there is nothing to wait for"
            most -= 1
            if not most:
                return None
    except Killed:  # or any other error that is not expected
        untried = {result.id for result in runner.unfinished() if result.outcome is Outcome.REFUSED}
        assert not untried & world.sent, "what was sent is called not tried"
        raise
    left = {result.id for result in runner.unfinished()}
    reported = [r.id for r in runner.total.results]
    assert len(reported) == len(set(reported)), "a node is reported twice"
    assert left | set(reported) == set(server.rows), "a node is not reported"
    return None


async def play(rng: Random) -> tuple[Server, Runner, int]:
    """Play a run to its end, with as many consoles as it takes."""
    server, size = Server(rng), rng.choice((1, 5, 20))
    kill, lost = rng.choice((0.0, 0.01, 0.1)), rng.choice((0.0, 0.02, 0.1))
    consoles = 0
    while consoles < ENOUGH:
        consoles += 1
        world = SimulatedWorld(server, kill, lost)
        try:
            runner = await drive(server, world, size, rng, rng.choice((3, 30, ENOUGH)))
        except Killed:
            continue
        if runner is not None:
            return server, runner, consoles
        await SimulatedWorld(server, 0.0, 0.0).history()  # a colleague takes over, and the first one is still there
        with pytest.raises((Overtaken, Killed)):
            await world.record(Ended(at=0.0, reason=Reason.STOPPED))
    raise AssertionError("it never ended")


def check(server: Server, runner: Runner) -> None:
    """Check what a run guarantees."""
    assert isinstance(server.log[-1], Ended)
    said = {r.id: r.outcome for r in runner.total.results}
    assert len(said) == len(runner.total.results), "a node is reported twice"
    assert said.keys() == server.rows.keys(), "a node is not reported"
    changed = {i for i, version in server.rows.items() if version == 1}
    assert {i for i, outcome in said.items() if outcome is Outcome.CHANGED} == changed, "not what the rows are"
    recorded = [r.id for e in server.log if isinstance(e, Changed) for r in e.results if r.outcome is Outcome.CHANGED]
    assert sorted(recorded) == sorted(changed), "each change is recorded once"
    assert set(server.rows) - changed <= server.foreign, "only what another operator changed is not changed"
    assert server.log[-1].changed == len(changed)


@repeated(few=300, many=10_000)
async def test_each_node_is_changed_once_and_reported_as_it_is(times: int) -> None:
    consoles = 0
    for number in range(times):
        seed = f"{SEED}/{number}"
        server, runner, used = await play(Random(seed))
        try:
            check(server, runner)
        except AssertionError as error:
            raise AssertionError(f"round {seed}: {error}") from error
        consoles += used
    print(f"{times} runs, {consoles} consoles")
