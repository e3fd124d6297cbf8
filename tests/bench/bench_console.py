"""Measure the time to the first incident, and the cost of an open console.

    python -m tests.bench.bench_console [ROUNDS]

Each program runs in its own pseudo-terminal until a certain text appears: the incidents of five engines and the keys
in unstick, a running query in pg_activity, the rows of one query in a small app of Textual. The programs take turns, so
that other load affects all of them alike. The figures are medians of the rounds, and of the ratio within each round.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.bench.figure import Figure, table
from tests.servers import PostgresServer, all_engines_database

ROUNDS = 10
WATCHED = 20.0  # seconds that an open console is watched for
DEADLINE = 30.0
SIZE = (36, 120)
SETTLED = 1.0  # seconds after which a list that is there does not change any more
KEYS = 40  # presses of "down" that are measured
QUIET = 0.15  # seconds without output after which a key has been painted
GOAL = 1.8  # times the small app
LOOPS = 3  # programs that are busy while keys are timed
LOAD_GOAL = 1.5  # times the small app's key, with busy programs beside both
IDLE_GOALS = {  # per cent of one CPU of an open console
    "nothing happens": 1.0,
    "nothing happens, paused": 0.2,
    "the demo at work, incidents": 2.0,
    "the demo at work, a tree": 2.0,
}
ROOT = Path(__file__).parents[2]
BASE, UNSTICK, OTHER = "a small Textual app", "unstick", "pg_activity"
# The header once all engines were read, and the last key of the footer; on a busy machine the header may be later.
COMPLETE = rb"critical incidents?.*quit|quit.*critical incident"
COMMAND = (sys.executable, "-c", "import sys; from console.cli.main import main; sys.exit(main())")
SMALL = """
import asyncpg, sys
from textual.app import App
from textual.widgets import DataTable
class Small(App):
    def compose(self):
        yield DataTable()
    def on_mount(self):
        self.run_worker(self.read())
    async def read(self):
        connection = await asyncpg.connect(sys.argv[1])
        table = self.query_one(DataTable)
        table.add_columns("pid", "database", "role", "application", "state", "note")
        for row in await connection.fetch(
            "SELECT pid, datname, usename, application_name, state, 'here it is' FROM pg_stat_activity"
        ):
            table.add_row(*map(str, row))
Small().run()
"""
# What programs ask a terminal, and what one that can little answers; a program may wait for that.
ANSWERS = (
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1bP\+q[0-9a-fA-F;]*\x1b\\"), b"\x1bP0+r\x1b\\"),
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),
)
CONTROLS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[()].|\x0f")


class Program(NamedTuple):
    """A program to start, and the text that shows when it is ready."""

    command: Sequence[str]
    sign: bytes  # a pattern


def programs(dsn: str, sign: bytes = COMPLETE) -> dict[str, Program]:
    """Return the programs to compare.

    ``sign`` appears in unstick with the rows.
    """
    chosen = {
        BASE: Program([sys.executable, "-c", SMALL, dsn], b"here it is"),
        UNSTICK: Program([*COMMAND, dsn], sign),
    }
    found = pg_activity()
    if found is not None:
        chosen[OTHER] = Program([found, dsn], b"bench-sleeps")
    return chosen


def pg_activity() -> str | None:
    """Return the path of pg_activity, if it is installed.

    The program is beside this Python or on the shell's PATH.
    """
    beside = Path(sys.executable).with_name("pg_activity")
    return str(beside) if beside.exists() else shutil.which("pg_activity")


class PtyProgram:
    """A program in a pseudo-terminal; its output is searched for a text."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        controller, terminal = pty.openpty()
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
        )
        os.close(terminal)
        self._terminal = controller

    def wait_for(self, sign: bytes) -> float:
        """Seconds from the start until a text that matches could be read."""
        seen, pattern = b"", re.compile(sign, re.DOTALL)
        while not pattern.search(seen):
            data = self._read(DEADLINE)
            if not data or time.perf_counter() > self.began + DEADLINE:
                raise TimeoutError(f"never saw {sign!r} in: {seen[-2000:].decode(errors='replace')}")
            seen = CONTROLS.sub(b"", (seen + data)[-200_000:])
        return time.perf_counter() - self.began

    def watch(self, seconds: float) -> tuple[float, float, bytes]:
        """Return per cent of a CPU, bytes per second and the bytes sent, over ``seconds``."""
        process = psutil.Process(self._process.pid)
        before, began, sent = sum(process.cpu_times()[:2]), time.perf_counter(), b""
        while (left := began + seconds - time.perf_counter()) > 0:
            sent += self._read(left)
        spent, took = sum(process.cpu_times()[:2]) - before, time.perf_counter() - began
        return 100 * spent / took, len(sent) / took, sent

    def press(self, keys: bytes) -> None:
        """Type."""
        os.write(self._terminal, keys)

    def painted(self, keys: bytes) -> float:
        """Type, and return the seconds until something was sent.

        What an earlier key has left is read before, and it ends when it is quiet.
        """
        while self._read(0.0):
            pass
        began = time.perf_counter()  # the program may run before this one goes on
        self.press(keys)
        self._read(DEADLINE)
        took = time.perf_counter() - began
        while self._read(QUIET):
            pass
        return took

    def peak(self) -> float:
        """The most memory it ever had, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]

    def close(self) -> None:
        """End it as a closed window would."""
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):
            while self._read(5.0):
                pass
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._terminal)

    def _read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        data = os.read(self._terminal, 65536) if ready else b""
        for question, answer in ANSWERS:
            for _ in question.findall(data):
                os.write(self._terminal, answer)
        return data


@contextlib.contextmanager
def opened(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[PtyProgram]:
    """A program for as long as the context lasts."""
    program = PtyProgram(command, environment)
    try:
        yield program
    finally:
        program.close()


def started(program: Program, environment: Mapping[str, str]) -> float:
    """Seconds from exec to the sign."""
    with opened(program.command, environment) as running:
        return running.wait_for(program.sign)


@contextlib.contextmanager
def settings(start: str = "") -> Iterator[dict[str, str]]:
    """Return an environment with its own home, a terminal and cached bytecode.

    The bytecode is kept as in an installation. ``start``: first page of the console, if not that without settings.
    """
    with tempfile.TemporaryDirectory(prefix="unstick-bench-") as folder:
        if start:
            config = Path(folder, "unstick", "config.toml")
            config.parent.mkdir()
            config.write_text(f'start = "{start}"\n')
        kept = {n: v for n, v in os.environ.items() if n not in ("PYTHONDONTWRITEBYTECODE", "NO_COLOR")}
        yield kept | {
            "PYTHONPYCACHEPREFIX": folder,
            "XDG_CACHE_HOME": folder,
            "XDG_CONFIG_HOME": folder,
            "XDG_STATE_HOME": folder,
            "HOME": folder,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }


def starts(number: int, chosen: Mapping[str, Program], environment: Mapping[str, str]) -> dict[str, list[float]]:
    """The times of each program, round by round."""
    for program in chosen.values():  # once unmeasured: bytecode, caches, the server's own
        started(program, environment)
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(number):
        for name, program in chosen.items():
            times[name].append(started(program, environment))
    return times


def ratio(times: Mapping[str, Sequence[float]], one: str, other: str) -> float:
    """The median of the ratio within each round."""
    return statistics.median(a / b for a, b in zip(times[one], times[other], strict=True))


def start_report(times: Mapping[str, Sequence[float]]) -> list[str]:
    """A line for each program."""
    lines = [f"from exec to all rows{'':20}{'median':>9}{'least':>9}  times {BASE}"]
    for name, seconds in times.items():
        median, least = statistics.median(seconds) * 1000, min(seconds) * 1000
        lines.append(f"  {name:38}{median:6.0f} ms{least:6.0f} ms{ratio(times, name, BASE):8.2f}")
    if OTHER not in times:
        lines.append("  pg_activity is not installed: pip install 'pg_activity[psycopg]' beside this Python")
    return lines


class Idle(NamedTuple):
    """Cost of an open console. ``load`` is the server's time as the console shows it."""

    name: str
    cpu: float  # per cent of one
    sent: float  # bytes a second
    load: str


def idle(dsn: str, environment: Mapping[str, str]) -> list[Idle]:
    """On a database where nothing happens; the same, paused; and on a demo at work."""
    first, paused, incidents, tree = IDLE_GOALS
    with opened([*COMMAND, dsn], environment) as quiet:
        quiet.wait_for(COMPLETE)
        quiet.watch(5.0)
        costs = [_idle(first, quiet)]
        quiet.press(b"p")
        quiet.watch(1.0)
        costs.append(_idle(paused, quiet))
    demo = subprocess.Popen(
        [*COMMAND, "demo", "--all", "--headless"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert demo.stdout is not None
        with opened([*COMMAND, demo.stdout.readline().decode().strip()], environment) as live:
            live.wait_for(COMPLETE)
            live.watch(5.0)
            costs.append(_idle(incidents, live))
            live.press(b"1")
            live.watch(3.0)
            costs.append(_idle(tree, live))
    finally:
        demo.terminate()
        demo.wait()
    return costs


def _idle(name: str, console: PtyProgram) -> Idle:
    cpu, rate, sent = console.watch(WATCHED)
    assert not re.search(rb"\x1b\[(?:[0-9;]*;)?[56]m", re.sub(rb"[34]8;5;\d+", b"", sent)), "something blinks"
    loads = re.findall(rb"load ([0-9.]+%)", CONTROLS.sub(b"", sent))
    return Idle(name, cpu, rate, loads[-1].decode() if loads else "-")


def idle_report(costs: Sequence[Idle]) -> list[str]:
    """A line for each."""
    lines = [f"an open console, over {WATCHED:.0f} s{'':5}{'CPU':>11}{'to the terminal':>18}{'server time':>14}"]
    lines += [f"  {cost.name:28}{cost.cpu:7.2f} %{cost.sent:14.0f} B/s{cost.load:>14}" for cost in costs]
    return lines


def keys_under_load(dsn: str, environment: Mapping[str, str]) -> float:
    """Return the time from a key to its paint, in times the small app's.

    The two take turns, with busy programs beside them.
    """
    chosen = programs(dsn)
    times: dict[str, list[float]] = {BASE: [], UNSTICK: []}
    with contextlib.ExitStack() as stack:
        running = {name: stack.enter_context(opened(chosen[name].command, environment)) for name in times}
        for name, program in running.items():
            program.wait_for(chosen[name].sign)
            program.watch(SETTLED)
        for _ in range(LOOPS):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.kill)
        for _ in range(KEYS // 2):
            for key in (b"\x1b[B", b"\x1b[A"):
                for name, program in running.items():
                    times[name].append(program.painted(key))
    for name, seconds in times.items():
        print(f"  a key with {LOOPS} busy programs: {name:16} {statistics.median(seconds) * 1000:6.1f} ms")
    return statistics.median(times[UNSTICK]) / statistics.median(times[BASE])


def figures(rounds: int = ROUNDS) -> list[Figure]:
    """Measure, and print what the figures are made of."""
    with served() as dsn, settings() as environment:
        times = starts(rounds, programs(dsn), environment)
        print("", *start_report(times), sep="\n", flush=True)
        costs = idle(dsn, environment)
        print("", *idle_report(costs), sep="\n", flush=True)
        found = [Figure(f"from exec to all rows and keys, times {BASE}", ratio(times, UNSTICK, BASE), GOAL)]
        under_load = keys_under_load(dsn, environment)
        found.append(Figure(f"a key with {LOOPS} busy programs, times {BASE}", under_load, LOAD_GOAL))
    found += [Figure(f"{cost.name}: % of a CPU", cost.cpu, IDLE_GOALS[cost.name]) for cost in costs]
    return found


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Return the DSN of the demo's data of five engines on a private server.

    The server's only activity is one query that sleeps.
    """
    server = PostgresServer()
    server.start()
    try:
        dsn = asyncio.run(all_engines_database(server))
        server.sql("ANALYZE", dsn)
        with sleeping(dsn):
            yield dsn
    finally:
        server.close()


@contextlib.contextmanager
def sleeping(dsn: str) -> Iterator[None]:
    """Run a query that sleeps, so that pg_activity has a row to show."""
    sleeper = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, dsn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert sleeper.stdout is not None
    sleeper.stdout.readline()
    try:
        yield
    finally:
        sleeper.kill()
        sleeper.wait()


SLEEPER = """
import asyncio, asyncpg, sys
async def main():
    connection = await asyncpg.connect(sys.argv[1], server_settings={"application_name": "bench-sleeps"})
    print("there", flush=True)
    await connection.execute("SELECT pg_sleep(86400)")
asyncio.run(main())
"""


def main(number: int = ROUNDS) -> None:
    """Measure and print."""
    print(table(figures(number)), f"load {' '.join(f'{load:.1f}' for load in os.getloadavg())}", sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
