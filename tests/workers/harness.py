"""Genuine workers of task engines, each in a process of its own.

    async def test_x(workers: Workers, database: str) -> None:      # the fixture ends what is left
        one = workers.start(python("-m", "procrastinate", "worker"), WORKER_DSN=database)
        await workers.until(database, "SELECT status FROM procrastinate_jobs", "doing")
        await workers.kill(database, one)                           # SIGKILL: it cannot clean up
        two = workers.start(...)
        await workers.until(database, "SELECT status FROM procrastinate_jobs", "succeeded")
        two.stop()                                                  # SIGTERM: it ends as its engine does

``connected`` waits for a session of a worker. Its application name must be ``WORKER_NAME`` of the environment, as it is
with libpq. ``until`` also takes an async function in place of a query. It fails at once if a worker ends by itself, and
shows the ends of all logs. A task that waits for a file keeps its job running for exactly as long as a test needs:

    gate = Gate(tmp_path)          # str(gate) is an argument for the task: the path that it waits for
    gate.open()

    async with heard(database, "channel") as messages:    # a list of (channel, payload) that grows

``GenuineEngine`` and ``OperatedEngine`` are what the tests of an engine share; each adds how its applications and
workers are run. ``fixture_passes`` proves an engine's folder on the schema that the engine itself has made.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import asyncpg

from queries.check import prove
from queries.check.lab import Lab
from queries.check.prove import Loaded
from queries.read.grants import grants
from queries.records.action import Outcome
from queries.records.finding import Finding
from queries.workspace import Workspace
from tests.command import ROOT, environment
from tests.queries.builders import do, opened, outcomes_of, reader
from tests.servers import FOLDERS, PostgresServer

SECONDS = 200.0  # until a state must have been reached; a very busy machine starts a worker in 30
PATIENCE = 20.0  # factor of the console's own time limits
PAUSE = 0.05
TAIL = 2000  # characters of a log

Condition = str | Callable[[], Awaitable[Any]]


def python(*arguments: str) -> list[str]:
    """Return the command that runs this Python."""
    return [sys.executable, *arguments]


class Worker:
    """A worker's process. ``log`` is the file of its output."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log
        self.name = log.stem
        self.ended = False

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self.ended = True
        self.process.kill()
        self.process.wait(SECONDS)

    def stop(self) -> None:
        """Ask the process to end, and wait until it has."""
        self.ended = True
        self.process.terminate()
        self.process.wait(SECONDS)

    @property
    def tail(self) -> str:
        return f"--- {self.log.name}, exit code {self.process.poll()}\n{self.log.read_text(errors='replace')[-TAIL:]}"


class Workers:
    """The workers of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Worker] = []

    def start(self, command: Sequence[str], **env: str) -> Worker:
        """Start a process in the project's folder; ``env`` is added to its environment."""
        log = self.folder / f"worker{len(self.started) + 1}.log"
        named = {"WORKER_NAME": log.stem, "PGAPPNAME": log.stem, "PYTHONUNBUFFERED": "1"}
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(self.folder, {**named, **env}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        worker = Worker(process, log)
        self.started.append(worker)
        return worker

    async def run(self, command: Sequence[str], **env: str) -> str:
        """Run a tool of the engine to its end; return its output."""
        worker = self.start(command, **env)
        worker.ended = True
        code = await asyncio.to_thread(worker.process.wait, SECONDS)
        assert code == 0, worker.tail
        return worker.log.read_text(errors="replace")

    async def connected(self, where: str, worker: Worker, query: str = "") -> None:
        """Wait until the worker has a session whose last statement starts so."""
        await self.until(where, _sessions(worker, query), lambda n: n > 0)

    async def kill(self, where: str, worker: Worker) -> None:
        """Kill a worker, and wait until the server has ended its sessions.

        What it has sent, such as a heartbeat, is done or lost then.
        """
        await self.connected(where, worker)
        worker.kill()
        await self.until(where, _sessions(worker), 0)

    async def until(self, where: str, condition: Condition, wanted: Any = True) -> Any:
        """Wait until a condition has the wanted value.

        It is a query of one value in the database ``where``, or an async function. ``wanted`` is that value, or a
        function that accepts it.
        """
        right = wanted if callable(wanted) else lambda value: value == wanted
        deadline = time.monotonic() + SECONDS
        connection = await asyncpg.connect(where)
        try:
            while True:
                value = await (connection.fetchval(condition) if isinstance(condition, str) else condition())
                if right(value):
                    return value
                gone = [each for each in self.started if not each.ended and each.process.poll() is not None]
                if gone or time.monotonic() > deadline:
                    raise AssertionError("\n".join([f"{condition}: {value!r}", *(each.tail for each in self.started)]))
                await asyncio.sleep(PAUSE)
        finally:
            await connection.close()

    def close(self) -> None:
        """Kill the workers that still run."""
        for worker in self.started:
            if worker.process.poll() is None:
                worker.kill()


def _sessions(worker: Worker, query: str = "") -> str:
    """Return the query that counts a worker's sessions whose last statement starts so."""
    here = f"datname = current_database() AND application_name = '{worker.name}'"
    return f"SELECT count(*) FROM pg_stat_activity WHERE {here} AND starts_with(query, '{query}')"


@contextlib.asynccontextmanager
async def heard(where: str, *channels: str) -> AsyncIterator[list[tuple[str, str]]]:
    """Listen to channels of a database; yield channels and payloads."""
    messages: list[tuple[str, str]] = []
    connection = await asyncpg.connect(where)
    for channel in channels:
        await connection.add_listener(channel, lambda _, __, name, payload: messages.append((name, payload)))
    try:
        yield messages
    finally:
        await connection.close()


class Gate:
    """A file for which a task waits."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = folder / name

    def __str__(self) -> str:
        return str(self.path)

    def open(self) -> None:
        self.path.touch()


class GenuineEngine:
    """An engine's own schema in a new database, with its own workers."""

    label: ClassVar[str]

    def __init__(self, dsn: str, workers: Workers) -> None:
        self.dsn, self.workers = dsn, workers

    @contextlib.asynccontextmanager
    async def console(self, folder: Path, **limits: float) -> AsyncIterator[Workspace]:
        """Open the console with these limits of the engine."""
        workspace = await opened(self.dsn, folder, overrides={self.label: limits}, patience=PATIENCE)
        try:
            yield workspace
        finally:
            await workspace.close()

    async def healthy(self, server: PostgresServer, folder: Path) -> None:
        """Assert that running work has no finding, before and after ``unstick grants``."""
        roles = [server.unique(role) for role in ("viewer", "operator")]
        for name in roles:
            server.sql(f"CREATE ROLE {name} LOGIN")
        async with self.console(folder) as workspace:
            await self._silent(workspace)
            statements = await grants(workspace.database, reader(workspace, self.label), roles[:1], roles[1:])
        server.sql(";".join(statements), self.dsn)
        async with self.console(folder) as workspace:  # a new one, because the catalog is read every few seconds only
            await self._silent(workspace)
        for name in roles:
            server.sql(f"DROP OWNED BY {name}; DROP ROLE {name}", self.dsn)

    async def _silent(self, workspace: Workspace) -> None:
        found = [await reader(workspace, self.label).findings.read(), await workspace.server_findings.findings()]
        said = [(each.code, each.sentence) for findings in found for each in findings.findings]
        assert said == [], said

    async def until_found(self, workspace: Workspace, code: str, node: str) -> Finding:
        """Wait for a finding about a node."""

        async def find() -> Finding | None:
            found = (await reader(workspace, self.label).findings.read()).findings
            return next((f for f in found if (f.code, f.node_id) == (code, f"{self.label}/{node}")), None)

        return await self.workers.until(self.dsn, find, lambda found: found is not None)

    async def act(self, workspace: Workspace, action: str, node: str) -> None:
        """Do what an operator does. It must change the node."""
        done = await do(workspace, action, [f"{self.label}/{node}"], label=self.label)
        assert {result.outcome for result in done.results} == {Outcome.CHANGED}, [result.why for result in done.results]


async def ended_or_released(one: Workspace, other: Workspace, label: str, node: str, action: str) -> str:
    """Let one operator end the job of a dead worker, and another release it.

    Return the action that changed it.
    """
    names = (action, "release")
    done = await asyncio.gather(*(do(w, n, [node], label=label) for w, n in zip((one, other), names, strict=True)))
    outcomes = [outcomes_of(each)[node] for each in done]
    assert outcomes.count(Outcome.CHANGED) == 1, outcomes
    return names[outcomes.index(Outcome.CHANGED)]


class OperatedEngine(GenuineEngine):
    """An engine that an operator sees in one console."""

    def __init__(self, dsn: str, workers: Workers, connection: asyncpg.Connection[Any], workspace: Workspace) -> None:
        super().__init__(dsn, workers)
        self.connection, self.workspace = connection, workspace

    async def codes(self) -> dict[str, set[str]]:
        """Return the codes of the findings by node."""
        found: dict[str, set[str]] = {}
        for finding in (await reader(self.workspace, self.label).findings.read()).findings:
            found.setdefault(finding.node_id, set()).add(finding.code)
        return found

    async def do(self, action: str, node: str) -> Outcome:
        return outcomes_of(await do(self.workspace, action, [node], label=self.label))[node]


async def fixture_passes(label: str, dsn: str, server: PostgresServer, folder: Path, before: str = "") -> None:
    """Add the rows of an engine's folder; its actions and undo must pass.

    ``before`` is SQL that runs first. The database must have no sessions: it becomes a template.
    """
    server.sql(before + (FOLDERS / label / "fixture.sql").read_text(), dsn)
    loaded = Loaded(FOLDERS / label, private=False)
    assert loaded.engine is not None
    lab = Lab(server, folder, "", "", dsn.rpartition("/")[2])
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, (prove.ACTIONS, prove.UNDO)):
            faults = [str(fault) for fault in check.faults]
            assert faults == [], "\n".join(faults)
            assert check.number
    finally:
        await lab.close()
