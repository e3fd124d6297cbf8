"""Lines about the owners of nodes: dead or alive, by their witnesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from console.text.spans import Spans, between
from console.text.views.lines import pairs, plain
from queries.records.action import Owner, Result, Verdict
from queries.text.safe_text import safe_text

WORDS = {
    Verdict.ALIVE: ("may live", "bold $warning"),
    Verdict.UNKNOWN: ("not known", "$faint"),
    Verdict.DEAD: ("dead", "$success"),
}


def owners(results: Iterable[Result], cells: int, *, limit: int) -> list[Spans]:
    """Return verdicts about owners with their witnesses, living owners first.

    With more than ``limit`` nodes, or if the witnesses were only counted, the verdicts are counted.
    """
    owned = [(r.name or r.id, r.owner) for r in results if isinstance(r.owner, Owner)]
    order = list(WORDS)
    owned.sort(key=lambda pair: order.index(pair[1].verdict))
    lines = [_tally(owner for _, owner in owned)] if len(owned) > 1 else []
    counted = not any(owner.witnesses for _, owner in owned)
    shown = [pair for pair in owned if not counted or pair[1].verdict is Verdict.ALIVE][:limit]
    for name, owner in shown:
        lines.append([("  ", ""), (safe_text(owner.summary), f"bold {WORDS[owner.verdict][1].removeprefix('bold ')}")])
        lines[-1] += [(f"  {safe_text(name)}", "$faint")] if len(owned) > 1 else []
        lines += pairs([(w.name, _said(w.verdict, w.detail)) for w in owner.witnesses], cells, 4)
    total = sum(owner.verdict is Verdict.ALIVE for _, owner in owned) if counted else len(owned)
    if total > len(shown):
        lines.append(plain(f"… and {total - len(shown)} more nodes", "$faint"))
    return lines


def _said(verdict: Verdict, detail: str) -> Spans:
    word, style = WORDS[verdict]
    if detail.startswith("not recorded"):
        return [(safe_text(detail), style)]
    return [(f"{'alive' if verdict is Verdict.ALIVE else word}", style), (f": {safe_text(detail)}", "")]


def _tally(owned: Iterable[Owner]) -> Spans:
    """Return ``owners: 2 may live · 40 dead``."""
    counts = Counter(owner.verdict for owner in owned)
    numbers = ([(f"{counts[verdict]} {word}", style)] for verdict, (word, style) in WORDS.items() if counts[verdict])
    return [("  owners: ", ""), *between(numbers, " · ")]
