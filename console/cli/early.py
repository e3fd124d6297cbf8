"""Incidents as text, on the terminal until the console has painted.

Importing Textual takes longer than reading the first incidents.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from console.cli.incident_lines import incident_lines
from console.cli.output import output_for
from console.target import Target
from console.text.pages.lines import BLANK, plain
from console.text.spans import Spans, crop
from queries.records.finding import Incident

# The console enters the alternate screen a second time and leaves it once. Terminals with one place for a saved
# cursor save it again then: it has to be back where it was.
ENTER, CURSOR_BACK, LEAVE = "\x1b[?1049h\x1b[H", "\x1b8", "\x1b[?1049l"


class EarlyIncidents:
    """The first incidents, as `unstick stuck` shows them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._shown = False

    def show(self, incidents: Sequence[Incident], now: float) -> None:
        """Show incidents as of ``now``, in seconds since 1970; nothing if there are none."""
        if incidents and os.environ.get("TERM", "") not in ("", "dumb"):
            self._shown = True
            _send(ENTER)
            output_for(self._target).show(lambda cells: self._lines(incidents, now, cells))
            _send(CURSOR_BACK)

    def clear(self) -> None:
        """Leave the alternate screen, because the console will not paint."""
        if self._shown:
            _send(LEAVE)

    def _lines(self, incidents: Sequence[Incident], now: float, cells: int) -> list[Spans]:
        rows = os.get_terminal_size(sys.stderr.fileno()).lines - 3  # below them: two lines, and the cursor's
        lines = incident_lines(self._target, incidents[:rows], cells, now)
        return [*(crop(line, cells) for line in lines[:rows]), BLANK, plain("Opening the console ...", indent=0)]


def _send(sequence: str) -> None:
    """Write to stderr, where the console paints."""
    sys.stderr.write(sequence)
    sys.stderr.flush()
