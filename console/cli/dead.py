"""``dead``: dead letters of each engine, grouped by error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import msgspec

from console.cli import tables
from console.cli.grouped import field_named, print_counts
from console.cli.output import output_for, say
from console.cli.target import access_warnings, declined_engines, opened, select_readers
from console.model.dead_letter_board import DEAD_LETTERS_COUNTED, read_dead_letters
from console.model.fields.dead_letter import NAMED, GroupedDeadLetter, number
from console.model.fields.field import Context
from console.target import Target
from console.text import formatting
from console.text.formatting import scan_offer
from console.text.severity import band, named
from console.text.spans import Spans
from queries.read import dead_letters
from queries.records.dead_letter import DeadLetterReport, ErrorSummary, Group
from queries.records.node import Node
from queries.records.record import Record

COLUMNS = tuple(NAMED[name] for name in ("id", "status", "since"))
DEAD_LETTERS_LISTED = 500  # for each engine
INDENT = (" " * 7, "")  # of dead letters below their group


class DeadLettersByEngine(Record):
    """Dead letters of each engine."""

    dead: tuple[DeadLetterReport, ...]


async def dead(
    target: Target,
    *,
    engine: str | None,
    limit: int | None,
    allow_scan: bool,
    summary: bool,
    group: str | None,
    group_by: str | None,
) -> int:
    """List dead letters by engine, worst and newest first. Return the exit code.

    ``summary``: only the number of each error, the most frequent first. ``group``: only those of this group.
    ``group_by``: only the number of each value of this field.
    """
    most = limit or (DEAD_LETTERS_COUNTED if summary or group or group_by else DEAD_LETTERS_LISTED)
    field = None if group_by is None else field_named(group_by)
    engine = group.partition("/")[0] if group else engine
    async with opened(target) as workspace:
        readers = list(select_readers(workspace, engine))
        reports = await workspace.database.together(
            *(read_dead_letters(reader, most, allow_scan=allow_scan) for reader in readers)
        )
        if group is not None:
            reports = [report.of_group(group) for report in reports]
        lines = access_warnings(workspace, readers)
        if field is not None:
            return await print_counts(target, field, zip(readers, map(_nodes, reports), strict=True), lines)
        declined = declined_engines(workspace, engine).items()
    if summary:
        reports = [_summarized(report) for report in reports]
    parts = [*reports, *(DeadLetterReport(engine=name, meaning="", unreadable=why) for name, why in declined)]
    lines += [f"{part.engine}: {part.unreadable}" for part in parts if part.unreadable]
    say(*lines)
    output = output_for(target)
    answer = DeadLettersByEngine(dead=tuple(parts))
    output.answer(answer, lambda: (line for part in parts for line in _text(part, output.ascii)))
    return int(bool(lines))


def _nodes(report: DeadLetterReport) -> tuple[float, list[Node]]:
    return report.at or 0.0, [each.node for each in report.dead_letters]


def _summarized(report: DeadLetterReport) -> DeadLetterReport:
    errors = dead_letters.summarized(report.dead_letters, capped=report.capped)
    return msgspec.structs.replace(report, dead_letters=(), groups=(), errors=errors)


def _text(part: DeadLetterReport, ascii: bool) -> Iterator[str | Spans]:
    yield [(part.engine, "bold $primary"), (f"  {part.meaning}", "$faint")]
    if part.scan_required is not None:
        yield f"  Not read: {part.scan_required.note}. {scan_offer(part.scan_required, '--allow-scan')}"
    elif not (part.unreadable or part.dead_letters or part.errors or part.scope):
        yield "  No dead letters."
    at = part.at or 0.0
    for each in part.errors:
        causes = ", ".join(f"{cause} {n}" for cause, n in each.causes.items())
        yield [
            (f"{number(each):>7}  ", "bold"),
            (each.text, "bold"),
            (f"  {causes}" if causes else "", ""),
            (_span(each, at), "$faint"),
        ]
    rest = iter(part.dead_letters)
    items = [
        GroupedDeadLetter(dead_letter=each, group=group) for group in part.groups for each in islice(rest, group.n)
    ]
    rows = ([INDENT, *row] for row in tables.listed(COLUMNS, items, Context(now=at, ascii=ascii)))
    yield from islice(rows, 1)
    for group in part.groups:
        yield [
            (f"  {named(group.severity)}", band(group.severity).ink),
            (f"  {number(group)}  {group.fingerprint}", "bold"),
            (_span(group, at), ""),
            (f"  {group.key}", "$faint"),
        ]
        yield from islice(rows, group.n)
    if part.scope:
        yield f"  There may be more: {formatting.scope_note(part.scope)}."
    elif part.capped:
        yield "  There are more: --limit shows more."


def _span(group: Group | ErrorSummary, at: float) -> str:
    if group.first is None or group.last is None:
        return ""
    first, last = _ago(at - group.first), _ago(at - group.last)
    if group.capped:
        return f"  first ≥{first}, last ≤{last}"
    return f"  {first}" if first == last else f"  first {first}, last {last}"


def _ago(seconds: float) -> str:
    if math.isinf(seconds):
        return "at infinity"
    return f"{formatting.age(seconds)} ago" if seconds >= 0 else formatting.due(-seconds)
