"""Lines about what the engines and the operators changed."""

from __future__ import annotations

from collections.abc import Iterator

from console.text.pages.audit_entry import outcome, target
from console.text.spans import Spans
from queries.records.change import Change, Changes
from queries.text.safe_text import safe_text


def subject(change: Change) -> str:
    """Return the title of a node, or the targets of an action."""
    return target(change.entry) if change.entry else change.title


def status(change: Change) -> Spans:
    """Return the status before and after, or the outcomes of an action.

    A status that was not recorded is omitted.
    """
    if change.entry is not None:
        return outcome(change.entry)
    style = f"$phase-{change.node.phase}" if change.node else ""
    before: Spans = [(safe_text(change.old), "$faint"), (" → ", "$faint")] if change.old else []
    return [*before, (safe_text(change.new or ""), style)]


def unsearched(answer: Changes) -> Iterator[str]:
    """Yield what was not searched, and what cannot be read."""
    for source in answer.sources:
        if source.unreadable:
            yield f"{source.name}: {source.unreadable}"
        if source.scope:
            yield f"{source.name}: {source.scope}."


def notes(answer: Changes) -> Iterator[str]:
    """Yield what each source records, what was not searched, and what cannot be read."""
    for source in answer.sources:
        if source.unreadable:
            yield f"{source.name}: {source.unreadable}"
        if source.recorded:
            yield f"{source.name}: {source.recorded}."
        if source.scope:
            yield f"{source.name}: {source.scope}."
        if source.scan_required:
            yield f"{source.name}: {source.scan_required.why} ({source.scan_required.ddl})"
