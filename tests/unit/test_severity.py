"""Severity without colour: each band has its own sign and word."""

from __future__ import annotations

import pytest

from console.text import severity
from console.text.ascii import to_ascii
from console.text.formatting import width
from console.text.severity import BANDS
from console.text.spans import text
from console.text.views.action import RISKS
from queries.records.action import Risk


@pytest.mark.parametrize("ascii", [False, True])
def test_bands_differ_without_colour(ascii: bool) -> None:
    signs = {severity.sign(each.least, ascii) for each in BANDS}
    assert len(signs) == len({each.word for each in BANDS}) == len(BANDS) == 3
    assert len({width(sign) for sign in signs}) == 1
    assert not ascii or all(sign.isascii() for sign in signs)


@pytest.mark.parametrize(
    ("number", "word"), [(9, "critical"), (8, "critical"), (7, "major"), (5, "major"), (4, "minor"), (0, "minor")]
)
def test_each_severity_is_in_a_band(number: int, word: str) -> None:
    assert severity.band(number).word == word
    assert text(severity.marked(number)).endswith(f"{word} severity {number}")
    assert to_ascii(text(severity.marked(number))).isascii()


def test_the_sums_are_those_of_the_bands() -> None:
    assert severity.sums([9, 8, 5, 0, 1, 2]) == (2, 1, 3)


def test_each_risk_has_its_own_sign() -> None:
    assert len({sign for sign, _ in RISKS.values()}) == len(RISKS) == len(Risk)
