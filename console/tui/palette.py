"""Command palette, filled from the key tables and the front page's actions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

from textual import events
from textual.app import App, SystemCommand
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.errors import NoWidget
from textual.markup import escape

from console.tui import keymap, theme
from console.tui.host import Host
from console.tui.screens.base import PageScreen
from console.tui.textual_compat import ClosedGuard
from queries.text.safe_text import safe_text


class Palette(ClosedGuard[None], CommandPalette):
    """Textual's palette.

    Textual 8.2.8 crashes when a page key arrives before the list is laid out, and at a click where nothing is, such as
    one that was made before the terminal became smaller. It is framed as a dialog is.
    """

    DEFAULT_CSS = """
    Palette > Vertical {
        visibility: visible;
        height: auto;
        min-height: 3;
        background: $surface;
        border: round $primary;
        width: 90%;
        max-width: 110;
    }
    Palette #--input { border: none; }
    Palette #--results { overlay: none; background: $surface; max-height: 70vh; }
    Palette SearchIcon { display: none; }
    Palette CommandInput, Palette CommandInput:focus { border: none; height: 1; background: $panel; }
    Palette CommandList, Palette CommandList:focus { border: none; background: $surface; }
    Palette LoadingIndicator { border: none; }
    """

    def on_click(self, event: events.Click) -> None:
        try:
            self.get_widget_at(event.screen_x, event.screen_y)
        except NoWidget:
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):
            super()._action_command_list(action)


class Places(Provider):
    """Contexts by ``@name``, nodes by id, and a search for any other text."""

    @property
    def _host(self) -> Host:
        return cast(Host, self.app)

    async def discover(self) -> Hits:
        for name in self._contexts():
            yield DiscoveryHit(f"@{name}", self._switch(name), help="Switch to this database")

    async def search(self, query: str) -> Hits:
        text = query.strip()
        if text.startswith("@"):
            matcher = self.matcher(text)
            for name in self._contexts():
                if score := matcher.match(f"@{name}"):
                    yield Hit(score, Content(safe_text(f"@{name}")), self._switch(name), help="Switch to this database")
            return
        likely = 1.0 if any(map(str.isdigit, text)) else 0.01
        open_ = partial(self.app.call_later, self._host.follow, text)
        yield Hit(likely, Content(safe_text(f"open {text}")), open_, help="The node with this id, in any engine")
        find = partial(self.app.call_later, self._host.find, text)
        yield Hit(likely / 2, Content(safe_text(f"find {text}")), find, help="Nodes by id or text, in all engines")

    def _contexts(self) -> list[str]:
        current = self._host.context
        return [name for name in self._host.contexts if current is None or name != current.name]

    def _switch(self, name: str) -> Callable[[], object]:
        return partial(self.app.call_later, self._host.switch_context, name)


def commands(app: App[Any], host: Host, page: PageScreen | None) -> Iterable[SystemCommand]:
    """Return the commands of the page in front, then the global ones, then the themes."""
    if page is not None:
        for hint in page.action_hints():
            about = safe_text(hint.why) or "Dry run first; nothing is committed until you confirm"
            # the palette reads markup, and a reason may contain the name of a role
            title = escape(f"{hint.title} ({hint.key})")
            yield SystemCommand(
                title, escape(about), partial(app.call_later, app.run_action, f"app.perform('{hint.key}')")
            )
    of_page = [key for key in page.KEYS if key.handler] if page is not None else []
    for key in [*of_page, *(key for key in keymap.APP if not key.always and key.id != "palette")]:
        perform = partial(app.call_later, app.run_action, key.handler, app)
        yield SystemCommand(f"{key.title} ({host.key_shown(key)})", key.about, perform)
    for each in theme.THEMES:
        yield SystemCommand(f"theme {each.name}", "Change the colours", partial(setattr, app, "theme", each.name))
