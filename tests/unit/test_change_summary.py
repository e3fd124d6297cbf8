"""The summary of changed rows."""

from __future__ import annotations

import msgspec

from console.text.spans import text, width
from console.text.views.action import certain
from console.text.views.change_summary import head, summary, titles
from queries.change.state import Event, Kind, State
from queries.records.action import Change, Durability, Outcome, Result, RowChange


def change(node: int, table: str, before: dict[str, object] | None, after: dict[str, object] | None) -> RowChange:
    rows = (None if row is None else msgspec.Raw(msgspec.json.encode(row)) for row in (before, after))
    was, now = rows
    return RowChange(id=f"e/task:{node}", table=table, key=str(node), before=was, after=now)  # type: ignore[arg-type]


def said(changes: list[RowChange], cells: int = 120) -> str:
    return " ".join(text(line).strip() for line in summary(changes, cells))


def test_rows_that_change_alike_are_said_once() -> None:
    changes = [
        part
        for node in range(3)
        for part in (
            change(node, "task", {"id": node, "status": "Blocked"}, {"id": node, "status": "Available"}),
            change(node, "timer", {"id": node}, None),
        )
    ]
    assert said(changes) == "status Blocked → Available; 1 row of timer each deleted"


def test_a_value_that_differs_is_named_without_it_after_the_common_words() -> None:
    changes = [
        change(node, "task", {"revision": node, "status": "Blocked"}, {"revision": node + 1, "status": "Available"})
        for node in range(2)
    ]
    assert said(changes) == "status Blocked → Available, revision"


def test_rows_of_some_nodes_are_counted_together() -> None:
    changes = [
        change(1, "step", {"state": "failed"}, {"state": "ready"}),
        change(1, "step", {"state": "failed"}, {"state": "ready"}),
        change(2, "step", {"state": "failed"}, {"state": "ready"}),
        change(2, "log", None, {"id": 7}),
    ]
    assert said(changes) == "3 rows of step: state failed → ready; 1 row of log inserted"


def test_more_columns_than_fit_are_counted() -> None:
    was, now = dict.fromkeys("abcde", 1), dict.fromkeys("abcde", 2)
    assert said([change(1, "task", was, now)]) == "a 1 → 2, b 1 → 2, c 1 → 2 and 2 more columns"


def test_it_has_at_most_two_lines_which_fit() -> None:
    changes = [change(1, f"a_table_with_a_long_name_{n}", None, {"id": n}) for n in range(9)]
    lines = summary(changes, 60)
    assert len(lines) == 2
    assert max(map(width, lines)) <= 60
    assert text(lines[-1]).endswith("…")
    assert summary([], 60) == []


def test_equal_titles_are_counted_and_cut_before_what_is_skipped() -> None:
    known = {"1": "SendEmail v2", "2": "SendEmail v2", "3": "Invoice v1"}
    assert titles(["1", "2", "3", "4"], known) == "SendEmail v2 (2), Invoice v1 and 1 more"
    assert titles(["4"], known) == ""
    line = head([("Will change 4 tasks", "")], "SendEmail v2 (2), Invoice v1", [("  skipped: 2 stale", "")], 60)
    assert text(line).startswith("Will change 4 tasks: SendEmail")
    assert text(line).endswith("skipped: 2 stale")
    assert width(line) <= 60


def test_how_certain_the_parts_of_a_bulk_are_is_said_of_each() -> None:
    state = State()
    for durability, ids in ((Durability.SYNCHRONOUS, "abc"), (Durability.ASYNCHRONOUS, "d"), (None, "e")):
        results = tuple(Result(id=i, outcome=Outcome.CHANGED if durability else Outcome.GONE) for i in ids)
        state.add(0.0, Event(event=Kind.CHANGED), Change(results=results, durability=durability))
    said = certain(state.durability, state.outcomes().durable)
    assert said.startswith(
        "3 nodes: Committed, and confirmed by a synchronous standby. 1 node: Committed on this server."
    )
