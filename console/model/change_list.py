"""Changes of engines and operators as a list. UI-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from console.model.audit_list import who
from console.model.fields.field import Field, Form
from console.model.filter import Fields
from console.model.row_list import Grouping
from console.text.pages.changes import subject
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


CHANGE: Final = Field[Change]("change", lambda c, _: c.what, Form.BEGINNING, searched=True)
ENGINE: Final = Field[Change]("engine", lambda c, _: c.engine, Form.BEGINNING)
TITLE: Final = Field[Change](
    "title", lambda c, _: c.title, Form.PART, searched=True, cell=lambda c, _: (subject(c), "")
)
WHO: Final = Field[Change]("who", lambda c, _: operator(c), Form.PART, searched=True)
FIELDS: Final[Fields[Change]] = Fields(
    (
        CHANGE,
        ENGINE,
        TITLE,
        WHO,
        Field("id", lambda c, _: c.id, Form.BEGINNING, searched=True),
        Field("kind", lambda c, _: _kind(c), Form.BEGINNING),
        Field("phase", lambda c, _: c.node.phase if c.node else None, Form.BEGINNING),
        Field("old", lambda c, _: c.old, Form.BEGINNING, searched=True),
        Field("status", lambda c, _: c.new, Form.BEGINNING, searched=True),
        Field("reason", lambda c, _: c.entry.reason if c.entry else None, Form.PART),
        Field("age", lambda c, _: c.at, Form.AGE),
        Field("nodes", lambda c, _: len(c.entry.results) if c.entry else 1, Form.NUMBER),
    )
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
