"""Incidents on the screen and on the command line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from console.text.views.news import is_news
from console.tui.screens import stuck
from console.tui.screens.blockers import BlockersScreen
from console.tui.screens.stuck import StuckScreen
from console.tui.screens.tree import TreeScreen
from queries.read import incidents
from queries.read.incidents import by_schemas
from queries.records.finding import Incident
from tests.command import fetch, unstick
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer

OVERDUE = "eternaltwin/overdue_timer"


async def in_database(dsn: str, fill: Callable[[EternaltwinDb], Awaitable[object]]) -> None:
    """Write rows over a connection that is closed afterwards."""
    eternaltwin_db = await EternaltwinDb.open(dsn)
    await fill(eternaltwin_db)
    await eternaltwin_db.connection.close()


async def three_overdue(eternaltwin_db: EternaltwinDb) -> list[str]:
    """Add a healthy task and three with a timer that is long due."""
    await eternaltwin_db.task(polled=0.5)
    return [str(await eternaltwin_db.task(status="Blocked", timer=-6000)) for _ in range(3)]


async def test_one_cause_is_one_line_and_an_action_is_about_all_its_nodes(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("2")
        await tui.wait_for("overdue timer", "3 tasks", "W wake", "1 incident")
        await tui.wait_for(lambda: len(tui.app.screen.targets()) == 3)  # type: ignore[attr-defined]
        await tui.action("W")
        await tui.dry_run("Will change 3 tasks")
        await tui.press("W")
        await tui.wait_for("3 changed", "Close")
        await tui.press("enter")
        await tui.wait_for("1 resolved")


def below(tui: TuiDriver) -> list[str]:
    """Return the rows below an incident."""
    return [line for line in tui.text.splitlines() if re.match("[▌ ] [├└]   ‼ overdue timer .*SendEmail v1", line)]


async def test_an_incident_unfolds_to_its_nodes(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("2")
        await tui.wait_for("▸ ‼ overdue timer")
        await tui.press("right")
        await tui.wait_for("▾ ‼ overdue timer", lambda: len(below(tui)) == 3)
        await tui.press("down", "enter")
        await tui.wait_for("Why it is stuck")
        await tui.press("escape")
        await tui.wait_for("▾ ‼ overdue timer")
        await tui.press("left")
        await tui.wait_for("▸ ‼ overdue timer", lambda: below(tui) == [])
        assert next(line for line in tui.text.splitlines() if line.startswith("▌")).startswith("▌ ▸ ‼ overdue timer")


async def test_a_row_lock_is_the_cause_and_offers_no_wrong_action(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incidents, "OLDER_SECONDS", inf)  # rows can be made older, but no session
    tasks = await three_overdue(eternaltwin_db)
    holder = await asyncpg.connect(eternaltwin, server_settings={"application_name": "forgotten psql"})
    await holder.execute("BEGIN")
    await holder.execute("SELECT FROM task WHERE task_id = ANY ($1::uuid[]) FOR UPDATE", tasks)
    async with run_tui(eternaltwin, tmp_path, size=(140, 40), start="stuck") as tui:
        await tui.wait_for("row locked", "forgotten psql", "leads to 3 × overdue timer", "1 incident")
        assert "W wake" not in tui.text
        assert "To do: " in tui.text
        await tui.press("y")
        await tui.wait_for("what to do", "command", "unstick show eternaltwin/task:")
        await tui.press("escape", "slash")
        await tui.type("overdue")  # the words of a symptom
        await tui.press("enter")
        await tui.wait_for("1 of 1 incident", lambda: tui.text.count("‼ overdue timer") == 3)
        assert "W wake" not in tui.text
        await tui.press("escape")
        await holder.execute("ROLLBACK")
        await tui.press("r")  # on a busy machine the next look may be far
        await tui.wait_for("‼ overdue timer", "W wake", lambda: "row locked" not in tui.text)
    await holder.close()


@pytest.mark.parametrize("cause", ["row locked", "table locked"])
async def test_the_session_that_is_the_cause_is_opened_and_ended_from_its_incident(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    monkeypatch.setattr(incidents, "OLDER_SECONDS", inf)  # rows can be made older, but no session
    tasks = await three_overdue(eternaltwin_db)
    holder = await asyncpg.connect(eternaltwin, server_settings={"application_name": "forgotten psql"})
    lock = {"row locked": "UPDATE task SET revision = revision WHERE task_id = ANY ($1::uuid[])"}
    await holder.execute("BEGIN")
    await holder.execute(lock.get(cause, "LOCK TABLE task"), *([tasks] * (cause in lock)))
    async with run_tui(eternaltwin, tmp_path, size=(140, 40), start="stuck") as tui:
        await tui.wait_for(cause, "E end session")
        await tui.press("x")
        name = f"pid {holder.get_server_pid()} (forgotten psql"
        await tui.wait_for(name, "connected since")
        page = tui.app.screen
        assert isinstance(page, BlockersScreen)
        assert page.text_view.chosen == f"server/backend:{holder.get_server_pid()}"
        await tui.press("escape", "E")
        await tui.wait_for("End session: ", name)
        await tui.type("hangs")
        await tui.press("enter")
        await tui.dry_run("Will change 1 backend")
        await tui.press("E")
        await tui.wait_for("1 changed")
        await tui.press("enter")
        await tui.wait_for(lambda: cause not in tui.text, lambda: "end session" not in tui.text)
    assert holder.is_closed()


async def test_a_cause_in_the_server_alone_has_something_to_copy(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    server.sql(f'ALTER DATABASE "{urlsplit(eternaltwin).path[1:]}" SET default_transaction_read_only = on', eternaltwin)
    async with run_tui(eternaltwin, tmp_path, size=(140, 40), start="stuck") as tui:
        await tui.wait_for("▌", "read-only default", "To do: ")
        assert "show in tree" not in tui.text
        await tui.press("o")
        await tui.wait_for("This row has no node that was read.")
        await tui.press("y")
        await tui.wait_for("what to do", "command", "unstick stuck ")


async def test_a_row_says_what_enter_does_and_how_it_develops_and_a_filter_what_ended(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three_overdue(eternaltwin_db)
    async with run_tui(eternaltwin, tmp_path, start="stuck") as tui:
        await tui.wait_for("▸ ‼ overdue timer", "enter unfold", lambda: "has watched it" not in tui.text)
        monkeypatch.setattr(stuck, "WATCHED_SECONDS", 0.0)
        await tui.wait_for("that this console has watched it: steady")
        await tui.press("enter")
        await tui.wait_for("enter fold")
        await tui.press("down")
        await tui.wait_for("enter open")
        await tui.press("slash")
        await tui.type("overdue")
        await tui.press("enter")
        await tui.wait_for("filter: overdue", "1 of 1 incident")
        await eternaltwin_db.sql("TRUNCATE job CASCADE")
        await tui.wait_for("overdue timer is resolved since", "nothing matches the filter", "shows all that is stuck")
        await tui.wait_for("enter search")
        await tui.press("escape")
        await tui.wait_for("Nothing is stuck", lambda: "enter " not in tui.text)


@pytest.mark.parametrize("statement", ["SELECT FROM task FOR UPDATE", "LOCK TABLE task IN SHARE MODE"])
async def test_a_lock_of_seconds_does_not_explain_a_wait_of_hours(
    statement: str, eternaltwin_db: EternaltwinDb, eternaltwin: str
) -> None:
    """The tasks have another cause, and keep their action."""
    await three_overdue(eternaltwin_db)
    holder = await asyncpg.connect(eternaltwin)
    await holder.execute(f"BEGIN; {statement}")
    await asyncio.sleep(4)
    found = (await asyncio.to_thread(unstick, "stuck", "--json", dsn=eternaltwin)).json["incidents"]
    shown = {each["code"]: each["action"] for each in found}
    assert shown.pop("overdue_timer") == "wake"
    assert shown.keys() <= {"row_locked", "late_rows_locked", "table_locked"}
    assert len(shown) == 1
    await holder.close()


def test_do_acts_on_all_nodes_of_an_incident(eternaltwin: str) -> None:
    asyncio.run(in_database(eternaltwin, three_overdue))
    (incident,) = unstick("stuck", "--json", dsn=eternaltwin).json["incidents"]
    assert (incident["key"], incident["n"], incident["action"]) == (OVERDUE, 3, "wake")
    answer = unstick("do", "wake", "--incident", OVERDUE, "--reason", "runner was down", "--yes", dsn=eternaltwin)
    assert answer.code == 0
    assert fetch(eternaltwin, "SELECT count(*) FROM task WHERE status = 'Available'") == [(4,)]
    again = unstick("do", "wake", "--incident", OVERDUE, "--reason", "again", "--yes", dsn=eternaltwin)
    assert again.code == 1
    assert "There is no incident eternaltwin/overdue_timer now" in again.err


def test_an_incident_and_ids_exclude_each_other(eternaltwin: str) -> None:
    answer = unstick("do", "wake", "eternaltwin/task:1", "--incident", OVERDUE, "--reason", "x", dsn=eternaltwin)
    assert answer.code == 2


async def test_the_header_shows_stuck_nodes_by_severity(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    await eternaltwin_db.job(age=7200)
    async with run_tui(eternaltwin, tmp_path, size=(140, 30)) as tui:
        await tui.wait_for("‼3  ·1  4 stuck")


@pytest.mark.parametrize("columns", [60, 80, 120])
async def test_severity_has_a_sign_and_a_word_and_no_cause_is_cut(
    columns: int, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    await eternaltwin_db.job(age=7200)
    async with run_tui(eternaltwin, tmp_path, size=(columns, 24), start="stuck") as tui:
        await tui.wait_for("‼ overdue timer  ", "· empty job  ", "3 tasks", "‼ critical  ")
        await tui.press("end")
        await tui.wait_for("· minor  ")


async def test_a_wide_list_has_the_word_in_each_row(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    async with run_tui(eternaltwin, tmp_path, size=(150, 24), start="stuck") as tui:
        await tui.wait_for("severity", "‼ overdue timer", "critical 8")


def test_the_command_names_the_severity(eternaltwin: str) -> None:
    asyncio.run(in_database(eternaltwin, three_overdue))
    assert "‼ critical severity 8" in unstick("stuck", dsn=eternaltwin).out


def test_a_row_has_a_name_or_an_error_and_no_part_of_a_sentence(every_engine: str) -> None:
    incidents = unstick("stuck", "--json", dsn=every_engine).json["incidents"]
    shown = [(each["about"], each["findings"][0]["evidence"]) for each in incidents if each["about"]]
    assert len(shown) > 20
    named = [about for about, said in shown if about not in (said.get("error"), said.get("message"))]
    assert [about for about in named if len(re.findall(r"(?<!\S)[a-z]+(?!\S)", about)) > 2 and ": " not in about] == []
    assert [about for about, _ in shown if about.startswith(("A ", "The ", "of ", "[", "{"))] == []
    assert {"type republish", "ArchiveHammerfestUser"} <= {about for about, _ in shown}


async def test_a_broad_screen_has_the_nodes_their_errors_and_the_last_events(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(200, 50), start="stuck") as tui:
        await tui.wait_for("incidents", lambda: tui.app.session.state.findings_loaded)
        await tui.press("slash")
        await tui.type("failed step")
        await tui.press("enter")
        await tui.wait_for("To do: T retry", "✗ charge_card  charge_card: 503 from", "attempts 3 of 3", "✗ error")


async def test_the_preview_has_the_lines_that_the_list_leaves_free(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.jobs(30, age=7200)
    async with run_tui(eternaltwin, tmp_path, size=(80, 24), start="stuck") as tui:
        await tui.wait_for("30 jobs", "To do: D delete", "and 25 more")
        await tui.press("right")
        await tui.wait_for("├", "To do: D delete", lambda: "and 25 more" not in tui.text)
        await tui.press("left")
        await tui.wait_for("and 25 more")


async def test_the_lines_around_are_hidden_and_the_preview_fills_the_screen(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    await eternaltwin_db.job(age=7200)
    async with run_tui(eternaltwin, tmp_path, size=(80, 24), start="stuck") as tui:
        await tui.wait_for("overdue timer", "· empty job", "3 dead")
        await tui.press("ctrl+e")
        await tui.wait_for("overdue timer", "● live", lambda: "3 dead" not in tui.text)
        await tui.press("ctrl+e", "v")
        await tui.wait_for("To do: W wake", "● live", lambda: "· empty job" not in tui.text)
        await tui.press("escape", "down", "v")
        await tui.wait_for("To do: D delete", "· minor", lambda: "overdue timer" not in tui.text)
        await tui.press("escape")
        await tui.wait_for("3 dead", "▌   · empty job")


async def test_up_leads_to_the_filters_that_were_kept(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    await eternaltwin_db.job(age=7200)
    async with run_tui(eternaltwin, tmp_path, start="stuck") as tui:
        await tui.wait_for("overdue timer", "· empty job")
        for typed in ("overdue", "empty"):
            await tui.press("slash")
            await tui.type(typed)
            await tui.press("enter")
            await tui.wait_for(f"filter: {typed}")
            await tui.press("escape")
            await tui.wait_for("overdue timer", "· empty job")
        await tui.press("slash", "up", "up", "up")
        await tui.wait_for("filter: overdue", lambda: "· empty job" not in tui.text)


async def test_the_suggested_action_is_first_among_the_keys(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """Actions that would be refused are last."""
    await eternaltwin_db.task(await eternaltwin_db.job(age=7200), status="Complete", timer=60)
    await eternaltwin_db.jobs(1, age=7200)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("2")
        await tui.wait_for("▌   · empty job", "D delete", lambda: re.search(r"\n +D Delete job ", tui.text))


async def test_n_goes_to_what_is_new(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(160, 50), start="stuck") as tui:
        await tui.wait_for("new (n): ", lambda: tui.app.session.state.findings_loaded)
        tui.app.session.pause()
        page, session = tui.app.screen, tui.app.session
        assert isinstance(page, StuckScreen)

        def news() -> bool:
            row = page.row
            growth = session.state.incident_history.growth(session.state.shown.incidents)
            return row is not None and is_news(row.records[0].incident, session.state.at, growth)

        await tui.press("end")
        await tui.wait_for(lambda: page.rows.cursor_row == len(page.rows) - 1, lambda: not news())
        await tui.press("n")
        await tui.wait_for(news)
        first = page.rows.cursor_row
        await tui.press("n")
        await tui.wait_for(news, lambda: page.rows.cursor_row > first)


async def test_old_ones_are_folded_until_asked_for(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(160, 50)) as tui:
        await tui.press("2")
        await tui.wait_for("folded (m)", " folded")
        page, session = tui.app.screen, tui.app.session
        assert isinstance(page, StuckScreen)

        def listed() -> set[str]:
            return {r.incident.key for r in page.rows.records if r.incident.code not in stuck.TITLES}

        def all_incidents() -> Sequence[Incident]:
            return by_schemas(session.state.shown.incidents)

        hidden = [each for each in all_incidents() if each.key not in listed()]
        assert len(hidden) >= 10
        assert all(e.severity < 8 and e.since is not None and session.state.at - e.since > 3600 for e in hidden)
        await tui.press("m")
        await tui.wait_for(lambda: listed() == {each.key for each in all_incidents()})
        assert "folded" not in tui.text
        await tui.press("m")
        await tui.wait_for("folded (m)")
        await tui.press("slash", *f"finding:{hidden[0].code}", "enter")
        await tui.wait_for(lambda: any(r.incident.key == hidden[0].key for r in page.listed.matching_records))


async def test_a_new_critical_incident_is_in_view_or_said_to_be_above(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.jobs(30, age=7200)
    async with run_tui(eternaltwin, tmp_path, size=(100, 20), start="stuck") as tui:
        await tui.wait_for("▌ ▸ · empty job")
        late = await eternaltwin_db.task(status="Blocked", timer=-3000)
        await tui.wait_for("▌   ‼ overdue timer", "▸ · empty job")
        await tui.press("down", "right")
        await eternaltwin_db.sql("DELETE FROM task WHERE task_id = $1", late)
        await tui.wait_for("▌ ▾ · empty job", lambda: "overdue timer" not in tui.text)
        await eternaltwin_db.task(status="Blocked", timer=-3000)
        await tui.wait_for("▌ ▾ · empty job", "▲ 1 critical above", lambda: "‼ overdue timer" not in tui.text)
        await tui.press("home")
        await tui.wait_for("▌   ‼ overdue timer", lambda: "above" not in tui.text)
        await tui.press("1")
        await tui.wait_for(lambda: isinstance(tui.app.screen, TreeScreen), "overdue timer")
        tree = tui.app.screen
        assert isinstance(tree, TreeScreen)
        assert tree.above(tree.rows.shown(0, 99)) == "1 critical above"


@pytest.mark.parametrize(
    ("mode", "typed", "leads_to"),
    [
        ("2", "error:quota", "There are no dead letters"),
        ("1", "who:root", "No changes made with unstick yet"),
        ("4", "finding:overdue", "1 found"),
        ("5", "outcome:changed", "No changes made with unstick yet"),
        ("3", "nonsense:1", "no field nonsense"),
    ],
)
async def test_a_filter_leads_to_the_list_that_has_its_fields(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, mode: str, typed: str, leads_to: str
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-3000)
    async with run_tui(eternaltwin, tmp_path, size=(150, 30)) as tui:
        await tui.wait_for("● live")
        await tui.press(mode, "slash")
        await tui.type(typed)
        await tui.press("enter")
        await tui.wait_for(leads_to)
        assert "Nothing was found" not in tui.text
