"""Images of rows as the audit log keeps them: what the undo of an action restores.

An image has columns as text, so that a cast restores them; JSON would lose key order, duplicate keys and the difference
between SQL NULL and JSON null. An action says which columns it overwrites. A changed row's image has these, a deleted
row's image all columns. The other columns are compared by a digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from queries.records.record import Record

_UNREAD = re.compile(r"[1-9][0-9]{6,} [0-9a-f]{32}")  # size and digest, which bulks of version 0.2.0 kept as the value


class RowImage(Record, gc=False, array_like=True):
    """Image of one row, changed for the node with the local id ``id``.

    ``key``: its primary key. ``before``: the overwritten columns, or all columns of a deleted row; None: inserted.
    ``after``: digest of the row afterwards; None: deleted. ``xmin``: transaction that wrote the row as it was
    afterwards, which may be a subtransaction.
    """

    id: str
    key: tuple[str | None, ...]
    before: dict[str, str | None] | None
    after: str | None
    xmin: str | None


class TableImages(Record):
    """Images of rows of one table.

    ``key``: the columns of its primary key. ``columns``: those that were read. ``others``: the other columns.
    """

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    others: tuple[str, ...]
    rows: tuple[RowImage, ...]


class Images(Record):
    """Images of the rows that one transaction changed.

    ``incomplete``: by local id of a node, why its changes cannot be undone.
    """

    tables: tuple[TableImages, ...] = ()
    incomplete: dict[str, str] = {}

    def without(self, nodes: Iterable[str], why: str) -> Images:
        """Return the images with no rows of these nodes, if there is a reason."""
        if not why:
            return self
        incomplete = {**dict.fromkeys(nodes, why), **self.incomplete}
        tables = (
            msgspec.structs.replace(t, rows=tuple(row for row in t.rows if row.id not in incomplete))
            for t in self.tables
        )
        return Images(tables=tuple(tables), incomplete=incomplete)


class StoredImages(Record):
    """Images as an entry keeps them, and what the server recorded of the entry.

    ``role``: the role that wrote the entry. ``intact``: entry and images have the hashes with which they were written.
    ``others``: the rows of other tables that were written, in words.
    """

    role: str
    engine: str
    schema: str
    images: Images
    intact: bool
    others: str = ""

    @classmethod
    def of(cls, entry: Mapping[str, Any], text: str | bytes, *, intact: bool) -> StoredImages:
        """Decode images of an entry. Images that cannot be decoded are not intact.

        Nodes are incomplete if a value is the size and digest of a larger one.
        """
        try:
            images = msgspec.json.decode(text, type=Images)
        except (msgspec.MsgspecError, RecursionError):
            images, intact = Images(), False
        rows = [row for table in images.tables for row in table.rows]
        unread = [row.id for row in rows if any(_UNREAD.fullmatch(text or "") for text in (row.before or {}).values())]
        images = images.without(unread, "a value is too large" if unread else "")
        own = {name: entry[name] for name in ("role", "engine", "schema", "others")}
        return cls(**own, images=images, intact=intact)
