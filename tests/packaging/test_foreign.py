"""Other distributions with the import names ``console`` and ``queries``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.installed import Environment, make_wheel

NAMES = ["console", "queries"]
# A package of the other distribution that has the name of a module of unstick hides it.
HIDING = {"console": "console/config/__init__.py", "queries": "queries/workspace/__init__.py"}
HELP = "uv tool install WHEEL (or: pipx install WHEEL)"


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def other(name: str, tmp_path: Path) -> Path:
    """A distribution whose import says so on stdout."""
    return make_wheel(tmp_path, name, {f"{name}/__init__.py": "print('imported')\n", f"{name}/core.py": ""})


def refused(environment: Environment, *said: str, **variables: str) -> None:
    """Check that the program says these words in one line and nothing else."""
    answer = environment.answer("stuck", "-d", "postgresql:///?host=/nowhere", **variables)
    assert answer.returncode == 1
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert [word for word in ("unstick: ", *said) if word not in line] == [], line


def works(environment: Environment) -> None:
    answer = environment.answer("stuck", "--help")
    assert (answer.returncode, answer.stderr) == (0, "")


def test_a_package_that_is_installed_later_is_named(
    environment: Environment, wheel: Path, other: Path, name: str
) -> None:
    environment.add(wheel)
    works(environment)
    environment.add(other)
    file = environment.packages / name / "__init__.py"
    refused(environment, f"{file} belongs to the distribution {name} 7.1", HELP)


def test_a_package_whose_removal_took_files_of_unstick_is_named(
    environment: Environment, wheel: Path, other: Path, name: str
) -> None:
    environment.add(wheel)
    environment.add(other)
    environment.remove(name)
    refused(environment, f"{environment.packages / name / '__init__.py'} is missing", HELP)


def test_a_package_that_was_there_is_replaced(environment: Environment, wheel: Path, other: Path) -> None:
    environment.add(other)
    environment.add(wheel)
    works(environment)


def test_a_package_that_was_there_and_hides_a_module_is_named(
    environment: Environment, wheel: Path, name: str, tmp_path: Path
) -> None:
    environment.add(make_wheel(tmp_path, name, {f"{name}/__init__.py": "", HIDING[name]: ""}))
    environment.add(wheel)
    refused(environment, f"{environment.packages / name} also has files of the distribution {name} 7.1", HELP)


def test_a_folder_of_pythonpath_is_named(environment: Environment, wheel: Path, name: str, tmp_path: Path) -> None:
    environment.add(wheel)
    package = tmp_path / "mine" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("print('imported')\n")
    refused(
        environment,
        f"{package / '__init__.py'} belongs to another program",
        "env -u PYTHONPATH unstick",
        PYTHONPATH=str(package.parent),
    )
