"""An idle console changes nothing; its picture is whole though sent in parts."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.command import fetch
from tests.terminal.driver import Terminal

STARTS = "SELECT query_start FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
BLINKING = {5, 6}
WAKES = 8  # at most, of all threads for one second of age
WHOLE = 3000  # at least, for the whole picture


def age_of(terminal: Terminal) -> int:
    found = re.search(r"paused, (\d+)s old", terminal.rows[0])
    return int(found[1]) if found else -1


def picture(terminal: Terminal) -> list[list[object]]:
    """Return the cells below the header; blanks have no colour of text.

    A line with ages is skipped.
    """
    screen = terminal.screen
    shown = [y for y in range(1, screen.lines) if " new (n): " not in screen.display[y]]
    cells = [[screen.buffer[y][x] for x in range(screen.columns)] for y in shown]
    return [[(cell.data, cell.bg) if cell.data == " " else cell for cell in row] for row in cells]


def wakes(pid: int) -> int:
    """Return how often the threads of a process have waited for something so far."""
    statuses = Path(f"/proc/{pid}/task").glob("*/status")
    return sum(
        int(re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", each.read_text(), re.MULTILINE)[0]) for each in statuses
    )


def test_the_first_list_keeps_its_places(eternaltwin_demo: str, tmp_path: Path) -> None:
    """A slow machine shows after 400 ms what is there, and again what was read then."""
    with Terminal(eternaltwin_demo, home=tmp_path, start="stuck") as terminal:
        terminal.wait_for("● live", "overdue timer", lambda: terminal.at > 0).settled()
        assert len(set(re.findall(rb"incident +(?:\x1b\[[0-9;]*m *)*nodes", terminal.raw))) <= 2
        assert terminal.leave("q") == 0


def test_what_was_read_is_painted_before_there_is_news(eternaltwin_demo: str, tmp_path: Path) -> None:
    """The next news comes after a minute, with more than a hundred reads."""
    starts: set[object] = set()
    with Terminal(eternaltwin_demo, "--interval", "0.5", home=tmp_path) as terminal:

        def shown() -> bool:
            starts.update(fetch(eternaltwin_demo, STARTS))
            return "ArchiveDino" in terminal.text and terminal.at > 0

        terminal.wait_for(shown)
        assert len(starts) < 20
        assert terminal.leave("q") == 0


def test_a_paused_console_changes_only_the_age_of_its_picture(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", "stuck", lambda: terminal.at > 0).press("p").wait_for(lambda: age_of(terminal) >= 2)
        first, picture = age_of(terminal), terminal.rows[1:]
        terminal.wait_for(lambda: age_of(terminal) >= first + 4)
        assert terminal.rows[1:] == picture
        assert terminal.leave("q") == 0
    assert not BLINKING & terminal.attributes
    assert b"\x1b[?12h" not in terminal.raw  # nor does the cursor blink


# Keys, and a text that shows that they were handled.
STEPS = (
    ("jj ", " marked"),
    ("4", "Every change is recorded here"),
    ("2", re.compile(r"(?<!of )10 incidents")),
    ("/di", "3 of 10 incidents"),
    ("\x1b", re.compile(r"(?<!of )10 incidents")),
    ("1", "all jobs, attention first"),
    ("s", "sorted by task"),
    ("?", "/ search  esc back"),
    ("\x1b", "sorted by task"),
    ("l", "unfinished, most urgent first"),
)


@pytest.mark.parametrize("start", ["tree", "stuck"])
def test_what_was_sent_in_parts_is_the_whole_picture(start: str, eternaltwin_demo: str, tmp_path: Path) -> None:
    """Only what may have changed is sent, but all of it after the program was stopped."""
    with Terminal(eternaltwin_demo, home=tmp_path, start=start) as terminal:
        terminal.wait_for("● live", "stuck", lambda: terminal.at > 0).press("p", "z").wait_for("paused")  # no ages
        for keys, shown in STEPS:
            before = picture(terminal.type(keys).wait_for(shown).settled())
            sent = len(terminal.raw)
            terminal.signal(signal.SIGCONT).wait_for(lambda sent=sent: len(terminal.raw) - sent > WHOLE).settled()
            assert picture(terminal) == before, keys
        terminal.signal(signal.SIGTERM)


def test_a_paused_console_wakes_only_for_the_age(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", "stuck", lambda: terminal.at > 0).press("p").wait_for(lambda: age_of(terminal) >= 2)
        first, before = age_of(terminal), wakes(terminal.process.pid)
        terminal.wait_for(lambda: age_of(terminal) >= first + 4)
        assert wakes(terminal.process.pid) - before <= (age_of(terminal) - first + 1) * WAKES
        assert terminal.leave("q") == 0
