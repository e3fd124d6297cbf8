"""Pages, ids, statuses, dead letters and findings of the rows of a database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

from queries.check.report import Notebook, first
from queries.check.scripts import query
from queries.contract.allowed_words import allowed_words
from queries.contract.id_forms import why_malformed
from queries.contract.rows import ENDED, TIMES, phases_of
from queries.contract.rules import evidence_names
from queries.db.errors import DatabaseError, attempted
from queries.files.statement import Statement
from queries.read import changes, details, search
from queries.read.blockers import blockers
from queries.read.reader import Reader
from queries.records.finding import Finding
from queries.records.node import Node, Page, Phase

NODES_LOOKED_AT = 400  # nodes that are looked at
ROWS_ALONE = 40  # rows that are read one by one
MANY_ROWS = 130  # rows of each table in a database that has more than the fixture: keys with one, two and three digits
PARENTS_READ = 20  # of each kind, whose children are read

INSTANTS = [name for name in TIMES if name.endswith("_at")]

Read = Callable[[str | None, int], Awaitable[Page]]


async def known_nodes(reader: Reader, most: int = NODES_LOOKED_AT) -> dict[str, Node]:
    """Return nodes of every kind.

    They are the tree's first levels, unfinished nodes, dead letters and nodes with findings. Raises DatabaseError.
    """
    nodes: dict[str, Node] = {}
    ahead = [*(await reader.pages.roots()).nodes, *(await reader.pages.live()).nodes]
    ahead += [each.node for each in (await reader.pages.dead()).dead_letters]
    ahead += (await reader.nodes.read({f.node_id for f in (await reader.findings.read()).findings})).nodes
    parents = reader.engine.spec.parents
    while ahead and len(nodes) < most:
        node = ahead.pop(0)
        if node.id not in nodes:
            nodes[node.id] = node
            if node.kind in parents:
                ahead += (await reader.pages.children(node.id, allow_scan=True)).nodes
    return nodes


async def check_nodes(reader: Reader, notes: Notebook) -> None:
    """Check what a tree shows: nodes, pages and children. Raises DatabaseError."""
    nodes = await known_nodes(reader)
    notes.number = len(nodes)
    await _check_rows(reader, nodes, notes)
    await _check_zone(reader, nodes, notes)
    await _check_declared(reader, notes)
    for which, read in (("roots", reader.pages.roots), ("live", reader.pages.live)):
        await _check_ids(reader, which, notes)
        await _check_pages(_of(reader, which), read, notes)
    await _check_children(reader, nodes, notes)
    await _check_lookups(reader, nodes, notes)


async def check_many_nodes(reader: Reader, notes: Notebook) -> None:
    """Check the pages of a database with more rows than a fixture.

    Raises DatabaseError.
    """
    nodes = await known_nodes(reader)
    for which, read in (("roots", reader.pages.roots), ("live", reader.pages.live)):
        await _check_pages(_of(reader, which), read, notes, few=MANY_ROWS)
    await _check_children(reader, nodes, notes, few=MANY_ROWS, most=3)


async def check_findings(reader: Reader, notes: Notebook) -> None:
    """Check findings, dead letters, samples, counts and changes. Raises DatabaseError."""
    for check in (_check_findings, _check_dead, _check_others):
        with notes.errors():
            await check(reader, notes)


async def check_many_findings(reader: Reader, notes: Notebook) -> None:
    """Check that findings of one node are those of no other, with many rows.

    Raises DatabaseError.
    """
    seen: set[str] = set()
    for finding in (await reader.findings.read()).findings:
        if finding.code not in seen:
            seen.add(finding.code)
            await _check_alone(reader, finding, notes)
    await _check_dead(reader, notes, few=MANY_ROWS)
    await _check_edges(reader, notes)


def _of(reader: Reader, name: str, kind: str = "") -> Statement | None:
    return reader.variant.select(name, kind=kind) or first(reader.engine.statements.get(name, ()))


async def _check_rows(reader: Reader, nodes: dict[str, Node], notes: Notebook) -> None:
    """Check each node by itself: kind, status, id and parent."""
    phases = phases_of(reader.engine.spec.statuses)
    again = {node.id: node for node in (await reader.nodes.read(nodes)).nodes}
    parents = {node.parent_id for node in nodes.values() if node.parent_id}
    there = {node.id for node in (await reader.nodes.read(parents)).nodes}
    for node in nodes.values():
        at, local = _of(reader, "nodes", node.kind), reader.ids.local(node.id)
        if reader.engine.kind(node.kind) is None:
            notes.fault(at, f"{local}: there is no node kind {node.kind!r}")
        elif local.partition(":")[0] != node.kind:
            notes.fault(at, f"{local}: its id must begin with {node.kind}:")
        elif why := why_malformed(reader.detected, node.kind, local.partition(":")[2]):
            notes.fault(at, f"{local}: {why}; commands refuse this id (`form` of the kind)")
        if node.id not in again:
            notes.fault(at, f"{local}: no row is returned for this id")
        if node.phase is Phase.UNKNOWN and not node.version:
            notes.fault(at, f"{local}: {node.error}")
        elif node.status is not None and phases and node.status not in phases:
            notes.fault(at, f"{local}: the status {node.status!r} is not declared")
        elif node.status is not None and phases and node.phase not in phases[node.status]:
            notes.fault(at, f"{local}: the status {node.status!r} is not declared with the phase {node.phase}")
        if node.phase in ENDED and node.due_at is not None:
            notes.fault(at, f"{local}: it is {node.phase} and has a due_at: no worker will take it")
        if node.parent_id and node.parent_id not in there:
            notes.fault(at, f"{local}: its parent {reader.ids.local(node.parent_id)} does not exist")


async def _check_ids(reader: Reader, which: str, notes: Notebook) -> None:
    """Check that ``nodes.sql`` has a row for each id that a statement returns."""
    at = reader.variant.select(which)
    if at is None:
        return
    async with reader.database.reading() as transaction:
        rows = await transaction.rows(at, reader.variant.parameters(cursor=None, limit=100))
    ids = [row["id"] for row in rows if row["id"] is not None]
    _check_once(at, ids, notes)
    there = {reader.ids.local(node.id) for node in (await reader.nodes.read(ids)).nodes}
    for local in ids:
        if local not in there:
            notes.fault(at, f"it returns {local!r}, for which nodes.sql has no row; an id is kind:key")


def _check_once(at: Statement, ids: Sequence[str], notes: Notebook) -> None:
    """Note ids that a statement returns twice."""
    for local in dict.fromkeys(local for local in ids if ids.count(local) > 1):
        notes.fault(at, f"it returns {local!r} {ids.count(local)} times: an id may be there once")


async def _check_zone(reader: Reader, nodes: dict[str, Node], notes: Notebook) -> None:
    """Read the nodes in two time zones: their times are moments, so they are the same.

    Also check that no id is returned twice.
    """
    local = [reader.ids.local(i) for i in nodes]
    for at in reader.engine.statements.get("nodes", ()):
        of_kind = [i for i in local if at.is_for(i.partition(":")[0])]
        if not of_kind or not at.needs <= reader.detected.met_needs:
            continue
        values = reader.variant.parameters(ids=of_kind, places=[])
        read = []
        for zone in ("UTC", "Asia/Kathmandu"):  # no whole hours
            async with reader.database.writing() as transaction:
                await transaction.control(f"SET LOCAL TimeZone = '{zone}'")
                read.append({row["id"]: row for row in await transaction.rows(at, values)})
                _check_once(at, [row["id"] for row in await transaction.rows(at, values)], notes)
        for id_, row in read[0].items():
            other = read[1].get(id_, row)
            moved = [name for name in INSTANTS if row.get(name) != other.get(name)]
            if moved:
                message = f"{id_}: {', '.join(moved)} depends on the time zone of the session: a cast loses the zone"
                notes.fault(at, message)
                break


async def _check_declared(reader: Reader, notes: Notebook) -> None:
    """Check that each status that the tables allow is declared."""
    declared = {status.native for status in reader.engine.spec.statuses}
    async with reader.database.reading() as transaction:
        names = sorted(reader.detected.relations)
        rows = await transaction.rows(query("allowed"), {"ids": names, "schema": reader.detected.schema})
    for row in rows:
        words = row["labels"] or allowed_words(row["checks"], number=row["number"])
        common = declared.intersection(words)
        if len(common) < 2 or 2 * len(common) < len(declared):
            continue  # it is another column
        for word in words:
            if word not in declared:
                message = f"{row['table']}.{row['column']} may be {word!r}, which is not one of the statuses"
                notes.setting(("statuses",), message)


async def _check_pages(
    at: Statement | None, read: Read, notes: Notebook, of: str = "", few: int = ROWS_ALONE
) -> list[Node]:
    """Check that pages of 1, 7 and 100 rows are the same list. Return the list."""
    whole = await _pages(read, 100, NODES_LOOKED_AT)
    ids = [node.id for node in whole]
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        notes.fault(at, f"{of}{twice} is on two pages: the cursor and the order do not agree")
    for size in (1, 7):
        if size == 1 and few > ROWS_ALONE:
            continue  # the page of 7 goes as far with fewer statements
        some = [node.id for node in await _pages(read, size, few)]
        if some[:few] != ids[: len(some[:few])] or len(some) < min(few, len(ids)):
            notes.fault(at, f"{of}pages of {size} and of 100 differ: the cursor and the order do not agree")
    return whole


async def _pages(read: Read, size: int, most: int) -> list[Node]:
    nodes: list[Node] = []
    cursor: str | None = None
    while len(nodes) < most:
        page = await read(cursor, size)
        nodes += page.nodes
        cursor = page.cursor
        if cursor is None:
            break
    return nodes


async def _check_children(
    reader: Reader, nodes: dict[str, Node], notes: Notebook, few: int = ROWS_ALONE, most: int = PARENTS_READ
) -> None:
    for kind in sorted(reader.engine.spec.parents):
        at = _of(reader, "children", kind)
        of_kind = [node for node in nodes.values() if node.kind == kind]
        for node in of_kind[:most]:

            async def read(cursor: str | None, size: int, node: Node = node) -> Page:
                return await reader.pages.children(node.id, cursor, size, allow_scan=True)

            of = f"children of {reader.ids.local(node.id)}: "
            for child in await _check_pages(at, read, notes, of, few):
                if child.parent_id not in (None, node.id):
                    notes.fault(at, f"{of}{reader.ids.local(child.id)} says that its parent is another node")
        if not of_kind:
            notes.note(f"no {kind} in the rows, so its children were not read")


async def _check_lookups(reader: Reader, nodes: dict[str, Node], notes: Notebook) -> None:
    """Find one node of each kind by its id, and read its detail and its rows."""
    by_kind: dict[str, Node] = {}
    for node in nodes.values():
        by_kind.setdefault(node.kind, node)
    for node in by_kind.values():
        local = reader.ids.local(node.id)
        hits = await search.find(reader, node.id)
        if node.id not in {hit.node.id for hit in hits.hits}:
            notes.note(f"{local} is not found by its id, so only a full id opens it")
        detail = await details.read(reader, node.id)
        for section in detail.sections if detail else ():
            scan = section.scan_required
            if scan is not None and not scan.need:
                notes.fault(_of(reader, f"detail/{section.name}"), f"{local}: {scan.why}")
        await blockers(reader.database, {reader.label: reader}, [node.id])
    for text in ("", "'", "%", "a"):
        await search.find(reader, text)
        await search.find_texts(reader, text)


async def _check_findings(reader: Reader, notes: Notebook) -> None:
    read = await reader.findings.read()
    for skipped in read.skipped_findings:
        if skipped.failed:
            notes.fault(_of(reader, f"findings/{skipped.code}"), skipped.why)
    codes = {finding.code for finding in read.findings}
    for code, spec in reader.findings.specs.items():
        if not spec.sampled and code not in codes:
            notes.note(f"no row has the finding {code}, so its evidence was not looked at")
    for finding in read.findings:
        at, spec = _of(reader, f"findings/{finding.code}"), reader.findings.specs[finding.code]
        local = reader.ids.local(finding.node_id)
        notes.number += 1
        for name in sorted(evidence_names(spec)):
            if name not in {"node", *finding.evidence, *spec.evidence}:  # of evidence that is set, NULL is absent
                notes.fault(at, f"{local}: the evidence has no {name!r}, which engine.toml names")
        if not (await reader.nodes.read([finding.node_id])).nodes:
            notes.fault(at, f"{local} is no node")
        await _check_alone(reader, finding, notes)
    for _ in range(2):
        await reader.samples.take()


async def _check_alone(reader: Reader, finding: Finding, notes: Notebook) -> None:
    """Check that a finding is the same if it is read for its node only."""
    at, local = _of(reader, f"findings/{finding.code}"), reader.ids.local(finding.node_id)
    spec = reader.findings.specs[finding.code]
    async with reader.database.reading() as transaction:
        alone, why = await reader.findings.nodes_of(transaction, spec, [finding.node_id])
    if why:
        notes.fault(at, f"{local}: {why}")
    elif not alone:  # unless it has ended since
        if any(
            (each.code, each.node_id) == (finding.code, finding.node_id)
            for each in (await reader.findings.read()).findings
        ):
            notes.fault(at, f"{local}: the finding is not there if it is read for this node only ($ids)")
    elif set(alone) != {finding.node_id}:
        notes.fault(at, f"{local}: other nodes are returned if it is read for this node only ($ids)")


async def _check_edges(reader: Reader, notes: Notebook) -> None:
    """Read findings and dead letters with 0, or NULL, in each column.

    A fixture seldom has rows of all kinds.
    """
    names = {"ids": sorted(reader.detected.relations), "schema": reader.detected.schema}
    async with reader.database.reading() as transaction:
        edges = await transaction.rows(query("edges"), names)
    asked = [f"findings/{code}" for code in reader.findings.specs if f"findings/{code}" in reader.engine.statements]
    statements = [at for name in (*asked, "dead") if (at := reader.variant.select(name)) is not None]
    values = reader.variant.parameters(ids=None, cursor=None, limit=MANY_ROWS)
    async with reader.database.reading() as transaction:
        timed = {at for at in statements if all(row["since"] is not None for row in await transaction.rows(at, values))}
    for edge in edges:
        async with reader.database.writing() as transaction:
            change = f"SET LOCAL session_replication_role = replica; {edge['change']}"
            if isinstance(await attempted(transaction.control(change)), DatabaseError):
                continue  # a constraint keeps such rows out
            for at in statements:
                rows = await attempted(transaction.rows(at, values))
                if isinstance(rows, DatabaseError):
                    notes.fault(at, f"if {edge['name']} is {edge['value']}: {rows.line}")
                    break  # the transaction has failed
                if at in timed and any(row["since"] is None for row in rows):
                    notes.note(f"{at.source}: since is NULL if {edge['name']} is {edge['value']}: its age is not shown")


async def _check_dead(reader: Reader, notes: Notebook, few: int = ROWS_ALONE) -> None:
    """Check the order of dead letters, and that they are the same by id."""
    at = _of(reader, "dead")
    if at is None or reader.variant.select("dead") is None:
        return
    dead = (await reader.pages.dead(limit=NODES_LOOKED_AT)).dead_letters
    ids = [each.node.id for each in dead]
    notes.number += len(ids)

    async def read(cursor: str | None, size: int) -> Page:
        some = await reader.pages.dead(cursor, size)
        return Page(nodes=tuple(each.node for each in some.dead_letters), at=some.at, cursor=some.cursor)

    await _check_pages(at, read, notes, few=few)
    for one, two in pairwise(dead):
        if one.severity < two.severity:
            notes.fault(
                at, f"{reader.ids.local(two.node.id)} is worse than the dead letter before it: worst come first"
            )
        elif one.severity == two.severity and _is_later(two.since, one.since):
            notes.note(f"{reader.ids.local(two.node.id)} is newer than the dead letter before it: newest come first")
    again = {
        each.node.id: each.fingerprint
        for each in (await reader.pages.dead(ids=ids, limit=NODES_LOOKED_AT)).dead_letters
    }
    if again != {each.node.id: each.fingerprint for each in dead}:
        notes.fault(at, "the dead letters are not the same if they are read by their ids ($ids)")
    alive = [node.id for node in (await reader.pages.live()).nodes if node.id not in ids]
    if (await reader.pages.dead(ids=alive, limit=NODES_LOOKED_AT)).dead_letters:
        notes.fault(at, "an id that is no dead letter is returned if it is asked for ($ids)")


def _is_later(one: float | None, two: float | None) -> bool:
    return one is not None and two is not None and one > two


async def _check_others(reader: Reader, notes: Notebook) -> None:
    """Run the counts, and two pages of changes."""
    statements: Sequence[tuple[str, Callable[[], Awaitable[object]]]] = (
        ("counts", reader.nodes.counts),
        ("changed", lambda: changes.read(reader, 0.0, {}, 10)),
    )
    for name, run in statements:
        with notes.errors(_of(reader, name)):
            if reader.variant.select(name) is not None:
                await run()
