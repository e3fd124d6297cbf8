"""The console ends while a screen is being opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.geometry import Size
from textual.screen import Screen

from console.tui.screens.blockers import BlockersScreen
from console.tui.screens.change import ChangeDialog, ChangeDialogs
from console.tui.screens.copy import CopyChoice, CopyDialog
from console.tui.screens.detail import DetailScreen
from console.tui.screens.edited import WrongTextDialog
from console.tui.screens.find import FindScreen
from console.tui.screens.prompt import PromptDialog
from console.tui.screens.tree import TreeScreen
from console.tui.textual_compat import Palette
from queries.change.plan import Plan, plan_selection
from queries.records.node import Node
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.eager import EACH_WAY
from tests.proof import most_in_proof, one_in
from tests.queries.proxy import Proxy

TURNS = 14  # turns of the event loop after which the screens are open


def planned(tui: TuiDriver) -> Plan:
    node = found(tui)
    plan = plan_selection(tui.app.session.reader(node.id), [node], "C", tui.app.keys.actions["C"])
    assert isinstance(plan, Plan)
    return plan


def found(tui: TuiDriver) -> Node:
    assert tui.app.front is not None
    node = tui.app.front.cursor()
    assert node is not None
    return node


SCREENS: dict[str, Callable[[TuiDriver], Screen[Any]]] = {
    "find": lambda tui: FindScreen("abc", "tree"),
    "change": lambda tui: ChangeDialog(ChangeDialogs(tui.app.session, planned(tui))),
    "prompt": lambda tui: PromptDialog("Find", "What?"),
    "copy": lambda tui: CopyDialog([CopyChoice(title="id", text="1")]),
    "detail": lambda tui: DetailScreen(found(tui), "tree"),
    "blockers": lambda tui: BlockersScreen(found(tui), "tree"),
    "wrong text": lambda tui: WrongTextDialog("Edit", "It is no JSON."),
    "palette": lambda tui: Palette(),
}
MODES = ("stuck", "dead", "audit", "changed", "help")


@pytest.mark.parametrize("name", ["detail", "blockers", "find", "change"])
async def test_a_screen_is_closed_while_it_reads(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, proxy: Proxy, tmp_path: Path, name: str
) -> None:
    await eternaltwin_db.task()
    async with run_tui(proxy.through(eternaltwin), tmp_path, begun=True) as tui:
        await tui.wait_for("0/1")
        screen, session, reading = SCREENS[name](tui), tui.app.session, asyncio.Event()
        read = session.read_list
        assert read is not None

        async def watched() -> None:
            if tui.app.screen is screen and screen.is_mounted:
                proxy.open.clear()
                reading.set()
            await read()

        session.read_list = watched
        tui.app.push_screen(screen)
        await tui.wait_for(reading.is_set)
        screen.dismiss(None)
        await tui.wait_for(lambda: screen.parent is None)
        polls = session.timer.passes
        proxy.open.set()
        await tui.wait_for(lambda: tui.app.fault is not None or session.timer.passes > polls + 1)
    assert tui.app.fault is None


@pytest.mark.parametrize("name", one_in(4, [*SCREENS, *MODES]))
async def test_a_screen_opens_whose_tasks_begin_at_once(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, name: str
) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path, eager=True) as tui:
        await tui.wait_for("0/1")
        first = tui.app.screen
        opened = tui.app.push_screen(SCREENS[name](tui)) if name in SCREENS else tui.app.switch_mode(name)
        await opened
        assert tui.app.screen is not first
        await tui.wait_for(lambda: tui.app.screen.is_mounted and len(tui.app.screen.query("*")) > 1)


@pytest.mark.parametrize("eager", EACH_WAY)
@pytest.mark.parametrize("turns", most_in_proof(range(TURNS)))
@pytest.mark.parametrize("name", one_in(4, [*SCREENS, *MODES]))
async def test_the_console_ends_while_a_screen_opens(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, name: str, turns: int, eager: bool
) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path, eager=eager) as tui:
        await tui.wait_for("0/1")
        if name in SCREENS:
            tui.app.push_screen(SCREENS[name](tui))
        else:
            tui.app.switch_mode(name)
        for _ in range(turns):
            await asyncio.sleep(0)
        tui.app.exit()
    assert tui.app.fault is None


@pytest.mark.parametrize("eager", EACH_WAY)
@pytest.mark.parametrize("turns", most_in_proof(range(TURNS)))
async def test_a_screen_is_closed_and_resized_while_it_opens(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, turns: int, eager: bool
) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path, eager=eager) as tui:
        await tui.wait_for("0/1")
        size = Size(90, 20)
        for make in SCREENS.values():
            screen = make(tui)
            tui.app.push_screen(screen)
            for _ in range(turns):
                await asyncio.sleep(0)
            for event in (events.Resize(size, size), events.Paste("x"), events.Key("enter", None)):
                screen.post_message(event)
            screen.dismiss()
            screen.dismiss()
            await tui.pilot.pause()
            assert isinstance(tui.app.screen, TreeScreen)
    assert tui.app.fault is None
