"""The mouse on tabs, engines and footer keys; other databases; notifications."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events

from console.config import Context
from console.tui import textual_compat
from console.tui.app import UnstickApp
from console.tui.textual_compat import Palette
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.servers import PostgresServer, all_engines_database


async def click(tui: TuiDriver, bar: str, text: str, reached: Callable[[], object]) -> None:
    """Click on a text in a bar, once it is there, until something is reached."""

    def place() -> tuple[int, int] | None:
        region = tui.app.screen.query_one(bar).region
        lines = enumerate(tui.text.splitlines()[region.y : region.bottom], region.y)
        return next(((line.index(text) + 1, y) for y, line in lines if text in line), None)

    await tui.click_on(place, reached)


async def test_a_click_on_a_tab_shows_its_page(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1")
        for text, mode in (("3 dead", "dead"), ("4 audit", "audit"), ("2 now", "stuck"), ("1 tree", "tree")):
            await click(tui, "#tabs", text, lambda mode=mode: tui.app.current_mode == mode)  # type: ignore[misc]


async def test_a_click_on_a_key_of_the_footer_presses_it(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path, keys={"tree.live": "f8"}) as tui:
        await tui.wait_for("0/1", "C Cancel", "live list")
        await click(tui, "#footer", "live list", lambda: "unfinished" in tui.text)
        await click(tui, "#footer", "C Cancel", lambda: "Reason, for the audit log" in tui.text)


async def test_a_click_on_an_engine_shows_its_tree(server: PostgresServer, tmp_path: Path) -> None:
    dsn = await all_engines_database(server, "eternaltwin", "estuary")
    async with run_tui(dsn, tmp_path, start="stuck") as tui:
        await tui.wait_for("● live", "incidents", *("eternaltwin  ", "estuary  "))
        for label in reversed(list(tui.app.session.engines)):
            await click(
                tui,
                "#engines",
                label,
                lambda label=label: tui.app.current_mode == "tree" and tui.app.front.label() == label,  # type: ignore[misc, union-attr]
            )


async def test_the_palette_takes_a_context_and_an_id(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task()
    empty = server.fresh("estuary")
    contexts = {
        "here": Context(name="here", dsn=eternaltwin),
        "there": Context(name="there", dsn=empty, production=True),
    }
    async with run_tui(eternaltwin, tmp_path, context=contexts["here"], contexts=contexts) as tui:
        await tui.wait_for("0/1")
        before = tui.app.session
        await tui.press("colon")
        await tui.type("@there")
        await tui.wait_for("Switch to this database")
        await tui.press("enter")
        await tui.wait_for("there · PRODUCTION", "● live", lambda: "estuary" in tui.app.session.engines)
        assert before.workspace is not None
        name = eternaltwin.rpartition("/")[2].partition("?")[0]
        left = await eternaltwin_db.value(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'unstick%'", name
        )
        assert left == 0, "the old connections are closed"
        await tui.press("colon")
        await tui.type("@here")
        await tui.wait_for("Switch to this database")
        await tui.press("enter")
        await tui.wait_for("0/1", "● live", lambda: "PRODUCTION" not in tui.text)
        await tui.press("colon")
        await tui.type(str(task))
        await tui.wait_for("open ")
        await tui.press("enter")
        await tui.wait_for("created", str(task), lambda: tui.app.screen is tui.app.front)


async def test_a_click_beside_what_a_smaller_terminal_has_does_nothing(eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("colon")
        await tui.wait_for(lambda: isinstance(tui.app.screen, Palette))
        away = events.Click(None, 500, 4, 0, 0, 1, shift=False, meta=False, ctrl=False, screen_x=500, screen_y=4)
        tui.app.screen.post_message(away)
        await tui.handled()
        await tui.press("escape")
        await tui.wait_for("live", lambda: tui.app.screen is tui.app.front)


class Ringing(UnstickApp):
    """App that counts the bells."""

    bells = 0

    def bell(self) -> None:
        self.bells += 1


@pytest.mark.parametrize("notify", most_in_proof(["", "bell", "osc9"]))
async def test_a_new_incident_is_notified_if_the_settings_ask_for_it(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notify: str
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(textual_compat, "send", lambda app, text: sent.append(text))
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path, kind=Ringing, notify=notify) as tui:
        await tui.wait_for("0/1", lambda: tui.app.session.state.findings_loaded)
        assert isinstance(tui.app, Ringing)
        known = len(tui.app.session.state.shown.incidents)
        tui.app.bells, sent[:] = 0, []
        await eternaltwin_db.task(status="Blocked", timer=-7200)
        await tui.wait_for(lambda: len(tui.app.session.state.shown.incidents) > known)
        polls = tui.app.session.timer.findings
        await tui.wait_for(lambda: tui.app.session.timer.findings > polls + 1)
        assert bool(tui.app.bells) == (notify == "bell")
        assert bool(sent) == (notify == "osc9")
        assert all(text.startswith("\x1b]9;unstick ") and text.endswith("\x07") for text in sent)
