"""What is there and what is stuck: ``engines`` and ``stuck``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from console.cli.output import say
from console.cli.target import Target, chosen, limits, nothing_here, opened
from queries.contract.spec import Action
from queries.errors import DatabaseError, LostError
from queries.model import Count, Finding, Findings, Record, SkippedFinding
from queries.read.reader import Reader

PAUSE = 1.0  # seconds between two looks of `stuck --watch`
SEVERAL = "it takes several looks: stuck --watch SECONDS"


class ActionHere(Record):
    """An action of an engine, and whether it can be done here."""

    action: Action
    available: bool
    why: str


class EngineHere(Record):
    """An engine found: what it is, how many nodes it has, what can be done, which indexes are missing."""

    label: str
    schema: str
    title: str
    about: str
    notes: tuple[str, ...]  # which variant of the engine this is, and what tells
    counts: tuple[Count, ...]
    actions: tuple[ActionHere, ...]
    missing: tuple[str, ...]  # DDL of indexes that would make something cheap
    unreadable: str = ""  # why it cannot be read
    policies: tuple[str, ...] = ()  # tables whose rows row-level security may hide


async def engines(target: Target) -> int:
    """List the engines. The exit code."""
    async with opened(target, empty=True) as workspace:
        here = [await _here(reader) for reader in workspace.engines.values()]
        lines = [line for reader in workspace.engines.values() for line in limits(workspace, reader)]
    declined = workspace.declined
    answer = {"engines": here, "declined": declined, "looked_for": workspace.expected}
    target.output.answer(answer, lambda: _text(here))
    if not here:
        for line in nothing_here(workspace):
            say(line)
        return 1
    for each in declined:
        say(f"declined {each.engine} in schema {each.schema}: {each.why}")
    lines += [f"{engine.label}: {engine.unreadable}" for engine in here if engine.unreadable]
    say(*lines)
    return int(bool(lines))


async def _here(reader: Reader) -> EngineHere:
    counts: tuple[Count, ...] = ()
    why = ""
    try:
        counts = await reader.counts()
    except LostError:
        raise
    except DatabaseError as error:
        why = error.line
    spec = reader.engine.spec
    actions = []
    for action in reader.engine.actions_here:
        available = reader.availability(action)
        actions.append(ActionHere(action=action, available=available.ok, why=available.why))
    return EngineHere(
        label=reader.label,
        schema=reader.found.schema,
        title=spec.title,
        notes=reader.notes,
        about=spec.about,
        counts=counts,
        actions=tuple(actions),
        missing=tuple(need.ddl for need in reader.found.missing()),
        unreadable=why,
        policies=reader.found.policies,
    )


async def stuck(target: Target, *, engine: str | None, limit: int, watch: float | None) -> int:
    """List findings, worst first. The exit code."""
    code = 0
    parts: list[Findings] = []
    stale_engines: list[SkippedFinding] = []
    async with opened(target) as workspace:
        readers = list(chosen(workspace, engine))
        if watch is not None and (unwatched := await _watch(readers, watch)):
            say(*(f"{label}: {why}" for label, why in unwatched.items()))
            code = 1
        for reader in readers:
            lines: list[str] = []
            try:
                parts.append(part := await reader.findings(page=limit))
                if reader.found.readable:  # else the privileges that are missing say it in one line
                    lines += _failed(part)
            except LostError:
                raise
            except DatabaseError as error:
                lines.append(f"{reader.label}: {error}")
                stale_engines.append(SkippedFinding(engine=reader.label, code="anything", why=error.line, failed=True))
            lines += limits(workspace, reader)
            say(*lines)
            code = code or int(bool(lines))
        watched = [finding for reader in readers for finding in reader.watched()]
    answer = _merged(parts, watched, [*stale_engines, *(_unwatched(readers) if watch is None else ())])
    target.output.answer(answer, lambda: _findings(answer, tuple(reader.label for reader in readers)))
    return code


async def _watch(readers: list[Reader], seconds: float) -> dict[str, str]:
    """Take looks for so long, at least two of them. Returns why the last one failed, by label."""
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


def _failed(part: Findings) -> Iterator[str]:
    """The findings that could not be looked for, one line for each reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in part.skipped_findings:
        if each.failed:
            reasons.setdefault((each.engine, each.why), []).append(each.code)
    for (label, why), codes in reasons.items():
        yield f"{label}: not looked for: {', '.join(codes)}: {why}"


def _unwatched(readers: list[Reader]) -> Iterator[SkippedFinding]:
    """The findings that need several looks, where only one was taken."""
    for reader in readers:
        for spec in reader.engine.spec.findings:
            if spec.sample:
                yield SkippedFinding(engine=reader.label, code=spec.code, why=SEVERAL)


def _merged(parts: list[Findings], watched: list[Finding], unwatched: Any) -> Findings:
    found = [finding for part in parts for finding in part.found] + watched
    found.sort(key=lambda f: (-f.severity, f.since if f.since is not None else float("inf"), f.node_id))
    return Findings(
        found=tuple(found),
        at=max((part.at for part in parts), default=0.0),
        skipped_findings=(*(each for part in parts for each in part.skipped_findings), *unwatched),
        capped=tuple(code for part in parts for code in part.capped),
    )


def _text(here: list[EngineHere]) -> Iterator[str]:
    from console.cli import stuck_text

    return (line for engine in here for line in stuck_text.engine(engine))


def _findings(answer: Findings, labels: tuple[str, ...]) -> Iterator[str]:
    from console.cli import stuck_text

    return stuck_text.stuck(answer, labels)
