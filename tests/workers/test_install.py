"""Installation of workers: once, or the tests are skipped."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from tests.workers import install, newer_python, node

AT_ONCE = 4


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "HOME", tmp_path / "workers")


def test_processes_at_the_same_time_install_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    context = multiprocessing.get_context("fork")
    all_ready = context.Barrier(AT_ONCE)

    def work() -> None:
        all_ready.wait()
        folder = install.once("tool", ["tool==1"], lambda folder: _append(log, folder))
        assert folder == tmp_path / "workers" / "tool"

    running = [context.Process(target=work) for _ in range(AT_ONCE)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert [each.exitcode for each in running] == [0] * AT_ONCE
    assert len(log.read_text().splitlines()) == 1
    for version in ("2", "2", "1"):  # what another version has replaced is not there
        install.once("tool", [f"tool=={version}"], lambda folder: _append(log, folder))
    assert len(log.read_text().splitlines()) == 3


def test_what_cannot_be_installed_is_tried_once(tmp_path: Path) -> None:
    tries = []

    def fails(folder: Path) -> None:
        tries.append(folder)
        install.run("sh", "-c", "echo 'npm error network' >&2; exit 1")

    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match="tool==1 cannot be installed: npm error network"):
            install.once("tool", ["tool==1"], fails)
    assert len(tries) == 1


def test_without_a_package_index_the_test_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = _program(tmp_path, "ERROR: No matching distribution found for oban==0.7.0")
    monkeypatch.setattr(newer_python, "newer", lambda version: str(pip))
    with pytest.raises(pytest.skip.Exception, match=r"oban==0\.7\.0 cannot be installed: ERROR: No matching"):
        newer_python.environment((3, 12), "oban", "oban==0.7.0")


def test_without_a_newer_python_the_test_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"oban==0\.7\.0 needs Python 3\.99 or newer"):
        newer_python.environment((3, 99), "oban", "oban==0.7.0")


def test_without_a_registry_the_test_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = _program(tmp_path, "npm error code ECONNREFUSED")
    monkeypatch.setattr(node, "node", lambda: npm)
    with pytest.raises(pytest.skip.Exception, match=r"tool@1 cannot be installed: npm error code ECONNREFUSED"):
        node.application(tmp_path / "app.mjs", tmp_path, "tool@1")


def _program(folder: Path, error: str) -> Path:
    """Return a program that fails with this error."""
    program = folder / "bin" / "program"
    program.parent.mkdir()
    bundled = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    bundled.parent.mkdir(parents=True)
    bundled.touch()
    program.write_text(f"#!/bin/sh\necho '{error}' >&2\nexit 1\n")
    program.chmod(0o755)
    return program


def _append(log: Path, folder: Path) -> None:
    with log.open("a") as file:
        file.write(f"{folder}\n")
