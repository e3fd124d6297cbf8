"""Who holds a lock that a statement waited for in vain, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RELEASED = "It is not held any more: look again."


def described(rows: Sequence[Mapping[str, Any]], role: str) -> str:
    """Return one line about the rows of ``blockers.sql``. ``role`` is the one that asked."""
    if not rows:
        return RELEASED
    line = "; ".join(map(_one, rows)) + "."
    return line + (f" To see what it is doing: GRANT pg_monitor TO {role}." if any(r["hidden"] for r in rows) else "")


def _one(row: Mapping[str, Any]) -> str:
    if not row["granted"]:
        behind = f", behind {row['behind']}" if row["behind"] else ""
        return f"{row['who']} waits to lock {row['relation']} exclusively{behind}"
    since = "" if row["seconds"] is None else f" since {row['seconds']:.0f} s"
    state = f" and is {row['state']}" if row["state"] else ""
    return f"{row['who']} locks {row['relation']} exclusively{since}{state}"
