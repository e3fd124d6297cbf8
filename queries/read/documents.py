"""Stored texts that an action edits, and those of successful nodes of the kind.

The section ``document`` of the action's file returns one row for the node: ``document``, its JSON as text or bytes;
``digest`` of the stored value, which the section ``change`` compares; ``stored``, the type of the column; ``size`` in
bytes; ``why`` the text must not be edited, or NULL. A text of more than ``$bytes`` is NULL. The section ``successes``
returns ``document`` of at most ``$page`` nodes that succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queries.contract.spec import Action
from queries.db.errors import DatabaseError, attempted
from queries.db.query import Query
from queries.read.reader import Reader
from queries.records.record import Record

DOCUMENT_BYTES = 256 * 1024  # bytes of a text; a comparison takes about a second
SUCCESSES = 50
SUCCESS_LIMIT = 64 * 1024  # bytes of the text of a success


class Document(Record):
    """A stored text of a node.

    ``scope`` says which ``successes`` were read, or why none could be read.
    """

    id: str
    text: str
    digest: str
    stored: str
    successes: tuple[str, ...] = ()
    scope: str = ""


class NotEditableError(DatabaseError):
    """The text of a node cannot be edited."""


async def read(reader: Reader, action: Action, node_id: str) -> Document:
    """Read the text of a node. Raises DatabaseError."""
    row = await _row(reader, action, node_id)
    if row is None:
        raise NotEditableError(f"{node_id} was not found; it may have been deleted.", "Nothing was changed.")
    if row["why"] or row["document"] is None:
        why = row["why"] or f"its text has {row['size']} bytes; unstick edits at most {DOCUMENT_BYTES}"
        raise NotEditableError(f"{action.title}: {why}.", "Nothing was changed.")
    try:
        text = row["document"] if isinstance(row["document"], str) else bytes(row["document"]).decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise NotEditableError(f"{action.title}: the stored bytes are not text.", "Nothing was changed.")
    successes, scope = await _successes(reader, action, node_id)
    return Document(id=node_id, text=text, digest=row["digest"], stored=row["stored"], successes=successes, scope=scope)


async def _row(reader: Reader, action: Action, node_id: str) -> Mapping[str, Any] | None:
    parts = reader.engine.actions[action.script]["document"]
    values = reader.variant.parameters(ids=[reader.local(node_id)], bytes=DOCUMENT_BYTES)
    async with reader.database.reading() as transaction:
        rows = [row for part in parts for row in await transaction.rows(part, values)]
    return next(iter(rows), None)


async def _successes(reader: Reader, action: Action, node_id: str) -> tuple[tuple[str, ...], str]:
    """Return texts of successful nodes, and which they are.

    An error costs only the comparison.
    """
    parts = reader.engine.actions[action.script].get("successes", ())
    values = reader.variant.parameters(ids=[reader.local(node_id)], bytes=SUCCESS_LIMIT, page=SUCCESSES)
    async with reader.database.reading() as transaction:
        answers = await attempted(transaction.batch([Query(part, values) for part in parts]))
    if isinstance(answers, DatabaseError):
        return (), f"the successes could not be read: {answers.line}"
    texts = (row["document"] for rows in answers for row in rows)
    found = (text if isinstance(text, str) else bytes(text).decode(errors="replace") for text in texts)
    return tuple(found), action.compared
