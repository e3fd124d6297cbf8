"""Bytes that are no text, a thread that dies, tmux, GNU screen, and the mouse."""

from __future__ import annotations

import base64
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.driver import Terminal

# Latin-1, Alt-a with 8-bit meta, a paste, a cut character, GBK
VECTORS = (b"\xe9", b"\xe1", b"\x1b[200~caf\xe9 \xfc\x1b[201~", b"\xe2\x821", b"\xc4\xe3")
COPIED = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07")
STRICT = """
from console.tui import textual_compat as driver
strict = driver.decoder
driver.decoder = lambda errors: strict()
"""
PAINTED = f"""{STRICT}
leave = driver.Terminal.stop_application_mode
driver.Terminal.stop_application_mode = lambda self: (leave(self), self._app.screen._compositor_refresh())
"""
FULL = """
import os, signal
sys.__stderr__ = open(os.dup(2), "w")
full = os.open("/dev/full", os.O_WRONLY)
signal.signal(signal.SIGUSR1, lambda *_: os.dup2(full, sys.__stderr__.fileno()))
"""
RUN = "import sys{}from console.cli.main import main\nsys.exit(main())"


@pytest.mark.parametrize("place", ["list", "reason", "filter"])
def test_bytes_that_are_no_utf8_are_replaced(place: str, eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        at = terminal.wait_for("● live", "C Cancel", lambda: terminal.at > 0).at
        if place == "reason":
            terminal.press("C").wait_for("Reason, for the audit log")
        elif place == "filter":
            terminal.press("/").wait_for("words, field:value")
        for number, vector in enumerate(VECTORS):
            terminal.send(vector).settled()  # longer than the pause after which an escape is a key
            if place == "list":
                if b"caf" in vector:  # a list opens the search with what is pasted
                    terminal.wait_for("Find in all", "caf� �").press("escape").without("Find in all")
                below = 1 - number % 2
                terminal.press("down" if below else "up").wait_for(lambda row=at + below: terminal.at == row)  # type: ignore[misc]
            else:
                terminal.type(f"<{number}>").wait_for(f"<{number}>")
        if place != "list":
            terminal.wait_for("�", re.compile("caf� �"))
            terminal.press("escape").without("<4>")
        assert terminal.leave("ctrl+c") == 0


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (STRICT, b"a bug in unstick (UnicodeDecodeError)"),
        (PAINTED, b"a bug in unstick (UnicodeDecodeError)"),
        (FULL, b"cannot be used any more: No space left on device."),
    ],
    ids=["reads", "paints", "writes"],
)
def test_the_death_of_a_thread_of_the_terminal_is_a_failure(
    cause: str, said: bytes, eternaltwin_demo: str, tmp_path: Path
) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path, command=(sys.executable, "-c", RUN.format(cause))) as terminal:
        terminal.wait_for("● live", lambda: terminal.at > 0)
        if cause == FULL:
            terminal.signal(signal.SIGUSR1)
        assert terminal.send(b"\xe9j").ended() == 1
        assert cause == FULL or terminal.modes == set()
    assert said in terminal.raw
    assert b"Traceback" not in terminal.raw


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_has_what_is_copied(eternaltwin_demo: str, tmp_path: Path, place: Path) -> None:
    """By default tmux ignores OSC 52 of programs."""
    tmux = ("tmux", "-S", str(place / "tmux"), "-f", "/dev/null")
    command = (*tmux, "new-session", sys.executable, "-m", "console")
    with Terminal(eternaltwin_demo, home=tmp_path, command=command) as terminal:
        terminal.wait_for("● live", "C Cancel", lambda: terminal.at > 0).press("y").wait_for("Markdown")
        terminal.press("enter").wait_for("Copied: id.")
        buffer = subprocess.run([*tmux, "show-buffer"], capture_output=True, text=True, check=True).stdout
        assert re.fullmatch("eternaltwin/job:[0-9a-f-]+", buffer)
        terminal.leave("q")


@pytest.mark.skipif(shutil.which("screen") is None, reason="screen is not installed")
def test_gnu_screen_passes_on_what_is_copied_and_256_colours(
    eternaltwin_demo: str, tmp_path: Path, place: Path
) -> None:
    (sockets := place / "screens").mkdir(mode=0o700)
    command = ("screen", "-U", "-c", "/dev/null", "-T", "screen-256color", sys.executable, "-m", "console")
    with Terminal(eternaltwin_demo, home=tmp_path, command=command, SCREENDIR=str(sockets)) as terminal:
        terminal.wait_for("● live", "C Cancel", lambda: terminal.at > 0).press("y").wait_for("Markdown")
        terminal.press("down", "enter").wait_for("Sent to the terminal: row as JSON.")
        terminal.wait_for(lambda: COPIED.search(terminal.raw))
        assert b'"id": "eternaltwin/job:' in base64.b64decode(COPIED.findall(bytes(terminal.raw))[-1])
        assert "00005f" in terminal.colors  # the cursor: the dark blue of 256 colours
        assert not re.search("[A-Za-z0-9+/]{60}", terminal.text), "the rest of a long sequence is not printed"
        terminal.leave("q")


def test_the_mouse_may_be_left_to_the_terminal(eternaltwin_demo: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('start = "tree"\nmouse = false\n')
    with Terminal(eternaltwin_demo, home=tmp_path, UNSTICK_CONFIG=str(settings)) as terminal:
        terminal.wait_for("● live", lambda: terminal.at > 0)
        assert not terminal.modes & {1000, 1002, 1003, 1006, 1015}
        assert terminal.leave("q") == 0


def test_ctrl_c_after_a_drag_asks_once(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", lambda: terminal.at > 0, lambda: 1003 in terminal.modes)
        terminal.send(b"\x1b[<0;10;8M").send(b"\x1b[<32;30;9M").send(b"\x1b[<0;30;9m").settled()
        terminal.press("ctrl+c").wait_for("Nothing was copied: hold Shift while you drag. Ctrl-C again quits.")
        assert terminal.leave("ctrl+c") == 0
