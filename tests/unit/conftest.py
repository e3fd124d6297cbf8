"""Tests without a server are fast, unless they say otherwise."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.get_closest_marker("proof") is None:
        item.add_marker("fast")
