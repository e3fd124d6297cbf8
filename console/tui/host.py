"""Interface of the app for screens and dialogs, which never import the app."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from console.config import Config, Context
from console.model.filter import Filter
from console.model.session import Session
from console.model.visited_places import Place
from console.text.formatting import Times
from console.tui.guide import Guide
from console.tui.help_context import HelpContext
from console.tui.keymap import Keys
from queries.records.node import Node
from queries.records.where import Where


class Host(Protocol):
    """App around one database session. Textual's own parts are at ``screen.app``."""

    ascii: bool
    keys: Keys
    """The keys in use."""
    times: Times
    """Form of the times in lists and screens."""
    guide: Guide
    """Names the next key of the first repair."""
    help_context: HelpContext
    """The screen from which help was asked for."""
    kept_filters: list[str]
    """Filters that the operator has kept, the newest last."""
    starting: bool
    """True until the first frame is painted."""

    @property
    def context(self) -> Context | None:
        """The context of the settings that names the database, if one does."""

    @property
    def where(self) -> Where:
        """The database as the operator named it."""

    @property
    def config(self) -> Config:
        """The settings."""

    def ask(self, heading: str, question: str, then: Callable[[str | None], None]) -> None:
        """Ask for one line of text."""

    def save_filter(self, text: str, name: str | None) -> None:
        """Save a filter in the settings, under a name."""

    @property
    def production(self) -> str:
        """Name of the context that makes the opened server a production database, or ""."""

    @property
    def session(self) -> Session:
        """The watched database."""

    def switch_context(self, name: str) -> None:
        """Leave this database for that of another context of the settings."""

    def say(self, text: str, tone: str = "") -> None:
        """Show a message in the status line of the screen in front."""

    def refuse(self, why: str) -> None:
        """Say in one line why a key does nothing."""

    def act(self, steps: Coroutine[Any, Any, None]) -> None:
        """Run the dialogs of an action of the screen in front, unless one is running."""

    def renew_header_in(self, seconds: float) -> None:
        """Repaint the header after this time, when an age in it has grown."""

    def open_node(self, node: Node) -> None:
        """Open the screen of a node."""

    def reveal(self, node: Node) -> None:
        """Show a node in its tree."""

    def action_find(self, text: str = "") -> None:
        """Ask for a text to search for in all engines."""

    def search(self, wanted: str | Filter | None, mode: str = "") -> None:
        """Show the nodes with a text or of a filter, or the list of a mode with it."""

    def follow(self, text: str) -> None:
        """Open the node that an id names."""

    def action_undo(self) -> None:
        """Undo the last change of this operator."""

    def action_blockers(self) -> None:
        """Show the sessions that lock the node under the cursor."""

    def visited(self, place: Place) -> None:
        """Note in the history that a screen is in front."""

    def action_go(self, step: int) -> None:
        """Go back (-1) or forward (1) in the history of screens."""
