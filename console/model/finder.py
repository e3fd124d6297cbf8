"""One search in all engines: what was found so far, and what still runs. UI-free."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

import msgspec

from console.model.filter import Filter
from console.model.flat_list import MAX_CHILDREN
from console.model.selection import may_match, select
from console.text import formatting
from queries.db.errors import DatabaseError, attempted
from queries.read.reader import Reader
from queries.read.search import RANKS, Sought, only, search, sought
from queries.records.node import Hit, Hits, Match, Node

NODES_FOUND = MAX_CHILDREN  # of an engine, by a filter
ALL_NODES = "all nodes"


class Finder:
    """A search for a text, or for the nodes that match a filter.

    Methods that read may raise DatabaseError.

    ``large``: in values of any size.
    """

    def __init__(self, wanted: str | Filter) -> None:
        self.text = str(wanted)
        self.filter = wanted if isinstance(wanted, Filter) else None
        self.large = False
        self.query: Sought | None = None
        self.answers: dict[str, Hits] = {}
        self.waiting: tuple[str, ...] = ()
        self.unread: dict[str, str] = {}  # why the last refresh did not read the nodes of an engine
        self.gone: dict[str, str] = {}  # that a node was not found by the last refresh, by its id
        self.ended = False

    @property
    def hits(self) -> list[Hit]:
        """All hits, the surest first."""
        hits = [hit for answer in self.answers.values() for hit in answer.hits]
        return sorted(hits, key=lambda hit: RANKS[hit.matched])

    @property
    def capped(self) -> bool:
        """True if an engine has, or may have, more hits."""
        looked = {"", ALL_NODES} if self.filter is not None else None
        return any(a.capped or (looked and a.searched not in looked) for a in self.answers.values())

    @property
    def partial(self) -> bool:
        """True if values are too large to be searched unasked."""
        return any(answer.partial for answer in self.answers.values())

    @property
    def certain(self) -> Node | None:
        """The node that was searched for, if it is certain."""
        return only(self.answers.values()) if self.ended else None

    async def run(self, readers: Mapping[str, Reader], came: Callable[[], None]) -> None:
        """Search once. ``came`` is called after each answer."""
        self.waiting, self.answers, self.ended = tuple(readers), {}, False
        if self.filter is None:
            self.query = sought(self.text, readers.values())
            answers = search(readers, self.query, large=self.large)
        else:
            answers = _matching(readers, self.filter)
        async for answer in answers:
            self.answers[answer.engine] = answer
            self.waiting = tuple(label for label in self.waiting if label != answer.engine)
            came()
        self.waiting, self.ended = (), True

    async def refresh(self, readers: Mapping[str, Reader]) -> float | None:
        """Read the found nodes again. Return the server time; None if nothing was read.

        Nodes that were not read, and nodes that are gone, keep their last state.
        """
        self.unread, at = {}, None
        for label, answer in self.answers.items():
            ids, reader = [hit.node.id for hit in answer.hits], readers.get(label)
            page = await attempted(reader.nodes.read(ids)) if reader and ids else None
            if isinstance(page, DatabaseError):
                self.unread[label] = page.line
            elif reader is None:
                self.unread[label] = "the engine is not there any more."
            elif page is not None:
                nodes, gone = {node.id: node for node in page.nodes}, reader.detected.policies
                self.gone |= {i: "" if i in nodes else formatting.absent("no longer exists", gone) for i in ids}
                hits = tuple(msgspec.structs.replace(h, node=nodes.get(h.node.id, h.node)) for h in answer.hits)
                self.answers[label] = msgspec.structs.replace(answer, hits=hits, at=page.at)
                at = max(at or 0.0, page.at)
        return at


async def _matching(readers: Mapping[str, Reader], filter: Filter) -> AsyncIterator[Hits]:
    for label, reader in readers.items():
        if not may_match(filter, label):
            continue
        selection = await attempted(select(reader, filter, NODES_FOUND))
        if isinstance(selection, DatabaseError):
            yield Hits(engine=label, unreadable=selection.line)
        else:
            hits = tuple(Hit(node=node, matched=Match.FILTER) for node in selection.nodes)
            searched = ", but ".join((ALL_NODES, *selection.missing))
            yield Hits(engine=label, hits=hits, at=selection.at, capped=selection.cut, searched=searched)
