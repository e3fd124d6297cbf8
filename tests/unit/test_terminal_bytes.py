"""Bytes of a terminal as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.tui.terminal_bytes import decoder

BAD = "\ufffd"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"\xe9", b"j"], BAD + "j"),  # Latin-1, and a key after it
        ([b"\xe1"], ""),  # the begin of a character, perhaps
        ([b"\xe2\x82", b"\xac"], "€"),
        ([b"\xe2\x82 1"], BAD + " 1"),
        ([b"\xc4\xe3x"], BAD + BAD + "x"),
        ([b"\x9bA"], "\x1b[A"),
        ([b"\xe2", b"\x9b\x94"], "⛔"),
        ([b"\x1b[200~caf\xe9 \x9b201~x\x1b[201~"], f"\x1b[200~caf{BAD} {BAD}201~x\x1b[201~"),
        ([b"\x1b[M \xc3\xa9q", b"\x1b[M", b"WC\x90R"], "qR"),  # of a mouse
    ],
)
def test_bytes_that_are_no_text_are_replaced(pieces: list[bytes], text: str) -> None:
    decode = decoder()
    assert "".join(map(decode, pieces)) == text


@given(st.text(st.characters(exclude_characters="\x1b")), st.integers(1, 5))
def test_text_in_any_pieces_is_the_same(text: str, size: int) -> None:
    decode, data = decoder(), text.encode()
    assert "".join(decode(data[at : at + size]) for at in range(0, len(data), size)) == text


@given(st.lists(st.binary()))
def test_no_bytes_are_an_error(pieces: list[bytes]) -> None:
    decode = decoder()
    "".join(map(decode, pieces)).encode()
