"""Read what is stuck now: the one way for the console and every command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set

import msgspec

from queries.contract.server_spec import LABEL, server_spec
from queries.db.errors import DatabaseError, attempted
from queries.evidence import throughput
from queries.evidence.differs import Differences, differences
from queries.evidence.stage import weighed
from queries.read import incidents as grouping
from queries.read.blockers import row_locked
from queries.read.findings import FINDING_NODES
from queries.read.reader import Reader
from queries.records.finding import EVERY_CHECK, Finding, Findings, Incident, SkippedFinding
from queries.records.node import ScanRequired
from queries.records.snapshot import NEEDS_SAMPLES, Part, Snapshot
from queries.workspace import Workspace

COUNTED_SECONDS = 2.2  # in which each busy session reports its counters, and one that fails twice a second is seen

TakePart = Callable[[Part], None]  # takes each engine's part as soon as it is read


async def snapshot(
    workspace: Workspace,
    readers: Sequence[Reader],
    *,
    limit: int = FINDING_NODES,
    sampled: bool = True,
    counts: bool = False,
    whole: bool = True,
    once: bool = True,
    kept: Mapping[str, Part] | None = None,
    take: TakePart | None = None,
) -> Snapshot:
    """Read the findings of engines and server, and group them into incidents.

    A part that cannot be read has the reason in ``error``; its findings are those of ``kept``, by label. So are its
    counts, unless they are read. ``limit``: of each finding. ``sampled``: samples were taken before. ``counts``: read
    the counts by phase, too. ``whole``: of all engines, so that one that is declined was not checked. ``once``: nothing
    was read before that counters could be compared with, so what they could confirm or show is worth a second read.
    Raises an error of NO_CONNECTION only.
    """
    kept = kept or {}
    standstill = server_spec().groups["standstill"]
    for last in (False, True):
        ((parts, server, differ),) = await workspace.database.together(
            _parts_and_server(workspace, readers, limit=limit, sampled=sampled, counts=counts, kept=kept, take=take)
        )
        standing = {part.label for part in parts for finding in part.findings.findings if finding.code in standstill}
        if last or not (once and workspace.server_findings.counts_once(standing)):
            break
        await asyncio.sleep(COUNTED_SECONDS)
    working = (part for part in parts if workspace.server_findings.sessions(part.label))
    if once and any(throughput.asks_again(workspace.engines[part.label], part) for part in working):
        await _note_counts(workspace, readers)
        await asyncio.sleep(COUNTED_SECONDS)  # no look follows a second read
        again = attempted(workspace.server_findings.findings())
        await workspace.database.together(again, *map(throughput.look, readers))
        await _note_counts(workspace, readers)
    parts, server = await weighed(workspace, parts, server, differ)
    if not whole:
        about = of_engines(workspace, server.findings, {reader.label for reader in readers})
        server = msgspec.structs.replace(server, findings=about)
    parts.append(server)
    return grouped(workspace, parts, max(part.findings.at for part in parts))


async def _parts_and_server(
    workspace: Workspace,
    readers: Sequence[Reader],
    *,
    limit: int,
    sampled: bool,
    counts: bool,
    kept: Mapping[str, Part],
    take: TakePart | None,
) -> tuple[list[Part], Part, list[Differences]]:
    """Read the part of each engine, and the one of the server, in one transaction.

    The last is what differs in those of the engines.
    """
    together, outside = workspace.database.together, attempted(workspace.server_findings.findings())
    reads = (_of_engine(reader, limit, sampled, counts, kept) for reader in readers)
    looks, n = map(throughput.look, readers), len(readers)
    if workspace.server_findings.counters.read:  # so first read what the counters show of the engines
        causes = await outside
        for reader in readers:
            reader.variant.moved = workspace.server_findings.counters.moved(reader.label)
        first_parts = (await together(*reads, *looks))[:n]
    else:
        causes, *first_parts = (await together(outside, *reads, *looks))[: n + 1]

    async def offered(reader: Reader, part: Part) -> Part:
        findings = await reader.findings.offered(part.findings)
        part = with_samples(reader, msgspec.structs.replace(part, findings=findings))
        if take is not None:
            take(part)
        return part

    *parts, server, differ = await together(
        *map(offered, readers, first_parts),
        _of_server(workspace, first_parts, kept, causes),
        differences(workspace, first_parts),
    )
    return parts, server, differ


def grouped(workspace: Workspace, parts: Iterable[Part], at: float) -> Snapshot:
    """Return the snapshot that these parts are at the server time ``at``."""
    result = Snapshot(at=at, parts=tuple(parts), incidents=())
    return msgspec.structs.replace(result, incidents=incidents(workspace, result.findings, result.capped, at))


def incidents(
    workspace: Workspace,
    findings: Iterable[Finding],
    capped: Collection[tuple[str, str]] = (),
    at: float | None = None,
) -> tuple[Incident, ...]:
    """Group findings of the engines and of the server by cause.

    ``capped``: engine label and code of findings of which more exist than were read. ``at``: server time.
    An incident of a whole engine that does no work also says what the sessions do that may be its workers.
    """
    of_any = server_spec().codes
    specs = {LABEL: of_any} | {r.label: {**of_any, **r.findings.specs} for r in workspace.engines.values()}
    return tuple(_as_here(workspace, each) for each in grouping.incidents(findings, specs, capped, at))


def _as_here(workspace: Workspace, incident: Incident) -> Incident:
    """Return an incident with what its sessions do, on a standby without a remedy."""
    if incident.engine != LABEL and workspace.server.may_lag:
        incident = msgspec.structs.replace(incident, remedy="")
    doing = workspace.server_findings.doing(incident.engine)
    if not doing or incident.code not in server_spec().groups["standstill"]:
        return incident
    return msgspec.structs.replace(incident, sentence=f"{incident.sentence} {doing}")


async def server_problems(
    workspace: Workspace,
    of_engines: Sequence[Finding],
    unread: Mapping[str, str] | None = None,
    outside: Findings | None = None,
    scans: Mapping[str, ScanRequired] | None = None,
) -> Findings:
    """Read the findings about the server, for all engines at once.

    ``of_engines``: findings; the locks on the rows of their nodes are read, too. ``unread``: engines of which most
    could not be read, with the reason. ``outside``: causes outside of the tables that were read already. ``scans``: of
    engines whose newest failures were not read.
    """
    server = outside or await workspace.server_findings.findings()
    locks = await row_locked(workspace.database, workspace.engines, of_engines, workspace.server_findings)
    silent = workspace.server_findings.not_read(unread or {})
    silent += workspace.server_findings.failures_not_read(scans or {})
    silent += workspace.server_findings.changed(workspace.declined)
    return Findings(
        findings=(*server.findings, *locks.findings, *silent),
        at=server.at,
        skipped_findings=(*server.skipped_findings, *locks.skipped_findings, *workspace.not_checked),
    )


async def take_samples(workspace: Workspace, readers: Sequence[Reader]) -> dict[str, DatabaseError]:
    """Take a sample of each of these engines. Return why some failed, by label.

    Raises an error of NO_CONNECTION only.
    """
    answers = await workspace.database.together(*(attempted(reader.samples.take()) for reader in readers))
    return {reader.label: why for reader, why in zip(readers, answers, strict=True) if why is not None}


async def counted(reader: Reader, part: Part) -> Part:
    """Return an engine's part with its counts, or why they could not be read.

    Raises an error of NO_CONNECTION only.
    """
    counts = await attempted(reader.nodes.counts())
    if isinstance(counts, DatabaseError):
        return msgspec.structs.replace(part, uncounted=counts.line)
    return msgspec.structs.replace(part, counts=counts, uncounted="")


async def _note_counts(workspace: Workspace, readers: Sequence[Reader]) -> None:
    """Count the nodes of engines that keep ended rows, beside the newest counters."""
    kept = [reader for reader in readers if reader.engine.spec.deletes is False]
    counts = await workspace.database.together(*(attempted(reader.nodes.counts()) for reader in kept))
    for reader, some in zip(kept, counts, strict=True):
        workspace.server_findings.counters.note(reader.label, () if isinstance(some, DatabaseError) else some)


async def _of_engine(reader: Reader, limit: int, sampled: bool, counts: bool, kept: Mapping[str, Part]) -> Part:
    before = kept.get(reader.label, Part(label=reader.label))
    own = tuple(each for each in before.findings.findings if each.code in reader.findings.specs)
    before = before.with_findings(own)
    reading = _part_of_findings(reader, limit, sampled, before)
    if not counts:
        return await reading
    numbers, part = await reader.database.together(counted(reader, before), reading)
    result: Part = msgspec.structs.replace(part, counts=numbers.counts, uncounted=numbers.uncounted)
    return result


async def _part_of_findings(reader: Reader, limit: int, sampled: bool, before: Part) -> Part:
    unsampled = () if sampled else tuple(_unsampled(reader))
    findings = await attempted(reader.findings.read(limit=limit, offer=False))
    if isinstance(findings, DatabaseError):
        return _failed(before, findings, *unsampled)
    skipped = (*findings.skipped_findings, *unsampled)
    findings = _with_unread(msgspec.structs.replace(findings, skipped_findings=skipped), before.findings)
    return msgspec.structs.replace(before, findings=findings, error="")


def with_samples(reader: Reader, part: Part) -> Part:
    """Return an engine's part with the findings that its samples show by now."""
    return msgspec.structs.replace(part, findings=reader.findings.with_samples(part.findings))


def _unsampled(reader: Reader) -> Iterable[SkippedFinding]:
    """Yield the findings that need several samples."""
    for spec in reader.engine.spec.findings:
        if spec.sampled:
            yield SkippedFinding(engine=reader.label, code=spec.code, why=NEEDS_SAMPLES)


async def _of_server(
    workspace: Workspace, parts: Sequence[Part], kept: Mapping[str, Part], outside: Findings | DatabaseError
) -> Part:
    """Return the causes outside of the tables, and read the locks on rows of findings."""
    findings = [finding for part in parts for finding in part.findings.findings]
    unread = {part.label: part.unread for part in parts if part.unread}
    if not workspace.engines:
        changed = workspace.server_findings.changed(workspace.declined)
        return Part(label=LABEL, findings=Findings(findings=changed, at=0.0, skipped_findings=workspace.not_checked))
    if not isinstance(outside, DatabaseError):
        scans = dict(_failures_not_read(workspace, parts))
        outside = await attempted(server_problems(workspace, findings, unread, outside, scans))
    if isinstance(outside, DatabaseError):
        return _failed(kept.get(LABEL, Part(label=LABEL)), outside, *workspace.not_checked)
    return Part(label=LABEL, findings=_with_unread(outside, kept.get(LABEL, Part(label=LABEL)).findings))


def _with_unread(now: Findings, before: Findings) -> Findings:
    """Return findings, with those of before whose checks have failed now."""
    failed = {each.code for each in now.skipped_findings if each.failed}
    unread = _unread(before, failed)
    if not unread:
        return now
    capped = dict.fromkeys((*now.capped, *(code for code in before.capped if code in failed)))
    findings = sorted((*now.findings, *unread), key=grouping.rank)
    return msgspec.structs.replace(now, findings=tuple(findings), capped=tuple(capped))


def _unread(before: Findings, codes: Collection[str] | None = None) -> tuple[Finding, ...]:
    """Return the findings of before, of these codes, with the time of their read."""
    return tuple(
        each if each.read_at is not None else msgspec.structs.replace(each, read_at=before.at)
        for each in before.findings
        if codes is None or each.code in codes
    )


def _failures_not_read(workspace: Workspace, parts: Iterable[Part]) -> Iterator[tuple[str, ScanRequired]]:
    """Yield the engines whose newest failures only a scan would read, and the scan."""
    for reader, part in ((workspace.engines.get(part.label), part) for part in parts):
        for each in part.findings.skipped_findings:
            if reader is not None and each.ddl and reader.findings.specs[each.code].newest_first:
                unmet = next(name for name, need in reader.engine.spec.needs.items() if need.ddl == each.ddl)
                yield reader.label, reader.variant.scan_of(unmet)


def _failed(before: Part, error: DatabaseError, *skipped: SkippedFinding) -> Part:
    """Return a part that could not be read, with the findings that were there before."""
    why = SkippedFinding(engine=before.label, code=EVERY_CHECK, why=error.line, failed=True)
    findings = msgspec.structs.replace(
        before.findings, findings=_unread(before.findings), skipped_findings=(why, *skipped)
    )
    return msgspec.structs.replace(before, findings=findings, error=error.line)


def of_engines(workspace: Workspace, server: Findings, labels: Set[str]) -> Findings:
    """Return the findings about the server that affect these engines.

    Without those about engines that are declined.
    """
    return msgspec.structs.replace(
        server,
        findings=tuple(finding for finding in server.findings if labels & set(finding.affects)),
        skipped_findings=tuple(each for each in server.skipped_findings if each not in workspace.not_checked),
    )
