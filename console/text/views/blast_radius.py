"""Lines about the blast radius of an action."""

from __future__ import annotations

from collections.abc import Mapping

from console.text.spans import Spans, link
from console.text.views.lines import pairs, titles
from queries.change.plan import count_nodes
from queries.records.action import BlastRadius, Reach
from queries.records.node import Precision, split_id
from queries.text.safe_text import safe_text

IDS_SHOWN = 3  # ids that a line shows
NAMES = {
    "becomes": "become",
    "appears": "appear",
    "disappears": "disappear",
    "follows": "ready under it",
    "begins": "finding begins",
    "ends": "finding ends",
    "parent": "parents",
    "descendant": "descendants",
    "waiter": "waiters",
    "sibling": "siblings",
}
STYLES = {"begins": "$warning", "ends": "$success"}
BEYOND = "beyond this database"


def blast_radius(radius: BlastRadius, cells: int, *, ids: bool = True) -> list[Spans]:
    """Return a line for each way of reaching nodes.

    The last one is about effects outside of the database. ``ids``: also show ids of nodes with a known title.
    """
    rows: list[tuple[str, str | Spans]] = []
    unread = [reach for reach in radius.reached if reach.code == "begins" and reach.n is None]
    if not any(reach.code in ("becomes", "appears", "disappears") for reach in radius.reached):
        rows.append(("status", "no node changes its phase"))
    alike: dict[str, list[Reach]] = {}
    for reach in radius.reached:
        if reach.n is None and reach not in unread:
            alike.setdefault(reach.note, []).append(reach)
    for reach in radius.reached:
        if reach.n is not None:
            rows.append((_name(reach), _value(reach, radius.titles, ids)))
        elif same := alike.pop(reach.note, None):
            rows.append((_name(reach), _unknown(reach, tuple(_name(each) for each in same[1:]))))
    for note in dict.fromkeys(reach.note for reach in unread):
        codes = ", ".join(reach.what.replace("_", " ") for reach in unread if reach.note == note)
        rows.append(("findings", f"not known for {codes}: {note}"))
    return pairs([*rows, (BEYOND, radius.beyond)], cells)


def _name(reach: Reach) -> str:
    return f"become {reach.what}" if reach.code == "becomes" and reach.what else NAMES[reach.code]


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _unknown(reach: Reach, others: tuple[str, ...]) -> Spans:
    """Return why a number is not known.

    ``others`` are the names of lines that are not known for the same reason.
    """
    return [(safe_text(f"not known{', nor are ' * bool(others)}{_listed(others)}: {reach.note}"), "$faint")]


def _value(reach: Reach, by_id: Mapping[str, str], ids: bool) -> Spans:
    """Return the number of nodes of each kind, then who they are."""
    line: Spans = []
    if reach.what and reach.code != "becomes":
        line = [(safe_text(reach.what.replace("_", " ")), STYLES.get(reach.code, "")), (": ", "")]
    line += [("at least " if reach.precision is Precision.CAPPED else "", ""), (_counted(reach), "bold")]
    named = titles(reach.ids, by_id)
    line += [(f"  {named}", "")] if named else []
    for place, node_id in enumerate(reach.ids[:IDS_SHOWN] if ids or not named else ()):
        line += [(", " if place else "  ", "$faint"), (safe_text(node_id), link(node_id, "$faint"))]
    line += [(" …", "$faint")] if (reach.n or 0) > IDS_SHOWN and (ids or not named) else []
    return [*line, (safe_text(f"  ({reach.note})"), "$faint")] if reach.note else line


def _counted(reach: Reach) -> str:
    number = reach.n or 0
    kinds: dict[str, list[str]] = {}
    for node_id in reach.ids:
        kinds.setdefault(split_id(node_id)[1], []).append(node_id)
    if len(reach.ids) < number or len(kinds) < 2:
        return count_nodes(number, reach.ids)
    return _listed(tuple(count_nodes(len(ids), ids) for ids in kinds.values()))
