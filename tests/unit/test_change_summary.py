"""The summary of changed rows."""

from __future__ import annotations

import msgspec

from console.text.spans import text, width
from console.text.views.action import certain
from console.text.views.lines import head, titles
from console.text.views.summary import Steps
from queries.change.state import Event, Kind, State
from queries.records.action import Change, Durability, Outcome, Result, RowChange


def change(node: int, table: str, before: dict[str, object] | None, after: dict[str, object] | None) -> RowChange:
    rows = (None if row is None else msgspec.Raw(msgspec.json.encode(row)) for row in (before, after))
    was, now = rows
    return RowChange(id=f"e/task:{node}", table=table, key=str(node), before=was, after=now)  # type: ignore[arg-type]


def said(changes: list[RowChange]) -> str:
    return ", ".join(Steps("e", None, changes).parts())


def test_rows_that_change_alike_are_said_once() -> None:
    changes = [
        part
        for node in range(3)
        for part in (
            change(node, "task", {"revision": node, "status": "a"}, {"revision": node + 1, "status": "b"}),
            change(node, "timer", {"id": node}, None),
        )
    ]
    changes.append(change(2, "log", None, {"id": 7}))
    assert said(changes) == (
        "3 rows of task changed (status a → b, revision), 3 rows of timer deleted, 1 row of log inserted"
    )


def test_more_columns_than_fit_are_counted() -> None:
    was, now = dict.fromkeys("abcde", 1), dict.fromkeys("abcde", 2)
    assert said([change(1, "task", was, now)]) == "1 row of task changed (a 1 → 2, b 1 → 2, c 1 → 2, 2 more)"


def test_equal_titles_are_counted_and_cut_before_what_is_skipped() -> None:
    known = {"e/task:1": "SendEmail v2", "e/task:2": "SendEmail v2 - 3/4", "e/task:3": "invoice 3"}
    assert titles([*known, "e/task:4"], known) == "2 SendEmail v2, invoice, 1 more"
    assert titles(["e/task:4"], known) == ""
    assert titles(["e/task:2"], known) == "SendEmail v2 - 3/4"
    line = head([("Will change 4 tasks", "")], "2 SendEmail v2, Invoice v1", [("  skipped: 2 stale", "")], 60)
    assert text(line).startswith("Will change 4 tasks: 2 SendEmail")
    assert text(line).endswith("skipped: 2 stale")
    assert width(line) <= 60


def test_how_certain_the_parts_of_a_bulk_are_is_said_of_each() -> None:
    state = State()
    for durability, ids in ((Durability.SYNCHRONOUS, "abc"), (Durability.ASYNCHRONOUS, "d"), (None, "e")):
        results = tuple(Result(id=i, outcome=Outcome.CHANGED if durability else Outcome.GONE) for i in ids)
        state.add(0.0, Event(event=Kind.CHANGED), Change(results=results, durability=durability))
    said = certain(state.total.durability, state.change().durable)
    assert said.startswith(
        "3 nodes: Committed, and confirmed by a synchronous standby. 1 node: Committed on this server."
    )
