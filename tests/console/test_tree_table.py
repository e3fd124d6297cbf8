"""Tree on the screen: text, cursor and scroll position, messages, repainted lines."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Self

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.message import Message
from textual.pilot import Pilot
from textual.screen import Screen
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.theme import Theme

from console.model.fields.field import Context, Field
from console.model.fields.node import COLUMNS
from console.model.flat_list import EdgeRow, FlatList, Order
from console.tui import keymap, theme
from console.tui.bindings import bindings
from console.tui.widgets.columns import layout, recorded
from console.tui.widgets.list_table import ListTable
from console.tui.widgets.look import Look
from queries.records.node import Node, Phase
from queries.records.record import Record

NOW = 1_000_000_000.0
MESSAGES = (ListTable.Cursor, ListTable.Open, ListTable.Expand, ListTable.More, ListTable.Marked)


def node(key: object, phase: Phase = Phase.RUNNING, **fields: object) -> Node:
    known: dict[str, object] = {"engine": "e", "id": f"e/task:{key}", "kind": "task", "title": f"task {key}"}
    known |= {"phase": phase, "version": "1", "status": phase.title()}
    return Node(**(known | fields))  # type: ignore[arg-type]


def nodes(keys: Iterable[object]) -> list[Node]:
    return [node(key) for key in keys]


class RecordingTable(ListTable[Node]):
    """Remembers which lines were to be sent to the terminal again."""

    lines: list[int]

    def refresh(self, *regions: Region, **what: bool) -> Self:
        self.lines += [y for region in regions or (self.size.region,) for y in region.line_range]
        return super().refresh(*regions, **what)


class TableScreen(Screen[None]):
    """Passes the keys of every list on to the table, as the tree's page does."""

    BINDINGS = bindings(keymap.ROWS)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("action_"):
            return getattr(self.query_one(ListTable), name)
        raise AttributeError(name)


class TreeTableApp(App[None]):
    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__()
        self.table = RecordingTable(FlatList(), Look(COLUMNS, tree=True, context=Context(ascii=ascii)), id="table")
        self.table.lines = []
        self.heard: list[tuple[object, ...]] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.defaults(dark=True)

    def get_default_screen(self) -> Screen[None]:
        return TableScreen()

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.focus()

    def _note(self, message: Message, *what: object) -> None:
        self.heard.append((type(message).__name__, *what))

    def on_list_table_cursor(self, message: ListTable.Cursor) -> None:
        self._note(message, message.id)

    def on_list_table_open(self, message: ListTable.Open) -> None:
        self._note(message, message.id)

    def on_list_table_expand(self, message: ListTable.Expand) -> None:
        self._note(message, message.id)

    def on_list_table_more(self, message: ListTable.More) -> None:
        self._note(message, message.parent_id, message.asked, message.scan_required)

    def on_list_table_marked(self, message: ListTable.Marked) -> None:
        self._note(message, message.ids)

    def on_list_table_heading(self, message: ListTable.Heading) -> None:
        self._note(message, message.title)

    def text(self) -> list[str]:
        """The lines of the screen, header first, up to the last that says anything."""
        lines = [self.table.render_line(y).text.rstrip() for y in range(self.table.size.height)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def titles(self) -> list[str]:
        """The first column as it is, without the header."""
        return [line[:22].rstrip() for line in self.text()[1:]]


def fill(app: TreeTableApp, roots: Iterable[object] = range(1, 4), complete: bool = True) -> None:
    app.table.rows.put(None, nodes(roots), complete=complete)
    app.table.sync(context=Context(now=NOW))


def test_narrow_screens_drop_columns_by_priority() -> None:
    keys = {width: [column.name for column, _ in layout(COLUMNS, width)] for width in (200, 100, 78, 60, 38, 10)}
    assert keys[200] == [column.name for column in COLUMNS]
    assert keys[100] == [column.name for column in COLUMNS if column.name != "share"]
    assert keys[78] == ["title", "status", "revision", "cpu", "poll", "age", "due"]
    assert keys[60] == ["title", "status", "revision", "cpu", "poll"]
    assert keys[38] == ["title", "status"]
    assert keys[10] == ["title"]
    for width in range(1, 220):
        fitted = layout(COLUMNS, width)
        assert sum(cells for _, cells in fitted) + len(fitted) - 1 == width


def test_long_statuses_have_of_the_room_to_spare_and_short_ones_leave_it() -> None:
    widths = {
        status: {column.name: cells for column, cells in layout(recorded(COLUMNS, (), ["done", status]), 140)}
        for status in ("suspended", "waiting_for_dependencies")
    }
    assert widths["suspended"] == {column.name: cells for column, cells in layout(COLUMNS, 140)}
    assert widths["waiting_for_dependencies"]["status"] >= len("blocked_by_failures") + 2
    assert widths["waiting_for_dependencies"]["title"] > 30


async def test_a_row_says_what_is_known_and_what_is_not() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(130, 10)):
        app.table.rows.put(
            None,
            [
                node(
                    1,
                    Phase.BLOCKED,
                    status="Blocked",
                    revision=12,
                    cpu=0.5,
                    poll=1.0,
                    created_at=NOW - 4000,
                    changed_at=NOW - 3,
                    due_at=NOW - 12,
                    findings=("overdue_timer", "spinning"),
                ),
                node(2, Phase.READY, status=None),
                node(3, Phase.READY, revision=414_203),
            ],
        )
        app.table.sync(context=Context(now=NOW))
        header, known, unknown, often = app.text()
        titles = ["task", "status", "rev", "cpu", "poll", "cpu", "%", "age", "idle", "due", "stuck"]
        assert header.split() == titles
        assert " ".join(known.split()) == "▌ ▸ task 1 ■ Blocked 12 500ms 1s ███ 1h06m 3s 12s late overdue timer +1"
        assert " ".join(unknown.split()) == "▸ task 2 ○ ready – – – – – – –"
        assert " 414k " in often, "a number is never cut"
        app.table.sync(context=Context(now=NOW, codes={"e/task:2": ["runner_silent"]}))
        assert app.text()[2].endswith("runner silent")


@pytest.mark.parametrize(("width", "sign"), [(80, "! "), (60, "! "), (130, "")])
async def test_a_narrow_tree_marks_the_nodes_with_a_finding(width: int, sign: str) -> None:
    app = TreeTableApp()
    async with app.run_test(size=(width, 10)):
        used = dict.fromkeys(("revision", "cpu", "poll", "created_at", "changed_at", "due_at"), NOW)
        made = [node(1, findings=("overdue_timer",), **used), node(2), node(3)]
        app.table.rows.put(None, made)
        app.table.sync(context=Context(now=NOW, codes={"e/task:3": ["runner_silent"]}))
        assert [line[4:20].partition("  ")[0] for line in app.text()[1:]] == [
            f"{sign}task 1",
            "task 2",
            f"{sign}task 3",
        ]


async def test_ages_change_only_when_the_time_is_set() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(130, 10)):
        app.table.rows.put(None, [node(1, created_at=NOW - 5)])
        app.table.sync(context=Context(now=NOW))
        assert app.text()[1].endswith(" 5s")
        app.table.sync(context=Context(now=NOW + 10))
        assert app.text()[1].endswith(" 15s")
        assert app.table.look.context.now == NOW + 10


async def test_guides_show_the_tree() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 12)):
        fill(app)
        rows = app.table.rows
        rows.put("e/task:2", nodes(["a", "b"]), complete=False)
        rows.put("e/task:a", nodes(["deep"]))
        rows.put("e/task:deep", ())
        rows.expand_loaded()
        rows.put("e/task:3", ())
        app.table.sync()
        assert app.titles() == [
            "▌ ▸ task 1",
            "  ▾ task 2",
            "  ├ ▾ task a",
            "  │ └   task deep",
            "  ├ ▸ task b",
            "  └   more…",
            "    task 3",
        ]


async def test_ascii_keeps_the_meaning() -> None:
    app = TreeTableApp(ascii=True)
    async with app.run_test(size=(130, 12)):
        app.table.rows.put(None, [node(1, Phase.FAILED, cpu=1e-6, poll=1e-6), node(2, title="naïve\n")], complete=False)
        app.table.rows.mark(["e/task:1"])
        app.table.sync(context=Context(now=NOW, ascii=True))
        _, first, second, more = app.text()
        assert first.startswith(">*+ task 1")
        assert "x Failed" in first
        assert "1us" in first
        assert "naïve<U+000A>" in second  # data stays what it is, but for what would act on the terminal
        assert more.strip() == "more..."
        assert (first + more).isascii()


async def test_data_is_text_and_cannot_reach_the_terminal() -> None:
    app = TreeTableApp()
    nasty = "[bold red]\x1b[2J\x9b31m\u202e\nx[/]日本"
    async with app.run_test(size=(80, 6)):
        app.table.rows.put(None, [node(1, title=nasty, status="\x1b]0;owned\a")])
        app.table.sync(context=Context(now=NOW))
        strip = app.table.render_line(1)
        assert "[bold red]␛[2J" in strip.text
        assert strip.text.isprintable()
        assert strip.cell_length == 80
        app.table.rows.edge(None, EdgeRow.COSTLY, "1 GB\x1b[5m to read")
        app.table.sync()
        assert app.text()[2].strip() == "costly: not read (1 GB␛[5m to read)"


async def test_every_width_gives_full_lines() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(80, 6)) as pilot:
        rows = app.table.rows
        fill(app, range(2))
        for level in range(40):
            rows.put(f"e/task:{level}", nodes([level + 100 if level == 0 else level + 1]))
        rows.put("e/task:100", nodes(["日本語日本語"]))
        rows.expand_loaded()
        for width in (200, 77, 40, 39, 20, 7, 3):
            await pilot.resize_terminal(width, 6)
            app.table.sync()
            for y in range(6):
                assert app.table.render_line(y).cell_length == app.table.size.width - app.table.show_vertical_scrollbar


async def test_a_row_too_deep_for_guides_says_its_depth() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(60, 8)) as pilot:
        rows = app.table.rows
        fill(app, [0])
        for level in range(1_000):
            rows.put(f"e/task:{level}", nodes([level + 1]))
        rows.expand_loaded()
        app.table.sync()
        await pilot.press("end")
        assert app.text()[-1].split()[:6] == ["▌", "…1000", "└", "▸", "task", "1000"]


async def test_keys_move_the_cursor_and_say_so() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 6)) as pilot:
        fill(app, range(20))
        await pilot.press("down")
        assert app.heard == [("Cursor", "e/task:1")]
        await pilot.press("pagedown")
        assert app.table.cursor == "e/task:5"
        assert app.titles() == [f"  ▸ task {i}" for i in (1, 2, 3, 4)] + ["▌ ▸ task 5"]
        await pilot.press("end")
        assert app.table.cursor == "e/task:19"
        assert app.titles()[-1] == "▌ ▸ task 19"
        await pilot.press("k", "k", "j")
        assert app.table.cursor == "e/task:18"
        await pilot.press("home", "up", "pageup")
        assert app.titles()[0] == "▌ ▸ task 0"
        assert app.table.visible_ids == [f"e/task:{i}" for i in range(5)]


async def test_keys_on_an_empty_tree_do_nothing() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 6)) as pilot:
        keys = [key for entry in keymap.LIST for key in entry.keys.split(",")]
        await pilot.press(*keys)
        await pilot.click(app.table, offset=(3, 2))
        assert app.heard == []
        assert app.table.cursor is None


async def test_unfolding_asks_for_children_that_were_never_read() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 8)) as pilot:
        fill(app)
        await pilot.press("right")
        assert app.heard == [("Expand", "e/task:1")]
        assert app.titles()[:2] == ["▌ ▾ task 1", "  └   loading…"]
        app.table.rows.put("e/task:1", nodes(["a"]))
        app.table.sync()
        assert app.titles()[:3] == ["▌ ▾ task 1", "  └ ▸ task a", "  ▸ task 2"]
        await pilot.press("right")
        assert app.table.cursor == "e/task:a"
        await pilot.press("left")
        assert app.table.cursor == "e/task:1"
        await pilot.press("left")
        assert app.titles() == ["▌ ▸ task 1", "  ▸ task 2", "  ▸ task 3"]
        app.heard.clear()
        await pilot.press("right")
        assert app.heard == []  # they are known now
        app.table.rows.put("e/task:a", ())
        await pilot.press("right", "right")
        assert ("Open", "e/task:a") in app.heard


async def test_enter_opens_a_node_and_requests_the_rows_of_an_edge_row() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 8)) as pilot:
        fill(app)
        await pilot.press("enter")
        app.table.rows.expand("e/task:3")
        app.table.rows.edge("e/task:3", EdgeRow.COSTLY, "a scan")
        app.table.sync()
        await pilot.press("end", "enter")
        assert app.heard[0] == ("Open", "e/task:1")
        assert app.heard[-1] == ("More", "e/task:3", True, True)
        assert app.table.cursor is None
        app.heard.clear()
        app.table.rows.edge("e/task:3", EdgeRow.LOADING)
        await pilot.press("enter", "space")
        assert app.heard == []


async def test_the_next_page_is_asked_for_once_before_its_end_is_reached() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 11)) as pilot:
        fill(app, range(100), complete=False)
        await pilot.press("pagedown", "pagedown")
        assert not [heard for heard in app.heard if heard[0] == "More"]
        await pilot.press(*["pagedown"] * 8, "down", "up", "end")
        assert [heard for heard in app.heard if heard[0] == "More"] == [("More", None, False, False)]
        app.heard.clear()
        app.table.rows.append(None, nodes(range(100, 105)), complete=False)
        app.table.sync()
        await pilot.pause()
        assert [heard for heard in app.heard if heard[0] == "More"] == [("More", None, False, False)]
        app.heard.clear()
        app.table.rows.edge(None, EdgeRow.MORE, "the server is gone")
        app.table.sync()
        await pilot.pause()
        assert app.heard == []  # it failed: only a key asks again
        await pilot.press("end", "enter")
        assert app.heard[-1] == ("More", None, True, False)


async def test_e_unfolds_all_that_is_loaded_and_requests_what_is_not() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 8)) as pilot:
        fill(app)
        app.table.rows.put("e/task:1", nodes(["a"]))
        for leaf in ("e/task:a", "e/task:3"):
            app.table.rows.put(leaf, ())
        await pilot.press("e")
        assert app.heard == [("Expand", "e/task:2")]
        app.table.rows.put("e/task:2", nodes(["b"]))
        app.table.rows.put("e/task:b", ())
        app.table.sync()
        assert app.titles() == ["▌ ▾ task 1", "  └   task a", "  ▾ task 2", "  └   task b", "    task 3"]
        await pilot.press("down", "e")
        assert app.titles() == ["▌ ▸ task 1", "  ▸ task 2", "    task 3"]
        await pilot.press("e")
        assert len(app.titles()) == 5
        assert app.heard.count(("Expand", "e/task:2")) == 1


async def test_a_click_on_a_heading_says_so() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(100, 8)) as pilot:
        app.table.rows.put(None, [node(1, created_at=NOW)])
        app.table.sync(context=Context(now=NOW))
        for title in ("task", "status", "age"):
            await pilot.click(app.table, offset=(app.text()[0].index(title), 0))
            assert app.heard[-1] == ("Heading", title)
        app.table.rows.sort(Order("age", lambda item: item.created_at))
        app.table.sync()
        assert "age▼" in app.text()[0]


async def test_space_marks_and_goes_on() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 8)) as pilot:
        fill(app)
        await pilot.press("space", "space", "up", "space")
        assert app.table.rows.marks == {"e/task:1"}
        assert [heard[1] for heard in app.heard if heard[0] == "Marked"][-1] == frozenset({"e/task:1"})
        assert app.titles() == [" ●▸ task 1", "  ▸ task 2", "▌ ▸ task 3"]
        app.table.mark(["e/task:1"], on=False)
        assert app.titles()[0] == "  ▸ task 1"


async def test_clicks_choose_fold_and_open() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 8)) as pilot:
        fill(app)
        app.table.rows.put("e/task:2", nodes(["a"]))
        await pilot.click(app.table, offset=(10, 2))
        assert app.table.cursor == "e/task:2"
        await pilot.click(app.table, offset=(2, 2))
        assert app.titles()[2] == "  └ ▸ task a"
        await pilot.click(app.table, offset=(2, 2))
        assert app.titles()[2] == "  ▸ task 3"
        await pilot.click(app.table, offset=(10, 0))
        await pilot.click(app.table, offset=(10, 7))
        assert app.table.cursor == "e/task:2"
        await pilot.click(app.table, offset=(10, 3), times=2)
        assert app.heard[-1] == ("Open", "e/task:3")
        await pilot.click(app.table, offset=(2, 1))
        assert app.heard[-1] == ("Expand", "e/task:1")


async def place(pilot: Pilot[None], app: TreeTableApp) -> int:
    """The line of the screen that the cursor is on."""
    await pilot.pause()
    return next(y for y, line in enumerate(app.text()) if line.startswith("▌"))


async def test_the_cursor_keeps_its_node_and_its_line_when_rows_come_and_go_above() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 11)) as pilot:
        fill(app, range(100))
        await pilot.press(*["pagedown"] * 4, *["up"] * 3)
        at, line = app.table.cursor, await place(pilot, app)
        app.table.rows.merge(None, nodes(f"new{i}" for i in range(7)))
        app.table.sync(context=Context(now=NOW))
        assert (app.table.cursor, await place(pilot, app)) == (at, line)
        assert app.cursor_position == (0, line), "a braille display shows the line"
        app.table.rows.remove([f"e/task:new{i}" for i in range(5)])
        app.table.sync(context=Context(now=NOW))
        assert (app.table.cursor, await place(pilot, app)) == (at, line)
        app.table.rows.remove([at or ""])
        app.table.sync(context=Context(now=NOW))
        assert (app.table.cursor, await place(pilot, app)) == ("e/task:34", line)


async def test_an_untouched_cursor_stays_at_the_top_and_a_moved_one_says_what_came_above() -> None:
    app = TreeTableApp()

    async def come(*keys: object) -> str:
        app.table.rows.merge(None, nodes(keys))
        app.table.sync(context=Context(now=NOW))
        await pilot.pause()
        return app.text()[0]

    async with app.run_test(size=(50, 11)) as pilot:
        fill(app, range(100))
        assert (await come("a", 0), app.titles()[0]) == (app.text()[0], "▌ ▸ task a")
        assert "above" not in app.text()[0]
        await pilot.press("down", "down")
        assert (await come("b", "a", 0)).endswith("▲ 1 more above"), app.text()
        assert app.titles()[:2] == ["  ▸ task a", "  ▸ task 0"]
        await pilot.press(*["pagedown"] * 2)
        assert (await come("c", "b")).endswith("▲ 2 more above")
        app.table.expect()
        assert (await come("asked", "c")).endswith("▲ 2 more above"), "no news: the operator asked for it"
        app.table.rows.remove(["e/task:c"])
        assert (await come()).endswith("▲ 1 more above")
        await pilot.press("end")
        assert (await come()).endswith("▲ 1 more above")
        await pilot.press("home")
        assert (await come(), app.titles()[0]) == (app.text()[0], "▌ ▸ task asked")
        assert "above" not in app.text()[0]
        assert (await come("d", "asked"), app.titles()[0]) == (app.text()[0], "▌ ▸ task d"), "home follows the top"


async def test_a_screen_scrolled_away_from_the_cursor_keeps_its_first_row() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 11)) as pilot:
        fill(app, range(100))
        await pilot.press("down")
        app.table.scroll_to(y=50, animate=False)
        await pilot.pause()
        assert app.titles()[0] == "  ▸ task 50"
        app.table.rows.merge(None, nodes(["new"]))
        app.table.sync(context=Context(now=NOW))
        await pilot.pause()
        assert app.titles()[0] == "  ▸ task 50"
        assert app.table.cursor == "e/task:1"


class Item(Record):
    """A record without children."""

    id: str


class ListApp(App[None]):
    """A list of texts."""

    def __init__(self) -> None:
        super().__init__()
        column = Field[Item]("text", "id", title="text")
        rows = FlatList[Item](leaf=lambda item: True)
        rows.put(None, [Item(id=f"item {n}") for n in range(100)])
        self.table = ListTable(rows, Look([column]))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.defaults(dark=True)

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.focus()


def wheel(kind: type[events.MouseEvent]) -> events.MouseEvent:
    """Return a step of the wheel."""
    return kind(None, 1, 3, 0, 0, 0, False, False, False)


@pytest.mark.parametrize("kind", [TreeTableApp, ListApp])
async def test_the_wheel_and_the_scrollbar_take_the_cursor_along(kind: type[TreeTableApp | ListApp]) -> None:
    app = kind()
    async with app.run_test(size=(50, 11)) as pilot:
        if isinstance(app, TreeTableApp):
            fill(app, range(100))
        await pilot.pause()
        moves = [
            *[(wheel(events.MouseScrollDown), 1)] * 4,
            *[(wheel(events.MouseScrollUp), -1)] * 2,
            (ScrollDown(), 1),
            (ScrollUp(), -1),
            (ScrollTo(y=99), 1),
            (ScrollTo(y=0), -1),
        ]
        for message, side in moves:
            table = app.table
            before = table.top_row
            table.post_message(copy.copy(message))
            await pilot.pause()
            assert (table.top_row - before) * side > 0, message
            assert table.top_row <= table.cursor_row < table.top_row + table.rows_in_view, message


async def test_a_tree_that_shrinks_to_nothing_and_grows_again_is_shown() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 11)) as pilot:
        fill(app, range(100))
        await pilot.press("end")
        app.table.rows.sift(lambda item: item.title == "task 7")
        app.table.sync()
        await pilot.pause()
        assert app.titles() == ["▌ ▸ task 7"]
        app.table.rows.sift(lambda item: False)
        app.table.sync()
        await pilot.pause()
        assert app.titles() == []
        app.table.rows.sift(None)
        app.table.sync()
        await pilot.pause()
        assert app.titles()[0] == "▌ ▸ task 0"


async def test_the_cursor_stays_in_sight_when_the_terminal_shrinks() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(100, 21)) as pilot:
        fill(app, range(100))
        await pilot.press("pagedown")
        await pilot.resize_terminal(40, 6)
        await pilot.pause()
        assert app.table.cursor == "e/task:19"
        assert any(line.startswith("▌ ▸ task 19") for line in app.titles())


def backgrounds(app: TreeTableApp, y: int) -> set[str]:
    return {str(segment.style.bgcolor) for segment in app.table.render_line(y) if segment.style is not None}


async def test_changed_cells_are_shown_until_the_next_update() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(80, 8)) as pilot:
        fill(app)
        plain = backgrounds(app, 2)
        cells = app.table.rows.update([node(2, Phase.FAILED)])
        app.table.sync(cells, context=Context(now=NOW))
        assert len(backgrounds(app, 2)) == 2
        assert any(
            "Failed" in segment.text for segment in app.table.render_line(2) if segment.style and segment.style.bold
        )
        await pilot.press("space")
        assert len(backgrounds(app, 2) - plain) >= 1  # a key does not end it
        await pilot.press("down")
        app.table.sync({}, context=Context(now=NOW + 1))
        assert backgrounds(app, 2) == plain


async def test_the_scrollbar_hides_no_text() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(60, 12)) as pilot:
        fill(app, range(3))
        await pilot.pause()
        assert app.table.render_line(1).cell_length == 60  # no bar: the line reaches the edge
        fill(app, range(200))
        for keys in (["down"], ["pagedown"] * 3, ["end"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert app.table.show_vertical_scrollbar
            assert app.table.render_line(1).cell_length == 59


async def test_only_lines_that_differ_are_painted_again() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(130, 24)) as pilot:
        app.table.rows.put(None, [node(i, created_at=NOW - 40_000 * i) for i in range(100)])
        app.table.sync(context=Context(now=NOW))
        await pilot.pause()
        app.table.lines.clear()
        await pilot.press("down")
        await pilot.pause()
        assert sorted(app.table.lines) == [1, 2]
        app.table.lines.clear()
        app.table.sync({}, context=Context(now=NOW))
        await pilot.pause()
        assert app.table.lines == []
        app.table.sync(app.table.rows.update([node(5, Phase.DONE, created_at=NOW - 200_000)]), context=Context(now=NOW))
        await pilot.pause()
        assert app.table.lines == [6]
        app.table.lines.clear()
        app.table.sync({}, context=Context(now=NOW + 1))
        await pilot.pause()
        # 0s became 1s, and line 6 is no longer new; the other ages say the same as before
        assert sorted(app.table.lines) == [1, 6]


async def test_a_cursor_without_focus_looks_different() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 6)) as pilot:
        fill(app)
        focused = backgrounds(app, 1)
        app.screen.set_focus(None)
        await pilot.pause()
        assert backgrounds(app, 1) != focused
        assert app.titles()[0] == "▌ ▸ task 1"


async def test_phases_take_their_colour_from_the_theme() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(60, 6)) as pilot:
        fill(app)

        def color() -> str | None:
            found = [segment.style for segment in app.table.render_line(2) if "Running" in segment.text]
            return found[0].color.name if found and found[0] and found[0].color else None

        default = color()
        app.register_theme(Theme(name="ours", primary="#ff8800", variables={"phase-running": "#123456"}))
        app.theme = "ours"
        await pilot.pause()
        assert default is not None
        assert (default, color()) == (theme.defaults(dark=True)["phase-running"], "#123456")


async def test_go_to_unfolds_the_way() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 6)) as pilot:
        fill(app, range(50))
        app.table.rows.put("e/task:30", nodes(["a"]))
        assert app.table.go_to("e/task:a")
        await pilot.pause()
        assert app.table.cursor == "e/task:a"
        assert any("task a" in line for line in app.titles())
        assert not app.table.go_to("e/task:missing")


async def test_another_forest_and_other_columns_can_be_shown() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(50, 6)) as pilot:
        fill(app, range(50))
        await pilot.press("end", "e")
        other = type(app.table.rows)()
        other.put(None, nodes(["x"]))
        only = Field("title", lambda item, _: item.title.upper(), title="entry", width=20, flex=1)
        app.table.look.put_columns([only])
        app.table.show(other)
        await pilot.pause()
        assert app.text() == ["  entry", "▌ ▸ TASK X"]


async def test_twenty_thousand_rows_and_depth_ten_thousand() -> None:
    app = TreeTableApp()
    async with app.run_test(size=(100, 30)) as pilot:
        rows = app.table.rows
        fill(app, range(20_000))
        for level in range(10_000):
            rows.put(
                f"e/task:{5_000 if level == 0 else f'd{level}'}",
                nodes([f"d{level + 1}"]),
            )
        assert app.table.go_to("e/task:5000")
        await pilot.press("e")
        assert len(rows) >= 30_000
        assert app.table.go_to("e/task:d10000")
        await pilot.press("down", "up", "left")
        assert app.table.cursor == "e/task:d9999"
        app.table.go_to("e/task:5000")
        await pilot.press("left", "end")
        assert app.table.cursor == "e/task:19999"
