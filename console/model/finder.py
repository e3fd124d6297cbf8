"""One search in all engines: what was found so far, and what still runs. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from queries.read.reader import Reader
from queries.read.search import RANKS, Sought, only, search, sought
from queries.records.node import Hit, Hits, Node


class Finder:
    """A search for ``text``. Methods that read may raise DatabaseError.

    ``large``: in values of any size.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.large = False
        self.query: Sought | None = None
        self.answers: dict[str, Hits] = {}
        self.waiting: tuple[str, ...] = ()
        self.ended = False

    @property
    def hits(self) -> list[Hit]:
        """All hits, the surest first."""
        hits = [hit for answer in self.answers.values() for hit in answer.hits]
        return sorted(hits, key=lambda hit: RANKS[hit.matched])

    @property
    def capped(self) -> bool:
        """True if an engine has more hits."""
        return any(answer.capped for answer in self.answers.values())

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
        self.query = sought(self.text, readers.values())
        self.waiting, self.answers, self.ended = tuple(readers), {}, False
        async for answer in search(readers, self.query, large=self.large):
            self.answers[answer.engine] = answer
            self.waiting = tuple(label for label in self.waiting if label != answer.engine)
            came()
        self.waiting, self.ended = (), True

    async def refresh(self, readers: Mapping[str, Reader]) -> float:
        """Read the found nodes again. Return the server time, 0 without hits.

        Nodes that no longer exist keep their last state.
        """
        at = 0.0
        for label, answer in list(self.answers.items()):
            if label not in readers or not answer.hits:
                continue
            page = await readers[label].nodes.read([hit.node.id for hit in answer.hits])
            nodes = {node.id: node for node in page.nodes}
            hits = tuple(msgspec.structs.replace(h, node=nodes.get(h.node.id, h.node)) for h in answer.hits)
            self.answers[label] = msgspec.structs.replace(answer, hits=hits)
            at = max(at, page.at)
        return at
