"""The program itself: its version, and where it keeps what it writes."""

from __future__ import annotations

from pathlib import Path


def version(distribution: str = "unstick") -> str | None:
    """The version of this program or of another distribution; None where it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def state_dir() -> Path:
    """Where crash files and the local audit log are."""
    from queries.user_dirs import folder

    return folder("state")
