"""After each way to quit, the terminal is restored and the demo is cleaned up."""

from __future__ import annotations

import signal
import sys
import termios
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.proof import most_in_proof, proof, repeated
from tests.terminal.driver import Terminal

READY = ("● live", "all jobs")


def by_signal(number: signal.Signals) -> Callable[[Terminal], object]:
    def leave(terminal: Terminal) -> object:
        return terminal.signal(number)

    leave.__name__ = number.name
    return leave


def by_key(key: str) -> Callable[[Terminal], object]:
    def leave(terminal: Terminal) -> object:
        return terminal.press(key)

    leave.__name__ = key
    return leave


def name(way: Callable[[Terminal], object]) -> str:
    return way.__name__


SIGNALS = [by_signal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


@pytest.mark.parametrize("way", most_in_proof([by_key("q"), *SIGNALS, by_key("ctrl+c")], 2), ids=name)
def test_the_demo_leaves_nothing(way: Callable[[Terminal], object], place: Path) -> None:
    with Terminal("demo", home=place, TMPDIR=str(place)) as terminal:
        terminal.wait_for(*READY)
        family = [terminal.process, *terminal.process.children(recursive=True)]
        assert any("postgres" in process.name() for process in family)
        assert list(place.glob("unstick-*"))
        assert {25, 1049} <= terminal.modes
        way(terminal)
        code = terminal.ended()
    left_nothing(family, place)
    assert code == 0
    assert terminal.modes == set()
    assert "Traceback" not in terminal.text
    kept, titled, back = (terminal.raw.find(each) for each in (b"\x1b[22;2t", b"\x1b]2;unstick @demo ", b"\x1b[23;2t"))
    assert 0 <= kept < titled < back


@pytest.mark.parametrize("ignored", [(), (signal.SIGINT,)], ids=["", "as a script's background job"])
@pytest.mark.parametrize("way", most_in_proof(SIGNALS), ids=name)
def test_the_demo_leaves_nothing_when_stopped_during_the_start(
    way: Callable[[Terminal], object], ignored: tuple[signal.Signals, ...], place: Path
) -> None:
    with Terminal("demo", home=place, ignored=ignored, TMPDIR=str(place)) as terminal:
        terminal.wait_for(lambda: terminal.process.children() and list(place.glob("unstick-*")))
        family = terminal.process.children(recursive=True)
        way(terminal)
        terminal.ended()
    left_nothing(family, place)
    assert terminal.modes == set()
    assert "Traceback" not in terminal.text


STARTING = """
import os, pathlib, signal, sys, threading, time
start, place = threading.Thread.start, pathlib.Path(os.environ["TMPDIR"])
def interrupted(self):
    start(self)
    if self.name == "demo":
        while not list(place.glob("unstick-*/**/postmaster.pid")):
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)
threading.Thread.start = interrupted
from console.cli.main import main
sys.exit(main())
"""


def test_the_demo_leaves_nothing_when_stopped_while_its_thread_starts(place: Path) -> None:
    command = (sys.executable, "-c", STARTING)
    with Terminal("demo", home=place, command=command, TMPDIR=str(place)) as terminal:
        terminal.ended(60)
        assert "Interrupted." in terminal.text
    left_nothing([], place)


DYING = """
import asyncio, signal, sys
new, loops = asyncio.new_event_loop, []
asyncio.new_event_loop = lambda: loops.append(new()) or loops[-1]
signal.signal(signal.SIGUSR1, lambda *_: loops[0].call_soon_threadsafe(loops[0]._selector.close))
from console.cli.main import main
sys.exit(main())
"""


def test_the_death_of_the_demos_thread_is_a_failure(place: Path) -> None:
    command = (sys.executable, "-c", DYING)
    with Terminal("demo", home=place, command=command, TMPDIR=str(place)) as terminal:
        terminal.wait_for(*READY)
        family = [terminal.process, *terminal.process.children(recursive=True)]
        assert terminal.signal(signal.SIGUSR1).ended() == 1
        assert terminal.modes == set()
    left_nothing(family, place)
    assert b"this is a bug in unstick (ValueError)" in terminal.raw
    assert b"Traceback" not in terminal.raw


@pytest.mark.parametrize("ignored", most_in_proof([(), (signal.SIGHUP,)], unpacked=False), ids=["hangup", "nohup"])
def test_closing_the_window_leaves_nothing(ignored: tuple[signal.Signals, ...], place: Path) -> None:
    with Terminal("demo", home=place, ignored=ignored, TMPDIR=str(place)) as terminal:
        terminal.wait_for(*READY)
        family = [terminal.process, *terminal.process.children(recursive=True)]
        terminal.hang_up()
        left_nothing(family, place)


@proof
def test_being_killed_leaves_nothing(place: Path) -> None:
    with Terminal("demo", home=place, TMPDIR=str(place)) as terminal:
        terminal.wait_for(*READY)
        family = [terminal.process, *terminal.process.children(recursive=True)]
        terminal.signal(signal.SIGKILL)
        left_nothing(family, place)


def left_nothing(family: list[psutil.Process], place: Path) -> None:
    _, alive = psutil.wait_procs([p for p in family if p.is_running() and not zombie(p)], timeout=30)
    assert [p for p in alive if not zombie(p)] == []
    assert list(place.glob("unstick-*")) == []


def zombie(process: psutil.Process) -> bool:
    """Return True for an ended process whose exit status was not collected."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_the_terminal_is_as_it_was(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        before = terminal.settings()
        terminal.wait_for("● live")
        assert not terminal.settings()[3] & termios.ECHO
        assert terminal.leave("q") == 0
        assert terminal.modes == set()
        assert terminal.settings() == before


def test_a_dialog_can_be_left_with_the_console(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", lambda: terminal.at > 0).press("C").wait_for("Reason, for the audit log")
        assert terminal.leave("ctrl+c") == 0
        assert terminal.modes == set()


def draws(terminal: Terminal, rows: int) -> bool:
    """Return True if at least that number of rows are not blank."""
    return sum(map(bool, terminal.rows)) >= rows


@repeated(1, 10)
def test_it_comes_back_from_the_background(eternaltwin_demo: str, tmp_path: Path, times: int) -> None:
    """Everything is painted again, and no key is lost."""
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        before = terminal.settings()
        terminal.wait_for("● live", "C Cancel", lambda: terminal.at > 0)
        drawn = {}
        for key, shown in (("2", "lost wakeup"), ("1", "all jobs")):
            terminal.press(key).wait_for(shown).settled()
            drawn[key] = sum(map(bool, terminal.rows))
        for key, shown in (("2", "lost wakeup"), ("1", "all jobs")) * times:
            terminal.signal(signal.SIGTSTP).wait_for(lambda: terminal.process.status() == psutil.STATUS_STOPPED)
            terminal.wait_for(lambda: terminal.modes == set()).settled()  # what it wrote may still be on its way
            terminal.clear()  # the shell's own lines
            terminal.signal(signal.SIGCONT)
            terminal.press(key).wait_for(shown, "● live", lambda: {25, 1049} <= terminal.modes)
            terminal.wait_for(partial(draws, terminal, drawn[key]))
        assert terminal.leave("q") == 0
        assert terminal.modes == set()
        assert terminal.settings() == before
        assert terminal.raw.count(b"\x1b[<u") == terminal.raw.count(b"\x1b[>")


def test_ctrl_z_suspends_from_a_page_and_from_a_dialog(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        before = terminal.settings()
        terminal.wait_for("● live", "C Cancel", lambda: terminal.at > 0)
        for open_, shown in (((), "all jobs"), (("C",), "Reason, for the audit log")):
            terminal.press(*open_).wait_for(shown).press("ctrl+z")
            terminal.wait_for(
                lambda: terminal.process.status() == psutil.STATUS_STOPPED, lambda: terminal.modes == set()
            )
            assert terminal.settings()[:4] == before[:4]
            drawn = sum(map(bool, terminal.rows))
            terminal.clear()  # the shell's own lines
            terminal.signal(signal.SIGCONT).wait_for(lambda: 1049 in terminal.modes, shown)
            # what the terminal cleared is painted again
            terminal.wait_for(partial(draws, terminal, drawn))
        terminal.press("escape").wait_for("Nothing was changed.")
        assert terminal.leave("q") == 0
