"""Command-line options as typed, before settings or the database are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from click import UsageError

from queries.text.shell import typed_id

T = TypeVar("T")


def option_value(name: str, parse: Callable[[str], T], text: str) -> T:
    """Return the value of an option as typed. Raises UsageError."""
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def node_id(text: str) -> str:
    """Return an id as it is, or from a JSON string. Raises UsageError."""
    return option_value("ID", typed_id, text)


class CliOptions:
    """Shared options, accepted before or after the command, and the target as typed."""

    def __init__(self) -> None:
        self.dsn: str | None = None
        self.json = False
        self.config: str | None = None
        self.schema: str | None = None
        self.trust: tuple[str, ...] = ()
        self.engines: tuple[str, ...] = ()
        self.read_only = False
        self.override_read_only = False
        self.local_log = False
        self.ascii = False
        self.interval: str | None = None

    def choose(self, name: str, value: Any) -> None:
        """Set an option. Raises UsageError if it already has another value."""
        if value is None:
            return
        if name in ("trust", "engines"):
            setattr(self, name, (*getattr(self, name), value))
            return
        before = getattr(self, name)
        if before not in (None, False, value):
            what = "targets" if name == "dsn" else f"values for --{name}"
            raise UsageError(f"There are two {what}; name one.")
        setattr(self, name, value)

    def only_target(self, words: Sequence[str]) -> None:
        """Take the words of a command that accepts nothing but a target."""
        for word in words:
            self.choose("dsn", word)

    def without_target(self, words: Sequence[str]) -> list[str]:
        """Take an ``@context`` among the words as the target; return the other words."""
        for word in words:
            if word.startswith("@"):
                self.choose("dsn", word)
        return [word for word in words if not word.startswith("@")]

    def one(self, words: Sequence[str], name: str) -> str:
        """Return the only word beside an ``@context``. Raises UsageError."""
        word = self.at_most_one(words, name)
        if word is None:
            raise UsageError(f"Exactly one {name} is required.")
        return word

    def at_most_one(self, words: Sequence[str], name: str) -> str | None:
        """Return the word beside an ``@context``, or None. Raises UsageError."""
        rest = self.without_target(words)
        if len(rest) > 1:
            raise UsageError(f"Exactly one {name} is required, not {len(rest)}.")
        return rest[0] if rest else None

    def at_least_one(self, words: Sequence[str], name: str) -> list[str]:
        """Return the words beside an ``@context``. Raises UsageError."""
        rest = self.without_target(words)
        if not rest:
            raise UsageError(f"At least one {name} is required.")
        return rest
