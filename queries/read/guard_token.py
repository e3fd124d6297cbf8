"""Guard tokens, for nodes that change all the time.

An action is guarded by what the operator saw: the node's version, or the fields that are ``constant`` in
the spec of the finding that suggested the action. A token has the names and values of these fields. The lock section of
the action's SQL compares them with the row and locks it. The change is then guarded by the version that the locked row
has. All other code passes the token on without reading it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MARK = "same:"


def token(fields: Sequence[str], seen: Mapping[str, Any]) -> str:
    """Return the token for these fields of a sample; "" if a field is missing."""
    named = {field: seen[field] for field in fields if field in seen}
    if not named or len(named) < len(fields):
        return ""
    return MARK + msgspec.json.encode(named).decode()


def is_token(seen: str) -> bool:
    """Return True for a guard token, False for a node's version."""
    return seen.startswith(MARK)


def is_valid(text: str) -> bool:
    """Return True if ``text`` is a token with at least one field."""
    try:
        return is_token(text) and bool(msgspec.json.decode(text.removeprefix(MARK), type=dict[str, Any]))
    except msgspec.DecodeError:
        return False
