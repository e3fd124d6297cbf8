"""``stuck``: incidents of all engines, worst first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from console.cli.exit_codes import STUCK
from console.cli.output import output_for, say
from console.cli.target import access_warnings, opened, select_readers
from console.target import Target
from console.text.formatting import by_reason
from queries.read.reader import Reader
from queries.records.snapshot import Part, Snapshot
from queries.snapshot import server_problems, snapshot, take_samples
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.text.spans import Spans

SAMPLE_PAUSE_SECONDS = 1.0  # between two samples of `stuck --sample`


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
            now, notes = await read(workspace, readers, limit, seconds, whole=engine is None)
            say(*notes)
            where = target.where(workspace.server)
            answer = msgspec.structs.replace(now.answer, where=where)

            def lines(cells: int) -> list[Spans]:
                from console.cli.suggested import stuck_lines  # JSON needs no text

                return stuck_lines(target, where.text, now, labels, cells)

            output.text(answer, lines)
            unread = exit_code and workspace.broken
            return STUCK if exit_code and now.incidents else int(bool(notes or unread))

        if not watch:
            return await once()
        from console.cli.repeat import repeat

        return await repeat(workspace, output, target.interval, once)


async def read(
    workspace: Workspace,
    readers: Sequence[Reader],
    limit: int,
    sample: float | None,
    *,
    whole: bool = True,
    counts: bool = False,
) -> tuple[Snapshot, list[str]]:
    """Read what is stuck in engines and server.

    Also return why parts could not be read. ``sample``: seconds of samples before. ``whole``: of all engines, so that
    one that is declined was not checked. ``counts``: also the numbers of nodes.
    """
    notes = [] if sample is None else await _take_samples(workspace, readers, sample)
    now = await snapshot(workspace, readers, limit=limit, sampled=sample is not None, counts=counts, whole=whole)
    here = {reader.label: reader for reader in readers}
    for part in now.parts:
        notes += _not_read(part, here.get(part.label))
    return now, [*notes, *access_warnings(workspace, readers)]


def _not_read(part: Part, reader: Reader | None) -> Iterator[str]:
    """Yield one line per reason for which a part of a snapshot could not be read."""
    if part.uncounted:
        yield f"{part.label}: {part.uncounted}"
    if part.error:
        yield f"{part.label}: {part.error}"
    elif reader is None or reader.detected.readable:  # otherwise one line about the missing privileges is enough
        for label, text in by_reason(each for each in part.findings.skipped_findings if each.failed):
            yield f"{label}: not checked: {text}"


async def _take_samples(workspace: Workspace, readers: Sequence[Reader], seconds: float) -> list[str]:
    """Sample for ``seconds``, at least once.

    Return the engines whose last sample failed, with the error.
    """
    await server_problems(workspace, ())  # its counters are compared with those of the end
    until = time.monotonic() + seconds
    while True:
        failed = await take_samples(workspace, readers)
        rest = until - time.monotonic()
        if rest <= 0:
            return [f"{label}: {error.line}" for label, error in failed.items()]
        await asyncio.sleep(min(SAMPLE_PAUSE_SECONDS, rest))
