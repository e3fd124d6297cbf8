"""Rows of an action as the audit log keeps them."""

from __future__ import annotations

import msgspec
import pytest

from queries.records.action import NOT_KEPT, SET, RowChange

ROW = '{"id":1,"n":%s,"same":[1,{"a":null}],"state":%s}'


def change(before: str | None, after: str | None) -> RowChange:
    def raw(row: str | None) -> msgspec.Raw | None:
        return None if row is None else msgspec.Raw(row.encode())

    return RowChange(id="e/task:1", table="task", key="1", before=raw(before), after=raw(after))  # type: ignore[arg-type]


def kept(change: RowChange) -> RowChange:
    """The change as it is read from the log again."""
    return msgspec.json.decode(msgspec.json.encode(change), type=RowChange)


def test_only_the_columns_that_differ_are_kept() -> None:
    found = kept(change(ROW % ("7", "null"), ROW % ("8", '"x"')).differing())
    assert (found.before, found.after) == ({"n": 7, "state": None}, {"n": 8, "state": "x"})


@pytest.mark.parametrize("number", ["1.10", "12345678901234567890123.000", "-0.0"])
def test_values_keep_all_their_digits(number: str) -> None:
    found = change(ROW % (number, "1"), ROW % ("0", "1")).differing()
    assert b'"before":{"n":%s},"after":{"n":0}' % number.encode() in msgspec.json.encode(found)
    assert change(ROW % ("1.10", "1"), ROW % ("1.1", "1")).differing().after == {"n": msgspec.Raw(b"1.1")}


def test_a_column_that_only_one_of_the_rows_has_is_kept() -> None:
    found = kept(change('{"a":1,"gone":null}', '{"a":1,"new":null}').differing())
    assert (found.before, found.after) == ({"gone": None}, {"new": None})


@pytest.mark.parametrize(
    ("before", "after"), [('{"a":1}', '{"a":true}'), ('[{"a":1,"b":2}]', '[{"b":2,"a":1}]'), ("1", "1.0"), ("1", '"1"')]
)
def test_a_decoded_row_differs_in_the_columns_that_the_log_keeps(before: str, after: str) -> None:
    raw = change(ROW % (before, "1"), ROW % (after, "1"))
    assert raw.read().columns == raw.columns == ("n",)


@pytest.mark.parametrize("rows", [('{"a":1}', None), (None, '{"a":1}')])
def test_an_inserted_or_deleted_row_is_kept_as_it_is(rows: tuple[str | None, str | None]) -> None:
    assert change(*rows).differing() == change(*rows)


def test_without_values_the_columns_are_named() -> None:
    secret = change(ROW % ("1", '"secret"'), ROW % ("1", '"other"')).differing().without_values()
    assert (secret.before, secret.after) == ({"state": NOT_KEPT}, {"state": SET})
    assert change('{"a":"secret"}', None).without_values().before == {"a": NOT_KEPT}
    assert change(None, '{"a":"secret"}').without_values().after == {"a": NOT_KEPT}
