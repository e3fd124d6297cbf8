"""The private parts of asyncpg are there, in the version they were checked with."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

import asyncpg
from asyncpg.connection import Connection

from queries.db.asyncpg_compat import CHECKED

ROOT = Path(__file__).parents[2]


def test_the_installed_version_was_checked() -> None:
    assert asyncpg.__version__.rsplit(".", 1)[0] == CHECKED


def test_the_project_pins_the_checked_version() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    major, minor = CHECKED.split(".")
    assert f"asyncpg>={CHECKED},<{major}.{int(minor) + 1}" in required


def test_the_private_parts_are_there() -> None:
    assert [*inspect.signature(Connection._copy_out).parameters] == ["self", "copy_stmt", "output", "timeout"]
    assert "_transport" in Connection.__slots__
