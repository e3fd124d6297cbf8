"""The nodes of a change on one line: their titles, with what happens to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from console.text import formatting
from console.text.spans import Spans, width
from queries.contract.spec import TITLE_END
from queries.records.node import split_id
from queries.text.safe_text import safe_text

TITLES_SHOWN = 3


def titles(ids: Iterable[str], by_id: Mapping[str, str], most: int = TITLES_SHOWN) -> str:
    """Return the titles of nodes: ``10 ChargeCard v2, Invoice v1, 4 more``.

    Those of several nodes are without keys and progress.
    """
    every = list(ids)
    if len(every) == 1:
        return safe_text(by_id.get(every[0], ""))
    counts = Counter(_name(id_, by_id[id_]) for id_ in every if by_id.get(id_))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ordered[: most if counts.total() > len(counts) else TITLES_SHOWN]
    others = len(every) - sum(number for _, number in shown)
    parts = [name if number == 1 else f"{number:,} {name}" for name, number in shown]
    return safe_text(", ".join([*parts, *([f"{others:,} more"] if parts and others else [])]))


def _name(node_id: str, title: str) -> str:
    name = title.removesuffix(split_id(node_id)[2]).rstrip() or title
    return name.rpartition(TITLE_END)[0] or name


def head(verdict: Spans, whom: str, others: Spans, cells: int) -> Spans:
    """Return a verdict, the titles ``whom``, and ``others``. The titles are cut first."""
    room = cells - width(verdict) - width(others) - 2
    named: Spans = [(": ", ""), (formatting.crop(whom, room), "bold")] if whom and room > 8 else []
    return [*verdict, *named, *others]
