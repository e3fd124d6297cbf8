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


def bar(tui: TuiDriver) -> str:
    """The line of the engines."""
    return tui.text.splitlines()[1]


async def rows(tui: TuiDriver) -> dict[str, str]:
    """Open the list of engines; its rows by label."""
    await tui.press("tab")
    await tui.wait_for("in/min", *LABELS)
    return {line[2:].split()[0]: line for line in tui.text.splitlines()[4 : 4 + len(LABELS)]}


def counts(line: str) -> list[tuple[str, str]]:
    """Return sign and number of each phase in a line."""
    return re.findall(r"([○►◷■◆✗?]) +(\d+)", line)


async def test_an_engine_that_cannot_be_read_keeps_no_other_from_being_read(
    all_engines: str, detected_once: None, tmp_path: Path
) -> None:
    connection = await connect(all_engines, "agent_jobs")
    async with run_tui(all_engines, tmp_path, size=(200, 30), start="tree") as tui:  # with room for every number
        await tui.wait_for(lambda: "more" not in bar(tui) and "stuck" in bar(tui) and "counting" not in bar(tui))
        while " ▸ agent_jobs" not in bar(tui):
            await tui.press("greater_than_sign")
        before = counts(bar(tui))
        await connection.execute("ALTER TABLE agent_jobs.jobs RENAME status TO state")
        await tui.wait_for(lambda: "not read" in bar(tui), lambda: "status does not exist" in tui.text)
        assert counts(bar(tui)) == before != []
        assert "+ stuck" in bar(tui), "how many there are now is not known"
        assert [label for label, line in (await rows(tui)).items() if "not read" in line] == ["agent_jobs"]
        await connection.execute("ALTER TABLE agent_jobs.jobs RENAME state TO status")
        await tui.wait_for(lambda: "not read" not in tui.text)
    await connection.close()


@pytest.mark.parametrize("width", most_in_proof([80, 60, 120, 200], 2))
async def test_the_engine_in_front_has_the_line_and_the_others_their_number_worst_first(
    every_engine: str, tmp_path: Path, width: int
) -> None:
    async with run_tui(every_engine, tmp_path, size=(width, 24)) as tui:
        await tui.wait_for("live", lambda: "stuck" in bar(tui) and "counting" not in bar(tui) and "│" in bar(tui))
        own, others = bar(tui).split("│")
        assert own.startswith(" ▸ ")
        assert len(counts(own)) > 1
        assert re.fullmatch(r" (\S+ (\(\S+\) )?\d+\+?( · )?)*(\d (more|others))? *", others), others
        assert "more" in others or "others" in others or width == 200
        lines = await rows(tui)
        assert set(lines) == set(LABELS)
        worst = [max(tui.app.session.state.findings.severities.get(label, ()), default=0) for label in lines]
        assert worst == sorted(worst, reverse=True)
        await tui.press("home", "tab", "enter")  # the second one
        second = list(lines)[1]
        await tui.wait_for(lambda: tui.app.current_mode == "tree", lambda: bar(tui)[3:].startswith(second))
        await tui.press("2")
        await tui.wait_for("incident", lambda: tui.app.front.table.size.height >= 13)
        assert all(name in tui.text for name in ("1 tree", "2 now", "3 dead", "4 audit", "5 changed", "? help"))


async def test_one_key_goes_through_the_engines_and_back(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(100, 30)) as tui:
        await tui.wait_for("live", "tab engines", " ▸ agent_jobs")
        for label in (*LABELS[1:], LABELS[0]):
            await tui.press("greater_than_sign")
            await tui.wait_for(f"› {label} › all jobs", lambda label=label: bar(tui).startswith(f" ▸ {label}"))
        await tui.press("less_than_sign")
        await tui.wait_for(f"› {LABELS[-1]} › all jobs")


async def test_the_cursor_begins_on_the_first_row_and_its_engine_is_the_one_in_front(
    every_engine: str, tmp_path: Path
) -> None:
    async with run_tui(every_engine, tmp_path, size=(120, 30)) as tui:
        await tui.wait_for(lambda: "stuck" in bar(tui) and "counting" not in bar(tui))
        await tui.press("3")
        await tui.wait_for("▌ ▾ tasker", lambda: re.search(r"[1-9]\d dead letters in", tui.text))
        assert bar(tui).startswith(" ▸ tasker")
        tui.app.session.pause()
        await tui.press("end")
        await tui.wait_for(lambda: bar(tui).startswith(" ▸ eternaltwin"))  # without a look at the database


async def test_on_a_low_screen_the_current_one_alone_has_a_line(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(48, 10)) as tui:
        await tui.wait_for("live", " ▸ agent_jobs")
        await tui.press(*["greater_than_sign"] * 3)
        text = await tui.wait_for(" ▸ tasker", "legacy")
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
            found = re.search(r"in █ 0..[1-9]\S* out █ 0..[1-9]\S* /min", bar(tui))
            return found[0] if found else ""

        await tui.wait_for(rate)
        rates = session.workspace.server_findings.counters.rates("eternaltwin", deletes=False)
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
