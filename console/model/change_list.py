"""Changes of engines and operators as a list. UI-free."""

from __future__ import annotations

from collections.abc import Sequence

from queries.records.change import Change, Changes

SECONDS = 600.0  # age of the oldest change that is shown
CHANGES_COUNTED = 2000  # changes that are read to count them; of more, the numbers are those of the newest
CHANGES_LOADED = 200  # changes that the end of the list loads


def key(change: Change) -> str:
    """Return the id of a change."""
    return f"{change.at!r} {change.what} {change.id} {change.new} {change.entry.id if change.entry else ''}"


class ChangeBoard:
    """Changes of the last ten minutes, as far as they were read, newest first."""

    def __init__(self) -> None:
        self.answer: Changes | None = None
        self.cursor: str | None = None
        self.changes: Sequence[Change] = ()  # all that were read, newest first
        self._changes: dict[str, Change] = {}

    @property
    def uncounted(self) -> bool:
        """True if changes of the last ten minutes are not counted that could be."""
        return self.cursor is not None and len(self._changes) < CHANGES_COUNTED

    def refresh(self, answer: Changes) -> None:
        """Take the newest page.

        If changes between it and the earlier ones were not read, the earlier ones are dismissed, so that the list has
        no gap.
        """
        newest = {key(change): change for change in answer.changes}
        if self.answer is None or (answer.capped and not newest.keys() & self._changes.keys()):
            self._keep(newest)
            self.cursor = answer.cursor
        else:
            kept = {k: change for k, change in self._changes.items() if change.at >= answer.since}
            self._keep(kept | newest)
        self.answer = answer

    def add(self, answer: Changes) -> None:
        """Take the page after the last one."""
        self._keep(self._changes | {key(change): change for change in answer.changes})
        self.cursor = answer.cursor

    def _keep(self, changes: dict[str, Change]) -> None:
        self._changes = changes
        self.changes = sorted(changes.values(), key=lambda change: -change.at)
