"""Command palette, filled from the key tables and the front page's actions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial
from typing import Any

from textual.app import App, SystemCommand
from textual.command import CommandPalette
from textual.markup import escape

from console.tui import keymap, theme
from console.tui.host import Host
from console.tui.screens.base import PageScreen
from queries.safe_text import safe_text


class Palette(CommandPalette):
    """Textual's palette.

    Textual 8.2.8 crashes when a page key arrives before the list is laid out.
    """

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):
            super()._action_command_list(action)


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
