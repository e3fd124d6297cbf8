"""argv -> a one-shot command, or the console itself. Each imports what it needs when it runs: starting is fast."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns its exit code; never raises."""
    gc.disable()  # what is imported stays: looking for garbage in it takes a tenth of a short command's time
    words = sys.argv[1:] if arguments is None else arguments
    try:
        return _console(words) if _nothing_to_parse(words) else _command(words)
    except BaseException as error:
        from console.cli.errors import report

        return report(error, words)
    finally:
        gc.freeze()  # nor look through it all at the end
        gc.enable()


def _nothing_to_parse(words: Sequence[str]) -> bool:
    """Whether there is at most one word, and that nothing but a target: what could be a command or an option is not."""
    if "_UNSTICK_COMPLETE" in os.environ:  # a shell asks click what could be typed
        return False
    return all(word.startswith(("@", "postgres://", "postgresql://")) for word in words) and len(words) < 2


def _console(words: Sequence[str]) -> int:
    """Without click, whose import takes as long as connecting does."""
    from console.cli.options import CliOptions
    from console.cli.screen import open_console

    choices = CliOptions()
    choices.dsn = next(iter(words), None)
    return open_console(choices)


def _command(words: Sequence[str]) -> int:
    from console.cli.commands import unstick

    return unstick.main(args=words, prog_name="unstick", standalone_mode=False) or 0


if __name__ == "__main__":
    sys.exit(main())
