"""Pages of an engine's nodes and dead letters.

A *which* statement gives ids in order, and ``nodes.sql`` reads these nodes in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.variant import EngineVariant
from queries.db.errors import DatabaseError, SlowError, readable
from queries.db.query import Rows
from queries.db.reads import IN_STEP, Reads, lockstep, value_of
from queries.read import dead_letters
from queries.read.nodes import PAGE_NODES, NodeIds, NodeReader
from queries.records.dead_letter import DeadLetters
from queries.records.node import Page, ScanRequired
from queries.text.json_text import decoded

BY_PARENT = "An index on the column of the parent and the key, in this order, serves the read of its children."


class PageReader:
    """Pages of one engine. All reads raise DatabaseError."""

    def __init__(self, variant: EngineVariant, ids: NodeIds, nodes: NodeReader) -> None:
        self._variant, self._ids, self._nodes = variant, ids, nodes

    async def roots(self, cursor: str | None = None, limit: int = PAGE_NODES) -> Page:
        """Read nodes at the top of the tree, after ``cursor``."""
        return await self._page("roots", cursor, limit)

    async def children(
        self, parent_id: str, cursor: str | None = None, limit: int = PAGE_NODES, *, allow_scan: bool = False
    ) -> Page:
        """Read the children of a node.

        ``Page.scan_required`` is set if that needs a scan which is not allowed.
        """
        return await self._page("children", cursor, limit, parent=self._ids.local(parent_id), allow_scan=allow_scan)

    async def below(
        self, parent_ids: Sequence[str], limit: int = PAGE_NODES, *, allow_scan: bool = False
    ) -> list[Page]:
        """Read the first children of several nodes in one transaction.

        Return a page for each parent. The children of one that cost too much time say so.
        """
        parents = [self._ids.local(parent_id) for parent_id in parent_ids]
        async with self._variant.reading(allow_scan=allow_scan) as source:
            reads = [self._which(IN_STEP, "children", None, limit, allow_scan, parent=parent) for parent in parents]
            answers = await lockstep(source, reads)
            return await self._pages_of(source, [_slow(each) or value_of(each) for each in answers], limit)

    async def live(self, cursor: str | None = None, limit: int = PAGE_NODES) -> Page:
        """Read unfinished nodes, the most urgent first."""
        page, newer = await self._page("live", cursor, limit), self._variant.detected.newer
        known = f"nodes with a known status ({newer})" if newer else ""
        return msgspec.structs.replace(page, scope="; ".join(filter(None, (page.scope, known))))

    @property
    def matches_conditions(self) -> bool:
        """True if `matching` can read every kind of node."""
        return all(self._variant.select("matching", kind=kind.name) for kind in self._variant.engine.spec.kinds)

    async def matching(
        self, kind: str, conditions: Mapping[str, Sequence[str]], cursor: str | None = None, limit: int = PAGE_NODES
    ) -> Page:
        """Read nodes of a kind that match conditions, by key.

        ``conditions``: by column of a node, phases, regular expressions, or the lowest and highest number or age. A
        page may have few nodes, or none, before the last one.
        """
        values = {"query": msgspec.json.encode(conditions).decode(), "cursor": cursor, "limit": limit}
        async with self._variant.reading() as transaction:
            chosen = self._variant.select("matching", kind=kind)
            if chosen is None:
                raise DatabaseError(f"{self._variant.label}: nodes of the kind {kind} cannot be read by conditions.")
            rows = await self._variant.rows(transaction, "matching", chosen, **values)
            read = await self.of(transaction, [row for row in rows if row["id"] is not None], limit)
        following = next((row["cursor"] for row in rows if row["id"] is None), None)
        return msgspec.structs.replace(read, cursor=following)

    async def dead(
        self,
        cursor: str | None = None,
        limit: int = PAGE_NODES,
        ids: Iterable[str] | None = None,
        *,
        allow_scan: bool = False,
    ) -> DeadLetters:
        """Read dead letters, worst and newest first; with ``ids``, only these."""
        local = None if ids is None else [self._ids.local(i) for i in ids]
        chosen = self._variant.select("dead", allow_scan=allow_scan)
        async with self._variant.reading(allow_scan=allow_scan) as transaction:
            if chosen is None:
                scan = self._variant.scan_required("dead") if "dead" in self._variant.engine.statements else None
                return DeadLetters(dead_letters=(), at=await transaction.now(), scan_required=scan)
            values = {"cursor": cursor, "limit": limit, "ids": local}
            met_needs = sorted(self._variant.met_needs(allow_scan))
            rows = await self._variant.rows(transaction, "dead", chosen, **values, met_needs=met_needs)
            read = await self.of(transaction, rows, limit)
        with readable("dead.sql"):
            return dead_letters.page(read, {self._ids.full(row["id"]): row for row in rows if row["id"] is not None})

    async def of(self, source: Reads, rows: Rows, limit: int) -> Page:
        """Return the nodes of a *which* statement's rows.

        A row without id has, as its cursor, what was searched. A row may have ``node``, a row of ``nodes.sql`` as
        jsonb. It is not read again.
        """
        return (await self._pages_of(source, [rows], limit))[0]

    async def _page(
        self, which: str, cursor: str | None, limit: int, *, allow_scan: bool = False, **values: Any
    ) -> Page:
        async with self._variant.reading(allow_scan=allow_scan) as source:
            read = await self._which(source, which, cursor, limit, allow_scan, **values)
            return (await self._pages_of(source, [read], limit))[0]

    async def _which(
        self, source: Reads, which: str, cursor: str | None, limit: int, allow_scan: bool, **values: Any
    ) -> Rows | ScanRequired:
        """Return the rows of a *which* statement, or the scan that it would need."""
        kind = values.get("parent", "").partition(":")[0]
        chosen = self._variant.select(which, allow_scan=allow_scan, kind=kind)
        if chosen is None:
            return self._variant.scan_required(which, kind)
        return await self._variant.rows(source, which, chosen, cursor=cursor, limit=limit, **values)

    async def _pages_of(self, source: Reads, read: Sequence[Rows | ScanRequired], limit: int) -> list[Page]:
        parts = [[] if isinstance(rows, ScanRequired) else rows for rows in read]
        named = [[row for row in rows if row["id"] is not None] for rows in parts]
        every = [row for rows in named for row in rows]
        with readable("its rows"):
            given = [_decoded(row["node"]) for row in every if row.get("node") is not None]
        nodes = await self._nodes.among(source, list(dict.fromkeys(row["id"] for row in every)), given)
        visible = "rows that policies show" if self._variant.detected.policies else ""
        by_id = {self._ids.local(node.id): node for node in nodes.nodes}
        return [
            Page(
                nodes=tuple(by_id[id_] for id_ in dict.fromkeys(row["id"] for row in here) if id_ in by_id),
                at=nodes.at,
                cursor=here[-1].get("cursor") if len(here) == limit else None,
                scope="" if isinstance(ids, ScanRequired) else "; ".join(filter(None, (*_searched(rows), visible))),
                scan_required=ids if isinstance(ids, ScanRequired) else None,
            )
            for ids, rows, here in zip(read, parts, named, strict=True)
        ]


def _slow(answer: Rows | ScanRequired | DatabaseError) -> ScanRequired | None:
    why = f"{answer.line} {BY_PARENT}" if isinstance(answer, SlowError) else ""
    return ScanRequired(need="", why=why, blocks=0, ddl="") if why else None


def _decoded(value: Any) -> Any:
    """Return jsonb as Python values.

    A transaction reads it as text, a script as values.
    """
    return decoded(value) if isinstance(value, str) else value


def _searched(rows: Rows) -> list[str]:
    """Return the parts that were searched, which rows without id name."""
    return [row["cursor"] for row in rows if row["id"] is None]
