"""Measure the cost of the console's statements: run each again under EXPLAIN.

    with recorded() as plans:
        await reader.pages.roots()
    plans["roots"]  # or, of a call that runs several: "findings starved"

The statements are those of the reader itself, with the parameters that it sends, in its own transaction.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import msgspec

from queries.check.explain import explained
from queries.check.plans import multiply
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.contract.spec import Action
from queries.db.query import Query, RowsOrError
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.read import changes, details, documents, search
from queries.read.blockers import blockers
from queries.read.reader import Reader
from tests.servers import FOLDERS

FILLS = Path(__file__).parent / "large"
LARGE = 100  # blocks; what is smaller by the engine's nature may be read whole
SCANS = {"Seq Scan", "Parallel Seq Scan"}
# Rows with which the largest table of an engine is a block or two smaller than a large one
ALMOST = {
    "agent_jobs": 66_400, "estuary": 82_200, "eternaltwin": 35_800, "graphile_worker": 65_400, "oban": 38_600,
    "pgqueuer": 69_600, "procrastinate": 86_600, "solid_queue": 37_800, "tasker": 18_800, "uni2work": 62_300,
}  # fmt: skip
ONE_READ = 1280  # blocks of such a table and of an index in whose order it is read
REFRESH = 10_000  # blocks, and more only where each of many findings reads a table once, or 5,000 rows by an index
REFRESHES = {
    "agent_jobs": 38_000, "estuary": 16_000, "eternaltwin": 29_000, "graphile_worker": 74_000, "oban": 12_000,
    "pgqueuer": 22_000, "procrastinate": 73_000, "solid_queue": 36_000, "tasker": 17_500, "uni2work": 11_000,
}  # fmt: skip
PLAIN = """
    SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS ddl
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence = 'p' AND NOT i.indisunique
       AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
"""  # indexes that no constraint is made of


class Cost(NamedTuple):
    """Cost of a statement: shared buffers, rows of all plan nodes, sequential scans.

    ``compared``: rows that joins compared in vain.
    """

    buffers: int
    rows: int
    scanned: frozenset[str]
    compared: int
    plan: Mapping[str, Any]

    @property
    def work(self) -> int:
        """Return blocks plus rows: one plan reads fewer rows, another fewer blocks."""
        return self.buffers + self.rows


Costs = dict[str, Cost]


async def fill(dsn: str, engine: str, rows: int, live: int | None = None) -> None:
    """Fill an engine's tables with rows, by SQL on the server.

    The first ``live`` rows are unfinished. Without a script for the engine, its fixture is multiplied.
    """
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"SET large.rows = {rows}; SET large.live = {rows if live is None else live}")
        await connection.execute("SET work_mem = '64MB'; SET maintenance_work_mem = '1GB'")
        indexes = await connection.fetch(PLAIN)
        for index in indexes:  # creating them afterwards costs a fraction of updating them for each row
            await connection.execute(f"DROP INDEX {index['name']}")
        await connection.execute(_script(engine, rows), timeout=7200)
        for index in indexes:
            await connection.execute(index["ddl"], timeout=3600)
        # Rows that are counted after the VACUUM would make the table look as large as if they were new.
        await connection.execute("SELECT pg_stat_force_next_flush()")
        await connection.execute("VACUUM (ANALYZE)", timeout=3600)
    finally:
        await connection.close()


def _script(engine: str, rows: int) -> str:
    if (FILLS / f"{engine}.sql").is_file():
        return (FILLS / f"{engine}.sql").read_text("utf-8")
    found = next(each for each in builtin() if each.name == engine)
    multiplied = multiply(found, "public", found.spec.recognise.relations, rows)
    return f"{(FOLDERS / engine / 'fixture.sql').read_text('utf-8')};{multiplied}"


async def index(dsn: str, engine: Engine) -> None:
    """Create every index that the engine's needs propose."""
    connection = await asyncpg.connect(dsn)
    try:
        for ddl in sorted({need.ddl for need in engine.spec.needs.values() if need.ddl}):
            with contextlib.suppress(asyncpg.DuplicateTableError):  # some are the engine's own
                await connection.execute(ddl, timeout=3600)
        await connection.execute("ANALYZE", timeout=3600)
    finally:
        await connection.close()


@contextlib.contextmanager
def recorded(large: Collection[str] = ()) -> Iterator[Costs]:
    """Explain every statement in the body; keep the most expensive of equal ones.

    A scan counts as one where it is of one of the tables that are ``large``.
    """
    costs: Costs = {}
    real = Transaction.each

    async def each(self: Transaction, queries: Sequence[Query], *more: Any) -> list[RowsOrError]:
        for query in queries:
            defaults = self.settings.defaults
            if query.in_order is not None:
                self.settings.defaults = msgspec.structs.replace(defaults, in_order=query.in_order)
            Transaction.each = real  # type: ignore[method-assign]
            custom = query.custom or query.statement.custom
            statement = msgspec.structs.replace(query.statement, custom=custom)
            plan = await explained(self, statement, query.values)
            Transaction.each = each  # type: ignore[method-assign]
            self.settings.defaults = defaults
            cost = _cost(plan, large)
            name = _name(query.statement)
            costs[name] = max(cost, costs.get(name, cost), key=lambda c: c.buffers)
        return await real(self, queries, *more)

    Transaction.each = each  # type: ignore[method-assign]
    try:
        yield costs
    finally:
        Transaction.each = real  # type: ignore[method-assign]


async def automatic(reader: Reader, far: int) -> Costs:
    """Return the cost of each automatic read. ``far`` is the middle of a list."""
    costs: Costs = {}
    large = {name for name, relation in reader.detected.relations.items() if relation.blocks > LARGE}

    async def note(name: str, calling: Any) -> Any:
        with recorded(large) as seen:
            result = await calling
        for statement, cost in seen.items():
            if statement != "now":
                costs[name if name == statement else f"{name} [{statement}]"] = cost
        return result

    await note("options", reader.variant.recognise())
    nodes = []
    for which in ("roots", "live"):
        cursors = await _cursors(reader, which, far)
        for place, cursor in cursors.items():
            page = await note(f"{which} {place}", getattr(reader.pages, which)(cursor))
            nodes += page.nodes
    kinds: dict[str, list[str]] = {}
    left = [node.id for node in reversed(nodes)]  # from the top of the first list down: the same ones on every table
    while left:
        id_ = left.pop()
        kind = reader.ids.local(id_).partition(":")[0]
        known = kinds.setdefault(kind, [])
        if id_ in known or len(known) == 50:
            continue
        known.append(id_)
        below = next(k.children for k in reader.engine.spec.kinds if k.name == kind)
        if below and reader.variant.select("children", kind=kind):
            cursors = await _cursors(reader, "children", far, reader.ids.local(id_))
            for place, cursor in cursors.items():
                page = await note(f"children of {kind} {place}", reader.pages.children(id_, cursor))
                left += [node.id for node in reversed(page.nodes)]
    dead_letters = await note("dead first", reader.pages.dead())
    await note("dead next", reader.pages.dead(dead_letters.cursor))
    await note("dead by id", reader.pages.dead(ids=[x.node.id for x in dead_letters.dead_letters[:5]]))
    await note("moved by id", reader.nodes.moved([x.node.job_id or x.node.id for x in dead_letters.dead_letters[:50]]))
    await _changes(reader, note)
    await note("counts", reader.nodes.counts())
    findings = await note("findings", reader.findings.read())
    failed = [each.why for each in findings.skipped_findings if each.failed]
    assert not failed, f"these broke off: {failed}"
    await note("sample", reader.samples.take())
    for kind, ids in kinds.items():
        await note(f"{len(ids)} {kind}s", reader.nodes.read(ids))
        await note(f"rows of {kind}s", blockers(reader.database, {reader.label: reader}, ids))
        await note(f"findings of {kind}s", reader.findings.read(ids))
        await note(f"detail of a {kind}", details.read(reader, ids[0]))
        for text in (ids[0], reader.ids.local(ids[0]).partition(":")[2][:1]):
            await note(f"find {'the beginning' if len(text) == 1 else 'the id'} of a {kind}", search.find(reader, text))
    await _texts(reader, kinds, note)
    await note("search for much", search.find_texts(reader, "a"))
    await note("search for nothing", search.find_texts(reader, "no such text"))
    return costs


async def refresh(reader: Reader) -> Costs:
    """Return the cost of the statements of a refresh: list, counts, findings, samples."""
    costs: Costs = {}
    readings = (reader.pages.roots, reader.nodes.counts, reader.findings.read, reader.samples.take)
    for reading in readings:
        with recorded(reader.detected.relations) as seen:
            await reading()
        costs |= {f"{reading.__qualname__} [{name}]": cost for name, cost in seen.items()}
    return costs


async def _texts(
    reader: Reader, kinds: Mapping[str, Sequence[str]], note: Callable[[str, Any], Awaitable[Any]]
) -> None:
    """Note the cost of reading a text to edit, with those that it is compared with.

    These may be the nearest by id. A node near the first id of a small table has few of them before it.
    """
    for kind, ids in kinds.items():
        middle = sorted(ids)[len(ids) // 2]
        for action in reader.engine.actions_of(kind):
            if action.writes and action.document is not None:
                await note(f"text of a {kind}", _text(reader, action, middle))


async def _text(reader: Reader, action: Action, node: str) -> None:
    """Run the statements that read a text, whether the node lets it be edited or not."""
    sections = reader.engine.actions[action.script]
    values = reader.variant.parameters(
        ids=[reader.ids.local(node)], bytes=documents.DOCUMENT_BYTES, limit=documents.SUCCESSES_READ
    )
    async with reader.database.reading() as transaction:
        for part in (*sections["document"], *sections.get("successes", ())):
            await transaction.rows(part, values)


async def _changes(reader: Reader, note: Callable[[str, Any], Awaitable[Any]]) -> None:
    """Note the cost of two pages of changes, of all time and of the last minutes."""
    async with reader.database.reading() as transaction:
        now = await transaction.now()
    for name, since in (("all", 0.0), ("late", now - 600)):
        found, _ = await note(f"changes, {name}, first", changes.read(reader, since, {}, 101))
        await note(f"changes, {name}, next", changes.read(reader, since, {x.part: x.place for x in found}, 101))


async def _cursors(reader: Reader, which: str, far: int, parent: str = "") -> dict[str, str | None]:
    """Return cursors at the start of a list, at ``far`` and at twice ``far``."""
    chosen = reader.variant.select(which, kind=parent.partition(":")[0])
    assert chosen is not None
    values = reader.variant.parameters(cursor=None, limit=2 * far, parent=parent)
    async with reader.database.reading(600, in_order=True) as transaction:
        rows = await transaction.rows(chosen, values)
    places: dict[str, str | None] = {"first": None}
    for name, place in (("middle", far), ("far", 2 * far)):
        if len(rows) >= place:
            kind = rows[place - 1]["id"].partition(":")[0]  # a page of one kind has no equal in one of another
            places[f"{name}, {kind}s"] = rows[place - 1]["cursor"]
    return places


def _name(statement: Statement) -> str:
    path = Path(statement.source)
    name = re.split(r"@", path.name.removesuffix(".sql"))[0]
    return f"{path.parent.name}/{name}" if path.parent.name in ("findings", "samples", "detail") else name


def _cost(explained: Mapping[str, Any], large: Collection[str]) -> Cost:
    top = explained["Plan"]
    found = list(nodes(top))
    return Cost(
        buffers=_blocks(top),
        rows=round(sum(_through(node) for node in found)),
        scanned=frozenset(n["Relation Name"] for n in found if _scans(n)).intersection(large),
        compared=round(sum(node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"] for node in found)),
        plan=top,
    )


def nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a plan's node and all its descendants."""
    yield node
    for part in node.get("Plans", ()):
        yield from nodes(part)


def reads(plan: Mapping[str, Any]) -> Iterator[tuple[str, int, float]]:
    """Yield each table that is read, its blocks, and how many the rows explain.

    That is four for each search in an index, and one for each row that is found.
    """
    for node in nodes(plan):
        if "Relation Name" in node:
            below = sum(_blocks(part) for part in node.get("Plans", ()) if not part["Node Type"].startswith("Bitmap"))
            by_rows = (4 + 1.2 * node["Actual Rows"]) * node["Actual Loops"]
            yield node["Relation Name"], _blocks(node) - below, by_rows


def _blocks(node: Mapping[str, Any]) -> int:
    return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])


def _scans(node: Mapping[str, Any]) -> bool:
    """Return True for a sequential scan that ran, as plans also have unused scans."""
    return bool(node["Node Type"] in SCANS and node["Actual Loops"] > 0)


def _through(node: Mapping[str, Any]) -> float:
    """Return the rows that a node returned or filtered, in all its loops."""
    each = sum(node.get(key, 0) for key in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter"))
    return float(each * node["Actual Loops"])
