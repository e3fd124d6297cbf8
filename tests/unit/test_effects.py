"""Effects of an action's statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.contract import loader
from queries.contract.effects import effects_of
from queries.contract.folder import TOML
from queries.files.statement import Statement
from queries.text.psql_text import identifier
from tests.outside import HOMEMADE, change, copied

Names = tuple[str, ...]


def of(text: str, field: str, *, needs: frozenset[str] = frozenset()) -> Names:
    names: Names = getattr(effects_of([Statement(text=text, source="x", needs=needs)]), field)
    return names


T = ':"schema".task'
CASES = [
    (f"UPDATE {T} SET a = 1", "columns", ("task.a",)),
    (f"UPDATE {T} AS t SET a = f(b, c), d = (SELECT 1 FROM x) FROM y WHERE t.e = 1", "columns", ("task.a", "task.d")),
    (f"UPDATE ONLY {T} t SET a = CASE WHEN b IS DISTINCT FROM c THEN 1 END, d = 2", "columns", ("task.a", "task.d")),
    (f"UPDATE {T} SET (a, b) = (1, 2), c = 3 RETURNING d, e", "columns", ("task.a", "task.b", "task.c")),
    (f"WITH x AS (UPDATE {T} SET a = 1) UPDATE {T} SET b = 'x, c = 1'", "columns", ("task.a", "task.b")),
    (f"UPDATE {T} SET {identifier('b,c')} = 1 -- , d = 1\n, e = 1", "columns", ("task.b,c", "task.e")),
    (f"UPDATE {T} SET {identifier('b$')} = 1, c = 1", "columns", ("task.b$", "task.c")),
    ('UPDATE :"schema".:"jobs" AS t SET a = 1', "columns", ("jobs.a",)),
    (f"INSERT INTO {T} (a) VALUES (1)", "inserts", ("task",)),
    (f"INSERT INTO {T} (a) VALUES (1) ON CONFLICT DO NOTHING", "locks", ()),
    (f"INSERT INTO {T} (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1", "locks", ("task",)),
    (f"DELETE FROM {T} t USING x", "deletes", ("task",)),
    (f'SELECT FROM {T} WHERE a IN (SELECT 1 FROM :"schema".other) FOR UPDATE SKIP LOCKED', "locks", ("task",)),
    (f'SELECT FROM :"schema".other o JOIN {T} AS t ON true FOR NO KEY UPDATE OF t', "locks", ("task",)),
    (f'SELECT FROM :"schema".other, {T} FOR SHARE', "locks", ("other", "task")),
    (f'WITH h AS (SELECT FROM {T} FOR UPDATE) SELECT FROM :"schema".other', "locks", ("task",)),
    (f'SELECT FROM :"schema".f(1) AS f, {T} FOR UPDATE', "locks", ("task",)),
    (f"SELECT 'FOR UPDATE' FROM {T}", "locks", ()),
    (f"UPDATE {T} SET a = $1, b = $tag$, c = 1$tag$", "columns", ("task.a", "task.b")),
    ('SELECT FROM x CROSS JOIN LATERAL :"schema".send(1)', "calls", ("send",)),
    (f"INSERT INTO {T}(a) VALUES (1)", "calls", ()),
    (f"SELECT FROM {T}", "done", ()),
    (f'UPDATE {T} SET a = :"schema".f(1)', "done", ("UPDATE task", "EXECUTE f")),
]


@pytest.mark.parametrize(("text", "field", "expected"), CASES)
def test_effects_of_a_statement(text: str, field: str, expected: Names) -> None:
    assert of(text, field) == expected


def test_a_function_of_an_optional_part_is_no_requirement() -> None:
    text = 'SELECT :"schema".send(1)'
    assert of(text, "calls", needs=frozenset({"queues"})) == ()
    assert of(text, "optional", needs=frozenset({"queues"})) == ("send",)


def test_an_effect_adds_what_triggers_write(tmp_path: Path) -> None:
    folder = copied(tmp_path, source=HOMEMADE)
    change(
        folder,
        TOML,
        "[kinds.item]",
        '[effects]\n"UPDATE work_items" = ["work_items.done", "USAGE log_seq"]\n\n[kinds.item]',
    )
    retry = next(a for a in loader.load(folder).spec.actions if a.name == "retry")
    assert retry.overwrites == tuple(f"work_items.{c}" for c in ("state", "due", "tries", "error", "done"))
    assert retry.privileges == ("UPDATE work_items", "USAGE log_seq")
