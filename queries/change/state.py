"""State of a change of many nodes, and its next step.

It is a fold of the entries and has no I/O. A plain change has parts, then nodes that an executor held: a task whose
poll fails repeatedly is idle only for seconds, so the confirmed action is tried again at short intervals. A redrive has
cohorts, and judges each before the next one. Times are seconds by the clock of the loop: monotonic, or the server's for
a redrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from queries.change.settings import RedriveSettings
from queries.db.errors import DatabaseError
from queries.records.action import (
    Answer,
    Durability,
    Outcome,
    Outcomes,
    Result,
    RowChange,
    least_certain,
    titled,
    titles_of,
)
from queries.records.audit import AuditLogEntry
from queries.records.record import Record

PAUSE_SECONDS = 0.1  # between two attempts on held nodes; one takes about 5 ms
LONGEST_WAIT_SECONDS = 3600.0
STILL_HELD = "it was not free within {wait:.0f} s: {why}"
PASSED = frozenset({Answer.FINISHED, Answer.MOVED_ON, Answer.SAME_DEATH, Answer.OTHER_DEATH})
FINAL = frozenset({Answer.FINISHED, Answer.SAME_DEATH, Answer.OTHER_DEATH})


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
        before: Outcomes | None = None,
    ) -> None:
        self.parts = [tuple(part) for part in parts]
        self.settings = settings
        self.held = dict(held)
        self.until: float | None = None  # end of the wait; None before it
        self.ended: Event | None = None
        self.results: dict[str, Result] = {}
        self.answers: dict[str, Answer] = {}  # of the revived nodes
        self.changes: list[RowChange] = []  # not decoded: there may be many, and few are shown
        self.xids: list[str] = []
        self.for_now: list[str] = []
        self.entries: list[str] = []
        self.logged = 0
        self.durable: Counter[Durability] = Counter()  # changed nodes
        self.durability: Durability | None = None
        self.audit_log: str | None = None
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

    def add(self, at: float, event: Event, outcomes: Outcomes | None = None) -> None:
        """Add an entry. Raises DatabaseError for a cohort that does not exist."""
        number = event.cohort
        if outcomes is not None:
            changed = self._sum(outcomes)
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

    def _sum(self, outcomes: Outcomes) -> int:
        """Add outcomes, and return the number of changed nodes."""
        changed = 0
        for result in outcomes.results:
            if result.outcome is Outcome.CHANGED:
                changed += 1
                if self.settings is not None:
                    self.answers.setdefault(result.id, Answer.NO_ANSWER)
            elif (known := self.results.get(result.id)) and known.outcome is Outcome.CHANGED:
                continue
            self.results[result.id] = result
        self.changes += outcomes.changes
        self.xids += [outcomes.xid] if outcomes.xid else []
        self.for_now += outcomes.for_now
        self.entries += outcomes.entries
        self.logged += outcomes.logged
        if outcomes.durability is not None:
            self.durability = least_certain([self.durability, outcomes.durability])
            self.durable[outcomes.durability] += changed
        self.audit_log = outcomes.audit_log or self.audit_log
        return changed

    def lose(self, entry: AuditLogEntry) -> None:
        """Take the results of an entry of this change that a failover has lost."""
        if entry.id in self.entries:
            for result in titled(entry.results, titles_of(self.results.values())):
                self.results[result.id] = result

    def outcomes(self) -> Outcomes:
        """Return the sum, with decoded rows."""
        return Outcomes(
            results=tuple(self.results.values()),
            changes=tuple(change.read() for change in self.changes),
            xid=" ".join(self.xids) or None,
            audit_log=self.audit_log,
            for_now=tuple(self.for_now),
            entries=tuple(self.entries),
            logged=self.logged,
            durability=self.durability,
        )

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
            whys = {i: STILL_HELD.format(wait=self._wait_seconds, why=self.held[i]) for i in held}
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
