"""Plain changes and redrives of a simulated server, with consoles that die.

A console is killed before, within or after each of its calls; an answer to COMMIT is lost; a transaction that is left
behind commits or not; a failover takes back what was committed last; another console takes over while the first one
still runs. Poison rates of redrives are 0 to 100 %. `make proof` plays more of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from queries.change.loop import Loop
from queries.change.redrive import Sign, judge
from queries.change.state import Budget, Do, Event, Kind, Pace, Reason, RedriveSettings, State, Step, cohorts
from queries.db.errors import LostError
from queries.records.action import Answer, Change, Outcome, Result
from queries.records.node import Phase
from queries.records.run import WatchedMember
from tests.proof import repeated

SEED = int(os.environ.get("LOOP_SEED", "1"))
ENOUGH = 20_000  # steps after which a change hangs
CHANGED = Outcome.CHANGED
STOP = Event(event=Kind.END, reason=Reason.STOPPED)


class Killed(Exception):
    """The console was killed."""


class Overtaken(Exception):
    """Another console has taken over."""


class Row:
    """A node, run by an executor once it was changed: a dead letter that was revived."""

    def __init__(self, rng: Random, poison: float, slow: float) -> None:
        self.version, self.changes = 0, 0
        self.taken = self.ends = float("inf")
        self.fate = rng.choices(
            ("same", "finished", "moved", "gone", "other", "silent"),
            (poison, (1 - poison) * 0.8, (1 - poison) * 0.1, (1 - poison) * 0.07, (1 - poison) * 0.02, 0.003),
        )[0]
        self.delays = rng.random() * slow, rng.random() * slow

    def change(self, at: float) -> None:
        self.version, self.changes = 1, self.changes + 1
        self.taken = at + self.delays[0]
        self.ends = float("inf") if self.fate == "silent" else self.taken + self.delays[1]

    def sign(self, now: float) -> Sign | None:
        if not self.changes:
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

    def __init__(self, rng: Random, *, redrives: bool) -> None:
        self.rng = rng
        poison, slow = rng.choice((0.0, 1.0, rng.random(), rng.random() * 0.1)), rng.choice((0.5, 5.0, 40.0))
        self.rows = {f"e/job:{n}": Row(rng, poison, slow) for n in range(rng.choice((1, 6, 40, 120)))}
        self.log: list[tuple[float, Event, Change | None]] = []
        self.settings: RedriveSettings | None = None
        self.size = rng.choice((1, 5, 20))  # of a part
        self.open: list[Callable[[], None]] = []  # transactions of killed consoles
        self.owner: object = None
        self.life, self.now = 0, 1000.0
        self.deletes = rng.random() < 0.5  # on success
        self.kept: tuple[dict[str, int], int] = ({}, 0)  # versions and entries that a standby has
        if redrives:
            number, percent = Budget(count=rng.choice((0, 1, 3, 10))), Budget(percent=rng.choice((0.0, 5.0, 50.0)))
            self.settings = RedriveSettings(
                budget=rng.choice((number, percent)),
                cohorts=rng.choice(((1, 5, 25), (1,), (3, 3), (40,))),
                pace=rng.choice((None, Pace(nodes=60, seconds=60.0), Pace(nodes=7, seconds=1.0))),
                wait=rng.choice((1.0, 30.0)),
            )

    def state(self) -> State:
        ids = list(self.rows)
        if self.settings is None:
            return State([ids[n : n + self.size] for n in range(0, len(ids), self.size)])
        return State(cohorts(ids, self.settings), self.settings)

    def settle(self) -> None:
        """End the transactions that killed consoles have left, as the lock does."""
        for commit in self.open:
            if self.rng.random() < 0.5:
                commit()
        self.open.clear()

    def fail_over(self) -> None:
        """Go back to what the standby has. Transactions that are open there end."""
        self.open.clear()
        versions, entries = self.kept
        del self.log[entries:]
        for node_id, row in self.rows.items():
            if row.version == 1 and versions.get(node_id, 0) == 0:
                row.version, row.changes = 0, row.changes - 1
        self.life += 1


class Console(Loop):
    """The loop of one console, which may be killed at each call."""

    def __init__(self, server: Server, kill: float = 0.0, lost: float = 0.0) -> None:
        run: Any = SimpleNamespace(log=SimpleNamespace(id="r"), plan=server)
        self.server, self.kill, self.lost_rate = server, kill, lost
        self.server_life = server.life
        self.sent: set[str] = set()  # nodes of transactions whose COMMIT was sent

        server.is_redrive = True  # type: ignore[attr-defined]  # it has no dry run
        super().__init__(SimpleNamespace(database=SimpleNamespace(rests=0.0), audit_log=None), run=run)  # type: ignore[arg-type]

    def maybe_killed(self) -> None:
        if self.server.rng.random() < self.kill:
            raise Killed

    def guard(self) -> None:
        if self.server.owner is not self:
            raise Overtaken

    def _is_replaced(self) -> bool:
        return self.server_life != self.server.life

    async def _entries(self, state: State) -> None:
        self.maybe_killed()
        self.server.settle()
        self.server.owner, self.server_life = self, self.server.life
        self.maybe_killed()
        self.sent.clear()  # the log says what became of it
        for entry in self.server.log:
            state.add(*entry)

    async def change(self, step: Step) -> Change | None:
        server, rng, at = self.server, self.server.rng, self.server.now
        self.maybe_killed()
        self._meanwhile(step.ids)
        self.guard()
        done = [i for i in step.ids if server.rows[i].version == 0]
        changed = tuple(Result(id=i, outcome=CHANGED) for i in done)
        skipped = tuple(Result(id=i, outcome=Outcome.STALE) for i in step.ids if i not in done)
        life = server.life
        self.sent.update(done)

        def commit() -> None:
            if life == server.life and all(server.rows[i].version == 0 for i in done):
                for node_id in done:
                    server.rows[node_id].change(at)
                server.log.append((at, Event(event=Kind.CHANGED, cohort=step.part), Change(results=changed)))

        if rng.random() < self.kill:
            server.open.append(commit)
            raise Killed
        if rng.random() < self.lost_rate:
            server.open.append(commit)
            if rng.random() < 0.5:
                raise LostError("the answer to COMMIT was lost")
            return None
        if done:
            commit()
            self.maybe_killed()
        if skipped:
            server.log.append((at, Event(event=Kind.SKIPPED, cohort=step.part), Change(results=skipped)))
            self.maybe_killed()
        self.now = at
        return Change(results=(*changed, *skipped))

    def _meanwhile(self, ids: Sequence[str]) -> None:
        """Do what others do: open transactions, a standby, a failover, an operator."""
        server, rng = self.server, self.server.rng
        if rng.random() < 0.3:
            server.settle()
        if rng.random() < 0.05:
            server.kept = {i: row.version for i, row in server.rows.items()}, len(server.log)
        if server.settings is None and rng.random() < self.lost_rate / 5:
            server.fail_over()
            if rng.random() < 0.5:  # or no connection was in use, and the next one is to the new server
                raise LostError("the server was replaced")
        for node_id in ids:
            if rng.random() < 0.01 and server.rows[node_id].version == 0:
                server.rows[node_id].version = 7

    async def _look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        server = self.server
        self.maybe_killed()
        server.now += server.rng.random() * 0.1
        if server.rng.random() < self.lost_rate / 10:
            raise LostError("the server was restarted")
        gone = Answer.FINISHED if server.deletes else Answer.UNKNOWN
        member = WatchedMember(id="", version="0", attempt="1", marks=("boom",))
        answers = {i: judge(member, server.rows[i].sign(server.now), ("boom",), gone=gone) for i in ids}
        self.maybe_killed()
        return server.now, answers

    async def record(self, event: Event, results: tuple[Result, ...] = ()) -> None:
        self.maybe_killed()
        self.guard()
        self.server.log.append((self.server.now, event, Change(results=results) if results else None))
        self.maybe_killed()
        if self.server.rng.random() < self.lost_rate and event.event is not Kind.END:
            raise LostError("the answer to COMMIT was lost")

    async def _pause(self, seconds: float) -> None:
        self.maybe_killed()
        assert seconds > 0
        self.server.now += seconds


async def drive(console: Console, rng: Random, most: int) -> bool:
    """Run one console for at most ``most`` steps. Return True if it came to the end."""
    try:
        async for step in console.steps():
            if step.do is Do.END:
                return True
            if step.do is Do.ASK and rng.random() < 0.8:
                console.agree(step)
            elif console.server.settings is None and rng.random() < 0.002:
                console.leave()
            elif rng.random() < (0.1 if step.do is Do.ASK else 0.001):
                console.stop()
            most -= 1
            if not most:
                return False
    except Killed:  # or any other error that is not expected
        untried = {result.id for result in console.unfinished() if result.outcome is Outcome.REFUSED}
        assert not untried & console.sent, "what was sent is called not tried"
        raise
    left = {result.id for result in console.unfinished()}
    assert left | console.state.results.keys() == set(console.server.rows), "a node is not reported"
    return False


async def play(rng: Random, *, redrives: bool) -> tuple[Console, int]:
    """Play a change to its end, with as many consoles as it takes."""
    server = Server(rng, redrives=redrives)
    kill, lost = rng.choice((0.0, 0.01, 0.15)), rng.choice((0.0, 0.02, 0.1))
    for consoles in range(1, ENOUGH):
        console = Console(server, kill, lost)
        try:
            if await drive(console, rng, rng.choice((5, 50, ENOUGH))):
                return console, consoles
        except (Killed, LostError):  # it ends if the server is lost after a stop
            continue
        await Console(server).read()  # a colleague takes over, and the first console is still there
        with pytest.raises((Overtaken, Killed)):
            await console.record(STOP)
    raise AssertionError("it never ended")


def check(console: Console) -> None:
    """Check what every change guarantees."""
    server, state = console.server, console.server.state()
    for entry in server.log:
        state.add(*entry)
    ended = [event for _, event, _ in server.log if event.event is Kind.END]
    assert ended == [server.log[-1][1]], "it ends once, at last"
    assert {i: r.outcome for i, r in state.results.items()} == {
        i: r.outcome for i, r in console.state.results.items()
    }, "what the console says is what the entries say"
    rows = server.rows
    assert all(row.changes <= 1 for row in rows.values()), "changed twice"
    changed = {i for i, row in rows.items() if row.changes}
    assert state.ids(CHANGED) == changed, "not what the rows are"
    recorded = [r.id for _, _, o in server.log if o for r in o.results if r.outcome is CHANGED]
    assert sorted(recorded) == sorted(changed), "each change is recorded once"
    assert ended[0].changed == len(changed)
    if ended[0].reason is Reason.DONE:
        assert state.results.keys() == rows.keys(), "lost"
        assert all(rows[i].version == 7 for i in rows.keys() - changed), "only what others changed is not changed"
    if server.settings is not None:
        check_redrive(server, state, server.settings)


def check_redrive(server: Server, state: State, settings: RedriveSettings) -> None:
    """Check cohorts, budget and pace."""
    began = [n for n, ids in enumerate(state.parts) if state.results.keys() & set(ids)]
    assert began == list(range(len(began))), "oldest first"
    died = sum(row.fate == "same" for row in server.rows.values() if row.changes)  # also those that are about to
    last = set(state.parts[began[-1]]) if began else set()
    before, budget = len(state.answers.keys() - last), settings.budget
    allowed = budget.count if budget.count is not None else (budget.percent or 0.0) * before / 100
    assert died <= allowed + len(last), "more than the budget and one cohort"
    if settings.pace is not None:
        times = [(at, sum(r.outcome is CHANGED for r in o.results)) for at, _, o in server.log if o]
        for at, _ in times:
            window = sum(number for when, number in times if at - settings.pace.seconds < when <= at)
            assert window <= settings.pace.nodes, "faster than the pace"


@pytest.mark.parametrize("kind", ["bulk", "redrive"])
@repeated(few=300, many=10_000)
async def test_each_node_is_changed_once_and_reported_as_it_is(times: int, kind: str) -> None:
    reasons: Counter[str] = Counter()
    consoles = 0
    for number in range(times):
        seed = f"{SEED}/{number}"
        console, used = await play(Random(seed), redrives=kind == "redrive")
        try:
            check(console)
        except AssertionError as error:
            raise AssertionError(f"round {seed}: {error}") from error
        ended = console.state.ended
        assert ended is not None
        reasons[str(ended.reason)] += 1
        consoles += used
    print(f"{times} changes, {consoles} consoles: {dict(reasons)}")
    if times >= 100 and kind == "redrive":
        assert set(reasons) == set(Reason)
