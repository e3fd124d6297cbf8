"""Guard tokens of findings whose nodes change all the time, so that a node's version is always old.

An action is guarded by what the operator saw: a node's version, or, where a finding suggested the action, the fields
that stay the same by that finding (``same`` in its spec). A token names these fields and their values. Only the lock
section of an action's SQL compares them with the row, which is then locked: the change is guarded by the version that
the row has at that moment. Everything else passes the token along unread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MARK = "same:"


def token(fields: Sequence[str], seen: Mapping[str, Any]) -> str:
    """Return the token for these fields of a look at a node; "" where there is no field or one was not looked at."""
    named = {field: seen[field] for field in fields if field in seen}
    if not named or len(named) < len(fields):
        return ""
    return MARK + msgspec.json.encode(named).decode()


def is_token(seen: str) -> bool:
    """Return True for a guard token, False for a node's version."""
    return seen.startswith(MARK)


def is_valid(text: str) -> bool:
    """Return True if ``text`` reads like a token that names at least one field."""
    try:
        return is_token(text) and bool(msgspec.json.decode(text.removeprefix(MARK), type=dict[str, Any]))
    except msgspec.DecodeError:
        return False
