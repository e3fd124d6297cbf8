"""Tests for ``tests/mutation``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation.mutations import AREAS, Mutation, choose, mutations
from tests.mutation.reach import probed
from tests.proof import proof

ROOT = Path(__file__).parents[2]

CODE = '''LIMIT_S = 3


def späte(nodes: list[int], least: int = 1) -> bool:
    """Return True if 1 is not in it."""
    if not nodes and "ä" == nodes[0] or (LIMIT_S is None):
        raise ValueError(f"{len(nodes) == 1} or 2")
    return all(n < 5 for n in nodes if n not in nodes[2:])
'''
SQL = """-- WHERE a = 1
SELECT a FROM t
 WHERE a.id = x.id AND (a.b OR NOT a.c)
   AND a.status <> 'Done' -- explained
   AND NOT EXISTS (SELECT FROM u
                    WHERE u.id = a.id)
   AND a.late
    OR a.early;
"""


def changed(file: str, source: str) -> set[tuple[int, str, str]]:
    return {(mutation.line, mutation.old, mutation.new) for mutation in mutations(file, source)}


def test_python_changes() -> None:
    assert changed("x.py", CODE) == {
        (6, 'not nodes and "ä" == nodes[0] or (LIMIT_S is None)', f"(not ({CODE.splitlines()[5][7:-1]}))"),
        (6, 'not nodes and "ä" == nodes[0]', "False"),
        (6, "LIMIT_S is None", "False"),
        (6, "not nodes", "True"),
        (6, '"ä" == nodes[0]', "True"),
        (6, "not ", ""),
        (6, "==", "!="),
        (6, '"ä"', "'ä_'"),
        (6, "0", "1"),
        (6, "is", "is not"),
        (8, "<", "<="),
        (8, "5", "6"),
        (8, "n not in nodes[2:]", "True"),
        (8, "not in", "in"),
        (8, "2", "3"),
    }


def test_sql_changes() -> None:
    """Conditions that go over several lines, or have an OR, stay as they are."""
    assert changed("x.sql", SQL) == {
        (3, "a.id = x.id", "true"),
        (3, " = ", " <> "),
        (3, "(a.b OR NOT a.c)", "true"),
        (6, "u.id = a.id", "true"),
        (6, " = ", " <> "),
    }


def test_a_place_is_found_in_another_version() -> None:
    mutation = next(mutation for mutation in mutations("x.py", CODE) if mutation.old == "not in")
    later = mutation.applied("import this\n" + CODE)
    assert later.splitlines()[8] == "    return all(n < 5 for n in nodes if n in nodes[2:])"
    with pytest.raises(ValueError, match="has no line"):
        mutation.applied(CODE.replace("n < 5", "n < 6"))


def test_probes_keep_the_meaning() -> None:
    found = [Mutation(**{**vars(mutation), "number": 7}) for mutation in mutations("x.py", CODE)]
    assert len(found) == probed(CODE, found).count(".hit(7) or (") == 15
    assert "(__import__('queries._probe', fromlist=['hit']).hit(7) or (2))" in probed(CODE, found)
    ast.parse(probed(CODE, found))
    marked = probed(SQL, [Mutation(**{**vars(mutation), "number": 7}) for mutation in mutations("x.sql", SQL)][:1])
    assert " WHERE /*mutation 7*/a.id = x.id" in marked


@proof
def test_the_same_seed_chooses_the_same_mutations_of_each_area() -> None:
    chosen = choose(ROOT, 1, 60)
    assert chosen == choose(ROOT, 1, 60) != choose(ROOT, 2, 60)
    assert [mutation.number for mutation in chosen] == list(range(1, 61))
    assert sum(part for part, _ in AREAS.values()) == 60
    for mutation in chosen:
        source = (ROOT / mutation.file).read_text("utf-8")
        assert mutation.applied(source) != source
        if mutation.file.endswith(".py"):
            ast.parse(mutation.applied(source))
            ast.parse(probed(source, [mutation]))
    assert {mutation.file for mutation in choose(ROOT, 1, 5, "queries/change/undo.py")} == {"queries/change/undo.py"}
