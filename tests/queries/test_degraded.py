"""An unreadable part does not affect others: missing rights, bad SQL, bad values."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

import msgspec
import pytest

from queries.contract import loader
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.db.errors import DatabaseError
from queries.read import details
from queries.records.node import Node, Phase
from tests.command import Answer, unstick
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer

ENGINES = Path(loader.__file__).parents[1] / "engines"
COMMANDS = ("engines", "tree", "stuck", "dead")


@pytest.fixture
def one_readable_engine(server: PostgresServer, eternaltwin: str) -> str:
    """DSN for a role that may read only one engine of three.

    It has no USAGE on the schemas of the other two.
    """
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin
    )
    for name in ("estuary", "agent_jobs"):
        ddl = (ENGINES / name / "schema.sql").read_text()
        grant = f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {role}"
        server.sql(f"CREATE SCHEMA {name}; SET search_path = {name}; {ddl}; {grant}", eternaltwin)
    return server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")


async def ask(*words: str, dsn: str) -> Answer:
    return await asyncio.to_thread(unstick, *words, dsn=dsn)


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_schema_without_usage_costs_its_own_engines_alone(
    eternaltwin_db: EternaltwinDb, one_readable_engine: str, command: str
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600)
    answer = await ask(command, "--json", dsn=one_readable_engine)
    assert answer.code == 1
    assert {line.partition(":")[0] for line in answer.err.splitlines() if "USAGE" in line} == {"agent_jobs", "estuary"}
    if command in ("tree", "stuck"):
        nodes = answer.json["nodes"] if command == "tree" else answer.findings
        assert {node["engine"] for node in nodes} == {"eternaltwin"}


# Which variant it is


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make agent_jobs' options.sql divide by zero."""
    bad = _changed(
        "agent_jobs", "options", lambda text: f"SELECT o.* FROM ({text}) AS o WHERE 1 / length(left('', 1)) = 1"
    )
    monkeypatch.setattr("queries.workspace.builtin", lambda: bad)


def _changed(name: str, key: str, change: Callable[[str], str] | str) -> tuple[Engine, ...]:
    """Return the engines with changed statements of ``key`` in the engine ``name``."""
    made = []
    for each in builtin():
        if each.name == name:
            texts = [
                msgspec.structs.replace(s, text=change, parameters=())
                if isinstance(change, str)
                else msgspec.structs.replace(s, text=change(s.text))
                for s in each.statements[key]
            ]
            each = msgspec.structs.replace(each, statements={**each.statements, key: tuple(texts)})
        made.append(each)
    return tuple(made)


async def test_an_options_statement_that_fails_costs_the_variant_alone(
    agent_jobs_db: AgentJobsDb, server: PostgresServer, failing: None
) -> None:
    ddl = (ENGINES / "eternaltwin" / "schema.sql").read_text()
    server.sql(f"CREATE SCHEMA twin; SET search_path = twin; {ddl}", agent_jobs_db.dsn)
    await agent_jobs_db.job("failed")
    for command in COMMANDS:
        answer = await ask(command, "--json", dsn=agent_jobs_db.dsn)
        assert answer.code == 1, command
        assert "division by zero" in answer.err, command
        assert all(line.startswith("agent_jobs: ") for line in answer.err.splitlines()), command
    counted = {s["label"]: s["counts"] for s in (await ask("engines", "--json", dsn=agent_jobs_db.dsn)).json["engines"]}
    assert counted["agent_jobs"]
    assert "eternaltwin" in counted


async def test_what_depends_on_the_variant_is_not_done_while_it_is_unknown(
    agent_jobs_db: AgentJobsDb, failing: None, tmp_path: Path
) -> None:
    await agent_jobs_db.job("failed")
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    jobs = reader(workspace, "agent_jobs")
    conditional = [
        action
        for kind in jobs.engine.spec.kinds
        for action in jobs.engine.actions_of(kind.name)
        if action.when and action.writes
    ]
    assert conditional
    assert all("division by zero" in jobs.availability(action).why for action in conditional)
    await workspace.close()


async def test_the_variant_is_found_out_as_soon_as_it_can_be(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.job("active")
    workspace = await opened(agent_jobs_db.dsn, tmp_path, later=True)
    await agent_jobs_db.connection.execute("BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    jobs = reader(workspace, "agent_jobs")
    await jobs.variant.recognise()
    assert jobs.variant.unrecognised
    await agent_jobs_db.connection.execute("ROLLBACK")
    await jobs.nodes.counts()
    assert not jobs.variant.unrecognised
    assert jobs.engine.settings["profile"] == "table"
    await workspace.close()


# A bad value

BAD = {
    "phase": "'odd'",
    "title": "NULL::text",
    "revision": "'x'::text",
    "created_at": "'soon'::text",
    "attempts": "0.5::float8",
    "version": "NULL::text",
}


@pytest.mark.parametrize("column", BAD)
async def test_a_bad_value_in_a_row_costs_that_row_alone(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    job = await eternaltwin_db.job()
    good, odd = await eternaltwin_db.task(job, kind="Good"), await eternaltwin_db.task(job, kind="Odd")
    (engine,) = (each for each in builtin() if each.name == "eternaltwin")
    without = {"engine", "findings", column, *engine.not_recorded}
    names = ", ".join(c.name for c in msgspec.structs.fields(Node) if c.name not in without)
    bad = _changed(
        "eternaltwin",
        "nodes",
        lambda text: (
            f"SELECT n.now, {names}, {BAD[column]} AS {column} FROM ({text}) AS n WHERE n.id = 'task:{odd}' "
            f"UNION ALL SELECT n.now, {names}, n.{column} FROM ({text}) AS n WHERE n.id <> 'task:{odd}'"
            if column in ("phase", "title", "version")
            else f"SELECT n.now, {names}, {BAD[column]} AS {column} FROM ({text}) AS n"
        ),
    )
    monkeypatch.setattr("queries.workspace.builtin", lambda: bad)
    workspace = await opened(eternaltwin, tmp_path)
    page = await reader(workspace).nodes.read([eternaltwin_db.id(good), eternaltwin_db.id(odd)])
    shown = {node.id: node for node in page.nodes}
    assert shown[eternaltwin_db.id(odd)].phase is Phase.UNKNOWN
    assert re.search(rf"nodes\.sql.*\b{column}\b", str(shown[eternaltwin_db.id(odd)].error))
    if column in ("phase", "title", "version"):
        assert shown[eternaltwin_db.id(good)].phase is Phase.READY
    await workspace.close()


@pytest.mark.parametrize(
    ("key", "text", "part"),
    [
        ("counts", "SELECT 'odd' AS phase, 1::int8 AS n, 'exact' AS precision", "nodes.counts"),
        ("counts", "SELECT 'ready' AS phase, 'many' AS n, 'exact' AS precision", "nodes.counts"),
        ("samples/tasks", "SELECT 'task:1' AS id, 'no JSON' AS seen", "samples.take"),
    ],
)
async def test_a_bad_value_is_an_error_of_its_part(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    text: str,
    part: str,
) -> None:
    await eternaltwin_db.task()
    bad = _changed("eternaltwin", key, text)
    monkeypatch.setattr("queries.workspace.builtin", lambda: bad)
    workspace = await opened(eternaltwin, tmp_path)
    with pytest.raises(DatabaseError, match=f"{key}\\.sql|cannot be read"):
        await attrgetter(part)(reader(workspace))()
    assert (await reader(workspace).pages.roots()).nodes
    await workspace.close()


async def test_a_bad_value_of_a_finding_leaves_the_other_findings(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-6000)
    bad = _changed("eternaltwin", "findings/late", "SELECT 'task:1' AS id, 1.0::float8 AS since, '[]' AS evidence")
    monkeypatch.setattr("queries.workspace.builtin", lambda: bad)
    workspace = await opened(eternaltwin, tmp_path)
    findings = await reader(workspace).findings.read()
    assert [(each.code, each.failed) for each in findings.skipped_findings if each.code == "late"] == [("late", True)]
    assert findings.findings
    await workspace.close()


@pytest.mark.parametrize("value", ["'294276-12-31'::timestamptz", "'5874897-01-01'::date"])
async def test_a_value_beyond_what_python_holds_costs_its_part_and_no_connection(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    task = await eternaltwin_db.task()
    bad = _changed("eternaltwin", "detail/times", f"SELECT {value} AS at")
    monkeypatch.setattr("queries.workspace.builtin", lambda: bad)
    workspace = await opened(eternaltwin, tmp_path)
    pids = "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE application_name = 'unstick'"
    before = await eternaltwin_db.value(pids)
    detail = await details.read(reader(workspace), eternaltwin_db.id(task))
    assert detail is not None
    unread = {
        section.name: section.scan_required.why
        for section in detail.sections
        if section.scan_required and not section.scan_required.need
    }
    assert "out of range" in unread["times"]
    assert len(detail.sections) > 1
    assert await eternaltwin_db.value(pids) == before
    await workspace.close()
