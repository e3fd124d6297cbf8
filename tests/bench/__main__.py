"""Measure every figure in one run and compare it with its goal.

Start it with ``python -m tests.bench``. Times depend on the machine and its load. Ratios of programs that take turns
hardly depend on them. A missed goal is reported and does not fail the run, because a busy machine is a possible
cause.
"""

from __future__ import annotations

import asyncio
import os
import platform
import statistics

from tests.bench import bench_console, bench_large, bench_server, bench_startup
from tests.bench.figure import Figure, step, table


def main() -> None:
    """Measure and print: first all measurements, then the figures that have a goal."""
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load {_load()}")
    figures = step("commands", _commands)
    figures += step("console", bench_console.figures)
    figures += step("work of the server", bench_server.figures)
    figures += step("large tables", lambda: asyncio.run(bench_large.figures()))
    print("", table(figures), f"load {_load()}", sep="\n")


def _commands() -> list[Figure]:
    with bench_startup.served() as dsn:
        commands = bench_startup.rounds(bench_startup.ROUNDS, dsn)
    print("", *bench_startup.report(commands), sep="\n", flush=True)
    pairs = zip(commands["unstick stuck --json"], commands[bench_startup.BASE], strict=True)
    name = "`unstick stuck --json`, CPU time, times `import asyncpg`"
    return [Figure(name, statistics.median(a / b for a, b in pairs), bench_startup.GOAL)]


def _load() -> str:
    return " ".join(f"{load:.1f}" for load in os.getloadavg())


main()
