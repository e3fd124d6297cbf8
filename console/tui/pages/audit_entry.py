"""Lines of one audit log entry."""

from __future__ import annotations

from console.text import formatting
from console.tui.pages.lines import BLANK, Line, heading, pairs, plain
from console.tui.pages.row_diff import differences, outcomes
from queries.model import AuditLogEntry


def entry_page(entry: AuditLogEntry, width: int) -> list[Line]:
    """Return who, when, why, the outcome of each node, and the rows before and after."""
    facts = [
        ("when", formatting.instant(entry.at)),
        ("who", f"{entry.role}, {entry.os_user}@{entry.host}"),
        *((("database", formatting.place(entry.origin)),) if entry.origin else ()),
        ("engine", f"{entry.engine} in schema {entry.schema}"),
        ("reason", entry.reason),
        *((name, formatting.scalar(value)) for name, value in entry.arguments.items()),
        ("transaction", entry.xid or formatting.NONE),
    ]
    lines = [heading(entry.action), *pairs(facts, width), BLANK]
    lines += [heading("Outcome"), *outcomes(entry.results, width), BLANK]
    lines.append(heading("Rows before and after"))
    return lines + (differences(entry.changes, width) or [plain("none", "$faint")])
