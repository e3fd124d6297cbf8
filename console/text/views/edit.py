"""Lines of an edited text: its difference, and what is unusual about it."""

from __future__ import annotations

from console.text import formatting
from console.text.spans import Spans
from console.text.views.lines import heading, plain, wrapped
from queries.records.action import Edit, Mark
from queries.text.counted import counted
from queries.text.safe_text import safe_text

STYLES = {"-": "$removed", "+": "$added"}
WORDS = {
    "unknown_key": "unknown key",
    "missing_key": "missing key",
    "type_change": "type change",
    "out_of_range": "out of range",
}


def edit(edit: Edit, cells: int) -> list[Spans]:
    """Return the difference of an edited text, its marks, and the comparison."""
    lines = [heading("Edited text", "- before  + after")]
    for line in edit.diff:
        sign, rest = (" ", "…") if line == "@@" else (line[:1], line[1:])
        style = STYLES.get(sign, "$faint")
        lines.append([("    ", ""), (formatting.crop(safe_text(f"{sign} {rest}"), max(cells - 4, 8)), style)])
    for mark in edit.marks:
        lines += wrapped(_mark(mark), cells, "$warning" if mark.new else "$faint", 2)
    lines += wrapped(_compared(edit), cells, "$faint", 2)
    for note in edit.notes:
        lines += wrapped(note, cells, "$faint", 2)
    return lines or [plain("none", "$faint")]


def _mark(mark: Mark) -> str:
    before = "" if mark.new else " (as before the edit)"
    return f"! {WORDS[mark.code]}: {mark.path}: {mark.what}{before}"


def _compared(edit: Edit) -> str:
    number = f"{counted(edit.compared, 'success')} of the same kind"
    if edit.compared:
        return f"Compared with {number}; {edit.scope}."
    return f"Compared with the text before only. Successes of the same kind: {edit.scope}."
