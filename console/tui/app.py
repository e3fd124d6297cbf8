"""The app: one database session, the modes, and the keys of every screen."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from importlib import import_module
from time import monotonic
from typing import Any, cast

import msgspec
from textual import events
from textual.command import Provider
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import ModalScreen, Screen
from textual.theme import BUILTIN_THEMES
from textual.widgets import Input
from textual.worker import WorkerFailed

from console.config import Config, ConfigError, Context, shown
from console.model.filter import Filter
from console.model.session import Session
from console.model.visited_places import Place, VisitedPlaces
from console.target import Target
from console.text import formatting
from console.text.ascii import takes_unicode
from console.text.formatting import Times
from console.tui import keymap, textual_compat, theme
from console.tui.bindings import bindings
from console.tui.clipboard import UNSUPPORTED_TERMS
from console.tui.guide import Guide
from console.tui.help_context import HelpContext
from console.tui.key_queue import Keyboard, Typed
from console.tui.keymap import Keys
from console.tui.multiplexer import KEEP_TITLE, TITLE
from console.tui.screens.base import MainScreen
from console.tui.screens.console_screen import ConsoleScreen
from console.tui.widgets.ascii import AsciiFilter
from console.tui.widgets.few_colors import filter_for
from queries.db.database import Server
from queries.db.errors import DatabaseError
from queries.records.node import Node
from queries.records.snapshot import Snapshot
from queries.records.where import Where
from queries.text.duration import measured
from queries.text.safe_text import safe_text

START_SECONDS = 20.0  # after which the start is no longer most of the load
FIRST_FRAME_SECONDS = 0.4  # seconds to wait for rows before "Connecting" is painted
BETWEEN = "between"  # mode without a screen, while all screens are replaced


def _screen(module: str, name: str) -> Callable[[], Screen[None]]:
    """Return a factory that imports a screen when it is first shown.

    The app starts sooner without the import.
    """

    def make() -> Screen[None]:
        screen: Screen[None] = getattr(import_module(f"console.tui.screens.{module}"), name)()
        return screen

    return make


def _commands() -> type[Provider]:
    from console.tui.palette import Commands

    return Commands


class UnstickApp(textual_compat.QuietApp):
    """App around one session. Implements the ``Host`` protocol that the screens use."""

    TITLE = "unstick"
    MODES = {
        "tree": _screen("tree", "TreeScreen"),
        "stuck": _screen("stuck", "StuckScreen"),
        "dead": _screen("dead", "DeadScreen"),
        "audit": _screen("audit", "AuditLogScreen"),
        "changed": _screen("changed", "ChangedScreen"),
        "help": _screen("help", "HelpScreen"),
    }
    BINDINGS = bindings(keymap.APP)
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = {_commands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-wide"), (160, "-broad")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high"), (30, "-tall")]

    def __init__(
        self,
        session: Session,
        target: Target,
        *,
        guide: Guide | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        """Create the app. Raises ConfigError.

        ``session`` may have begun. ``guide`` leads through the first repair; ``now`` is a monotonic clock.
        """
        config = target.config
        self._target = target
        self._where: tuple[Target, Server | None, Where] | None = None  # of a target and a server
        self._now = now
        ids = keymap.ids(action for each in target.engines for action in each.spec.actions)
        if target.outside.broken or any(context.engines for context in config.contexts.values()):
            ids |= {name for name in config.keys if name.startswith(keymap.action_id(""))}  # of engines not loaded
        config.check_screen(ids, [*BUILTIN_THEMES, *(each.name for each in theme.THEMES)])
        self.DEFAULT_MODE = config.start  # type: ignore[misc]  # Textual reads it from the instance
        super().__init__()
        self.session = session
        self.ascii = target.ascii or not takes_unicode(sys.__stderr__)  # Textual draws on it
        self.times = Times.RELATIVE
        formatting.show_times(self.times)
        self.kept_filters = [f"@{name}" for name in config.filters]
        self.starting = True
        self.guide = guide or Guide()
        self._ascii_filter = AsciiFilter()
        self._color_filters = filter_for(self.console.color_system)
        self.animation_level = "none"
        self._painted: tuple[MainScreen | None, Snapshot | None] = (None, None)  # the screen that was read, and of what
        self.terminal_title = ""  # once it is set
        self._acting = False
        self._dragged = False  # since the last key or click
        self._visited = VisitedPlaces()
        self._header_timer: asyncio.TimerHandle | None = None
        self.help_context = HelpContext()  # what help explains first
        self._bind_keys(target)
        self.keyboard = Keyboard(self, super().on_event, self._opening)
        for each in theme.THEMES:
            self.register_theme(theme.without_hue(each) if self.no_color else each)
        self.theme = config.theme or theme.of_terminal(os.environ.get("COLORFGBG", ""))

    def _bind_keys(self, target: Target) -> None:
        config = target.config
        self.keys = Keys((action for each in target.engines for action in each.spec.actions), config.keys)
        for key in self.keys.actions:
            self.bind(key, f"app.perform('{key}')", show=False)
        self.set_keymap(config.keys)

    @property
    def context(self) -> Context | None:
        """The context of the settings that names the database, if one does."""
        return self._target.context if self._target.name else None

    @property
    def production(self) -> str:
        """Name of the context that makes the opened server a production database, or ""."""
        return self._target.production(self.session.workspace)

    @property
    def where(self) -> Where:
        """The database as the operator named it, and as its server names itself."""
        server = self.session.workspace.server if self.session.workspace else None
        if self._where is None or self._where[0] is not self._target or self._where[1] is not server:
            self._where = self._target, server, self._target.where(server)
        return self._where[2]

    @property
    def config(self) -> Config:
        return self._target.config

    def save_filter(self, text: str, name: str | None) -> None:
        """Save a filter in the settings file, and say so."""
        from console.model.saved_filters import save

        if name is None:
            return
        config, name = self.config, name.removeprefix("@")
        try:
            save(config.path, name, text)
        except ConfigError as error:
            self.say(str(error), "warn")
            return
        config = msgspec.structs.replace(config, filters={**config.filters, name: text})
        self._target = msgspec.structs.replace(self._target, config=config)
        self.kept_filters.append(f"@{name}")
        self.say(f"Saved in {shown(config.path)}: @{name} is {text}", "good")

    # appearance

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.defaults(dark=self.current_theme.dark)

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        return [*filters, *[self._ascii_filter] * self.ascii, *self._color_filters]

    def copy_to_clipboard(self, text: str) -> None:
        textual_compat.copy(self, text)

    def get_driver_class(self) -> type[Driver]:
        return textual_compat.Terminal

    # start and end

    def on_mount(self) -> None:
        self._watch_session()
        self.run_worker(self.keyboard.run(), group="keys")
        self.run_worker(self._paint_first(), group="start")
        self.app_resume_signal.subscribe(self, lambda _: self._resumed())

    def on_unmount(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
        formatting.show_times(Times.RELATIVE)  # for whatever this process prints next

    def _watch_session(self) -> None:
        self.session.findings_first = self.DEFAULT_MODE == "stuck"
        self.session.read_list, self.session.changed = self._read_screen, self._renew_changed
        if not self.session.findings_first:
            self.session.begun.clear()  # it may have begun without this screen
        self.session.run_now()
        self.run_worker(self.session.begin(), group="session")  # an error of its loop ends the console

    async def _paint_first(self) -> None:
        with self.batch_update():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_FRAME_SECONDS):
                    await self.session.begun.wait()
            self.starting = False
            self.renew()
            await textual_compat.lay_out(self.screen)
        self.screen.check_idle()

    @property
    def fault(self) -> Exception | None:
        """The program error that ended the console."""
        error = textual_compat.fatal_error(self)
        if isinstance(error, WorkerFailed) and isinstance(error.error, Exception):
            return error.error
        return error if isinstance(error, Exception) else None

    # refresh

    @property
    def front(self) -> MainScreen | None:
        """The screen in front, even under a dialog. None once the app is ending."""
        if not self.is_running:
            return None
        return next((s for s in reversed(self.screen_stack) if isinstance(s, MainScreen)), None)

    async def _read_screen(self) -> None:
        """Let the dialog in front and the screen below it read and paint themselves.

        Raises DatabaseError.
        """
        textual_compat.adopt(self)
        if said := await self.session.pins.read(self.session.engines):
            key = self.keys.shown(keymap.BY_ID["pins.next"])
            self.say(f"Pinned: {', '.join(said)}. {key} goes to it.", "warn")
            self._ring(said[0], self.config.notify or "bell")
        for screen in reversed(self.screen_stack):
            if isinstance(screen, ConsoleScreen) and screen.is_mounted:
                await screen.read()
            if isinstance(screen, MainScreen):
                self._painted = screen, self.session.state.shown
                return

    def renew(self) -> None:
        """Let every screen show the new state of the session and of the app."""
        self._painted = (None, None)
        self._renew_changed()

    def _renew_changed(self) -> None:
        """Let every screen show what the session has read.

        A screen that was painted as it was read renews only what is around its body.
        """
        textual_compat.adopt(self)
        self._announce()
        self._notify()
        (painted, shown), self._painted = self._painted, (None, None)
        for screen in self.screen_stack if self.is_running else ():
            if isinstance(screen, MainScreen) and screen is painted and shown is self.session.state.shown:
                screen.renew_frame()
            elif isinstance(screen, ConsoleScreen):
                screen.renew()

    def renew_header_in(self, seconds: float) -> None:
        """Repaint the header after this time, when an age in it has grown."""
        if self._header_timer is not None:
            self._header_timer.cancel()
        self._header_timer = asyncio.get_running_loop().call_later(seconds, self.call_next, self._renew_header)

    def _renew_header(self) -> None:
        if self.front is not None:
            self.front.renew_header()

    def _announce(self) -> None:
        self._put_title(safe_text(f"unstick {self.where.text}"))
        text, tone = self.session.message(noticed=self.front is not None and not self.starting)
        if text:
            self.say(text, tone)

    def _put_title(self, text: str) -> None:
        if text != self.terminal_title and os.environ.get("TERM", "") not in UNSUPPORTED_TERMS:
            keep = "" if self.terminal_title else KEEP_TITLE
            self.terminal_title = text
            textual_compat.send(self, f"{keep}{TITLE.format(text=text)}")

    def _resumed(self) -> None:
        self.screen.refresh()
        if self.terminal_title:
            textual_compat.send(self, TITLE.format(text=self.terminal_title))

    def _notify(self) -> None:
        how, new = self.config.notify, self.session.new_incidents()
        if how and new:
            self._ring(f"{new[0].title}{f' and {len(new) - 1} more' if len(new) > 1 else ''}", how)

    def _ring(self, text: str, how: str) -> None:
        if how == "bell":
            self.bell()
        else:
            place = f"@{self._target.name} " if self._target.name else ""
            textual_compat.send(self, f"\x1b]9;{safe_text(f'unstick {place}{text}')}\x07")

    def say(self, text: str, tone: str = "") -> None:
        if self.front is not None:
            self.front.say(text, tone)

    # keys, pasted text and clicks

    async def on_event(self, event: events.Event) -> None:
        """Queue keys, pasted text and clicks. Keys that quit from anywhere skip the queue."""
        quits = isinstance(event, events.Key) and event.key in self.keys.always
        if self._wants_copy(event):
            self.say("Nothing was copied: hold Shift while you drag. Ctrl-C again quits.", "warn")
        elif isinstance(event, Typed) and not (event.is_forwarded or quits):
            self.keyboard.put(event)
        else:
            await super().on_event(event)

    def _wants_copy(self, event: events.Event) -> bool:
        """Return True for Ctrl-C after a drag, which copies in other programs."""
        dragged = self._dragged
        if isinstance(event, events.Key | events.MouseDown | events.MouseMove) and not event.is_forwarded:
            self._dragged = isinstance(event, events.MouseMove) and (dragged or event.button > 0)
        return dragged and isinstance(event, events.Key) and event.key == "ctrl+c"

    def _opening(self) -> bool:
        """Return True while an action or the hand-over is about to open its next dialog."""
        reading = self._acting or any(each.group == "shift" for each in self.workers)
        return reading and self.is_running and not isinstance(self.screen, ModalScreen)

    def action_press(self, key: str) -> None:
        """Handle a click on a key hint as if the key was pressed."""
        self.keyboard.put(events.Key(key, key if len(key) == 1 else None))

    def action_show_engine(self, place: int) -> None:
        from console.tui.screens.tree import TreeScreen

        labels = list(self.session.engines)
        self.action_show_mode("tree")
        if isinstance(self.screen, TreeScreen) and place < len(labels):
            self.screen.show_engine(labels[place])

    def action_engines(self) -> None:
        from console.tui.screens.engines import EnginesScreen

        if isinstance(self.screen, EnginesScreen):
            self.screen.table.action_move(1)
        elif self.front is not None:
            self.push_screen(EnginesScreen(self.front.mode()))

    # another database

    def switch_context(self, name: str) -> None:
        if self.session.works.under_way or self._acting:
            self.say("A change is running: wait for its end, or stop it, before you switch.", "warn")
            return
        try:
            target = self._target.switched(name)
        except ConfigError as error:
            self.say(str(error), "warn")
            return
        self.say(f"Closing the connections; then @{name} …", "faint")
        self.run_worker(self._switch(target), group="context", exclusive=True)

    async def _switch(self, target: Target) -> None:
        old = self.session
        old.changed = lambda: None
        await old.close()
        self._target = target
        self._bind_keys(target)
        self.session = Session(lambda: target.open(later=True), old.timer.interval, self._now)
        self._visited = VisitedPlaces()
        self.add_mode(BETWEEN, Screen)
        await self.switch_mode(BETWEEN)
        for mode, make in self.MODES.items():
            await self.remove_mode(mode)
            self.add_mode(mode, make)
        await self.switch_mode(self.DEFAULT_MODE)
        await self.remove_mode(BETWEEN)
        self._watch_session()
        self.say(f"Switched to @{target.name}.")

    def action_show_mode(self, mode: str) -> None:
        if mode == "help" and self.front is not None and self.current_mode != "help":
            self.help_context = self.front.help_context()
        if self.current_mode != mode:
            self.switch_mode(mode)
        else:
            self._close_screens()

    def _close_screens(self) -> None:
        while len(self.screen_stack) > 1:
            self.screen.dismiss(None)  # who waits for the answer of a dialog gets None

    def open_node(self, node: Node) -> None:
        from console.tui.screens.detail import DetailScreen

        if self.front is not None:
            self.push_screen(DetailScreen(node, self.front.mode()))

    def reveal(self, node: Node) -> None:
        from console.tui.screens.tree import TreeScreen

        if self.current_mode != "tree":
            self.switch_mode("tree")
        self._close_screens()
        screen = self.screen
        if isinstance(screen, TreeScreen):
            self._visited.add(screen.place())
            screen.reveal(node)

    def action_find(self, text: str = "") -> None:
        question = "An id, the beginning of one, a URL or a log line with ids, or a part of a title, error or payload."
        self.ask("Find in all engines", question, self.search, text)

    def ask(self, heading: str, question: str, then: Callable[[str | None], None], answer: str = "") -> None:
        from console.tui.screens.prompt import PromptDialog

        self.push_screen(PromptDialog(heading, question, answer), then)

    def action_queues(self) -> None:
        from console.tui.screens.queues import QueuesScreen

        if self.front is not None:
            self._close_screens()
            self.push_screen(QueuesScreen(self.front.mode()))

    def search(self, wanted: str | Filter | None, mode: str = "") -> None:
        from console.tui.screens.find import FindScreen

        if mode and self.front is not None:
            self.front.begin(self._filter(mode, str(wanted)), "open", exclusive=True)
        elif wanted and self.front is not None:
            self.push_screen(FindScreen(wanted, self.front.mode()))

    async def _filter(self, mode: str, text: str) -> None:
        await self.switch_mode(mode)
        self._close_screens()
        await cast(Any, self.screen).action_filter()
        self.screen.query_one("#filter", Input).value = text

    def follow(self, text: str) -> None:
        if self.front is not None:
            self.front.begin(self._follow(self.front, text), "open", exclusive=True)

    async def _follow(self, screen: MainScreen, text: str) -> None:
        from console.tui.screens.detail import DetailScreen
        from console.tui.screens.find import FindScreen
        from queries.read.search import search, sought, sure

        engines = self.session.engines
        answers = [part async for part in search(engines, sought(text, engines.values()), texts=False)]
        nodes = sure(answers)
        if self.screen is not screen:
            return
        if len(nodes) == 1:
            self.open_place(DetailScreen(nodes[0], screen.mode()))
        elif nodes:
            self.push_screen(FindScreen(text, screen.mode()))
        else:
            self.say(f"{text} was not found; searched in {', '.join(part.engine for part in answers)}.", "warn")

    def visited(self, place: Place) -> None:
        self._visited.visit(place)

    def action_go(self, step: int) -> None:
        place = self._visited.go(step)
        if place is None:
            self.say("There is no earlier screen." if step < 0 else "There is no later screen.", "faint")
            return
        if self.current_mode != place.mode:
            self.switch_mode(place.mode)
        if not self._uncover(place):
            place.show()

    def open_place(self, screen: MainScreen) -> None:
        """Open a screen, or uncover it if it is open already below others."""
        self._visited.add(screen.place())
        if not self._uncover(screen.place()):
            self.push_screen(screen)

    def _uncover(self, place: Place) -> bool:
        """Close the screens above one that is open. Return False if it is not open."""
        for above, screen in enumerate(reversed(self.screen_stack)):
            if isinstance(screen, MainScreen) and screen.place() == place:
                for _ in range(above):
                    self.screen.dismiss(None)
                return True
        return False

    def action_blockers(self) -> None:
        """Open the screen with the sessions that lock the node under the cursor.

        Without a node, those that lock anything of the engines.
        """
        from console.tui.screens.blockers import BlockersScreen

        if self.front is not None:
            node, session = self.front.cursor(), self.front.cause_session()
            self.push_screen(BlockersScreen(node, self.front.mode(), session[0] if session else None))

    def action_try_node(self) -> None:
        """Offer to try what a worker runs next on the node under the cursor."""
        from console.tui.screens.attempt import TryDialog

        if node := self.front.cursor() if self.front else None:
            self.push_screen(TryDialog(node))
        else:
            self.say("There is no node to try.", "faint")

    def action_pin(self) -> None:
        node = self.front.cursor() if self.front else None
        if node is None:
            self.say("There is no node to pin.", "faint")
        else:
            pinned = self.session.pins.turn(node)
            self.say(safe_text(f"{node.title} is {'' if pinned else 'no longer '}pinned."))

    def action_next_pin(self) -> None:
        if node := self.session.pins.next():
            self.reveal(node)
        else:
            self.say(f"No node is pinned. {self.keys.shown(keymap.BY_ID['node.pin'])} pins one.", "faint")

    def action_own_commands(self) -> None:
        from console.tui.screens.own_commands import run_own_command

        commands = self.config.commands
        if (node := self.front.cursor() if self.front else None) and self.front and commands:
            self.act(run_own_command(self.front, node, commands))
        else:
            self.refuse("There is no node to run a command on." if commands else "Your settings have no [commands].")

    def action_undo(self) -> None:
        from console.tui.screens.action import undo

        if self.front is not None:
            self.act(undo(self.front))

    def action_hand_over(self) -> None:
        if self.front is not None:
            self.run_worker(self._hand_over(self.front), group="shift", exclusive=True)

    async def _hand_over(self, screen: MainScreen) -> None:
        from console.tui.screens.copy import CopyDialog, shift_choices

        try:
            choices = await shift_choices(self.session, self.where)
        except DatabaseError as error:
            self.session.failed(error)
            self.refuse(f"The audit log could not be read. {error}")
            return
        if screen is self.front and choices:
            self.push_screen(CopyDialog(choices))

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, textual_compat.Palette):
            self.push_screen(textual_compat.Palette(id="--command-palette"))

    def action_refresh_now(self) -> None:
        self.session.refresh()
        self.say("Refreshing.", "faint")

    def action_pause(self) -> None:
        paused = self.session.pause()
        self.say("Refresh paused. p resumes, r refreshes once." if paused else "Refresh resumed.")
        self.renew()

    def action_times(self) -> None:
        self.times = self.times.following
        formatting.show_times(self.times)
        zones = ("relative in lists, in UTC on screens", "in UTC", "in the local zone")
        self.say(f"Times {zones[[*Times].index(self.times)]}.")
        self.renew()

    def action_pick_interval(self, step: int) -> None:
        """Refresh less often (1) or more often (-1)."""
        interval, workspace = self.session.pick_interval(step), self.session.workspace
        load = workspace.database.load if workspace else None
        share = f" (≈{load.share():.1%} of the time now)" if load and self._now() - load.began > START_SECONDS else ""
        self.say(f"Refresh interval {measured(interval)}; longer while refreshing costs too much{share}.")
        self.renew()

    def action_perform(self, key: str) -> None:
        from console.tui.screens.action import perform_key

        if self.front is not None:
            self.act(perform_key(self.front, key))

    def act(self, steps: Coroutine[Any, Any, None]) -> None:
        """Run an action of the screen in front, unless one is running.

        A key that repeats must not start it twice. The dialogs say themselves what fails; before them, nodes are read.
        """
        if self.front is None or self._acting:
            steps.close()
            return
        self._acting = True
        self.run_worker(self._acted(steps), group="actions")

    async def _acted(self, steps: Coroutine[Any, Any, None]) -> None:
        try:
            await steps
        except DatabaseError as error:
            self.session.failed(error)
            self.refuse(f"The nodes could not be read. {error}")
        finally:
            self._acting = False

    def refuse(self, why: str) -> None:
        """Say why a key does nothing. Text that is typed for its dialog is ignored."""
        self.keyboard.ignoring = True
        if self.front is not None:
            self.front.refuse(why)
