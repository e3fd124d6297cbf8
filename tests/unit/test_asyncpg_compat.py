"""The private parts of asyncpg are there, in the version they were checked with."""

from __future__ import annotations

import asyncio
import gc
import tomllib
from pathlib import Path

import asyncpg
import pytest
from asyncpg.connection import Connection

from queries.db.asyncpg_compat import CHECKED, ignore_abandoned_futures

ROOT = Path(__file__).parents[2]


def test_the_installed_version_was_checked() -> None:
    assert asyncpg.__version__.rsplit(".", 1)[0] == CHECKED


def test_the_project_pins_the_checked_version() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    major, minor = CHECKED.split(".")
    assert f"asyncpg>={CHECKED},<{major}.{int(minor) + 1}" in required


def test_the_private_parts_are_there() -> None:
    assert "_transport" in Connection.__slots__


def test_an_abandoned_error_of_the_driver_is_not_printed(caplog: pytest.LogCaptureFixture) -> None:
    async def abandon() -> None:
        ignore_abandoned_futures()
        loop = asyncio.get_running_loop()
        for error in (asyncpg.ConnectionDoesNotExistError("gone"), ConnectionResetError("gone"), KeyError("ours")):
            loop.create_future().set_exception(error)

    asyncio.run(abandon())
    gc.collect()
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [KeyError]
