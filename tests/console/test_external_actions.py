"""Actions that only the engine can do: what to run instead, to read and to copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.tui.screens.tree import TreeScreen
from queries.contract.builtin import builtin
from queries.records.action import Outcome
from queries.records.finding import Support
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.servers import PostgresServer

QUEUE = "oban/queue:default"
PYTHON = 'await oban.pause_queue("default")'
ELIXIR = 'Oban.pause_queue(queue: "default")'
HOSTILE = 'x"); System.halt("'


@pytest.fixture
def oban(server: PostgresServer) -> str:
    return server.fresh("oban", filled=True)


def test_do_says_what_to_run(oban: str) -> None:
    answer = unstick("do", "pause", QUEUE, "--reason", "r", "--yes", "--json", dsn=oban)
    assert answer.code == 3
    (result,) = answer.json["results"]
    assert result["outcome"] == Outcome.REFUSED
    assert result["commands"] == {"Elixir": ELIXIR, "Python": PYTHON}
    text = unstick("do", "pause", QUEUE, "--reason", "r", "--yes", dsn=oban).out.splitlines()
    assert [line.strip() for line in text if "pause_queue" in line] == [f"Elixir: {ELIXIR}", f"Python: {PYTHON}"]


def test_the_page_of_a_node_says_what_to_run(oban: str) -> None:
    shown = unstick("show", QUEUE, dsn=oban).out
    assert ELIXIR in shown
    assert PYTHON in shown


def test_sql_prints_commands_as_comments() -> None:
    lines = unstick("sql", "pause", "--engine", "oban").out.splitlines()
    assert '-- Python: await oban.pause_queue("{key}")' in lines


async def test_a_key_says_that_its_command_can_be_copied(oban: str, tmp_path: Path) -> None:
    async with run_tui(oban, tmp_path) as tui:
        await tui.wait_for("default", "● live")
        page = tui.app.front
        assert isinstance(page, TreeScreen)
        await tui.wait_for(lambda: QUEUE in page.rows)
        page.table.go_to(QUEUE)
        await tui.wait_for(lambda: (node := page.cursor()) is not None and node.id == QUEUE)
        await tui.press("P")
        await tui.wait_for("y copies what to run instead.", lambda: tui.app.screen is tui.app.front)
        await tui.press("escape", "y")
        await tui.wait_for("Copy", "Pause (Python)", "Resume (Elixir)")
        await tui.click_on(lambda: tui.place("Pause (Python)"), lambda: "▌ Pause (Python)" in tui.text)
        await tui.press("enter")
        await tui.wait_for(lambda: tui.app.clipboard == PYTHON)


def test_a_name_that_is_more_than_text_is_not_put_into_a_command(server: PostgresServer, oban: str) -> None:
    server.sql(f"UPDATE oban_jobs SET queue = '{HOSTILE}' WHERE queue = 'reports'", oban)
    answer = unstick("do", "pause", f"oban/queue:{HOSTILE}", "--reason", "r", "--yes", "--json", dsn=oban)
    (result,) = answer.json["results"]
    assert result["commands"]["Python"] == PYTHON.replace("default", "KEY")


@pytest.mark.parametrize("key", ["mail", "reports:high", "a@b.c/d-e+f_1", "7"])
def test_a_plain_key_is_put_into_a_command(key: str) -> None:
    oban = next(each for each in builtin() if each.name == "oban")
    (action,) = [each for each in oban.spec.actions if each.name == "pause"]
    assert action.support == Support.EXTERNAL
    assert action.commands(f"oban/queue:{key}")["Python"] == PYTHON.replace("default", key)


@pytest.mark.parametrize("key", ["-r", "a b", "$(id)", "#{id}", "a\nb", "a'b", "ä", "`id`", "a\\", "x;y"])
def test_any_other_key_is_left_to_the_operator(key: str) -> None:
    oban = next(each for each in builtin() if each.name == "oban")
    (action,) = [each for each in oban.spec.actions if each.name == "pause"]
    assert action.commands(f"oban/queue:{key}")["Python"] == PYTHON.replace("default", "KEY")
