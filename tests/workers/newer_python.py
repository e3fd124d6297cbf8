"""An environment with a newer Python, for workers that this one cannot run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.pythons import found
from tests.workers import install

PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1", "--timeout=20")


def environment(version: tuple[int, int], name: str, *packages: str) -> str:
    """Return the Python of an environment with these packages.

    The test is skipped where there is no Python of this version or newer, or no package index.
    """
    python = newer(version)
    if python is None:
        pytest.skip(f"{' '.join(packages)} needs Python {version[0]}.{version[1]} or newer, and none is installed")

    def made(folder: Path) -> None:
        install.run(python, "-m", "venv", "--clear", folder)
        install.run(folder / "bin" / "python", *PIP, *packages)

    return str(install.once(name, packages, made) / "bin" / "python")


def newer(version: tuple[int, int]) -> str | None:
    """Return the command of a Python of this version or newer, or None."""
    test = f"import sys, venv, ensurepip; sys.exit(sys.version_info < {version})"
    for python in found().values():
        answer = subprocess.run([python, "-c", test], capture_output=True, timeout=install.SECONDS, check=False)
        if answer.returncode == 0:
            return python
    return None
