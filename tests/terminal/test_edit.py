"""Edit the state of a task in an editor that a key opens."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.command import environment, fetch
from tests.db.eternaltwin import EternaltwinDb
from tests.terminal.driver import Terminal

STATE = "SELECT convert_from(state, 'UTF8') FROM task"
OPEN = """
SELECT pid FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
   AND (xact_start IS NOT NULL OR state <> 'idle')
"""
# It prints a line, waits for the file "go", and replaces the text by that file's content, if it has any.
EDITOR = """
import pathlib, sys, time
path, home = pathlib.Path(sys.argv[-1]), pathlib.Path({home!r})
print("the editor", "of", path.read_text().count("\\n"), "lines", flush=True)
(home / "seen.new").write_text(str(path))
(home / "seen.new").rename(home / "seen")
while not (home / "go").exists():
    time.sleep(0.01)
text = (home / "go").read_text()
(home / "go").unlink()
if text:
    path.write_text(text)
"""


class Desk:
    """A terminal with a task under the cursor, and the scripted editor."""

    def __init__(self, terminal: Terminal, home: Path) -> None:
        self.terminal = terminal
        self._home = home

    def begin(self) -> None:
        """Move the cursor to the task."""
        self.terminal.wait_for("● live").press("l")
        self.terminal.wait_for("most urgent first", lambda: "○ Available" in self.terminal.under)

    def open(self) -> Path:
        """Press the key and wait for the editor. Returns its file."""
        self.terminal.press("J")
        return self.opened()

    def opened(self) -> Path:
        """Wait for the editor, which has the terminal."""
        seen = self._home / "seen"
        self.terminal.wait_for("the editor of", lambda: self.terminal.modes == set(), seen.exists)
        path = Path(seen.read_text())
        seen.unlink()
        return path

    def close(self, text: str = "") -> None:
        """Store a text and end the editor."""
        waiting = self._home / "text"
        waiting.write_text(text)
        waiting.rename(self._home / "go")

    def process(self) -> psutil.Process:
        return self.terminal.process.children()[0]


async def filled(dsn: str, state: bytes) -> None:
    eternaltwin_db = await EternaltwinDb.open(dsn)
    await eternaltwin_db.task(kind="SendEmail", version=2, state=state)
    await eternaltwin_db.connection.close()


@pytest.fixture
def at_desk(eternaltwin: str, tmp_path: Path) -> Callable[[], Any]:
    asyncio.run(filled(eternaltwin, b'{"phase": "Compost", "id": 1.50}'))
    script = tmp_path / "editor.py"
    script.write_text(EDITOR.format(home=str(tmp_path)))

    def start() -> Terminal:
        return Terminal(eternaltwin, home=tmp_path, EDITOR=f"{sys.executable} {script}", XDG_RUNTIME_DIR=str(tmp_path))

    return start


def test_a_key_opens_the_editor_and_the_dry_run(eternaltwin: str, at_desk: Callable[[], Any], tmp_path: Path) -> None:
    with at_desk() as terminal:
        desk = Desk(terminal, tmp_path)
        desk.begin()
        path = desk.open()
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert fetch(eternaltwin, OPEN) == []
        desk.close("{")
        terminal.wait_for("not JSON", lambda: {25, 1049} <= terminal.modes).press("enter")
        path = desk.opened()
        desk.close('{"phase": "Compose", "id": 1.50}')
        terminal.wait_for("Reason, for the audit log").type("wrong phase").wait_for("wrong phase").press("enter")
        terminal.wait_for("J apply to 1 task", '-   "phase": "Compost"', '+   "phase": "Compose"', "Compared with")
        terminal.press("J").wait_for("1 changed")
        assert fetch(eternaltwin, STATE) == [('{"phase": "Compose", "id": 1.50}',)]
        assert not path.parent.exists()
        terminal.press("enter").settled()
        assert terminal.leave("q") == 0


def test_an_editor_that_fails_changes_nothing(eternaltwin: str, at_desk: Callable[[], Any], tmp_path: Path) -> None:
    with at_desk() as terminal:
        desk = Desk(terminal, tmp_path)
        desk.begin()
        path = desk.open()
        desk.process().send_signal(signal.SIGKILL)
        terminal.wait_for("The editor was ended by SIGKILL. Nothing was changed.", lambda: {25, 1049} <= terminal.modes)
        assert not path.parent.exists()
        terminal.press("down")  # what was typed on for the dialog is ignored up to this key
        path = desk.open()
        desk.close()
        terminal.wait_for("The text is unchanged", "Nothing was changed.", lambda: {25, 1049} <= terminal.modes)
        terminal.press("down")
        path = desk.open()
        terminal.signal(signal.SIGTERM)
        terminal.ended()
        assert not path.parent.exists()
        assert terminal.modes == set()
    assert fetch(eternaltwin, STATE) == [('{"phase": "Compost", "id": 1.50}',)]


def test_a_command_of_the_settings_runs_with_whole_fields_and_no_shell(
    eternaltwin: str, at_desk: Callable[[], Any], tmp_path: Path
) -> None:
    settings = Path(environment(tmp_path)["XDG_CONFIG_HOME"], "unstick", "config.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f'[commands]\nlogs = ["{sys.executable}", "-c", "import sys; print(len(sys.argv), *sys.argv[1:])", "{{title}}",'
        ' "$(id);", "{status}"]\nrunbook = ["true", "{owner}"]\nodd = ["false"]\n'
    )
    settings.chmod(0o600)
    with at_desk() as terminal:
        desk = Desk(terminal, tmp_path)
        desk.begin()
        terminal.press("c").wait_for("logs", "  SendEmail v2 ", "  $(id); ", "  Available ").press("enter")
        terminal.wait_for("4 SendEmail v2 $(id); Available", "Press Enter", lambda: terminal.modes == set())
        terminal.press("enter").wait_for("has ended.", lambda: {25, 1049} <= terminal.modes)
        terminal.press("c").wait_for("runbook").press("down").wait_for("The owner of this task is not recorded.")
        terminal.press("enter").wait_for("Nothing was run.").press("down").press("enter")
        terminal.wait_for("Press Enter", lambda: terminal.modes == set()).press("enter")
        terminal.wait_for("The command ended with the exit code 1.", lambda: {25, 1049} <= terminal.modes)
        terminal.settled()
        assert terminal.leave("q") == 0
