"""What bad input gets on the screen: a clear line or two, and the console goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import ROOT
from tests.console.stage import Stage, staged
from tests.queries.builders import Twin
from tests.queries.test_bad_input import elderly, serving
from tests.servers import TestbedServer
from tests.terminal.driver import Terminal

TIMES = ("294276-12-31 23:59:59.999+00", "4714-11-24 00:00:00+00 BC", "infinity", "-infinity")


async def test_an_unknown_database(server: TestbedServer, tmp_path: Path) -> None:
    async with staged(server.dsn("nowhere"), tmp_path) as stage:
        await stage.until("There is no connection yet.", 'Database "nowhere" does not exist.', "q leaves")


async def test_a_server_older_than_14(tmp_path: Path) -> None:
    with serving(elderly) as port:
        async with staged(f"postgresql://anna@127.0.0.1:{port}/app", tmp_path) as stage:
            await stage.until("There is no connection yet.", "PostgreSQL 13; unstick needs 14 or newer")


async def test_a_lookalike(server: TestbedServer, eternaltwin: str, tmp_path: Path) -> None:
    server.sql("ALTER TABLE task ALTER state TYPE text USING ''", eternaltwin)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until(
            "No task engine that this console knows", "Declined: eternaltwin in schema public: task.state"
        )
        await stage.press("2", "4", "question_mark", "W")
        await stage.until("Keys everywhere")


async def test_a_lookalike_beside_an_engine_is_told_in_the_help(
    server: TestbedServer, eternaltwin: str, tmp_path: Path
) -> None:
    schema = (ROOT / "queries" / "engines" / "agent_jobs" / "schema.sql").read_text()
    server.sql(f"CREATE SCHEMA other; SET search_path = other; {schema}", eternaltwin)
    server.sql("ALTER TABLE other.jobs ALTER user_id TYPE int8 USING 0", eternaltwin)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("▸ eternaltwin", "There are no jobs.")
        await stage.press("question_mark")
        await stage.until("Keys everywhere")
        await stage.press("end")
        await stage.until("agent_jobs  not shown: in schema other", "jobs.user_id")


async def test_a_page_that_cannot_be_read_is_not_live(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task()
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("SendEmail v1", "● live")
        await twin.sql("ALTER TABLE job RENAME TO hidden")
        await stage.until("page not read", lambda: "● live" not in stage.text)
        assert "SendEmail v1" in stage.text
        await twin.sql("ALTER TABLE hidden RENAME TO job")
        await stage.until("● live", lambda: "page not read" not in stage.text)


async def test_a_key_that_changes_nothing_here_says_so(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task()
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("SendEmail v1", "● live")
        await stage.press("Y")
        await stage.until("Y does nothing here. ? lists the keys.")
        await stage.press("escape", "X")
        await stage.until("X (clear, drop, mark_failed) is not for a job.")
        await stage.press("escape", "slash", "Y")
        await stage.until("filter: Y", lambda: "does nothing" not in stage.text)


async def test_a_title_keeps_the_number_at_its_end(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(kind="ConfirmSubscriptionOfNewsletter", version=12, status="Blocked", timer=-900)
    async with staged(eternaltwin, tmp_path, size=(100, 30)) as stage:
        await stage.until("● live", "1 stuck")
        await stage.press("2")
        await stage.until("ConfirmSubscription… v12")


async def test_a_standby_is_looked_at_and_its_actions_are_grey_and_say_why(
    own_server: TestbedServer, tmp_path: Path
) -> None:
    dsn = own_server.fresh("eternaltwin", filled=True)
    async with staged(dsn, tmp_path) as stage:
        await stage.until("primary", "SendEmail", "C Cancel job")
        bright = shades(stage, "Cancel job")
    own_server.standby()
    async with staged(dsn, tmp_path) as stage:
        await stage.until("standby", "SendEmail", "C Cancel job", lambda: "stuck" in stage.text)
        assert bright.isdisjoint(shades(stage, "Cancel job"))
        await stage.press("C")
        await stage.until("this server is a standby", lambda: "Reason, for the audit log" not in stage.text)


def shades(stage: Stage, title: str) -> set[str]:
    """The colours in which an action of the footer is written."""
    strips = stage.app.screen._compositor.render_strips()
    return {str(s.style) for strip in strips for s in strip if title in s.text}


@pytest.mark.parametrize("when", TIMES)
async def test_times_at_the_ends_of_the_range(twin: Twin, eternaltwin: str, tmp_path: Path, when: str) -> None:
    await twin.task(status="Blocked", timer=-600, polled=None)
    await twin.sql(f"UPDATE job SET created_at = '{when}'; UPDATE task SET created_at = '{when}'")
    await twin.sql("UPDATE task SET cpu_duration = '1 mon 2 days', poll_duration = '-3 mons 178000000 years'")
    await twin.sql(f"UPDATE task_timer SET deadline = '{when}'")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("SendEmail v1", "● live")
        await stage.press("l")
        await stage.until("most urgent first", "Blocked")
        await stage.press("enter")
        await stage.until("Recorded", "created")
        await stage.action("W")
        await stage.press("W")
        await stage.until("1 changed")


SETTINGS = {
    "[keys]\n'action.wke' = 'W'": 'config.toml:2: keys."action.wke" is not something a key can do; did you',
    "theme = 'nihgt'": 'config.toml:1: theme "nihgt" is not a theme',
    "contexts = 3": "config.toml:1: contexts must be",
    "not toml": "config.toml:1: it is not valid TOML",
    "[contexts.prod]\nengine = 'etrnaltwin'": 'config.toml:2: contexts.prod.engine "etrnaltwin" is not an engine',
    "[contexts.prod]": 'There is no context "pord"; did you mean "prod"?',
}


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_that_are_wrong_are_told_before_anything_is_shown(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config" / "unstick" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    target = "@pord" if text == "[contexts.prod]" else "postgresql://127.0.0.1:1/app"
    with Terminal(target, home=tmp_path, size=(200, 24)) as terminal:
        assert terminal.ended() == 2
    said = terminal.raw.decode()
    assert SETTINGS[text] in said
    assert len(said.splitlines()) <= 2
    assert "\x1b" not in said
