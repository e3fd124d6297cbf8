"""Events and steps of a run. No I/O.

A run is a fold over its events, which the log of the run keeps. So a console that continues it comes to the same state
as the one that began it. Times are seconds by the clock of the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from queries.records.action import Answer, Outcomes, Result
from queries.records.record import Record


class AskReason(StrEnum):
    """Reason why only the operator can decide how a run continues."""

    NO_ANSWER = "no_answer"  # nodes of the cohort did not answer in time
    UNKNOWN = "unknown"  # their outcome cannot be known
    OTHER_DEATHS = "other_deaths"  # more nodes died of something else than the budget allows


class Reason(StrEnum):
    """Reason why a run ended."""

    DONE = "done"
    BUDGET = "budget"
    STOPPED = "stopped"  # by an operator


class Changed(Record, tag_field="event", tag="changed"):
    """Nodes of a part were changed or skipped.

    ``held``: why others are not free yet, by id.
    """

    at: float
    part: int
    outcomes: Outcomes
    held: dict[str, str] = {}

    @property
    def results(self) -> tuple[Result, ...]:
        """Outcome of each node that was tried."""
        return self.outcomes.results


class Judged(Record, tag_field="event", tag="judged"):
    """All nodes of a cohort have an answer. ``answers`` omits the finished ones."""

    at: float
    cohort: int
    answers: dict[str, Answer] = {}


class Extended(Record, tag_field="event", tag="go_on"):
    """An operator answered a question with "go on".

    ``accepted``: the nodes without a known outcome. ``others``: the deaths of something else until then.
    """

    at: float
    cohort: int
    question: AskReason
    accepted: tuple[str, ...] = ()
    others: int = 0


class Ended(Record, tag_field="event", tag="end"):
    """The run is over.

    ``changed``: number of changed nodes. ``answers``: number of nodes with each answer.
    """

    at: float
    reason: Reason
    changed: int = 0
    answers: dict[Answer, int] = {}


Event = Changed | Judged | Extended | Ended


class ChangePart(Record):
    """Step: change these nodes of a part.

    ``waited``: the operator waits until they are free.
    """

    part: int
    ids: tuple[str, ...]
    waited: bool = False


class Watch(Record):
    """Step: look again, in at most ``seconds``."""

    seconds: float


class Close(Record):
    """Step: record an event."""

    event: Event


class Ask(Record):
    """Step: the operator decides. ``ids``: the nodes concerned."""

    question: AskReason
    cohort: int
    ids: tuple[str, ...]


class Pause(Record):
    """Step: try to reach the lost server again in ``seconds``. ``why``: the error."""

    seconds: float
    why: str


Step = ChangePart | Watch | Close | Ask | Pause | Ended


class Policy(Protocol):
    """State of a run as its events tell, and what to do next. A value without I/O."""

    ended: Ended | None

    def apply(self, event: Event) -> None:
        """Add an event."""

    def observe(self, answers: Mapping[str, Answer]) -> None:
        """Add what was seen of the watched nodes."""

    def watched(self) -> Sequence[str]:
        """Return the nodes that are looked at before the next step."""

    def pending(self) -> Sequence[str]:
        """Return the nodes without an outcome."""

    def step(self, now: float) -> Step:
        """Return what to do next."""

    def begun(self, change: ChangePart) -> None:
        """Note a step that is under way, and has no event yet."""

    def go_on(self, now: float, ask: Ask) -> Event:
        """Return the event of the answer "go on"."""

    def end(self, now: float, reason: Reason) -> Ended:
        """Return the event that ends it."""
