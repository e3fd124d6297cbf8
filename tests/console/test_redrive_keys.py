"""``S`` in the dead letters: a redrive from its settings to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widget import Widget
from textual.widgets import Input

from console.tui.screens.change import ChangeDialog
from console.tui.screens.result import ResultDialog
from queries.log import audit_log
from tests.command import fetch
from tests.console.test_redrive_kills import CASES, executing, fill_tasker
from tests.console.tui_driver import TuiDriver, run_tui
from tests.servers import PostgresServer

STATES = "SELECT to_state, count(*) FROM task_transitions WHERE most_recent GROUP BY 1 ORDER BY 1"


@pytest.fixture
async def dsn(server: PostgresServer) -> Iterator[str]:  # type: ignore[misc]
    dsn = server.fresh("tasker")
    server.sql(audit_log.ddl(), dsn)
    await fill_tasker(dsn)
    yield dsn
    server.drop(dsn)


async def states(dsn: str) -> dict[str, int]:
    return dict(await asyncio.to_thread(fetch, dsn, STATES))  # type: ignore[arg-type]


async def begin(tui: TuiDriver, **settings: str) -> None:
    """Open the dialogs on the first group, and confirm."""
    await tui.wait_for("refund_card")
    await tui.press("down", "S")
    await tui.wait_for("Reason, for the audit log")
    for name, value in settings.items():
        tui.app.screen.query_one(f"#argument-redrive_{name}", Input).value = value
    await tui.type("fix deployed")
    await tui.press("enter")
    await tui.dry_run("Will change 1 task", "cohort 1 of 14 tasks")
    await tui.press("S")
    await tui.wait_for(lambda: isinstance(tui.app.screen, ResultDialog))


async def test_s_revives_a_group_in_cohorts(dsn: str, tmp_path: Path) -> None:
    async with run_tui(dsn, tmp_path, start="dead") as tui:
        with executing(dsn, CASES["tasker"]):
            await begin(tui, budget="100%", cohorts="1,13")
            await tui.wait_for(
                "Finished. ", "finished; 14 of 14 revived", "same death", "Close", "Certain on this server"
            )
        await tui.press("escape")
        await tui.wait_for("Redrive 1: finished")
    found = await states(dsn)
    assert sum(found.values()) == 14
    assert found.get("blocked_by_failures", 0) < 14, "some have moved on"
    assert len(await asyncio.to_thread(fetch, dsn, "SELECT FROM unstick.audit_log WHERE action = 'retry'")) == 2


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (60, 16)])
async def test_the_form_scrolls_on_a_small_screen(dsn: str, tmp_path: Path, size: tuple[int, int]) -> None:
    """The focused field, the message and the buttons are in view."""
    async with run_tui(dsn, tmp_path, start="dead", size=size) as tui:
        await tui.wait_for("permanently failed")
        await tui.press("down", "S")
        await tui.wait_for(lambda: isinstance(tui.app.screen, ChangeDialog) and tui.app.screen.query("#optional"))
        screen = tui.app.screen
        fields = screen.query_one("#fields")
        assert not _in_view(screen.query_one("#argument-redrive_cohorts"), screen)
        screen.query_one("#optional").focus()
        await tui.press("enter")
        await tui.wait_for(lambda: screen.query_one("#folded").display)
        screen.query_one("#reason").focus()
        names = [each.id for each in screen.query("#fields Input, #fields Select")]
        assert len(names) >= 5
        for name in names:
            field = screen.query_one(f"#{name}")
            await tui.wait_for(lambda field=field: screen.focused is field and _in_view(field, fields, screen))
            others = screen.query("#title, .buttons Button, #page")
            await tui.wait_for(lambda others=others: all(_in_view(shown, screen) for shown in others))
            await tui.press("tab")
        screen.query_one(f"#{names[-1]}").focus()
        await tui.press("enter")  # without a reason
        await tui.wait_for(lambda: _in_view(screen.query_one("#wrong"), screen))
        await tui.wait_for(
            lambda: screen.focused and screen.focused.id == "reason" and _in_view(screen.focused, fields)
        )


def _in_view(widget: Widget | None, *around: Widget) -> bool:
    """Return True if all of a widget is inside of all of the others."""
    if widget is None or not widget.region:
        return False
    return all(each.region.contains_region(widget.region) for each in around)


async def test_a_question_is_answered_with_go_on_or_stop(dsn: str, tmp_path: Path) -> None:
    async with run_tui(dsn, tmp_path, start="dead") as tui:
        await begin(tui, wait="0")
        await tui.wait_for("did not answer in time", "Go on")
        await tui.press("g")
        await tui.wait_for("did not answer in time")
        await tui.press("s")
        await tui.wait_for("stopped by an operator", "Close")
        await tui.press("escape")
        await tui.wait_for("Redrive 1: stopped")
    assert (await states(dsn))["blocked_by_failures"] == 13


async def test_a_redrive_that_is_left_stays_open_and_excludes_another(dsn: str, tmp_path: Path) -> None:
    async with run_tui(dsn, tmp_path, start="dead") as tui:
        await begin(tui)
        await tui.wait_for("1 no answer, ", " a minute, about ", " left")
        await tui.press("escape")
        await tui.wait_for(
            "Redrive 1: not ended", "13 dead letters", lambda: not isinstance(tui.app.screen, ResultDialog)
        )
        await tui.press("S")
        await tui.wait_for("Reason, for the audit log")
        await tui.type("again")
        await tui.press("enter")
        await tui.dry_run("Will change 1 task")
        await tui.press("S")
        await tui.wait_for("is reviving these dead letters: redrive 1")
    assert (await states(dsn))["blocked_by_failures"] == 13


async def test_a_redrive_under_way_when_the_console_ends_is_named(dsn: str, tmp_path: Path) -> None:
    async with run_tui(dsn, tmp_path, start="dead") as tui:
        await begin(tui, wait="1h")
        session = tui.app.session
        await tui.wait_for(lambda: [work.summary for work in session.works.all] == ["1 changed"])
        await tui.press("ctrl+q")
        await tui.wait_for(lambda: not tui.app.is_running)
    (line,) = session.works.unseen()
    assert line.startswith("retry: 1 changed. It is open. Continue: unstick ")
    assert line.endswith("redrive 1 --resume")
    assert (await states(dsn))["blocked_by_failures"] == 13


async def test_without_the_table_the_oldest_are_a_plain_change(
    server: PostgresServer, dsn: str, tmp_path: Path
) -> None:
    server.sql("DROP SCHEMA unstick CASCADE", dsn)
    async with run_tui(dsn, tmp_path, start="dead") as tui:
        await tui.wait_for("refund_card")
        await tui.press("down", "S")
        await tui.wait_for("Reason, for the audit log", "cohorts need `unstick init`")
        await tui.type("fix deployed")
        await tui.press("enter")
        await tui.dry_run("Will change 14 tasks")
        await tui.press("S")
        await tui.wait_for("14 changed", "Close")
    assert sum((await states(dsn)).values()) == 14
