"""Status line, notes, and the notice shown instead of rows."""

from __future__ import annotations

from textual.content import Content

from console.text import formatting, spans
from console.text.views.lines import wrapped
from queries.text.safe_text import safe_text

STATUS_LINES = 3
TONES = {"": "$foreground", "good": "$success", "warn": "$warning", "bad": "bold $error", "faint": "$faint"}


def status_line(width: int, text: str, tone: str = "") -> Content:
    """Return the last event, or the reason why a key had no effect.

    ``tone`` is one of TONES.
    """
    lines = [f" {spans.text(line)}" for line in wrapped(text.replace("\n", " "), width - 2, "", 0)] if text else []
    head, rest = lines[: STATUS_LINES - 1], lines[STATUS_LINES - 1 :]
    cut = [formatting.crop("".join(rest), width - 1)] if rest else []
    return Content.styled("\n".join(head + cut), TONES[tone])


def note(_: int, text: str) -> Content:
    """Return a text that the bar wraps."""
    return Content(safe_text(text))


def notice(_: int, headline: str, text: str) -> Content:
    """Return a headline and an explanation, for a list that is empty or loading."""
    lines = [safe_text(line) for line in text.splitlines()]
    title = Content.styled(safe_text(headline), "bold")
    return Content("\n").join(
        [title, *([Content("")] if lines else []), *(Content.styled(line, "$faint") for line in lines)]
    )
