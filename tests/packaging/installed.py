"""Environments to install wheels into, and small wheels of other distributions."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.command import ROOT

UV = str(Path(sys.executable).with_name("uv"))


def clean() -> dict[str, str]:
    """Return the environment without the variables that choose a Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def run(*command: str, cwd: Path = ROOT, seconds: float = 120) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(command, cwd=cwd, env=clean(), capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Environment:
    """A virtual environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def unstick(self) -> str:
        return str(self.folder / "bin" / "unstick")

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def add(self, wheel: Path) -> None:
        """Install a wheel without its dependencies."""
        self.uv("install", "--offline", "--no-deps", str(wheel))

    def remove(self, name: str) -> None:
        """Uninstall a distribution."""
        self.uv("uninstall", name)

    def uv(self, command: str, *words: str) -> str:
        """Run ``uv pip`` on this environment."""
        return run(UV, "pip", command, "--quiet", "--python", self.python, *words)

    def answer(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the installed program."""
        return subprocess.run(
            [self.unstick, *words],
            cwd=self.folder,
            env={**clean(), **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )


def make_wheel(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """Write the wheel of a distribution with these files."""
    info = f"{name}-7.1.dist-info"
    text = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 7.1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*text, f"{info}/RECORD"])
    wheel = folder / f"{name}-7.1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for path, content in {**text, f"{info}/RECORD": record}.items():
            file.writestr(path, content)
    return wheel
