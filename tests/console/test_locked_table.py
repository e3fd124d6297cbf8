"""Console that runs while an engine's table is locked: it reports and continues."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from console.tui.screens.find import FindScreen
from tests.command import unstick
from tests.console.tui_driver import TuiDriver, run_tui
from tests.servers import PostgresServer, all_engines_database


@pytest.fixture
async def two_engines(server: PostgresServer) -> AsyncIterator[str]:
    """DSN of a database with the demo's agent_jobs and eternaltwin. No worker runs."""
    dsn = await all_engines_database(server, "agent_jobs", "eternaltwin")
    yield dsn
    server.drop(dsn)


def line(tui: TuiDriver, label: str) -> str:
    """The part of the line of the engines that is about one of them."""
    front, _, others = ("│" * ("│" not in tui.text.splitlines()[1]) + tui.text.splitlines()[1]).partition("│")
    if f"▸ {label}" in front:
        return front
    return next(
        (each.strip().replace(" not read", " stuck not read") for each in others.split("·") if label in each), ""
    )


async def migration(dsn: str, table: str) -> asyncpg.Connection:  # type: ignore[type-arg]
    connection = await asyncpg.connect(dsn, server_settings={"application_name": "migrator"})
    await connection.execute(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    return connection


async def test_a_table_that_is_locked_while_the_console_runs(two_engines: str, tmp_path: Path) -> None:
    async with run_tui(two_engines, tmp_path, size=(160, 40)) as tui:
        await tui.wait_for(lambda: "stuck" in line(tui, "agent_jobs") and "counting" not in tui.text)
        shown = re.findall(r"[○►◷■◆✗?] +\d+", line(tui, "agent_jobs"))
        state = tui.app.session.state
        before = {each.key for each in state.shown.incidents}
        holder = await migration(two_engines, "agent_jobs.jobs")
        await tui.wait_for(lambda: "not read" in line(tui, "agent_jobs"))
        await tui.wait_for(f"pid {holder.get_server_pid()} (migrator, role postgres)")
        assert "not read" not in line(tui, "eternaltwin")
        assert re.findall(r"[○►◷■◆✗?] +\d+", line(tui, "agent_jobs")) == shown != []
        await tui.wait_for(lambda: "+ stuck" in line(tui, "agent_jobs"))
        await tui.press("2")
        text = await tui.wait_for(
            lambda: re.search(r"\d+ not read for \S+ \(table locked\)", tui.text), "  not read for "
        )
        assert "resolved" not in text
        await tui.wait_for(lambda: re.search(r"screen not read, (\d\ds|\dm\S+) old", tui.text))
        ids = [f.node_id for i in state.shown.incidents for f in i.findings if f.engine == "eternaltwin"]
        await tui.wait_for(lambda: any(map(tui.app.screen.context().node, ids)))  # type: ignore[attr-defined]
        await tui.press("slash")
        await tui.type("table locked")
        await tui.press("enter")
        await tui.wait_for("1 of ", f"pid {holder.get_server_pid()} (migrator, role postgres) locks jobs")
        await tui.press("x")
        await tui.wait_for("Locks on the engines' tables", f"pid {holder.get_server_pid()} (migrator", "E end session")
        await tui.press("escape", "escape")
        assert before <= {each.key for each in state.shown.incidents}
        await tui.press("6")
        await tui.wait_for(lambda: re.search(r"▌ all +agent_jobs\S* +not read", tui.text), "not read: Another session")
        assert "ArchiveTwinoidUser" in tui.text, "of the other engine, which was read"
        for key in ("2", "3", "1", "greater_than_sign"):
            await tui.press(key)
        await tui.wait_for(lambda: "▸" in line(tui, "eternaltwin"))
        await holder.execute("ROLLBACK")
        await holder.close()
        await tui.wait_for(
            lambda: "not read" not in line(tui, "agent_jobs"), lambda: "+ stuck" not in line(tui, "agent_jobs")
        )


async def test_an_engine_whose_table_was_locked_at_the_start_comes_when_it_is_free(
    two_engines: str, tmp_path: Path
) -> None:
    holder = await migration(two_engines, "agent_jobs.jobs")
    async with run_tui(two_engines, tmp_path, size=(160, 40)) as tui:
        await tui.wait_for("eternaltwin", lambda: "+ stuck" in line(tui, "agent_jobs"))
        await tui.press("2")
        await tui.wait_for(f"pid {holder.get_server_pid()} (migrator, role postgres) locks jobs", "table locked")
        await holder.execute("ROLLBACK")
        await holder.close()
        await tui.press("r")
        await tui.wait_for(
            lambda: "not read" not in line(tui, "agent_jobs"), lambda: "agent_jobs" in tui.app.session.engines
        )


@pytest.mark.parametrize("key", ["1", "2"])
async def test_nothing_is_called_healthy_that_could_not_be_read(two_engines: str, tmp_path: Path, key: str) -> None:
    holder = await migration(two_engines, "eternaltwin.task")
    await holder.execute("DELETE FROM agent_jobs.jobs")
    await holder.execute("COMMIT; BEGIN; LOCK TABLE eternaltwin.task IN ACCESS EXCLUSIVE MODE")
    async with run_tui(two_engines, tmp_path, size=(160, 40)) as tui:
        await tui.press(key)
        await tui.wait_for(lambda: tui.app.session.state.findings_loaded and "not read" in line(tui, "eternaltwin"))
        await tui.wait_for(lambda: re.search("nothing stuck|agent_jobs .*0$", line(tui, "agent_jobs")))
        assert "0+ stuck" in line(tui, "eternaltwin")
        assert "Nothing is stuck" not in tui.text
    await holder.close()


async def test_found_nodes_that_are_not_read_again_are_grey_and_dated(two_engines: str, tmp_path: Path) -> None:
    async with run_tui(two_engines, tmp_path, size=(160, 40)) as tui:
        await tui.wait_for("● live")
        await tui.press("f")
        await tui.type("er")
        await tui.press("enter")
        screen = tui.app.screen
        assert isinstance(screen, FindScreen)
        await tui.wait_for(lambda: screen.finder.ended and all(a.hits for a in screen.finder.answers.values()))
        holder = await migration(two_engines, "eternaltwin.task")
        text = await tui.wait_for("not read for ", "Not read again: eternaltwin: ", lambda: screen.rows_age > 3)
        assert all("eternaltwin" in line for line in text.splitlines() if "not read for" in line)
        await holder.execute("DELETE FROM agent_jobs.jobs; COMMIT")
        await tui.press("end")
        await tui.wait_for("no longer exists", lambda: "not read" not in tui.text)
        await holder.close()


async def test_a_locked_table_costs_only_the_samples_of_its_engine(two_engines: str) -> None:
    holder = await migration(two_engines, "agent_jobs.jobs")
    answer = await asyncio.to_thread(unstick, "stuck", "--sample", "0.5", dsn=two_engines)
    assert (answer.code, "eternaltwin/task:" in answer.out) == (1, True)
    assert "agent_jobs: not checked: " in answer.err
    for words in (("tree",), ("tree", "--live"), ("dead",)):
        answer = await asyncio.to_thread(unstick, *words, dsn=two_engines)
        assert "agent_jobs: Another session holds a lock that is needed. pid " in answer.err
    answer = await asyncio.to_thread(unstick, "tree", "--json", "--engine", "agent_jobs", dsn=two_engines)
    assert (answer.json["at"], answer.json["complete"]) == (None, False)
    await holder.close()
