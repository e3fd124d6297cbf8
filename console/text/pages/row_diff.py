"""Row differences, and words and styles of outcomes.

Used by dry runs, results and audit entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from console.text import formatting
from console.text.pages.lines import command_lines, plain, wrapped
from console.text.spans import UNLIMITED, Spans, width
from queries.records.action import Outcome, Result, RowChange
from queries.text.safe_text import safe_text

STYLES = {
    Outcome.CHANGED: "$success",
    Outcome.STALE: "$warning",
    Outcome.GONE: "$faint",
    Outcome.LOCKED: "$warning",
    Outcome.REFUSED: "$warning",
    Outcome.DENIED: "$error",
    Outcome.CONFLICT: "$error",
    Outcome.UNSENT: "$warning",
    Outcome.LOST: "bold $error",
    Outcome.UNKNOWN: "bold $error",
}
MEANINGS = {
    Outcome.CHANGED: "changed",
    Outcome.STALE: "stale: changed by another session since you saw it",
    Outcome.GONE: "gone: no longer exists",
    Outcome.LOCKED: "locked by another transaction",
    Outcome.REFUSED: "refused",
    Outcome.DENIED: "denied: a privilege is missing",
    Outcome.CONFLICT: "conflict: the database aborted the transaction",
    Outcome.UNSENT: "unsent: the connection was lost before the commit, nothing was changed",
    Outcome.LOST: "lost: committed, then undone by a failover",
    Outcome.UNKNOWN: "unknown: the server cannot say whether the commit happened",
}
ROWS_SHOWN = 200  # most rows shown of one action; the audit log keeps all of them


def differences(changes: Sequence[RowChange], cells: int = UNLIMITED, *, limit: int = ROWS_SHOWN) -> list[Spans]:
    """Return each changed row with its differing columns, before and after.

    Lines have at most ``cells`` cells.
    """
    lines: list[Spans] = []
    node = None
    for change in (each.read() for each in changes[:limit]):
        if change.id != node:
            if node is not None:
                lines.append([])
            lines.append([("  ", ""), (safe_text(change.id), "bold")])
            node = change.id
        lines += _row(change, cells)
    if len(changes) > limit:
        lines.append(plain(f"… and {len(changes) - limit} more rows", "$faint"))
    return lines


def _row(change: RowChange, cells: int) -> list[Spans]:
    if change.before is None:
        word, style = "inserted", "$added"
    elif change.after is None:
        word, style = "deleted", "$removed"
    else:
        word, style = "changed", "$accent"
    head: Spans = [("    ", ""), (word, style), (f" {safe_text(change.table)} ", "")]
    key = formatting.crop(safe_text(change.key), max(cells - width(head), 8))
    return [[*head, (key, "$faint")], *_columns(change, cells)]


def _columns(change: RowChange, cells: int) -> list[Spans]:
    before, after, names = change.before or {}, change.after or {}, change.columns
    room = min(max(map(formatting.width, names), default=0), 24)
    lines: list[Spans] = []
    for name in names:
        left: Spans = [("      ", ""), (formatting.fit(safe_text(name), room), "$faint"), ("  ", "")]
        old = formatting.scalar(before[name]) if name in before else None
        new = formatting.scalar(after[name]) if name in after else None
        lines += _beside(left, old, new, cells)
    return lines


def _beside(left: Spans, old: str | None, new: str | None, cells: int) -> list[Spans]:
    """Return ``old → new`` on one line if it fits, else on two lines."""
    start = width(left)
    room = max(cells - start - 2, 8)
    if old is None or new is None:
        mark, value, style = ("- ", old, "$removed") if new is None else ("+ ", new, "$added")
        return [[*left, (mark, ""), (formatting.crop(value or "", room), style)]]
    if start + formatting.width(old) + formatting.width(new) + 3 <= cells:
        return [[*left, (old, "$removed"), (" → ", "$faint"), (new, "$added")]]
    return [
        [*left, ("- ", "$removed"), (formatting.crop(old, room), "$removed")],
        [(" " * start, ""), ("+ ", "$added"), (formatting.crop(new, room), "$added")],
    ]


def tally(results: Iterable[Result]) -> Spans:
    """Return ``12 changed · 1 stale`` in the styles of the outcomes."""
    counts = Counter(result.outcome for result in results)
    spans: Spans = []
    for outcome in Outcome:
        if counts[outcome]:
            spans += [(" · ", "")] if spans else []
            spans.append((f"{counts[outcome]} {outcome.value}", f"bold {STYLES[outcome]}"))
    return spans or [("none", "$faint")]


def outcomes(results: Iterable[Result], cells: int, *, limit: int = ROWS_SHOWN) -> list[Spans]:
    """Return the nodes grouped by outcome and reason.

    Changed nodes come last because they need no attention. At most ``limit`` ids are listed; 0 for the counts alone.
    """
    groups: dict[tuple[Outcome, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.outcome, result.why), []).append(result)
    order = list(Outcome)
    lines: list[Spans] = []
    for (outcome, why), nodes in sorted(groups.items(), key=lambda g: (-order.index(g[0][0]), g[0][1])):
        style = STYLES[outcome]
        lines.append([("  ", ""), (f"{len(nodes)} ", f"bold {style}"), (MEANINGS[outcome], style)])
        lines += wrapped(why, cells, "", 4) if why else []
        for each in nodes[:limit]:
            lines.append(plain(each.id, "$faint", 4))
            lines += wrapped(each.detail, cells, "$faint", 6) if isinstance(each.detail, str) else []
            lines += command_lines(each.commands or {}, 6)
        if limit and len(nodes) > limit:
            lines.append(plain(f"… and {len(nodes) - limit} more", "$faint", 4))
        limit = max(limit - len(nodes), 0)
    return lines
