"""Words of the screen: one table for the console and docs/glossary.md."""

from __future__ import annotations

import pytest

from console.text import glossary
from tests.command import ROOT
from tests.generated import is_as_made

pytestmark = pytest.mark.fast


def test_the_page_has_the_words_of_the_screen() -> None:
    is_as_made(ROOT / "docs" / "glossary.md", "words", glossary.as_table())


def test_words_are_found_whole_and_in_the_order_of_the_text() -> None:
    found = [word for word, _ in glossary.words_in("2 Incidents, 3 nodes; nodesets, no-one is re-held; due")]
    assert found == ["incident", "node", "due"]
