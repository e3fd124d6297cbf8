"""Lines that name the next key of a newcomer's first repair."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from queries.files.state_file import open_private

STEPS = 3  # keys: the action, its dry run, the commit


class Guide:
    """Guide through one repair, until it is done or dismissed.

    ``ended`` is the file that remembers this for the user. None: there is no guide.
    """

    def __init__(self, ended: Path | None = None) -> None:
        self._ended = None if ended is None or ended.exists() else ended

    def line(self, step: int, what: str) -> str:
        """Return the line of a step, or ''."""
        return f"First repair, {step} of {STEPS}: {what}" if self._ended else ""

    def end(self) -> None:
        """Show no line any more, also in later consoles of this user."""
        if self._ended is not None:
            with contextlib.suppress(OSError):  # without a home it is shown again
                os.close(open_private(self._ended, os.O_CREAT | os.O_WRONLY))
            self._ended = None
