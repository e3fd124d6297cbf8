"""Keys of a person on call: saved filters, queues, pins, commands of the settings."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from console.config import ConfigError, load
from console.editor import EditorError
from console.tui.screens.own_commands import arguments
from queries.records.node import Node, Phase
from tests.command import fetch
from tests.console.test_incidents import three_overdue
from tests.console.test_mouse import Ringing
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer


def under(text: str) -> str:
    """Return the row under the cursor."""
    return next((line for line in text.splitlines() if line.startswith("▌")), "")


async def test_a_filter_is_saved_under_a_name_and_found_again(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    await eternaltwin_db.job(age=7200)
    settings = tmp_path / "config.toml"
    settings.write_text('theme = "nord" # mine\n[filters]\nold = "a"  # first\n[keys]\nundo = "F9"\n')
    settings.chmod(0o640)
    async with run_tui(eternaltwin, tmp_path, start="stuck") as tui:
        await tui.wait_for("overdue timer", "· empty job")
        await tui.press("slash", "ctrl+s")
        await tui.wait_for("Type a filter first.")
        await tui.type('"overdue timer"')
        for name, said in (("two words", "consists of a-z"), ("old", "There is a filter @old"), ("late", "Saved in")):
            await tui.press("ctrl+s")
            await tui.wait_for("Name of the filter")
            await tui.type(name)
            await tui.press("enter")
            await tui.wait_for(said, "filter: ", lambda: "Name of the filter" not in tui.text)
        await tui.press("escape")
        await tui.wait_for("· empty job")
        await tui.press("slash", "up")
        await tui.wait_for("@late", lambda: "· empty job" not in tui.text)
        await tui.press("escape", "slash")
        await tui.type("@l")
        await tui.press("tab", "enter")
        await tui.wait_for("@late", lambda: "· empty job" not in tui.text)
    assert load(str(settings)).filters == {"old": "a", "late": '"overdue timer"'}
    changed = 'theme = "nord" # mine\n[filters]\nlate = "\\"overdue timer\\""\nold = "a"  # first\n[keys]\n'
    assert settings.read_text().startswith(changed)
    assert settings.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.glob(".*")) == []


async def test_the_queues_of_all_engines_are_paused_and_resumed(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("solid_queue", filled=True)
    paused = "SELECT count(*) FROM solid_queue_pauses WHERE queue_name = 'reports'"
    async with run_tui(dsn, tmp_path, size=(120, 24), start="stuck") as tui:
        await tui.wait_for("not served", lambda: tui.app.session.state.findings_loaded)
        await tui.press("6")
        rows = (r"mailers +\S+ +0 +– .*✓ worker-1.* paused", r"reports +\S+ +2 +50m\S+ .*✗ none +open")
        await tui.wait_for(lambda: all(re.search(row, tui.text) for row in rows), "4 queues", "in/min")
        await tui.press("slash")
        await tui.type("reports")
        await tui.press("enter")
        for key, title, after in (("P", "Pause", "paused"), ("U", "Resume", "open")):
            await tui.wait_for(f"{key} {title}", "▌ ")
            await tui.press(key)
            await tui.wait_for("Reason")
            await tui.type("night")
            await tui.press("enter")
            await tui.wait_for(f"{key} apply to 1 queue")
            await tui.press(key)
            await tui.wait_for("1 changed")
            await tui.press("escape", "r")
            await tui.wait_for(lambda: re.search(f"^▌.*reports.* {after}", tui.text, re.MULTILINE))  # noqa: B023
        assert await asyncio.to_thread(fetch, dsn, paused) == [(0,)]
        await tui.press("escape", "escape")
        await tui.wait_for("not served", lambda: "› queues" not in tui.text)
    server.drop(dsn)


async def test_a_pin_rings_when_its_node_changes_and_leads_to_its_row(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="SendMail")
    task = await eternaltwin_db.task(kind="SendEmail", status="Blocked")
    async with run_tui(eternaltwin, tmp_path, kind=Ringing) as tui:
        await tui.wait_for("SendMail", "SendEmail", "● live")
        await tui.press("apostrophe")
        await tui.wait_for("No node is pinned. b pins one.")
        await tui.press("f")
        await tui.type(str(task))
        await tui.press("enter")
        await tui.wait_for("Recorded", str(task))
        await tui.press("b")
        await tui.wait_for("SendEmail v1 is pinned.")
        await tui.press("2", "r")
        assert tui.app.bells == 0
        await eternaltwin_db.sql(
            "UPDATE task SET status = 'Complete', revision = revision + 1 WHERE task_id = $1", task
        )
        await tui.press("r")
        await tui.wait_for("Pinned: SendEmail v1: Blocked → Complete. ' goes to it.", lambda: tui.app.bells == 1)
        await tui.press("apostrophe")
        await tui.wait_for("› eternaltwin ›", lambda: "SendEmail v1" in under(tui.text))
        await tui.press("b")
        await tui.wait_for("SendEmail v1 is no longer pinned.")
        await tui.press("apostrophe")
        await tui.wait_for("No node is pinned.")


@pytest.mark.parametrize(
    ("commands", "mode", "said"),
    [
        ('logs = ["tail", "{nmae}"]', 0o600, '"{nmae}" is not a field; did you mean "{name}"'),
        ('logs = ["{id}"]', 0o600, "must begin with a program"),
        ("logs = []", 0o600, "must begin with a program"),
        ('logs = ["tail", "{id}"]', 0o620, "commands is not obeyed, because it can be written by other users"),
        ('logs = ["tail", "{id}"]', 0o600, "commands is not obeyed, because the folder"),
    ],
)
def test_commands_of_a_wrong_or_foreign_file_are_refused(tmp_path: Path, commands: str, mode: int, said: str) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f"[commands]\n{commands}\n")
    settings.chmod(mode)
    tmp_path.chmod(0o770 if "folder" in said else 0o700)
    with pytest.raises(ConfigError, match=re.escape(said.partition(";")[0])):
        load(str(settings))


@pytest.mark.parametrize("owner", ["-rf", "a\0b", "", None])
def test_a_value_that_could_be_an_option_is_no_argument(owner: str | None) -> None:
    node = Node(id="oban/job:7", engine="oban", kind="job", title="-x y", phase=Phase.READY, version="", owner=owner)
    assert arguments(["tail", "{key}", "{id}", "-n{id}"], node) == ["tail", "7", "oban/job:7", "-n{id}"]
    for name in ("{owner}", "{title}"):
        with pytest.raises(EditorError, match=name[1:-1]):
            arguments(["tail", name], node)


async def test_the_lines_of_a_dry_run_and_of_its_result_are_searched(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await three_overdue(eternaltwin_db)
    async with run_tui(eternaltwin, tmp_path, start="stuck") as tui:
        await tui.wait_for("overdue timer", "3 tasks", "● live")
        await tui.press("W")
        await tui.wait_for("Reason")
        await tui.type("a/b")
        await tui.wait_for("a/b")
        await tui.press("enter")
        await tui.wait_for("W apply to 3 tasks", "Will change 3 tasks")
        for sought, seen, hidden in (("timer", "task_timer", "Will change"), ("zzz", "'zzz' is not on", "task_timer")):
            await tui.press("slash")
            await tui.wait_for("An empty one shows all lines.")
            await tui.type(sought)
            await tui.press("enter")
            await tui.wait_for(f"only lines with {sought}", seen, lambda text=hidden: text not in tui.text)
        await tui.press("slash", "enter")
        await tui.wait_for("Will change 3 tasks", lambda: "only lines with" not in tui.text)
        await tui.press("W")
        await tui.wait_for("3 changed")
        await tui.press("slash")
        await tui.type("changed")
        await tui.press("enter")
        await tui.wait_for("only lines with changed")
        await tui.press("escape")
        await tui.wait_for("● live", lambda: "only lines with" not in tui.text)
