"""``watch``: report incidents, and run a command for each new or ended one."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shlex
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import click

from console.cli import stuck
from console.cli.output import answered, output_for, say
from console.cli.repeat import repeat
from console.cli.suggested import incident_lines
from console.cli.target import opened, select_readers
from console.target import Target
from console.text.formatting import behind
from console.text.spans import Make, Spans
from queries.read.findings import FINDING_NODES
from queries.records.finding import HIDDEN_ROWS, Incident
from queries.records.record import Record
from queries.records.where import Where
from queries.text.duration import spelled

HOOK_TRIES = 3  # of the command for one incident
HOOK_SECONDS = 60.0  # seconds until a command is ended
HOOKS_AT_ONCE = 8  # commands that run at the same time
HOOK_PAUSE_SECONDS = 60.0  # between two runs of the command for new incidents of one finding
NEW_AFTER_SECONDS = 300.0  # seconds without an incident after which it has ended


class NewIncident(Record):
    """An incident that was not there before, or that has ended, and where."""

    at: float
    where: Where  # as it was typed; `host` and `port` are the server's own
    database: str
    host: str
    port: int | None
    context: str
    incident: Incident
    others: tuple[str, ...] = ()  # keys of new incidents with the same finding, for which no other command runs


class EarlierIncidents:
    """Incidents that were there before, by key, as last read and when."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, Incident]] = {}
        self._reported: dict[str, float] = {}  # when one was added, by finding

    def fresh(self, incidents: Sequence[Incident], at: float) -> list[Incident]:
        """Return the incidents that are new, and those whose command failed before."""
        self._last |= {each.key: (at, each) for each in incidents if each.key in self._last}
        return [each for each in incidents if each.key not in self._last]

    def over(self, at: float) -> list[Incident]:
        """Return the incidents that have ended, and forget them."""
        over = [incident for last, incident in self._last.values() if at - last > NEW_AFTER_SECONDS]
        for incident in over:
            del self._last[incident.key]
        return over

    def add(self, at: float, *incidents: Incident, reported: bool = True) -> None:
        """Note incidents that are reported, or that were there at the start."""
        self._last |= {each.key: (at, each) for each in incidents}
        self._reported |= {_finding(each): at for each in incidents if reported}

    def by_finding(self, fresh: Iterable[Incident], at: float, *, together: bool) -> list[list[Incident]]:
        """Return new incidents by finding, without findings that were reported lately.

        Not ``together``: each alone.
        """
        if not together:
            return [[each] for each in fresh]
        alike: dict[str, list[Incident]] = {}
        for incident in fresh:
            if at - self._reported.get(_finding(incident), -math.inf) >= HOOK_PAUSE_SECONDS:
                alike.setdefault(_finding(incident), []).append(incident)
        return list(alike.values())


class Hooks:
    """Commands that run for incidents, at most HOOKS_AT_ONCE at the same time."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}
        self._tries: Counter[str] = Counter()

    def start(self, key: str, command: Sequence[str], news: NewIncident, done: Callable[[bool], None]) -> None:
        """Run a command, unless one runs for this key: that of an incident or finding.

        ``done`` gets True if it succeeded, or if there is no command. A command that failed is not done: the caller
        starts it again. After HOOK_TRIES it is done, without success.
        """
        if not command:
            done(True)
        elif key not in self._running and len(self._running) < HOOKS_AT_ONCE:
            self._running[key] = asyncio.create_task(self._run(key, command, news, done))

    async def _run(self, key: str, command: Sequence[str], news: NewIncident, done: Callable[[bool], None]) -> None:
        try:
            if why := await run(command, answered(news)):
                self._tries[key] += 1
                again = self._tries[key] < HOOK_TRIES
                say(f"{news.incident.key}: {why}. " + ("It runs again." if again else "It does not run again."))
                if again:
                    return
            del self._tries[key]
            done(not why)
        finally:
            self._running.pop(key, None)

    async def end(self) -> None:
        """End all commands. A cancellation does not shorten it: each is killed."""
        tasks = set(self._running.values())
        for task in tasks:
            task.cancel()
        while tasks:
            with contextlib.suppress(asyncio.CancelledError):
                _, tasks = await asyncio.wait(tasks)


async def watch(target: Target, *, engine: str | None, on_new: str | None, on_end: str | None, existing: bool) -> int:
    """Report new incidents until Ctrl-C. Return the exit code."""
    new_command, end_command = _command("--on-new", on_new), _command("--on-end", on_end)
    output, earlier, hooks = output_for(target), EarlierIncidents(), Hooks()
    ended: dict[str, Incident] = {}  # whose command has not succeeded yet
    output.repeated = True
    first = not existing
    async with opened(target) as workspace:

        def news(incident: Incident, at: float, others: Iterable[Incident] = ()) -> NewIncident:
            server = workspace.server
            return NewIncident(
                at=at,
                where=target.where(server),
                database=server.database,
                host=server.host,
                port=server.port,
                context=target.name,
                incident=incident,
                others=tuple(each.key for each in others),
            )

        def report(new: NewIncident, others: Iterable[Incident] = (), succeeded: bool = True) -> None:
            earlier.add(new.at, new.incident, *others)
            if succeeded:
                output.text(new, _lines(target, new))

        def forget(key: str, _: bool) -> None:
            ended.pop(key, None)

        async def once() -> int:
            nonlocal first
            readers = list(select_readers(workspace, engine))
            now, notes = await stuck.read(workspace, readers, FINDING_NODES, 0.0, whole=engine is None)
            say(*notes)
            if first:
                first = False
                earlier.add(now.at, *now.incidents, reported=False)
                say(*filter(None, [behind(workspace.server)]))
                say(f"Watching. Incidents that exist already: {len(now.incidents)}; --existing reports these too.")
            fresh = earlier.fresh(now.incidents, now.at)
            for incident, *others in earlier.by_finding(fresh, now.at, together=bool(new_command)):
                new = news(incident, now.at, others)
                hooks.start(f"new {_finding(incident)}", new_command, new, partial(report, new, others))
            # Otherwise an incident may not have been read, or policies may hide it.
            if not any(each.failed or each.code == HIDDEN_ROWS for each in now.skipped_findings):
                over = earlier.over(now.at)
                ended.update((each.key, each) for each in over if end_command)
            for incident in fresh:
                ended.pop(incident.key, None)
            for key, incident in ended.items():
                hooks.start(key, end_command, news(incident, now.at), partial(forget, key))
            return int(bool(notes))

        try:
            return await repeat(workspace, output, target.interval, once, clear=False)
        finally:
            await hooks.end()


def _lines(target: Target, new: NewIncident) -> Make:
    def make(cells: int) -> list[Spans]:
        more = [[(f"  {len(new.others)} more of this finding: see stuck.", "$faint")]] if new.others else []
        return [*incident_lines(target, [new.incident], cells, new.at), *more]

    return make


def _finding(incident: Incident) -> str:
    return f"{incident.engine}/{incident.code}"


def _command(option: str, text: str | None) -> list[str]:
    """Split a command into words, without a shell. None gives none. Raises UsageError."""
    if text is None:
        return []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.UsageError(f"{option}: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise click.UsageError(f"{option}: there is no program {words[0] if words else text!r}.")
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
        return f"the command was ended after {spelled(HOOK_SECONDS)}"
    finally:
        with contextlib.suppress(ProcessLookupError):  # also children that outlive the command
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return f"the command ended with {process.returncode}" if process.returncode else ""
