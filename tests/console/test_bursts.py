"""Keys and text that arrive faster than a screen opens.

Nothing crashes, and no text runs as commands. Each burst is two keys, or an opening key and a text, sent at once to a
real console on a real database. `make proof` tries every first key on every page, each with a few second keys;
``make proof ROUNDS=2`` tries every pair.

Random bursts of keys, clicks and pasted text, each with a seed of its own, run on all pages and dialogs of a database
that was broken by hand.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
from textual import events
from textual.command import CommandPalette
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from console.config import INTERVAL_SECONDS
from console.tui import clipboard, keymap
from console.tui.app import UnstickApp
from console.tui.screens.audit_entry import AuditEntryScreen
from console.tui.screens.change import ChangeDialog
from console.tui.screens.confirm_scan import ConfirmScanDialog, confirm_scan
from console.tui.screens.list_screen import ListScreen
from console.tui.screens.prompt import PromptDialog
from console.tui.screens.result import ResultDialog
from console.tui.screens.text_screen import TextScreen
from console.tui.screens.tree import TreeScreen
from queries.log import audit_log
from queries.records.node import ScanRequired
from tests.console.test_redrive_keys import begin
from tests.console.test_redrive_kills import CASES, executing, fill_tasker
from tests.console.test_undo_keys import confirmed
from tests.console.tui_driver import TuiDriver, clicked, run_tui, typed
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import ROUNDS, most_in_proof, proof, repeated
from tests.servers import PostgresServer
from tests.terminal.driver import Terminal

EVERY = ROUNDS > 1
SECONDS = 3  # second keys that are tried after each first key in addition to MAIN_KEYS, unless every pair is
MAIN_KEYS = ("p", "q")
PARTS = 8  # of a page's first keys, each a test of its own
INTERVAL = 1.0
PAGES = ("tree", "stuck", "dead", "audit", "changed", "help", "detail")
WRITTEN = {
    "question_mark": "?", "plus": "+", "equals_sign": "=", "minus": "-", "colon": ":", "slash": "/", "asterisk": "*",
    "space": " ", "left_square_bracket": "[", "right_square_bracket": "]",
}  # fmt: skip
BURSTS = ["r3", "timer missed", "3241r", "r2", "rd", "rs", "r4", "rg", "r?", "3r", "dtsr"]
TEXTS = ("phase:failed", "abc", "requeue prod", "q", "timer missed", "dt*spr:41C2W", "test\rprod\r", "x\rq\r")


def names(*tables: tuple[keymap.Key, ...]) -> set[str]:
    return {part for table in tables for key in table for part in key.keys.split(",")}


MODES = {
    WRITTEN.get(part, part): key.id[5:]
    for key in keymap.APP
    if key.id.startswith("mode.")
    for part in key.keys.split(",")
}
ALWAYS = names(tuple(key for key in keymap.APP if key.always and key.handler == "app.quit"))
# They go to the tree where there is a node, or to a page that was visited before.
TRAVEL = {"o", "[", "]", "alt+left", "alt+right"}
BACK = {"escape", "backspace"}  # go to the page before the help
LOOKING = sorted(WRITTEN.get(name, name) for name in names(*keymap.TABLES.values()))


class Counting(UnstickApp):
    """A console that counts how often the operator left it, and stays."""

    left = 0

    async def action_quit(self) -> None:
        self.left += 1


class State(NamedTuple):
    """State that keys can change outside of fields and dialogs."""

    mode: str
    paused: bool
    interval: float
    left: int
    filter: str
    marks: frozenset[str]

    def after(self, key: str) -> State:
        """The state after a command, as far as this does not depend on what has been read."""
        step = {"+": 1, "=": 1, "-": -1}.get(key, 0)
        return self._replace(
            mode=MODES.get(key, self.mode),
            paused=self.paused != (key == "p"),
            interval=INTERVAL_SECONDS[
                min(max(INTERVAL_SECONDS.index(self.interval) + step, 0), len(INTERVAL_SECONDS) - 1)
            ],
            left=self.left + (key == "q" or key in ALWAYS),
        )


class Console:
    """State with a page to come back to after each burst."""

    def __init__(self, tui: TuiDriver, page: str) -> None:
        assert isinstance(tui.app, Counting)
        self.tui = tui
        self.app = tui.app
        self.page = page
        self.bursts = 0

    @property
    def tree(self) -> TreeScreen:
        return next(page for page in self.lists if isinstance(page, TreeScreen))

    @property
    def pages(self) -> list[Screen[object]]:
        """The first pages of the modes, as far as they were opened."""
        return [stack[0] for stack in self.app._screen_stacks.values() if stack]

    @property
    def lists(self) -> list[ListScreen]:
        """Lists among them."""
        return [page for page in self.pages if isinstance(page, ListScreen)]

    @property
    def state(self) -> State:
        node_list = self.tree.rows
        return State(
            mode=self.app.current_mode,
            paused=self.app.session.paused,
            interval=self.app.session.timer.interval,
            left=self.app.left,
            filter="".join(line.value for page in self.pages for line in page.query("#filter, #search").results(Input)),
            marks=frozenset(node_list.marks if node_list else ()),
        )

    @property
    def field(self) -> Input | None:
        """The field with the focus."""
        return self.app.focused if isinstance(self.app.focused, Input) else None

    @property
    def taking(self) -> bool:
        """Return True if a field or dialog takes the keys."""
        return isinstance(self.app.screen, ModalScreen) or self.field is not None

    async def home(self) -> None:
        """Close everything, undo everything, and go to the page."""
        app, tree, pages = self.app, self.tree, 2 if self.page == "detail" else 1
        app.keyboard.put(NOTHING)  # text after a refusal is ignored until another key
        await self.tui.handled()
        mode = "tree" if self.page == "detail" else self.page
        while isinstance(app.screen, ModalScreen):
            if isinstance(app.screen, CommandPalette):
                await self.tui.burst("escape")  # it ends its search first
                continue
            app.screen.dismiss(None)
            await self.tui.handled()
            app.keyboard.put(NOTHING)  # dialogs that follow each other
            await self.tui.handled()
        for page in self.lists:
            if page.query("#filter") and page.filtering:
                page.clear_filter()
        for text_page in {*self.pages, app.screen}:
            if isinstance(text_page, TextScreen):
                text_page.on_filter_line_left()
        if tree.rows is not None and tree.rows.marks:
            tree.rows.marks.clear()
        if app.current_mode != mode:
            app.switch_mode(mode)
        while len(app.screen_stack) > pages:
            app.pop_screen()
        if len(app.screen_stack) < pages:
            await self.tui.burst("home", "enter")
        app.session.paused, app.left = False, 0
        while app.session.timer.interval != INTERVAL:
            app.session.pick_interval(1 if app.session.timer.interval < INTERVAL else -1)
        await self.tui.handled()

    async def burst(self, *keys: str) -> State:
        """Go home and send keys at once; the state after that."""
        await self.home()
        await self.tui.burst(*keys)
        self.bursts += 1
        return self.state


NOTHING = events.Key("f24", None)


@contextlib.asynccontextmanager
async def console(dsn: str, folder: Path, page: str) -> AsyncIterator[Console]:
    async with run_tui(dsn, folder, size=(80, 24), interval=INTERVAL, kind=Counting) as tui:
        await tui.wait_for(
            "● live", lambda: tui.app.session.state.findings_loaded, lambda: len(tui.app.screen.targets()) == 1
        )
        for mode in ("stuck", "dead", "audit", "changed", "help", "tree"):  # each has been read before the first burst
            tui.app.switch_mode(mode)
            await tui.wait_for(lambda mode=mode: tui.app.current_mode == mode, "● live")
        with tui.app.batch_update():  # painting takes four fifths of the time
            yield Console(tui, page)


def printable(key: str) -> bool:
    return len(key) == 1


@proof
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("page", PAGES)
async def test_every_key_followed_at_once_by_another(
    eternaltwin_demo: str, tmp_path: Path, page: str, part: int
) -> None:
    chosen = random.Random(f"{page} {part}")
    async with console(eternaltwin_demo, tmp_path, page) as it:
        every = [*LOOKING, *sorted(it.app.keys.actions), "Z", "9", "ä"]
        for first in every[part::PARTS]:
            alone = await it.burst(first)
            field, modal = it.field is not None, isinstance(it.app.screen, ModalScreen)
            palette = isinstance(it.app.screen, CommandPalette)
            for second in every if EVERY else [*MAIN_KEYS, *chosen.sample(every, SECONDS)]:
                state = await it.burst(first, second)
                if palette and second == "enter":
                    continue  # it runs the command in front, which only looks: a page other than this
                if modal or (field and printable(second)):
                    typed = second if field and not modal and page != "detail" else ""  # there it is searched for
                    wanted = alone._replace(left=alone.left + (second in ALWAYS), filter=alone.filter + typed)
                    assert state == wanted, (first, second)
                    if field and printable(second):
                        assert it.field is not None
                        assert it.field.value == second, (first, second)
                else:
                    backs = {second if alone.mode == "help" else first if page == "help" else ""} & BACK
                    travels = backs or {first, second} & TRAVEL
                    mode = {"mode": state.mode} if travels else {}
                    wanted = alone.after(second)._replace(**mode)
                    ignored = it.app.keyboard.ignoring and state[:4] == alone[:4]  # typed on after a refusal
                    assert ignored or state[:4] == wanted[:4], (first, second)
        print(f"{page} {part}: {it.bursts} bursts")


@pytest.mark.parametrize("page", most_in_proof(PAGES, 0))
async def test_text_after_a_key_that_opens_never_runs_as_commands(
    eternaltwin_demo: str, tmp_path: Path, page: str
) -> None:
    chosen = random.Random(page)
    async with console(eternaltwin_demo, tmp_path, page) as it:
        await it.home()
        before = it.state
        for opener in ("/", "f", *it.app.keys.actions, "Z"):
            for text in TEXTS if EVERY else chosen.sample(TEXTS, 2):
                state = await it.burst(opener, *text.replace("\r", ""))
                filtering = opener == "/" and page != "detail"
                assert state == before._replace(filter=text.replace("\r", "") if filtering else ""), (opener, text)
                assert it.taking or it.app.keyboard.ignoring
                if isinstance(it.app.screen, ChangeDialog | PromptDialog):
                    assert it.field is not None
                    assert it.field.value == text.replace("\r", "")
                if "\r" in text and isinstance(it.app.screen, ChangeDialog):
                    state = await it.burst(opener, *("enter" if each == "\r" else each for each in text))
                    assert state == before, (opener, text)
        print(f"{page}: {it.bursts} bursts")


@pytest.mark.parametrize("page", most_in_proof(PAGES))
async def test_pasted_text_never_runs_as_commands(eternaltwin_demo: str, tmp_path: Path, page: str) -> None:
    async with console(eternaltwin_demo, tmp_path, page) as it:
        await it.home()
        before = it.state
        for dialog in ("", ":", "y", "W", "Z", "f", "/"):
            for text in ("/phase:failed", "q", "C\r\rDELETE\r", "*dp:\nf", "\n", ""):
                await it.burst(*filter(None, [dialog]))
                await it.tui.paste(text)
                assert it.state == before._replace(filter=it.state.filter), (dialog, text)
                if not dialog:
                    assert it.field is not None
                    assert it.field.value == " ".join(text.split())


@pytest.mark.parametrize("burst", most_in_proof(BURSTS))
async def test_a_mode_that_is_first_opened_during_a_refresh(eternaltwin_demo: str, tmp_path: Path, burst: str) -> None:
    async with run_tui(eternaltwin_demo, tmp_path, kind=Counting) as tui:
        await tui.wait_for("● live")
        await tui.burst(*burst)
        await tui.wait_for(lambda: tui.app.screen.is_mounted)
        assert tui.app.fault is None


@pytest.mark.parametrize(
    "key", most_in_proof(["enter", "pagedown", "pageup", "down", "up", "home", "end", "escape"], 2)
)
async def test_a_key_in_the_palette_before_its_list_is_there(eternaltwin: str, tmp_path: Path, key: str) -> None:
    async with run_tui(eternaltwin, tmp_path, kind=Counting) as tui:
        await tui.wait_for("● live")
        with tui.app.batch_update():
            for _ in range(5):
                await tui.burst(":", key)
                if isinstance(tui.app.screen, CommandPalette):
                    await tui.burst("escape")
        assert tui.app.fault is None


BROKEN = """
DELETE FROM task_timer WHERE deadline > (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY deadline) FROM task_timer);
UPDATE task SET polled_at = NULL, revision = 0 WHERE status = 'Complete';
ALTER TABLE task DISABLE TRIGGER ALL;
UPDATE task SET job_id = gen_random_uuid() WHERE status = 'Blocked' AND revision % 2 = 0;
DELETE FROM task WHERE job_id IN (SELECT job_id FROM job ORDER BY job_id LIMIT 3);
"""
PHRASES = (
    ("C", "x", "enter"), ("W", "x", "enter", "W"), ("R", "x", "enter", "b"), ("D", "x", "enter", "enter"), ("Z",),
    ("*", "C", "x", "enter", "C"), ("/", "phase:failed", "enter"), ("f", "a", "enter"), ("f", "SendEmail", "enter"),
    ("colon", "a", "enter"), ("ctrl+p",), ("ctrl+p", "down", "enter"), ("y", "enter"), ("y", "s"), ("4", "enter", "U"),
    ("end",), ("home", "enter"), ("enter", "x"), ("tab", "tab", "enter"), ("escape", "escape"), ("right", "end"),
)  # fmt: skip
PER_CONSOLE = 40  # random bursts, one after another without going back
SIZES = ((80, 24), (120, 40), (30, 8))


def random_events(chosen: random.Random, tui: TuiDriver) -> list[events.Event]:
    """Return events of keys, clicks, pasted text, and a change of the size."""
    keys = [*LOOKING, *sorted(tui.app.keys.actions), "enter", "escape", "tab", "backspace", "q", "9", "ä"]
    found: list[events.Event] = []
    if isinstance(tui.app.screen, ChangeDialog):
        found += typed(chosen.choice("CWRD"))  # commits
    for _ in range(chosen.randint(1, 4)):
        kind = chosen.random()
        if kind < 0.3:
            found += typed(*chosen.choice(PHRASES))
        elif kind < 0.6:
            found += typed(*chosen.choices(keys, k=chosen.randint(1, 4)))
        elif kind < 0.95:
            shown = [each.region for each in tui.app.screen.query("*") if each.region and each.display]
            region = chosen.choice(shown or [tui.app.size.region])
            place = chosen.randrange(region.x, region.right), chosen.randrange(region.y, region.bottom)
            found += [event for _ in range(chosen.randint(1, 3)) for event in clicked(*place)]
        elif kind < 0.98:
            found.append(events.Paste(chosen.choice(("abc", "x\ry\r", ""))))
        else:
            size = Size(*chosen.choice(SIZES))
            found.append(events.Resize(size, size))
    return found


@pytest.mark.timeout(1800)  # 660 s on a slow machine
@repeated(PER_CONSOLE, 2000)
async def test_random_bursts_end_no_console(
    eternaltwin_demo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Keys and clicks arrive at whatever screen the ones before have opened."""
    monkeypatch.setattr(clipboard, "save", lambda *_: tmp_path / "copied")
    db = await EternaltwinDb.open(eternaltwin_demo)
    await db.sql(BROKEN)
    await db.connection.close()
    screens: set[str] = set()
    for seed in range(times // PER_CONSOLE):
        chosen = random.Random(seed)
        sent: list[list[events.Event]] = []
        start = PAGES[seed % 6]
        async with run_tui(eternaltwin_demo, tmp_path, size=SIZES[seed % 2], kind=Counting, start=start) as tui:
            await tui.wait_for("● live", lambda tui=tui: tui.app.session.state.findings_loaded)
            for _ in range(PER_CONSOLE):
                sent.append(random_events(chosen, tui))
                for event in sent[-1]:
                    tui.app.post_message(event)
                await tui.handled()
                assert tui.app.fault is None, (seed, sent[-3:])
                screens.add(type(tui.app.screen).__name__)
            for event in random_events(chosen, tui):  # the console ends in the middle of these
                tui.app.post_message(event)
            for _ in range(seed):
                await asyncio.sleep(0)
            tui.app.exit()
        assert tui.app.fault is None, (seed, sent[-3:])
    print(sorted(screens))


async def in_front(tui: TuiDriver, name: str) -> None:
    """Open what random bursts seldom reach.

    It is the result of an action, its entry, or the question before a scan.
    """
    if name == "scan":
        scan_required = ScanRequired(need="n", why="It has no index", blocks=10**6, ddl="CREATE INDEX ON task (kind)")
        confirm_scan(tui.app, [scan_required], tui.app.bell)
        await tui.wait_for(lambda: isinstance(tui.app.screen, ConfirmScanDialog))
        return
    await tui.live_list()
    await tui.press("W")
    await confirmed(tui, "W")
    await tui.wait_for(lambda: isinstance(tui.app.screen, ResultDialog), "unstick undo")
    if name == "entry":
        await tui.press("escape", "4")
        await tui.wait_for("undo", "wake")
        await tui.press("home", "enter")
        await tui.wait_for(lambda: isinstance(tui.app.screen, AuditEntryScreen))


async def random_burst(tui: TuiDriver, seed: int, number: int) -> None:
    """Send random events at the page in front, and more at those that follow."""
    chosen = random.Random(seed)
    for _ in range(number):
        sent = random_events(chosen, tui)
        for event in sent:
            tui.app.post_message(event)
        await tui.handled()
        assert tui.app.fault is None, (seed, sent)


@pytest.mark.parametrize("name", most_in_proof(["scan", "result", "entry"]))
@repeated(1, 20)
async def test_random_bursts_at_a_dialog_that_they_seldom_reach(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    audit_log_table: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    times: int,
) -> None:
    monkeypatch.setattr(clipboard, "save", lambda *_: tmp_path / "copied")
    for seed in range(times):
        await eternaltwin_db.sql("DELETE FROM task")
        await eternaltwin_db.task(status="Blocked", timer=3600)
        async with run_tui(eternaltwin, tmp_path, kind=Counting) as tui:
            await tui.wait_for("● live", lambda tui=tui: len(tui.app.screen.targets()) == 1)
            await in_front(tui, name)
            await random_burst(tui, seed, 6)
        assert tui.app.fault is None, seed


@proof
async def test_random_bursts_at_a_redrive(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They leave it, stop it or answer it, and the console ends while it is open."""
    monkeypatch.setattr(clipboard, "save", lambda *_: tmp_path / "copied")
    for seed in range(max(2, round(12 * ROUNDS))):
        dsn = server.fresh("tasker")
        server.sql(audit_log.ddl(), dsn)
        await fill_tasker(dsn)
        with executing(dsn, CASES["tasker"]) if seed % 2 else contextlib.nullcontext():
            async with run_tui(dsn, tmp_path, kind=Counting, start="dead") as tui:
                await begin(tui, **({} if seed % 3 else {"wait": "0"}))
                await random_burst(tui, seed, 12)
                for event in random_events(random.Random(seed), tui):
                    tui.app.post_message(event)
                for _ in range(seed):
                    await asyncio.sleep(0)
                tui.app.exit()
        assert tui.app.fault is None, seed
        server.drop(dsn)


def test_raw_bursts(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", lambda: terminal.at > 0)
        terminal.type("/phase:failed").wait_for("filter: phase:failed", "all jobs", "● live").press("escape")
        terminal.without("filter:").type("fabc").wait_for("Find in all engines", "abc").press("escape").without(
            "Find in"
        )
        terminal.type("r3").wait_for("no dead letters").type("1").wait_for("all jobs")
        terminal.type("r3").wait_for("no dead letters").type("Cq prod").wait_for("C changes a node.").press("enter")
        terminal.paste("q").wait_for("Find in").press("escape").without("Find in").wait_for("no dead letters", "● live")
        assert terminal.leave("q") == 0
