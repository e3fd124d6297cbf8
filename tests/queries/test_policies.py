"""Row-level security: hidden rows are not absent, forbidden changes are denied."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from queries.db.query import statement
from queries.records.node import Precision
from queries.workspace import Workspace
from tests.command import Answer, unstick
from tests.console.tui_driver import run_tui
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, dry_run_of, opened, outcomes_of, reader, seen, why
from tests.servers import PostgresServer, both_versions

ENABLE = "ALTER TABLE task ENABLE ROW LEVEL SECURITY"
SEE = "CREATE POLICY see ON task FOR SELECT USING (true)"


@pytest.fixture
def clerk(server: PostgresServer, eternaltwin: str) -> str:
    """DSN for a role with all privileges on eternaltwin's tables, but not their owner."""
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin
    )
    return server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")


@pytest.fixture
async def view(clerk: str, server: PostgresServer, eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    """Workspace of that role.

    ``task`` has row-level security and a policy to see all rows.
    """
    server.sql(f"{ENABLE}; {SEE}", eternaltwin)
    workspace = await opened(clerk, tmp_path)
    yield workspace
    await workspace.close()


async def ask(*words: str, dsn: str) -> Answer:
    return await asyncio.to_thread(unstick, *words, dsn=dsn)


async def test_a_role_without_policies_gets_no_note_about_them(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task()
    await eternaltwin_db.sql(f"{ENABLE}; {SEE}")
    workspace = await opened(eternaltwin, tmp_path)
    assert reader(workspace).detected.policies == ()
    assert {count.precision for count in await reader(workspace).nodes.counts()} == {Precision.EXACT}
    await workspace.close()


@both_versions
async def test_hidden_rows_are_no_all_clear(eternaltwin_db: EternaltwinDb, clerk: str) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, status="Blocked", timer=-6000)
    before = await ask("stuck", dsn=clerk)
    assert "overdue" in before.out
    await eternaltwin_db.sql(ENABLE)
    for command in ("engines", "tree", "stuck"):
        text, json = await ask(command, dsn=clerk), await ask(command, "--json", dsn=clerk)
        assert text.code == json.code == 0
        assert "Nothing is stuck" not in text.out
        assert "polic" in text.out + text.err, command
        assert "polic" in json.out, command
    shown = (await ask("show", eternaltwin_db.id(job, "job"), dsn=clerk)).out
    assert "No problems detected." not in shown
    assert "Not checked: " in shown
    counts = (await ask("engines", "--json", dsn=clerk)).json["engines"][0]["counts"]
    assert all(count["precision"] != "exact" for count in counts)
    skipped = [each["code"] for each in (await ask("stuck", "--json", dsn=clerk)).json["skipped_findings"]]
    assert skipped[0] == "hidden rows"
    assert "empty_job" in skipped
    assert (await ask("stuck", dsn=clerk)).out.count("would take for absent") == 1


async def test_a_node_that_no_policy_shows_is_not_called_gone(eternaltwin_db: EternaltwinDb, clerk: str) -> None:
    task = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-6000))
    await eternaltwin_db.sql(ENABLE)
    answer = await ask("do", "wake", task, "--reason", "x", "--yes", "--json", dsn=clerk)
    assert [(r["outcome"], "policy" in r["why"]) for r in answer.json["results"]] == [("denied", True)]
    assert answer.code == 3
    assert "policy" in (await ask("show", task, dsn=clerk)).err


@both_versions
async def test_a_row_that_may_not_be_updated_is_denied_and_one_that_is_held_is_locked(
    eternaltwin_db: EternaltwinDb, view: Workspace, eternaltwin: str
) -> None:
    job = await eternaltwin_db.job()
    tasks = [await eternaltwin_db.task(job, status="Blocked", timer=-600) for _ in range(7)]
    held, free = tasks[0], tasks[1:3]
    allowed = ", ".join(f"'{task}'" for task in (held, *free))
    await eternaltwin_db.sql(f"CREATE POLICY change ON task FOR UPDATE USING (task_id IN ({allowed}))")
    other = await EternaltwinDb.open(eternaltwin)
    await other.sql(f"BEGIN; SELECT FROM task WHERE task_id = '{held}' FOR UPDATE")
    outcomes = outcomes_of(await do(view, "wake", [eternaltwin_db.id(task) for task in tasks]))
    await other.sql("ROLLBACK")
    await other.connection.close()
    expected = {held: "locked"} | dict.fromkeys(free, "changed") | dict.fromkeys(tasks[3:], "denied")
    assert outcomes == {eternaltwin_db.id(task): outcome for task, outcome in expected.items()}
    assert await state(eternaltwin_db, free) == {"Available"}
    assert await state(eternaltwin_db, [*tasks[3:], held]) == {"Blocked"}


async def test_policies_that_are_made_while_a_console_is_open_are_known_at_once(
    eternaltwin_db: EternaltwinDb, clerk: str, tmp_path: Path
) -> None:
    """A row that they hide from UPDATE is not called locked.

    One that no policy shows may not be gone.
    """
    fixed, hidden = [await eternaltwin_db.task(status="Blocked", timer=-600) for _ in range(2)]
    ids = [eternaltwin_db.id(task) for task in (fixed, hidden)]
    workspace = await opened(clerk, tmp_path)
    versions = await seen(workspace, ids)
    await eternaltwin_db.sql(f"{ENABLE}; CREATE POLICY see ON task FOR SELECT USING (task_id <> '{hidden}')")
    dry_run = await dry_run_of(workspace, "wake", versions)
    assert outcomes_of(dry_run) == {ids[0]: "denied", ids[1]: "gone"}
    assert all("row-level policy" in why(dry_run, node_id) for node_id in ids)
    await workspace.close()


async def test_a_row_whose_new_version_is_forbidden_is_denied_and_the_others_are_changed(
    eternaltwin_db: EternaltwinDb, view: Workspace
) -> None:
    job = await eternaltwin_db.job()
    good, bad = [await eternaltwin_db.task(job, status="Blocked", timer=-600) for _ in range(2)]
    await eternaltwin_db.sql(f"CREATE POLICY change ON task FOR UPDATE USING (true) WITH CHECK (task_id <> '{bad}')")
    outcomes = await do(view, "wake", [eternaltwin_db.id(good), eternaltwin_db.id(bad)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(good): "changed", eternaltwin_db.id(bad): "denied"}
    assert "row-level policy" in why(outcomes, eternaltwin_db.id(bad))
    assert (await state(eternaltwin_db, [good]), await state(eternaltwin_db, [bad])) == ({"Available"}, {"Blocked"})


@pytest.mark.parametrize("opened_before", [False, True], ids=["under_it", "opened_before"])
async def test_a_change_of_which_a_policy_may_keep_a_part_is_refused(
    eternaltwin_db: EternaltwinDb, clerk: str, tmp_path: Path, opened_before: bool
) -> None:
    """The server deletes no row that a policy for DELETE hides, and raises no error."""
    task = await eternaltwin_db.task(status="Blocked", timer=600)
    workspace = await opened(clerk, tmp_path) if opened_before else None
    await eternaltwin_db.sql("ALTER TABLE task_timer ENABLE ROW LEVEL SECURITY")
    workspace = workspace or await opened(clerk, tmp_path)
    before = await eternaltwin_db.digest()
    for arguments in ({}, {"untimed": True}):
        dry_run = await dry_run_of(workspace, "wake", [eternaltwin_db.id(task)], arguments)
        assert outcomes_of(dry_run) == {eternaltwin_db.id(task): "denied"}
        assert "task_timer" in why(dry_run, eternaltwin_db.id(task))
    assert dry_run.changes == ()
    assert await eternaltwin_db.digest() == before
    await workspace.close()


async def test_policies_that_are_switched_on_make_no_finding_of_absence(
    eternaltwin_db: EternaltwinDb, clerk: str, tmp_path: Path
) -> None:
    """The console that is open knows them with the first answer."""
    task = await eternaltwin_db.task(await eternaltwin_db.job(), status="Blocked", timer=-6000)
    workspace = await opened(clerk, tmp_path)
    read = reader(workspace)
    assert {finding.code for finding in (await read.findings.read()).findings} == {"overdue_timer"}
    await eternaltwin_db.sql(f"{ENABLE}; ALTER TABLE task_timer ENABLE ROW LEVEL SECURITY")
    now = await read.findings.read()
    assert now.findings == ()
    skipped = [each.code for each in now.skipped_findings]
    assert skipped[0] == "hidden rows"
    assert "empty_job" in skipped
    assert read.detected.policies == ("task", "task_timer")
    assert {count.precision for count in await read.nodes.counts()} == {Precision.CAPPED}
    assert (await read.pages.roots()).scope == "rows that policies show"
    await read.samples.take()
    await eternaltwin_db.sql(ENABLE.replace("ENABLE", "DISABLE"))
    assert {count.precision for count in await read.nodes.counts()} == {Precision.CAPPED}, "task_timer has some"
    await eternaltwin_db.sql("ALTER TABLE task_timer DISABLE ROW LEVEL SECURITY")
    assert {finding.node_id for finding in (await read.findings.read()).findings} == {eternaltwin_db.id(task)}
    await workspace.close()


async def test_a_policy_that_is_newer_than_the_snapshot_of_a_read_is_known(
    eternaltwin_db: EternaltwinDb, clerk: str
) -> None:
    await eternaltwin_db.task()
    connection = await asyncpg.connect(clerk)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        assert await connection.fetch(statement("policies").text, "public", ["job", "task"]) == []
        await eternaltwin_db.sql(ENABLE)
        assert await connection.fetch("SELECT FROM task") == [], "they are hidden at once"
        ((name,),) = await connection.fetch(statement("policies").text, "public", ["job", "task"])
        assert name == "task"
    await connection.close()


@pytest.mark.parametrize("table", ["task", "job", "task_timer"])
async def test_a_console_that_is_open_takes_no_hidden_row_for_gone(
    eternaltwin_db: EternaltwinDb, clerk: str, tmp_path: Path, table: str
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, status="Blocked", timer=-6000)
    async with run_tui(clerk, tmp_path, size=(140, 30)) as tui:
        state = tui.app.session.state
        await tui.press("2")
        await tui.wait_for("overdue")
        await eternaltwin_db.sql(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        await tui.wait_for("polic")
        for _ in range(3):
            at = state.at
            await tui.wait_for(lambda at=at: state.at > at)
            for word in ("Nothing is stuck", "empty job", "empty ", "resolved", "no longer", "gone"):
                assert word not in tui.text, word


async def test_no_owner_is_dead_because_a_policy_may_hide_its_signs_of_life(
    agent_jobs_db: AgentJobsDb, server: PostgresServer, tmp_path: Path
) -> None:
    role = server.unique("role")
    active, pending = [agent_jobs_db.id(await agent_jobs_db.job(status)) for status in ("active", "pending")]
    grant = f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}"
    server.sql(grant, agent_jobs_db.dsn)
    dsn = server.dsn(agent_jobs_db.dsn.rpartition("/")[2], user=role, password="x")
    workspace = await opened(dsn, tmp_path)
    server.sql("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON jobs USING (true)", agent_jobs_db.dsn)
    dry_run = await dry_run_of(workspace, "release", [active], label="agent_jobs")
    assert outcomes_of(dry_run) == {active: "denied"}
    assert "policies on jobs may hide rows that it needs" in why(dry_run, active)
    dry_run = await dry_run_of(workspace, "cancel", [pending], label="agent_jobs")
    assert outcomes_of(dry_run) == {pending: "changed"}
    await workspace.close()


async def test_dead_letters_that_policies_may_hide(agent_jobs_db: AgentJobsDb, server: PostgresServer) -> None:
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",
        agent_jobs_db.dsn,
    )
    dsn = server.dsn(agent_jobs_db.dsn.rpartition("/")[2], user=role, password="x")
    await agent_jobs_db.job("failed")
    assert (await ask("dead", "--json", dsn=dsn)).json["dead"][0]["dead_letters"]
    server.sql("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY", agent_jobs_db.dsn)
    answer = await ask("dead", dsn=dsn)
    assert "No dead letters." not in answer.out
    assert "policies" in answer.out


async def test_the_screen_never_calls_it_nothing(eternaltwin_db: EternaltwinDb, clerk: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-6000)
    await eternaltwin_db.sql(f"{ENABLE}; ALTER TABLE job ENABLE ROW LEVEL SECURITY")
    async with run_tui(clerk, tmp_path, size=(140, 30)) as tui:
        await tui.wait_for("policies", "0+ stuck", "Only rows that policies show")
        assert "There are no jobs" not in tui.text
        await tui.press("2")
        await tui.wait_for("No problems found in the parts", "hidden rows")
        assert "Nothing is stuck" not in tui.text


async def state(eternaltwin_db: EternaltwinDb, tasks: list[UUID]) -> set[str]:
    return {await eternaltwin_db.value("SELECT status::text FROM task WHERE task_id = $1", task) for task in tasks}
