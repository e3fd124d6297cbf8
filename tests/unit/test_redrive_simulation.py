"""Redrives of a simulated engine, with consoles that are killed at any step.

Poison rates are 0 to 100 %. A console is killed before, within or after each of its calls; a transaction that it leaves
behind commits or not; another console takes over while it still runs. `make proof` plays more of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from random import Random

import pytest

from queries.db.errors import LostError
from queries.records.action import Answer, Outcome, Outcomes, Result
from queries.records.node import Phase
from queries.records.run import WatchedMember
from queries.runs.cohorts import Budget, Pace, Redrive, RedriveSettings, Sign, judge
from queries.runs.runner import Decisions, Runner
from queries.runs.steps import Ask, Changed, ChangePart, Ended, Event, Reason
from tests.proof import repeated

SEED = int(os.environ.get("REDRIVE_SEED", "1"))
ENOUGH = 20_000  # steps after which a redrive hangs


class Killed(Exception):
    """The console was killed."""


class Overtaken(Exception):
    """Another console has taken over."""


class Row:
    """A dead letter of the simulated engine, run by an executor once it was revived."""

    def __init__(self, node_id: str, rng: Random, poison: float, slow: float) -> None:
        self.id = node_id
        self.version, self.revivals, self.attempt = 0, 0, 1
        self.taken = self.ends = float("inf")
        self.fate = rng.choices(
            ("same", "finished", "moved", "gone", "other", "silent"),
            (poison, (1 - poison) * 0.8, (1 - poison) * 0.1, (1 - poison) * 0.07, (1 - poison) * 0.02, 0.003),
        )[0]
        self.delays = rng.random() * slow, rng.random() * slow

    def revive(self, at: float) -> None:
        self.version += 1
        self.revivals += 1
        self.taken = at + self.delays[0]
        self.ends = float("inf") if self.fate == "silent" else self.taken + self.delays[1]

    def sign(self, now: float) -> Sign | None:
        if not self.revivals:
            return Sign(phase=Phase.FAILED, attempt="1", dead=True, marks=("boom",))
        if now < self.ends:
            return Sign(phase=Phase.READY if now < self.taken else Phase.RUNNING, attempt="1", dead=False)
        if self.fate == "gone":
            return None
        if self.fate in ("same", "other"):
            mark = "boom" if self.fate == "same" else "disk full"
            return Sign(phase=Phase.FAILED, attempt="2", dead=True, marks=(mark,))
        phase = Phase.DONE if self.fate == "finished" else Phase.RUNNING
        return Sign(phase=phase, attempt="2", dead=False, moved=self.fate == "moved")


class Server:
    """Rows and audit log: what survives a console."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        poison = rng.choice((0.0, 1.0, rng.random(), rng.random() * 0.1))
        self.rows = {
            f"e/job:{n}": Row(f"e/job:{n}", rng, poison, rng.choice((0.5, 5.0, 40.0)))
            for n in range(rng.choice((1, 6, 40, 150)))
        }
        self.log: list[Event] = []
        self.open: list[Callable[[], None]] = []  # transactions of killed consoles
        self.owner: object = None
        self.now = 1000.0
        self.deletes = rng.random() < 0.5  # on success

    def settle(self) -> None:
        """End the transactions that killed consoles have left, as the lock does."""
        for commit in self.open:
            if self.rng.random() < 0.5:
                commit()
        self.open.clear()


class SimulatedWorld:
    """The world of one console, which may be killed at each call."""

    def __init__(self, server: Server, kill: float, lost: float) -> None:
        self._server, self._kill, self._lost = server, kill, lost

    def _maybe_killed(self) -> None:
        if self._server.rng.random() < self._kill:
            raise Killed

    def _guard(self) -> None:
        if self._server.owner is not self:
            raise Overtaken

    waits = True
    rests = 0.0

    def room(self, running: int) -> bool:
        return running == 0

    def replaced(self) -> bool:
        return False

    async def close(self) -> None:
        """Nothing is open."""

    async def history(self) -> Sequence[Event]:
        self._maybe_killed()
        self._server.settle()
        self._server.owner = self
        self._maybe_killed()
        return list(self._server.log)

    async def change(self, step: ChangePart) -> Changed | None:
        server = self._server
        self._maybe_killed()
        self._guard()
        for node_id in step.ids:  # another operator changes a row now and then
            if server.rng.random() < 0.01:
                server.rows[node_id].version += 1
        changed = [i for i in step.ids if server.rows[i].version == 0]

        at = server.now
        done = tuple(Result(id=i, outcome=Outcome.CHANGED) for i in changed)
        skipped = tuple(Result(id=i, outcome=Outcome.STALE) for i in step.ids if i not in changed)

        def commit() -> None:
            for node_id in changed:
                server.rows[node_id].revive(at)
            server.log.append(Changed(at=at, part=step.part, outcomes=Outcomes(results=done)))

        if server.rng.random() < self._kill:
            server.open.append(commit)
            raise Killed
        if server.rng.random() < self._lost:
            server.open.append(commit)
            if server.rng.random() < 0.5:
                raise LostError("the answer to COMMIT was lost")
            return None
        if changed:
            commit()
            self._maybe_killed()
        if skipped:
            server.log.append(Changed(at=at, part=step.part, outcomes=Outcomes(results=skipped)))
            self._maybe_killed()
        return Changed(at=at, part=step.part, outcomes=Outcomes(results=(*done, *skipped)))

    async def look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        server = self._server
        self._maybe_killed()
        server.now += server.rng.random() * 0.1
        if server.rng.random() < self._lost / 10:
            raise LostError("the server was restarted")
        gone = Answer.FINISHED if server.deletes else Answer.UNKNOWN

        def answer(node_id: str) -> Answer:
            member = WatchedMember(id=node_id, version="0", title="", target=node_id, attempt="1", marks=("boom",))
            return judge(member, server.rows[node_id].sign(server.now), ("boom",), gone=gone)

        answers = {i: answer(i) for i in ids}
        self._maybe_killed()
        return server.now, answers

    async def record(self, event: Event) -> None:
        self._maybe_killed()
        self._guard()
        self._server.log.append(event)
        self._maybe_killed()
        if self._server.rng.random() < self._lost and not isinstance(event, Ended):
            raise LostError("the answer to COMMIT was lost")

    async def pause(self, seconds: float) -> None:
        self._maybe_killed()
        assert seconds > 0
        self._server.now += seconds


async def drive(
    server: Server, settings: RedriveSettings, rng: Random, console: SimulatedWorld, most: int
) -> Ended | None:
    """Run one console for at most ``most`` steps. Return the end if it came to it."""
    decisions = Decisions()
    async for step in Runner(console, lambda: Redrive(list(server.rows), settings), decisions).steps():
        if isinstance(step, Ended):
            return step
        if isinstance(step, Ask):
            if rng.random() < 0.1:
                decisions.stop()
            elif rng.random() < 0.8:
                decisions.go_on(step)
        elif rng.random() < 0.001:
            decisions.stop()
        most -= 1
        if not most:
            return None
    raise AssertionError("it stopped without a reason")


async def play(rng: Random) -> tuple[Server, RedriveSettings, Ended, int]:
    """Play a redrive to its end, with as many consoles as it takes."""
    server = Server(rng)
    settings = RedriveSettings(
        budget=rng.choice(
            (Budget(count=rng.choice((0, 1, 3, 10))), Budget(percent=rng.choice((0.0, 5.0, 10.0, 50.0))))
        ),
        cohorts=rng.choice(((1, 5, 25), (1,), (3, 3), (40,))),
        pace=rng.choice((None, Pace(nodes=60, seconds=60.0), Pace(nodes=7, seconds=1.0))),
        wait=rng.choice((1.0, 30.0)),
    )
    kill = rng.choice((0.0, 0.01, 0.2))
    consoles = 0
    while consoles < ENOUGH:
        consoles += 1
        console = SimulatedWorld(server, kill, rng.choice((0.0, 0.1)))
        try:
            ended = await drive(server, settings, rng, console, rng.choice((5, 50, ENOUGH)))
        except (Killed, LostError):  # it ends if the server is lost after a stop
            continue
        if ended is not None:
            return server, settings, ended, consoles
        other = SimulatedWorld(server, 0.0, 0.0)
        await other.history()  # a colleague takes over, and the first console is still there
        with pytest.raises((Overtaken, Killed)):
            await console.record(Ended(at=0.0, reason=Reason.STOPPED))
    raise AssertionError("it never ended")


def check(server: Server, settings: RedriveSettings, ended: Ended) -> None:
    """Check what a redrive guarantees."""
    assert isinstance(server.log[-1], Ended)
    assert sum(isinstance(event, Ended) for event in server.log) == 1
    state = Redrive(list(server.rows), settings, server.log)
    rows = server.rows.values()
    assert all(row.revivals <= 1 for row in rows), "revived twice"
    assert {row.id for row in rows if row.revivals} == set(state.answers), "changed, but not recorded"
    tried = state.answers.keys() | state.skipped.keys()
    assert not state.answers.keys() & state.skipped.keys()
    if ended.reason is Reason.DONE:
        assert tried == set(server.rows), "lost"
    began = [n for n, ids in enumerate(state.cohorts) if tried & set(ids)]
    assert began == list(range(len(began))), "oldest first"
    died = sum(row.fate == "same" for row in rows if row.revivals)  # also those that are about to
    last = set(state.cohorts[began[-1]]) if began else set()
    before = len(state.answers.keys() - last)
    budget = settings.budget
    allowed = budget.count if budget.count is not None else (budget.percent or 0.0) * before / 100
    assert died <= allowed + len(last), "more than the budget and one cohort"
    if settings.pace is not None:
        times = [
            (e.at, sum(r.outcome is Outcome.CHANGED for r in e.results)) for e in server.log if isinstance(e, Changed)
        ]
        for at, _ in times:
            window = sum(number for when, number in times if at - settings.pace.seconds < when <= at)
            assert window <= settings.pace.nodes, "faster than the pace"


@repeated(few=300, many=10_000)
async def test_no_redrive_exceeds_its_budget_by_more_than_a_cohort(times: int) -> None:
    reasons: dict[str, int] = {}
    consoles = revived = died = 0
    for number in range(times):
        seed = f"{SEED}/{number}"
        rng = Random(seed)
        server, settings, ended, used = await play(rng)
        try:
            check(server, settings, ended)
        except AssertionError as error:
            raise AssertionError(f"round {seed}: {error}") from error
        reasons[ended.reason] = reasons.get(ended.reason, 0) + 1
        consoles += used
        revived += sum(row.revivals for row in server.rows.values())
        died += sum(row.revivals > 0 and row.fate == "same" for row in server.rows.values())
    print(f"{times} redrives, {consoles} consoles, {revived} revived, {died} died again: {reasons}")
    if times >= 100:
        assert set(reasons) == set(Reason)
