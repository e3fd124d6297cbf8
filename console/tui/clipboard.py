"""Copy text with OSC 52 if the terminal supports it, else to a file."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from queries.files import user_dirs
from queries.files.state_file import open_private

MAX_BYTES = 74_000  # base64 bytes that most terminals accept in one OSC 52
UNSUPPORTED_TERMS = {"dumb", "linux", "vt100", "vt220", "ansi"}
UNSUPPORTED_PROGRAMS = {"Apple_Terminal"}


def supported(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if the terminal probably supports OSC 52 for this text.

    Terminals do not acknowledge it.
    """
    if environment.get("TERM", "") in UNSUPPORTED_TERMS or environment.get("TERM_PROGRAM", "") in UNSUPPORTED_PROGRAMS:
        return False
    return len(text.encode()) * 4 // 3 <= MAX_BYTES


def save(text: str, place: str) -> Path:
    """Write the text to a new file that only the operator can read.

    ``place`` is in its name. Return its path. Raises OSError.
    """
    path = user_dirs.folder("state") / f"copied-{place}-{time.strftime('%Y%m%d-%H%M%S')}.txt"
    with open(path, "wb", opener=open_private) as file:
        file.write(text.encode("utf-8", "surrogatepass"))
    return path
