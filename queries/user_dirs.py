"""The program's folders in the user's home: settings, state and cache."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def folder(purpose: Literal["config", "state", "cache"]) -> Path:
    """Return the program's folder for a purpose. The folder may not exist yet."""
    import platformdirs  # 7 ms, which a command with an explicit settings file and a warm cache can do without

    known = {
        "config": platformdirs.user_config_dir,
        "state": platformdirs.user_state_dir,
        "cache": platformdirs.user_cache_dir,
    }
    return Path(known[purpose]("unstick"))
