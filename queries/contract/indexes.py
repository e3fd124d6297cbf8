"""Table, columns and predicate of an index, from the statement that creates it."""

from __future__ import annotations

import re

from queries.records.record import Record

_MADE = re.compile(
    r"(?:CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?:\S+ )?ON (?P<table>\S+) ?(?:USING btree ?)?"
    r"|ALTER TABLE (?P<altered>\S+) ADD (?:CONSTRAINT \S+ )?(?:PRIMARY KEY|UNIQUE) ?)"
    r"\((?P<columns>[^()]+)\)(?: INCLUDE ?\([^()]+\))?(?: WHERE (?P<where>.+))?",
    re.IGNORECASE,
)
_COLUMN = re.compile(r'"?(\w+)"?(?: (?:ASC|DESC))?(?: NULLS (?:FIRST|LAST))?', re.IGNORECASE)


class Index(Record):
    """A btree index. ``where`` is its predicate as written, or ""."""

    table: str
    columns: tuple[str, ...]
    where: str = ""


def index_of(ddl: str) -> Index | None:
    """Return the index that a statement creates, or None if that cannot be read.

    It is a CREATE INDEX on plain columns, or an ALTER TABLE that adds a key.
    """
    match = _MADE.fullmatch(" ".join(ddl.split()))
    columns = [_COLUMN.fullmatch(part.strip()) for part in match["columns"].split(",")] if match else []
    if match is None or None in columns:
        return None
    return Index(
        table=(match["table"] or match["altered"]).strip(':"'),
        columns=tuple(column[1] for column in columns if column),
        where=match["where"] or "",
    )
