"""Tables of work that no folder describes, as engines that change nothing.

Candidates come from the catalog. Of each, some of the newest rows are looked at. What is read is the proposal of
`unstick engine new`, in memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.folder import Folder
from queries.contract.loader import parsed
from queries.contract.outside import BrokenFolder
from queries.db.database import Database
from queries.db.errors import NO_CONNECTION, DatabaseError, attempted
from queries.db.query import Query, Rows
from queries.files.statement import parse_statement, sql_text
from queries.propose.catalog import FOLDER, Column, NoProposalError, Table, read_tables
from queries.propose.files import reading
from queries.propose.proposal import Proposal, engine_name, may_be_time, names, plain, plain_name, propose, roles_of
from queries.records.node import Phase
from queries.text import shell
from queries.text.json_text import decoded
from queries.text.psql_text import quoted_name
from queries.text.safe_text import safe_text

TABLES_SAMPLED = 20  # whose rows are looked at
ROWS_SAMPLED = 5_000  # of one of them
MARKS = 4  # of work; the rows of a table with one less are looked at
PEOPLE_COLUMNS = 3  # columns of people's work that count
ASIDE = 2  # marks that a table beside work loses, or one if it has more than enough
WORKERS = {"owner", "lease", "heartbeat", "is_taken"}  # roles of columns that only a worker has
UNPROVEN = "{table} is read as a guess, and nothing of it is changed. To change rows: `{command}`"


async def guesses(
    database: Database,
    rows: Rows,
    known: Collection[str],
    taken: Collection[str],
    trusted: Sequence[str] = (),
    before: Sequence[Engine] = (),
) -> tuple[tuple[Engine, ...], tuple[BrokenFolder, ...]]:
    """Return an engine for each table that holds work, and those that cannot be used.

    ``rows``: of ``work_tables.sql``. ``known``: tables that are not looked at, with their schemas; ``schema.*`` is all
    of a schema. ``taken``: names of engines. ``trusted``: roles whose objects may be read. ``before``: guesses
    until now: those stay that say the same, or cannot be read now. Raises an error of NO_CONNECTION only.
    """
    earlier = {engine.of_table: engine for engine in before}
    if not (estimates := _candidates(rows, known)):
        return (), ()
    wanted = [f"{quoted_name(schema)}.{quoted_name(table)}" for schema, table in estimates]
    every = await attempted(read_tables(database, wanted, trusted))
    if isinstance(every, DatabaseError):
        why = f"tables that may hold work were not read: {every.line}"
        return tuple(before), (BrokenFolder(name="guess", why=why),)
    engines: list[Engine] = []
    broken: list[BrokenFolder] = []
    used = {*taken}
    for table in every:
        if isinstance(table, NoProposalError):
            continue
        name = engine_name(table.name)
        if name in used:
            name = engine_name(f"{table.schema}_{table.name}")
        used.add(name)
        try:
            proposal = await propose(database, table, name, ROWS_SAMPLED)
            if worth(table, proposal) >= MARKS:
                engine = _engine(proposal, estimates[table.schema, table.name])
                same = earlier.get(engine.of_table, engine)
                engines.append(same if (same.name, same.spec) == (name, engine.spec) else engine)
        except NO_CONNECTION:
            raise
        except NoProposalError:
            continue
        except (DatabaseError, BrokenEngineError) as error:
            faults = [error.line] if isinstance(error, DatabaseError) else [fault.message for fault in error.faults]
            why = f"a guess of the table {table.schema}.{table.name}: {'; '.join(faults)}"
            broken.append(BrokenFolder(name=name, why=safe_text(why)))
            engines += [old] if (old := earlier.get(f"{table.schema}.{table.name}")) else []
    return tuple(engines), tuple(broken)


async def tables(database: Database) -> tuple[int, str]:
    """Return the number of tables, and other databases. Raises DatabaseError."""
    (rows,) = await database.batch([Query(parse_statement(sql_text(FOLDER / "tables.sql")))])
    return int(rows[0]["n"]), rows[0]["others"] or ""


def _candidates(rows: Rows, known: Collection[str]) -> dict[tuple[str, str], int]:
    """Return the estimated numbers of rows of the likeliest tables."""
    marked = []
    for row in rows:
        if f"{row['schema']}.{row['name']}" in known or f"{row['schema']}.*" in known:
            continue
        every = msgspec.convert(decoded(row["columns"]), tuple[Column, ...])
        columns = tuple(msgspec.structs.replace(each, unit="s") if may_be_time(each) else each for each in every)
        table = Table(schema=row["schema"], name=row["name"], columns=columns)
        if (number := worth(table)) >= MARKS - 1:
            marked.append((-number, row["schema"], row["name"], row["tuples"]))
    return {(schema, name): tuples for _, schema, name, tuples in sorted(marked)[:TABLES_SAMPLED]}


def marks(roles: Mapping[str, Column]) -> dict[str, list[str]]:
    """Return the marks of work, with the columns that have them."""
    there = {mark: [roles[role].name for role in wanted if role in roles] for mark, wanted in names().marks.items()}
    return {mark: columns for mark, columns in there.items() if columns}


def worth(table: Table, proposal: Proposal | None = None) -> int:
    """Return the number of marks of work, without those of people's work.

    ``proposal``: what the rows of the table say, too. The name of the table is a weak mark, and so is a worker beside
    the time when a row is due; statuses that only machines have are two.
    """
    roles = roles_of(table) if proposal is None else proposal.roles
    there = marks(roles)
    states = proposal.states if proposal is not None else ()
    machine = [state for state in states if plain(state.word) in names().machines]
    failures = "failed" in roles and roles["failed"].required
    if any(column.required and plain_name(column.name) == "archived_at" for column in table.columns):
        return 0
    if not (
        there.keys() & {"due", "tries"} or roles.keys() & WORKERS or failures or (len(machine) > 1 and "data" in there)
    ):
        named = bool(re.fullmatch(names().work, plain_name(table.name)))
        return len(there) + named if proposal is None and "states" in there else 0
    runs = there.keys() & {"tries", "data", "error", "end"}  # what people take and plan has none
    total = len(there) + bool((runs or "is_taken" in roles) and "due" in there and len(there.get("holding", ())) > 1)
    if proposal is not None and "states" in there:
        busy = any(state.phase is Phase.RUNNING for state in machine)
        by_rows = any(state.guessed and state.phase is Phase.RUNNING for state in states)
        total += 1 if len(machine) > 1 and busy else 0 if machine or by_rows else -1
    name = plain_name(table.name)
    total += bool(re.fullmatch(names().work, name))
    if re.fullmatch(names().aside, name):
        total -= ASIDE if total <= MARKS else 1
    return total - _people(table, [state.word for state in states])


def _people(table: Table, words: Sequence[str]) -> int:
    """Return how many columns and statuses of people's work count; one does not."""
    columns = sum(bool(re.fullmatch(names().people, plain_name(column.name))) for column in table.columns)
    number = columns + sum(plain(word) in names().people_words for word in words)
    return min(number, PEOPLE_COLUMNS) if number > 1 else 0


def why_no_work(table: Table) -> str:
    """Return why a table does not look like work, or ""."""
    roles = roles_of(table)
    missing = [mark for mark in names().marks if mark not in marks(roles)]
    people = [column.name for column in table.columns if re.fullmatch(names().people, plain_name(column.name))]
    if worth(table) >= MARKS - 1 or not missing:
        return ""
    none = "nothing in it says that a worker takes its rows"
    has = f"it has {', '.join(people[:PEOPLE_COLUMNS])}" if people else none
    return f"{safe_text(table.name)} does not look like work: {safe_text(has)}, and no column for {', '.join(missing)}."


def _engine(proposal: Proposal, rows: int) -> Engine:
    table = proposal.table
    folder = Folder(name=proposal.name, path="guess", files=reading(proposal))
    name = safe_text(f"{table.schema}.{table.name}")
    return msgspec.structs.replace(
        parsed(folder),
        only_in=table.schema,
        guess=" ".join(_said(proposal, name, rows)),
        unproven=UNPROVEN.format(table=name, command=shell.unstick(("engine", "new", name))),
    )


def _said(proposal: Proposal, name: str, rows: int) -> Iterator[str]:
    of = "; ".join(f"{mark}: {', '.join(columns)}" for mark, columns in marks(proposal.roles).items())
    looked = f"All {proposal.rows:,}" if proposal.rows < ROWS_SAMPLED else f"{proposal.rows:,} of about {rows:,}"
    yield f"A guess, only read: {name} looks like work ({safe_text(of)}). {looked} rows were looked at."
    if guessed := [f"{safe_text(state.word)} = {state.phase}" for state in proposal.states if state.guessed]:
        yield f"Guessed: {', '.join(guessed)}."
    if doubts := [safe_text(state.word) for state in proposal.states if state.doubt]:
        yield f"Words and rows disagree about {', '.join(doubts)}."
