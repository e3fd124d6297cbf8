"""``do`` for every action of every engine, on the demo's data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queries.change import perform
from queries.change.plan import plan_versions
from queries.read.reader import Reader
from queries.records.action import Outcome
from queries.records.node import Node
from queries.workspace import Workspace
from tests.command import fetch, unstick
from tests.db.estuary import digest
from tests.proof import most_in_proof, proof
from tests.servers import PostgresServer

VARIANTS = [("uni2work", ""), ("agent_jobs", "table"), ("estuary", ""), ("agent_jobs", "mirror")]
# What an action wants to know, by engine and action.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "uni2work release": {"gone": True},
    "uni2work refill": {"value": 1000},
    "estuary send": {"message": {"type": "shard_failed"}},
    "estuary drop": {
        "position": 1,
        "digest": digest('["00:00:00:00:00:00:00:00", {"type":"queued"}]'),
        "decodable": True,
    },
    "estuary release": {"early": True},
}


@pytest.fixture(params=most_in_proof(VARIANTS, unpacked=False), ids=lambda v: " ".join(v).strip())
def engine(
    request: pytest.FixtureRequest, server: PostgresServer, tmp_path: Path
) -> Iterator[tuple[str, str, str, Path]]:
    """Yield an engine, its profile, the DSN of its demo data, and a home for it.

    The home contains the profile.
    """
    name, profile = request.param
    dsn = server.fresh(name, filled=True)
    if profile == "table":
        for status in ("active", "delayed", "paused"):
            some = "SELECT id FROM jobs WHERE status = 'pending' ORDER BY created_at LIMIT 2"
            server.sql(f"UPDATE jobs SET status = '{status}' WHERE id IN ({some})", dsn)
        server.sql("UPDATE jobs SET updated_at = now() - interval '1 day'", dsn)
    settings = tmp_path / "config" / "unstick" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[options.{name}]\nprofile = "{profile}"\n' if profile else "")
    yield name, profile, dsn, tmp_path
    server.drop(dsn)


async def walked(reader: Reader) -> list[Node]:
    """Return unfinished nodes and the first nodes of the tree."""
    nodes = list((await reader.pages.roots(limit=100)).nodes) + list((await reader.pages.live(limit=300)).nodes)
    for node in nodes[:200]:
        kind = reader.engine.kind(node.kind)
        nodes += (await reader.pages.children(node.id, limit=50)).nodes if kind and kind.children else ()
    return list({n.id: n for n in nodes}.values())


async def actions(name: str, profile: str, dsn: str) -> list[tuple[str, str]]:
    """All actions that write, with the kind they are for.

    Those that edit a text need a new one: test_cli_edit.
    """
    workspace = await Workspace(dsn, {name: {"profile": profile}} if profile else {}).open()
    reader = workspace.engines[name]
    await workspace.close()
    kinds = reader.engine.spec.kinds
    return [(v.name, k.name) for k in kinds for v in reader.engine.actions_of(k.name) if v.writes and not v.document]


async def candidate(name: str, profile: str, dsn: str, action: str, kind: str) -> str:
    """A node for which the action's dry run comes to something."""
    workspace = await Workspace(dsn, {name: {"profile": profile}} if profile else {}).open()
    reader = workspace.engines[name]
    spec = reader.engine.action(action, kind)
    assert spec is not None
    why = ["there is none that is in the right phase"]
    for node in [n for n in await walked(reader) if n.kind == kind and reader.availability(spec, n).ok]:
        given = ARGUMENTS.get(f"{name} {action}", {})
        dry_run = await perform.dry_run(
            workspace, plan_versions(workspace, name, action, {node.id: node.version}), "looking", given
        )
        if dry_run.results[0].outcome is Outcome.CHANGED:
            await workspace.close()
            return node.id
        why.append(f"{node.id}: {dry_run.results[0].why}")
    await workspace.close()
    raise AssertionError(f"no {kind} to {action}: " + "; ".join(why))


@proof
def test_every_action_has_its_twin(engine: tuple[str, str, str, Path]) -> None:
    name, profile, dsn, home = engine
    asked = asyncio.run(actions(name, profile, dsn))
    assert len(asked) >= 2
    for action, kind in asked:
        node = asyncio.run(candidate(name, profile, dsn, action, kind))
        given = ARGUMENTS.get(f"{name} {action}", {})
        pairs = {k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items()}
        words = [w for key, value in pairs.items() for w in ("--arg", f"{key}={value}")]
        words = ["do", action, node, "--reason", "to try it", "--json", *words]
        before = rows(dsn)
        dry = unstick(*words, "--dry-run", dsn=dsn, home=home)
        assert (dry.code, dry.json["results"][0]["outcome"]) == (0, "changed"), (action, dry.err)
        assert dry.json["changes"], action
        assert rows(dsn) == before
        done = unstick(*words, "--yes", dsn=dsn, home=home)
        (result,) = done.json["results"]
        assert (done.code, result["id"], result["outcome"], result["why"]) == (0, node, "changed", ""), (
            action,
            done.err,
        )
        assert rows(dsn) != before
        (entry,) = unstick("audit", node, "--limit", "1", "--json", dsn=dsn, home=home).json["entries"]
        assert (entry["action"], entry["reason"], entry["engine"]) == (action, "to try it", name)


def rows(dsn: str) -> list[tuple[str, ...]]:
    """Every row of the engine's tables, with who wrote it."""
    tables = fetch(
        dsn,
        "SELECT c.oid::regclass::text FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    )
    return [
        row
        for (table,) in sorted(tables)
        for row in fetch(dsn, f"SELECT t.xmin::text, t::text FROM {table} t ORDER BY 2, 1")
    ]


def test_the_profile_is_the_settings_or_what_is_recognised_and_always_shown(engine: tuple[str, str, str, Path]) -> None:
    _, profile, dsn, home = engine
    if not profile:
        assert "profile" not in unstick("engines", dsn=dsn, home=home).out
        return
    actions = {
        v["action"]["name"]: v["available"] for v in unstick("engines", "--json", dsn=dsn).json["engines"][0]["actions"]
    }
    assert ("mark_failed" in actions, actions["cancel"]) == ((True, False) if profile == "mirror" else (False, True))
    assert f"profile: {profile} (from the settings)" in unstick("engines", dsn=dsn, home=home).out
    recognised = unstick("engines", dsn=dsn).out
    assert f"profile: {profile} (" in recognised
    assert "from the settings" not in recognised
