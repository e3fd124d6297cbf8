"""Drive the real app on a real database by keys, and read the text of its screen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from time import monotonic

from msgspec.structs import replace
from textual import events
from textual.geometry import Region
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from console.config import UNNAMED, Config, Context
from console.model.session import Session
from console.target import Target
from console.tui.app import UnstickApp
from console.tui.guide import Guide
from console.tui.textual_compat import text_of
from queries.contract.outside import NONE, OutsideEngines
from queries.db.server_load import ServerLoad
from queries.workspace import Workspace
from tests.eager import AS_PROGRAM, begin_tasks

# Seconds until a missing text or state is a failure. After a statement of more than a second the next poll may come a
# minute later.
DEADLINE = 60.0
CLICK_AGAIN = 5.0  # s; far above the time that a click needs, so that none is repeated that has arrived


class SkippingClock:
    """Real clock that skips the time between polls, but not the server's work."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def __call__(self) -> float:
        return monotonic() + self._skipped

    def skip(self, seconds: float) -> None:
        self._skipped += seconds


class TuiDriver:
    """Driver of a running app.

    ``await tui.wait_for("Wake")`` waits for a text or a condition. ``tui.text`` is the current screen.
    """

    def __init__(self, app: UnstickApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        return text_of(self.app.screen)

    async def wait_for(self, *wanted: str | Callable[[], object]) -> str:
        """Wait until the screen shows every text and every condition is true.

        Returns the screen's text. An error that has ended the app is raised at once: nothing will change.
        """
        missing: list[str | Callable[[], object]] = list(wanted)
        try:
            async with asyncio.timeout(DEADLINE):
                while True:
                    text = self.text
                    missing = [w for w in wanted if not (w in text if isinstance(w, str) else w())]
                    if not missing:
                        return text
                    if self.app.fault is not None:
                        raise self.app.fault
                    await self.pilot.pause()
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"never saw {missing} in:\n{self.text}") from None

    async def press(self, *keys: str) -> TuiDriver:
        """Press keys, one after the other."""
        async with asyncio.timeout(DEADLINE):
            for key in keys:
                await self.pilot.press(key)
        return self

    async def type(self, text: str) -> TuiDriver:
        """Type into the focused field."""
        return await self.press(*("space" if character == " " else character for character in text))

    async def burst(self, *keys: str) -> TuiDriver:
        """Send keys at once, like fast typing; wait until all have been handled."""
        for event in typed(*keys):
            self.app.post_message(event)
        return await self.handled()

    async def click_on(self, place: Callable[[], tuple[int, int] | None], reached: Callable[[], object]) -> TuiDriver:
        """Click on a place of the screen, as often as it takes to reach something.

        Rows that come in between the look and the click move the place, or it is not yet there.
        """
        clicked_at, again = None, 0.0
        try:
            async with asyncio.timeout(DEADLINE):
                while not reached():
                    if monotonic() > again:
                        await self.laid_out()
                        if (found := place()) is not None and not reached():
                            clicked_at, again = found, monotonic() + CLICK_AGAIN
                            await self.click(found)
                    await self.pilot.pause()
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"clicked at {clicked_at} in vain:\n{self.text}") from None
        return self

    async def laid_out(self) -> None:
        """Wait until the widgets keep their places.

        New rows and a new layout do not come in the same step.
        """
        async with asyncio.timeout(DEADLINE):
            places: list[Region] | None = None
            while places != (places := [widget.region for widget in self.app.screen.walk_children(Widget)]):
                await self.pilot.pause()

    async def click(self, *places: tuple[int, int]) -> TuiDriver:
        """Click on these places, all at once; wait until all have been handled."""
        for x, y in places:
            for event in clicked(x, y):
                self.app.post_message(event)
        return await self.handled()

    def place(self, text: str) -> tuple[int, int]:
        """Return the column and row of a text on the screen."""
        lines = self.text.splitlines()
        row = next((row for row, line in enumerate(lines) if text in line), None)
        assert row is not None, f"{text} is not on:\n{self.text}"
        return lines[row].index(text), row

    async def paste(self, text: str) -> TuiDriver:
        """Paste text like a terminal with bracketed paste."""
        self.app.post_message(events.Paste(text))
        return await self.handled()

    async def handled(self) -> TuiDriver:
        """Wait until all keys sent so far have been handled."""
        reached = asyncio.Event()
        self.app.call_later(reached.set)
        async with asyncio.timeout(DEADLINE):
            await reached.wait()
            await self.app.keyboard.idle()
        return self

    async def live_list(self) -> TuiDriver:
        """Show the live list, and wait for its first row."""
        await self.press("l")
        await self.wait_for("most urgent first", lambda: self.app.front.cursor() is not None)
        return self

    async def action(self, key: str, reason: str = "test") -> TuiDriver:
        """Press an action's key, give a reason, and wait for the dry run."""
        await self.press(key)
        await self.wait_for("Reason, for the audit log")
        await self.type(reason)
        await self.press("enter")
        await self.dry_run()
        return self

    async def dry_run(self, *wanted: str | Callable[[], object]) -> str:
        """Wait until a dry run is on the screen, with these texts."""
        return await self.wait_for(*wanted, lambda: getattr(self.app.screen, "shown", False))


def typed(*keys: str) -> list[events.Event]:
    """Return the events that a terminal sends for keys, by name or character."""
    return [events.Key(_character_to_key(key), key) if len(key) == 1 else events.Key(key, None) for key in keys]


def clicked(x: int, y: int) -> list[events.Event]:
    """Return the events that a terminal sends for a click."""
    return [
        kind(None, x, y, 0, 0, 1, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y)
        for kind in (events.MouseDown, events.MouseUp)
    ]


@contextlib.asynccontextmanager
async def run_tui(
    dsn: str,
    folder: Path,
    *,
    size: tuple[int, int] = (120, 40),
    context: Context | None = None,
    read_only: bool = False,
    ascii: bool = False,
    keys: Mapping[str, str] | None = None,
    interval: float = 0.2,
    now: Callable[[], float] = monotonic,
    kind: type[UnstickApp] = UnstickApp,
    start: str = "tree",
    contexts: Mapping[str, Context] | None = None,
    notify: str = "",
    outside: OutsideEngines = NONE,
    guide: Guide | None = None,
    begun: bool = False,
    eager: bool = AS_PROGRAM,
    guess: bool = False,
) -> AsyncIterator[TuiDriver]:
    """Run the console on ``dsn``; its audit log file is in ``folder``.

    ``begun``: the session begins before there is an app, as in the program. ``eager``: tasks begin at once.
    """

    async def open_() -> Workspace:
        file = folder / "audit_log.jsonl"
        rules = target.rules
        made = Workspace(dsn, read_only=read_only, file=file, outside=outside, rules=rules, guess=guess)
        workspace = await made.open(later=True)
        workspace.database.load = ServerLoad(now)
        return workspace

    config = Config(
        path=folder / "config.toml", keys=dict(keys or {}), start=start, contexts=dict(contexts or {}), notify=notify
    )
    given = context or replace(UNNAMED, dsn=dsn)
    target = Target(config=config, context=given, ascii=ascii, interval=interval, outside=outside)
    session = Session(open_, interval, now)
    if begun:
        session.begin()
    app = kind(session, target, guide=guide, now=now)
    begin_tasks(eager=eager)
    async with app.run_test(size=size) as pilot:
        try:
            yield TuiDriver(app, pilot)
        finally:
            await app.session.close()
