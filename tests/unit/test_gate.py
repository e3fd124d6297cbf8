"""Rows of a commit compared with those of its dry run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from queries.change import gate
from queries.change.gate import Contract
from queries.contract.spec import Varies
from queries.records.action import Change, OtherRows, Outcome, Result, RowChange

AT, LATER = 1_795_863_600.0, 1_795_867_200.0  # 2026-11-28T11:00:00Z, and an hour later
DRY_RUN = Change(
    engine="e",
    action="wake",
    reason="",
    arguments={},
    results=(),
    changes=(),
    versions={},
    row_digests={},
    at=AT,
    audit_log="table",
    operator="ann@a",
)
VARIES: Varies = {
    "time": ("task.at", "task.n", "task.doc.at", "log.at"),
    "token": ("task.doc.xid",),
    "operator": ("task.doc.by", "task.who"),
}


def row(node: str, before: Any, after: Any, table: str = "task", key: str = "1") -> RowChange:
    """A changed row, with the JSON texts of its columns."""

    def raw(values: Any) -> Any:
        return (
            None
            if values is None
            else msgspec.Raw(("{" + ",".join(f'"{n}":{v}' for n, v in values.items()) + "}").encode())
        )

    return RowChange(id=f"e/task:{node}", table=table, key=key, before=raw(before), after=raw(after))


def stopped(
    shown: Sequence[RowChange], now: Sequence[RowChange], nodes: Sequence[str], copies: bool | None = False
) -> str:
    """Return why a commit stops that is of another operator than the dry run.

    ``copies``: None for an undo.
    """
    results = tuple(Result(id=i, outcome=Outcome.CHANGED) for i in dict.fromkeys(c.id for c in shown))
    dry_run = msgspec.structs.replace(DRY_RUN, changes=tuple(c.read(AT) for c in shown), results=results)
    contract = Contract(VARIES, {"task": ("id",), "log": ("id",)}, ("bob@b", "ann@a"))
    ids = [f"e/task:{node}" for node in nodes]
    try:
        had = None if copies is None else lambda node, name, value: copies
        gate.compare_rows(now, dry_run, ids, contract, LATER, had)
    except gate.UnshownError as error:
        return str(error)
    return ""


def compared(column: str, shown: str, now: str) -> str:
    """Return why another value of a column stops the commit, or ""."""
    return stopped(
        [row("1", {column: '"other"'}, {column: shown})], [row("1", {column: '"other"'}, {column: now})], ["1"]
    )


@pytest.mark.parametrize(
    ("column", "shown", "now"),
    [
        ("at", '"2026-11-28 11:00:00+00"', '"2026-11-28 12:00:01.5+00"'),
        ("at", '"2026-11-28T11:00:00"', '"2026-11-28T12:00:00"'),
        ("at", '"2999-01-01 00:00:00+00"', '"2999-01-01 00:00:00+00"'),
        ("n", "1795863600123", "1795867200200"),
        ("who", '"cancelled by ann@a"', '"cancelled by bob@b"'),
        (
            "doc",
            '{"at":"2026-11-28T11:00:00Z","xid":"7","by":"ann@a"}',
            '{"at":"2026-11-28T12:00:00Z","xid":"8","by":"bob@b"}',
        ),
    ],
)
def test_a_column_may_differ_as_the_contract_says(column: str, shown: str, now: str) -> None:
    assert compared(column, shown, now) == ""


@pytest.mark.parametrize(
    ("column", "shown", "now"),
    [
        ("at", '"2026-11-28 11:00:00+00"', '"2999-11-28 12:00:00+00"'),
        ("at", '"2026-11-28 11:00:00+00"', '"2026-11-28 12:00:09+00"'),
        ("at", '"2026-11-28 11:00:00+00"', '"infinity"'),
        ("at", '"2026-11-28 11:00:00+00"', "null"),
        ("n", "1795863600123", "9000000000000000"),
        ("doc", '{"at":"2026-11-28T11:00:00Z","n":1}', '{"at":"2026-11-28T12:00:00Z","n":2}'),
        ("doc", '{"xid":"7"}', '{"xid":null}'),
        ("doc", '{"xid":"7"}', '{"xid":"8","more":1}'),
        ("text", '"20 EUR"', '"99999 EUR"'),
        ("text", '"11 bytes, md5 1fe9ab"', '"30 bytes, md5 77e1cd"'),
        ("text", '"at 2026-11-28 11:00:00+00"', '"at 2026-11-28 12:00:00+00"'),
        ("text", '"by ann@a"', '"by bob@b"'),
        ("text", '"6f0c1f5e-0d2b-4b57-a3cb-2d6f0f6f1a11"', '"0b7d2a34-55aa-4c1e-9a0f-7f1f9f1f2c22"'),
        ("number", "2000000000", "9000000000000000"),
        ("number", "0.1", "0.1000000000000000055"),
        ("number", "1.10", "1.1"),
        ("flag", "true", "1"),
        ("list", "[1]", "[1,1]"),
        ("json", '{"a":1,"b":2}', '{"b":2,"a":1}'),
    ],
)
def test_another_value_stops_the_commit(column: str, shown: str, now: str) -> None:
    assert f"set task.{column} to another value than the dry run" in compared(column, shown, now)


@pytest.mark.parametrize(("nodes", "fine"), [("12", (2,)), ("1", (0, 1, 2)), ("3", (1,)), ("34", (2,)), ("123", (3,))])
def test_rows_of_other_tables_are_as_many_as_were_shown(nodes: str, fine: Sequence[int]) -> None:
    """The nodes 1 and 2 were shown, with two rows."""
    results = tuple(Result(id=f"e/task:{node}", outcome=Outcome.CHANGED) for node in "12")
    shown = msgspec.structs.replace(DRY_RUN, results=results, others=(OtherRows(table="public.mail", deleted=2),))

    def stops(number: int) -> bool:
        try:
            others = [OtherRows(table="public.mail", deleted=number)] if number else []
            gate.compare(others, shown, [f"e/task:{node}" for node in nodes])
        except gate.UnshownError as error:
            return "the dry run showed deleted 2 rows" in str(error)
        return False

    assert [number for number in range(5) if not stops(number)] == [*fine]


def test_another_column_or_a_missing_one_stops_the_commit() -> None:
    was = {"a": "1", "b": "1"}
    shown = [row("1", was, {"a": "2", "b": "1"})]
    assert "changed task.b, which the dry run did not" in stopped(shown, [row("1", was, {"a": "2", "b": "2"})], ["1"])
    both = [row("1", was, {"a": "2", "b": "2"})]
    assert "did not change task.b, which the dry run did" in stopped(both, [row("1", was, {"a": "2", "b": "1"})], ["1"])
    assert "unlike the dry run" in stopped(shown, [row("1", was, None)], ["1"])


def test_only_an_action_is_compared_with_the_nodes_that_were_shown() -> None:
    """An undo compares each row with its image."""
    shown, other = row("1", {"a": "1"}, {"a": "2"}), row("2", {"b": "1"}, {"b": "2"}, key="2")
    assert "which no node of the dry run did" in stopped([shown], [shown, other], ["1", "2"])
    assert stopped([shown], [shown, other], ["1", "2"], copies=None) == ""


def log(node: str, key: str, text: str, at: str) -> RowChange:
    return row(node, None, {"id": key, "text": text, "at": at}, "log", key)


def test_inserted_rows_are_a_multiset_without_their_keys() -> None:
    then, now = '"2026-11-28 11:00:00+00"', '"2026-11-28 12:00:00+00"'
    shown = [log("1", "1", '"a"', then), log("1", "2", '"b"', then)]
    assert stopped(shown, [log("1", "8", '"b"', now), log("1", "9", '"a"', now)], ["1"]) == ""
    assert "log.text is another" in stopped(shown, [log("1", "8", '"a"', now), log("1", "9", '"c"', now)], ["1"])
    assert "inserted" in stopped(shown, [log("1", "8", '"a"', now), log("1", "9", '"a"', now)], ["1"])
    assert "it has not inserted a row" in stopped(shown, [log("1", "8", '"a"', now)], ["1"])
    assert "log.at is another" in stopped(
        shown, [log("1", "8", '"a"', now), log("1", "9", '"b"', '"2999-01-01"')], ["1"]
    )


WAKE = [
    row(node, {"id": node, "status": '"Blocked"', "n": n}, {"id": node, "status": '"Ready"', "n": n}, key=node)
    for node, n in (("1", "3"), ("2", "4"))
]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (row("9", {"status": '"Blocked"'}, {"status": '"Ready"'}, key="9"), ""),
        (row("9", {"status": '"Blocked"'}, {"status": '"Complete"'}, key="9"), "set task.status to another value"),
        (row("9", {"status": '"Blocked"', "cpu": "1"}, {"status": '"Ready"', "cpu": "2"}, key="9"), "changed task.cpu"),
        (row("9", {"cpu": "1"}, {"cpu": "2"}, key="9"), "changed task.cpu"),
        (row("9", {"status": '"Blocked"'}, None, key="9"), "deleted a row of task"),
        (row("9", None, {"id": "9", "status": '"Ready"'}, key="9"), "inserted a row of task"),
        (row("9", {"a": "1"}, {"a": "2"}, "timer", "9"), "changed a row of timer"),
    ],
)
def test_nodes_that_were_not_dry_run_do_what_the_others_did(change: RowChange, why: str) -> None:
    found = stopped(WAKE, [change], ["9"])
    assert why in found if why else not found
    assert "changed 0 rows of task" in stopped(WAKE, [], ["9"])
    assert (
        "changed 2 rows of task" in stopped(WAKE, [change, row("9", {"status": "1"}, {"status": "2"}, key="10")], ["9"])
        or why
    )


def test_an_inserted_row_of_another_node_may_copy_what_the_node_has() -> None:
    then, now = '"2026-11-28 11:00:00+00"', '"2026-11-28 12:00:00+00"'
    shown = [log("1", "1", '"a"', then), log("2", "2", '"a"', then)]
    assert stopped(shown, [log("9", "9", '"a"', now)], ["9"]) == ""
    assert "set log.text to another value" in stopped(shown, [log("9", "9", '"evil"', now)], ["9"])
    assert stopped(shown, [log("9", "9", '"own"', now)], ["9"], copies=True) == ""
