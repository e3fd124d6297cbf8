"""Fields of a queue: its depth, its workers, its rates. UI-free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from console.model.fields import node
from console.model.fields.engine import ENDED, FAILS
from console.model.fields.field import Context, Field, Form, RecordType, by, moment, within
from console.text import formatting
from console.text.spans import Spans
from console.text.views.why import STYLES
from queries.claim.answers import Condition, Funnel, workers_for
from queries.evidence.throughput import Times, came_at, rate, seconds
from queries.read.reader import Reader
from queries.records.node import Node, Precision, Value, split_id
from queries.records.record import Record

PAUSED = "paused"
NO_WORKERS = {False: "none", None: "not recorded"}  # workers that serve a queue


class Queue(Record):
    """A queue as last read.

    ``waiting``: how many nodes of the kind ``of`` a worker could take, the first of them ``since``, of all that are
    ``unfinished``; None: not recorded by queue. ``passed``: how many meet each condition of a worker. ``more``: each
    number is the least. ``unread``: why none was read, or "".
    """

    engine: str
    of: str
    name: str
    waiting: int | None = None
    unfinished: int | None = None
    passed: tuple[tuple[int, str], ...] = ()
    more: bool = False
    since: float | None = None
    worker: Condition | None = None
    minute: Sequence[float | None] = (None, None, None)  # how many come, end and fail in one; None: not recorded
    node: Node | None = None
    unread: str = ""

    @property
    def paused(self) -> str:
        """The engine's word for whether it is paused, or ""."""
        if self.node is not None and self.node.status:
            return self.node.status
        before = None
        for number, name in self.passed:
            if name == "not_paused" and before:
                return "open" if number else PAUSED
            before = number
        return ""


def queues_of(reader: Reader, funnels: Iterable[Funnel], nodes: Iterable[Node]) -> Iterator[Queue]:
    """Yield the queues of an engine, also those in which nothing waits."""
    beside = {(each.kind, split_id(each.id)[2]): each for each in nodes}
    read: dict[str, Funnel] = {}
    for funnel in funnels:
        noun = reader.claims.kinds[funnel.kind].noun
        queue = partial(Queue, engine=reader.label, of=funnel.kind, more=funnel.more)
        if funnel.unread:
            yield queue(name=f"{funnel.kind}s", unread=funnel.unread)
            continue
        read[noun] = funnel
        for each in funnel.queues:
            yield queue(
                name=each.queue or f"{funnel.kind}s", waiting=each.passed[-1], unfinished=each.n, since=each.since,
                passed=tuple(zip(each.passed, funnel.conditions, strict=True)), worker=each.worker,
                minute=_minute(reader, funnel.kind, each.queue), node=beside.pop((noun, each.queue or ""), None),
            )  # fmt: skip
    for (noun, key), own in beside.items():
        queue = partial(Queue, engine=reader.label, of=noun, name=own.title.partition(" - ")[0], node=own)
        if empty := read.get(noun):
            minute = _minute(reader, empty.kind, key)
            worker = workers_for(empty.workers, key) if empty.workers else None
            queue = partial(queue, waiting=0, unfinished=0, more=empty.more, worker=worker, minute=minute)
        yield queue()


def _minute(reader: Reader, kind: str, queue: str | None) -> Sequence[float | None]:
    """Return how many nodes of a queue come, end and fail in the last minute."""
    look, kept = next(reversed(reader.looks.get(kind, ())), None), reader.engine.spec.deletes is False
    rows = [row for row in look.rows if row.queue is not None or queue is None] if look else []
    came: Times = [(row.queue, at) for row in rows if (at := came_at(row, kept=kept)) is not None]
    ended, failed = ([(r.queue, seconds(r.ended)) for r in rows if r.part in parts] for parts in (ENDED, ENDED[1:]))
    tells = FAILS in reader.claims.kinds[kind].signs
    counted = ((came, came), (ended, ended), (failed, ended if tells else ()))
    return [rate(look.at, times, queue, read) if look and read else None for times, read in counted]


def _number(queue: Queue, number: int | None) -> Spans:
    precision = Precision.CAPPED if queue.more else Precision.EXACT
    none = "not read" if queue.unread else formatting.NONE
    return [(none if number is None else formatting.count(Value(n=number, precision=precision)), "")]


def _oldest(queue: Queue, context: Context) -> Spans:
    bound = "≥" if queue.more else ""  # an older one may not have been read
    return [(formatting.NONE if queue.since is None else moment(queue.since, context, bound), "")]


def _workers(queue: Queue, _: Context) -> Spans:
    if (worker := queue.worker) is None:
        return [(formatting.NONE, "$faint")]
    return [(f"{worker.mark} ", STYLES[worker.holds]), (worker.shows if worker.holds else NO_WORKERS[worker.holds], "")]


def _paused(queue: Queue, _: Context) -> Spans:
    return [(queue.paused or formatting.NONE, "$phase-held" if queue.paused == PAUSED else "$faint")]


def _rate(place: int, name: str, about: str) -> Field[Queue]:
    def spans(queue: Queue, _: Context) -> Spans:
        return [(formatting.NONE if (rate := queue.minute[place]) is None else formatting.rate(rate), "")]

    return Field(
        name, lambda queue, _: queue.minute[place], Form.NUMBER, f"{about} in a minute; – is not recorded",
        title=f"{name}/min", width=8, needs=110, align="right", spans=spans,
        order=lambda queue, _: -(queue.minute[place] or 0),
    )  # fmt: skip


FIELDS: Final[tuple[Field[Queue], ...]] = (
    Field("queue", "name", Form.PART, "its name", searched=True, title="queue", style="bold"),
    Field(
        "engine", "engine", Form.BEGINNING, "label of the engine", searched=True, title="engine", width=12, needs=60,
        group=by("engine", lambda queue: queue.engine), style="$faint",
    ),
    Field(
        "waiting", "waiting", Form.NUMBER, "nodes that a worker could take now; 12+ is at least 12", title="waiting",
        width=8, align="right", spans=lambda queue, _: _number(queue, queue.waiting),
        order=lambda queue, _: -(queue.waiting or 0),
    ),
    Field(
        "oldest", "since", Form.AGE, "since when the first of them could be taken", title="oldest", width=7,
        align="right", absolute="oldest", spans=_oldest,
    ),
    Field(
        "unfinished", "unfinished", Form.NUMBER, "nodes that have not ended", title="unfinished", width=10, needs=130,
        align="right", spans=lambda queue, _: _number(queue, queue.unfinished),
        order=lambda queue, _: -(queue.unfinished or 0),
    ),
    _rate(0, "in", "how many come"),
    _rate(1, "out", "how many end"),
    _rate(2, "fail", "how many of these fail"),
    Field(
        "workers", lambda queue, _: queue.worker and queue.worker.shows, Form.PART, "workers that serve it",
        title="workers", width=30, needs=72, spans=_workers,
    ),
    Field(
        "paused", "paused", Form.BEGINNING, "whether workers take its nodes: paused or open; – is not recorded",
        title="paused", width=6, needs=50, spans=_paused,
    ),
    within(node.NAMED["finding"], "node", title="stuck", width=16, needs=130),
)  # fmt: skip
QUEUES: Final = RecordType[Queue]("queue", lambda queue: f"{queue.engine} {queue.of} {queue.name}", FIELDS)
