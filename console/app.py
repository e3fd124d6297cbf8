"""The console: a small app around a session. Screens are in ``screens/``, one a file; keys in ``keys.py``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from textual.app import SystemCommand
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES
from textual.worker import WorkerFailed

from queries import system
from queries.workspace import Workspace

from . import keys, theme
from .config import Config, Context
from .everywhere import Everywhere
from .keys import Key
from .screens.frame import Frame, bindings
from .session import Opener, Session
from .widgets.ascii import AsciiFilter


def run(
    text: str,
    config: Config,
    context: Context | None = None,
    *,
    read_only: bool = False,
    ascii: bool = False,
    interval: float | None = None,
) -> int:
    """Run the console on what ``text`` names, until the operator leaves. The exit code: 1 where it never connected.

    A fault of the console's own is raised once the terminal is as it was. Raises ConfigError, before anything is shown,
    where the settings name keys or a theme that there are not.
    """
    known = system.builtin()
    config.check(
        {each.name: each.spec.thresholds for each in known},
        {each.name: each.spec.options for each in known},
        keys.ids(verb for each in known for verb in each.spec.verbs),
        [*BUILTIN_THEMES, *(each.name for each in theme.THEMES)],
    )

    async def open_() -> Workspace:
        return await Workspace.open(
            text, config.overrides(), read_only=read_only or bool(context and context.read_only)
        )

    app = UnstickApp(open_, config, context, ascii=ascii, interval=interval)
    asyncio.run(_run(app))
    return 0 if app.session.workspace is not None else 1


async def _run(app: UnstickApp) -> None:
    try:
        await app.run_async()
    finally:
        if any(not work.ended for work in app.session.works):
            print("Waiting for the change under way ...", file=sys.stderr)  # noqa: T201
        await app.session.close()
        for line in app.session.unseen():
            print(line, file=sys.stderr)  # noqa: T201
    if app.fault is not None:
        raise app.fault


def _screen(module: str, name: str) -> Callable[[], Screen[None]]:
    """A screen that is imported when it is first shown: starting is fast."""

    def make() -> Screen[None]:
        screen: Screen[None] = getattr(import_module(f"console.screens.{module}"), name)()
        return screen

    return make


class UnstickApp(Everywhere):
    """What all screens share: the session, the looks, the modes, and the keys that work everywhere."""

    TITLE = "unstick"
    CSS_PATH = ["styles/frame.tcss", "styles/dialogs.tcss"]
    MODES = {
        "tree": _screen("tree", "TreeScreen"),
        "stuck": _screen("stuck", "StuckScreen"),
        "ledger": _screen("ledger", "LedgerScreen"),
        "help": _screen("help", "HelpScreen"),
    }
    DEFAULT_MODE = "tree"
    BINDINGS = bindings(keys.APP)
    ENABLE_COMMAND_PALETTE = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]

    def __init__(
        self,
        open_: Opener,
        config: Config,
        context: Context | None = None,
        *,
        ascii: bool = False,
        interval: float | None = None,
    ) -> None:
        super().__init__(Session(open_, interval if interval is not None else config.interval))
        self.context = context
        self.ascii = ascii or config.ascii
        self._ascii_filter = AsciiFilter()
        self.animation_level = "none"
        self._remapped = config.keys
        self.verb_keys = keys.verb_keys((v for s in system.builtin() for v in s.spec.verbs), config.keys)
        for key in self.verb_keys:
            self.bind(key, f"app.verb('{key}')", show=False)
        self.set_keymap(config.keys)
        for each in theme.THEMES:
            self.register_theme(each)
        self.theme = config.theme or theme.DEFAULT

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.defaults(dark=self.current_theme.dark)

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        return [*filters, self._ascii_filter] if self.ascii else filters

    def on_mount(self) -> None:
        self.session.viewer, self.session.changed = self._look, self.renew
        self.run_worker(self.session.run(), group="session", exit_on_error=True)
        self.set_interval(1.0, self._second)

    def key_shown(self, key: Key) -> str:
        """A key as it stands on the keyboard, remapped or not."""
        return keys.shown(self._remapped.get(key.id, key.keys))

    def keys_shown(self, key: Key) -> str:
        """All keys that do the same."""
        return keys.all_shown(self._remapped.get(key.id, key.keys))

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
            if look is not None:
                await look()
            if isinstance(screen, Frame):
                return

    def _second(self) -> None:
        """Ages go on while the database says nothing."""
        if self.frame is not None:
            self.frame.renew_header()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        from .palette import commands

        return commands(self)
