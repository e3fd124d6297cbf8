"""Suggested actions, tried against their own refusals."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from queries import snapshot
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.files.statement import Statement
from queries.read.incidents import REFUSED, cause_of
from queries.records.action import Outcome
from queries.records.finding import OPEN
from tests.queries.builders import dry_run_of, opened, outcomes_of
from tests.servers import PostgresServer

ENGINES = sorted((engine.name for engine in builtin()), key=lambda name: (name != "oban", name))


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("blocks", [1024, -1], ids=["small", "large"])
async def test_no_suggested_action_is_refused_for_all_nodes(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, blocks: int
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", blocks)
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = workspace.engines[name]
    causes: dict[object, list[str]] = {}
    for finding in (await engine.findings.read()).findings:
        if finding.action and OPEN not in finding.arguments.values():
            cause = cause_of(engine.findings.specs[finding.code], finding)
            causes.setdefault((cause, finding.action, tuple(finding.arguments.items())), []).append(finding.node_id)
    for (_, action, arguments), ids in causes.items():  # type: ignore[misc]
        known = next(
            a for a in engine.engine.actions_here if a.name == action and ids[0].split("/")[1].split(":")[0] in a.kinds
        )
        dry = [await dry_run_of(workspace, action, [node_id], dict(arguments), name) for node_id in ids[:3]]
        possible = (each.for_now or Outcome.REFUSED not in outcomes_of(each).values() for each in dry)
        assert any(possible), (action, dry[0].results)
        nodes = (await engine.nodes.read(ids[:3])).nodes
        answers = [engine.availability(known, node) for node in nodes]
        assert any(answer.ok for answer in answers) or not nodes, (action, answers)
    await workspace.close()
    server.drop(dsn)


async def test_a_refused_action_is_not_suggested_and_the_reason_is_said(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("oban", filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = workspace.engines["oban"]
    found = (await engine.findings.read()).findings
    (long,) = {f.node_id: f for f in found if f.code == "executing_long"}.values()
    assert long.action is None
    assert "Oban.cancel_job(" in long.evidence[REFUSED]
    incident = next(i for i in snapshot.incidents(workspace, found) if i.code == "executing_long")
    assert (incident.action, incident.remedy[:18]) == (None, "Release is refused")
    assert {f.action for f in found if f.code == "owner_dead"} == {"release", "cancel"}
    server.sql("DELETE FROM oban_producers", dsn)
    assert {f.action for f in (await engine.findings.read([long.node_id])).findings} <= {"release", "cancel", None}
    await workspace.close()
    server.drop(dsn)


async def test_the_action_that_will_work_is_suggested_instead(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("pgqueuer", filled=True)
    server.sql("UPDATE pgqueuer SET dedupe_key = NULL", dsn)
    queued = "SELECT min(id) FROM pgqueuer WHERE status = 'queued'"
    twin = f"UPDATE pgqueuer SET dedupe_key = 'twin' WHERE status = 'failed' OR id = ({queued})"
    server.sql(twin, dsn)
    workspace = await opened(dsn, tmp_path)
    failed = [f for f in (await workspace.engines["pgqueuer"].findings.read()).findings if f.code == "failing"]
    assert {f.action for f in failed} == {"delete"}
    assert all("same dedupe key" in f.evidence[REFUSED] for f in failed)
    outcomes = outcomes_of(await dry_run_of(workspace, "delete", [f.node_id for f in failed], {}, "pgqueuer"))
    assert set(outcomes.values()) == {Outcome.CHANGED}
    await workspace.close()
    server.drop(dsn)


WHY = "its owner wrote 00:00:38 ago"
ALL_REFUSED = Statement(
    text=f"SELECT i AS id, '{WHY}' AS why FROM unnest($1::text[]) AS i", source="test", parameters=("ids",)
)


NEVER_REFUSED = {"eternaltwin": {("empty_job", "delete")}, "tasker": {("poison_message", "archive")}}


def refusing(engine: Engine) -> Engine:
    """Return the engine with actions that refuse each node."""
    actions = {
        script: {**sections, "refused": (ALL_REFUSED,)} if "refused" in sections else sections
        for script, sections in engine.actions.items()
    }
    return msgspec.structs.replace(engine, actions=actions)


@pytest.mark.parametrize("name", ENGINES)
async def test_each_suggestion_that_refuses_all_its_nodes_is_withdrawn(
    server: PostgresServer, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another action is suggested instead, or none, with the reason."""
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    suggested = {
        (f.code, f.node_id): f.action
        for f in (await workspace.engines[name].findings.read()).findings
        if f.action and OPEN not in f.arguments.values()
    }
    await workspace.close()
    monkeypatch.setattr("queries.workspace.builtin", lambda: tuple(map(refusing, builtin())))
    workspace = await opened(dsn, tmp_path)
    left = {(f.code, f.node_id): f for f in (await workspace.engines[name].findings.read()).findings}
    kept = {(code, action) for (code, node), action in suggested.items() if left[code, node].action == action}
    assert kept == NEVER_REFUSED.get(name, set())
    withdrawn = [finding for key, finding in left.items() if key in suggested and (key[0], suggested[key]) not in kept]
    assert withdrawn
    assert all("its owner wrote 38s ago" in finding.evidence[REFUSED] for finding in withdrawn)
    await workspace.close()
    server.drop(dsn)
