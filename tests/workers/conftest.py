"""Fixtures of tests with genuine workers; see ``harness.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.harness import Gate, Workers


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    """Genuine workers, which are killed after the test."""
    running = Workers(tmp_path)
    yield running
    running.close()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A file for which the tasks of the test wait."""
    return Gate(tmp_path)
