"""Count how often tests reach into private attributes of the program.

Tests of the compat modules are exempt: they check private names of libraries.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Files that still do, and how often. Only ever lower a number.
ALLOWED: dict[str, int] = {
    "tests/console/test_bursts.py": 1,
    "tests/console/test_cli_do.py": 1,
    "tests/console/test_pages.py": 2,
    "tests/console/test_slow_server.py": 12,
    "tests/console/test_unwelcome.py": 1,
    "tests/console/tui_driver.py": 1,
    "tests/queries/test_act_lost.py": 3,
    "tests/queries/test_failover.py": 1,
    "tests/queries/test_guards.py": 1,
    "tests/queries/test_hostile_objects.py": 1,
    "tests/queries/test_outage.py": 3,
    "tests/queries/test_read_only.py": 1,
    "tests/queries/test_tasker_executor.py": 6,
    "tests/queries/test_tasker_races.py": 7,
    "tests/unit/test_timeline.py": 1,
}


def own_names(tree: ast.Module) -> set[str]:
    """Return private names that the file defines itself."""
    names = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value)
    }
    return names | attributes


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in ("_", "_replace")  # a NamedTuple's method


def reached(path: Path) -> list[tuple[int, str]]:
    """Return line and name of each private attribute that a file uses.

    Names in patches are included.
    """
    tree = ast.parse(path.read_text())
    own = own_names(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr) and not is_self(node.value):
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.Call):  # setattr(object, "_name", ...), patch.object(object, "_name", ...)
            second = node.args[1] if len(node.args) > 1 else None
            if isinstance(second, ast.Constant) and isinstance(second.value, str) and private(second.value):
                found.append((node.lineno, second.value))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("console", "queries")):
            found += [(node.lineno, alias.name) for alias in node.names if private(alias.name)]
    return [(line, name) for line, name in found if name not in own]


def offenders() -> dict[str, list[tuple[int, str]]]:
    """Return the uses in each file that has more of them than it may."""
    paths = [path for path in sorted((ROOT / "tests").rglob("*.py")) if not path.match("test_*_compat.py")]
    uses = {str(path.relative_to(ROOT)): reached(path) for path in paths}
    return {path: found for path, found in uses.items() if len(found) > ALLOWED.get(path, 0)}
