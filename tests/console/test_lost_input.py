"""A connection that is lost at the last key: the input survives."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from textual.widgets import Input

from console import editor
from console.tui.app import UnstickApp
from queries.log import audit_log
from tests.command import fetch
from tests.console.test_redrive_kills import fill_tasker
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer


def value(tui: TuiDriver, name: str) -> str:
    """Return the value of a field of the dialog in front."""
    return tui.app.screen.query_one(f"#{name}", Input).value


async def lost_and_found(tui: TuiDriver, own_server: PostgresServer, key: str) -> None:
    """Stop the server, press the last key, and start the server."""
    own_server.halt("immediate")
    await tui.wait_for("no connection")
    await tui.press(key)


async def test_settings_of_a_redrive_survive(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("tasker")
    own_server.sql(audit_log.ddl(), dsn)
    await fill_tasker(dsn)
    async with run_tui(dsn, tmp_path, start="dead") as tui:
        await tui.wait_for("refund_card")
        await tui.press("down", "S")
        await tui.wait_for("Reason, for the audit log")
        tui.app.screen.query_one("#argument-redrive_cohorts", Input).value = "2,3"
        tui.app.screen.query_one("#argument-redrive_budget", Input).value = "77%"
        await tui.type("fix deployed")
        await tui.press("enter")
        await tui.dry_run("Will change 2 tasks")
        await lost_and_found(tui, own_server, "S")
        await tui.wait_for("Reason, for the audit log", "Nothing was changed.")
        assert value(tui, "reason") == "fix deployed"
        assert [value(tui, f"argument-redrive_{name}") for name in ("cohorts", "budget")] == ["2,3", "77%"]
        own_server.start()
        await tui.wait_for("● live")
        await tui.press("r")
        await tui.dry_run("Will change 2 tasks")
    assert await asyncio.to_thread(fetch, dsn, "SELECT FROM unstick.audit_log") == []


async def test_an_edited_text_survives(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor is not opened again: the dry run has the text that was edited before."""
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    task = await eternaltwin_db.task(status="Blocked", timer=60, state=b'{"phase":"Compost"}')
    await eternaltwin_db.connection.close()
    runs: list[str] = []

    def edit(given: str, limit: int) -> str:
        runs.append(given)
        return given.replace("Compost", "Compose")

    monkeypatch.setattr(editor, "edited", edit)
    monkeypatch.setattr(UnstickApp, "suspend", lambda _: contextlib.nullcontext())
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("0/1")
        action = tui.app.session.engines["eternaltwin"].engine.action("edit", "task")
        assert action is not None
        await tui.press("right", "down")
        await tui.wait_for("J Edit and retry")
        await tui.press(action.key)
        await tui.wait_for("Reason, for the audit log")
        await tui.type("typo")
        await tui.press("enter")
        await tui.dry_run("Will change 1", "Compose")
        await lost_and_found(tui, own_server, action.key)
        await tui.wait_for("1 unsent", "Close")
        own_server.start()
        await tui.wait_for("● live")
        await tui.press("r")
        await tui.dry_run("Will change 1", "Compose")
        await tui.press(action.key)
        await tui.wait_for("1 changed")
    assert len(runs) == 1
    eternaltwin_db = await EternaltwinDb.open(dsn)
    assert (await eternaltwin_db.row(task))["state"] == b'{"phase":"Compose"}'
    await eternaltwin_db.connection.close()
