"""Where the program keeps what is the user's own: settings, what happened, what can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

Purpose = Literal["config", "state", "cache"]

# The XDG base directories, which platformdirs gives too - but importing it takes as long as connecting does.
_XDG: dict[Purpose, tuple[str, str]] = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def folder(purpose: Purpose) -> Path:
    """The program's folder for a purpose; it need not exist."""
    if sys.platform == "linux":
        variable, usual = _XDG[purpose]
        given = os.environ.get(variable, "")
        return (Path(given) if given.strip() else Path.home() / usual) / "unstick"
    import platformdirs

    known = {
        "config": platformdirs.user_config_dir,
        "state": platformdirs.user_state_dir,
        "cache": platformdirs.user_cache_dir,
    }
    return Path(known[purpose]("unstick"))
