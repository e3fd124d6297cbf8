"""``engines`` and ``stuck`` as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.cli import tables
from console.cli.output import Whole
from console.cli.stuck import SEVERAL, EngineHere
from console.text import formatting
from queries.model import Findings


def engine(of: EngineHere) -> Iterator[str]:
    """An engine, its counts by phase, and what can be done to its nodes."""
    yield f"{of.label}  {of.title}, in schema {of.schema}"
    yield from (f"  {note}" for note in of.notes)
    yield "  " + (of.unreadable or tables.counts(of.counts)) + (" that policies show" if of.policies else "")
    rows = []
    for here in of.actions:
        said = "" if here.available else f"not here: {here.why}"
        rows.append(["", here.action.name, "/".join(here.action.kinds), said or here.action.effect])
    yield from tables.table(rows)
    for ddl in of.missing:
        yield f"  would help: {ddl}"


def stuck(answer: Findings, labels: Sequence[str]) -> Iterator[str]:
    """Findings, each with its sentence and the command that helps; then what was not looked for."""
    for finding in answer.found:
        since = "" if finding.since is None else f"  for {formatting.age(answer.at - finding.since)}"
        yield f"{finding.severity}  {finding.title}{since}  {finding.node_id}"
        yield f"   {finding.sentence}" + (" (assumed)" if finding.proof == "assumed" else "")
        if finding.action:
            yield Whole(f"   → {tables.command(finding)}")
    if not answer.found:
        sure = all(each.why == SEVERAL for each in answer.skipped_findings)
        yield f"Nothing is stuck in {', '.join(labels)}." if sure else "Nothing was found where it could be looked for."
    for code in answer.capped:
        yield f"There are more of {code}: --limit shows more."
    for each in answer.skipped_findings:
        if each.failed:
            continue  # said on stderr
        yield f"Not looked for: {each.engine} {each.code}: {each.why}" + (f" ({each.ddl})" if each.ddl else "")
