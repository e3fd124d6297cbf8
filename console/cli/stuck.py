"""``stuck``: findings of all engines, worst first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence

from console.cli import tables
from console.cli.output import output_for, say
from console.cli.target import access_warnings, opened, select_readers
from console.target import Target
from console.text.pages import findings as pages
from console.text.pages.lines import BLANK, plain
from console.text.spans import Spans
from queries.errors import DatabaseError, LostError
from queries.model import Finding, Findings, SkippedFinding
from queries.read.reader import Reader

PAUSE = 1.0  # seconds between two samples of `stuck --watch`
NEEDS_SAMPLES = "needs several samples: stuck --watch SECONDS"


async def stuck(target: Target, *, engine: str | None, limit: int, watch: float | None) -> int:
    """List findings, worst first. Return the exit code."""
    code = 0
    parts: list[Findings] = []
    failed: list[SkippedFinding] = []
    async with opened(target) as workspace:
        readers = list(select_readers(workspace, engine))
        if watch is not None and (errors := await _watch(readers, watch)):
            say(*(f"{label}: {why}" for label, why in errors.items()))
            code = 1
        for reader in readers:
            lines: list[str] = []
            try:
                parts.append(part := await reader.findings(page=limit))
                if reader.found.readable:  # otherwise one line about the missing privileges is enough
                    lines += _failures(part)
            except LostError:
                raise
            except DatabaseError as error:
                lines.append(f"{reader.label}: {error}")
                failed.append(SkippedFinding(engine=reader.label, code="anything", why=error.line, failed=True))
            lines += access_warnings(workspace, reader)
            say(*lines)
            code = code or int(bool(lines))
        watched = [finding for reader in readers for finding in reader.watched()]
    answer = _merged(parts, watched, [*failed, *(_unwatched(readers) if watch is None else ())])
    output_for(target).page(answer, lambda cells: _lines(answer, [reader.label for reader in readers], cells))
    return code


async def _watch(readers: list[Reader], seconds: float) -> dict[str, str]:
    """Sample for ``seconds``, at least twice.

    Return the error of the last sample by label.
    """
    until = time.monotonic() + seconds
    failed: dict[str, str] = {}
    while True:
        for reader in readers:
            failed.pop(reader.label, None)
            try:
                await reader.sample()
            except LostError:
                raise
            except DatabaseError as error:
                failed[reader.label] = error.line
        left = until - time.monotonic()
        if left <= 0:
            return failed
        await asyncio.sleep(min(PAUSE, left))


def _failures(part: Findings) -> Iterator[str]:
    """Yield one line per reason for which findings could not be checked."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in part.skipped_findings:
        if each.failed:
            reasons.setdefault((each.engine, each.why), []).append(each.code)
    for (label, why), codes in reasons.items():
        yield f"{label}: not checked: {', '.join(codes)}: {why}"


def _unwatched(readers: list[Reader]) -> Iterator[SkippedFinding]:
    """Yield the findings that need several samples."""
    for reader in readers:
        for spec in reader.engine.spec.findings:
            if spec.sample:
                yield SkippedFinding(engine=reader.label, code=spec.code, why=NEEDS_SAMPLES)


def _merged(parts: list[Findings], watched: list[Finding], unwatched: Iterable[SkippedFinding]) -> Findings:
    found = [finding for part in parts for finding in part.found] + watched
    found.sort(key=lambda f: (-f.severity, f.since if f.since is not None else float("inf"), f.node_id))
    return Findings(
        found=tuple(found),
        at=max((part.at for part in parts), default=0.0),
        skipped_findings=(*(each for part in parts for each in part.skipped_findings), *unwatched),
        capped=tuple(code for part in parts for code in part.capped),
    )


def _lines(answer: Findings, labels: Sequence[str], cells: int) -> list[Spans]:
    lines = pages.findings(answer.found, cells, now=answer.at, helps=tables.command, indent=0, ids=True)
    notes = list(_notes(answer, labels))
    return lines + [BLANK] * bool(lines and notes) + [plain(note, indent=0) for note in notes]


def _notes(answer: Findings, labels: Sequence[str]) -> Iterator[str]:
    if not answer.found:
        complete = all(each.why == NEEDS_SAMPLES for each in answer.skipped_findings)
        yield f"Nothing is stuck in {', '.join(labels)}." if complete else "No findings, but some were not checked."
    for code in answer.capped:
        yield f"There are more of {code}: --limit shows more."
    for each in answer.skipped_findings:
        if each.failed:
            continue  # already on stderr
        yield f"Not checked: {each.engine} {each.code}: {each.why}" + (f" ({each.ddl})" if each.ddl else "")
