"""Checks of what an operator writes: the audit log must be able to store it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queries.db.errors import DatabaseError, UnencodableError
from queries.db.shared_sql import statement
from queries.workspace import Workspace
from queries.write.audit_log import Operator


def check_storable(reason: str, arguments: Mapping[str, Any]) -> None:
    """Raise DatabaseError if the audit log cannot store reason and arguments."""
    if not reason.strip():
        raise DatabaseError("A reason is required. It is written to the audit log.", "Nothing was changed.")
    if not all(_storable(value) for value in (reason, *arguments.values())):
        raise DatabaseError("The reason or an argument is not valid text, or contains NUL.", "Nothing was changed.")


async def check_encoding(workspace: Workspace, reason: str, arguments: Mapping[str, Any], operator: Operator) -> None:
    """Refuse texts that the encoding of the database lacks.

    These are the reason and the arguments. Raises DatabaseError.
    """
    texts = {"reason": reason, **{f"argument {name}": str(value) for name, value in arguments.items()}}
    texts |= {"name of the operator": operator.name}
    odd = {what: text for what, text in texts.items() if not text.isascii()}
    if not odd:
        return
    async with workspace.database.reading() as transaction:
        encoding = (await transaction.rows(statement("encoding"), {}))[0]["encoding"]
    for what, text in odd.items() if encoding not in ("UTF8", "SQL_ASCII") else ():
        if not await _can_hold(workspace, text):
            lacking = [c for c in dict.fromkeys(text) if not c.isascii() and not await _can_hold(workspace, c)]
            raise DatabaseError(
                f"The {what} has {', '.join(map(repr, lacking))}, which the encoding of this database ({encoding})"
                " does not have.",
                "Nothing was changed. Write it with other characters.",
            )


async def _can_hold(workspace: Workspace, text: str) -> bool:
    """Return True if the encoding of the database has the characters of ``text``."""
    try:
        async with workspace.database.reading() as transaction:
            await transaction.rows(statement("storable"), {"query": text})
    except UnencodableError:
        return False
    return True


def _storable(value: object) -> bool:
    """Return True if the audit log can store the value.

    Arguments may contain any bytes, and jsonb cannot contain NUL.
    """
    try:
        return b"\0" not in str(value).encode()
    except UnicodeEncodeError:
        return False
