"""A change in at most three lines: its nodes and what their rows have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from console.text import formatting
from console.text.spans import Spans, crop, width, wrap
from queries.records.action import RowChange
from queries.text.counted import counted
from queries.text.safe_text import safe_text

COLUMNS_SHOWN = 3  # differing columns of a table
TITLES_SHOWN = 3
VALUE_CELLS = 24  # of a value that rows have in common
LINES_SHOWN = 2  # lines about the rows


def titles(ids: Iterable[str], by_id: Mapping[str, str]) -> str:
    """Return the titles of nodes, equal ones once.

    ``SendEmail v2 (3), Invoice v1 and 4 more``
    """
    every = list(ids)
    counts = Counter(by_id[id_] for id_ in every if by_id.get(id_))
    shown = counts.most_common(TITLES_SHOWN)
    others = len(every) - sum(number for _, number in shown)
    text = ", ".join(title if number == 1 else f"{title} ({number})" for title, number in shown)
    return safe_text(text + (f" and {others} more" if text and others else ""))


def head(verdict: Spans, whom: str, others: Spans, cells: int) -> Spans:
    """Return a verdict, the titles ``whom``, and ``others``. The titles are cut first."""
    room = cells - width(verdict) - width(others) - 2
    named: Spans = [(": ", ""), (formatting.crop(whom, room), "bold")] if whom and room > 8 else []
    return [*verdict, *named, *others]


def summary(changes: Sequence[RowChange], cells: int) -> list[Spans]:
    """Return how rows change, by what they have in common.

    ``status Blocked → Available; 1 row of task_timer each deleted``
    """
    lines = wrap([(safe_text("; ".join(_parts(changes))), "")], max(cells - 2, 8))
    shown = [[("  ", ""), *line] for line in lines[:LINES_SHOWN]] if changes else []
    if len(lines) > LINES_SHOWN:
        shown[-1] = crop([*shown[-1], (" …", "")], cells)
    return shown


def _parts(changes: Sequence[RowChange]) -> list[str]:
    """Return one part for each table and kind of change, changed rows first."""
    nodes = {change.id for change in changes}
    kinds: dict[tuple[int, str], list[RowChange]] = {}
    for change in changes:
        kind = 2 if change.before is None else 1 if change.after is None else 0
        kinds.setdefault((kind, change.table), []).append(change)
    several = sum(kind == 0 for kind, _ in kinds) > 1
    parts = []
    for (kind, table), rows in sorted(kinds.items(), key=lambda each: each[0][0]):
        each = Counter(row.id for row in rows)
        alike = each.keys() == nodes and len(set(each.values())) == 1
        number = next(iter(each.values())) if alike else len(rows)
        them = f"{counted(number, 'row')} of {table}{' each' * (alike and len(nodes) > 1)}"
        if kind:
            parts.append(f"{them} {('deleted', 'inserted')[kind - 1]}")
        else:
            parts.append(f"{f'{them}: ' * (several or number > 1 or not alike)}{_columns(rows)}")
    return parts


def _columns(rows: Sequence[RowChange]) -> str:
    """Return the differing columns, those of which all rows change one word first."""
    values: dict[str, set[tuple[str, str]]] = {}
    for row in (each.read() for each in rows):
        before, after = row.before or {}, row.after or {}
        for name in row.columns:
            pair = formatting.scalar(before.get(name)), formatting.scalar(after.get(name))
            values.setdefault(name, set()).add(pair)
    common = {name: pairs.copy().pop() if len(pairs) == 1 else None for name, pairs in values.items()}
    short = {name: pair for name, pair in common.items() if pair and max(map(len, pair)) <= VALUE_CELLS}
    words = [name for name, pair in short.items() if all(_is_word(value) for value in pair)]
    order = [*words, *(name for name in short if name not in words), *(name for name in values if name not in short)]
    shown = [f"{name} {short[name][0]} → {short[name][1]}" if name in short else name for name in order[:COLUMNS_SHOWN]]
    return ", ".join(shown) + (f" and {len(order) - COLUMNS_SHOWN} more columns" if len(order) > COLUMNS_SHOWN else "")


def _is_word(value: str) -> bool:
    return value.replace("_", "").replace(" ", "").isalpha()
