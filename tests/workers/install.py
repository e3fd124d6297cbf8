"""Software of workers, installed once beside the environment of the tests."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

SECONDS = 120  # for each command; more than ten times what it needs
HOME = Path(sys.prefix) / "workers"
BEGAN = time.time()


def once(name: str, packages: Sequence[str], install: Callable[[Path], None]) -> Path:
    """Return the folder in which ``install`` has installed the packages.

    It is called by one process; others wait, and use what it has installed. Where it raises OSError or an error of
    ``subprocess``, the test is skipped, and so are all other tests of this run, in every process, without a new try.
    """
    folder, failed = HOME / name, HOME / f"{name}.failed"
    folder.mkdir(parents=True, exist_ok=True)
    with (HOME / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted, done = " ".join(packages), folder / "installed.txt"
        if failed.exists() and failed.stat().st_mtime >= BEGAN:
            pytest.skip(failed.read_text("utf-8"))
        if not done.exists() or done.read_text("utf-8") != wanted:
            done.unlink(missing_ok=True)
            try:
                install(folder)
            except (OSError, subprocess.SubprocessError) as error:
                failed.write_text(f"{wanted} cannot be installed: {_why(error)}", "utf-8")
                pytest.skip(failed.read_text("utf-8"))
            done.write_text(wanted, "utf-8")
    return folder


def run(*command: str | Path, **options: object) -> None:
    """Run a command of an installation. Raises OSError and errors of ``subprocess``."""
    subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS, check=True, **options)


def _why(error: OSError | subprocess.SubprocessError) -> str:
    """Return the last lines of what the command has written."""
    written = getattr(error, "stderr", None) or ""
    lines = [line for line in str(written).splitlines() if "error" in line.lower()]
    return " ".join(lines)[-300:] or str(error)
