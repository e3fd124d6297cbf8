"""Describe the sessions whose locks made a statement fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queries.text.duration import spelled

RELEASED = "The lock is free again: refresh."


def describe(rows: Sequence[Mapping[str, Any]], role: str) -> str:
    """Return a line about the rows of ``blockers.sql``. ``role`` is the current role."""
    if not rows:
        return RELEASED
    line = "; ".join(map(_blocker, rows)) + "."
    return line + (f" To see its activity: GRANT pg_monitor TO {role}." if any(r["hidden"] for r in rows) else "")


def _blocker(row: Mapping[str, Any]) -> str:
    if not row["granted"]:
        behind = f", behind {row['behind']}" if row["behind"] else ""
        return f"{row['who']} waits to lock {row['relation']} exclusively{behind}"
    since = "" if row["seconds"] is None else f" for {spelled(row['seconds'])}"
    state = f" and is {row['state']}" if row["state"] else ""
    return f"{row['who']} locks {row['relation']} exclusively{since}{state}"
