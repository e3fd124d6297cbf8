"""Documents in rows before and after."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from console.text.spans import text
from console.text.views.document_diff import MISSING, differences
from console.text.views.row_diff import differences as shown
from queries.records.action import RowChange


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [(".a.c", 2, 3)]),
        ({"a": 1}, {"a": 1, "unit price": 2}, [('["unit price"]', MISSING, 2)]),
        ([1, 2, 3], [1, 3], [("[1]", 2, MISSING)]),
        ([{"n": 1}, {"n": 2}], [{"n": 1}, {"n": 5}], [("[1].n", 2, 5)]),
        ({"a": 1}, {"a": True}, [(".a", 1, True)]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ],
)
def test_the_innermost_values_that_differ(before: Any, after: Any, found: list[tuple[str, Any, Any]]) -> None:
    assert list(differences(before, after)) == found


def test_a_deep_document_is_compared_as_a_whole_below_some_level() -> None:
    before: Any = 1
    for _ in range(900):
        before = [before]
    after = json.loads(json.dumps(before).replace("1", "2"))
    ((path, was, now),) = differences(before, after)
    assert (path.startswith("[0][0]"), was == now) == (True, False)


def page(before: dict[str, Any], after: dict[str, Any], cells: int = 100) -> str:
    was, now = (msgspec.Raw(msgspec.json.encode(row)) for row in (before, after))
    change = RowChange(id="e/task:1", table="task", key="1", before=was, after=now)  # type: ignore[arg-type]
    return "\n".join(text(line) for line in shown([change], cells))


@pytest.mark.parametrize("form", [lambda text: json.loads(text), str, lambda text: f"\\x{text.encode().hex()}"])
def test_a_column_with_a_document_is_shown_by_its_paths(form: Any) -> None:
    was, now = (json.dumps({"phase": "Compost", "tries": tries, "to": "a"}) for tries in (3, 0))
    shown = page({"state": form(was)}, {"state": form(now)})
    assert "state.tries  3 → 0" in shown
    assert "Compost" not in shown


def test_a_value_over_the_limit_has_a_size_and_no_digest() -> None:
    was, now = (f"{n} bytes, md5 {'0123456789abcdef' * 2}" for n in (3 << 20, 4 << 20))
    shown = page({"state": was}, {"state": now})
    assert "md5" not in shown
    assert "3 MB, too large to show → 4 MB, too large to show" in shown


def test_documents_that_differ_in_the_order_of_keys_only_are_shown_whole() -> None:
    assert '{"a": 1, "b": 2} → {"b": 2, "a": 1}' in page({"s": {"a": 1, "b": 2}}, {"s": {"b": 2, "a": 1}})


def test_bytes_with_a_text_are_shown_as_text() -> None:
    assert "state  waiting → done now" in page(
        {"state": f"\\x{b'waiting'.hex()}"}, {"state": f"\\x{b'done now'.hex()}"}
    )
    assert "state  \\x00ff00ff → done" in page({"state": "\\x00ff00ff"}, {"state": f"\\x{b'done'.hex()}"})


def test_of_a_long_value_64_kb_are_printed() -> None:
    page_shown = page({"state": "a" * 70_000}, {"state": "b" * 70_000}, cells=1 << 30)
    assert 65_536 <= page_shown.count("b") < 65_600


def test_a_text_that_is_no_document_stays_a_text() -> None:
    assert "title  {broken → \\x7b" in page({"title": "{broken"}, {"title": "\\x7b"})
