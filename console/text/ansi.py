"""Styles of spans as the sixteen colours that a terminal's own theme defines."""

from __future__ import annotations

from typing import Final

from console.text.spans import Link, Spans

CODES: Final = {
    "bold": "1",
    "italic": "3",
    "$faint": "2",
    "$line": "2",
    "$primary": "36",
    "$accent": "35",
    "$warning": "33",
    "$error": "31",
    "$success": "32",
    "$added": "32",
    "$removed": "31",
    "$phase-failed": "31",
    "$phase-blocked": "33",
    "$phase-held": "35",
    "$phase-running": "36",
    "$phase-ready": "32",
    "$phase-scheduled": "34",
    "$phase-unknown": "33",
    "$phase-cancelled": "2",
    "$phase-done": "2",
}


def painted(line: Spans) -> str:
    """Return a line with escape sequences. The text of the spans must be safe."""
    return "".join(_span(text, style) for text, style in line if text)


def _span(text: str, style: str) -> str:
    codes = "" if isinstance(style, Link) else ";".join(CODES[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and not text.isspace() else text
