"""The installed wheel works without the source tree."""

from __future__ import annotations

import re
import signal
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from tests.command import ROOT
from tests.packaging.installed import Environment, clean

INFORMATION = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
SHARED = (
    "share/man/man1/unstick.1",
    "share/bash-completion/completions/unstick",
    "share/zsh/site-functions/_unstick",
    "share/fish/vendor_completions.d/unstick.fish",
)
BESIDE = {
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "packaging/hatch_build.py",
    "pyproject.toml",
}


def source_files() -> set[str]:
    """Return the files of the two packages and of the module beside them."""
    files = [path for package in ("console", "queries") for path in (ROOT / package).rglob("*")]
    kept = [path for path in files if path.is_file() and path.suffix not in (".pyc", ".md")]
    return {str(path.relative_to(ROOT)) for path in kept} | {"unstick.py"}


def test_the_wheel_has_the_packages_and_the_shared_files(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    named = "-".join(wheel.name.split("-")[:2])
    information = {f"{named}.dist-info/{name}" for name in INFORMATION}
    shared = {f"{named}.data/data/{place}" for place in SHARED}
    assert packed == source_files() | information | shared


def test_the_sdist_has_what_builds_the_wheel(sdist: Path) -> None:
    with tarfile.open(sdist) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    assert packed == source_files() | BESIDE


def test_the_metadata_can_be_read_on_the_package_index(wheel: Path, sdist: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        (name,) = [name for name in file.namelist() if name.endswith("/METADATA")]
        text = file.read(name).decode()
    with tarfile.open(sdist) as packed:
        (name,) = [name for name in packed.getnames() if name.endswith("/PKG-INFO")]
        assert (information := packed.extractfile(name)) is not None
        assert information.read().decode() == text
    fields, _, readme = text.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in fields
    assert re.findall("(?m)^Provides-Extra: (.*)", fields) == ["demo", "docs"]
    assert readme.startswith("# unstick\n")
    assert [target for target in re.findall(r"\]\(([^)]*)\)", readme) if not target.startswith("https://")] == []


def test_the_shared_files_are_a_manual_page_and_completions(environment: Environment, wheel: Path) -> None:
    environment.add(wheel)
    man, bash, zsh, fish = ((environment.folder / place).read_text() for place in SHARED)
    assert man.startswith(".TH UNSTICK 1")
    assert "complete -o nosort -F" in bash
    assert zsh.startswith("#compdef unstick")
    assert "complete --no-files --command unstick" in fish


def test_version_and_help(environment: Environment, wheel: Path) -> None:
    environment.add(wheel)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version in environment.answer("--version").stdout
    assert "stuck" in environment.answer("--help").stdout


@pytest.fixture
def demo(environment: Environment, wheel: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    environment.add(wheel)
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [environment.unstick, "demo", "--headless"],
            cwd=tmp_path,
            env=clean(),
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
