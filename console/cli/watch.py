"""``watch``: report new incidents, and run a command for each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence

import click

from console.cli import stuck
from console.cli.incident_lines import incident_lines
from console.cli.output import answered, output_for, say
from console.cli.repeat import repeat
from console.cli.target import opened, select_readers
from console.target import Target
from console.text.spans import Make
from queries.records.finding import Incident
from queries.records.record import Record

HOOK_TRIES = 3  # of the command for one incident
HOOK_SECONDS = 60.0  # seconds until a command is ended
HOOKS = 8  # commands that run at the same time
NEW_AFTER_SECONDS = 300.0  # seconds without an incident after which it counts as new
FINDING_NODES = 200  # nodes that are read for each finding


class NewIncident(Record):
    """An incident that was not there before, and where."""

    at: float
    database: str
    host: str
    port: int | None
    context: str
    incident: Incident


class Seen:
    """Incidents that were there before, by key."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._tries: dict[str, int] = {}

    def fresh(self, incidents: Sequence[Incident], at: float, *, whole: bool) -> list[Incident]:
        """Return the incidents that are new, and those whose command failed before.

        ``whole``: everything could be read, so that the others are over.
        """
        now = {incident.key for incident in incidents}
        over = [key for key, last in self._last.items() if whole and key not in now and at - last > NEW_AFTER_SECONDS]
        for key in over:
            del self._last[key]
        self._last |= {key: at for key in now if key in self._last}
        return [incident for incident in incidents if incident.key not in self._last]

    def add(self, key: str, at: float) -> None:
        """Note an incident that is reported."""
        self._last[key] = at
        self._tries.pop(key, None)

    def failed(self, key: str, at: float) -> int:
        """Note that the command failed. Return how often it may run again."""
        self._tries[key] = self._tries.get(key, 0) + 1
        left = HOOK_TRIES - self._tries[key]
        if not left:
            self.add(key, at)
        return left


async def watch(target: Target, *, engine: str | None, on_new: str | None, existing: bool) -> int:
    """Report new incidents until Ctrl-C. Return the exit code."""
    command = _command(on_new) if on_new is not None else []
    output, seen = output_for(target), Seen()
    running: dict[str, asyncio.Task[None]] = {}  # commands by incident
    output.repeated = True
    first = not existing
    async with opened(target) as workspace:

        async def once() -> int:
            nonlocal first
            readers = list(select_readers(workspace, engine))
            answer, notes = await stuck.read(workspace, readers, FINDING_NODES, 0.0, whole=engine is None)
            say(*notes)
            if first:
                first = False
                for incident in answer.incidents:
                    seen.add(incident.key, answer.at)
                say(f"Watching. Incidents that exist already: {len(answer.incidents)}; --existing reports these too.")
            whole = not any(each.failed for each in answer.skipped_findings)
            for incident in seen.fresh(answer.incidents, answer.at, whole=whole):
                server = workspace.server
                new = NewIncident(
                    at=answer.at,
                    database=server.database,
                    host=server.host,
                    port=server.port,
                    context=target.name,
                    incident=incident,
                )
                if not command:
                    seen.add(incident.key, answer.at)
                    output.page(new, _page(target, new))
                elif incident.key not in running and len(running) < HOOKS:
                    running[incident.key] = asyncio.create_task(report(new))
            return int(bool(notes))

        async def report(new: NewIncident) -> None:
            """Run the command for an incident, and report how it ended."""
            key = new.incident.key
            try:
                if why := await run(command, answered(new)):
                    left = seen.failed(key, new.at)
                    say(f"{key}: {why}. " + ("It runs again." if left else "It does not run again."))
                    if left:
                        return
                seen.add(key, new.at)
                output.page(new, _page(target, new))
            finally:
                running.pop(key, None)

        try:
            return await repeat(workspace, output, target.interval, once, clear=False)
        finally:
            for task in list(running.values()):
                task.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)


def _page(target: Target, new: NewIncident) -> Make:
    return lambda cells: incident_lines(target, [new.incident], cells, new.at)


def _command(text: str) -> list[str]:
    """Split a command into words. No shell reads it. Raises UsageError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.UsageError(f"--on-new: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise click.UsageError(f"--on-new: there is no program {words[0] if words else text!r}.")
    return words


async def run(command: Sequence[str], document: str) -> str:
    """Run a command with a JSON document on stdin. Return why it failed, or "".

    Data from the database is on stdin only, never in the arguments. Its output goes to stderr. Its environment lacks
    PGPASSWORD. It and its children end with this call, also if the call is cancelled.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=sys.stderr,
            stderr=sys.stderr,
            env={name: value for name, value in os.environ.items() if name != "PGPASSWORD"},
            start_new_session=True,  # so that its children can be ended with it
        )
    except OSError as error:
        return f"the command cannot be run: {error.strerror}"
    try:
        async with asyncio.timeout(HOOK_SECONDS):
            await process.communicate(f"{document}\n".encode())
    except TimeoutError:
        return f"the command was ended after {HOOK_SECONDS:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):  # also children that outlive the command
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return f"the command ended with {process.returncode}" if process.returncode else ""
