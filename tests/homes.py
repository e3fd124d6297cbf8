"""Folders of a user, made for each test.

No test, and no program that it starts, uses those of the developer. ``leave`` is called once in each process of the
tests, ``enter`` for each test, ``folders`` for a program.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

HOMES = tempfile.TemporaryDirectory(prefix="unstick-homes-")  # gone when the process ends

# Settings of a shell that change what unstick, or a program that it starts, does.
FOREIGN = ("PG", "UNSTICK_", "XDG_", "TEXTUAL", "SUDO_")
FOREIGN_NAMES = {"COLORTERM", "COLUMNS", "EDITOR", "LINES", "NO_COLOR", "FORCE_COLOR", "PAGER", "STY", "TERM_PROGRAM"}
FOREIGN_NAMES |= {"TMUX", "VISUAL"}
KEPT = {"UNSTICK_TEST_SERVER"}
# Folders of the tools that install what tests need; not of unstick.
TOOLS = {"UV_CACHE_DIR": ".cache/uv", "PIP_CACHE_DIR": ".cache/pip", "NPM_CONFIG_CACHE": ".npm", "PYENV_ROOT": ".pyenv"}


def folders(home: Path) -> dict[str, str]:
    """Return the variables that name a user's folders.

    The cache is one for all tests of a process.
    """
    own = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "STATE", "DATA")}
    return {"HOME": str(home), **own, "XDG_CACHE_HOME": HOMES.name}


def leave() -> None:
    """Leave the developer's folders and settings, in this process."""
    for name, folder in TOOLS.items():
        os.environ.setdefault(name, str(Path.home() / folder))
    for name in list(os.environ):
        if name not in KEPT and (name in FOREIGN_NAMES or name.startswith(FOREIGN)):
            del os.environ[name]
    enter()


def enter() -> Path:
    """Enter a new home, in this process."""
    home = Path(tempfile.mkdtemp(dir=HOMES.name))
    os.environ.update(folders(home))
    return home
