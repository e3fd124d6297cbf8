"""Kinds of nodes with their article."""

from __future__ import annotations

import pytest

from queries.records.node import a_kind


@pytest.mark.parametrize("written", ["a task", "a dead letter", "an agent", "an entrypoint", "an Oban job"])
def test_a_kind_has_its_article(written: str) -> None:
    assert a_kind(written.partition(" ")[2]) == written
