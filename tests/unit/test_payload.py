from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.text.formatting import size
from console.text.payload import describe, render
from queries.records.detail import Payload


def whole(data: bytes | str) -> Payload:
    head = data.encode() if isinstance(data, str) else data
    return Payload(head=head, size=len(head))


def cut(data: str, size: int = 10 * 1024 * 1024) -> Payload:
    return Payload(head=data.encode(), size=size)


def control_characters(text: str) -> list[str]:
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [hex(ord(c)) for c in text if unicodedata.category(c) in hidden]


def cells(line: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return wide + sum(unicodedata.category(c) not in ("Mn", "Me", "Cf") for c in line if not _wide(c))


def _wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


awkward = st.text(st.characters() | st.sampled_from("\x00\x07\x1b\x7f\x85\x9b\u202e\u2066\u200f\u2028\ufeff\ud800"))
bytes_of_all_kinds = st.one_of(
    st.binary(max_size=300),
    awkward.map(lambda text: text.encode(errors="surrogatepass")),
    st.recursive(
        st.none() | st.floats() | st.integers() | awkward,
        lambda inner: st.lists(inner) | st.dictionaries(awkward, inner),
    ).map(lambda value: json.dumps(value, ensure_ascii=False).encode(errors="replace")),
)


@given(bytes_of_all_kinds, st.integers(1, 120), st.integers(1, 30), st.integers(0, 10**9))
def test_no_control_character_gets_out_and_every_cap_holds(head: bytes, width: int, limit: int, missing: int) -> None:
    payload = Payload(head=head, size=len(head) + missing)
    lines = render(payload, width, limit)
    assert len(lines) <= limit
    assert all(cells(line) <= width for line in lines)
    assert control_characters("".join(lines)) == []
    assert control_characters(describe(payload)) == []


def test_json_keeps_its_order_its_numbers_and_its_escapes() -> None:
    text = r'{"b":1.10,"a":[1e400,12345678901234567890123,-0],"empty":[{},[ ]],"s":"\u001b[31m\/"}'
    assert render(whole(text), 80) == [
        "{",
        '  "b": 1.10,',
        '  "a": [',
        "    1e400,",
        "    12345678901234567890123,",
        "    -0",
        "  ],",
        '  "empty": [',
        "    {},",
        "    []",
        "  ],",
        r'  "s": "\u001b[31m\/"',
        "}",
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_laid_out_json_is_the_same_json(value: object) -> None:
    lines = render(whole(json.dumps(value)), 10_000, 100_000)
    assert json.loads("\n".join(lines)) == value


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1,]",
        '{"a"}',
        '{"a":1,}',
        "{1:2}",
        "[1 2]",
        "01",
        "1.",
        "[1]]",
        "]",
        '["\t"]',
        '"\\x"',
        "nul",
        "NaN",
        "{'a':1}",
        '{"a":1}{"b":2}',
    ],
)
def test_what_is_not_json_is_shown_as_the_text_it_is(text: str) -> None:
    assert describe(whole(text)).startswith("text, ")
    assert render(whole(text), 80) == [text.expandtabs(4)]


@pytest.mark.parametrize(
    ("head", "last"),
    [
        ('{"a":tr', '  "a": tr…'),
        ('{"a":"x\\', '  "a": "x\\…'),
        ('{"a":"x\\u00', '  "a": "x\\u00…'),
        ('{"a"', '  "a"…'),
        ("[1,2", "  2…"),
        ("[1,", "  …"),
        ("[-", "  -…"),
        ("[1,{}", "  {}…"),
    ],
)
def test_json_that_was_cut_off_is_laid_out_as_far_as_it_goes(head: str, last: str) -> None:
    payload = cut(head)
    assert describe(payload) == f"JSON, 10 MB (the first {len(head)} B)"
    assert render(payload, 80)[-2:] == [last, f"… {len(head)} B of 10 MB shown"]


def test_a_character_cut_in_two_does_not_make_the_rest_binary() -> None:
    assert render(Payload(head='["é'.encode()[:-1], size=99), 80) == ["[", '  "…', "… 3 B of 99 B shown"]


def test_ten_thousand_levels_of_brackets() -> None:
    lines = render(whole("[" * 10_000 + "]" * 10_000), 40, 30_000)
    assert len(lines) == 19_999
    assert lines[9_999] == " " * 20 + "[]"


def test_ten_megabytes_in_one_string_are_one_line_that_says_so() -> None:
    lines = render(whole('{"s":"' + "x" * 10 * 1024 * 1024 + '"}'), 40)
    assert lines == ["{", '  "s": "' + "x" * 22 + "… (10 MB)", "}"]


def test_lines_are_capped_and_the_cap_is_marked() -> None:
    assert render(whole("[" + "1," * 1_000_000 + "1]"), 40, 4) == ["[", "  1,", "  1,", "… more lines"]
    assert render(whole("a\n" * 5), 40, 4) == ["a", "a", "a", "… more lines"]
    assert render(whole("a\n" * 4), 40, 4) == ["a"] * 4


def test_text_keeps_its_lines_and_shows_its_escapes() -> None:
    assert render(whole("a\tb\r\n\x1b[31mred\rlate\n\nend\n"), 80) == ["a   b", "␛[31mred␍late", "", "end"]


@pytest.mark.parametrize(
    ("width", "first"),
    [
        (80, "00000000  00 ff 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e  ..abcdefghijklmn"),
        (50, "00000000  00 ff 61 62 63 64 65 66  ..abcdef"),
        (30, "00000000  00 ff 61 62  ..ab"),
        (12, "00000000  0…"),
    ],
)
def test_bytes_are_a_hexdump_as_wide_as_there_is_room(width: int, first: str) -> None:
    payload = whole(b"\x00\xffabcdefghijklmnopq")
    assert describe(payload) == "binary, 19 B"
    assert render(payload, width)[0] == first


def test_nothing_is_empty() -> None:
    assert (describe(whole(b"")), render(whole(b""), 80)) == ("empty", [])


@pytest.mark.parametrize(
    ("n", "written"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 kB"),
        (1536, "1.5 kB"),
        (1024**2 - 1, "1 MB"),
        (5 * 1024**4, "5 TB"),
        (2**60, "1048576 TB"),
    ],
)
def test_sizes(n: int, written: str) -> None:
    assert size(n) == written
