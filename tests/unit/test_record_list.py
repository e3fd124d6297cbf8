"""Rows of a list: filter, order, groups, folds and marks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from console.model.fields.field import NOTHING, Bundle, Field, Form, Grouping, RecordType
from console.model.filter import NODES, Fields, completion, parse
from console.model.flat_list import EdgeRow, Order, tail_id
from console.model.record_list import RecordList
from console.tui.widgets.look import Look


@dataclass(frozen=True)
class Thing:
    name: str
    color: str
    size: int | None = None
    symptom: bool = False


COLORS: Grouping[Thing] = Grouping("color", lambda thing: (thing.color, thing.color.upper()))
COLOR: Field[Thing] = Field("color", lambda thing, _: thing.color, Form.BEGINNING, group=COLORS)
OTHERS: tuple[Field[Thing], ...] = (
    Field("name", lambda thing, _: thing.name, searched=True),
    Field("size", lambda thing, _: thing.size, Form.NUMBER),
)
FIELDS = Fields((*OTHERS, COLOR))
THINGS = [
    Thing("a", "red", 3),
    Thing("b", "blue", None),
    Thing("c", "red", 1),
    Thing("d", "green", 2),
    Thing("e", "red", 5, symptom=True),
]


def typed(color: Field[Thing]) -> RecordType[Thing]:
    return RecordType(
        "thing", lambda thing: thing.name, (*OTHERS, color), grouped=True, acted_on=lambda thing: not thing.symptom
    )


def things(*records: Thing) -> RecordList[Thing]:
    found = RecordList(typed(COLOR))
    found.take(records or THINGS, NOTHING)
    return found


def items(rows: RecordList[Thing]) -> list[Bundle[Thing]]:
    return rows.shown(0, len(rows))


def shown(rows: RecordList[Thing]) -> list[str]:
    return [row.id for row in rows.between(0, len(rows))]


def marked(rows: RecordList[Thing]) -> list[str]:
    return [row.id for row in rows.between(0, len(rows)) if row.marked]


def sort(rows: RecordList[Thing], order: Order[Bundle[Thing]] | None) -> None:
    rows.take(rows.records, NOTHING, filter=rows.filter, order=order)


def unfold(rows: RecordList[Thing], row_id: str) -> None:
    assert not rows.expand(row_id)


def test_groups_are_in_the_order_of_their_first_records() -> None:
    rows = things()
    assert shown(rows) == ["red", "blue", "green"]
    red, blue, _ = items(rows)
    assert (red.group, red.foldable, len(red.records), red.record) == ("RED", True, 3, None)
    assert (blue.foldable, blue.record) == (False, THINGS[1])


def test_an_unfolded_group_shows_its_records() -> None:
    rows = things()
    unfold(rows, "red")
    assert shown(rows) == ["red", "red a", "red c", "red e", "blue", "green"]
    assert [row.above for row in items(rows)][1:5] == ["red", "red", "red", ""]
    rows.collapse_all()
    assert shown(rows) == ["red", "blue", "green"]


def test_a_group_that_the_filter_hides_comes_back_as_it_was() -> None:
    rows = things()
    unfold(rows, "red")
    for text, keys in (("b", ["blue"]), ("size:>2", ["red", "red a", "red e"]), ("c size:<2", ["red"])):
        rows.take(THINGS, NOTHING, filter=parse(text, FIELDS))
        assert shown(rows) == keys
    rows.take(THINGS, NOTHING)
    assert shown(rows) == ["red", "red a", "red c", "red e", "blue", "green"]


def test_a_filter_leaves_groups_with_what_matches() -> None:
    rows = things()
    rows.take(THINGS, NOTHING, filter=parse("color:red size:<2", FIELDS))
    (row,) = items(rows)
    assert (row.id, row.record, row.foldable) == ("red", THINGS[2], False)
    assert len(rows.records) == 5


def test_symptoms_that_match_without_their_cause_are_rows_of_their_own() -> None:
    """A row with the title of the cause would act on what it does not name."""
    rows = things()
    rows.take(THINGS, NOTHING, filter=parse("size:>4", FIELDS))
    (row,) = items(rows)
    assert (row.id, row.group, row.record, row.above) == ("e", None, THINGS[4], "")
    assert rows.chosen() == [THINGS[4]]
    rows.mark(rows.markable())
    assert rows.marks == {"e"}


def test_records_without_a_value_are_last_in_either_order() -> None:
    rows = things()
    rows.next_grouping()
    order = Order[Bundle[Thing]]("size", lambda row: row.records[0].size)
    sort(rows, order)
    assert shown(rows) == ["c", "d", "a", "e", "b"]
    sort(rows, replace(order, reverse=True))
    assert shown(rows) == ["e", "a", "d", "c", "b"]


def test_an_order_sorts_groups_and_the_records_in_them() -> None:
    rows = things()
    unfold(rows, "red")
    sort(rows, Order("size", lambda row: sum(record.size or 0 for record in row.records) or None))
    assert shown(rows) == ["green", "red", "red c", "red a", "red e", "blue"]


def test_a_mark_of_a_group_omits_what_is_only_shown() -> None:
    rows = things()
    rows.mark(["red"])
    assert rows.marks == {"a", "c"}
    assert marked(rows) == ["red"]
    unfold(rows, "red")
    assert marked(rows) == ["red", "red a", "red c"]
    rows.mark(["red"], None)
    assert not rows.marks


def test_marks_stay_on_records_that_the_filter_hides_and_leave_with_them() -> None:
    rows = things()
    rows.mark(["red"])
    rows.take(THINGS, NOTHING, filter=parse("b", FIELDS))
    assert [thing.name for thing in rows.chosen()] == ["a", "c"]
    rows.take(THINGS[1:], NOTHING)
    assert rows.marks == {"c"}


def test_without_marks_the_row_is_chosen() -> None:
    rows = things()
    assert [thing.name for thing in rows.chosen()] == ["a", "c"]
    rows.move_to("blue")
    assert rows.chosen() == [THINGS[1]]
    rows.take([], NOTHING)
    assert rows.chosen() == []


def test_of_marked_records_those_of_the_row_are_first() -> None:
    rows = things()
    rows.mark(["red", "blue", "green"])
    rows.move_to("green")
    assert [thing.name for thing in rows.chosen()] == ["d", "a", "b", "c"]


def test_all_that_match_can_be_marked() -> None:
    rows = things()
    rows.take(THINGS, NOTHING, filter=parse("color:red", FIELDS))
    rows.mark(rows.markable())
    assert rows.marks == {"a", "c"}


def halves(*always: str) -> RecordList[Thing]:
    """A list of groups in groups: the colors of the first things and of the others."""
    found = RecordList(
        typed(replace(COLOR, group=replace(COLORS, above=half))), lambda: [(key, key.upper()) for key in always]
    )
    found.take(THINGS[:4], NOTHING)
    return found


def half(thing: Thing) -> tuple[str, object]:
    key = "first" if thing.color == "red" else "others"
    return key, key.upper()


def test_groups_in_groups_are_unfolded_at_first_and_stay_folded() -> None:
    rows = halves("others", "empty")
    assert shown(rows) == ["first", "red", "others", "blue", "green", "empty"]
    first, red, *_, empty = items(rows)
    assert (first.foldable, len(first.records), red.foldable, empty.foldable) == (True, 2, True, False)
    rows.mark(["first"])
    assert rows.marks == {"a", "c"}
    assert marked(rows) == ["first", "red"]
    rows.collapse("others")
    unfold(rows, "red")
    rows.take(THINGS[:4], NOTHING)
    assert shown(rows) == ["first", "red", "red a", "red c", "others", "empty"]
    rows.take(THINGS[:4], NOTHING, filter=parse("color:green", FIELDS))
    assert shown(rows) == ["others"], "what has no records is not shown with a filter"
    rows.marks = set()
    rows.mark(rows.markable())
    assert rows.marks == {"d"}


def test_an_order_looks_at_the_groups_of_all_groups() -> None:
    rows = halves()
    rows.move_to("green")
    sort(rows, Order("name", lambda row: row.records[0].name, reverse=True))
    assert shown(rows) == ["green", "blue", "red"]
    assert rows.cursor == "green"
    sort(rows, None)
    assert shown(rows) == ["first", "red", "others", "blue", "green"]
    assert rows.cursor == "green"


def test_the_cursor_follows_its_record_and_goes_next_if_that_is_gone() -> None:
    rows = things()
    rows.next_grouping()
    rows.move_to("c")
    rows.take([*THINGS[3:], *THINGS[:3]], NOTHING)
    assert (rows.cursor, rows.cursor_row) == ("c", 4)
    rows.take(THINGS[3:] + THINGS[:2], NOTHING)
    assert rows.cursor == "b"


def test_a_cursor_on_the_row_at_the_end_goes_to_what_comes_after_the_last_row_only() -> None:
    rows = things()
    rows.next_grouping()
    rows.take(THINGS[1:3], NOTHING, ends={None: "why"})
    assert rows.row(2).note == "why"
    rows.move(2)
    rows.take(THINGS[:3], NOTHING, ends={None: ""})
    assert rows.cursor_row == 3, "it stays if rows come in above it"
    rows.take(THINGS, NOTHING)
    assert rows.cursor == THINGS[3].name


def test_the_row_for_more_of_a_group_is_at_the_end_of_the_group_or_of_the_list() -> None:
    rows, end = halves(), tail_id("first")
    rows.take(THINGS[:4], NOTHING, ends={"first": "why"})
    assert shown(rows) == ["first", "red", end, "others", "blue", "green"]
    rows.move_to(end)
    rows.take(THINGS[:4], NOTHING, ends={"first": None})
    assert (rows.cursor, rows.row(2).edge) == (end, EdgeRow.LOADING)
    rows.collapse("first")
    assert shown(rows) == ["first", "others", "blue", "green"]
    rows.next_grouping()
    assert shown(rows)[-1] == tail_id(None)
    rows.take(THINGS[:4], NOTHING)
    assert tail_id(None) not in shown(rows)


def test_another_grouping_leaves_the_cursor_on_its_line() -> None:
    rows = things()
    rows.move_to("green")
    rows.next_grouping()
    assert rows.cursor_row == 2


RECORDS = st.lists(
    st.builds(
        Thing,
        st.text("abcdef", min_size=1),
        st.sampled_from(["red", "blue"]),
        st.none() | st.integers(0, 9),
        st.booleans(),
    ),
    max_size=12,
    unique_by=lambda thing: thing.name,
)


@given(RECORDS, st.sampled_from(["", "size:>3", "color:red", "!a"]), st.booleans(), st.booleans())
def test_each_record_that_matches_is_in_one_row(records: list[Thing], text: str, reverse: bool, flat: bool) -> None:
    rows = things()
    rows.take(records, NOTHING, filter=parse(text, FIELDS))
    if flat:
        rows.next_grouping()
    sort(rows, Order("size", lambda row: row.records[0].size, reverse))
    rows.expand_loaded()
    tops = [row for row in items(rows) if not row.above]
    assert sorted(record.name for row in tops for record in row.records) == sorted(
        record.name for record in records if FIELDS.matches(rows.filter, NOTHING)(record)
    )
    assert not any(row.group is not None and all(record.symptom for record in row.records) for row in tops)
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


def test_rows_that_look_alike_on_a_narrow_screen_have_the_first_thing_that_differs() -> None:
    rows = things(Thing("a", "red", 1), Thing("b", "blue", 1), Thing("c", "red", 1), Thing("d", "red", 2))
    rows.next_grouping()
    columns = [replace(OTHERS[1], title="size"), *(replace(each, title="x", needs=99) for each in (COLOR, OTHERS[0]))]
    look = Look(columns, lambda field, row: field.shown_in(row, NOTHING))
    for width, wanted in ((80, ["1  a", "1  blue", "1  c", "2"]), (99, ["1 red a", "1 blue b", "1 red c", "2 red d"])):
        look.fit(width)
        look.measure(shown := rows.between(0, len(rows)))
        lines = [look.line(row, "", frozenset(), SimpleNamespace(cell_style=lambda _: Style())).text for row in shown]
        assert [line.strip() if width < 99 else " ".join(line.split()) for line in lines] == wanted
