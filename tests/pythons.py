"""The wheel's first repair and the fast tests on each Python of this machine.

``python -m tests.pythons`` runs them, as `make pythons` does.
A Python that ``docs/supported.toml`` declares and that is not here is printed. In CI, Python 3.11 alone is a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.command import ROOT
from tests.packaging.installed import UV, clean

VERSIONS = [f"3.{minor}" for minor in range(11, 16)]
# Quiet, and with compiled modules: each environment starts many programs.
SILENT = ("-q", "-p", "no:cacheprovider", "--durations=0", "--durations-min=60")


def declared() -> list[str]:
    """Return the Pythons of docs/supported.toml, such as ``3.12``."""
    return list(tomllib.loads((ROOT / "docs/supported.toml").read_text())["python"])


def found() -> dict[str, str]:
    """Return the interpreter of each Python from 3.11 on, by version.

    It is on PATH, in a folder of pyenv, or where uv finds one.
    """
    return {version: python for version in VERSIONS if (python := next(filter(_is(version), _places(version)), None))}


def _places(version: str) -> Iterator[str]:
    name, pyenv = f"python{version}", Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield sys.executable
    yield from map(str, pyenv.glob(f"versions/{version}.*/bin/{name}"))
    yield from (str(Path(folder, name)) for folder in os.get_exec_path())
    yield from _output(UV, "python", "find", "--no-python-downloads", "--system", version).splitlines()


def _is(version: str) -> Callable[[str], bool]:
    answer = "import sys; print('%d.%d' % sys.version_info[:2])"
    return lambda python: Path(python).exists() and _output(python, "-c", answer).strip() == version


def _output(*command: str) -> str:
    """Return the output of a command.

    A shim of pyenv without a version prints nothing and fails.
    """
    return subprocess.run(command, env=clean(), capture_output=True, text=True, timeout=60).stdout


def _run(title: str, *command: str, **variables: str) -> bool:
    """Run a command that prints its own output; say what failed."""
    print(f"== {title}", flush=True)
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables})
    if done.returncode:
        print(f"== {title}: failed, exit code {done.returncode}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Return the exit code: 1 if something failed, or if CI has only Python 3.11."""
    pythons = found()
    for version, python in pythons.items():
        print(f"Python {version}: {python}")
    for version in declared():
        if version not in pythons:
            print(f"Python {version}: declared, not covered by this run: not on this machine")
    if os.environ.get("CI") and list(pythons) == ["3.11"]:
        print("Python 3.11 is the only one here: install a newer one, whose tasks begin at once")
        return 1
    workers = ("-n", os.environ.get("WORKERS") or str(2 * (os.cpu_count() or 1)))
    passed = _run(
        "the first repair of the built wheel, on each Python",
        *(sys.executable, "-m", "pytest", *SILENT, *workers, "-m", "pythons", "tests/packaging"),
        PYTHONS=os.pathsep.join(pythons.values()),
    )
    for version, python in pythons.items():
        if Path(python) == Path(sys.executable):
            continue  # `make test` runs on it
        environment = ROOT / ".venv" / "pythons" / version
        sync = (UV, "sync", "--quiet", "--locked", "--no-python-downloads", "--all-extras", "--python", python)
        own = {"UV_PROJECT_ENVIRONMENT": str(environment), "VIRTUAL_ENV": str(environment)}
        fast = (str(environment / "bin" / "python"), "-m", "pytest", *SILENT, *workers, "--hypothesis-profile=check")
        passed &= _run(f"the environment of Python {version}", *sync, **own) and _run(
            f"the fast tests on Python {version}", *fast, "-m", "fast"
        )
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
