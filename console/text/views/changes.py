"""Lines about what the engines and the operators changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from console.text.formatting import scan_offer
from console.text.spans import Spans
from console.text.views.audit_entry import outcome, target
from queries.records.change import NOT_READ, Changes, NodeChange
from queries.text.safe_text import safe_text


def subject(change: NodeChange) -> str:
    """Return the title of a node, or the targets of an action."""
    return target(change.entry) if change.entry else change.title


def status(change: NodeChange) -> Spans:
    """Return the status before and after, or the outcomes of an action.

    A status that was not recorded is omitted.
    """
    if change.entry is not None:
        return outcome(change.entry)
    style = f"$phase-{change.node.phase}" if change.node else ""
    before: Spans = [(safe_text(change.old), "$faint"), (" → ", "$faint")] if change.old else []
    return [*before, (safe_text(change.new or ""), style)]


def counts(changes: Iterable[NodeChange], *, capped: bool) -> Iterator[Spans]:
    """Yield the number of changes of each kind, by engine and by operators.

    Of changes whose log has the status before: to each status. ``capped``: there are more.
    """
    by_source: dict[str, Counter[str]] = {}
    for change in changes:
        source = f"{change.engine}, by operators" if change.entry else change.engine
        by_source.setdefault(source, Counter())[f"→ {change.new}" if change.old and change.new else change.what] += 1
    least = "at least " if capped else ""
    for source, kinds in sorted(by_source.items()):
        numbers = ", ".join(f"{n} {safe_text(what)}" for what, n in kinds.most_common())
        yield [(f"{safe_text(source)}: ", "bold"), (f"{least}{numbers}", "")]


def routine(answer: Changes) -> str:
    """Return the routine changes that are not shown, such as polls, or ""."""
    parts = (
        f"{n} {what} of {source.name}"
        for source in answer.sources
        for what, n in sorted(source.routine.items(), key=lambda each: -each[1])
    )
    return safe_text(", ".join(parts))


def none(answer: Changes) -> str:
    """Return the beginning of a sentence about an empty list."""
    whole = not any(source.scope or source.unreadable for source in answer.sources)
    return "No change was recorded" if whole else "No change was recorded in what was searched"


def notes(answer: Changes, scan: str, *, brief: bool = False) -> Iterator[str]:
    """Yield what each source records, what was not searched, and what cannot be read.

    ``scan``: the option or key that reads what needs a scan. ``brief``: without what it records, and the index.
    """
    for source in answer.sources:
        if source.unreadable:
            yield f"{source.name}: {source.unreadable}"
        if source.recorded and not brief:
            yield f"{source.name}: {source.recorded}."
        if source.scope and source.scope != NOT_READ:
            yield f"{source.name}: {source.scope}."
        if need := source.scan_required:
            why = "" if brief else f"{need.note}. "
            yield f"{source.name}: {why}{scan_offer(need, scan)}"
    if unread := ", ".join(source.name for source in answer.sources if source.scope == NOT_READ):
        yield f"{unread}: {NOT_READ}."
