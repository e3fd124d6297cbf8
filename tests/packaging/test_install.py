"""The wheel in an empty environment: the demo, and a first repair by keys."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.packaging.installed import UV, Environment, run
from tests.promises import promises
from tests.terminal.driver import Terminal

SECONDS = 300.0  # for an installation; a first one downloads PostgreSQL


def with_uv(folder: Path, wheel: Path, python: str) -> tuple[str, ...]:
    run(UV, "venv", "--quiet", "--python", python, str(folder))
    run(UV, "pip", "install", "--quiet", "--python", str(folder), f"{wheel}[demo]", seconds=SECONDS)
    return Environment(folder).unstick, "demo"


def with_pip(folder: Path, wheel: Path) -> tuple[str, ...]:
    run(sys.executable, "-m", "venv", str(folder))
    run(str(folder / "bin" / "pip"), "install", "--quiet", f"{wheel}[demo]", seconds=SECONDS)
    return Environment(folder).unstick, "demo"


def in_a_clone(line: str) -> Callable[[Path, Path], tuple[str, ...]]:
    """Return a way to run a line of README.md in a copy of the repository."""

    def copied(folder: Path, _: Path) -> tuple[str, ...]:
        for name in run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        places = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin"}
        exports = " ".join(f"{name}={folder}/{place}" for name, place in places.items())
        command = re.sub("^pipx", "uvx pipx", line) + (" && bin/unstick demo" if " install " in line else "")
        return "sh", "-c", f"cd {folder} && export PATH={Path(UV).parent}:$PATH {exports} && {command}"

    return copied


CLONED = {each["name"]: in_a_clone(each["command"].strip("`")) for each in promises()["promises"]["way"][:5]}


@pytest.mark.pythons
@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("python", os.environ.get("PYTHONS", sys.executable).split(os.pathsep))
def test_the_wheel_repairs_by_keys_on_each_python(python: str, wheel: Path, tmp_path: Path) -> None:
    first_repair(with_uv(tmp_path / "venv", wheel, python), tmp_path)


@pytest.mark.proof
@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("install", [with_pip, *CLONED.values()], ids=["pip", *CLONED])
def test_the_demo_runs_and_its_first_incident_is_fixed_by_keys(
    install: Callable[[Path, Path], tuple[str, ...]], wheel: Path, tmp_path: Path
) -> None:
    first_repair(install(tmp_path / "venv", wheel), tmp_path)


def first_repair(command: tuple[str, ...], home: Path) -> None:
    """Follow the guide of the demo until the repair is committed."""
    with Terminal(home=home, command=command, start="stuck", PYTHONPATH="") as terminal:
        began = "First repair, 1 of 4: press /, type lost wakeup, and press enter"
        terminal.wait_for(began, lambda: terminal.at > 0, seconds=SECONDS)
        terminal.type("/lost wakeup").press("enter").wait_for("First repair, 2 of 4: press W ")
        terminal.press("W").wait_for("First repair, 3 of 4")
        terminal.type("tried the demo").press("enter").wait_for("First repair, 4 of 4", "apply to")
        terminal.press("W").wait_for("U undo", "Audit log entry")  # a tab is named "5 changed"
        terminal.press("enter").without("Audit log entry", "First repair")
        assert terminal.leave("q") == 0


@pytest.mark.proof
@pytest.mark.usefixtures("registry")
def test_one_file_runs_by_itself(wheel: Path, tmp_path: Path) -> None:
    file = tmp_path / "unstick.pyz"
    makefile = (ROOT / "Makefile").read_text()
    built = re.search(r"\$\(BIN\)/(pex) \. (.*) --output-file", makefile)
    assert built is not None
    pex, options = Path(sys.executable).with_name(built[1]), built[2].split()
    run(str(pex), str(wheel), *options, "--output-file", str(file), seconds=SECONDS)
    version = wheel.name.split("-")[1]
    assert run(str(file), "--version", cwd=tmp_path).split() == ["unstick", version]
