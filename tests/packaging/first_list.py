"""Run a demo until its first list is shown.

``python -m tests.packaging.first_list COMMAND...`` ends with 0 if the command shows it, and ends at `q`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.terminal.driver import Terminal


def shows_its_first_list(*command: str, home: Path) -> None:
    """Run a demo until its first incident is shown, and end it."""
    with Terminal(command=command, home=home, start="stuck") as terminal:
        terminal.wait_for("First repair, 1 of 4", lambda: terminal.at > 0)
        assert terminal.leave("q") == 0
        print(f"{' '.join(command)}: the first list was shown")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        shows_its_first_list(*sys.argv[1:], home=Path(folder))
