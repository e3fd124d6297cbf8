"""Snapshot of all incidents, and of what was read to find them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from queries.records.finding import HIDDEN_ROWS, Finding, Findings, Incident, SkippedFinding
from queries.records.node import Count
from queries.records.record import Record
from queries.records.where import Where

NEEDS_SAMPLES = "needs several samples: stuck --sample SECONDS"


class Part(Record):
    """Findings and counts of one engine, or of the server.

    ``findings`` includes those that samples show. ``error``: why they could not be read, or "". ``uncounted`` says the
    same of ``counts``. What could not be read is that of an earlier snapshot, if there is one. ``counts`` is None if
    they were never read.
    """

    label: str
    findings: Findings = Findings(findings=(), at=0.0)
    counts: tuple[Count, ...] | None = None
    error: str = ""
    uncounted: str = ""

    def with_findings(self, findings: Iterable[Finding]) -> Part:
        """Return the part with these findings instead."""
        return msgspec.structs.replace(self, findings=msgspec.structs.replace(self.findings, findings=tuple(findings)))

    @property
    def unread(self) -> str:
        """Reason for which most of the checks could not be made, or ""."""
        return self.error.replace("\n", " ") or self.findings.unread


class Stuck(Record):
    """Incidents of all engines and of the server, worst first.

    ``capped`` lists engine label and code of findings of which more exist than were read.
    """

    incidents: tuple[Incident, ...]
    at: float
    skipped_findings: tuple[SkippedFinding, ...] = ()
    capped: tuple[tuple[str, str], ...] = ()
    where: Where | None = None


class Snapshot(Record):
    """Incidents of engines and server, worst first, and what was read to find them."""

    at: float
    parts: tuple[Part, ...]
    incidents: tuple[Incident, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all parts."""
        return tuple(finding for part in self.parts for finding in part.findings.findings)

    @property
    def skipped_findings(self) -> tuple[SkippedFinding, ...]:
        """The checks that were not made."""
        return tuple(each for part in self.parts for each in part.findings.skipped_findings)

    @property
    def is_complete(self) -> bool:
        """True if every check was made.

        Only then nothing is stuck if there is no incident.
        """
        return not self.capped and not self.skipped_findings

    @property
    def unread(self) -> set[str]:
        """Labels of the parts with findings of an earlier read, or with few checks."""
        return {p.label for p in self.parts if p.unread or any(f.read_at is not None for f in p.findings.findings)}

    @property
    def more(self) -> set[str]:
        """Labels of the parts that may have more findings than were read."""
        unseen = {each.engine for each in self.skipped_findings if each.failed or each.code == HIDDEN_ROWS}
        return unseen | {label for label, _ in self.capped}

    @property
    def capped(self) -> tuple[tuple[str, str], ...]:
        """Label and code of each finding of which more exist than were read."""
        return tuple((part.label, code) for part in self.parts for code in part.findings.capped)

    @property
    def answer(self) -> Stuck:
        """The record that ``stuck --json`` prints."""
        return msgspec.convert(self, Stuck, from_attributes=True)
