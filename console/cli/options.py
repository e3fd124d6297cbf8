"""What was chosen on the command line, before anything is read or connected to."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from click import UsageError

    from console.cli.target import Target


def wrong(message: str) -> UsageError:
    """What to raise for a word that cannot be followed. The console opens without click, unless something is wrong."""
    from click import UsageError

    return UsageError(message)


class CliOptions:
    """The options that may stand before or after the command, and the target in its several spellings."""

    def __init__(self) -> None:
        self.dsn: str | None = None
        self.json = False
        self.config: str | None = None
        self.schema: str | None = None
        self.trust: tuple[str, ...] = ()
        self.read_only = False
        self.override_read_only = False
        self.ascii = False
        self.interval: str | None = None

    def choose(self, name: str, value: Any) -> None:
        """Take an option's value. Raises UsageError where another was given before."""
        if value is None:
            return
        if name == "trust":
            self.trust = (*self.trust, value)
            return
        before = getattr(self, name)
        if before not in (None, False, value):
            what = "targets" if name == "dsn" else f"values for --{name}"
            raise wrong(f"There are two {what}; name one.")
        setattr(self, name, value)

    def only_target(self, words: Sequence[str]) -> None:
        """Words of a command that takes nothing but a target."""
        for word in words:
            self.choose("dsn", word)

    def without_target(self, words: Sequence[str]) -> list[str]:
        """Words but for an ``@context`` among them, which is taken as the target."""
        for word in words:
            if word.startswith("@"):
                self.choose("dsn", word)
        return [word for word in words if not word.startswith("@")]

    def exactly(self, number: int | None, name: str, words: Sequence[str]) -> list[str]:
        """As many words as a command takes (None: one or none) beside an ``@context``."""
        rest = self.without_target(words)
        if len(rest) > 1 or (number and not rest):
            raise wrong(f"One {name} is wanted" + (f", not {len(rest)}." if rest else "."))
        return rest

    def run(self, command: Callable[[Target], Coroutine[Any, Any, int]]) -> int:
        """Run a command against the chosen target. Its exit code."""
        import asyncio
        import gc

        from console.cli.target import resolve

        target = resolve(self)
        gc.freeze()
        gc.enable()
        return asyncio.run(command(target))
