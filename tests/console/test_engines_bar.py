"""The header's lines of engines, and moving between them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.demo.engine import connect
from console.tui.widgets.line_view import LineView
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.agent_jobs import ANNA, BERT, AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.servers import PostgresServer, all_engines_database

LABELS = ("agent_jobs", "estuary", "eternaltwin", "tasker", "uni2work")


@pytest.fixture
async def all_engines(server: PostgresServer) -> AsyncIterator[str]:
    """DSN of a database with the demo's data of all engines; no worker runs."""
    dsn = await all_engines_database(server)
    yield dsn
    server.drop(dsn)


def lines(tui: TuiDriver) -> dict[str, str]:
    """The header's lines by engine."""
    found = [line for line in tui.text.splitlines()[1:6] if line[3:].split()]
    return {line[3:].split()[0]: line for line in found}


def counts(line: str) -> list[tuple[str, str]]:
    """Return sign and number of each phase in a line."""
    return re.findall(r"([○►◷■◆✗?]) +(\d+)", line)


async def test_an_engine_that_cannot_be_read_keeps_no_other_from_being_read(
    all_engines: str, detected_once: None, tmp_path: Path
) -> None:
    connection = await connect(all_engines, "agent_jobs")
    async with run_tui(all_engines, tmp_path, size=(200, 30)) as tui:  # with room for every number
        await tui.wait_for(lambda: tui.text.count(" stuck") >= 5 and "counting" not in tui.text)
        before = lines(tui)
        await connection.execute("ALTER TABLE agent_jobs.jobs RENAME status TO state")
        await connection.execute("TRUNCATE eternaltwin.job CASCADE")
        await tui.wait_for(
            lambda: "empty" in lines(tui)["eternaltwin"],
            lambda: [label for label, line in lines(tui).items() if "not read" in line] == ["agent_jobs"],
        )
        found = lines(tui)
        assert counts(found["agent_jobs"]) == counts(before["agent_jobs"]) != []
        assert "+ stuck" in found["agent_jobs"], "how many there are now is not known"
        await tui.wait_for(lambda: "status does not exist" in tui.text)
        await connection.execute("ALTER TABLE agent_jobs.jobs RENAME state TO status")
        await tui.wait_for(lambda: "not read" not in lines(tui)["agent_jobs"])
    await connection.close()


@pytest.mark.parametrize("width", most_in_proof([80, 60, 120]))
async def test_each_of_five_engines_has_its_line(every_engine: str, tmp_path: Path, width: int) -> None:
    async with run_tui(every_engine, tmp_path, size=(width, 30)) as tui:
        await tui.wait_for(lambda: tui.text.count(" stuck") >= 5 and "counting" not in tui.text)
        found = lines(tui)
        assert tuple(found) == LABELS
        assert [label for label, line in found.items() if line.startswith(" ▸ ")] == ["agent_jobs"]
        for label, line in found.items():
            assert line.rstrip().endswith(" stuck"), "the end of a line is never squeezed out"
            assert any(glyph in line for glyph in "○►◷■◆✗?"), label
        starts = {line.index(label) for label, line in found.items()}
        assert starts == {3}
        assert "(mirror)" in found["agent_jobs"]
        assert len({"ready" in line or "blocked" in line for line in found.values()}) == 1, "all in words, or none"


async def test_one_key_goes_through_the_engines_and_back(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(100, 30)) as tui:
        await tui.wait_for("live", "tab engine")
        for label in (*LABELS[1:], LABELS[0]):
            await tui.press("tab")
            await tui.wait_for(f"› {label} › all jobs", lambda label=label: lines(tui).get(label, "").startswith(" ▸ "))
        await tui.press("shift+tab")
        await tui.wait_for(f"› {LABELS[-1]} › all jobs")


async def test_the_cursor_begins_on_the_first_row_and_its_engine_is_the_one_in_front(
    every_engine: str, tmp_path: Path
) -> None:
    async with run_tui(every_engine, tmp_path, size=(120, 30)) as tui:
        await tui.wait_for(lambda: tui.text.count(" stuck") >= 5 and "counting" not in tui.text)
        await tui.press("3")
        await tui.wait_for("▌ ▾ tasker", lambda: re.search(r"[1-9]\d dead letters in", tui.text))
        assert lines(tui)["tasker"].startswith(" ▸ ")
        tui.app.session.pause()
        await tui.press("end")
        await tui.wait_for(lambda: lines(tui)["eternaltwin"].startswith(" ▸ "))  # without a look at the database


async def test_on_a_low_screen_the_current_one_alone_has_a_line(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(48, 10)) as tui:
        await tui.wait_for("live", " 1/5 agent_jobs")
        await tui.press("tab", "tab", "tab")
        text = await tui.wait_for(" 4/5 tasker", "legacy")
        assert "agent_jobs" not in text


async def test_one_key_groups_the_tree_otherwise(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    clerk, cook = await agent_jobs_db.agent(ANNA, "clerk"), await agent_jobs_db.agent(BERT, "cook")
    for user, agent in ((ANNA, clerk), (BERT, clerk), (BERT, cook)):
        await agent_jobs_db.job(user=user, agent=agent)
    async with run_tui(agent_jobs_db.dsn, tmp_path) as tui:
        await tui.wait_for("all jobs by agent", "clerk", "cook", "g group")
        await tui.press("g")
        text = await tui.wait_for("all jobs by user", "user 1000", "user 2000")
        assert "clerk" not in text
        await tui.press("right")
        await tui.wait_for("└")
        await tui.press("r", "g")
        await tui.wait_for("all jobs by agent", "cook", lambda: "user 1000" not in tui.text)


async def test_an_engine_with_one_tree_has_no_such_key(eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        text = await tui.wait_for("There are no jobs")
        assert "g group" not in text
        await tui.press("g")
        await tui.wait_for("only one grouping")


@pytest.mark.parametrize(("status", "profile"), [("pending", "mirror"), ("active", "table")])
async def test_the_profile_in_force_is_always_shown(
    agent_jobs_db: AgentJobsDb, tmp_path: Path, status: str, profile: str
) -> None:
    await agent_jobs_db.job(status)
    async with run_tui(agent_jobs_db.dsn, tmp_path) as tui:
        await tui.wait_for("all jobs by agent", f"agent_jobs ({profile})")
        for key, sign in (("2", "stuck"), ("4", "audit"), ("question_mark", "help")):
            await tui.press(key)
            await tui.wait_for(f"agent_jobs ({profile})", lambda sign=sign: tui.app.screen.mode() == sign)
        await tui.wait_for(lambda: f"profile: {profile} (" in tui.app.screen.query_one(LineView).text)


async def test_work_per_minute_is_shown_if_there_is_room(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(3), status="Blocked", timer=600)
    async with run_tui(eternaltwin, tmp_path, size=(140, 30), interval=0.5) as tui:
        session = tui.app.session
        await tui.wait_for("● live", lambda: session.timer.findings > 0, lambda: "/min" not in tui.text)
        await eternaltwin_db.tasks(await eternaltwin_db.jobs(40), status="Complete")
        await eternaltwin_db.tasks(await eternaltwin_db.jobs(20), status="Blocked", timer=600)
        await eternaltwin_db.sql("SELECT pg_stat_force_next_flush()")
        findings = session.timer.findings
        await tui.wait_for(lambda: session.timer.findings > findings + 1)  # the counters that are compared with counts

        def rate() -> str:
            found = re.search(r"in (\S+) out (\S+) /min", lines(tui)["eternaltwin"])
            return found[0] if found else ""

        deletes = session.engines["eternaltwin"].engine.spec.deletes
        await tui.wait_for(lambda: session.state.flow.rates("eternaltwin", deletes) is not None)
        await tui.wait_for(lambda: re.fullmatch(r"in ≈[1-9]\d* out ≈[1-9]\d* /min", rate()))
        rates = session.state.flow.rates("eternaltwin", deletes)
        assert rates is not None
        assert rates.inflow is not None
        assert rates.outflow is not None
        assert 1.2 < rates.inflow / rates.outflow < 1.8, "60 tasks, of which 40 are complete"


async def test_an_action_refuses_marked_nodes_of_other_engines(all_engines: str, tmp_path: Path) -> None:
    async with run_tui(all_engines, tmp_path, size=(120, 40), start="stuck") as tui:
        session = tui.app.session
        await tui.wait_for(lambda: session.engines and session.state.findings_loaded, lambda: tui.app.front.cursor())
        await tui.press("asterisk")
        await tui.wait_for(" marked")
        await tui.action("W")
        await tui.dry_run("Will change")
        await tui.press("i")
        why = "act on one engine at a time"
        await tui.wait_for(lambda: why in tui.app.screen.query_one(LineView).text)


async def test_the_bar_takes_a_sixth_of_the_screen(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(80, 30)) as tui:
        await tui.wait_for("live", " ▸ agent_jobs", "uni2work")
        await tui.pilot.resize_terminal(80, 20)
        text = await tui.wait_for(" 1/5 agent_jobs", lambda: "uni2work" not in tui.text)
        assert "eternaltwin" in text
        await tui.press("tab", "tab", "tab", "tab")
        await tui.wait_for(" 5/5 uni2work", lambda: "agent_jobs" not in tui.text)
