"""Small and resized terminals, no colour, no Unicode, and unbound keys."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.proof import most_in_proof
from tests.terminal.driver import Terminal

JOB = "ArchiveDino"


@pytest.mark.parametrize("size", most_in_proof([(60, 24), (40, 10), (80, 24), (200, 60)], unpacked=False), ids=str)
def test_it_is_usable_at_any_size(size: tuple[int, int], eternaltwin_demo: str, tmp_path: Path) -> None:
    columns, height = size
    with Terminal(eternaltwin_demo, home=tmp_path, size=size) as terminal:
        at = terminal.wait_for(JOB, "scheduled", lambda: terminal.at > 0).at
        terminal.wait_for(lambda: "? help" in terminal.rows[-1])
        terminal.press("down").wait_for(lambda: terminal.at == at + 1)
        go_to_finding(terminal, "lost wakeup")
        at = terminal.at
        terminal.press("enter").wait_for("▾ ! lost").press("down").wait_for(lambda: terminal.at == at + 1)
        terminal.press("enter").wait_for("eternaltwin/task:", "W Wake")
        terminal.press("C").wait_for("Cancel: Arch", "Reason").type("why not").wait_for("why not")
        terminal.press("enter").wait_for("Will change 1")
        if height >= 24:
            terminal.wait_for("Don't change", "C apply to 1")
        terminal.press("escape").wait_for("Nothing was changed.").without("Will change 1")
        terminal.press("escape").without("eternaltwin/task:").wait_for("lost wakeup")
        terminal.press("4").without("lost wakeup").press("?").wait_for("/ search")
        assert all(len(row) <= columns for row in terminal.rows)
        assert terminal.leave("q") == 0


def go_to_finding(terminal: Terminal, title: str) -> None:
    """Open the incidents, and move the cursor from the first one down."""
    terminal.press("2").wait_for(lambda: terminal.at > 0).settled()
    terminal.press("home").settled()
    while title not in terminal.under:
        before = words(terminal.under)
        terminal.press("down").wait_for(lambda before=before: words(terminal.under) not in ("", before))  # type: ignore[misc]
    terminal.wait_for("W Wake")


def words(row: str) -> str:
    """Return the begin of a row without numbers: what changes only with the row."""
    return re.sub(r"\d+", "", row[:50])


def test_a_change_in_the_smallest_terminal(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path, size=(40, 10)) as terminal:
        terminal.wait_for(lambda: terminal.at > 0)
        go_to_finding(terminal, "overdue timer")
        terminal.press("W").wait_for("Reason").type("small").wait_for("small").press("enter")
        terminal.wait_for("Will change ").press("W").wait_for("Next:")
        terminal.press("enter").wait_for("W Wake").press("4").wait_for("wake")
        assert terminal.leave("q") == 0


def test_it_follows_the_terminal_as_that_changes(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", JOB, re.compile(r"\d\d stuck"), lambda: terminal.at > 0).settled()
        first = terminal.at
        terminal.press("down", "down").wait_for(lambda: terminal.at == first + 2).settled()
        wide = terminal.under
        for columns, rows in ((60, 20), (20, 5), (1, 1), (3, 40), (200, 50)):
            terminal.resize(columns, rows).settled()
        terminal.resize(120, 36).wait_for("● live", JOB, lambda: terminal.under[:30] == wide[:30])
        terminal.press("C").wait_for("Reason, for the audit log").resize(50, 14).settled().resize(120, 36).settled()
        terminal.wait_for("Reason, for the audit log").press("escape").wait_for("Nothing was changed.")
        assert terminal.leave("q") == 0


def test_keys_that_mean_nothing_do_nothing(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", JOB, re.compile(r"\d\d stuck"), lambda: terminal.at > 0).settled()
        picture = shown(terminal)
        terminal.type("ñZX0;~&|^§äß漢🙂").press(
            "\x1bOS", "\x1b[1;5D", "\x1b[1;9D", "\x1b[57442;5u", "\x1b[M !!", "\x00"
        )
        terminal.wait_for("does nothing").press("escape").settled()
        terminal.type("й").wait_for("й is no command: the keys are Latin.")
        terminal.send(b"\x1b[[A").wait_for("/ search").send(b"\x1bOq").without(
            "/ search"
        ).settled()  # F1; 1 of the keypad
        assert shown(terminal) == picture
        terminal.paste("C\r\rDELETE\r").wait_for("Find in", "C DELETE").press("escape").without("Find in").settled()
        assert shown(terminal) == picture  # pasted text is not a sequence of commands
        assert terminal.leave("q") == 0


def test_a_character_may_come_in_parts(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", JOB).press("/").settled()
        for part in (b"n\xc3", b"\xa4", b"\xf0", b"\x9f\x99", b"\x82", b"x"):
            terminal.send(part).settled(0.1)
        terminal.wait_for("nä🙂x").settled()
        assert (terminal.screen.cursor.hidden, terminal.screen.cursor.x) == (False, 6), "a screen reader follows it"
        terminal.press("left").wait_for(lambda: terminal.screen.cursor.x == 5)
        terminal.press("escape").wait_for(lambda: terminal.screen.cursor.hidden).settled()
        assert terminal.leave("q") == 0


def shown(terminal: Terminal) -> list[str]:
    """The list without what goes on by itself.

    Times are in the last columns and in the preview.
    """
    end = next(number for number, row in enumerate(terminal.rows) if row.startswith("─ This row ─"))
    return [row[:60] for row in terminal.rows[4:end]]


def test_without_colour_the_meaning_stays(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path, NO_COLOR="1") as terminal:
        terminal.wait_for("● live", JOB, "■ blocked", lambda: terminal.at > 0)
        assert all(color == "default" or gray(color) for color in terminal.colors), terminal.colors
        go_to_finding(terminal, "lost wakeup")
        terminal.press("enter").wait_for("▾").press("C").wait_for("Reason, for the audit log")
        assert all(color == "default" or gray(color) for color in terminal.colors), terminal.colors


def test_a_terminal_with_sixteen_colours_gets_its_own(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path, TERM="xterm", COLORTERM="", start="stuck") as terminal:
        terminal.wait_for("● live", re.compile("‼ [a-z]"), re.compile("! [a-z]"), lambda: terminal.at > 0).settled()
        assert not any(re.fullmatch("[0-9a-f]{6}", color) for color in terminal.colors), terminal.colors
        assert {"brightred", "brightbrown"} <= terminal.colors  # critical is not major
        cursor = terminal.screen.buffer[terminal.at]
        assert {cursor[column].bg for column in range(100)} == {"blue"}


def gray(color: str) -> bool:
    red, green, blue = (int(color[i : i + 2], 16) for i in (0, 2, 4))
    return max(red, green, blue) - min(red, green, blue) <= 2


def test_without_unicode_nothing_else_is_sent(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, "--ascii", home=tmp_path) as terminal:
        terminal.wait_for("live", JOB, re.compile("# blocked|blocked"), lambda: terminal.at > 0).press(
            "right"
        ).settled()
        terminal.press("2").wait_for("lost wakeup").press("end").settled().press("right", "down", "enter").wait_for(
            "eternaltwin/"
        )
        terminal.press("C").settled().press("escape").settled().press("escape").settled()
        terminal.press("4").settled().press("?").wait_for("/ search").settled()
        assert terminal.leave("q") == 0
    beyond = {character for character in terminal.raw.decode() if ord(character) > 126}
    assert beyond == set()


@pytest.mark.parametrize(
    ("redirected", "name"), [("0</dev/null", "input"), ("1>out", "output"), ("2>err", "error")], ids=str
)
@pytest.mark.parametrize("command", ["demo", "postgresql://127.0.0.1:1/app"])
def test_a_stream_that_is_no_terminal_is_reported_at_once(
    command: str, redirected: str, name: str, tmp_path: Path
) -> None:
    """Textual draws on stderr: sent to a file, the console would be invisible."""
    shell = ("sh", "-c", f'cd {tmp_path}; exec {sys.executable} -m console "$@" {redirected}', "sh")
    with Terminal(command, home=tmp_path, command=shell) as terminal:
        assert terminal.ended() == 2
    file = tmp_path / "err"
    said = file.read_text() if file.exists() else terminal.raw.decode()
    assert f"The console needs a terminal, but standard {name} is not a terminal." in said
    assert len(said.splitlines()) <= 2
    assert b"\x1b" not in terminal.raw


def test_a_dumb_terminal_still_gets_an_answer(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal("stuck", "-d", eternaltwin_demo, home=tmp_path, TERM="dumb") as terminal:
        assert terminal.ended() == 0
    assert b"lost wakeup" in terminal.raw
    assert b"\x1b" not in terminal.raw
