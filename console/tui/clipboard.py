"""Getting text out of the terminal: OSC 52 where the terminal takes it, else a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from queries import user_dirs
from queries.state_file import open_private

MOST = 74_000  # bytes of base64 that terminals commonly take in one OSC 52
DEAF = {"dumb", "linux", "vt100", "vt220", "ansi"}
DEAF_PROGRAMS = {"Apple_Terminal"}


def hears(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal can be expected to put this on the clipboard. It never answers, so this is all there is."""
    if environment.get("TERM", "") in DEAF or environment.get("TERM_PROGRAM", "") in DEAF_PROGRAMS:
        return False
    return len(text.encode()) * 4 // 3 <= MOST


def save(text: str) -> Path:
    """Write the text to a file that only the operator can read; its path. Raises OSError."""
    path = user_dirs.folder("state") / "copied.txt"
    with os.fdopen(open_private(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(text.encode("utf-8", "surrogatepass"))
    return path
