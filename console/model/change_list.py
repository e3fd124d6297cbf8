"""Changes of engines and operators as a list. UI-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from console.model.audit_list import who
from console.model.filter import Fields
from console.model.row_list import Grouping
from queries.records.change import Change, Changes

SECONDS = 600.0  # age of the oldest change that is shown


def key(change: Change) -> str:
    """Return the id of a change."""
    return f"{change.at!r} {change.what} {change.id} {change.new} {change.entry.id if change.entry else ''}"


def operator(change: Change) -> str:
    """Return who acted; "" for a change of an engine."""
    return who(change.entry) if change.entry else ""


def _kind(change: Change) -> str:
    return change.id.partition("/")[2].partition(":")[0]


FIELDS: Final[Fields[Change]] = Fields(
    lambda change: (change.id, change.title, change.what, operator(change), change.old, change.new),
    prefixes={
        "change": lambda change: (change.what,),
        "engine": lambda change: (change.engine,),
        "kind": lambda change: (_kind(change),),
        "phase": lambda change: (change.node.phase if change.node else None,),
        "old": lambda change: (change.old,),
        "status": lambda change: (change.new,),
        "id": lambda change: (change.id,),
    },
    parts={
        "title": lambda change: (change.title,),
        "who": lambda change: (operator(change) or None,),
        "reason": lambda change: (change.entry.reason if change.entry else None,),
    },
    times={"age": lambda change, now: now - change.at},
    numbers={"nodes": lambda change: len(change.entry.results) if change.entry else 1},
)
GROUPINGS: Final[tuple[Grouping[Change], ...]] = (
    Grouping("change"),
    Grouping("node", lambda change: (f"node {change.id}", change.title or change.id)),
    Grouping("kind of change", lambda change: (f"change {change.engine} {change.what}", change.what)),
    Grouping("engine", lambda change: (f"engine {change.engine}", change.engine)),
    Grouping("who", lambda change: (f"who {operator(change)}", operator(change) or "the engines")),
)


class ChangeBoard:
    """Changes of the last ten minutes, as far as they were read, newest first."""

    def __init__(self) -> None:
        self.answer: Changes | None = None
        self.cursor: str | None = None
        self._changes: dict[str, Change] = {}

    @property
    def changes(self) -> Sequence[Change]:
        """All changes that were read, newest first."""
        return sorted(self._changes.values(), key=lambda change: -change.at)

    def refresh(self, answer: Changes) -> None:
        """Take the newest page.

        If changes between it and the earlier ones were not read, the earlier ones are dismissed, so that the list has
        no gap.
        """
        newest = {key(change): change for change in answer.changes}
        if self.answer is None or (answer.capped and not newest.keys() & self._changes.keys()):
            self._changes, self.cursor = newest, answer.cursor
        else:
            kept = {k: change for k, change in self._changes.items() if change.at >= answer.since}
            self._changes = {**kept, **newest}
        self.answer = answer

    def add(self, answer: Changes) -> None:
        """Take the page after the last one."""
        self._changes |= {key(change): change for change in answer.changes}
        self.cursor = answer.cursor
