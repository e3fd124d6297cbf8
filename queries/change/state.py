"""State of a change of many nodes, and its next step; settings of a redrive.

It is a fold of the entries and has no I/O. A plain change has parts, then nodes that an executor held: a task whose
poll fails repeatedly is idle only for seconds, so the confirmed action is tried again at short intervals. A redrive has
cohorts, and judges each before the next one. Times are seconds by the clock of the loop: monotonic, or the server's for
a redrive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from queries.db.errors import DatabaseError
from queries.records.action import Answer, Change, Durability, Outcome, Result, merged, titled, titles_of
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.text import duration

PAUSE_SECONDS = 0.1  # between two attempts on held nodes; one takes about 5 ms
LONGEST_WAIT_SECONDS = 3600.0
STILL_HELD = "it was not free within {wait}: {why}"
PASSED = frozenset({Answer.FINISHED, Answer.MOVED_ON, Answer.SAME_DEATH, Answer.OTHER_DEATH})
FINAL = frozenset({Answer.FINISHED, Answer.SAME_DEATH, Answer.OTHER_DEATH})
COHORTS = (1, 5, 25)
COHORT_NODES = 500  # nodes of a cohort: one transaction, so that each has one audit log entry
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}  # of a pace


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


def sizes(total: int, first: Sequence[int]) -> list[int]:
    """Return the sizes of the cohorts of ``total`` nodes."""
    cohorts: list[int] = []
    while (rest := total - sum(cohorts)) > 0:
        size = first[len(cohorts)] if len(cohorts) < len(first) else cohorts[-1] * 2
        cohorts.append(min(size, COHORT_NODES, rest))
    return cohorts


def cohorts(ids: Sequence[str], settings: RedriveSettings) -> Iterator[tuple[str, ...]]:
    """Yield the nodes of each cohort."""
    start = 0
    for size in sizes(len(ids), settings.cohorts):
        yield tuple(ids[start : start + size])
        start += size


class AskReason(StrEnum):
    """Reason why only the operator can decide how a redrive continues."""

    NO_ANSWER = "no_answer"  # nodes of the cohort did not answer in time
    UNKNOWN = "unknown"  # their outcome cannot be known
    OTHER_DEATHS = "other_deaths"  # more nodes died of something else than the budget allows


class Reason(StrEnum):
    """Reason why a run ended."""

    DONE = "done"
    BUDGET = "budget"
    STOPPED = "stopped"  # by an operator


class Kind(StrEnum):
    """Kind of an entry of a run, after its first one."""

    CHANGED = "changed"  # the entry of a change, which does not say it
    SKIPPED = "skipped"  # nodes that no change names
    RESUME = "resume"  # another process continues it
    JUDGED = "judged"  # all nodes of a cohort have an answer
    GO_ON = "go_on"  # an operator's answer to a question
    END = "end"


class Event(Record, omit_defaults=True):
    """Content of an entry of a run beside the outcomes of nodes.

    ``cohort``: number of the cohort, or part. ``answers``: of a judged cohort without the finished nodes; at the end,
    the number of nodes with each answer. ``accepted``: nodes whose outcome need not be known. ``others``: deaths of
    something else until then. ``changed``: number of nodes.
    """

    event: Kind
    cohort: int = -1
    answers: dict[str, Answer | int] = {}
    question: AskReason | None = None
    accepted: tuple[str, ...] = ()
    others: int = 0
    reason: Reason | None = None
    changed: int = 0


class Do(StrEnum):
    """Kind of the next step."""

    CHANGE = "change"
    WATCH = "watch"
    ASK = "ask"
    RECORD = "record"
    PAUSE = "pause"  # the server is lost
    END = "end"


class Step(NamedTuple):
    """The next step.

    ``ids``: the nodes to change, or to ask about. ``waited``: the operator waits until they are free. ``seconds``:
    at most, until the next one. ``results``: of the nodes that an event is about.
    """

    do: Do
    part: int = 0
    ids: tuple[str, ...] = ()
    waited: bool = False
    seconds: float = 0.0
    question: AskReason | None = None
    event: Event | None = None
    results: tuple[Result, ...] = ()


class State:
    """State of a change, and the sum of its outcomes.

    ``parts``: the nodes of each transaction, or cohort. ``settings``: of a redrive. ``held``: nodes that are waited for
    at the end, with the reason, for at most ``wait`` seconds. ``before``: outcomes of other nodes.
    """

    def __init__(
        self,
        parts: Iterable[Iterable[str]] = (),
        settings: RedriveSettings | None = None,
        *,
        held: Mapping[str, str] = {},
        wait: float = 0.0,
        before: Change | None = None,
    ) -> None:
        self.parts = [tuple(part) for part in parts]
        self.settings = settings
        self.held = dict(held)
        self.until: float | None = None  # end of the wait; None before it
        self.ended: Event | None = None
        self.results: dict[str, Result] = {}
        self.answers: dict[str, Answer] = {}  # of the revived nodes
        self.done: list[Change] = []  # not decoded: there may be many rows, and few are shown
        self.durable: Counter[Durability] = Counter()  # changed nodes
        self._total, self._summed = Change(), 0  # of the first parts that were done
        self._wait_seconds = min(wait, LONGEST_WAIT_SECONDS)
        self._attempted = 0.0  # when the last attempt on held nodes began
        self._first = 0  # of the parts that have nodes without an outcome
        self._closed: set[int] = set()  # cohorts
        self._revived: list[tuple[float, int]] = []  # times and numbers, for the pace
        self._since: dict[int, float] = {}  # by cohort: when the wait for its answers began
        self._accepted: set[str] = set()
        self._others = 0
        if before is not None:
            self._sum(before)

    def add(self, at: float, event: Event, change: Change | None = None) -> None:
        """Add an entry. Raises DatabaseError for a cohort that does not exist."""
        number = event.cohort
        if change is not None:
            changed = self._sum(change)
            if changed and self.settings is not None:
                self._revived.append((at, changed))
                self._since[number] = max(at, self._since.get(number, at))
        elif event.event is Kind.JUDGED:
            if not 0 <= number < len(self.parts):
                why = f"An entry of the run names a cohort that it does not have: {number}."
                raise DatabaseError(why, "Nothing was changed.")
            self._closed.add(number)
            for node_id in self.parts[number]:
                if node_id in self.answers:
                    self.answers[node_id] = Answer(str(event.answers.get(node_id, Answer.FINISHED)))
        elif event.event is Kind.GO_ON:
            self._since[number] = at
            self._accepted.update(event.accepted)
            self._others = max(self._others, event.others)
        elif event.event is Kind.END:
            self.ended = event

    def _sum(self, change: Change) -> int:
        """Add a change, and return the number of changed nodes."""
        changed = 0
        for result in change.results:
            if result.outcome is Outcome.CHANGED:
                changed += 1
                if self.settings is not None:
                    self.answers.setdefault(result.id, Answer.NO_ANSWER)
            elif (known := self.results.get(result.id)) and known.outcome is Outcome.CHANGED:
                continue
            self.results[result.id] = result
        self.done.append(change)
        if change.durability is not None:
            self.durable[change.durability] += changed
        return changed

    def lose(self, entry: AuditLogEntry) -> None:
        """Take the results of an entry of this change that a failover has lost."""
        if any(entry.id in change.entries for change in self.done):
            for result in titled(entry.results, titles_of(self.results.values())):
                self.results[result.id] = result

    @property
    def total(self) -> Change:
        """The sum so far, with the results and the rows of each part as they were added."""
        if self._summed != len(self.done):
            self._total, self._summed = merged(self.done), len(self.done)
        return self._total

    def change(self) -> Change:
        """Return the sum, with the last result of each node and decoded rows."""
        rows = tuple(row.read() for row in self.total.changes)
        results, durable = tuple(self.results.values()), dict(self.durable)
        return msgspec.structs.replace(self.total, results=results, changes=rows, durable=durable)

    def ids(self, *outcomes: Outcome) -> set[str]:
        """Return the nodes with these outcomes."""
        return {i for i, result in self.results.items() if result.outcome in outcomes}

    def pending(self) -> list[str]:
        """Return the nodes without an outcome, in order."""
        return [i for part in (*self.parts, self.held) for i in part if i not in self.results]

    # what a redrive sees

    @property
    def skipped(self) -> list[Result]:
        """Results of the nodes of a redrive that it did not revive."""
        return [result for i, result in self.results.items() if i not in self.answers]

    def watched(self) -> list[str]:
        """Return the revived nodes whose answer may still change."""
        return [i for i, answer in self.answers.items() if answer not in FINAL and i not in self._accepted]

    def observe(self, answers: Mapping[str, Answer]) -> None:
        """Add what was seen of the watched nodes."""
        for node_id, answer in answers.items():
            if node_id in self.answers and self.answers[node_id] not in FINAL:
                self.answers[node_id] = answer

    def counts(self, cohort: int) -> Counter[Answer]:
        """Return the number of nodes of a cohort with each answer."""
        return Counter(self.answers[i] for i in self.parts[cohort] if i in self.answers)

    # the next step

    def next(self, now: float) -> Step:
        """Return the next step."""
        if self.ended is not None:
            return Step(Do.END, event=self.ended)
        if self.settings is not None and not self._within_budget(Answer.SAME_DEATH):
            return self.end(Reason.BUDGET)
        while self._first < len(self.parts):
            number, ids = self._first, self.parts[self._first]
            pending = tuple(i for i in ids if i not in self.results)
            if self.settings is not None and number not in self._closed:
                if step := self._cohort(now, self.settings, number, pending):
                    return step
            elif pending and self.settings is None:
                return Step(Do.CHANGE, number, pending)
            self._first += 1
        return self._wait(now)

    def _wait(self, now: float) -> Step:
        """Return the next step of the wait for held nodes, or the end."""
        held = tuple(i for i in self.held if i not in self.results)
        if not held:
            return self.end(Reason.DONE)
        part = len(self.parts)
        if self.until is None:
            self.until = now + self._wait_seconds
        elif now >= self.until:
            whys = {i: STILL_HELD.format(wait=duration.spelled(self._wait_seconds), why=self.held[i]) for i in held}
            late = tuple(Result(id=i, outcome=Outcome.REFUSED, why=why) for i, why in whys.items())
            return Step(Do.RECORD, event=Event(event=Kind.SKIPPED, cohort=part), results=late)
        elif (pause := self._attempted + PAUSE_SECONDS - now) > 0:
            return Step(Do.WATCH, seconds=min(pause, self.until - now))
        self._attempted = now
        return Step(Do.CHANGE, part, held, waited=True)

    def _cohort(self, now: float, settings: RedriveSettings, number: int, pending: tuple[str, ...]) -> Step | None:
        """Return the next step of a cohort; None if it has no revived node.

        It begins only when all nodes of the one before have an answer.
        """
        if pending:
            died = tuple(i for i, answer in self.answers.items() if answer is Answer.OTHER_DEATH)
            if len(died) > self._others and not self._within_budget(Answer.OTHER_DEATH):
                return Step(Do.ASK, number, died, question=AskReason.OTHER_DEATHS)
            free, until = self._free(now, len(pending))
            return Step(Do.CHANGE, number, pending[:free]) if free else Step(Do.WATCH, seconds=until)
        answers = {i: self.answers[i] for i in self.parts[number] if i in self.answers}
        open_ids = {i: answer for i, answer in answers.items() if answer not in PASSED and i not in self._accepted}
        if silent := tuple(i for i, answer in open_ids.items() if answer is not Answer.UNKNOWN):
            rest = self._since.get(number, now) + settings.wait - now
            return (
                Step(Do.WATCH, seconds=rest) if rest > 0 else Step(Do.ASK, number, silent, question=AskReason.NO_ANSWER)
            )
        if open_ids:
            return Step(Do.ASK, number, tuple(open_ids), question=AskReason.UNKNOWN)
        unfinished: dict[str, Answer | int] = {i: a for i, a in answers.items() if a is not Answer.FINISHED}
        judged = Event(event=Kind.JUDGED, cohort=number, answers=unfinished)
        return Step(Do.RECORD, event=judged) if answers else None

    def _within_budget(self, death: Answer) -> bool:
        assert self.settings is not None
        deaths = sum(answer is death for answer in self.answers.values())
        return self.settings.budget.allows(deaths, len(self.answers))

    def _free(self, now: float, nodes: int) -> tuple[int, float]:
        """Return how many nodes the pace allows now, else the seconds until it allows one."""
        pace = None if self.settings is None else self.settings.pace
        if pace is None:
            return nodes, 0.0
        recent = [(at, number) for at, number in self._revived if at > now - pace.seconds]
        free = pace.nodes - sum(number for _, number in recent)
        return (min(free, nodes), 0.0) if free > 0 else (0, min(at for at, _ in recent) + pace.seconds - now)

    def end(self, reason: Reason) -> Step:
        """Return the step that ends it."""
        counts: dict[str, Answer | int] = dict(Counter(self.answers.values()))
        changed = len(self.ids(Outcome.CHANGED))
        return Step(Do.END, event=Event(event=Kind.END, reason=reason, changed=changed, answers=counts))


def go_on(ask: Step) -> Event:
    """Return the event of the answer "go on": wait again, or accept what is not known."""
    accepted = ask.ids if ask.question is AskReason.UNKNOWN else ()
    others = len(ask.ids) if ask.question is AskReason.OTHER_DEATHS else 0
    return Event(event=Kind.GO_ON, cohort=ask.part, question=ask.question, accepted=accepted, others=others)
