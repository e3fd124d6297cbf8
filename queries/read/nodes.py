"""Nodes of an engine by their ids, and counts of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.detect import DetectedEngine
from queries.contract.rows import (
    TIMES,
    NodeKey,
    NodeRow,
    counts_of,
    json_kinds,
    phase_of,
    phases_of,
    short,
    verify,
    why_not,
)
from queries.contract.variant import EngineVariant
from queries.db.errors import UnreadableError, readable
from queries.db.query import Query, Rows
from queries.db.reads import Reads
from queries.files.statement import Statement
from queries.records.node import Count, Node, Page, Phase, Precision

PAGE_NODES = 100  # of a page of roots, children or unfinished nodes
NODES_AT_ONCE = 500  # that a caller reads or compares at once by their ids
IDS = ("id", "parent_id", "job_id")  # columns with an id, to which the engine's label is added
RELATIONS = ("parent", "descendant", "waiter", "sibling")
NO_RELATED = "unstick does not know what else depends on nodes of this engine"
CACHED_ROWS = 20_000  # ctids of rows: of the largest tree on screen; about 5 MB


class NodeIds:
    """Ids of an engine's nodes, with and without the names of the engine."""

    def __init__(self, detected: DetectedEngine) -> None:
        self._label = detected.label
        self._labels = frozenset((detected.label, detected.full, detected.engine.name))
        self._engine = detected.engine

    def owns(self, node_id: str) -> bool:
        """Return True if an id begins with one of the engine's names and one of its kinds."""
        label, _, local = node_id.partition("/")
        return label in self._labels and self._engine.kind(local.partition(":")[0]) is not None

    def local(self, node_id: str) -> str:
        """Return ``kind:key`` of an id of this engine, for each form of its label."""
        label, _, local = node_id.partition("/")
        return local if label in self._labels else node_id

    def full(self, local: str) -> str:
        """Return the id of a node, given as ``kind:key``."""
        return f"{self._label}/{local}"

    def present(self, node_id: str) -> str:
        """Return an id of this engine with the present label."""
        return self.full(self.local(node_id))


class CtidCache:
    """ctids by node id, at most ``CACHED_ROWS``; the least recently read are dropped.

    With them a refresh can fetch rows by TID instead of by index. A row of ``nodes.sql`` may have a ``place``, its
    ctid. The next statement about its node has it in ``places``. Another row or none may be at that place by then, so
    the statement compares ids and finds the remaining rows by index.
    """

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def note(self, id_: str, place: str | None) -> None:
        """Store the ctid of a node; None removes it."""
        self._places.pop(id_, None)
        if place is not None:
            self._places[id_] = place
        if len(self._places) > CACHED_ROWS:
            del self._places[next(iter(self._places))]

    def of(self, ids: Iterable[str]) -> list[str]:
        """Return the known ctids of these nodes."""
        return [self._places[id_] for id_ in ids if id_ in self._places]


class NodeReader:
    """Nodes of one engine."""

    def __init__(self, variant: EngineVariant, ids: NodeIds) -> None:
        self._variant, self._ids = variant, ids
        self._places = CtidCache()
        self.phases = phases_of(variant.engine.spec.statuses)

    async def read(self, ids: Iterable[str]) -> Page:
        """Read the current state of these nodes, in this order.

        Nodes that do not exist are omitted.
        """
        local = [self._ids.local(i) for i in ids]
        async with self._variant.reading() as transaction:
            return await self.among(transaction, local)

    async def above(self, node: Node, tops: Container[str] = (), most: int = PAGE_NODES) -> tuple[Node, ...]:
        """Read the ancestors of a node, parent first.

        At most ``most`` ancestors, and none above an id in ``tops``.
        """
        ancestors: list[Node] = []
        async with self._variant.reading() as transaction:
            while (parent := (ancestors or [node])[-1].parent_id) is not None and len(ancestors) < most:
                nodes = (await self.among(transaction, [self._ids.local(parent)])).nodes
                ancestors += nodes
                if not nodes or parent in tops:
                    break
        return tuple(ancestors)

    async def counts(self) -> tuple[Count, ...]:
        """Count the nodes in each phase."""
        await self._variant.recognise(again=True)
        async with self._variant.reading() as transaction:
            rows = await self._variant.rows(transaction, "counts", self._variant.needed("counts"))
        with readable("counts.sql"):
            counts = counts_of(rows, self.phases)
        if self._variant.detected.newer:  # no statement counts the statuses of a newer release
            counts = (*counts, Count(phase=Phase.UNKNOWN, n=None, precision=Precision.UNKNOWN))
        if self._variant.detected.policies:  # policies may hide more
            least = Precision.CAPPED
            return tuple(
                msgspec.structs.replace(c, precision=least) if c.precision is Precision.EXACT else c for c in counts
            )
        return counts

    async def existing(self, source: Reads, ids: Iterable[str]) -> tuple[Node, ...]:
        """Return those of these nodes that exist. Raises DatabaseError."""
        return (await self.among(source, [self._ids.local(i) for i in ids])).nodes

    async def related_of(self, source: Reads, ids: Sequence[str], most: int) -> Rows:
        """Return related nodes, at most ``most`` for each relation. Raises DatabaseError.

        ``id`` is None where not all are known, and ``note`` says why.
        """
        chosen = self._variant.select("related")
        if chosen is None:
            return [{"id": None, "relation": each, "note": NO_RELATED} for each in RELATIONS]
        local = [self._ids.local(i) for i in ids]
        rows = await self._variant.rows(source, "related", chosen, ids=local, limit=most)
        return [{**row, "id": None if row["id"] is None else self._ids.full(row["id"])} for row in rows]

    async def moved(self, ids: Sequence[str]) -> frozenset[str]:
        """Return which of these nodes are past the place where they had died.

        None in an engine without ``progress.sql``. Raises DatabaseError.
        """
        chosen = self._variant.select("progress")
        if chosen is None:
            return frozenset()
        local = [self._ids.local(i) for i in ids]
        async with self._variant.reading() as transaction:
            rows = await self._variant.rows(transaction, "progress", chosen, ids=local, places=self._places.of(local))
        return frozenset(self._ids.full(row["id"]) for row in rows)

    def parameters_of(self, local: Sequence[str]) -> dict[str, Any]:
        """Return the parameters of a statement about nodes.

        ``local``: their ids without a label. The places of their rows are those that were read last.
        """
        return self._variant.parameters(ids=local, places=self._places.of(local))

    async def among(self, source: Reads, local: Sequence[str], given: Rows = ()) -> Page:
        """Read nodes in a transaction that has begun.

        ``local``: their ids without a label. ``given``: rows of nodes that are not read again.
        """
        given_ids = {row["id"] for row in given}
        queries = self._queries([i for i in local if i not in given_ids])
        rows = [*given]
        for query, answer in zip(queries, await source.batch(queries), strict=True):
            verify(answer, NodeKey, query.statement.source)
            rows += answer
        at = float(rows[0]["now"]) if rows else await source.now()
        return Page(nodes=self._nodes_of(rows, local), at=at)

    def _nodes_of(self, rows: Rows, local: Sequence[str]) -> tuple[Node, ...]:
        """Return the nodes of rows in the order of ``local``.

        The server may spell a key differently than the operator typed it. Such a node comes last, and once.
        """
        by_id = {row["id"]: row for row in rows if isinstance(row["id"], str)}
        order = {id_: place for place, id_ in enumerate(dict.fromkeys([*local, *by_id]))}
        return tuple(self._node(by_id[id_]) for id_ in sorted(by_id, key=order.__getitem__))

    def _queries(self, local: Sequence[str]) -> list[Query]:
        """Return the statements that read these nodes, one for each sort of node.

        Kinds without tables have none.
        """
        sorts: dict[str, tuple[Statement, list[str]]] = {}
        for id_ in local:
            chosen = self._variant.select("nodes", kind=id_.partition(":")[0])
            if chosen is not None:
                sorts.setdefault(chosen.source, (chosen, []))[1].append(id_)
        json = json_kinds(NodeRow)
        return [Query(chosen, self.parameters_of(ids), json=json) for chosen, ids in sorts.values()]

    def _node(self, row: Mapping[str, Any]) -> Node:
        """Return a row as a node.

        A row with an invalid value becomes a node of unknown phase with the error.
        """
        self._places.note(row["id"], row.get("place"))
        try:
            with readable("its row"):
                return self._converted(row)
        except UnreadableError as error:
            chosen = self._variant.select("nodes", kind=row["id"].partition(":")[0])
            why = (why_not(row, NodeRow, chosen.source) or f"{short(chosen.source)}: {error.line}") if chosen else ""
            return Node(
                engine=self._variant.label,
                id=self._ids.full(row["id"]),
                kind=row["id"].partition(":")[0],
                title=row["id"],
                phase=Phase.UNKNOWN,
                version="",
                error=why or error.line,
            )

    def _converted(self, row: Mapping[str, Any]) -> Node:
        ids = {key: self._ids.full(row[key]) for key in IDS if row.get(key) is not None}
        # Times are text in JSON, which has no infinity.
        times = {key: float(row[key]) for key in TIMES if row.get(key) is not None}
        phase = phase_of(row, self.phases)
        return msgspec.convert({**row, **ids, **times, "phase": phase, "engine": self._variant.label}, Node)
