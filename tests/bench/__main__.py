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

from tests.bench import bench_console, bench_large, bench_server, bench_startup, bench_tree
from tests.bench.figure import Figure, step, table


def main() -> None:
    """Measure and print: first all measurements, then the figures that have a goal."""
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load {_load()}")
    figures = step("commands and console", _commands_and_console)
    figures += step("work of the server", bench_server.figures)
    figures += step("tree", _tree)
    figures += step("large tables", lambda: asyncio.run(bench_large.figures()))
    print("", table(figures), f"load {_load()}", sep="\n")


def _tree() -> list[Figure]:
    times = bench_tree.compare()
    print("", *bench_tree.report(times), sep="\n", flush=True)
    return [Figure(*ratio) for ratio in bench_tree.ratios(times)]


def _commands_and_console() -> list[Figure]:
    with bench_console.served() as dsn, bench_console.settings() as environment:
        commands = bench_startup.rounds(bench_startup.ROUNDS, dsn)
        print("", *bench_startup.report(commands), sep="\n")
        starts = bench_console.starts(bench_console.ROUNDS, bench_console.programs(dsn), environment)
        print("", *bench_console.start_report(starts), sep="\n")
        idle = bench_console.idle(dsn, environment)
        print("", *bench_console.idle_report(idle), sep="\n", flush=True)
    pairs = zip(commands["unstick stuck --json"], commands[bench_startup.BASE], strict=True)
    once = Figure(
        "`unstick stuck --json`, times `import asyncpg`", statistics.median(a / b for a, b in pairs), bench_startup.GOAL
    )
    quiet = Figure("an open console where nothing happens, % of a CPU", idle[0].cpu, bench_console.IDLE_GOAL)
    sent = Figure("the demo at work, bytes a second to the terminal", idle[2].sent, bench_console.SENT_GOAL)
    if bench_console.OTHER not in starts:
        return [once, quiet, sent]
    ratio = bench_console.ratio(starts, bench_console.UNSTICK, bench_console.OTHER)
    return [Figure("from exec to the first incident, times pg_activity", ratio, bench_console.GOAL), once, quiet, sent]


def _load() -> str:
    return " ".join(f"{load:.1f}" for load in os.getloadavg())


main()
