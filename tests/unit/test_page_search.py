"""Entries of a page that have a text."""

from __future__ import annotations

from console.text.spans import Spans, text
from console.text.views.lines import BLANK, heading, matching, pairs, plain, wrapped

HELP_LINES: list[Spans] = [
    *wrapped("Lower-case keys only read.", 60, indent=0),
    BLANK,
    heading("Keys everywhere"),
    *pairs([("q", "Quit"), ("z", "Times relative, in UTC, or in the local zone of this machine")], 40),
    BLANK,
    heading("tasker: actions"),
    plain("W Wake task"),
    plain("It is due now.", "", 4),
    BLANK,
    plain("C Cancel task"),
    plain("It will not run.", "", 4),
]


def found(sought: str) -> list[str]:
    return [text(line).strip() for line in matching(HELP_LINES, sought)]


def test_an_entry_has_its_heading_and_its_other_lines() -> None:
    assert found("DUE now") == ["tasker: actions", "W Wake task", "It is due now."]


def test_a_text_over_two_lines_is_found() -> None:
    entry = found("relative, in utc, or in the local zone of this")
    assert entry[0] == "Keys everywhere"
    assert len(entry) > 2
    assert "Quit" not in " ".join(entry)


def test_a_heading_with_the_text_has_all_its_entries() -> None:
    assert len(found("tasker: actions")) == 5


def test_entries_of_several_headings_are_apart_and_nothing_is_nothing() -> None:
    assert [line == "" for line in found("it")] == [False, False, True, False, False, False, False, False]
    assert found("nosuch") == []
