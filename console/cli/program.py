"""Version of the program."""

from __future__ import annotations


def version(distribution: str = "unstick") -> str | None:
    """Return the version of a distribution, or None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
