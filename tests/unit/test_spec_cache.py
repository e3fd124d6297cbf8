"""What is kept of the built-in engines between runs is theirs, or is not used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from queries.contract import loader
from queries.contract.loader import Engine
from queries.contract.spec_cache import kept


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "engine" / "actions"
    made.mkdir(parents=True)
    (made / "wake.sql").write_text("SELECT 1")
    return made.parent


@pytest.fixture
def make() -> Callable[[], list[str]]:
    calls: list[str] = []

    def count() -> list[str]:
        calls.append("made")
        return list(calls)

    return count


def cache(folder: Path) -> Path:
    return folder.parent / "cache" / "unstick" / "engines"


def test_the_second_time_nothing_is_made(folder: Path, make: Callable[[], list[str]]) -> None:
    assert kept([folder], list[str], make) == kept([folder], list[str], make) == ["made"]


@pytest.mark.parametrize("name", ["actions/wake.sql", "new.sql"])
def test_a_file_that_changed_is_read_again(folder: Path, make: Callable[[], list[str]], name: str) -> None:
    kept([folder], list[str], make)
    (folder / name).write_text("SELECT 22")
    assert kept([folder], list[str], make) == ["made", "made"]


def test_what_others_may_write_is_not_trusted(folder: Path, make: Callable[[], list[str]]) -> None:
    kept([folder], list[str], make)
    cache(folder).chmod(0o666)
    assert kept([folder], list[str], make) == ["made", "made"]


def test_a_broken_file_is_replaced(folder: Path, make: Callable[[], list[str]]) -> None:
    kept([folder], list[str], make)
    with cache(folder).open("r+b") as file:
        file.truncate(33)
    assert kept([folder], list[str], make) == ["made", "made"]
    assert kept([folder], list[str], make) == ["made", "made"]


def test_a_place_that_cannot_be_written_is_no_error(
    folder: Path, make: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert kept([folder], list[str], make) == ["made"]


def test_the_engines_come_back_as_they_were(folder: Path) -> None:
    home = Path(loader.__file__).parents[1] / "engines"
    folders = [f for f in sorted(home.iterdir()) if f.is_dir()]
    loaded = tuple(loader.load(f, f.name) for f in folders)
    for _ in range(2):
        assert kept(folders, tuple[Engine, ...], lambda: loaded) == loaded
