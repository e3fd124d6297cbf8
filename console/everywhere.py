"""What the keys do that work on every page, and how the app tells its pages what is new."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from queries.model import Node

from .screens.frame import Frame
from .session import Link, Session


class Everywhere(App[None]):
    """An app around a session, whose pages are frames."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.verb_keys: dict[str, set[str]] = {}  # key -> names of the verbs it stands for
        self._told = (session.link, "")
        self._acting = False
        self.held = True  # whether nothing is painted yet: the first picture is to be one with rows

    @property
    def frame(self) -> Frame | None:
        """The page in front, whatever dialog is open over it. None once the app is ending: pages are taken apart."""
        if not self.is_running:
            return None
        return next((s for s in reversed(self.screen_stack) if isinstance(s, Frame)), None)

    def renew(self) -> None:
        """Something is new: every screen paints what differs."""
        self._tell()
        for screen in self.screen_stack if self.is_running else ():
            renew: Callable[[], None] | None = getattr(screen, "renew", None)
            if renew is not None:
                renew()

    def _tell(self) -> None:
        """Say once that the connection was lost, is back, or that something could not be read."""
        before, now = self._told, (self.session.link, self.session.trouble)
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
        from .screens.tree import TreeScreen

        if self.current_mode != "tree":
            self.switch_mode("tree")
        self._to_top()
        screen = self.screen
        if isinstance(screen, TreeScreen):
            screen.reveal(node)

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

    def action_verb(self, key: str) -> None:
        if self.frame is not None and not self._acting:
            self._acting = True  # a key pressed twice is still one wish
            self.run_worker(self._change(self.frame, key), group="verbs", exit_on_error=True)

    async def _change(self, frame: Frame, key: str) -> None:
        from .screens.verb import change

        try:
            await change(self, frame, key, self.verb_keys[key])
        finally:
            self._acting = False
