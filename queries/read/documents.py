"""Stored texts that an action edits, and those of successful nodes of the kind.

The section ``document`` of the action's file returns one row for the node: ``document``, its JSON as text or bytes;
``digest`` of the stored value, which the section ``change`` compares; ``stored``, the type of the column; ``size`` in
bytes; ``why`` the text must not be edited, or NULL. A text of more than ``$bytes`` is NULL. The section ``successes``
returns ``document`` of at most ``$limit`` nodes that succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from queries.contract.spec import Action
from queries.db.errors import DatabaseError
from queries.db.query import Query, Row
from queries.db.reads import IN_STEP, lockstep, value_of
from queries.files.statement import Statement
from queries.read.reader import Reader
from queries.records.record import Record

DOCUMENT_BYTES = 256 * 1024  # bytes of a text; a comparison takes about a second
SUCCESSES_READ = 50
SUCCESS_BYTES = 64 * 1024  # bytes of the text of a success


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
    sections, ids = reader.engine.actions[action.script], [reader.ids.local(node_id)]
    reads = [
        _rows(reader, sections["document"], ids=ids, bytes=DOCUMENT_BYTES),
        _rows(reader, sections.get("successes", ()), ids=ids, bytes=SUCCESS_BYTES, limit=SUCCESSES_READ),
    ]
    async with reader.database.reading() as transaction:
        rows, successes = await lockstep(transaction, reads)
    row = next(iter(value_of(rows)), None)
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
    unread = f"the successes could not be read: {successes.line}" if isinstance(successes, DatabaseError) else ""
    texts = (each["document"] for each in (() if unread else successes))  # an error costs only the comparison
    return Document(
        id=node_id,
        text=text,
        digest=row["digest"],
        stored=row["stored"],
        successes=tuple(t if isinstance(t, str) else bytes(t).decode(errors="replace") for t in texts),
        scope=unread or next((part.title for part in sections.get("successes", ())), "none is kept, or none is read"),
    )


async def _rows(reader: Reader, parts: Iterable[Statement], **values: Any) -> list[Row]:
    answers = await IN_STEP.batch([Query(part, reader.variant.parameters(**values)) for part in parts])
    return list(chain.from_iterable(answers))
