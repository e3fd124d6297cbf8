"""The cache of parsed engines returns what was parsed, or is not used."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from queries.contract import builtin, loader
from queries.contract.builtin import cached
from queries.contract.engine import Engine
from queries.contract.server_spec import FOLDER, ServerSpec, server_spec, server_statement
from queries.files import toml_file
from queries.files.statement import Statement
from queries.records import node
from queries.text import duration


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    actions = tmp_path / "engine" / "actions"
    actions.mkdir(parents=True)
    (actions / "wake.sql").write_text("SELECT 1")
    return actions.parent


@pytest.fixture
def parse() -> Callable[[], list[str]]:
    calls: list[str] = []

    def count() -> list[str]:
        calls.append("parsed")
        return list(calls)

    return count


def cache_file(folder: Path) -> Path:
    return folder.parent / "cache" / "unstick" / "engines"


@pytest.mark.parametrize("name", ["actions/wake.sql", "new.sql"])
def test_a_changed_file_is_parsed_again(folder: Path, parse: Callable[[], list[str]], name: str) -> None:
    cached("engines", [folder], list[str], parse)
    (folder / name).write_text("SELECT 22")
    assert cached("engines", [folder], list[str], parse) == ["parsed", "parsed"]


@pytest.mark.parametrize("module", [duration, toml_file, loader, node])
def test_the_source_of_a_parser_is_part_of_the_key(
    folder: Path, parse: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: ModuleType
) -> None:
    package = shutil.copytree(Path(builtin.__file__).parents[1], tmp_path / "queries")
    monkeypatch.setattr(builtin, "__file__", str(package / "contract" / "builtin.py"))
    cached("engines", [folder], list[str], parse)
    os.utime(package / Path(str(module.__file__)).relative_to(Path(loader.__file__).parents[1]), (1, 1))
    assert cached("engines", [folder], list[str], parse) == ["parsed", "parsed"]


@pytest.mark.parametrize("content", [b"\x91", b"\x91\xa2\xff\xff", b"\x91\xa1a" + b"\x91" * 99_999])
def test_a_broken_or_writable_file_is_replaced(folder: Path, parse: Callable[[], list[str]], content: bytes) -> None:
    cached("engines", [folder], list[str], parse)
    cache_file(folder).write_bytes(cache_file(folder).read_bytes()[:32] + content)
    for _ in range(2):
        assert cached("engines", [folder], list[str], parse) == ["parsed", "parsed"]
    cache_file(folder).chmod(0o666)  # by now another user may have written it
    assert cached("engines", [folder], list[str], parse) == ["parsed"] * 3


def test_a_folder_that_cannot_be_written_is_no_error(
    folder: Path, parse: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert cached("engines", [folder], list[str], parse) == ["parsed"]


def test_the_engines_survive_the_round_trip(folder: Path) -> None:
    home = Path(loader.__file__).parents[1] / "engines"
    folders = [f for f in sorted(home.iterdir()) if f.is_dir()]
    loaded = tuple(loader.load(f) for f in folders)
    for _ in range(2):
        assert cached("engines", folders, tuple[Engine, ...], lambda: loaded) == loaded


def test_the_findings_about_the_server_survive_the_round_trip(folder: Path) -> None:
    loaded = server_spec(), {part: server_statement(part) for part in server_spec().parts}
    for _ in range(2):
        assert cached("server", [FOLDER], tuple[ServerSpec, dict[str, Statement]], lambda: loaded) == loaded
