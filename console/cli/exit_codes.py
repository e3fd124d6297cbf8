"""Exit codes of all commands."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
USAGE: Final = 2
SKIPPED: Final = 3
STUCK: Final = 4
UNKNOWN: Final = 5
EMPTY: Final = 6
STOPPED: Final = 7
ASKS: Final = 8
INTERRUPTED: Final = 130

CODES: Final = {
    0: "done",
    FAILED: "failed, for example no connection, or something was not checked",
    USAGE: "usage or settings",
    SKIPPED: "some or all nodes were skipped, or not found",
    STUCK: "something is stuck (stuck --exit-code)",
    UNKNOWN: "the outcome is unknown",
    EMPTY: "no node was selected, and nothing was changed",
    STOPPED: "a redrive stopped early",
    ASKS: "a redrive asks",
}
"""Meanings of the codes that the help lists."""
