"""Statements that find rows absent, which row-level security may hide."""

from __future__ import annotations

import re
from collections.abc import Collection

from queries.files.statement import Statement

# A count or the newest row of some is also about the rows that are not there.
_ABSENT = re.compile(
    r"\bNOT\s+EXISTS\b|\bNOT\s+IN\b|<>\s*ALL\b|\bLEFT\s+JOIN\b|\)\s*IS\s+NULL|\b(?:count|min|max|bool_and)\(",
    re.IGNORECASE,
)


def hidden(statement: Statement, restricted: Collection[str]) -> tuple[str, ...]:
    """Return the tables whose hidden rows a statement could take for absent.

    ``restricted``: tables with row-level security.
    """
    if not restricted or not _ABSENT.search(statement.text):
        return ()
    return tuple(name for name in restricted if re.search(rf'\."?{re.escape(name)}"?(?!\w)', statement.text))
