from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.text.safe_text import percent, safe_json, safe_sql, safe_text
from tests.command import hidden

EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))
awkward = st.text(
    st.characters() | st.sampled_from('\x00\x1b\x7f\x9b\n\u202e\u200d\u2028\ufeff\ud800\U000e0041\u3164"\\')
)


def test_no_character_of_unicode_stays_hidden() -> None:
    assert hidden(safe_text(EVERYTHING)) == []
    assert hidden(safe_text(EVERYTHING, ascii=True)) == []
    assert hidden(percent(EVERYTHING, also="/")) == []
    assert hidden(safe_json(EVERYTHING[0x20:])) == []


@given(awkward)
def test_visible_text_stays_as_it_is_and_escaping_twice_is_escaping_once(text: str) -> None:
    once = safe_text(text)
    assert safe_text(once) == once
    assert once.encode("utf-8") is not None
    assert hidden(text) or once == text


@given(awkward)
def test_json_keeps_its_meaning(text: str) -> None:
    document = json.dumps({text: [text]}, ensure_ascii=False)
    assert hidden(safe_json(document)) == []
    assert json.loads(safe_json(document)) == json.loads(document)


@pytest.mark.parametrize(
    ("character", "shown", "ascii"),
    [
        ("\x1b", "␛", "<U+001B>"),
        ("\n", "␊", "<U+000A>"),
        ("\x7f", "␡", "<U+007F>"),
        ("\x9b", "<U+009B>", "<U+009B>"),
        ("\u202e", "<U+202E>", "<U+202E>"),
        ("\ud800", "<U+D800>", "<U+D800>"),
        ("\U000e0041", "<U+E0041>", "<U+E0041>"),
        ("\u3164", "<U+3164>", "<U+3164>"),
        ("[red]日本　語 שלום e\u0301", "[red]日本　語 שלום e\u0301", "[red]日本　語 שלום e\u0301"),
    ],
)
def test_how_characters_read(character: str, shown: str, ascii: str) -> None:
    assert safe_text(f"a{character}b") == f"a{shown}b"
    assert safe_text(f"a{character}b", ascii=True) == f"a{ascii}b"


def test_a_statement_keeps_its_meaning_on_one_line() -> None:
    assert safe_sql('GRANT SELECT ON "a\n""\\b".t TO "x y"') == 'GRANT SELECT ON U&"a\\+00000A""\\\\b".t TO "x y"'


def test_an_id_keeps_two_names_apart_that_look_alike() -> None:
    assert percent("a/b%\n\u200d", also="/") == "a%2Fb%25%0A%E2%80%8D"
