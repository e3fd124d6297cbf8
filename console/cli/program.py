"""Version and state folder of the program."""

from __future__ import annotations

from pathlib import Path


def version(distribution: str = "unstick") -> str | None:
    """Return the version of a distribution, or None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def state_dir() -> Path:
    """Return the folder of crash files and of the local audit log."""
    from queries.files.user_dirs import folder

    return folder("state")
