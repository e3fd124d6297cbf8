"""Count the blocks of a whole refresh, with its samples and row locks.

    [BASE=../main] [ROWS=10000000] python -m tests.bench.bench_large eternaltwin

Each statement is run under EXPLAIN too. A statement that runs twice counts twice, unlike in bench_large. Two floors are
measured in the same run: the refresh of the small database, and the engine's own findings alone. ``BASE`` is a checkout
of another version. It reads the same databases in a process of its own, and gives a third floor.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from queries import snapshot
from queries.check.explain import explained
from queries.db.query import Query
from queries.db.transaction import RowsOrError, Transaction
from queries.workspace import Workspace
from tests.bench.figure import Figure

BASE = os.environ.get("BASE", "")
GOAL = 1.5
OWN = ("samples", "findings")  # parts that read the engine's tables


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """Add the blocks of every statement in the body, by its source."""
    blocks: Counter[str] = Counter()
    real = Transaction.each

    async def each(self: Transaction, queries: Sequence[Query], *more: Any) -> list[RowsOrError]:
        for query in queries:
            Transaction.each = real  # type: ignore[method-assign]
            plan = (await explained(self, query.statement, query.values))["Plan"]
            Transaction.each = each  # type: ignore[method-assign]
            blocks[query.statement.source] += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return await real(self, queries, *more)

    Transaction.each = each  # type: ignore[method-assign]
    try:
        yield blocks
    finally:
        Transaction.each = real  # type: ignore[method-assign]


async def refresh(dsn: str, name: str, folder: Path) -> dict[str, int]:
    """Return the blocks of one refresh by part.

    An older version reads the causes outside of the tables with a method of the workspace.
    """
    workspace = await Workspace(dsn, file=folder / "audit_log").open()
    reader = workspace.engines[name]
    parts = {}
    with counted() as blocks:
        await reader.samples.take()
        parts["samples"] = blocks.total()
        found = await reader.findings.read()
        parts["findings"] = blocks.total() - sum(parts.values())
        outside = getattr(snapshot, "server_problems", None) or Workspace.server_problems
        await outside(workspace, found.findings)
        parts["outside"] = blocks.total() - sum(parts.values())
    await workspace.close()
    return parts


def figures(name: str, places: Mapping[int, str], folder: Path) -> list[Figure]:
    """Compare the refresh of a large database with its floors.

    ``places`` are DSNs by rows.
    """
    few, many = min(places), max(places)
    parts = {rows: _in_process(dsn, name, folder) for rows, dsn in places.items()}
    whole = {rows: sum(part.values()) for rows, part in parts.items()}
    for rows, part in parts.items():
        print(f"  refresh at {rows:,} rows: " + ", ".join(f"{key} {n}" for key, n in part.items()), flush=True)
    alone = sum(parts[many][part] for part in OWN)
    found = [
        Figure(f"{name}: a whole refresh at {many:,} rows, times {few:,}", whole[many] / whole[few], GOAL),
        Figure(f"{name}: a whole refresh at {many:,} rows, times its own findings", whole[many] / alone, GOAL),
    ]
    for rows, dsn in places.items() if BASE else ():
        floor = sum(_in_process(dsn, name, folder, BASE).values())
        found.append(Figure(f"{name}: a whole refresh at {rows:,} rows, times {BASE}", whole[rows] / floor, GOAL))
    return found


def _in_process(dsn: str, name: str, folder: Path, checkout: str = "") -> dict[str, int]:
    """Run `refresh` with the code of a checkout, by default this one."""
    root = Path(checkout).resolve() if checkout else Path(__file__).parents[2]
    answer = subprocess.run(
        [sys.executable, __file__, dsn, name, str(folder)],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=root,
        stdout=subprocess.PIPE,
        check=True,
    )
    parts: dict[str, int] = json.loads(answer.stdout)
    return parts


def main(dsn: str, name: str, folder: str = "") -> None:
    """Print the blocks of one refresh as JSON."""
    with tempfile.TemporaryDirectory(prefix="unstick-bench-") as temporary:
        print(json.dumps(asyncio.run(refresh(dsn, name, Path(folder or temporary)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
