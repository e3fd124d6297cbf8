"""The command palette: the same tables as the keys, the footer and the help page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.command import CommandPalette
from textual.markup import escape

from console.tui import keymap, theme
from console.tui.keymap import Key
from queries.safe_text import safe_text

if TYPE_CHECKING:
    from console.tui.app import UnstickApp


class Palette(CommandPalette):
    """Textual's palette, which crashes when a page key arrives before its list is laid out (seen in Textual 8.2.8)."""

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):
            super()._action_command_list(action)


def commands(app: UnstickApp) -> Iterable[SystemCommand]:
    """What can be done on the page in front: its actions, its keys, the keys that work everywhere, the looks."""
    frame = app.frame
    if frame is not None:
        for hint in frame.action_hints():
            about = safe_text(hint.why) or "dry-run first, committed only when you say so"
            # the palette reads markup, and a reason may name a role
            title = escape(f"{hint.title} ({hint.key})")
            yield SystemCommand(title, escape(about), partial(app.action_action, hint.key))
        for key in frame.KEYS:
            if key.handler:
                yield _command(app, key)
    for key in keymap.APP:
        if not key.always and key.id != "palette":
            yield _command(app, key)
    for each in theme.THEMES:
        yield SystemCommand(f"theme {each.name}", "Change the colours", partial(setattr, app, "theme", each.name))


def _command(app: UnstickApp, key: Key) -> SystemCommand:
    def perform() -> None:
        app.call_later(app.run_action, key.handler, app)

    return SystemCommand(f"{key.title} ({app.key_shown(key)})", key.about, perform)
