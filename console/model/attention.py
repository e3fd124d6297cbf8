"""The tree that is shown first, and its order: attention, running, waiting, ended."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from queries.read.reader import Reader
from queries.records.finding import Incident
from queries.records.node import Node, Phase

if TYPE_CHECKING:
    from console.config import Context

ANCESTOR_LEVELS = 10  # of ancestors that are read; nodes that are deeper in the tree stay in their pages
RANKS = {Phase.FAILED: 1, Phase.RUNNING: 2, Phase.CANCELLED: 4, Phase.DONE: 4}
WAITING_RANK = 3

Rank = tuple[int, int]
NOTHING: Mapping[str, int] = {}


def in_front(engines: Mapping[str, Reader], context: Context | None, incidents: Iterable[Incident] = ()) -> str | None:
    """Return the label of the engine shown first.

    That is the context's, else that of the worst of these incidents, else the first one.
    """
    name = context.engine if context else ""
    forms = {label: (label, reader.detected.full, reader.engine.name) for label, reader in engines.items()}
    worst = (incident.engine for incident in incidents if incident.engine in engines)
    chosen = (label for label in engines if name in forms[label])
    return next(chosen, next(worst, next(iter(engines), None)))


def rank(node: Node, worst: Mapping[str, int] = NOTHING) -> Rank:
    """Return by what a node is sorted among its siblings.

    ``worst``: the places of nodes that need attention, or have such nodes below, the worst first.
    """
    place = worst.get(node.id)
    return (RANKS.get(node.phase, WAITING_RANK), 0) if place is None else (0, place)


async def with_ancestors(reader: Reader, nodes: Sequence[Node], cache: Mapping[str, Node]) -> dict[str, Node]:
    """Read the ancestors of these nodes, each level at once, and return all by id.

    Those in ``cache`` are not read again. Raises DatabaseError.
    """
    by_id = {**cache, **{node.id: node for node in nodes}}
    level = list(nodes)
    for _ in range(ANCESTOR_LEVELS):
        unread = dict.fromkeys(node.parent_id for node in level if node.parent_id and node.parent_id not in by_id)
        if not unread:
            break
        level = list((await reader.nodes.read(unread)).nodes)
        by_id |= {node.id: node for node in level}
    return by_id


def line(id_: str, nodes: Mapping[str, Node], tops: Container[str]) -> list[Node]:
    """Return the ancestors of a node from the top, and the node itself.

    Return [] if an ancestor is missing, the data has a loop, or the first one is not of a kind in ``tops``.
    """
    ancestors: dict[str, Node] = {}
    at: str | None = id_
    while at is not None:
        node = nodes.get(at)
        if node is None or at in ancestors:
            return []
        ancestors[at] = node
        at = node.parent_id
    way = list(reversed(ancestors.values()))
    return way if way and way[0].kind in tops else []
