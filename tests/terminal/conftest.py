"""Fixtures of the terminal tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal.driver import Terminal


@pytest.fixture
def place() -> Iterator[Path]:
    """Temporary folder that every user can enter.

    The demo's server may run as another user.
    """
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as name:
        Path(name).chmod(0o1777)
        yield Path(name)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Terminal]:
    """``unstick demo``, connected and showing its tree."""
    with Terminal("demo", "--seed", "1", home=tmp_path) as terminal:
        yield terminal.wait_for("● live", "all jobs", "stuck")
