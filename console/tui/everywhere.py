"""What the keys do that work on every page, and how the app tells its pages what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from textual import events
from textual.app import App
from textual.screen import ModalScreen

from console.model.session import Link, Session
from console.tui import keymap
from console.tui.key_queue import Keyboard
from console.tui.screens.base import PageScreen
from queries.model import Node

if TYPE_CHECKING:
    from console.tui.screens.action import Plan


class Everywhere(App[None]):
    """An app around a session, whose pages are frames."""

    def __init__(self, session: Session, remapped: Mapping[str, str]) -> None:
        """``remapped``: other keys than those of the key table, by the id of the binding."""
        super().__init__()
        self.session = session
        self.remapped = remapped
        self.action_keys: dict[str, set[str]] = {}  # key -> names of the actions it stands for
        self._told = (session.link, "")
        self._acting = False
        self.keyboard = Keyboard(self, super().on_event, self._opening)
        self.field_keys = _names(remapped.get(key.id, key.keys) for key in keymap.TREE if key.id in keymap.FIELDS)
        self._at_once = _names(remapped.get(key.id, key.keys) for key in keymap.APP if key.always)
        self.held = True  # whether nothing is painted yet: the first picture is to be one with rows

    @property
    def frame(self) -> PageScreen | None:
        """The page in front, whatever dialog is open over it. None once the app is ending: pages are taken apart."""
        if not self.is_running:
            return None
        return next((s for s in reversed(self.screen_stack) if isinstance(s, PageScreen)), None)

    def renew(self) -> None:
        """Something is new: every screen paints what differs."""
        self._tell()
        for screen in self.screen_stack if self.is_running else ():
            renew: Callable[[], None] | None = getattr(screen, "renew", None)
            if renew is not None:
                renew()

    def _tell(self) -> None:
        """Say once that the connection was lost, is back, or that something could not be read."""
        before, now = self._told, (self.session.link, self.session.error_text)
        self._told = now
        if self.session.notice and self.frame is not None and not self.held:
            self.say(self.session.notice, "warn")
            self.session.notice = ""
            return
        if now[0] is Link.LIVE and before[0] is Link.LOST:
            self.say("Connected again.", "good")
        elif now[1] and now != before:
            self.say(now[1], "bad")

    def say(self, text: str, tone: str = "") -> None:
        """Say something in the status line of the page in front."""
        if self.frame is not None:
            self.frame.say(text, tone)

    def reveal(self, node: Node) -> None:
        """Show a node in its tree."""
        from console.tui.screens.tree import TreeScreen

        if self.current_mode != "tree":
            self.switch_mode("tree")
        self._to_top()
        screen = self.screen
        if isinstance(screen, TreeScreen):
            screen.reveal(node)

    # keys and pasted text

    async def on_event(self, event: events.Event) -> None:
        """Queue keys and pasted text. Keys that quit from anywhere skip the queue."""
        typed = isinstance(event, events.Key | events.Paste) and not event.is_forwarded
        if typed and not (isinstance(event, events.Key) and event.key in self._at_once):
            self.keyboard.put(event)  # type: ignore[arg-type]
        else:
            await super().on_event(event)

    def _opening(self) -> bool:
        """Whether an action is under way whose next dialog has not been opened yet."""
        return self._acting and self.is_running and not isinstance(self.screen, ModalScreen)

    # keys that work everywhere

    def action_show_mode(self, mode: str) -> None:
        if self.current_mode != mode:
            self.switch_mode(mode)
        else:
            self._to_top()

    def _to_top(self) -> None:
        """Leave the pages that were opened from the mode's first one."""
        while len(self.screen_stack) > 1:
            self.pop_screen()

    def action_command_palette(self) -> None:
        from console.tui.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_leave(self) -> None:
        self.exit()

    def action_refresh_now(self) -> None:
        self.session.refresh()
        self.say("Looking again.", "faint")

    def action_pause(self) -> None:
        paused = self.session.pause()
        self.say("Paused: the picture stays as it is. p goes on, r looks once." if paused else "Going on.")
        self.renew()

    def action_slower(self) -> None:
        self._interval(1)

    def action_faster(self) -> None:
        self._interval(-1)

    def _interval(self, step: int) -> None:
        self.say(f"Looking every {self.session.pick_interval(step):g} s, less often where that costs the server more.")
        self.renew()

    def action_action(self, key: str) -> None:
        from console.tui.screens.action import Plan, make_plan

        if self.frame is None or self._acting:  # a key pressed twice is still one wish
            return
        targets = self.frame.targets()
        reader = self.session.reader(targets[0].id) if targets else None
        plan = make_plan(reader, targets, key, self.action_keys[key])
        if isinstance(plan, Plan):
            self._acting = True
            self.run_worker(self._change(self.frame, plan), group="actions", exit_on_error=True)
        else:
            self.refuse(plan)

    def refuse(self, why: str) -> None:
        """Say in a dialog why a key does nothing: what is typed after it must not run as commands."""
        from console.tui.screens.refused import RefusedScreen

        self.push_screen(RefusedScreen("Not possible", why))

    async def _change(self, frame: PageScreen, plan: Plan) -> None:
        from console.tui.screens.action import change

        try:
            await change(self, frame, plan)
        finally:
            self._acting = False


def _names(bound: Iterable[str]) -> set[str]:
    """Return the single keys of bindings such as ``ctrl+q,ctrl+c``."""
    return {name.strip() for keys_ in bound for name in keys_.split(",")} - {""}
