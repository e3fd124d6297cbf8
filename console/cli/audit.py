"""``audit``: who changed what, when and why, as a list or exported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import chain, repeat

from click import UsageError

from console.cli import tables
from console.cli.options import option_value
from console.cli.output import Output, answered, encoded, output_for, say
from console.cli.target import opened, resolve_nodes
from console.model import export
from console.model.fields.audit_entry import FIELDS, by_run
from console.target import Target
from console.text.spans import Spans
from console.text.views.audit_entry import entry_lines
from console.text.views.lines import stacked
from queries.db.errors import UnknownIdError
from queries.log import chain as audit_chain
from queries.log.audit_log import Criteria
from queries.log.chain import Verification
from queries.log.receipts import Receipt
from queries.records.action import Outcome
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.text import duration
from queries.workspace import Workspace

ENTRIES_SHOWN = 50
_NO_HEAD = "--heads: the file has no head. A head is id:hash, as --verify prints it."
_EMPTY = (
    "--heads: the file is empty, so it proves nothing. A shell empties a file before unstick starts"
    " if the output goes to it: write the new heads to another file."
)


class Entries(Record):
    """A page of the audit log, newest first. ``cursor`` continues after it."""

    entries: tuple[AuditLogEntry, ...]
    cursor: str | None
    place: str  # "table", or the path of the local file
    unreadable: str = ""  # why the entries of the table are missing
    receipts: tuple[Receipt, ...] = ()  # changes of this machine that the server lacks, or may lack


async def one(target: Target, name: str, *, rows: bool) -> int:
    """Show an entry, or list the entries of a run.

    ``name``: the id of either. ``rows``: with the stored values of its rows. Return the exit code.
    """
    async with opened(target, empty=True) as workspace:
        entries = await workspace.audit_log.find(name, changes=True)
        answer = Entries(entries=entries, cursor=None, place=workspace.audit_log.place)
    _show(target, workspace, answer, None if len(entries) > 1 or entries[0].id != name else "", rows=rows)
    return 0


async def audit_log(
    target: Target,
    node_id: str | None,
    *,
    limit: int | None,
    after: str | None,
    format: str | None,
    since: str | None,
    node: str | None,
    rows: bool,
    singly: bool,
    **conditions: str | None,
) -> int:
    """Show entries; those about one node with its changed rows. Return the exit code.

    ``rows``: with their stored values. ``singly``: list the entries of a run, too.
    """
    seconds = None if since is None else option_value("--since", duration.parse, since)
    outcome = conditions["outcome"]
    if format and (limit is not None or after is not None):
        raise UsageError("--format exports all entries that match: give no --limit and no --after.")
    async with opened(target, empty=True) as workspace:
        criteria = Criteria(
            who=conditions["who"],
            action=conditions["action"],
            outcome=None if outcome is None else option_value("--outcome", _outcome, outcome),
            since=None if seconds is None else await workspace.now() - seconds,
            target=node,
            changes=target.json or format == "json" or node_id is not None,
        )
        about = node_id
        if node_id is not None:
            nodes = await resolve_nodes(workspace.reader(node_id), [node_id])
            about = node_id = nodes[node_id].id if nodes else node_id
        elif node is not None and _is_id(workspace, node):  # an index serves it
            about = node
        if format:
            await _export(output_for(target), workspace, format, workspace.audit_log.stream(about, criteria))
        else:
            receipts = await workspace.audit_log.lacking(about, criteria)  # also settles those without an outcome
            entries, cursor = await workspace.audit_log.page(after, limit or ENTRIES_SHOWN, about, criteria)
            place, closed = workspace.audit_log.place, workspace.audit_log.unreadable
            answer = Entries(entries=entries, cursor=cursor, place=place, unreadable=closed, receipts=receipts)
            _show(target, workspace, answer, node_id, rows=rows, singly=singly)
            say(*(each.sentence(about or "") for each in receipts))
            if not (closed or entries):
                some = criteria != Criteria(changes=criteria.changes)
                about_it = f" about {about}" if about else ""
                say(f"The audit log has no entries{about_it}{' that match' if some else ''}.")
            if cursor is not None:
                say(f"There are more: --after {cursor}")
        closed = workspace.audit_log.unreadable
    if closed:
        say(closed)
    return int(bool(closed))


async def verify(target: Target, text: str | None) -> int:
    """Verify the hash chain. Return the exit code.

    ``text`` has the heads of an earlier verification; None if none were given.
    """
    heads = () if text is None else audit_chain.heads_in(text)
    if text is not None and not heads:
        raise UsageError(_NO_HEAD if text.strip() else _EMPTY)
    async with opened(target, empty=True) as workspace:
        verification = await workspace.audit_log.verify(heads)
    output_for(target).answer(verification, lambda: _verification(verification, len(heads)))
    return int(bool(verification.problems or (verification.entries and not verification.hashed)))


def _verification(verification: Verification, heads: int) -> Iterator[Spans | str]:
    yield f"{verification.hashed} of {verification.entries} entries have a hash."
    if verification.older:
        yield f"{verification.older} are older than the hashes. Nothing proves them."
    if heads:
        yield f"{verification.known} of {heads} exported heads were found."
    if verification.problems:
        width = max(len(problem.code) for problem in verification.problems)
        yield from (f"{p.code:<{width}}  entry {p.id}: {p.why}" for p in verification.problems)
    elif verification.hashed:
        yield "No entry was removed or changed before these heads:"
    yield from verification.heads


def _outcome(name: str) -> Outcome:
    if name not in tuple(Outcome):
        raise ValueError(f"{name!r} is not one of {', '.join(Outcome)}.")
    return Outcome(name)


def _is_id(workspace: Workspace, text: str) -> bool:
    try:
        workspace.reader(text)
    except UnknownIdError:
        return False
    return True


def _show(
    target: Target, workspace: Workspace, answer: Entries, node_id: str | None, *, rows: bool, singly: bool = True
) -> None:
    """List the entries, or show the text of each.

    ``node_id``: None for the list; else the node that the texts are about, "" for all nodes of an entry. ``singly``
    False: a run is one line of the list.
    """

    def lines(cells: int) -> list[Spans]:
        parts = []
        for entry in answer.entries:
            reader = workspace.recorded(entry.engine, entry.schema)
            engine = None if reader is None else reader.engine.spec
            parts.append(entry_lines(entry, cells, node_id=str(node_id), engine=engine, rows=rows))
        return stacked(*parts)

    if node_id is None:
        listed = answer.entries if singly else by_run(answer.entries)
        output_for(target).answer(answer, lambda: tables.listed(FIELDS, listed))
    else:
        output_for(target).text(answer, lines)


async def _export(output: Output, workspace: Workspace, format: str, entries: AsyncIterator[AuditLogEntry]) -> None:
    """Write all entries, each as soon as it is read, until the reader closes the pipe."""
    lines: Callable[[AuditLogEntry], Iterable[str]]
    if format == "json":
        facts = {"place": workspace.audit_log.place, "unreadable": workspace.audit_log.unreadable}
        head = answered({**facts, "cursor": None}).removesuffix("}")
        separators = chain([""], repeat(","))
        begin, lines, end = [f'{head},"entries":['], lambda entry: [next(separators) + encoded(entry)], ["]}"]
    elif format == "csv":
        begin, lines, end = [export.csv_head()], export.csv_rows, []
    else:
        fields = export.MARKDOWN
        begin, lines, end = [*export.markdown_head(fields)], lambda entry: export.markdown_rows(fields, [entry]), []
    output.lines(begin)
    async for entry in entries:
        output.lines(lines(entry))
        if output.closed:
            return
    output.lines(end)
