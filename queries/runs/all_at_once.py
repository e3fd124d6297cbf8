"""Policy of a plain change: all nodes, part by part, then those that were held.

No I/O. A task whose poll fails repeatedly is idle only for seconds, between its timeout and the next retry. An operator
cannot hit that window by hand. So the confirmed action is tried again at short intervals, up to a limit. Each attempt
is one transaction. It accepts the node in its current version, because the executor's retries change the version. The
node's ``steady`` text from the action's ``lock`` section must not change during the wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queries.records.action import Answer, Outcome, Outcomes, Result
from queries.runs.steps import Ask, Changed, ChangePart, Close, Ended, Event, Reason, Step, Watch

PAUSE_SECONDS = 0.1  # between two attempts; one takes about 5 ms
LONGEST_WAIT_SECONDS = 3600.0

STILL_HELD = "it was not free within {wait:.0f} s: {why}"


class AllAtOnce:
    """A plain change.

    ``parts``: the nodes of each transaction. ``held``: nodes that are waited for at the end, with the reason, for at
    most ``wait`` seconds. ``now`` is monotonic.
    """

    def __init__(
        self, parts: Sequence[tuple[str, ...]], held: Mapping[str, str] | None = None, wait: float = 0.0
    ) -> None:
        self.ended: Ended | None = None
        self.until: float | None = None  # end of the wait; None before it
        self._parts = parts
        self._held = dict(held or {})
        self._wait_seconds = min(wait, LONGEST_WAIT_SECONDS)
        self._done: set[str] = set()  # nodes with an outcome, also those of an earlier console
        self._begun: set[int] = set()  # parts in a step that is under way
        self._changed: set[str] = set()
        self._first = 0  # of the parts that have nodes without an outcome
        self._attempted = 0.0  # when the last attempt began

    def apply(self, event: Event) -> None:
        """Add an event."""
        if isinstance(event, Ended):
            self.ended = event
        elif isinstance(event, Changed):
            ids = [result.id for result in event.results]
            self._done.update(ids)
            self._begun.discard(event.part)
            self._changed.update([result.id for result in event.results if result.outcome is Outcome.CHANGED])
            self._held |= {i: why for i, why in event.held.items() if i in self._held}

    @property
    def changed(self) -> int:
        """Number of nodes that were changed, also by an earlier console."""
        return len(self._changed)

    def observe(self, answers: Mapping[str, Answer]) -> None:
        """Nothing is watched."""

    def watched(self) -> Sequence[str]:
        """Nothing is watched."""
        return ()

    def pending(self) -> Sequence[str]:
        """Return the nodes without an outcome, in order."""
        return [i for part in (*self._parts, tuple(self._held)) for i in part if i not in self._done]

    def step(self, now: float) -> Step:
        """Return what to do next."""
        if self.ended is not None:
            return self.ended
        while self._first < len(self._parts) and self._done.issuperset(self._parts[self._first]):
            self._first += 1
        for number in range(self._first, len(self._parts)):
            ids = tuple(i for i in self._parts[number] if i not in self._done)
            if ids and number not in self._begun:
                return ChangePart(part=number, ids=ids)
        return Watch(seconds=PAUSE_SECONDS) if self._first < len(self._parts) else self._wait(now)

    def _wait(self, now: float) -> Step:
        """Return the next step of the wait, or the end."""
        held = tuple(i for i in self._held if i not in self._done)
        if not held:
            return self.end(now, Reason.DONE)
        if self.until is None:
            self.until = now + self._wait_seconds
        elif now >= self.until:
            late = (self._late(i) for i in held)
            return Close(event=Changed(at=now, part=len(self._parts), outcomes=Outcomes(results=tuple(late))))
        elif (pause := self._attempted + PAUSE_SECONDS - now) > 0:
            return Watch(seconds=min(pause, self.until - now))
        self._attempted = now
        return ChangePart(part=len(self._parts), ids=held, waited=True)

    def _late(self, node_id: str) -> Result:
        why = STILL_HELD.format(wait=self._wait_seconds, why=self._held[node_id])
        return Result(id=node_id, outcome=Outcome.REFUSED, why=why)

    def begun(self, change: ChangePart) -> None:
        """Note a step that is under way."""
        self._begun.add(change.part)

    def go_on(self, now: float, ask: Ask) -> Event:
        """Raise ValueError: it asks nothing."""
        raise ValueError(ask.question)

    def end(self, now: float, reason: Reason) -> Ended:
        """Return the event that ends it."""
        return Ended(at=now, reason=reason, changed=self.changed)
