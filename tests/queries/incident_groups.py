"""Incidents of one engine's findings, as the console groups them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queries.read.incidents import incidents
from queries.records.finding import Incident
from queries.workspace import Workspace
from tests.queries.builders import reader


async def incidents_of(workspace: Workspace, label: str) -> dict[str, list[Incident]]:
    """Read the findings, with those of the samples; return their incidents by code."""
    engine = reader(workspace, label)
    findings = await engine.findings.read()
    assert [each for each in findings.skipped_findings if each.failed] == []
    specs = {label: {spec.code: spec for spec in engine.engine.spec.findings}}
    capped = {(label, code) for code in findings.capped}
    shown: dict[str, list[Incident]] = {}
    for incident in incidents([*findings.findings, *engine.findings.sampled()], specs, capped):
        assert "?" not in incident.sentence, incident.sentence
        shown.setdefault(incident.code, []).append(incident)
    return shown


async def the_only(
    workspace: Workspace, label: str, code: str, *, symptoms: Mapping[str, int] | None = None, **fields: Any
) -> Incident:
    """Return the engine's only incident: of this code, with these symptoms and fields."""
    shown = await incidents_of(workspace, label)
    ((incident,),) = shown.values()
    assert list(shown) == [code]
    assert symptoms in (None, {each.code: each.n for each in incident.symptoms})
    assert {name: getattr(incident, name) for name in fields} == fields
    return incident
