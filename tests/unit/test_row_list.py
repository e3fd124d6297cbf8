"""Rows of a list: filter, order, groups, folds and marks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from console.model.fields.field import NOTHING, Field, Form, Grouping
from console.model.filter import NODES, Fields, completion, parse
from console.model.order import Order
from console.model.row_list import RowList


@dataclass(frozen=True)
class Thing:
    name: str
    color: str
    size: int | None = None
    symptom: bool = False


FIELDS: Fields[Thing] = Fields(
    (
        Field("name", lambda thing, _: thing.name, searched=True),
        Field("color", lambda thing, _: thing.color, Form.BEGINNING),
        Field("size", lambda thing, _: thing.size, Form.NUMBER),
    )
)
THINGS = [
    Thing("a", "red", 3),
    Thing("b", "blue", None),
    Thing("c", "red", 1),
    Thing("d", "green", 2),
    Thing("e", "red", 5, symptom=True),
]


def things(*records: Thing) -> RowList[Thing]:
    found = RowList(
        lambda thing: thing.name,
        FIELDS,
        (Grouping("color", lambda thing: (thing.color, thing.color.upper())), Grouping("thing")),
        lambda thing: not thing.symptom,
    )
    found.put(records or THINGS, NOTHING)
    return found


def shown(rows: RowList[Thing]) -> list[str]:
    return [row.key for row in rows.rows()]


def test_groups_are_in_the_order_of_their_first_records() -> None:
    rows = things()
    assert shown(rows) == ["red", "blue", "green"]
    red, blue, _ = rows.rows()
    assert (red.group, red.foldable, len(red.records), red.record) == ("RED", True, 3, None)
    assert (blue.foldable, blue.record) == (False, THINGS[1])


def test_an_unfolded_group_shows_its_records() -> None:
    rows = things()
    rows.fold(rows.rows()[0], open=True)
    assert shown(rows) == ["red", "red a", "red c", "red e", "blue", "green"]
    assert [row.above for row in rows.rows()][1:5] == ["red", "red", "red", ""]
    rows.fold_all()
    assert shown(rows) == ["red", "blue", "green"]


def test_a_filter_leaves_groups_with_what_matches() -> None:
    rows = things()
    rows.filter = parse("size:>2 !a", FIELDS)
    rows.put(THINGS, NOTHING)
    (row,) = rows.rows()
    assert (row.key, row.record, row.foldable) == ("red", THINGS[4], False)
    assert len(rows.records) == 5


def test_records_without_a_value_are_last_in_either_order() -> None:
    rows = things()
    rows.next_grouping()
    rows.order = Order("size", lambda row: row.records[0].size)
    assert shown(rows) == ["c", "d", "a", "e", "b"]
    rows.order = replace(rows.order, reverse=True)
    assert shown(rows) == ["e", "a", "d", "c", "b"]


def test_an_order_sorts_groups_and_the_records_in_them() -> None:
    rows = things()
    rows.fold(rows.rows()[0], open=True)
    rows.order = Order("size", lambda row: sum(record.size or 0 for record in row.records) or None)
    assert shown(rows) == ["green", "red", "red c", "red a", "red e", "blue"]


def test_a_mark_of_a_group_omits_what_is_only_shown() -> None:
    rows = things()
    rows.mark(rows.rows()[0])
    assert rows.marks == {"a", "c"}
    assert rows.rows()[0].marked
    rows.mark(rows.rows()[0])
    assert not rows.marks


def test_marks_stay_on_records_that_the_filter_hides_and_leave_with_them() -> None:
    rows = things()
    rows.mark(rows.rows()[0])
    rows.filter = parse("b", FIELDS)
    rows.put(THINGS, NOTHING)
    assert {thing.name for thing in rows.chosen(rows.rows()[0])} == {"a", "c"}
    rows.put(THINGS[1:], NOTHING)
    assert rows.marks == {"c"}


def test_without_marks_the_row_is_chosen() -> None:
    rows = things()
    red, blue, _ = rows.rows()
    assert [thing.name for thing in rows.chosen(red)] == ["a", "c"]
    assert rows.chosen(blue) == [THINGS[1]]
    assert rows.chosen(None) == []


def test_mark_all_marks_what_matches() -> None:
    rows = things()
    rows.filter = parse("color:red", FIELDS)
    rows.put(THINGS, NOTHING)
    rows.mark_all()
    assert rows.marks == {"a", "c"}
    rows.mark_all()
    assert not rows.marks


def test_a_heading_is_about_all_rows_below_it() -> None:
    rows = things()
    rows.fold(rows.rows()[0], open=True)
    heading = rows.heading("all", "ALL", rows.rows())
    assert (heading.foldable, len(heading.records), heading.marked) == (False, 5, False)
    rows.mark(heading)
    assert rows.marks == {"a", "b", "c", "d"}
    assert rows.heading("all", "ALL", rows.rows()).marked


RECORDS = st.lists(
    st.builds(Thing, st.text("abcdef", min_size=1), st.sampled_from(["red", "blue"]), st.none() | st.integers(0, 9)),
    max_size=12,
    unique_by=lambda thing: thing.name,
)


@given(RECORDS, st.sampled_from(["", "size:>3", "color:red", "!a"]), st.booleans(), st.booleans())
def test_each_record_that_matches_is_in_one_row(records: list[Thing], text: str, reverse: bool, flat: bool) -> None:
    rows = things()
    rows.filter = parse(text, FIELDS)
    rows.put(records, NOTHING)
    if flat:
        rows.next_grouping()
    rows.order = Order("size", lambda row: row.records[0].size, reverse)
    rows.fold_all()
    tops = [row for row in rows.rows() if not row.above]
    assert sorted(record.name for row in tops for record in row.records) == sorted(
        record.name for record in records if FIELDS.matches(rows.filter, record, 0)
    )
    keys = shown(rows)
    assert len(keys) == len(set(keys))


def test_the_last_term_is_completed() -> None:
    values = {"kind": ["send_email", "sync"], "finding": ["overdue"]}

    def complete(text: str) -> str:
        return completion(text, NODES, lambda field: values.get(field, []), ["nightly"])

    assert complete("sta") == "status:"
    assert complete("mail !ph") == "mail !phase:"
    assert complete("phase:fa") == "phase:failed"
    assert complete("kind:send") == "kind:send_email"
    assert complete("kind:sync,sen") == "kind:sync,send_email"
    assert complete("finding:=ov") == "finding:=overdue"
    assert complete("@ni") == "@nightly"
    assert complete("kind:zzz") == complete("") == complete("mail ") == ""


def test_a_saved_filter_is_used_by_its_name() -> None:
    saved = {"nightly": "kind:send_email phase:failed"}
    assert str(parse("a @nightly", saved=saved)) == "a kind:send_email phase:failed"
    assert str(parse("@other.example", saved=saved)) == "@other.example"
