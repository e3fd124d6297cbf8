"""The installed wheel works without the source tree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

ROOT = Path(__file__).parents[2]
DATA = (".sql", ".toml", ".tcss")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def unstick(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command in an environment with the wheel and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = str(folder / "bin" / "python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", str(wheel))
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return str(folder / "bin" / "unstick")


def run(*command: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PG", "UNSTICK_"))}


def test_the_wheel_has_every_file_that_is_not_python(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = {path.relative_to(ROOT) for package in ("console", "queries") for path in (ROOT / package).rglob("*")}
    assert {str(path) for path in files if path.suffix in DATA} <= packed
    assert not {name for name in packed if name.startswith("tests/")}


def test_version_and_help(unstick: str, tmp_path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version in run(unstick, "--version", cwd=tmp_path)
    assert "stuck" in run(unstick, "--help", cwd=tmp_path)


@pytest.fixture
def demo(unstick: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [unstick, "demo", "--headless"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    yield process
    if process.poll() is None:
        process.terminate()
        process.wait(30)


async def test_the_demo_serves_until_it_is_stopped_and_leaves_nothing(
    demo: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert demo.stdout is not None
    dsn = demo.stdout.readline().strip()
    assert dsn.startswith("postgres"), (tmp_path / "stderr").read_text()
    connection = await asyncpg.connect(dsn)
    assert await connection.fetchval("SELECT count(*) FROM eternaltwin.task") > 0
    data = Path(await connection.fetchval("SHOW data_directory"))
    await connection.close()
    server = int((data / "postmaster.pid").read_text().splitlines()[0])

    demo.send_signal(signal.SIGTERM)
    demo.wait(30)

    assert "Traceback" not in (tmp_path / "stderr").read_text()
    assert not data.exists()
    assert not psutil.pid_exists(server)
