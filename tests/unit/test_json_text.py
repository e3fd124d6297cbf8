"""JSON texts keep their spelling, and marks name what is unusual."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.change.edit import TextError, edited, shown
from queries.read.documents import DOCUMENT_BYTES, Document
from queries.records.action import Edit
from queries.text.json_text import LEVELS, NotJson, cut, decoded, parse, pretty, respelled

NUMBERS = st.sampled_from(["0", "-0", "1.50", "12345678901234567890123", "1e999", "1E-5", "0.1000"])
VALUES: st.SearchStrategy[str] = st.recursive(
    st.one_of(NUMBERS, st.just("null"), st.just("true"), st.text(max_size=5).map(json.dumps)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: "[" + " ,".join(parts) + "]"),
        st.lists(st.tuples(st.sampled_from(["a", "b", "\u20ac", "a b"]), inner), max_size=4).map(
            lambda pairs: "{ " + ",".join(f"{json.dumps(key)} :{part}" for key, part in pairs) + "}"
        ),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_an_indented_text_becomes_the_stored_one_again(text: str) -> None:
    assert respelled(text, "\n".join(pretty(text))) == text
    assert parse(text).value == parse("\n".join(pretty(text))).value


@given(VALUES, VALUES)
def test_a_respelled_text_means_what_was_typed(before: str, after: str) -> None:
    assert parse(respelled(before, after)).value == parse(after).value
    assert "".join(respelled(before, after).split()) == "".join(after.split())


def test_only_what_is_edited_changes() -> None:
    before = '{"a": 1.50,  "b":[1,2 , 3], "c": {"x": 12345678901234567890123, "x": 2}}\n'
    after = shown(before).replace("1.50", "1.7").replace("3\n", '3,\n  {"n": []}\n')
    assert respelled(before, after) == before.replace("1.50", "1.7").replace("3]", '3,  {"n": []}]')
    assert parse(before).repeated == ("x",)


@pytest.mark.parametrize("text", ["", "{", "[1,]", '{"a": NaN}', "[Infinity]", '{"a" 1}', '"\n"', "01", "[1] 2"])
def test_a_text_that_is_not_json(text: str) -> None:
    with pytest.raises(NotJson, match=r"."):
        parse(text)
    with pytest.raises(TextError) as failed:
        edited(document("{}"), text)
    assert failed.value.again


def document(text: str, *successes: Any, stored: str = "json") -> Document:
    texts = tuple(each if isinstance(each, str) else json.dumps(each) for each in successes)
    return Document(id="a/b:1", text=text, digest="", stored=stored, successes=texts, scope="those")


def marks(edit: Edit) -> list[tuple[str, str, bool]]:
    return [(mark.path, mark.code, mark.new) for mark in edit.marks]


@pytest.mark.parametrize(
    ("before", "after", "successes", "found"),
    [
        ('{"n": 1}', '{"n": 5}', [{"n": 1}, {"n": 9}], []),
        ('{"n": 1}', '{"n": 9.1}', [{"n": 1}, {"n": 9}], [("$.n", "out_of_range", True)]),
        ('{"n": 1}', '{"n": 1e999999}', [{"n": 1}], [("$.n", "out_of_range", True)]),
        ('{"n": 1}', '{"n": "5"}', [{"n": 1}], [("$.n", "type_change", True)]),
        ('{"n": 1}', '{"n": null}', [{"n": 1}, {"n": None}], []),
        ('{"n": 1}', '{"n": 2, "m": {"x": 1}}', [{"n": 2}], [("$.m", "unknown_key", True)]),
        ('{"n": 1}', '{"N": 1}', [{"n": 1}], [("$.n", "missing_key", True), ("$.N", "unknown_key", True)]),
        ('{"n": 1}', '{"n": 1, "m": 1}', [{"n": 1}, {"n": 1, "m": 2}], [("$.m", "out_of_range", True)]),
        ('{"o": 1}', '{"o": 2}', [{"n": 1}], [("$.n", "missing_key", False), ("$.o", "unknown_key", False)]),
        ('{"l": [1]}', '{"l": [1, {"a": 2}]}', [{"l": [0, 3]}], [("$.l[1]", "type_change", True)]),
        ('{"a b": 1}', '{"a b": true}', [{"a b": 1}], [('$["a b"]', "type_change", True)]),
        ('{"n": 1}', '{"n": "x"}', [], [("$.n", "type_change", True)]),
        ('{"n": 1}', '{"n": 70, "m": 1}', [], [("$.m", "unknown_key", True)]),
        ('{"n": 1}', '{"n": 2}', ["not json"], []),
        ('{"n": 1}', "[]", [{"n": 1}], [("$", "type_change", True)]),
    ],
)
def test_what_is_marked(before: str, after: str, successes: list[Any], found: list[tuple[str, str, bool]]) -> None:
    _, edit = edited(document(before, *successes), after)
    assert sorted(marks(edit)) == sorted(found)
    assert edit.compared == len([each for each in successes if each != "not json"])


def test_jsonb_does_not_keep_an_order() -> None:
    text = '{"a": 1.0, "b": 2}'
    turned = '{"b": 2, "a": 1.0}'
    assert edited(document(text), turned)[0].startswith('{"b": 2')
    with pytest.raises(TextError):
        edited(document(text, stored="jsonb"), turned)
    _, edit = edited(document(text, stored="jsonb"), '{"a": 1, "a": 2}')
    assert len(edit.notes) == 2


def test_the_difference_has_context() -> None:
    before = json.dumps({"first": 1, **{f"k{n}": n for n in range(20)}, "last": 1})
    _, edit = edited(document(before), before.replace('"first": 1', '"first": 2').replace('"last": 1', '"last": 3'))
    assert [line for line in edit.diff if line[0] in "+-"] == [
        '-  "first": 1,', '+  "first": 2,', '-  "last": 1', '+  "last": 3'
    ]  # fmt: skip
    assert "@@" in edit.diff
    assert len(edit.diff) < 15


@pytest.mark.parametrize(("part", "old"), [("1", "1"), ('{"id": 1}', '"id"'), ('"x"', '"x"')])
def test_large_texts_are_compared_in_bounded_steps(part: str, old: str) -> None:
    before = "[" + ",".join([part] * (50_000 // len(part))) + "]"
    stored, edit = edited(document(before, *[before] * 3), shown(before).replace(old, '"new"', 5000))
    assert stored.count('"new"') == 5000
    assert len(edit.diff) <= 1001
    assert len(edit.marks) <= 200


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'{"a": "\ud800", "b": "\\ud800", "c": "\udc00\ud800\"\ud83d\ude00"}',
         {"a": r"\ud800", "b": r"\ud800", "c": '\\udc00\\ud800"\U0001f600'}),
        ("[1E400, -1e400, 1.5]", ["1E400", "-1e400", 1.5]),
        (b'"\\udfff"', r"\udfff"),
    ],
)  # fmt: skip
def test_what_the_server_accepts_can_be_decoded(text: str | bytes, value: object) -> None:
    assert decoded(text) == value


def test_a_text_may_have_as_many_bytes_as_is_read() -> None:
    largest = json.dumps("\u20ac" + "x" * (DOCUMENT_BYTES - 5), ensure_ascii=False)
    assert edited(document("{}"), largest)[0] == largest
    with pytest.raises(TextError, match="more than 262144 bytes"):
        edited(document("{}"), largest.replace("x", "xx", 1))


@given(st.recursive(st.none() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of), max_leaves=9))
def test_a_text_is_cut_below_the_limit_only(value: Any) -> None:
    text = json.dumps(value)
    assert cut(text) == text
    deep = "[" * (LEVELS + 9) + text + "]" * (LEVELS + 9)
    for nested in (deep, f'{{"a": {deep}, "b": [1]}}'):
        assert '"…"' in cut(nested)
        json.loads(cut(nested))
    assert decoded("[" * 50_000 + "]" * 50_000) == json.loads("[" * LEVELS + '"…"' + "]" * LEVELS)
