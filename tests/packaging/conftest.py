"""Fixtures: the wheel, the sdist, and an environment to install them into."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.packaging.installed import UV, Environment, clean, run


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the sdist and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder))
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def sdist(built: Path) -> Path:
    return next(built.glob("*.tar.gz"))


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment without unstick, with the dependencies of the tests' own one."""
    run(UV, "venv", "--quiet", "--python", sys.executable, str(tmp_path / "venv"))
    made = Environment(tmp_path / "venv")
    (made.packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return made


@pytest.fixture(scope="session")
def registry() -> None:
    """Skip where the package index cannot be reached."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--dest"]
    asked = subprocess.run([*command, "/dev/null/no", "iniconfig"], env=clean(), capture_output=True, text=True)
    if "No matching distribution" in asked.stderr or "Could not find a version" in asked.stderr:
        pytest.skip("the package index cannot be reached")
