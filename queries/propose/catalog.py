"""A table as the catalog describes it, and the words of its status column.

Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from queries.contract.allowed_words import MOST_WORDS, allowed_words
from queries.contract.detect import NO_TABLE
from queries.contract.trust import Trust
from queries.db.database import Database
from queries.db.errors import DatabaseError, SlowError, attempting
from queries.db.query import Query, Rows, statement
from queries.files.statement import parse_statement, sql_text
from queries.records.record import Record
from queries.text.json_text import decoded
from queries.text.psql_text import bound, literal, quoted_name, sql_name

FOLDER = Path(__file__).parent / "sql"
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000}  # of a number that is a time
FIRST, LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2010, 2040))  # times that a row may have
_LISTS = ("columns", "keys", "parents", "triggers", "checks", "beside")  # columns of the answer in JSON


class NoProposalError(DatabaseError):
    """No engine can be proposed for a table. str() is the reason."""


class Column(Record):
    """A column with its base type.

    ``unit``: of a number that is a time, as its rows say; "no" if it is none. ``default``: the expression, or "".
    ``refers``: it is part of a foreign key. ``checks``: the CHECK constraints on it alone.
    """

    name: str
    type: str
    schema: str
    enum: bool
    labels: tuple[str, ...]
    required: bool
    default: str
    refers: bool
    generated: bool
    checks: tuple[str, ...]
    unit: str = ""

    @property
    def form(self) -> str:
        """The name of how it stores a time."""
        return f"{self.type}_{self.unit}" if self.unit and self.type != "int4" else self.type

    @property
    def is_time(self) -> bool:
        """True if its values are times."""
        return self.builtin and (self.type in ("timestamptz", "timestamp") or self.unit not in ("", "no"))

    @property
    def sql(self) -> str:
        """The name as SQL."""
        return sql_name(self.name)

    @property
    def sql_type(self) -> str:
        """The name of the type as SQL."""
        return self.type if self.builtin else f"{quoted_name(self.schema)}.{quoted_name(self.type)}"

    @property
    def builtin(self) -> bool:
        """True if every server has its type."""
        return self.schema == "pg_catalog"

    @property
    def words(self) -> tuple[str, ...]:
        """Words or numbers that an enum type or a CHECK constraint allows, or none."""
        return self.labels or allowed_words(self.checks, number=self.number)

    @property
    def number(self) -> bool:
        """True if its values are whole numbers."""
        return self.builtin and self.type in ("int2", "int4", "int8")


class Trigger(Record):
    """A trigger. ``notifies``: its function seems to use NOTIFY."""

    name: str
    function: str
    notifies: bool


class Beside(Record):
    """Another table.

    ``refers``: columns that refer to it. ``referred``: it refers to the proposed table.
    """

    name: str
    refers: str
    referred: bool


class Table(Record):
    """A table.

    ``keys``: columns of unique indexes that allow no NULL, the primary key first. ``parents``: columns that refer to a
    column of the table itself. ``checks``: constraints on several columns. ``beside``: tables of its foreign keys and
    of its schema. ``more``: number of others.
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    kind: str = "r"
    readable: bool = True
    policies: bool = False
    keys: tuple[tuple[str, ...], ...] = ()
    parents: tuple[tuple[str, str], ...] = ()
    triggers: tuple[Trigger, ...] = ()
    beside: tuple[Beside, ...] = ()
    more: int = 0
    checks: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return next(each for each in self.columns if each.name == name)


async def read_table(database: Database, name: str, schema: str = "", trusted: Sequence[str] = ()) -> Table:
    """Read the description of the table that an operator names. Raises DatabaseError.

    ``schema``: the one to use if several have such a table. ``trusted``: roles whose objects may be read.
    """
    (table,) = await read_tables(database, [name], trusted, schema)
    if isinstance(table, NoProposalError):
        raise table
    return table


async def read_tables(
    database: Database, every: Sequence[str], trusted: Sequence[str] = (), schema: str = ""
) -> list[Table | NoProposalError]:
    """Read the descriptions of tables by their names, or why they cannot be read.

    Raises DatabaseError.
    """
    query = parse_statement(sql_text(FOLDER / "table.sql"))
    answers = await database.batch([Query(query, {"query": name}) for name in every])
    tables = [
        msgspec.convert([{**row, **{name: decoded(row[name]) for name in _LISTS}} for row in rows], list[Table])
        for rows in answers
    ]
    there = sorted({table.name for some in tables for table in some})
    trust = await _trust(database, there, trusted)
    return [_one(name, some, schema, trust) for name, some in zip(every, tables, strict=True)]


async def _trust(database: Database, tables: Sequence[str], trusted: Sequence[str]) -> Trust:
    values = {"query": [*tables], "args": {"functions": [], "trusted": [*trusted]}}
    return Trust((await database.batch([Query(statement("code"), values)]))[0] if tables else ())


async def read_statements(database: Database, table: Table, trusted: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Read statements that lock rows of a table, each with where it was found.

    Those of sessions have their values. What this role may not read is omitted. Raises an error of NO_CONNECTION only.
    """
    found: list[tuple[str, str]] = []
    name = "pg_stat_statements"
    with attempting():
        (rows,) = await database.batch(
            [Query(parse_statement(sql_text(FOLDER / "sessions.sql")), {"query": table.name})]
        )
        found = [(row["source"], row["text"]) for row in rows if row["text"] is not None]
        for schema in (row["source"] for row in rows if row["text"] is None):
            if not (await _trust(database, [name], trusted)).unreadable(schema, [name]):
                sql = sql_text(FOLDER / "statements.sql")
                query = parse_statement(msgspec.structs.replace(sql, text=bound(sql.text, {"schema": schema})))
                (rows,) = await database.batch([Query(query, {"query": table.name})])
                found += [(row["source"], row["text"]) for row in rows]
    return found


def _one(name: str, tables: Sequence[Table], schema: str, trust: Trust) -> Table | NoProposalError:
    """Return the one table of that name, or why it cannot be read."""
    matches = [table for table in tables if schema in ("", table.schema)]
    if len(matches) != 1:
        where = ", ".join(each.schema for each in matches)
        why = f"Several schemas have such a table: {where}. Choose one with --schema." if matches else ""
        return NoProposalError(f"There is no one table {name}.", why or "No schema that this role sees has it.")
    table = matches[0]
    if table.kind in NO_TABLE:
        what = NO_TABLE[table.kind]
        return NoProposalError(f"{name} is {what}, not a table.", "Its rows cannot be locked and have no version.")
    if why := trust.unreadable(table.schema, [table.name]):
        return NoProposalError(f"The table {name} is not read.", f"{why}.")
    if not table.readable:
        return NoProposalError(f"This role may not read the table {name}.", "It needs USAGE and SELECT.")
    return table


async def read_words(
    database: Database, table: Table, word: str, facts: Sequence[str], rows: int
) -> list[tuple[str | None, int, list[float]]]:
    """Read the words of a column in the newest rows.

    With each come the number of its rows, and the shares of them for which ``facts`` are true, both as SQL. Return none
    if there are too many words or it takes too long. Raises DatabaseError.
    """
    numbers = range(len(facts))
    raw = {
        "word": word,
        "facts": ", ".join(f"({fact})::int AS f{n}" for n, fact in zip(numbers, facts, strict=True)) or "1 AS f",
        "shares": ", ".join(f"avg(s.f{n})" for n in numbers),
        "limit": str(MOST_WORDS + 2),
    }
    found = await _newest(database, table, "words", rows, raw)
    words = [(row["word"], row["n"], row["shares"]) for row in found]
    return words if sum(word is not None for word, _, _ in words) <= MOST_WORDS else []


async def with_units(database: Database, table: Table, rows: int) -> Table:
    """Return a table with the units of numbers whose values are all plausible times."""
    columns = [each for each in table.columns if each.builtin and each.type in ("int4", "int8", "float8", "numeric")]
    checks = ["> 0", *(f"BETWEEN {FIRST * factor} AND {LAST * factor}" for factor in UNITS.values())]
    facts = [f"coalesce({column.sql} {check}, false)" for column in columns for check in checks]
    found = await read_words(database, table, "'all'", facts, rows) if columns else []
    units = dict[str, str]()
    for n, column in enumerate(columns if found else ()):
        some, *within = found[0][2][n * len(checks) :][: len(checks)]
        unit = next((unit for unit, share in zip(UNITS, within, strict=True) if share == some), "no")
        units[column.name] = unit if some else ""
    every = (msgspec.structs.replace(each, unit=units.get(each.name, "")) for each in table.columns)
    return msgspec.structs.replace(table, columns=tuple(every))


async def read_alike(
    database: Database, table: Table, group: str, columns: Sequence[Column], rows: int
) -> dict[tuple[str, str], dict[str | None, float]]:
    """Read values that many of the newest rows have.

    ``group``: SQL of the name of a row's group, or NULL. Raises DatabaseError.
    """
    raw = {
        "group": group,
        "values": ", ".join(f"{column.sql}::text AS v{n}" for n, column in enumerate(columns)),
        "names": ", ".join(literal(column.name) for column in columns),
        "texts": ", ".join(f"s.v{n}" for n in range(len(columns))),
    }
    alike: dict[tuple[str, str], dict[str | None, float]] = {}
    for row in await _newest(database, table, "alike", rows, raw) if columns else ():
        alike.setdefault((row["name"], row["part"]), {})[row["value"]] = row["share"]
    return alike


async def _newest(database: Database, table: Table, name: str, rows: int, raw: Mapping[str, str]) -> Rows:
    """Read the newest rows of a table with a statement; none if it takes too long."""
    key = table.keys[0] if table.keys else ()
    order = ", ".join(f"t.{sql_name(name)} DESC" for name in key) or "1"
    sql = sql_text(FOLDER / f"{name}.sql")
    text = bound(sql.text, {"schema": table.schema, "table": table.name, "order": order, "rows": str(rows), **raw})
    try:
        async with database.reading() as transaction:
            return await transaction.rows(parse_statement(msgspec.structs.replace(sql, text=text)), {})
    except SlowError:
        return ()
