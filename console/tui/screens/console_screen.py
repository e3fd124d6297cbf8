"""Base of the screens and the dialogs of this console."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar, cast

from console.model.session import Session
from console.tui.bindings import bindings
from console.tui.host import Host
from console.tui.keymap import Key
from console.tui.textual_compat import ClosedGuard

R = TypeVar("R")


class ConsoleScreen(ClosedGuard[R], Generic[R]):
    """Screen that shows data of the watched database.

    ``KEYS``: the keys of a subclass; those of its bases are bound, too.
    """

    KEYS: ClassVar[tuple[Key, ...]] = ()

    def __init_subclass__(cls, **settings: Any) -> None:
        if "KEYS" in cls.__dict__:
            cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__(**settings)

    @property
    def host(self) -> Host:
        """The part of the app that screens may use."""
        return cast(Host, self.app)

    @property
    def session(self) -> Session:
        """The watched database."""
        return self.host.session

    async def read(self) -> None:
        """Read what the screen shows, then paint it. Raises DatabaseError."""

    def renew(self) -> None:
        """Show the new state of the session."""
