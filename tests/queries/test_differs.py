"""Values that separate late, failed or often tried nodes from others."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from queries.contract.builtin import builtin
from queries.evidence import differs
from queries.records.finding import Incident
from queries.snapshot import snapshot
from queries.workspace import Workspace
from tests.proof import ROUNDS, most_in_proof, proof
from tests.queries import plans
from tests.queries.builders import opened
from tests.servers import PostgresServer

# Name -> engine, code of the incident, what it says, rows
SCENES = {
    name: (engine, code, text, sql)
    for name, engine, code, text, sql in re.findall(
        r"-- scene (.*): (\w+); (\w+); (.*)\n((?:(?!--).*\n)*)",
        Path(__file__).with_name("differs.sql").read_text("utf-8"),
    )
}


@pytest.fixture
async def workspaces(server: PostgresServer, tmp_path: Path) -> AsyncIterator[Any]:
    """Return ``open(engine, sql)``: a workspace on a new database with these rows."""
    open_: list[Workspace] = []

    async def open_workspace(engine: str, sql: str, role: str = "", *, filled: bool = False) -> Workspace:
        dsn = server.fresh(engine, filled=filled)
        server.sql(sql, dsn)
        open_workspace.dsn = dsn  # type: ignore[attr-defined]
        dsn = server.dsn(urlsplit(dsn).path.strip("/"), user=role, password=role) if role else dsn
        open_.append(await opened(dsn, tmp_path))
        return open_[-1]

    yield open_workspace
    for workspace in open_:
        await workspace.close()


async def shown(workspace: Workspace) -> tuple[Incident, ...]:
    return (await snapshot(workspace, [*workspace.engines.values()], once=False)).incidents


@pytest.mark.parametrize("name", SCENES)
async def test_what_differs_is_said(workspaces: Any, name: str) -> None:
    engine, code, text, sql = SCENES[name]
    incidents = await shown(await workspaces(engine, sql))
    assert [each.code for each in incidents if text in each.sentence][:1] == [code]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("SELECT", "20 of 20 have headers.to = failed, 0 of 20 others."),
        ("ALTER TABLE pgqueuer ENABLE ROW LEVEL SECURITY", ""),
    ],
)
async def test_what_may_not_be_read_is_left_aside(
    server: PostgresServer, workspaces: Any, more: str, text: str
) -> None:
    """A column without SELECT is not compared, nor are rows that a policy hides."""
    engine, *_, sql = SCENES["payload of failed jobs"]
    role = server.unique("reader")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'")
    columns = "id, priority, queue_manager_id, created, updated, heartbeat, execute_after, status, entrypoint, attempts"
    rights = f"""GRANT SELECT ({columns}, headers, slot) ON pgqueuer TO {role};
                 GRANT SELECT ON pgqueuer_log, pgqueuer_schedules TO {role};
                 UPDATE pgqueuer SET headers = jsonb_build_object('to', status); {more};
                 CREATE POLICY failed ON pgqueuer USING (status = 'failed')"""
    (incident,) = await shown(await workspaces(engine, f"{sql}; {rights}", role))
    assert incident.sentence.endswith(text or "dedupe_key, payload of pgqueuer.")


@pytest.mark.parametrize("name", most_in_proof(sorted(each.name for each in builtin()), 2))
async def test_large_tables_are_read_by_their_keys(server: PostgresServer, workspaces: Any, name: str) -> None:
    workspace = await workspaces(name, "SELECT")
    await plans.fill(workspaces.dsn, name, 20_000)
    await workspace.detect(renew=True)
    reader = workspace.engines[name]
    tables = {each for each, relation in reader.detected.relations.items() if relation.blocks > plans.LARGE}
    for kind in (kind for kind in reader.engine.spec.kinds if kind.table in tables):
        _, ids = await differs.rows_of(reader, kind, [], {})
        with plans.recorded(tables) as costs:
            await differs.rows_of(reader, kind, sorted(ids)[:100], {})
        assert not any(cost.scanned for cost in costs.values())
        assert sum(cost.buffers for cost in costs.values()) < 4_000


async def test_a_difference_is_kept_for_a_while(workspaces: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read again meanwhile; others that are gone by then went on."""
    engine, _, text, sql = SCENES["tenant of a payload"]
    workspace = await workspaces(engine, sql)
    assert text in (await shown(workspace))[0].sentence
    read = []
    monkeypatch.setattr(differs, "compare", lambda *_: read.append(1))
    assert text in (await shown(workspace))[0].sentence
    assert not read


def test_few_nodes_or_few_others_say_nothing() -> None:
    rows = {f"bad{n}": {"queue": "a", "#tries": "9", "id": str(n)} for n in range(20)}
    rows |= {f"good{n}": {"queue": "b", "#tries": "0", "id": str(n)} for n in range(20)}
    bad, good = [each for each in rows if each[:3] == "bad"], [each for each in rows if each[:3] != "bad"]
    assert differs.difference(rows, bad, good) == "20 of 20 have queue = a, 0 of 20 others."
    assert differs.difference(rows, bad[:5], good[:10]) == "5 of 5 have queue = a, 0 of 10 others."
    assert differs.difference(rows, bad[:4], good) == differs.difference(rows, bad, good[:9]) == ""
    assert differs.difference(rows, bad, [*good, *bad[:3]]) == ""
    assert differs.difference(rows, bad, good, {"a"}) == differs.difference(rows, bad, good, {"queue"}) == ""
    rows |= {each: {"queue": "c"} for each in bad[:3]}
    assert differs.difference(rows, bad, good) == ""


@proof
@pytest.mark.parametrize("name", sorted(each.name for each in builtin()))
async def test_healthy_groups_have_no_false_words(workspaces: Any, name: str) -> None:
    """At most one random group in 100 gets a sentence, also of nodes in one phase."""
    workspace = await workspaces(name, "SELECT", filled=True)
    reader, said, groups = workspace.engines[name], list[str](), 0
    for kind in (kind for kind in reader.engine.spec.kinds if kind.table in reader.detected.relations):
        rows, sample = await differs.rows_of(reader, kind, [], {})
        phases: dict[Any, list[str]] = {None: sorted(sample)}
        for node in (await reader.nodes.read(sample)).nodes:
            phases.setdefault(node.phase, []).append(node.id)
            rows[node.id]["#"] = node.phase
        for ids in (each for each in phases.values() if len(each) >= 2 * differs.LEAST_NODES):
            for seed in range(round(100 * ROUNDS)):
                rng, groups = random.Random(seed), groups + 1
                group = rng.sample(ids, rng.randint(differs.LEAST_NODES, len(ids) // 2))
                _, text = differs.most_alike(rows, group, sample - {*group})
                said += [text] if text else []
    assert groups
    assert len(said) <= groups / 100, said
