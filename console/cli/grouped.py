"""``--group-by``: how many nodes have each value of a field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from console.cli.output import output_for, say
from console.model.fields.field import Field
from console.model.filter import NODES
from console.model.value_counts import ValueCounts, count_values
from console.target import Target
from console.text.spans import Spans
from queries.read.reader import Reader
from queries.records.node import Node
from queries.records.record import Record
from queries.text.suggest import unknown


class Counts(Record):
    """Numbers of nodes by value, for each engine."""

    counts: tuple[ValueCounts, ...]


def field_named(name: str) -> Field[Node]:
    """Return a field of filters, such as ``payload.tenant``. Raises UsageError."""
    field = NODES.named(name)
    if field is None:
        raise click.UsageError(f"--group-by: {unknown('field', name, (*NODES.names, 'payload.KEY'))}")
    return field


async def print_counts(
    target: Target,
    field: Field[Node],
    nodes: Iterable[tuple[Reader, tuple[float, Sequence[Node]]]],
    notes: Sequence[str],
) -> int:
    """Print the number of each value. Return the exit code.

    ``nodes``: of each engine, with the server time of their read. ``notes``: what could not be read.
    """
    counts = tuple([await count_values(reader, field, each, at) for reader, (at, each) in nodes if each])
    notes = [*notes, *(f"{each.engine}: {each.unread}" for each in counts if each.unread)]
    say(*notes)
    output_for(target).answer(Counts(counts=counts), lambda: _lines(counts))
    return int(bool(notes))


def _lines(counts: Iterable[ValueCounts]) -> Iterator[str | Spans]:
    for each in counts:
        yield [(each.engine, "bold $primary"), (f"  by {each.field}", "$faint")]
        yield from ([(f"{n:>7,}  ", "bold"), (value, "")] for value, n in each.values.items())
        if each.absent:
            yield [(f"{each.absent:>7,}  ", "bold"), ("without it", "$faint")]
