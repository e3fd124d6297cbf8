"""A far-away database: no command needs more than eight round trips.

That is after connecting, however many engines there are.

Round trips are counted by a proxy between the console and the server. Connecting takes some itself, by the way to log
in, and is not counted.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from console.tui.screens.detail import DetailScreen
from console.tui.screens.stuck import StuckScreen
from tests.command import fetch, unstick
from tests.console.tui_driver import run_tui
from tests.queries.proxy import Proxy

ROUND_TRIPS = 8
FIRST_LIST = 6  # of the console
TASK = "SELECT 'eternaltwin/task:' || min(task_id::text) FROM eternaltwin.task WHERE status::text = 'Blocked'"
COMMANDS = {
    "stuck": ("stuck",),
    "tree": ("tree",),
    "live": ("tree", "--live"),
    "engines": ("engines",),
    "dead": ("dead",),
    "changed": ("changed",),
    "show": ("show", "TASK"),
    "find": ("find", "TASK"),
}


@pytest.fixture
def far(every_engine: str, servers: Any) -> Iterator[Proxy]:
    """A proxy that runs in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    proxy = Proxy(servers["18"].port)
    asyncio.run_coroutine_threadsafe(proxy.__aenter__(), loop).result()
    yield proxy
    asyncio.run_coroutine_threadsafe(proxy.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def connecting(far: Proxy, dsn: str) -> int:
    """Return the round trips that a connection takes."""

    async def connect() -> None:
        await (await asyncpg.connect(far.through(dsn))).close()

    asyncio.run(connect())
    trips, far.trips = far.trips, 0
    return trips


@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_takes_few_round_trips(far: Proxy, every_engine: str, what: str) -> None:
    ((task,),) = fetch(every_engine, TASK)
    before = connecting(far, every_engine)
    words = [task if word == "TASK" else word for word in COMMANDS[what]]
    answer = unstick(*words, "--json", dsn=far.through(every_engine))
    assert answer.code in (0, 1, 4), answer.err
    assert far.trips - before <= ROUND_TRIPS


def test_a_dry_run_takes_few_round_trips(far: Proxy, every_engine: str) -> None:
    """It has two connections: what writes does not wait for what reads."""
    ((task,),) = fetch(every_engine, TASK)
    before = connecting(far, every_engine)
    answer = unstick("do", "wake", task, "--dry-run", "--reason", "test", dsn=far.through(every_engine))
    assert answer.code == 0, answer.err
    assert far.trips - 2 * before <= ROUND_TRIPS


async def test_the_console_takes_few_round_trips(every_engine: str, servers: Any, tmp_path: Path) -> None:
    """Count those of the first list, a dry run and a detail page."""
    async with Proxy(servers["18"].port) as far:
        await (await asyncpg.connect(far.through(every_engine))).close()
        before, far.trips = far.trips, 0
        async with run_tui(far.through(every_engine), tmp_path, interval=600, start="stuck", size=(140, 50)) as tui:
            session, state = tui.app.session, tui.app.session.state
            await tui.wait_for("▌", lambda: state.findings_loaded and tui.app.front.targets())
            session.pause()
            assert far.trips - before <= FIRST_LIST
            await tui.press("slash")
            await tui.type("lost wakeup")
            await tui.press("enter")
            await tui.wait_for("W Wake", "of")
            far.trips = 0
            await tui.action("W")
            assert far.trips - before <= ROUND_TRIPS
            await tui.press("escape", "escape")
            await tui.wait_for(lambda: isinstance(tui.app.screen, StuckScreen))
            far.trips = 0
            await tui.press("right", "down", "enter")
            await tui.wait_for(lambda: isinstance(tui.app.screen, DetailScreen), "Recorded")
            assert far.trips <= ROUND_TRIPS
