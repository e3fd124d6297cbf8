"""Nodes as Markdown, and a shift, to hand over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from console.model.dead_letter_board import DEAD_LETTERS_COUNTED, read_dead_letters
from console.model.export import MARKS, markdown_table
from console.model.fields import node
from console.model.fields.field import Context, Field
from console.text import formatting
from console.text.severity import BANDS, band
from queries.change.plan import UNDO
from queries.change.run import listed as runs_of
from queries.log.audit_log import Criteria, operator
from queries.read.dead_letters import summarized
from queries.read.reader import Reader
from queries.records.action import Answer, Outcome
from queries.records.audit import AuditLogEntry
from queries.records.dead_letter import DeadLetterReport
from queries.records.finding import Finding
from queries.records.node import Node
from queries.records.record import Record
from queries.records.run import REDRIVE, RunSummary
from queries.records.snapshot import Snapshot
from queries.records.where import Where
from queries.text.safe_text import safe_text
from queries.workspace import Workspace

SHIFT_SECONDS = 8 * 3600.0
SHIFT_ENTRIES = 1000  # of the audit log, at most, in a shift
RUNS_READ = 200  # newest ones
OPEN_SHOWN, DONE_SHOWN, AGAIN_SHOWN, UNREAD_SHOWN = 10, 7, 3, 1  # lines of a text, which is for a ticket
TEXT_CELLS = 200  # of such a line
NODES: Final = [node.NAMED[name] for name in ("engine", "title", "status", "age")]


def nodes_table(nodes: Iterable[Node], findings_of: Callable[[str], Iterable[Finding]]) -> str:
    """Return nodes and their findings as a table."""

    def findings(node: Node, context: Context) -> str:
        return "; ".join(map(said, findings_of(node.id)))

    return "\n".join(markdown_table([*NODES, Field("findings", findings), node.NAMED["id"]], nodes))


def said(finding: Finding) -> str:
    """Return title and sentence of a finding, and since when it was not read again."""
    return f"{finding.title}{_unread(finding)}: {finding.sentence}"


def _unread(of: Finding) -> str:
    return "" if of.read_at is None else f" (not read since {formatting.instant(of.read_at)})"


class OpenWork(Record):
    """An open incident, or the dead letters of one error.

    ``n``: number of nodes.
    """

    engine: str
    what: str
    n: int
    capped: bool  # there may be more
    severity: int
    since: float | None = None
    read_at: float | None = None  # if it was not read again since


class Done(Record):
    """Changes of one action with one purpose, or of one run.

    ``undone``: number of its changes that were undone later. ``answers``: of the nodes that a redrive has revived.
    """

    action: str
    reason: str
    engine: str
    who: str
    first: float
    last: float
    changed: int = 0
    undone: int = 0
    skipped: dict[Outcome, int] = {}
    run: str = ""
    selection: str = ""
    state: str = ""  # of a run
    nodes: int = 0  # likewise
    answers: dict[Answer, int] = {}
    entries: tuple[str, ...] = ()


class StuckAgain(Record):
    """A node that was changed, and that is in an incident now."""

    id: str
    title: str
    incident: str
    action: str


class Shift(Record):
    """Hand-over of a time: what is open, done, and stuck again.

    ``unread``: what could not be read. ``capped``: there are earlier entries of the audit log that were not read.
    """

    where: Where
    who: str
    since: float
    until: float
    open: tuple[OpenWork, ...]
    done: tuple[Done, ...]
    again: tuple[StuckAgain, ...]
    unread: tuple[str, ...] = ()
    capped: bool = False


async def read_shift(
    workspace: Workspace, where: Where, now: Snapshot, readers: Iterable[Reader], since: float
) -> Shift:
    """Read a shift, with a snapshot.

    Raises DatabaseError if the audit log cannot be read.
    """
    reading = (read_dead_letters(reader, DEAD_LETTERS_COUNTED) for reader in readers)
    reports = await workspace.database.together(*reading)
    conditions = Criteria(since=since, changes=False)
    entries, cursor = await workspace.audit_log.page(limit=SHIFT_ENTRIES, conditions=conditions)
    runs = (await runs_of(workspace, RUNS_READ)).runs if any(entry.run for entry in entries) else ()
    unread = [f"{each.engine}: dead letters: {each.unreadable}" for each in reports if each.unreadable]
    unread += [f"{each.engine}: dead letters: {each.scan_required.note}" for each in reports if each.scan_required]
    unread += [f"{each.engine}: {each.code}: {each.why}" for each in now.skipped_findings if each.failed]
    return Shift(
        where=where,
        who=operator().name,
        since=since,
        until=now.at,
        open=opened(now, reports),
        done=done(entries, {run.run: run for run in runs}),
        again=stuck_again(now, entries),
        unread=tuple(filter(None, [*unread, workspace.audit_log.unreadable])),
        capped=cursor is not None,
    )


def opened(now: Snapshot, reports: Iterable[DeadLetterReport]) -> tuple[OpenWork, ...]:
    """Return what is open: critical incidents first, then the biggest.

    An incident about dead letters only is omitted: the numbers of their errors are better.
    """
    dead = {each.node.id for report in reports for each in report.dead_letters}
    rows = [
        OpenWork(
            engine=each.engine,
            what=f"{each.title}: {each.sentence}",
            n=each.n,
            capped=each.capped,
            severity=each.severity,
            since=each.since,
            read_at=each.read_at,
        )
        for each in now.incidents
        if not (each.node_ids and dead.issuperset(each.node_ids))
    ]
    for report in reports:
        for error in summarized(report.dead_letters, capped=report.capped):
            causes = ", ".join(f"{cause} {n:,}" for cause, n in error.causes.items())
            what = f"{error.text} ({causes})" if causes else error.text
            rows.append(
                OpenWork(
                    engine=report.engine,
                    what=what,
                    n=error.n,
                    capped=error.capped,
                    severity=error.severity,
                    since=error.first,
                )
            )
    return tuple(sorted(rows, key=lambda each: (band(each.severity) is not BANDS[0], -each.n, -each.severity)))


def done(entries: Sequence[AuditLogEntry], runs: Mapping[str, RunSummary]) -> tuple[Done, ...]:
    """Return the work by purpose, the newest first.

    An undo counts for the work that it undoes.
    """
    by_id = {entry.id: entry for entry in entries}
    works: dict[tuple[str, ...], Done] = {}
    for entry in sorted(entries, key=lambda entry: entry.at):
        counts = Counter(result.outcome for result in entry.results)
        changed, sign, of = counts.pop(Outcome.CHANGED, 0), 0, entry
        while of.action == UNDO.name and (undone := by_id.get(str(of.arguments.get("entry")))):
            of, sign = undone, 1 if sign <= 0 else -1  # an undo may be undone, too
        key = (of.run,) if of.run else (of.action, of.reason, of.engine, of.role, of.os_user)
        work = works.get(key) or _begun(of, runs.get(of.run))
        works[key] = msgspec.structs.replace(
            work,
            last=entry.at,
            changed=work.changed + (0 if sign else changed),
            undone=work.undone + sign * changed,
            skipped=work.skipped if sign else dict(Counter(work.skipped) + counts),
            entries=(*work.entries, entry.id),
        )
    return tuple(reversed(works.values()))


def _begun(entry: AuditLogEntry, run: RunSummary | None) -> Done:
    of_run = (
        {} if run is None else {name: getattr(run, name) for name in ("run", "selection", "state", "nodes", "answers")}
    )
    return Done(
        action=entry.action if run is None else f"redrive, {run.action}" if run.kind == REDRIVE else run.action,
        reason=entry.reason,
        engine=entry.engine,
        who=entry.who,
        first=entry.at,
        last=entry.at,
        **of_run,
    )


def stuck_again(now: Snapshot, entries: Sequence[AuditLogEntry]) -> tuple[StuckAgain, ...]:
    """Return the nodes in incidents whose last change was not undone."""
    stuck = {node_id: incident for incident in now.incidents for node_id in incident.node_ids}
    last = {
        result.id: (entry, result)
        for entry in sorted(entries, key=lambda entry: entry.at)
        for result in entry.results
        if result.outcome is Outcome.CHANGED and result.id in stuck
    }
    return tuple(
        StuckAgain(id=id_, title=result.name, incident=stuck[id_].title, action=entry.action)
        for id_, (entry, result) in last.items()
        if entry.action != UNDO.name
    )


def shift_lines(shift: Shift, *, marked: bool) -> list[str]:
    """Return a shift in at most 40 lines, as Markdown if ``marked``, else as text."""

    def plain(text: str) -> str:
        text = formatting.crop(" ".join(safe_text(text).split()), TEXT_CELLS)
        return MARKS.sub(r"\\\1", text) if marked else text

    def part(title: str, texts: Iterable[str], most: int, nothing: str = "Nothing.") -> list[str]:
        rows = [*map(plain, texts)]
        bullet, head = ("- ", "## ") if marked else ("  ", "")
        more = [f"{len(rows) - most:,} more"] if len(rows) > most else []
        number = f": {len(rows):,}" if rows else ""
        return [
            "",
            head + title + number,
            *[""] * marked,
            *(bullet + row for row in [*rows[:most], *more] or [nothing]),
        ]

    nothing = "Nothing in the parts that could be checked." if shift.unread else "Nothing."
    again = [f"{each.title} {each.id}: {each.incident}, after {each.action}" for each in shift.again]
    times = f"{formatting.instant(shift.since)} to {formatting.instant(shift.until)}"
    return [
        f"{'# ' * marked}Hand-over of {plain(shift.where.text)}",
        *[""] * marked,
        plain(f"{times}, by {shift.who} (role {shift.where.role})"),
        *part("Open", map(_open, shift.open), OPEN_SHOWN, nothing),
        *part(f"Done{', and more that was not read' * shift.capped}", map(_done, shift.done), DONE_SHOWN),
        *part("Stuck again", again, AGAIN_SHOWN),
        *(part("Not read", shift.unread, UNREAD_SHOWN) if shift.unread else []),
    ]


def _open(row: OpenWork) -> str:
    number = f"{'at least ' if row.capped else ''}{row.n:,}" if row.n else formatting.NONE
    since = f" since {formatting.instant(row.since)}" if row.since is not None else ""
    unread = f" (not read since {formatting.instant(row.read_at)})" if row.read_at is not None else ""
    critical = "critical, " if band(row.severity) is BANDS[0] else ""
    return f"{number}  {critical}{row.engine}{since}{unread}: {row.what}"


def _done(row: Done) -> str:
    number = f"{row.changed:,} of {row.nodes:,}" if row.nodes else f"{row.changed:,}"
    parts = [f"{number} changed", *(f"{n:,} {answer.replace('_', ' ')}" for answer, n in row.answers.items())]
    parts += [f"{n:,} {outcome}" for outcome, n in row.skipped.items()]
    if row.undone > 0:
        parts.append("all undone later" if row.undone == row.changed else f"{row.undone:,} undone later")
    state = f" ({row.state})" if row.state and row.state != "done" else ""
    head = f"{formatting.instant(row.first)} {row.action}: {', '.join(parts)}{state}"
    return "; ".join(filter(None, (head, row.reason, row.who, row.selection)))
