"""One entry of the ledger whole."""

from __future__ import annotations

from console import words
from queries.model import LedgerEntry

from .change import differences, outcomes
from .lines import BLANK, Line, heading, pairs, plain, scalar


def entry_page(entry: LedgerEntry, width: int) -> list[Line]:
    """Who, when, why, what became of each node, and the rows before and after."""
    facts = [
        ("when", words.instant(entry.at)),
        ("who", f"{entry.role}, {entry.os_user}@{entry.host}"),
        *((("database", words.place(entry.origin)),) if entry.origin else ()),
        ("system", f"{entry.system} in schema {entry.schema}"),
        ("reason", entry.reason),
        *((name, scalar(value)) for name, value in entry.arguments.items()),
        ("transaction", entry.xid or words.NONE),
    ]
    lines = [heading(entry.verb), *pairs(facts, width), BLANK]
    lines += [heading("What became of it"), *outcomes(entry.results, width), BLANK]
    lines.append(heading("Rows before and after"))
    return lines + (differences(entry.changes, width) or [plain("none", "$faint")])
