"""Reader of claims: why no worker takes a node, and how far a queue's nodes get."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from queries.claim.answers import Condition, Funnel, Look, QueueFunnel, Why, Worker, workers_for
from queries.contract.rows import FlowRow
from queries.contract.spec import Claim
from queries.contract.variant import EngineVariant
from queries.db.errors import DatabaseError, attempted, readable
from queries.db.query import Query, Row, Rows
from queries.db.reads import IN_STEP, Reads, lockstep, value_of
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.records.node import split_id
from queries.text.json_text import decoded

QUEUES_SHOWN = 100  # of a funnel: those with the most unfinished nodes
NEXT_READ = 1_000  # nodes among which the place of one is looked for
RATES = 4  # of a queue, each of an equal part of the time in which it is measured
NOT_RECORDED = Worker(name="", seen=None, alive=None, serves=(), only=False)


class ClaimReader:
    """Reader of one engine's claims. ``full`` and ``local`` convert ids of nodes."""

    def __init__(self, variant: EngineVariant, full: Callable[[str], str], local: Callable[[str], str]) -> None:
        self._variant, self._full, self._local = variant, full, local
        self.known: tuple[Worker, ...] = ()  # as of the last read
        self.kinds = {claim.kind: claim for claim in variant.engine.spec.claim}

    async def why(self, ids: Iterable[str], *, place: bool = True) -> tuple[Why, ...]:
        """Read which conditions of a worker these nodes meet.

        Nodes of kinds that no worker takes are omitted. ``place``: read also how many nodes come first. Raises
        DatabaseError.
        """
        by_kind: dict[str, list[str]] = {}
        for id_ in map(self._local, ids):
            by_kind.setdefault(id_.partition(":")[0], []).append(id_)
        found = []
        async with self._variant.reading() as reads:
            for claim in (self.kinds[kind] for kind in by_kind if kind in self.kinds):
                rows, workers = await self._with_workers(reads, "claim", claim, ids=by_kind[claim.kind])
                whys = [self._why(claim, row, workers) for row in rows]
                found += [await self._with_place(reads, why) for why in whys] if place else whys
        return tuple(found)

    async def measured(self, why: Why, seconds: float) -> tuple[Why, ...]:
        """Read a node again after ``seconds``, with the range of when it is next."""
        read: list[tuple[float, list[str]]] = []
        while why.before and not why.failing and len(read) <= RATES:
            await asyncio.sleep(seconds / RATES if read else 0)
            async with self._variant.reading() as reads:
                read.append((time.monotonic(), await self._first(reads, why)))
        return tuple(timed(each, read) for each in await self.why([why.node_id]))

    async def funnels(self) -> tuple[Funnel, ...]:
        """Read how many unfinished nodes of each queue get how far. Raises DatabaseError."""
        funnels = []
        async with self._variant.reading(in_order=False) as reads:
            for claim in self.kinds.values():
                names = tuple(each.name for each in claim.conditions)
                if self._variant.select("funnel", kind=claim.kind) is None:
                    unread = self._variant.scan_required("funnel", claim.kind).why
                    funnels.append(Funnel(kind=claim.kind, conditions=names, unread=unread))
                    continue
                rows, workers = await self._with_workers(reads, "funnel", claim, limit=QUEUES_SHOWN + 1)
                with readable("funnel.sql"):
                    queues = tuple(_queue(row, workers) for row in rows[:QUEUES_SHOWN])
                known = tuple(each for each in workers if each is not NOT_RECORDED)
                more = len(rows) > QUEUES_SHOWN or any(row["more"] for row in rows)
                funnels.append(Funnel(kind=claim.kind, conditions=names, queues=queues, workers=known, more=more))
        return tuple(funnels)

    async def unmet(self, transaction: Transaction, ids: Sequence[str]) -> dict[str, str]:
        """Return which conditions fail now that a transaction has changed nodes.

        Whether a worker lives is not asked. Nodes of which it is not known are omitted. Raises an error of
        NO_CONNECTION only.
        """
        unmet: dict[str, str] = {}
        local = [*map(self._local, ids)]
        for claim in self.kinds.values():
            of_kind = [id_ for id_ in local if id_.partition(":")[0] == claim.kind]
            chosen = self._variant.select("claim", kind=claim.kind)
            if not of_kind or chosen is None:
                continue
            text = chosen.text.replace("now()", "clock_timestamp()")  # what is due at now() is taken a moment later
            asked = msgspec.structs.replace(chosen, text=text)
            query = Query(asked, self._variant.parameters(ids=of_kind), apart=True)
            for rows in await transaction.each([query]):
                with contextlib.suppress(DatabaseError), readable("claim.sql"):
                    for row in () if isinstance(rows, DatabaseError) else rows:
                        failing = [each.said for each in self._conditions(claim, row) if each.holds is False]
                        unmet |= {self._full(row["id"]): ", ".join(failing)} if failing else {}
        return unmet

    async def after(self, ids: Sequence[str]) -> dict[tuple[str, str], tuple[Condition, ...] | None]:
        """Read which conditions nodes of one kind fail after actions, by node and file.

        None: the node is over then. Actions of which only a dry run tells it are omitted. Raises DatabaseError.
        """
        claim = self.kinds.get(ids[0].partition(":")[0])
        said: dict[tuple[str, str], tuple[Condition, ...] | None] = {}
        chosen = self._variant.select("after", kind=claim.kind) if claim else None
        if claim is None or chosen is None:
            return said
        rows = await self._variant.rows(IN_STEP, "after", chosen, ids=ids)
        with readable("after.sql"):
            for row in rows:
                conditions = self._conditions(claim, {**row, "holders": [None] * len(claim.conditions)})
                failing = tuple(each for each in conditions if each.holds is False)
                if row["over"] or failing or all(each.holds for each in conditions):
                    said[row["id"], row["action"]] = None if row["over"] else failing
        return said

    def _why(self, claim: Claim, row: Any, workers: Sequence[Worker]) -> Why:
        with readable("claim.sql"):
            worker = workers_for(workers, row["queue"])
            queue_id = None if row["queue_id"] is None else self._full(row["queue_id"])
            return Why(
                node_id=self._full(row["id"]),
                queue=row["queue"],
                conditions=(*self._conditions(claim, row), msgspec.structs.replace(worker, holder=queue_id)),
                owner=row["owner"],
                since=_time(row["since"]),
                taken=_time(row["taken"]),
                held=_time(row["held"]),
            )

    def _conditions(self, claim: Claim, row: Row) -> tuple[Condition, ...]:
        values = (_list(row[name]) for name in ("holds", "shows", "holders"))
        return tuple(
            Condition(
                name=each.name, holds=holds, shows=shows or "", holder=None if holder is None else self._full(holder)
            )
            for each, holds, shows, holder in zip(claim.conditions, *values, strict=True)
        )

    async def _with_place(self, reads: Reads, why: Why) -> Why:
        """Add how many nodes come first, if all conditions of the row itself hold."""
        kind = split_id(why.node_id)[1]
        if not all(each.holds for each in why.conditions[:-1]) or self._variant.select("next", kind=kind) is None:
            return why
        ids = await attempted(self._first(reads, why))
        if isinstance(ids, DatabaseError):
            return why
        known = why.node_id in ids
        return msgspec.structs.replace(why, before=len(ids) - known, at_least=not known)

    async def _first(self, reads: Reads, why: Why) -> list[str]:
        """Read the first nodes of a node's queue, up to it. Raises DatabaseError."""
        chosen = self._chosen("next", self.kinds[split_id(why.node_id)[1]])
        queues = None if why.queue is None else [why.queue]
        rows = await self._variant.rows(reads, "next", chosen, queues=queues, limit=NEXT_READ)
        ids = [self._full(row["id"]) for row in rows]
        return ids[: ids.index(why.node_id) + 1] if why.node_id in ids else ids

    def _chosen(self, name: str, claim: Claim) -> Statement:
        """Return a statement. Raises DatabaseError if it cannot be read without a scan."""
        chosen = self._variant.select(name, kind=claim.kind)
        if chosen is None:
            why = self._variant.scan_required(name, claim.kind).why
            raise DatabaseError(f"{self._variant.label}: {name} cannot be read here.", why)
        return chosen

    async def _with_workers(
        self, reads: Reads, name: str, claim: Claim, **values: Any
    ) -> tuple[Rows, tuple[Worker, ...]]:
        """Read the rows of a statement, and with them the workers."""
        both = [self._variant.rows(IN_STEP, name, self._chosen(name, claim), **values), self.workers()]
        rows, workers = await lockstep(reads, both, raises=True)
        return rows, workers

    async def look(self, kind: str, *, alive: bool) -> Look | None:
        """Read nodes that show how work comes and goes. ``alive``: and the workers.

        Raises DatabaseError.
        """
        chosen = self._variant.select("flow", kind=kind)
        if chosen is None:
            return None
        async with self._variant.reading() as reads:
            asked = [IN_STEP.now(), self._variant.rows(IN_STEP, "flow", chosen)]
            at, rows, *_ = await lockstep(reads, [*asked, *([self.workers()] if alive else [])], raises=True)
        with readable("flow.sql"):
            nodes = tuple(msgspec.convert(dict(row), FlowRow) for row in rows)
        return Look(at=value_of(at), read=time.monotonic(), rows=nodes)

    async def workers(self) -> tuple[Worker, ...]:
        """Read the workers with their newest signs of life, or return `NOT_RECORDED`."""
        chosen = self._variant.select("alive")
        if chosen is None:
            return (NOT_RECORDED,)
        rows = await self._variant.rows(IN_STEP, "alive", chosen)
        with readable("alive.sql"):
            self.known = tuple(
                Worker(
                    name=row["worker"],
                    seen=_time(row["seen"]),
                    alive=row["alive"],
                    serves=None if row["serves"] is None else tuple(map(str, _list(row["serves"]))),
                    only=row["only"],
                )
                for row in rows
            )
        return self.known


def timed(why: Why, reads: Sequence[tuple[float, Sequence[str]]]) -> Why:
    """Add when a node is next, from the times and answers of reads of its queue."""
    if why.failing or why.before is None or not reads:
        return why
    lowest, highest = math.inf, 0.0
    for (at, before), (then, now) in pairwise(reads):
        places = {node_id: place for place, node_id in enumerate(now)}
        seen = [place - places[node_id] for place, node_id in enumerate(before) if node_id in places]
        moved = seen[-1] if seen else math.inf  # one less or more may have been taken than the reads show
        lowest = min(lowest, (moved - 1) / (then - at))
        highest = max(highest, (moved + 1) / (then - at) if moved > 0 else 0)
    soonest = why.before / highest if highest > 0 else None
    latest = why.before / lowest if 0 < lowest < math.inf and not why.at_least else None
    return msgspec.structs.replace(why, measured=reads[-1][0] - reads[0][0], next_in=(soonest, latest))


def _queue(row: Any, workers: Sequence[Worker]) -> QueueFunnel:
    return QueueFunnel(
        queue=row["queue"],
        n=row["n"],
        passed=tuple(_list(row["passed"])),
        since=_time(row["since"]),
        worker=workers_for(workers, row["queue"]),
    )


def _time(value: Any) -> float | None:
    return None if value is None else float(value)


def _list(value: Any) -> list[Any]:
    items: list[Any] = msgspec.convert(decoded(value) if isinstance(value, str) else value, list[Any])
    return items
