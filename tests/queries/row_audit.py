"""Compare what an action's entry claims with every row that the server changed.

Triggers on every table of a schema note each change of a row. What an action's entry says must be the same rows, each
changed in the same way: no row more, no row less, no deletion that was an update.

    async with RowAudit.over(connection, "public") as audit:
        outcomes = await do(workspace, "delete", [task], ...)
        await audit.check(outcomes)

Works for every engine whose images name tables by their names and rows by their primary key. Where an image's key is
spelled otherwise, give ``key`` (table name and row to key).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import asyncpg

from queries.records.action import Change, RowChange

Row = Mapping[str, Any]
Key = Callable[[str, Row], str]
Claim = dict[tuple[str, str], tuple[Any, Any]]  # by table and key: the row before and after, None where there is none

SETUP = """
CREATE SCHEMA row_audit;
CREATE TABLE row_audit.seen (n bigserial, place text, old jsonb, new jsonb);
CREATE FUNCTION row_audit.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO row_audit.seen (place, old, new)
  VALUES (TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
          CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
  RETURN NULL;
END
$$;
"""
TABLES = """
SELECT c.oid::regclass::text AS name, n.nspname || '.' || c.relname AS place,
       ARRAY(SELECT a.attname::text
               FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
              WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)) AS key
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = ANY ($1::text[]) AND c.relkind = 'r'
 ORDER BY 1
"""


class RowAudit:
    """Changes that the triggers recorded since the last check."""

    def __init__(self, connection: asyncpg.Connection[Any], keys: Mapping[str, list[str]], key: Key | None) -> None:
        self._connection = connection
        self._keys = keys
        self._key = key or self._primary_key

    @classmethod
    @contextlib.asynccontextmanager
    async def over(
        cls, connection: asyncpg.Connection[Any], *schemas: str, key: Key | None = None
    ) -> AsyncIterator[RowAudit]:
        """Watch every table of these schemas until the block ends."""
        tables = await connection.fetch(TABLES, list(schemas))
        await connection.execute(SETUP)
        for table in tables:
            await connection.execute(
                f"CREATE TRIGGER zz_row_audit AFTER INSERT OR UPDATE OR DELETE ON {table['name']}"
                " FOR EACH ROW EXECUTE FUNCTION row_audit.note()"
            )
        try:
            yield cls(connection, {table["place"]: list(table["key"]) for table in tables}, key)
        finally:
            await connection.execute("DROP SCHEMA row_audit CASCADE")

    async def made(self) -> Claim:
        """Return the net change of each row since the last call."""
        net: Claim = {}
        seen = await self._connection.fetch(
            "WITH gone AS (DELETE FROM row_audit.seen RETURNING *) SELECT * FROM gone ORDER BY n"
        )
        for row in seen:
            old, new = (None if row[c] is None else json.loads(row[c]) for c in ("old", "new"))
            place = _table(row["place"]), self._key(row["place"], new or old or {})
            first = net[place][0] if place in net else old
            net[place] = (first, new)
        return {place: (old, new) for place, (old, new) in net.items() if old != new}

    async def check(self, outcomes: Change) -> Claim:
        """Assert that an entry claims what was done. Return what was done."""
        made, claimed = await self.made(), _claims(outcomes.changes)
        assert {p: _kind(*c) for p, c in claimed.items()} == {p: _kind(*c) for p, c in made.items()}
        for place, (before, after) in claimed.items():
            old, new = made[place]
            if before is None or after is None or old is None or new is None:
                continue
            columns = set(before) & set(old)
            shown = {c for c in columns if before[c] != after.get(c)}
            done = {c for c in columns if old[c] != new[c]}
            assert shown == done, f"{place}: the entry shows {sorted(shown)}, the server changed {sorted(done)}"
        return made

    def _primary_key(self, place: str, row: Row) -> str:
        return "/".join(str(row[column]) for column in self._keys[place])


def _claims(changes: Iterable[RowChange]) -> Claim:
    """Rows by table and key; what several nodes have in common is one row."""
    read = (change.read() for change in changes)
    return {(_table(c.table), c.key): (c.before, c.after) for c in read}


def _table(name: str) -> str:
    return name.rpartition(".")[2].strip('"')


def _kind(before: Any, after: Any) -> str:
    return "inserted" if before is None else "deleted" if after is None else "updated"
