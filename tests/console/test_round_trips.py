"""A far-away database: few messages, however many engines there are.

They are answered one after another. A proxy between the console and the server counts them. Connecting takes some
itself, by the way to log in, and is not counted. A statement takes two the first time: it is parsed before it is run.
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
from queries.snapshot import snapshot, take_samples
from tests.command import fetch, unstick
from tests.console.tui_driver import run_tui
from tests.queries.proxy import Proxy

FIRST_LIST, REFRESH, DETAIL, PAGE = 40, 14, 16, 7  # of the console, with ten engines
DRY_RUN, DRY_RUN_AGAIN = 58, 30  # each of its statements has to see what the one before has done
TASK = "SELECT 'eternaltwin/task:' || min(task_id::text) FROM eternaltwin.task WHERE status::text = 'Blocked'"
COMMANDS = {
    "stuck": (29, "stuck"),
    "tree": (40, "tree"),  # it reads all pages
    "live": (31, "tree", "--live"),
    "engines": (19, "engines"),
    "dead": (22, "dead"),
    "changed": (26, "changed"),
    "show": (
        33,
        "show",
        "TASK",
    ),  # a payload is a statement of its own, and so are findings with a plan for their values
    "find": (19, "find", "TASK"),
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
    most, *words = COMMANDS[what]
    words = [task if word == "TASK" else word for word in words]
    answer = unstick(*words, "--json", dsn=far.through(every_engine))
    assert answer.code in (0, 1, 4), answer.err
    assert far.trips - before <= most


def test_a_dry_run_takes_few_round_trips(far: Proxy, every_engine: str) -> None:
    """It has two connections: what writes does not wait for what reads."""
    ((task,),) = fetch(every_engine, TASK)
    before = connecting(far, every_engine)
    answer = unstick("do", "wake", task, "--dry-run", "--reason", "test", dsn=far.through(every_engine))
    assert answer.code == 0, answer.err
    assert far.trips - 2 * before <= DRY_RUN


async def test_the_console_takes_few_round_trips(every_engine: str, servers: Any, tmp_path: Path) -> None:
    """Count those of each read, and again when its statements are known."""
    async with Proxy(servers["18"].port) as far:
        await (await asyncpg.connect(far.through(every_engine))).close()
        before, far.trips = far.trips, 0
        far.delay = 0.03  # what is read after the first list is not counted
        async with run_tui(far.through(every_engine), tmp_path, interval=600, start="stuck", size=(140, 50)) as tui:
            session, state = tui.app.session, tui.app.session.state
            await tui.wait_for("▌", lambda: state.findings_loaded and tui.app.front.targets())
            assert far.trips - before <= FIRST_LIST
            far.delay = 0.0
            await tui.wait_for("dead letter group")
            session.pause()
            workspace = await session.connect()
            readers = [*workspace.engines.values()]
            for most in (FIRST_LIST, REFRESH):
                far.trips = 0
                await workspace.database.together(
                    *(reader.nodes.counts() for reader in readers), take_samples(workspace, readers)
                )
                await snapshot(workspace, readers, kept=state.parts, once=False)
                assert far.trips <= most
            await tui.press("slash")
            await tui.type("lost wakeup")
            await tui.press("enter")
            await tui.wait_for("W Wake", "of")
            for most in (DRY_RUN, DRY_RUN_AGAIN):
                far.trips = 0
                await tui.action("W")
                assert far.trips - before <= most
                await tui.press("escape")
                await tui.wait_for(lambda: isinstance(tui.app.screen, StuckScreen))
                before = 0
            await tui.press("escape", "right", "down")
            for most in (DRY_RUN, DETAIL):
                far.trips = 0
                await tui.press("enter")
                await tui.wait_for(lambda: isinstance(tui.app.screen, DetailScreen), "Recorded")
                assert far.trips <= most
                await tui.press("escape")
                await tui.wait_for(lambda: isinstance(tui.app.screen, StuckScreen))
            reader = workspace.engines["eternaltwin"]
            for most in (DRY_RUN, PAGE):
                far.trips = 0
                await reader.pages.roots()
                assert far.trips <= most
