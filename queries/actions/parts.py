"""Parts of a change: the nodes of each transaction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from queries.records.action import DryRun
from queries.write import undo

PART_NODES = 500


def split(dry_run: DryRun) -> Iterator[tuple[str, ...]]:
    """Yield the nodes of each transaction: at most 500, in an undo of one entry."""
    versions = dry_run.versions
    entry = versions.get if dry_run.action == undo.NAME else lambda _: ""
    for _, group in groupby(versions, key=entry):
        ids, start = list(group), 0
        while start < len(ids):
            yield tuple(ids[start : start + PART_NODES])
            start += PART_NODES
