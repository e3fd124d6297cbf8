"""Row differences, and words and styles of outcomes.

Used by dry runs, results and audit entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from console.text import formatting
from console.text.spans import UNLIMITED, Spans, between, crop, width
from console.text.views import document_diff
from console.text.views.document_diff import MISSING, document
from console.text.views.lines import command_lines, head, pairs, plain, titles, wrapped
from queries.records.action import Outcome, Result, RowChange, texts_of, titles_of
from queries.text.json_text import decoded
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
    Outcome.UNSENT: "unsent: the connection was lost before the commit",
    Outcome.LOST: "lost: committed, then undone by a failover",
    Outcome.UNKNOWN: "unknown: the server cannot say whether the commit happened",
}
NAME_CELLS = 24  # of a column's name; a longer one has a line of its own
PATHS_SHOWN = 20  # differing values of one document
VALUE_SHOWN = 65_536  # characters of a value that are printed; all of it is compared and kept
SAME_REFUSED = 20  # ids of nodes that are refused for one reason, all of them
ROWS_SHOWN = 200  # most rows shown of one action; the audit log keeps all of them


def differences(
    changes: Sequence[RowChange],
    cells: int = UNLIMITED,
    *,
    limit: int = ROWS_SHOWN,
    titles: Mapping[str, str] = {},
) -> list[Spans]:
    """Return each changed row with its differing columns, before and after.

    Lines have at most ``cells`` cells. ``titles``: of the nodes, by id.
    """
    lines: list[Spans] = []
    node = None
    for change in (each.read() for each in changes[:limit]):
        if change.id != node:
            if node is not None:
                lines.append([])
            lines += named(change.id, titles.get(change.id, ""), cells, 2)
            node = change.id
        lines += _row(change, cells)
    if len(changes) > limit:
        lines.append(plain(f"… and {len(changes) - limit} more rows", "$faint"))
    return lines


def named(node_id: str, title: str, cells: int, indent: int) -> list[Spans]:
    """Return the title of a node and its id, on two lines if they are long.

    The id of a node without a known title is alone.
    """
    if not title:
        return [plain(node_id, "bold", indent)]
    name, id_ = plain(title, "bold", indent), safe_text(node_id)
    if width(name) + 2 + formatting.width(id_) <= cells:
        return [[*name, (f"  {id_}", "$faint")]]
    return [crop(name, cells), plain(node_id, "$faint", indent + 2)]


def _row(change: RowChange, cells: int) -> list[Spans]:
    word, style = _word(change)
    head: Spans = [("    ", ""), (word, style), (f" {safe_text(change.table)} ", "")]
    key = formatting.crop(safe_text(change.key), max(cells - width(head), 8))
    return [[*head, (key, "$faint")], *_columns(change, cells)]


def _word(change: RowChange) -> tuple[str, str]:
    if change.before is None:
        return "inserted", "$added"
    return ("deleted", "$removed") if change.after is None else ("changed", "$accent")


def _columns(change: RowChange, cells: int) -> list[Spans]:
    values = [value for name in change.columns for value in _values(change, name)]
    room = min(max((formatting.width(name) for name, _, _ in values), default=0), NAME_CELLS)
    lines: list[Spans] = []
    for name, old, new in values:
        if formatting.width(name) > room:
            lines.append(plain(formatting.crop(name, cells - 6), "$faint", 6))
            name = ""
        margin: Spans = [("      ", ""), (formatting.fit(safe_text(name), room), "$faint"), ("  ", "")]
        lines += _beside(margin, old, new, cells)
    return lines


def _values(change: RowChange, column: str) -> list[tuple[str, str | None, str | None]]:
    """Return a column, or each differing path of a document, with its values."""
    before, after = ((row or {}).get(column, MISSING) for row in (change.before, change.after))
    was, now = document(before), document(after)
    changes = list(document_diff.differences(was, now, column)) if was is not None and now is not None else []
    if not changes:  # equal except for the order of keys, or no documents
        return [(column, _text(before if was is None else was), _text(after if now is None else now))]
    shown = [(path, _text(old), _text(new)) for path, old, new in changes[:PATHS_SHOWN]]
    more = len(changes) - PATHS_SHOWN
    return [*shown, (column, None, f"and {more} more differences")] if more > 0 else shown


def _text(value: object) -> str | None:
    if value is MISSING:
        return None
    value = document_diff.readable(value) if isinstance(value, str) else value
    text = document_diff.large(value) or formatting.scalar(value)
    return text if len(text) <= VALUE_SHOWN else f"{text[:VALUE_SHOWN]}…"


def _beside(margin: Spans, old: str | None, new: str | None, cells: int) -> list[Spans]:
    start = width(margin)
    room = max(cells - start - 2, 8)
    if old is None or new is None:
        mark, value, style = ("- ", old, "$removed") if new is None else ("+ ", new, "$added")
        return [[*margin, (mark, ""), (formatting.crop(value or "", room), style)]]
    if start + formatting.width(old) + formatting.width(new) + 3 <= cells:
        return [[*margin, (old, "$removed"), (" → ", "$faint"), (new, "$added")]]
    return [
        [*margin, ("- ", "$removed"), (formatting.crop(old, room), "$removed")],
        [(" " * start, ""), ("+ ", "$added"), (formatting.crop(new, room), "$added")],
    ]


def stored(changes: Sequence[RowChange], cells: int, titles: Mapping[str, str]) -> list[Spans]:
    """Return each changed row with the whole stored values of its differing columns."""
    lines: list[Spans] = []
    node = None
    for change in changes:
        lines += named(change.id, titles.get(change.id, ""), cells, 2) if change.id != node else []
        node = change.id
        lines += wrapped(f"{_word(change)[0]} {change.table} {change.key}", cells, "", 4)
        was, now = texts_of(change.before), texts_of(change.after)
        values: list[tuple[str, str | Spans]] = []
        for name in change.columns:
            sides = (("-", was.get(name), "$removed"), ("+", now.get(name), "$added"))
            shown: list[Spans] = [[(f"{mark} {_whole(raw)}", ink)] for mark, raw, ink in sides if raw is not None]
            values += zip((name, ""), shown, strict=False)
        lines += pairs(values, cells, 6)
    return lines


def _whole(raw: msgspec.Raw) -> str:
    text = bytes(raw).decode(errors="replace")
    value = decoded(text) if text[:1] in ('"', "n") else text  # of a number with all digits
    return document_diff.readable(value) if isinstance(value, str) else formatting.scalar(value)


def tally(results: Iterable[Result]) -> Spans:
    """Return ``12 changed · 1 stale`` in the styles of the outcomes."""
    counts = Counter(result.outcome for result in results)
    numbers = ([(f"{counts[o]} {o.value}", f"bold {STYLES[o]}")] for o in Outcome if counts[o])
    return between(numbers, " · ") or [("none", "$faint")]


def outcomes(
    results: Iterable[Result], cells: int, *, limit: int = ROWS_SHOWN, below: Container[str] = ()
) -> list[Spans]:
    """Return the nodes grouped by outcome and reason.

    Changed nodes come last because they need no attention. At most ``limit`` ids are listed; 0 for the counts alone.
    ``below``: nodes that are named below anyway, and not listed if nothing more is known of them.
    """
    groups: dict[tuple[Outcome, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.outcome, result.why), []).append(result)
    order = list(Outcome)
    lines: list[Spans] = []
    for (outcome, why), nodes in sorted(groups.items(), key=lambda g: (-order.index(g[0][0]), g[0][1])):
        style = STYLES[outcome]
        number: Spans = [("  ", ""), (f"{len(nodes)} ", f"bold {style}"), (MEANINGS[outcome], style)]
        by_id = titles_of(nodes)
        lines.append(head(number, titles(by_id, by_id) if below else "", [], cells))
        lines += wrapped(why, cells, "", 4) if why else []
        nodes = [each for each in nodes if each.id not in below or each.detail or each.commands]
        most = min(limit, SAME_REFUSED) if outcome is Outcome.REFUSED and len(groups) == 1 else limit
        for each in nodes[:most]:
            lines += named(each.id, each.name, cells, 4)
            lines += wrapped(each.detail, cells, "$faint", 6) if isinstance(each.detail, str) else []
            lines += command_lines(each.commands or {}, 6)
        if most and len(nodes) > most:
            lines.append(plain(f"… and {len(nodes) - most} more", "$faint", 4))
        limit = max(limit - len(nodes), 0)
    return lines
