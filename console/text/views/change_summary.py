"""The nodes of a change on one line: their titles, with what happens to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from console.text import formatting
from console.text.spans import Spans, width
from queries.text.safe_text import safe_text

TITLES_SHOWN = 3


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
