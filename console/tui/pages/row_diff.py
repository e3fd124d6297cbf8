"""Row differences and outcomes for the dry run, result and audit log pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from console.text.pages import row_diff
from console.text.pages.row_diff import MEANINGS, ROWS, STYLES
from console.tui.pages.lines import Line, plain, wrapped
from queries.model import Outcome, Result, RowChange


def differences(changes: Sequence[RowChange], width: int, *, limit: int = ROWS) -> list[Line]:
    """Return each changed row with its differing columns, before and after."""
    return [Content.assemble(*line) for line in row_diff.differences(changes, width, limit=limit)]


def outcomes(results: Iterable[Result], width: int, *, limit: int = ROWS) -> list[Line]:
    """Return the nodes grouped by outcome and reason.

    Changed nodes come last because they need no attention.
    """
    groups: dict[tuple[Outcome, str], list[str]] = {}
    for result in results:
        groups.setdefault((result.outcome, result.why), []).append(result.id)
    order = list(Outcome)
    lines: list[Line] = []
    shown = 0
    for (outcome, why), ids in sorted(groups.items(), key=lambda g: (-order.index(g[0][0]), g[0][1])):
        style = STYLES[outcome]
        lines.append(Content.assemble("  ", (f"{len(ids)} ", f"bold {style}"), (MEANINGS[outcome], style)))
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
    return Content.assemble(*row_diff.tally(results))
