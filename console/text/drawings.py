"""Sections of a detail page that are drawn: graphs and timelines."""

from __future__ import annotations

from console.text import graph, timeline
from console.text.ascii import to_ascii
from console.text.spans import Spans
from queries.records.detail import Section


def draw(section: Section, width: int, now: float, *, ascii: bool = False) -> tuple[str, list[Spans]]:
    """Return a note for the title and lines of ``width`` cells.

    ``now`` is the server's time.
    """
    if section.drawn == "graph":
        steps = graph.steps(section.columns, section.rows)
        note = graph.summary(steps)
        return to_ascii(note) if ascii else note, graph.draw(steps, width, ascii=ascii)
    return "", timeline.draw(timeline.changes(section.columns, section.rows), width, now, ascii=ascii)
