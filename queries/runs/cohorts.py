"""Policy of a redrive: the next cohort, the answers, the end. No I/O.

Times are seconds by the server's clock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from queries.db.errors import DatabaseError
from queries.records.action import Answer, Outcome, Result
from queries.records.node import Phase
from queries.records.record import Record
from queries.records.run import WatchedMember
from queries.runs.steps import (
    Ask,
    AskReason,
    Changed,
    ChangePart,
    Close,
    Ended,
    Event,
    Extended,
    Judged,
    Reason,
    Step,
    Watch,
)
from queries.text import duration

COHORTS = (1, 5, 25)
COHORT_NODES = 500  # nodes of a cohort: one transaction, so that each has one audit log entry
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}  # of a pace
PASSED = frozenset({Answer.FINISHED, Answer.MOVED_ON, Answer.SAME_DEATH, Answer.OTHER_DEATH})
FINAL = frozenset({Answer.FINISHED, Answer.SAME_DEATH, Answer.OTHER_DEATH})


class Budget(Record):
    """Deaths that a redrive may cause: a number, or a percentage of the revived nodes."""

    count: int | None = None
    percent: float | None = None

    def allows(self, deaths: int, revived: int) -> bool:
        """Return True if that many of the revived nodes may have died."""
        if self.count is not None:
            return deaths <= self.count
        return deaths * 100 <= (self.percent or 0.0) * revived


class Pace(Record):
    """At most ``nodes`` are revived in any ``seconds``."""

    nodes: int
    seconds: float


class RedriveSettings(Record):
    """Settings of a redrive.

    ``cohorts``: sizes of the first cohorts; later ones double, up to `COHORT_NODES`. ``wait``: seconds to
    wait for the answers of a cohort.
    """

    budget: Budget
    cohorts: tuple[int, ...] = COHORTS
    pace: Pace | None = None
    wait: float = 30.0


class SettingError(ValueError):
    """A setting cannot be read. ``name``: of the setting."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}{why}")
        self.name = name


def parse_settings(cohorts: str, pace: str, budget: str, wait: str) -> RedriveSettings:
    """Return the settings as an operator types them.

    Raises SettingError.
    """
    sizes_given = tuple(map(int, cohorts.split(","))) if re.fullmatch(r"(?a)\d{1,3}(,\d{1,3})*", cohorts) else (0,)
    if not 0 < min(sizes_given) <= max(sizes_given) <= COHORT_NODES:
        raise SettingError("cohorts", f" {cohorts!r}: write sizes from 1 to {COHORT_NODES}, such as 1,5,25.")
    paced = re.fullmatch(r"(?a)([1-9]\d{0,6})/(s|min|h)", pace)
    if pace and paced is None:
        raise SettingError("pace", f" {pace!r}: write a number per s, min or h, such as 60/min.")
    limit = re.fullmatch(r"(?a)(\d{1,6})|(\d{1,2}(?:\.\d{1,3})?|100)%", budget)
    if limit is None:
        raise SettingError("budget", f" {budget!r}: write a number or a percentage, such as 3 or 10%.")
    try:
        seconds = duration.parse(wait)
    except ValueError as error:
        raise SettingError("wait", f": {error}.") from None
    return RedriveSettings(
        budget=Budget(count=int(limit[1])) if limit[1] else Budget(percent=float(limit[2])),
        cohorts=sizes_given,
        pace=None if paced is None else Pace(nodes=int(paced[1]), seconds=UNITS[paced[2]]),
        wait=seconds,
    )


class Sign(Record):
    """State of a node that a redrive watches."""

    phase: Phase
    attempt: str
    dead: bool
    marks: tuple[str, ...] = ()
    moved: bool = False


def sizes(total: int, first: Sequence[int]) -> list[int]:
    """Return the sizes of the cohorts of ``total`` nodes."""
    cohorts: list[int] = []
    while (rest := total - sum(cohorts)) > 0:
        size = first[len(cohorts)] if len(cohorts) < len(first) else cohorts[-1] * 2
        cohorts.append(min(size, COHORT_NODES, rest))
    return cohorts


def judge(member: WatchedMember, sign: Sign | None, marks: Collection[str], *, gone: Answer) -> Answer:
    """Return the answer of a revived node.

    ``sign`` None: it does not exist any more, which means ``gone`` in its engine. ``marks``: those of all members.
    A death with the attempt of the first one is no new death.
    """
    if sign is None:
        return gone
    if sign.dead:
        if sign.attempt == member.attempt:
            return Answer.NO_ANSWER
        return Answer.SAME_DEATH if any(mark in marks for mark in sign.marks) else Answer.OTHER_DEATH
    if sign.phase is Phase.DONE:
        return Answer.FINISHED
    if sign.phase is Phase.CANCELLED:
        return Answer.UNKNOWN
    if sign.moved:
        return Answer.MOVED_ON
    return Answer.ALIVE if sign.phase is Phase.RUNNING else Answer.NO_ANSWER


class Redrive:
    """A redrive as its events tell: cohorts, answers, and the next step."""

    def __init__(self, members: Sequence[str], settings: RedriveSettings, events: Iterable[Event] = ()) -> None:
        self.settings = settings
        self.cohorts: list[tuple[str, ...]] = []
        self.answers: dict[str, Answer] = {}  # of the revived nodes
        self.skipped: dict[str, Result] = {}
        self.ended: Ended | None = None
        self._closed: set[int] = set()
        self._revived: list[tuple[float, int]] = []  # times and numbers, for the pace
        self._since: dict[int, float] = {}  # by cohort: when the wait for its answers began
        self._accepted: set[str] = set()
        self._others = 0
        start = 0
        for size in sizes(len(members), settings.cohorts):
            self.cohorts.append(tuple(members[start : start + size]))
            start += size
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Add an event."""
        if isinstance(event, Changed):
            self._revive(event)
        elif isinstance(event, Judged):
            if not 0 <= event.cohort < len(self.cohorts):
                why = f"An entry of the run names a cohort that it does not have: {event.cohort}."
                raise DatabaseError(why, "Nothing was changed.")
            self._closed.add(event.cohort)
            for node_id in self.cohorts[event.cohort]:
                if node_id in self.answers:
                    self.answers[node_id] = event.answers.get(node_id, Answer.FINISHED)
        elif isinstance(event, Extended):
            self._since[event.cohort] = event.at
            self._accepted.update(event.accepted)
            self._others = max(self._others, event.others)
        else:
            self.ended = event

    def _revive(self, event: Changed) -> None:
        changed = 0
        for result in event.results:
            if result.outcome is Outcome.CHANGED:
                self.answers.setdefault(result.id, Answer.NO_ANSWER)
                self.skipped.pop(result.id, None)
                changed += 1
            elif result.id not in self.answers:
                self.skipped[result.id] = result
        if changed:
            self._revived.append((event.at, changed))
            self._since[event.part] = max(event.at, self._since.get(event.part, event.at))

    @property
    def changed(self) -> int:
        """Number of revived nodes."""
        return len(self.answers)

    def observe(self, answers: Mapping[str, Answer]) -> None:
        """Add what was seen of the watched nodes."""
        for node_id, answer in answers.items():
            if node_id in self.answers and self.answers[node_id] not in FINAL:
                self.answers[node_id] = answer

    def watched(self) -> list[str]:
        """Return the revived nodes whose answer may still change."""
        return [i for i, answer in self.answers.items() if answer not in FINAL and i not in self._accepted]

    def pending(self) -> list[str]:
        """Return the nodes that were neither revived nor skipped."""
        return [i for ids in self.cohorts for i in ids if i not in self.answers and i not in self.skipped]

    def begun(self, change: ChangePart) -> None:
        """Nothing to note: a cohort is revived in one step at a time."""

    def count(self, answer: Answer) -> int:
        """Return the number of revived nodes with that answer."""
        return sum(each is answer for each in self.answers.values())

    def counts(self, cohort: int) -> Counter[Answer]:
        """Return the number of nodes of a cohort with each answer."""
        return Counter(self.answers[i] for i in self.cohorts[cohort] if i in self.answers)

    def step(self, now: float) -> Step:
        """Return what to do next.

        A cohort begins only when all nodes of the one before have an answer.
        """
        if self.ended is not None:
            return self.ended
        if not self.settings.budget.allows(self.count(Answer.SAME_DEATH), len(self.answers)):
            return self.end(now, Reason.BUDGET)
        for number, ids in enumerate(self.cohorts):
            if number in self._closed:
                continue
            if step := self._cohort_step(now, number, ids):
                return step
        return self.end(now, Reason.DONE)

    def _cohort_step(self, now: float, number: int, ids: Sequence[str]) -> Step | None:
        """Return the next step of a cohort; None if it has no revived node."""
        if pending := [i for i in ids if i not in self.answers and i not in self.skipped]:
            died = [i for i, answer in self.answers.items() if answer is Answer.OTHER_DEATH]
            if len(died) > self._others and not self.settings.budget.allows(len(died), len(self.answers)):
                return Ask(question=AskReason.OTHER_DEATHS, cohort=number, ids=tuple(died))
            free, until = self._free(now, len(pending))
            return ChangePart(part=number, ids=tuple(pending[:free])) if free else Watch(seconds=until)
        answers = {i: self.answers[i] for i in ids if i in self.answers}
        open_ids = {i: answer for i, answer in answers.items() if answer not in PASSED and i not in self._accepted}
        if silent := tuple(i for i, answer in open_ids.items() if answer is not Answer.UNKNOWN):
            rest = self._since[number] + self.settings.wait - now
            return Watch(seconds=rest) if rest > 0 else Ask(question=AskReason.NO_ANSWER, cohort=number, ids=silent)
        if open_ids:
            return Ask(question=AskReason.UNKNOWN, cohort=number, ids=tuple(open_ids))
        if not answers:
            return None
        unfinished: dict[str, Answer] = {i: answer for i, answer in answers.items() if answer is not Answer.FINISHED}
        return Close(event=Judged(at=now, cohort=number, answers=unfinished))

    def _free(self, now: float, nodes: int) -> tuple[int, float]:
        """Return how many nodes the pace allows now, else the seconds until it allows one."""
        pace = self.settings.pace
        if pace is None:
            return nodes, 0.0
        recent = [(at, number) for at, number in self._revived if at > now - pace.seconds]
        free = pace.nodes - sum(number for _, number in recent)
        if free > 0:
            return min(free, nodes), 0.0
        return 0, min(at for at, _ in recent) + pace.seconds - now

    def go_on(self, now: float, ask: Ask) -> Extended:
        """Return the event of the answer "go on": wait again, or accept what is not known."""
        accepted = ask.ids if ask.question is AskReason.UNKNOWN else ()
        others = len(ask.ids) if ask.question is AskReason.OTHER_DEATHS else 0
        return Extended(at=now, cohort=ask.cohort, question=ask.question, accepted=accepted, others=others)

    def end(self, now: float, reason: Reason) -> Ended:
        """Return the event that ends it, with the number of nodes with each answer."""
        counts = dict(Counter(self.answers.values()))
        return Ended(at=now, reason=reason, changed=len(self.answers), answers=counts)
