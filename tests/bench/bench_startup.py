"""Compare the CPU time of one-shot commands with that of an import of asyncpg.

    python -m tests.bench.bench_startup [ROUNDS]

The commands take turns, so that other load affects all of them alike. The figures are medians of the
rounds, and of the ratio within each round. The database is the demo's data on a temporary server.
"""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.servers import PostgresServer

ROUNDS = 15
GOAL = 1.5  # times `import asyncpg`, for `stuck --json`
BASE = "import asyncpg"
ROOT = Path(__file__).parents[2]


def commands(dsn: str) -> dict[str, list[str]]:
    """Return the commands by name."""
    program = [sys.executable, "-c", "import sys; from console.cli.main import main; sys.exit(main())"]
    return {
        BASE: [sys.executable, "-c", BASE],
        "unstick stuck --json": [*program, "stuck", "--json", "-d", dsn],
        "unstick stuck": [*program, "stuck", "-d", dsn],
        "unstick engines": [*program, "engines", "-d", dsn],
        "unstick --version": [*program, "--version"],
    }


def measured(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Seconds of user and system time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rounds(number: int, dsn: str) -> dict[str, list[float]]:
    """The times of each command, round by round."""
    with tempfile.TemporaryDirectory(prefix="unstick-bench-") as folder:
        environment = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}  # as when installed
        environment |= {"PYTHONPYCACHEPREFIX": folder, "XDG_CACHE_HOME": folder, "HOME": folder}
        chosen = commands(dsn)
        for command in chosen.values():  # once unmeasured: bytecode, caches, the server's own
            measured(command, environment)
        times: dict[str, list[float]] = {name: [] for name in chosen}
        for _ in range(number):
            for name, command in chosen.items():
                times[name].append(measured(command, environment))
    return times


def report(times: Mapping[str, Sequence[float]]) -> list[str]:
    """A line for each command."""
    lines = [f"{'':22}{'median':>9}{'least':>9}{'ratio':>7}"]
    for name, seconds in times.items():
        ratio = statistics.median(a / b for a, b in zip(seconds, times[BASE], strict=True))
        goal = f"  (goal: at most {GOAL})" if "--json" in name else ""
        median, least = statistics.median(seconds) * 1000, min(seconds) * 1000
        lines.append(f"{name:22}{median:6.0f} ms{least:6.0f} ms{ratio:7.2f}{goal}")
    return lines


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Return the DSN of the demo's data of one engine on a private server."""
    server = PostgresServer()
    server.start()
    try:
        yield server.fresh("eternaltwin", filled=True)
    finally:
        server.close()


def main(number: int = ROUNDS) -> None:
    """Measure and print."""
    with served() as dsn:
        print(*report(rounds(number, dsn)), sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
