"""Digests of the folders that have passed `unstick engine check`.

They are in a file in the user's state folder, one line each: digest, name and time.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from queries.files import user_dirs
from queries.files.state_file import open_private


def path() -> Path:
    """Return the path of the file."""
    return user_dirs.folder("state") / "checked_engines"


def passed(digest: str) -> bool:
    """Return True if a folder of this digest has passed."""
    with contextlib.suppress(OSError), open(path(), errors="replace", opener=open_private) as file:
        return any(line.partition(" ")[0] == digest for line in file)
    return False


def note(digest: str, name: str) -> None:
    """Record that a folder has passed. Raises OSError."""
    if passed(digest):
        return
    with open(path(), "a", opener=open_private) as file:
        file.write(f"{digest} {name} {int(time.time())}\n")
