"""``python -m tests.bench``: every figure, measured in one run on one machine, and whether it keeps its goal.

Times depend on the machine and on what else it does; ratios of programs that take turns hardly do. Goals are told, not
asserted: a busy machine is no reason to fail.
"""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import subprocess
import sys

from tests.bench import bench_console, bench_large, bench_startup
from tests.bench.figure import Figure, table

TREE = "tests.bench.bench_tree"


def main() -> None:
    """Measure and print, what each costs first, and the figures that have a goal last."""
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load {_load()}")
    figures = _commands_and_console()
    print(flush=True)
    subprocess.run([sys.executable, "-m", TREE], check=True)
    figures += asyncio.run(bench_large.figures())
    print("", table(figures), f"load {_load()}", sep="\n")


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
    if bench_console.OTHER not in starts:
        return [once, quiet]
    ratio = bench_console.ratio(starts, bench_console.UNSTICK, bench_console.OTHER)
    return [Figure("from exec to live rows, times pg_activity", ratio, bench_console.GOAL), once, quiet]


def _load() -> str:
    return " ".join(f"{load:.1f}" for load in os.getloadavg())


main()
