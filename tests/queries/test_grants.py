"""Privileges that ``grants`` prints.

They are enough for every page and every action, and do not let a viewer change anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from queries.actions import perform
from queries.actions.plan import plan_versions
from queries.check.nodes import known_nodes
from queries.contract.builtin import builtin
from queries.contract.spec import Action, Argument
from queries.read import details
from queries.read.reader import Reader
from queries.records.action import Outcome
from queries.records.finding import OPEN
from queries.records.node import Node
from queries.write.grants import grants
from tests.command import unstick
from tests.proof import most_in_proof
from tests.queries.builders import edits, opened
from tests.servers import PostgresServer

engines = pytest.mark.parametrize("name", most_in_proof([each.name for each in builtin()]))
# A usual hardening: no role may call a function that is not the server's own, unless it is granted.
NO_EXECUTE = """
DO $$ DECLARE s name; BEGIN
  FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' LOOP
    EXECUTE format('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', s);
  END LOOP;
END $$
"""
DEMO = {"agent_jobs": {"agent_jobs": {"profile": "table"}}}
# Actions for which the demo's data has no node at rest, so that they are dry-run in their own tests alone.
UNMET = {"agent_jobs": {"release", "resume", "wake"}}


@pytest.fixture
def filled(server: PostgresServer, name: str) -> Iterator[str]:
    dsn = server.fresh(name, filled=True)
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def roles(server: PostgresServer, filled: str, tmp_path: Path, name: str) -> dict[str, str]:
    """DSNs of a viewer and an operator who have exactly the printed privileges.

    The database grants no other privileges.
    """
    made = {role: server.unique(f'odd "{role}" ') for role in ("viewer", "operator")}
    workspace = await opened(filled, tmp_path, overrides=DEMO.get(name))
    try:
        for role in made.values():
            server.sql(f"CREATE ROLE {quoted(role)} LOGIN PASSWORD 'x'")
        server.sql("REVOKE ALL ON SCHEMA public FROM PUBLIC", filled)
        server.sql(NO_EXECUTE, filled)
        (reader,) = workspace.engines.values()
        for statement in await grants(workspace.database, reader, [made["viewer"]], [made["operator"]]):
            server.sql(statement, filled)
    finally:
        await workspace.close()
    database = urlsplit(filled).path.strip("/")
    return {role: server.dsn(database, user=user, password="x") for role, user in made.items()}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@engines
async def test_a_viewer_sees_everything_and_changes_nothing(
    filled: str, roles: dict[str, str], name: str, tmp_path: Path
) -> None:
    mine, theirs = [await opened(dsn, tmp_path, overrides=DEMO.get(name)) for dsn in (filled, roles["viewer"])]
    try:
        (all_,), (seen,) = mine.engines.values(), theirs.engines.values()
        assert seen.detected.denied == ()
        assert seen.engine.settings == all_.engine.settings
        known = await known_nodes(seen)
        assert [n.id for n in (await seen.pages.roots()).nodes] == [n.id for n in (await all_.pages.roots()).nodes]
        assert sum(c.n or 0 for c in await seen.nodes.counts()) == sum(c.n or 0 for c in await all_.nodes.counts()) > 0
        assert (await seen.findings.read()).skipped_findings == (await all_.findings.read()).skipped_findings
        await seen.samples.take()
        await all_.samples.take()
        for node in {node.kind: node for node in known.values()}.values():
            detail, whole = await details.read(seen, node.id), await details.read(all_, node.id)
            assert detail is not None
            assert whole is not None
            assert [(s.name, s.scan_required) for s in detail.sections] == [
                (s.name, s.scan_required) for s in whole.sections
            ]
        for action in seen.engine.spec.actions:  # what the catalog alone does not forbid, the server does
            asked, arguments = candidates(seen, action, known)
            dry_run = await perform.dry_run(theirs, plan_versions(theirs, name, action.name, asked), "try", arguments)
            assert Outcome.CHANGED not in {r.outcome for r in dry_run.results}
    finally:
        await mine.close()
        await theirs.close()


@engines
async def test_an_operator_can_dry_run_every_action(roles: dict[str, str], name: str, tmp_path: Path) -> None:
    workspace = await opened(roles["operator"], tmp_path, overrides=DEMO.get(name))
    unmet = set()
    try:
        (reader,) = workspace.engines.values()
        known = await known_nodes(reader)
        actions = {
            v.name: v for kind in reader.engine.spec.kinds for v in reader.engine.actions_of(kind.name) if v.writes
        }
        assert actions
        for action in actions.values():
            seen, arguments = candidates(reader, action, known)
            done = []
            one = dict([*seen.items()][:1])  # one alone may be allowed where many are not
            plans = [
                (plan_versions(workspace, name, action.name, some), given)
                for some, given in ((seen, arguments), (one, arguments), await suggested(reader, action))
            ]
            fit = [known[i] for i in seen] if action.document is not None else []
            for plan, given in plans:
                done += (await perform.dry_run(workspace, plan, "try", given)).results
            async for edit in edits(workspace, name, fit):
                done += (await perform.dry_run(workspace, edit, "try", edit.arguments)).results
                if done[-1].outcome is Outcome.CHANGED:
                    break
            assert [r.why for r in done if r.outcome is Outcome.DENIED] == [], action.name
            if Outcome.CHANGED not in {r.outcome for r in done}:
                unmet.add(action.name)
        assert unmet == UNMET.get(name, set())
    finally:
        await workspace.close()


async def suggested(reader: Reader, action: Action) -> tuple[dict[str, str], dict[str, Any]]:
    """Return a node's version by id, and the arguments that a finding suggests.

    Both are empty if no finding suggests the action with arguments.
    """
    found = [
        f
        for f in (await reader.findings.read()).findings
        if f.action == action.name and OPEN not in f.arguments.values()
    ]
    if not found or not found[0].arguments:
        return {}, {}
    nodes = (await reader.nodes.read([found[0].node_id])).nodes
    kinds = {a.name: a.type for a in action.arguments}
    given = {k: int(v) if kinds[k] == "int" else v for k, v in found[0].arguments.items()}
    return {node.id: node.version for node in nodes}, {**given, "early": True}


def candidates(reader: Reader, action: Action, known: dict[str, Node]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return versions by id of nodes that accept the action, and arguments.

    The arguments are for the first node.
    """
    fit = [n for n in known.values() if reader.engine.action(action.name, n.kind) and reader.availability(action, n).ok]
    title = fit[0].title.partition(" - ")[0] if fit else ""
    return {node.id: node.version for node in fit}, {
        a.name: value(a, title) for a in action.arguments if a.required or a.type == "flag"
    }


def value(argument: Argument, title: str) -> Any:
    """Return a value that an operator could give."""
    simple = {
        "flag": True,
        "int": 1,
        "json": "{}",
        "choice": (*argument.choices, "")[0],
        "text": title,
        "document": {"text": "{}", "seen": "?"},
    }
    return argument.default or simple[argument.type]


def test_it_is_printed_for_what_is_here(eternaltwin: str, server: PostgresServer) -> None:
    answer = unstick("grants", "--operator", "on call", dsn=eternaltwin)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "-- eternaltwin",
        'GRANT USAGE ON SCHEMA public TO "on call";',
        'GRANT SELECT ON public.job, public.task, public.task_timer TO "on call";',
        'GRANT INSERT, UPDATE, DELETE ON public.job TO "on call";',
        'GRANT INSERT, UPDATE, DELETE ON public.task TO "on call";',
        'GRANT INSERT, DELETE ON public.task_timer TO "on call";',
    ]
    assert unstick("grants", dsn=eternaltwin).out.count("TO viewer, operator;") == 2
    assert "operator" not in unstick("grants", "--viewer", "v", dsn=eternaltwin).out
    assert unstick("grants", "--json", dsn=eternaltwin).json["grants"]["eternaltwin"]
    server.sql("DROP TABLE task_timer", eternaltwin)
    assert unstick("grants", dsn=eternaltwin).code == 1


@engines
async def test_the_printed_statements_of_a_viewer_alone_run(
    filled: str, server: PostgresServer, name: str, tmp_path: Path
) -> None:
    """Each runs as printed; then the role may read, and not write."""
    viewer = server.unique("ann ")
    server.sql(f"CREATE ROLE {quoted(viewer)} LOGIN PASSWORD 'x'")
    printed = (await asyncio.to_thread(unstick, "grants", "--viewer", viewer, dsn=filled)).out
    assert "TO ;" not in printed
    server.sql(printed, filled)
    dsn = server.dsn(urlsplit(filled).path.strip("/"), user=viewer, password="x")
    workspace = await opened(dsn, tmp_path, overrides=DEMO.get(name))
    try:
        (reader,) = workspace.engines.values()
        assert reader.detected.denied == ()
        await reader.pages.roots()
        table = f"{quoted(reader.detected.schema)}.{quoted(next(iter(reader.detected.relations)))}"
        with pytest.raises(Exception, match="permission denied"):
            server.sql(f"DELETE FROM {table}", dsn)
    finally:
        await workspace.close()
