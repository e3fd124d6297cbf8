"""``stuck``: incidents of all engines, worst first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence, Set

import msgspec

from console.cli.incident_lines import incident_lines
from console.cli.output import output_for, say
from console.cli.repeat import repeat
from console.cli.target import access_warnings, opened, select_readers
from console.target import Target
from console.text.not_checked import by_reason
from console.text.pages.lines import BLANK, plain
from console.text.spans import Spans
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read.reader import Reader
from queries.records.finding import Finding, Findings, SkippedFinding, Stuck
from queries.workspace import Workspace

STUCK = 4  # exit code
PAUSE = 1.0  # seconds between two samples of `stuck --sample`
COUNTED = 1.2  # seconds in which each busy session reports its counters
NEEDS_SAMPLES = "needs several samples: stuck --sample SECONDS"


async def stuck(
    target: Target, *, engine: str | None, limit: int, sample: float | None, exit_code: bool, watch: bool
) -> int:
    """List incidents, worst first.

    Return the exit code; with ``exit_code``, `STUCK` if there are incidents.
    """
    output = output_for(target)
    async with opened(target) as workspace:

        async def once() -> int:
            readers = list(select_readers(workspace, engine))
            labels = [reader.label for reader in readers]
            seconds = 0.0 if watch and sample is None else sample
            answer, notes = await read(workspace, readers, limit, seconds, whole=engine is None)
            say(*notes)
            output.page(answer, lambda cells: _lines(target, answer, labels, cells))
            unread = exit_code and workspace.broken
            return STUCK if exit_code and answer.incidents else int(bool(notes or unread))

        return await repeat(workspace, output, target.interval, once) if watch else await once()


async def read(
    workspace: Workspace, readers: Sequence[Reader], limit: int, sample: float | None, *, whole: bool = True
) -> tuple[Stuck, tuple[str, ...]]:
    """Read the incidents of engines and server.

    Also return why parts could not be read. ``sample``: seconds of samples before. ``whole``: of all engines, so that
    one that is declined was not checked.
    """
    notes: list[str] = []
    parts: list[Findings] = []
    found: list[Finding] = []
    unread: dict[str, str] = {}
    capped: list[tuple[str, str]] = []
    skipped: list[SkippedFinding] = list(_unwatched(readers) if sample is None else ())
    if sample is not None:
        await workspace.server_problems(())  # its counters are compared with those of the end
    if sample is not None and (errors := await take_samples(readers, sample)):
        notes += [f"{label}: {why}" for label, why in errors.items()]
    for reader in readers:
        lines: list[str] = []
        try:
            parts.append(part := await reader.findings(page=limit))
            unread |= {reader.label: part.unread} if part.unread else {}
            capped += [(reader.label, each) for each in part.capped]
            if reader.found.readable:  # otherwise one line about the missing privileges is enough
                lines += _failures(part)
        except NO_CONNECTION:
            raise
        except DatabaseError as error:
            lines.append(f"{reader.label}: {error}")
            skipped.append(SkippedFinding(engine=reader.label, code="anything", why=error.line, failed=True))
            unread[reader.label] = error.line
        found += reader.watched()
        lines += access_warnings(workspace, reader)
        notes += lines
    found += [finding for part in parts for finding in part.found]
    labels = {reader.label for reader in readers}
    server = await workspace.server_problems(found, unread)
    if workspace.server_findings.counts_once:
        await asyncio.sleep(COUNTED)
        server = await workspace.server_problems(found, unread)
    if not whole:
        server = of_engines(workspace, server, labels)
    notes += _failures(server)
    parts.append(server)
    found += [finding for finding in server.found if labels & set(finding.affects)]
    stuck = Stuck(
        incidents=workspace.incidents(found, capped),
        at=max((part.at for part in parts), default=0.0),
        skipped_findings=(*(each for part in parts for each in part.skipped_findings), *skipped),
        capped=tuple(capped),
    )
    return stuck, tuple(notes)


def of_engines(workspace: Workspace, server: Findings, labels: Set[str]) -> Findings:
    """Return the findings about the server that affect these engines.

    Without those about engines that are declined.
    """
    return msgspec.structs.replace(
        server,
        found=tuple(finding for finding in server.found if labels & set(finding.affects)),
        skipped_findings=tuple(each for each in server.skipped_findings if each not in workspace.not_checked),
    )


async def take_samples(readers: Sequence[Reader], seconds: float) -> dict[str, str]:
    """Sample for ``seconds``, at least once.

    Return the error of the last sample by label.
    """
    until = time.monotonic() + seconds
    failed: dict[str, str] = {}
    while True:
        for reader in readers:
            failed.pop(reader.label, None)
            try:
                await reader.sample()
            except NO_CONNECTION:
                raise
            except DatabaseError as error:
                failed[reader.label] = error.line
        left = until - time.monotonic()
        if left <= 0:
            return failed
        await asyncio.sleep(min(PAUSE, left))


def _failures(part: Findings) -> Iterator[str]:
    """Yield one line per reason for which findings could not be checked."""
    for label, text in by_reason(each for each in part.skipped_findings if each.failed):
        yield f"{label}: not checked: {text}"


def _unwatched(readers: Sequence[Reader]) -> Iterator[SkippedFinding]:
    """Yield the findings that need several samples."""
    for reader in readers:
        for spec in reader.engine.spec.findings:
            if spec.sample:
                yield SkippedFinding(engine=reader.label, code=spec.code, why=NEEDS_SAMPLES)


def _lines(target: Target, answer: Stuck, labels: Sequence[str], cells: int) -> list[Spans]:
    lines = incident_lines(target, answer.incidents, cells, answer.at)
    notes = list(_notes(answer, labels))
    return lines + [BLANK] * bool(lines and notes) + [plain(note, indent=0) for note in notes]


def _notes(answer: Stuck, labels: Sequence[str]) -> Iterator[str]:
    if not answer.incidents:
        complete = labels and not answer.capped and all(each.why == NEEDS_SAMPLES for each in answer.skipped_findings)
        yield f"Nothing is stuck in {', '.join(labels)}." if complete else "No findings, but some were not checked."
    for label, code in answer.capped:
        yield f"There may be more of {label} {code} than were read: --limit reads more, up to the check's own limit."
    for label, text in by_reason(each for each in answer.skipped_findings if not each.failed):  # others: stderr
        yield f"Not checked: {label} {text}"
