"""Measure what a command and a refresh cost the server, in milliseconds.

    python -m tests.bench.bench_server

Parsing, planning and executing, on the data of the five engines that have a simulator, without workers. The server logs
the duration of each step of each statement, so anybody can repeat this on a server of their own with
``log_min_duration_statement = 0``.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import tempfile
from collections import Counter
from pathlib import Path

from queries.snapshot import snapshot
from queries.workspace import Workspace
from tests.bench.figure import Figure, table
from tests.servers import PostgresServer, all_engines_database

ROUNDS = 5
COMMAND_GOAL, REFRESH_GOAL = 150.0, 90.0  # milliseconds
SETTINGS = {"log_min_duration_statement": "0"}
STEP = re.compile(r"duration: ([0-9.]+) ms +(parse|bind|execute|statement)\b")


def figures() -> list[Figure]:
    """Measure, and print what each step takes."""
    server = PostgresServer(settings=SETTINGS)
    server.start()
    try:
        dsn = asyncio.run(all_engines_database(server))
        server.sql("ANALYZE", dsn)
        commands, refreshes = asyncio.run(_rounds(server, dsn))
    finally:
        server.close()
    for name, found in (("stuck, a new connection", commands), ("a later refresh", refreshes)):
        for step in ("parse", "bind", "execute", "statement"):
            print(f"  {name}: {step:10} {statistics.median(each[step] for each in found):8.1f} ms")
    return [
        Figure("`stuck` on a new connection, ms of the server", _total(commands), COMMAND_GOAL),
        Figure("a later refresh of all engines, ms of the server", _total(refreshes), REFRESH_GOAL),
    ]


def main() -> None:
    print(table(figures()), f"load {' '.join(f'{load:.1f}' for load in os.getloadavg())}", sep="\n")


async def _rounds(server: PostgresServer, dsn: str) -> tuple[list[Counter[str]], list[Counter[str]]]:
    log = server.folder / "server.log"
    commands, refreshes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            before = log.stat().st_size
            workspace = await Workspace(dsn, file=Path(folder) / "audit_log").open(later=True)
            readers = list(workspace.engines.values())
            await snapshot(workspace, readers, once=False)
            commands.append(_since(log, before))
            await snapshot(workspace, readers, once=False)  # plans for any values are made now
            before = log.stat().st_size
            await snapshot(workspace, readers, once=False)
            await workspace.database.together(*(reader.nodes.counts() for reader in readers))
            refreshes.append(_since(log, before))
            await workspace.close()
    return commands, refreshes


def _since(log: Path, start: int) -> Counter[str]:
    """Return the milliseconds of each step that the server has logged since."""
    found: Counter[str] = Counter()
    with log.open("rb") as lines:
        lines.seek(start)
        for line in lines.read().decode("utf-8", "replace").splitlines():
            if match := STEP.search(line):
                found[match[2]] += float(match[1])
    return found


def _total(found: list[Counter[str]]) -> float:
    return statistics.median(sum(each.values()) for each in found)


if __name__ == "__main__":
    main()
