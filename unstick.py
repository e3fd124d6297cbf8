"""Entry point of the installed program.

``console`` and ``queries`` are import names of other distributions too. This module is beside the packages and
reads whose they are before it imports them.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ("console", "queries")
OWN_ENVIRONMENT = "Install its wheel into an environment of its own: uv tool install WHEEL (or: pipx install WHEEL)"
NOT_POSIX = "unstick: it runs on Linux and macOS, not on this system ({}). On Windows, use WSL"
NO_PYTHONPATH = "Run it without that folder: env -u PYTHONPATH unstick"


def main() -> int | str:
    """Run the program. Return its exit code, or a line that says why it cannot run."""
    try:
        import fcntl  # noqa: F401 - one of the modules that Windows lacks
    except ImportError:
        return NOT_POSIX.format(sys.platform)
    if fault := foreign():
        return fault
    try:
        from console.cli.main import main as run

        return run()
    except Exception:
        if fault := mixed():
            return fault
        raise


def foreign() -> str:
    """Return a line about the first package that is not unstick's, or ''."""
    for name in PACKAGES:
        found = PathFinder.find_spec(name)
        if found is None or found.origin is None:
            return _line(f"{HERE / name / '__init__.py'} is missing", HERE)
        if b"unstick" not in Path(found.origin).read_bytes():
            folder = Path(found.origin).parent
            return _line(f"{found.origin} belongs to {_owner(folder) or 'another program'}", folder)
    return ""


def mixed() -> str:
    """Return a line about another distribution's files in the packages, or ''."""
    for name in PACKAGES:
        if owner := _owner(HERE / name):
            return _line(f"{HERE / name} also has files of {owner}", HERE)
    return ""


def _line(what: str, folder: Path) -> str:
    entries = [Path(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    outside = not folder.is_relative_to(HERE) and any(folder.is_relative_to(entry) for entry in entries)
    return f"unstick: {what}. {NO_PYTHONPATH if outside else OWN_ENVIRONMENT}"


def _owner(folder: Path) -> str:
    """Return the name and version of another distribution in a folder, or ''."""
    from importlib import metadata  # slow, and only needed for a fault

    for each in metadata.distributions():
        here = Path(str(each.locate_file(folder.name))) == folder and each.name != "unstick"
        if here and f"\n{folder.name}/" in f"\n{each.read_text('RECORD')}":  # `files` takes 250 times as long
            return f"the distribution {each.name} {each.version}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
