"""Entry point of the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from console import garbage
from queries.files import user_dirs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. Never raises."""
    user_dirs.open_streams()
    garbage.pause()
    words = sys.argv[1:] if arguments is None else arguments
    try:
        from console.cli.commands import unstick

        if "_UNSTICK_COMPLETE" in os.environ:
            from console.cli import completion  # noqa: F401 - registers its class for bash

        return unstick.main(args=words, prog_name="unstick", standalone_mode=False) or 0
    except BaseException as error:
        from console.cli.errors import report

        return report(error, words)
    finally:
        garbage.resume()  # also keeps the interpreter from scanning everything at its exit


if __name__ == "__main__":
    sys.exit(main())
