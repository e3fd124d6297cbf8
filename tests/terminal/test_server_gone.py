"""The server stops and restarts while a console is open."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.proof import most_in_proof
from tests.servers import PostgresServer
from tests.terminal.driver import Terminal


@pytest.fixture
def dsn(own_server: PostgresServer) -> str:
    return own_server.fresh("eternaltwin", filled=True)


@pytest.fixture
def terminal(dsn: str, tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(dsn, "--interval", "0.5", home=tmp_path) as terminal:
        yield terminal.wait_for("● live", "ArchiveHammerfestUser", re.compile(r"\d\d stuck"), lambda: terminal.at > 0)


@pytest.mark.parametrize("how", most_in_proof(["fast", "immediate"]))
def test_the_picture_stays_keys_work_and_it_comes_back(
    terminal: Terminal, own_server: PostgresServer, how: str
) -> None:
    own_server.halt(how)  # type: ignore[arg-type]
    terminal.wait_for(re.compile(r"no connection, \d+s old"), "ArchiveHammerfestUser")

    def picture() -> list[str]:
        return [row[1:119].rstrip() for row in terminal.rows[4:20]]  # without the cursor, and the bar that scrolls

    rows, first = picture(), terminal.at
    terminal.press("down", "down").wait_for(lambda: terminal.at == first + 2)
    assert picture() == rows
    terminal.press("/").wait_for("words, field:value").type("phase:blocked").wait_for("filter: phase:blocked")
    terminal.press("enter").press("escape").without("filter:")
    terminal.press("2").wait_for("lost wakeup").press("?").wait_for("/ search").press("1").wait_for("all jobs")
    terminal.wait_for(re.compile(r"no connection, ([5-9]|[1-5]\d)s old|no connection, \d+m"))  # it goes on growing old

    own_server.start()
    terminal.wait_for("● live").without("no connection")
    terminal.press("right").wait_for(lambda: "▾" in terminal.under)  # and it reads again
    assert terminal.leave("q") == 0


@contextlib.contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    """Stop all processes of the server, so that it neither answers nor disconnects."""
    assert server.pid is not None
    postmaster = psutil.Process(server.pid)
    family = [postmaster, *postmaster.children(recursive=True)]
    for process in family:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in family:
            process.send_signal(signal.SIGCONT)


def test_a_stopped_server_does_not_hold_the_keys(terminal: Terminal, own_server: PostgresServer) -> None:
    with stopped(own_server):
        terminal.wait_for("ArchiveHammerfestUser")
        first = terminal.at
        terminal.press("down", "down", "2").wait_for("incident", "lost wakeup", seconds=6)  # a hung read ends after 7 s
        terminal.press("1").wait_for(lambda: terminal.at == first + 2)
    terminal.wait_for("● live")
    assert terminal.leave("q") == 0


def test_leaving_does_not_wait_for_a_stopped_server(terminal: Terminal, own_server: PostgresServer) -> None:
    with stopped(own_server):
        terminal.wait_for(re.compile(r"\d+s old")).press("q")
        assert terminal.ended(10) == 0
        assert terminal.modes == set()


def test_there_never_is_a_server(own_server: PostgresServer, dsn: str, tmp_path: Path) -> None:
    own_server.halt("fast")
    with Terminal(dsn, home=tmp_path) as terminal:
        terminal.wait_for("Not connected yet.")
        assert terminal.leave("q") == 1  # it never connected
        assert terminal.modes == set()
