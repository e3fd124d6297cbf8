"""Lines that name the next key of a newcomer's first repair."""

from __future__ import annotations

STEPS = 4  # the row, the action, its dry run, the commit
FIRST = "lost wakeup"  # title of the incident that is repaired: its action has little risk


class Guide:
    """Guide through one repair, until it is done or dismissed.

    Without ``on`` there is none.
    """

    def __init__(self, *, on: bool = False) -> None:
        self._on = on

    def line(self, step: int, what: str) -> str:
        """Return the line of a step, or ''."""
        return f"First repair, {step} of {STEPS}: {what}" if self._on else ""

    def last(self, what: str) -> str:
        """Return the line after the last step, or ''. Then there is no line any more."""
        line = f"That was the first repair: {what}" if self._on else ""
        self.end()
        return line

    def end(self) -> None:
        """Show no line any more in this console."""
        self._on = False
