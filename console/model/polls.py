"""Polls that refresh the cached database state. UI-free."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager

from console.model import flow
from console.model.database_state import DatabaseState
from console.model.refresh_clock import RefreshClock, RefreshClocks
from queries.contract.server_spec import LABEL
from queries.db.errors import attempting
from queries.read.reader import Reader
from queries.records.finding import Findings
from queries.records.snapshot import Part
from queries.snapshot import counted, grouped, snapshot, take_samples, with_samples
from queries.workspace import Workspace

FIRST_LIST_SECONDS = 0.4  # until the first list is shown, complete or not


def _named(parts: Iterable[Part]) -> list[tuple[str, str, str]]:
    """Return which findings there are."""
    return [(part.label, finding.node_id, finding.code) for part in parts for finding in part.findings.findings]


def _findings(parts: Iterable[Part]) -> list[tuple[str, Findings]]:
    """Return all that is known of the findings.

    Counts are not news: they change at each read.
    """
    return [(part.label, part.findings) for part in parts]


class ErrorCollector:
    """Collect read errors so that one failed read does not stop the rest.

    Connection errors are re-raised.
    """

    def __init__(self) -> None:
        self.error_text = ""  # the first error
        self.failed: set[str] = set()  # labels of the engines with a failed read

    def each(self) -> AbstractContextManager[None]:
        """Wrap one read that belongs to no engine."""
        return attempting(lambda error: self.add("", str(error)))

    def add(self, label: str, error: str) -> None:
        """Add the error of one read; "" is none."""
        if error:
            self.error_text = self.error_text or (f"{label}: {error}" if label else error)
            self.failed |= {label} - {""}


class Polls:
    """Polls of the screen, of the findings and of the samples, one for each clock.

    ``early`` is called if the first findings are shown before all engines have answered.
    """

    def __init__(self, clocks: RefreshClocks, state: DatabaseState, early: Callable[[], None]) -> None:
        self.read_screen: Callable[[], Awaitable[None]] | None = None  # reads what the screen in front shows
        self.screen_trouble = ""  # error of the last read of the front screen
        self._clocks = clocks
        self._state = state
        self._early = early
        self._steps = {clocks.screen: self._screen, clocks.findings: self._findings, clocks.samples: self._samples}

    async def run(self, clock: RefreshClock, workspace: Workspace, at: float) -> str:
        """Run the poll of a clock, in a pass that began at a time of it.

        Return its error message, or "" if it succeeded.
        """
        load, errors = workspace.database.load, ErrorCollector()
        before = load.cost
        clock.begin(at)
        try:
            await self._steps[clock](workspace, errors)
        finally:
            clock.end(load.cost - before)
        self._state.unread[clock] = errors.failed
        return errors.error_text

    def pace_samples(self, readers: Iterable[Reader]) -> None:
        """Take samples more often while they may soon show a finding."""
        self._clocks.pace_samples(developing=any(reader.samples.is_developing for reader in readers))

    async def _screen(self, workspace: Workspace, errors: ErrorCollector) -> None:
        database = workspace.database
        counts = (self._count(reader, errors) for reader in workspace.engines.values())
        await database.together(database.renew(), self._front(errors), *counts)
        # A screen that reads nothing itself is as fresh as the counts.
        if self._state.age is not None and not errors.error_text:
            self._state.read(self._state.at + self._state.age)

    async def _front(self, errors: ErrorCollector) -> None:
        if self.read_screen is not None:
            own = ErrorCollector()
            with own.each():
                await self.read_screen()
            self.screen_trouble = own.error_text
            errors.add("", own.error_text)

    async def _count(self, reader: Reader, errors: ErrorCollector) -> None:
        part = await counted(reader, self._state.parts.get(reader.label, Part(label=reader.label)))
        self._state.parts[reader.label] = part
        errors.add(reader.label, part.uncounted)

    async def _samples(self, workspace: Workspace, errors: ErrorCollector) -> None:
        """Take samples for the findings that need several, more often than findings."""
        readers, parts = list(workspace.engines.values()), self._state.parts
        for label, error in (await take_samples(workspace, readers)).items():
            errors.add(label, str(error))
        self.pace_samples(readers)
        if self._state.findings_loaded:
            parts |= {each.label: with_samples(each, parts[each.label]) for each in readers if each.label in parts}
            self._show_parts(workspace)

    async def _findings(self, workspace: Workspace, errors: ErrorCollector) -> None:
        """Read the findings and the causes outside of the tables; show both in one step.

        Otherwise the screen would show symptoms without their cause while the server answers slowly. Only the first
        read shows each engine as soon as it answers, and `pending` says what is missing.
        """
        state = self._state
        state.pending = () if state.findings_loaded else (*workspace.engines, LABEL)
        with errors.each():
            await workspace.detect_again()
        readers = list(workspace.engines.values())
        loop = asyncio.get_running_loop()
        early = loop.call_later(FIRST_LIST_SECONDS, self._show_early, workspace) if state.pending else None
        try:
            now = await snapshot(workspace, readers, once=False, kept={**state.parts}, take=self._part_read)
        finally:
            if early is not None:
                early.cancel()
        state.parts = {part.label: part for part in now.parts}
        for part in now.parts:
            errors.add("" if part.label == LABEL else part.label, part.error)
        if readers and not state.parts[LABEL].error:
            self._sample_flow(workspace)
        state.pending = ()
        state.show(now, workspace.engines)
        state.note_findings()

    def _part_read(self, part: Part) -> None:
        """Note the findings of an engine while others have not answered."""
        self._state.parts[part.label] = part
        if not part.error:
            self._state.read(part.findings.at)
        self._state.pending = tuple(each for each in self._state.pending if each != part.label)

    def _show_early(self, workspace: Workspace) -> None:
        """Show the findings of the engines that have answered: others take long."""
        self._show_parts(workspace)
        self._early()

    def _sample_flow(self, workspace: Workspace) -> None:
        """Note the counters and counts of each engine; they have just been read."""
        for label in workspace.engines:
            sample = None
            if (read := workspace.server_findings.rows(label)) is not None:
                at, rows = read
                open_ = flow.unfinished(self._state.counts(label) or ())
                sample = flow.Sample(at=at, inserted=rows.inserted, deleted=rows.deleted, unfinished=open_)
            self._state.flow.add(label, sample)

    def _show_parts(self, workspace: Workspace) -> None:
        """Show what was read so far.

        Between two reads of the screen only findings that come or go are news, not what samples know of them.
        """
        state, engines = self._state, workspace.engines
        labels = {*engines, LABEL}.difference(state.pending)
        parts = tuple(part for label, part in state.parts.items() if label in labels)
        news = _named if self._clocks.screen.wait() > 0 else _findings
        if news(parts) == news(state.shown.parts):
            state.watch(engines)
        else:
            state.show(grouped(workspace, parts, state.at), engines)
