"""Bad input on the screen: a clear message, and the console keeps running."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.tui.screens import base
from console.tui.widgets.footer import REFUSED
from tests.command import ROOT
from tests.console.tui_driver import run_tui, typed
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.test_bad_input import oldest_protocol, serving
from tests.servers import PostgresServer
from tests.terminal.driver import Terminal

TIMES = ("294276-12-31 23:59:59.999+00", "4714-11-24 00:00:00+00 BC", "infinity", "-infinity")


async def test_an_unknown_database(server: PostgresServer, tmp_path: Path) -> None:
    async with run_tui(server.dsn("nowhere"), tmp_path) as tui:
        await tui.wait_for("Not connected yet.", 'Database "nowhere" does not exist.', "q quits")


async def test_a_server_older_than_14(tmp_path: Path) -> None:
    with serving(oldest_protocol) as port:
        async with run_tui(f"postgresql://anna@127.0.0.1:{port}/app", tmp_path) as tui:
            await tui.wait_for("Not connected yet.", "PostgreSQL 13; unstick needs 14 or newer")


async def test_a_lookalike(server: PostgresServer, eternaltwin: str, tmp_path: Path) -> None:
    server.sql("ALTER TABLE task ALTER state TYPE text USING ''", eternaltwin)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("no task engine that can be read", "Declined: eternaltwin in schema public: task.state")
        await tui.press("2", "4", "question_mark", "W")
        await tui.wait_for("/ search")


async def test_a_lookalike_beside_an_engine_is_named_in_the_help(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    schema = (ROOT / "queries" / "engines" / "agent_jobs" / "schema.sql").read_text()
    server.sql(f"CREATE SCHEMA other; SET search_path = other; {schema}", eternaltwin)
    server.sql("ALTER TABLE other.jobs ALTER user_id TYPE int8 USING 0", eternaltwin)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("▸ eternaltwin", "There are no jobs.")
        await tui.press("question_mark")
        await tui.wait_for("/ search")
        await tui.press("end")
        await tui.wait_for("agent_jobs  not shown: in schema other", "jobs.user_id")


async def test_a_page_that_cannot_be_read_is_not_live(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, detected_once: None, tmp_path: Path
) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("SendEmail v1", "● live")
        await eternaltwin_db.sql("ALTER TABLE job RENAME TO hidden")
        await tui.wait_for(lambda: re.search(r"screen not read, \S+ old", tui.text), lambda: "● live" not in tui.text)
        await tui.wait_for("SendEmail v1", lambda: tui.app.screen.table._old)  # type: ignore[attr-defined]
        await eternaltwin_db.sql("ALTER TABLE hidden RENAME TO job")
        await tui.wait_for("● live", lambda: "screen not read" not in tui.text)


async def test_a_key_that_changes_nothing_here_says_so(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("SendEmail v1", "● live")
        await tui.press("Y")
        await tui.wait_for("Y does nothing here. ? lists the keys.")
        await tui.press("escape", "X")
        await tui.wait_for("X does nothing in eternaltwin. ? lists the keys.")
        await tui.press("escape", "slash", "Y")
        await tui.wait_for("filter: Y", lambda: "does nothing" not in tui.text)


async def test_a_refusal_is_a_line_that_fades_and_takes_only_text_that_is_typed_on(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("SendEmail v1", "● live")
        await tui.burst("X", *"2q", "enter", *"3")
        await tui.wait_for("X does nothing in eternaltwin.", lambda: tui.app.current_mode == "tree")
        assert tui.app.screen is tui.app.front, "it is no dialog"
        await tui.burst("down", "2")
        await tui.wait_for("Nothing is stuck", lambda: tui.app.current_mode == "stuck")
        first, later = typed("Y", "3")
        later.time = first.time + 2
        for event in (first, later):
            tui.app.post_message(event)
        await tui.wait_for(lambda: tui.app.current_mode == "dead")
        monkeypatch.setattr(base, "REFUSED_SECONDS", 0.01)
        await tui.press("escape", "Y")
        await tui.wait_for(lambda: "does nothing here" not in tui.text)


async def test_a_title_keeps_the_number_at_its_end(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    kind = "ConfirmSubscriptionOfNewsletter"
    await eternaltwin_db.task(kind=kind, version=12, status="Blocked", polled=600, timer=-900)
    async with run_tui(eternaltwin, tmp_path, size=(76, 30)) as tui:
        await tui.wait_for("● live", "stuck")
        await tui.press("2")
        await tui.wait_for("timers not taken")
        await tui.press("right", "down", "down")
        await tui.wait_for(lambda: re.search("ConfirmSub[a-zA-Z]*… v12", tui.text))


async def test_a_standby_is_looked_at_and_its_actions_are_not_offered_and_say_why(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    dsn = own_server.fresh("eternaltwin", filled=True)
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("ArchiveDino", "C Cancel job", lambda: "standby" not in tui.text)
    own_server.standby()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("standby, age of its data", "ArchiveDino", REFUSED, lambda: "Cancel job" not in tui.text)
        await tui.press("C")
        await tui.wait_for("this server is a standby", lambda: "Reason, for the audit log" not in tui.text)


@pytest.mark.parametrize("when", most_in_proof(TIMES, 2))
async def test_times_at_the_ends_of_the_range(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, when: str
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600, polled=None)
    await eternaltwin_db.sql(f"UPDATE job SET created_at = '{when}'; UPDATE task SET created_at = '{when}'")
    await eternaltwin_db.sql("UPDATE task SET cpu_duration = '1 mon 2 days', poll_duration = '-3 mons 178000000 years'")
    await eternaltwin_db.sql(f"UPDATE task_timer SET deadline = '{when}'")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("SendEmail v1", "● live")
        await tui.live_list()
        await tui.wait_for("Blocked")
        await tui.press("enter")
        await tui.wait_for("Recorded", "created")
        await tui.action("W")
        await tui.press("W")
        await tui.wait_for("1 changed")


SETTINGS = {
    "[keys]\n'action.wke' = 'W'": 'config.toml:2: keys."action.wke" is not a command; did you mean "action.wake"',
    "theme = 'nihgt'": 'config.toml:1: theme "nihgt" is not a theme',
    "[contexts.prod]\nengine = 'etrnaltwin'": 'config.toml:2: contexts.prod.engine "etrnaltwin" is not an engine',
    "[contexts.prod]": 'There is no context "pord"; did you mean "prod"?',
}


@pytest.mark.parametrize("text", SETTINGS)
def test_wrong_settings_are_reported_before_anything_is_shown(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config" / "unstick" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    target = "@pord" if text == "[contexts.prod]" else "postgresql://127.0.0.1:1/app"
    with Terminal(target, home=tmp_path, size=(200, 24), start="") as terminal:
        assert terminal.ended() == 2
    said = terminal.raw.decode()
    assert SETTINGS[text] in said
    assert len(said.splitlines()) <= 2
    assert "\x1b" not in said
