"""The console: a small app around a session. Screens are in ``screens/``, one a file; keys in ``keys.py``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from time import monotonic
from typing import Any

from textual.app import SystemCommand
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme
from textual.worker import WorkerFailed

from console.config import Config, Context
from console.model.session import Opener, Session
from console.tui import keymap, styles_cache, theme
from console.tui.driver import Terminal
from console.tui.everywhere import Everywhere
from console.tui.keymap import Key
from console.tui.screens.base import PageScreen, bindings
from console.tui.stylesheet import CachedStylesheet
from console.tui.widgets.ascii import AsciiFilter
from queries.contract import loader

PATIENCE = 0.15  # seconds until "Connecting" is painted
STEPS = 4  # turns of the event loop in which the messages go round by which Textual lays out what is shown anew


def _check(config: Config) -> None:
    """Raises ConfigError where the settings name keys, thresholds or a theme that there are not."""
    known = loader.builtin()
    config.check(
        {each.name: each.spec.thresholds for each in known},
        {each.name: each.spec.options for each in known},
        keymap.ids(action for each in known for action in each.spec.actions),
        [*BUILTIN_THEMES, *(each.name for each in theme.THEMES)],
    )


def _screen(module: str, name: str) -> Callable[[], Screen[None]]:
    """A screen that is imported when it is first shown: starting is fast."""

    def make() -> Screen[None]:
        screen: Screen[None] = getattr(import_module(f"console.tui.screens.{module}"), name)()
        return screen

    return make


class UnstickApp(Everywhere):
    """What all screens share: the session, the looks, the modes, and the keys that work everywhere."""

    TITLE = "unstick"
    MODES = {
        "tree": _screen("tree", "TreeScreen"),
        "stuck": _screen("stuck", "StuckScreen"),
        "dead": _screen("dead", "DeadScreen"),
        "audit": _screen("audit", "AuditLogScreen"),
        "help": _screen("help", "HelpScreen"),
    }
    DEFAULT_MODE = "tree"
    BINDINGS = bindings(keymap.APP)
    ENABLE_COMMAND_PALETTE = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]

    _colors: tuple[Theme, dict[str, str]] | None = None

    def __init__(
        self,
        open_: Opener,
        config: Config,
        context: Context | None = None,
        *,
        ascii: bool = False,
        interval: float | None = None,
        greeting: str = "",
        now: Callable[[], float] = monotonic,
    ) -> None:
        _check(config)
        styles_cache.repair()
        super().__init__(Session(open_, interval if interval is not None else config.interval, now), config.keys)
        self.stylesheet = CachedStylesheet(variables=self.theme_variables)
        self.context = context
        self._greeting = greeting
        self.ascii = ascii or config.ascii
        self._ascii_filter = AsciiFilter()
        self.animation_level = "none"
        self.action_keys = keymap.action_keys((v for s in loader.builtin() for v in s.spec.actions), config.keys)
        for key in self.action_keys:
            self.bind(key, f"app.action('{key}')", show=False)
        self.set_keymap(config.keys)
        for each in theme.THEMES:
            self.register_theme(each)
        self.theme = config.theme or theme.DEFAULT

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.defaults(dark=self.current_theme.dark)

    def get_css_variables(self) -> dict[str, str]:
        """Textual's, which mixes all colours anew whenever a mode is entered: here once a theme."""
        if self._colors is None or self._colors[0] is not self.current_theme:
            self._colors = self.current_theme, super().get_css_variables()
        return self._colors[1]

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        return [*filters, self._ascii_filter] if self.ascii else filters

    def get_driver_class(self) -> type[Driver]:
        return Terminal

    def on_mount(self) -> None:
        self.session.viewer, self.session.changed = self._look, self.renew
        self.run_worker(self.session.run(), group="session", exit_on_error=True)
        self.run_worker(self.keyboard.run(), group="keys", exit_on_error=True)
        painting = contextlib.ExitStack()
        painting.enter_context(self.batch_update())
        self.run_worker(self._hold(painting), group="hold", exit_on_error=True)
        self.set_interval(1.0, self._second)

    async def _hold(self, painting: contextlib.ExitStack) -> None:
        """Where the server is quick, paint once with rows rather than before and again with them."""
        with painting:
            try:
                async with asyncio.timeout(PATIENCE):
                    await self.session.begun.wait()
            except TimeoutError:
                self.screen.refresh()  # nothing is new that would have it painted
            self.held = False
            self.renew()
            if self.frame is not None:
                self.frame.lay_out()
            for _ in range(STEPS):
                await asyncio.sleep(0)
        if self._greeting:
            self.say(self._greeting)
        self.screen._on_timer_update()  # what it would do at the next tick of its clock

    def key_shown(self, key: Key) -> str:
        """A key as it stands on the keyboard, remapped or not."""
        return keymap.shown(self.remapped.get(key.id, key.keys))

    def keys_shown(self, key: Key) -> str:
        """All keys that do the same."""
        return keymap.all_shown(self.remapped.get(key.id, key.keys))

    @property
    def fault(self) -> Exception | None:
        """What made the console end by itself."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) and isinstance(error.error, Exception) else error

    def _fatal_error(self) -> None:
        """Instead of Textual's traceback with the values of all variables, in which there may be secrets."""
        self._close_messages_no_wait()

    async def _look(self) -> None:
        """What is on the screen reads itself again: the dialog in front, then the page below it."""
        for screen in reversed(self.screen_stack):
            look: Callable[[], Any] | None = getattr(screen, "look", None)
            if look is not None and screen.is_mounted:  # it is on the stack before it has any widgets
                await look()
            if isinstance(screen, PageScreen):
                return

    def _second(self) -> None:
        """Ages go on while the database says nothing."""
        if self.frame is not None:
            self.frame.renew_header()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        from console.tui.palette import commands

        return commands(self)
