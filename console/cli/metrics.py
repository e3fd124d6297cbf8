"""``metrics``: counts and oldest ages in the OpenMetrics text format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from console.cli import stuck
from console.cli.output import output_for, say
from console.cli.target import opened, select_readers
from console.model.dead_letter_board import DEAD_LETTERS_COUNTED, read_dead_letters
from console.target import Target
from queries.contract.server_spec import server_spec
from queries.contract.spec import FindingSpec
from queries.read.reader import Reader
from queries.records.node import Precision
from queries.records.record import Record
from queries.records.snapshot import Part

COUNTED_NODES = 2000  # nodes that are counted for each finding


class Metric(Record):
    """A gauge and its samples. A number that is not known is NaN."""

    name: str
    about: str
    unit: str = ""
    samples: list[tuple[dict[str, str], float]] = []


async def metrics(target: Target, *, engine: str | None, sample: float | None) -> int:
    """Print the metrics. Return the exit code: 1 if something could not be read."""
    if target.json:
        raise click.UsageError("metrics prints the OpenMetrics text format and has no --json.")
    async with opened(target) as workspace:
        where = target.where(workspace.server)
        typed = where.typed.removeprefix(f"@{target.name}").strip()
        readings = Metrics({"context": target.name, "server": typed, "database": where.database})
        readers = list(select_readers(workspace, engine))
        now, notes = await stuck.read(workspace, readers, COUNTED_NODES, sample, whole=engine is None, counts=True)
        readings.failed(notes)
        if (server := workspace.server).may_lag:
            readings.standby.samples.append((readings.where, math.nan if server.lag is None else server.lag))
        await workspace.database.together(*map(readings.add_dead, readers))
        specs = {reader.label: reader.engine.spec.findings for reader in readers}
        for part in now.parts:
            readings.add(part, specs.get(part.label, server_spec().findings))
    output_for(target).lines(exposition(readings.families()))
    return int(bool(readings.unreadable))


class Metrics:
    """The metrics of all engines that were read so far."""

    def __init__(self, where: Mapping[str, str]) -> None:
        """``where``: labels of each number, which name the database."""
        self.where = dict(where)
        self.nodes = Metric(name="unstick_nodes", about="Nodes of an engine by phase.")
        self.stuck = Metric(name="unstick_stuck_nodes", about="Nodes that have a finding.")
        self.oldest = Metric(
            name="unstick_stuck_oldest_age_seconds",
            about="Age of the oldest node that has a finding; capped: of those read, the oldest may be older.",
            unit="seconds",
        )
        self.dead = Metric(name="unstick_dead_letters", about="Dead letters that await a decision.")
        self.dead_oldest = Metric(
            name="unstick_dead_letters_oldest_age_seconds",
            about="Age of the oldest dead letter; capped: of those read, the oldest may be older.",
            unit="seconds",
        )
        self.standby = Metric(
            name="unstick_standby_data_age_seconds",
            about="Age of the data of the standby that was read.",
            unit="seconds",
        )
        self.unreadable: list[str] = []

    def families(self) -> tuple[Metric, ...]:
        """Return all metrics."""
        every = (self.nodes, self.stuck, self.oldest, self.dead, self.dead_oldest)
        return (*every, self.standby) if self.standby.samples else every

    def failed(self, lines: Sequence[str]) -> None:
        """Note and report why parts could not be read."""
        self.unreadable += lines
        say(*lines)

    def add(self, part: Part, specs: Iterable[FindingSpec]) -> None:
        """Add the counts of a part, and number and oldest of each finding's nodes."""
        label, findings = part.label, part.findings
        for count in part.counts or ():
            is_known = count.n is not None and count.precision is not Precision.UNKNOWN
            labels = self.where | {"engine": label, "phase": count.phase.value, "precision": count.precision.value}
            self.nodes.samples.append((labels, float(count.n or 0) if is_known else math.nan))
        ages: dict[str, dict[str, float | None]] = {}
        for finding in findings.findings:
            since = None if finding.since is None else findings.at - finding.since
            ages.setdefault(finding.code, {})[finding.node_id] = since
        skipped = {each.code for each in findings.skipped_findings}
        for spec in specs:
            nodes = ages.get(spec.code, {})
            unknown = bool(part.error) or (spec.code in skipped and not nodes)
            capped = spec.code in findings.capped or spec.code in skipped
            precision = Precision.UNKNOWN if unknown else Precision.CAPPED if capped else Precision.EXACT
            labels = self.where | {"engine": label, "finding": spec.code, "precision": precision.value}
            self.stuck.samples.append((labels, math.nan if unknown else float(len(nodes))))
            known_ages = [age for age in nodes.values() if age is not None]
            if known_ages:
                self.oldest.samples.append((labels, max(known_ages)))

    async def add_dead(self, reader: Reader) -> None:
        """Add the dead letters of an engine."""
        report = await read_dead_letters(reader, DEAD_LETTERS_COUNTED)
        if report.unreadable:
            self.failed([f"{reader.label}: {report.unreadable}"])
        unknown = bool(report.unreadable) or report.scan_required is not None
        precision = Precision.UNKNOWN if unknown else Precision.CAPPED if report.capped else Precision.EXACT
        labels = self.where | {"engine": reader.label, "precision": precision.value}
        self.dead.samples.append((labels, math.nan if unknown else float(len(report.dead_letters))))
        since = [each.since for each in report.dead_letters if each.since is not None]
        if since and report.at is not None:
            self.dead_oldest.samples.append((labels, report.at - min(since)))


def exposition(families: Iterable[Metric]) -> Iterator[str]:
    """Yield the lines of the OpenMetrics text format 1.0."""
    for family in families:
        yield f"# TYPE {family.name} gauge"
        if family.unit:
            yield f"# UNIT {family.name} {family.unit}"
        yield f"# HELP {family.name} {escaped(family.about)}"
        for labels, value in family.samples:
            pairs = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
            yield f"{family.name}{{{pairs}}} {number(value)}"
    yield "# EOF"


def escaped(text: str) -> str:
    """Escape a label's value or a help text."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def number(value: float) -> str:
    """Return a number as the format spells it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)
