"""Render row diffs and outcomes for the dry run, result and audit log pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from textual.content import Content

from console.text import formatting
from console.tui.pages.lines import BLANK, Line, plain, scalar, wrapped
from queries.model import Outcome, Result, RowChange
from queries.safe_text import safe_text

INK = {
    Outcome.CHANGED: "$success",
    Outcome.STALE: "$warning",
    Outcome.GONE: "$faint",
    Outcome.LOCKED: "$warning",
    Outcome.REFUSED: "$warning",
    Outcome.DENIED: "$error",
    Outcome.CONFLICT: "$error",
    Outcome.LOST: "bold $error",
    Outcome.UNKNOWN: "bold $error",
}
MEANS = {
    Outcome.CHANGED: "changed",
    Outcome.STALE: "stale: changed by another session since you saw it",
    Outcome.GONE: "gone: no longer exists",
    Outcome.LOCKED: "locked by another transaction",
    Outcome.REFUSED: "refused",
    Outcome.DENIED: "denied: a privilege is missing",
    Outcome.CONFLICT: "conflict: the database aborted the transaction",
    Outcome.LOST: "lost: committed, then undone by a failover",
    Outcome.UNKNOWN: "unknown: the server cannot say whether the commit happened",
}
ROWS = 200  # most rows shown of one action; the audit log keeps all of them


def differences(changes: Sequence[RowChange], width: int, *, limit: int = ROWS) -> list[Line]:
    """Return each changed row with its differing columns, before and after."""
    lines: list[Line] = []
    node = None
    for change in (each.read() for each in changes[:limit]):
        if change.id != node:
            if node is not None:
                lines.append(BLANK)
            lines.append(plain(change.id, "bold"))
            node = change.id
        lines += _row(change, width)
    if len(changes) > limit:
        lines.append(plain(f"… and {len(changes) - limit} more rows", "$faint"))
    return lines


def _row(change: RowChange, width: int) -> list[Line]:
    word, ink = ("changed", "$accent") if change.before and change.after else _one_sided(change)
    head = Content.assemble("    ", (word, ink), " ", (safe_text(change.table), ""), " ")
    key = Content.styled(formatting.crop(safe_text(change.key), max(width - head.cell_length, 8)), "$faint")
    return [head + key, *_columns(change.before or {}, change.after or {}, width)]


def _one_sided(change: RowChange) -> tuple[str, str]:
    return ("deleted", "$removed") if change.before is not None else ("inserted", "$added")


def _columns(before: dict[str, Any], after: dict[str, Any], width: int) -> list[Line]:
    names = [name for name in before | after if before.get(name, ...) != after.get(name, ...)]
    room = min(max(map(formatting.width, names), default=0), 24)
    lines: list[Line] = []
    for name in names:
        left = Content.assemble("      ", (formatting.fit(safe_text(name), room), "$faint"), "  ")
        old = Content.styled(scalar(before[name]), "$removed") if name in before else None
        new = Content.styled(scalar(after[name]), "$added") if name in after else None
        lines += _beside(left, old, new, width)
    return lines


def _beside(left: Content, old: Content | None, new: Content | None, width: int) -> list[Line]:
    """Return ``old → new`` on one line if it fits, else on two lines."""
    if old is None or new is None:
        mark, value = ("- ", old) if new is None else ("+ ", new)
        room = width - left.cell_length - 2
        return [Content.assemble(left, mark, (value or BLANK).truncate(max(room, 8), ellipsis=True))]
    if left.cell_length + old.cell_length + new.cell_length + 3 <= width:
        return [Content.assemble(left, old, (" → ", "$faint"), new)]
    blank = " " * left.cell_length
    room = max(width - left.cell_length - 2, 8)
    first = Content.assemble(left, ("- ", "$removed"), old.truncate(room, ellipsis=True))
    return [first, Content.assemble(blank, ("+ ", "$added"), new.truncate(room, ellipsis=True))]


def outcomes(results: Iterable[Result], width: int, *, limit: int = ROWS) -> list[Line]:
    """Return the nodes grouped by outcome and reason. Changed nodes come last: they need no attention."""
    groups: dict[tuple[Outcome, str], list[str]] = {}
    for result in results:
        groups.setdefault((result.outcome, result.why), []).append(result.id)
    order = list(Outcome)
    lines: list[Line] = []
    shown = 0
    for (outcome, why), ids in sorted(groups.items(), key=lambda g: (-order.index(g[0][0]), g[0][1])):
        head = Content.assemble("  ", (f"{len(ids)} ", f"bold {INK[outcome]}"), (MEANS[outcome], INK[outcome]))
        lines.append(head)
        if why:
            lines += wrapped(why, width, "", 4)
        room = max(limit - shown, 0)
        lines += [plain(node_id, "$faint", 4) for node_id in ids[:room]]
        shown += len(ids[:room])
        if len(ids) > room:
            lines.append(plain(f"… and {len(ids) - room} more", "$faint", 4))
    return lines


def tally(results: Iterable[Result]) -> Content:
    """Return ``12 changed · 1 stale`` in the colours of the outcomes."""
    counts = Counter(result.outcome for result in results)
    parts = [Content.styled(f"{counts[o]} {o.value}", f"bold {INK[o]}") for o in Outcome if counts[o]]
    return Content(" · ").join(parts) if parts else Content.styled("none", "$faint")
