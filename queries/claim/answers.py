"""Answers about what workers would take."""

from __future__ import annotations

from collections.abc import Sequence

from queries.contract.rows import FlowRow
from queries.records.record import Record

NAMED = 2  # workers in a sentence


class Worker(Record):
    """A worker with its newest sign of life, in seconds since 1970.

    ``alive``: None where the sign does not tell. ``serves``: the queues that it takes, of which one may end in ``*``;
    None for all. ``only``: it takes no others.
    """

    name: str
    seen: float | None
    alive: bool | None
    serves: tuple[str, ...] | None
    only: bool

    def takes(self, queue: str | None) -> bool | None:
        """Return whether it takes work of a queue, None if that is not known."""
        if queue is None or self.serves is None:
            return True
        if any(queue.startswith(each[:-1]) if each.endswith("*") else queue == each for each in self.serves):
            return True
        return False if self.only else None


class Condition(Record):
    """Condition under which a worker takes a node.

    ``holds``: None if it is not known. ``shows``: the value that decides. ``holder``: id of the node that keeps it from
    holding, as far as it is known.
    """

    name: str
    holds: bool | None
    shows: str
    holder: str | None = None

    @property
    def words(self) -> str:
        """Its name as words."""
        return self.name.replace("_", " ")

    @property
    def said(self) -> str:
        """Its name and the value that decides."""
        return f"{self.words} ({self.shows})" if self.shows else self.words

    @property
    def mark(self) -> str:
        """Sign of whether it holds."""
        return "?" if self.holds is None else "✓" if self.holds else "✗"


class Why(Record):
    """Reasons for which a worker takes a node, or does not.

    ``since``: since when it could be taken, as far as its row says. ``taken`` and ``held``: since and until when it
    belongs to ``owner``. ``before``: how many nodes of its queue come first; ``at_least``: no more were counted. It is
    None for a node that no worker would take. Times are seconds since 1970. ``next_in``: least and most
    seconds until it is next, at the rates of its queue in the ``measured`` seconds; None: that is not known.
    """

    node_id: str
    queue: str | None
    conditions: tuple[Condition, ...]
    since: float | None = None
    owner: str | None = None
    taken: float | None = None
    held: float | None = None
    before: int | None = None
    at_least: bool = False
    measured: float | None = None
    next_in: tuple[float | None, float | None] = (None, None)

    @property
    def failing(self) -> tuple[Condition, ...]:
        """The conditions that do not hold."""
        return tuple(each for each in self.conditions if each.holds is False)


class Look(Record):
    """Nodes of a claim at one time, which show how work comes and goes.

    ``read``: monotonic time.
    """

    at: float
    read: float
    rows: tuple[FlowRow, ...]


class QueueFunnel(Record):
    """Unfinished nodes of one queue.

    ``passed``: how many meet the first condition, the first two, and so on. ``since``: since when the first of those
    that meet all could be taken. ``worker``: whether a worker takes the queue.
    """

    queue: str | None
    n: int
    passed: tuple[int, ...]
    since: float | None
    worker: Condition


class Funnel(Record):
    """Unfinished nodes of one kind, by queue.

    ``more``: there are others that were not read. ``unread``: why none was read, or "".
    """

    kind: str
    conditions: tuple[str, ...]
    queues: tuple[QueueFunnel, ...] = ()
    workers: tuple[Worker, ...] = ()
    more: bool = False
    unread: str = ""


def workers_for(workers: Sequence[Worker], queue: str | None) -> Condition:
    """Return the condition that a living worker takes a queue."""
    alive = [each for each in workers if each.alive]
    holds: bool | None = False
    shows = f"no worker lives{_names('; dead: ', workers)}"
    if serving := [each for each in alive if each.takes(queue)]:
        holds, shows = True, _names("", serving)
    elif unsure := [each for each in workers if each.alive is not False and each.takes(queue) is not False]:
        takes = f"whether a worker takes {queue}" if queue else "whether a worker lives"
        holds, shows = None, f"{takes} is not recorded{_names(': ', [each for each in unsure if each.name])}"
    elif alive:
        shows = f"no worker takes {queue}{_names('; alive: ', alive)}"
    return Condition(name="worker", holds=holds, shows=shows)


def in_sentence(worker: Condition) -> str:
    """Return the condition that a living worker takes a queue in words."""
    return f"Workers that take it: {worker.shows}" if worker.holds else worker.shows[:1].upper() + worker.shows[1:]


def _names(before: str, workers: Sequence[Worker]) -> str:
    more = f" and {len(workers) - NAMED} more" if len(workers) > NAMED else ""
    return f"{before}{', '.join(each.name for each in workers[:NAMED])}{more}" if workers else ""
