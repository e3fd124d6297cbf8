"""One grammar for every list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from console.tui import keymap
from console.tui.screens.engines import EnginesScreen
from console.tui.screens.find import FindScreen
from console.tui.screens.list_screen import ListScreen
from console.tui.screens.text_screen import PreviewScreen
from console.tui.screens.tree import TreeScreen
from console.tui.widgets.list_table import ListTable
from queries.read.nodes import PAGE_NODES
from tests.console.test_dead import dead
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.proof import most_in_proof
from tests.simulators.tasker.data import Data


class Target(NamedTuple):
    """Key of a list, a filter for all its rows, and one for some."""

    key: str
    all: str
    some: str
    typed: str = ""  # text to type after the key


LISTS = {
    "stuck": Target("2", "engine:tasker", "kind:dead_letter"),
    "dead": Target("3", "kind:dead_letter", "error:such"),
    "audit": Target("4", "action:resolve", "action:bury"),
    "changed": Target("5", "engine:tasker", "change:resolve"),
    "found": Target("f", "engine:tasker", "kind:step", typed="e"),
    "tree": Target("1", "engine:tasker", "kind:step"),
}


@pytest.fixture
async def database(tasker_db: TaskerDb, tasker: str) -> str:
    """Database with incidents, dead letters, and four entries of the audit log."""
    data = Data(1)
    resolved = dead(data, 6)
    dead(data, 3, error="no such card {n}")
    stalled = data.task("newsletter", state="waiting_for_dependencies")
    await tasker_db.write(data)
    await tasker_db.do("bury", tasker_db.task(stalled))
    for each in resolved[:3]:
        await tasker_db.do("resolve", tasker_db.dead_letter(each), status="cancelled")
    return tasker


class ShownRow(NamedTuple):
    """Row of a list, with its records."""

    key: str
    records: tuple[Any, ...]
    record: Any
    foldable: bool
    open: bool
    above: str | None
    marked: bool


class ListDriver:
    """The list in front, as its model has it."""

    def __init__(self, tui: TuiDriver, target: Target) -> None:
        self.tui = tui
        self.target = target

    @property
    def page(self) -> ListScreen[Any]:
        assert isinstance(self.tui.app.screen, ListScreen)
        return self.tui.app.screen

    @property
    def rows(self) -> list[Any]:
        tree_rows = self.page.rows
        rows = tree_rows.between(0, len(tree_rows))
        return [
            ShownRow(r.id, r.record.records, r.record.record, r.expandable, r.expanded, r.parent_id, r.marked)
            for r in rows
            if r.record
        ]

    @property
    def row(self) -> Any:
        return next((row for row in self.rows if row.key == self.page.table.cursor), None)

    @property
    def loaded(self) -> int:
        return len(self.page.rows.records)

    @property
    def matching(self) -> set[str]:
        return {self.page.rows.key(record) for record in self.page.listed.matching_records}

    @property
    def counted(self) -> str:
        """Return the number of those that match, as the page says it."""
        return f"{len(self.matching)} of {self.loaded}"

    @property
    def marks(self) -> set[str]:
        return self.page.rows.marks

    @property
    def grouping(self) -> str:
        return self.page.listed.grouping.title

    def keys(self, row: Any) -> set[str]:
        return {self.page.rows.key(record) for record in row.records}

    def select(self, key: str) -> None:
        self.page.table.go_to(key)

    async def fold(self) -> None:
        await self.tui.press("left")

    async def unfold_all(self) -> None:
        await self.tui.press("e")
        await self.until(lambda: all(row.open for row in self.rows if row.foldable))

    async def open(self) -> None:
        await self.tui.press(self.target.key)
        if self.target.typed:
            await self.tui.type(self.target.typed)
            await self.tui.press("enter")
            await self.tui.wait_for(lambda: isinstance(self.page, FindScreen) and self.page.finder.ended)
        await self.tui.wait_for(lambda: isinstance(self.tui.app.screen, ListScreen) and self.page.rows.records)

    async def until(self, condition: Callable[[], object]) -> None:
        await self.tui.wait_for(condition)

    async def to(self, fits: Callable[[Any], object]) -> Any:
        """Put the cursor on the first row that fits, and return it."""
        row = next(row for row in self.rows if fits(row))
        self.select(row.key)
        await self.until(lambda: self.row is not None and self.row.key == row.key)
        return row

    async def grouped(self) -> Any:
        """Group until a row has several records, and put the cursor on a folded one."""
        for _ in range(6):
            if any(row.foldable and not row.open for row in self.rows):
                break
            await self.tui.press("g")
        return await self.to(lambda row: row.foldable and not row.open)


class StuckDriver(ListDriver):
    """The stuck list, in incidents."""

    @property
    def counted(self) -> str:
        some, all_ = (
            {r.incident.key for r in of} for of in (self.page.listed.matching_records, self.page.rows.records)
        )
        return f"{len(some)} of {len(all_)} incidents"


class TreeDriver(ListDriver):
    """The tree, with its nodes down to steps loaded."""

    @property
    def page(self) -> Any:
        assert isinstance(self.tui.app.screen, TreeScreen)
        return self.tui.app.screen

    @property
    def rows(self) -> list[Any]:
        tree_rows = self.page.rows
        rows = tree_rows.between(0, len(tree_rows))
        return [
            ShownRow(r.id, (r.record,), r.record, r.expandable, r.expanded, r.parent_id, r.marked)
            for r in rows
            if r.record
        ]

    @property
    def loaded(self) -> int:
        return int(self.page.rows.loaded)

    @property
    def matching(self) -> set[str]:
        return set(self.page.rows.matching())

    @property
    def grouping(self) -> str:
        return ""

    def keys(self, row: Any) -> set[str]:
        return {row.key}

    async def open(self) -> None:
        await self.tui.press(self.target.key)
        await self.until(lambda: self.page.rows is not None and self.page.rows.read)
        tree_rows = self.page.rows

        def unread() -> list[str]:
            return [node.id for node in tree_rows.records if tree_rows.children(node.id) is None]

        while (ids := unread()) and not any(node.kind == "step" for node in tree_rows.records):
            for id_ in ids:
                tree_rows.expand(id_)
                self.page.table.post_message(ListTable.Expand(id_))
            await self.until(lambda ids=ids: not set(ids) & set(unread()))  # type: ignore[misc]

    async def fold(self) -> None:
        await self.tui.press("left", "left")  # to the parent, and then fold it

    async def grouped(self) -> Any:
        self.page.rows.collapse_all()
        self.page.table.sync()
        return await self.to(lambda row: row.foldable)

    async def unfold_all(self) -> None:
        tree_rows = self.page.rows
        while folded := [row.key for row in self.rows if row.foldable and not row.open]:  # reads one level more
            await self.tui.press("e")
            await self.until(
                lambda folded=folded: all(  # type: ignore[misc]
                    tree_rows.is_expanded(key) and tree_rows.children(key) is not None for key in folded
                )
            )


async def opens(at: ListDriver) -> None:
    row = await at.to(lambda row: row.records and not row.open)
    if row.record is None:  # a group unfolds first
        await at.tui.press("enter")
        await at.until(lambda: any(each.above == row.key for each in at.rows))
        await at.to(lambda each: each.above == row.key)
    await at.tui.press("enter")
    await at.until(lambda: not isinstance(at.tui.app.screen, ListScreen))
    await at.tui.press("escape")
    await at.until(lambda: isinstance(at.tui.app.screen, ListScreen))


async def filters(at: ListDriver) -> None:
    whole = at.loaded
    await at.tui.press("slash")
    await at.tui.type(at.target.some)
    await at.until(lambda: at.page.filter is not None and str(at.page.filter) == at.target.some)
    assert len(at.matching) < whole
    await at.tui.press("enter")
    await at.until(lambda: at.counted in at.tui.text)  # a tree may still be unfolding
    assert f"filter: {at.target.some}" in at.page.crumbs()


async def leaves_the_filter(at: ListDriver) -> None:
    await filters(at)
    await at.tui.press("escape")
    await at.until(lambda: at.page.filter is None and len(at.matching) == at.loaded)


async def marks(at: ListDriver) -> None:
    row = await at.to(lambda row: row.record is not None or row.foldable)
    await at.tui.press("space")
    await at.until(lambda: at.marks)
    assert at.marks <= at.keys(row)
    await at.tui.wait_for(f"{len(at.marks)} marked", "●")
    await at.tui.press("escape")
    await at.until(lambda: not at.marks)


async def marks_all(at: ListDriver) -> None:
    await at.tui.press("slash")
    await at.tui.type(at.target.some)
    await at.tui.press("enter", "asterisk")
    await at.until(lambda: at.marks)
    assert at.marks <= at.matching
    await at.tui.press("asterisk")
    await at.until(lambda: not at.marks)


async def marks_down(at: ListDriver) -> None:
    at.select(at.rows[0].key)
    await at.tui.press("shift+down", "shift+down")
    await at.until(lambda: sum(row.marked for row in at.rows if row.records) >= 2)


async def marks_up(at: ListDriver) -> None:
    at.select(at.rows[-1].key)
    await at.tui.press("shift+up")
    await at.until(lambda: sum(row.marked for row in at.rows if row.records) >= 2)


async def sorts(at: ListDriver) -> None:
    titles = [order.title for order in at.page.orders()]
    for title in titles:
        await at.tui.press("s")
        await at.until(lambda title=title: at.page.order is not None and at.page.order.title == title)  # type: ignore[misc]
        await at.tui.wait_for(lambda: "▲" in at.tui.text or "▼" in at.tui.text)
    await at.tui.press("s")
    await at.until(lambda: at.page.order is None)


async def reverses(at: ListDriver) -> None:
    await at.tui.press("s")
    await at.until(lambda: at.page.order is not None)
    before = [row.key for row in at.rows]
    await at.tui.wait_for(lambda: "▲" in at.tui.text or "▼" in at.tui.text)
    other = "▼" if "▲" in at.tui.text else "▲"
    await at.tui.press("i")
    await at.tui.wait_for(other)
    assert at.page.order is not None
    assert at.page.order.reverse
    assert sorted(before) == sorted(row.key for row in at.rows)


async def groups(at: ListDriver) -> None:
    first = at.grouping
    if not first:
        await at.tui.press("g")
        await at.tui.wait_for("only one grouping")
        return
    seen = []
    while True:
        await at.tui.press("g")
        await at.until(lambda: at.grouping not in seen)
        seen.append(at.grouping)
        if seen[-1] == first:
            break
        assert f"by {seen[-1]}" in at.page.crumbs()
    assert len(seen) == len(set(seen)) >= 4


async def unfolds(at: ListDriver) -> Any:
    group = await at.grouped()
    await at.tui.press("right")
    await at.until(lambda: any(row.above == group.key for row in at.rows))
    return group


async def folds(at: ListDriver) -> None:
    group = await unfolds(at)
    await at.tui.press("down")
    await at.until(lambda: at.row is not None and at.row.above == group.key)
    await at.fold()
    await at.until(lambda: not any(row.above == group.key for row in at.rows))
    assert at.row is not None
    assert at.row.foldable


async def folds_all(at: ListDriver) -> None:
    await at.grouped()
    await at.unfold_all()
    await at.tui.press("e")
    await at.until(lambda: not any(row.open for row in at.rows))


async def shows_the_engines(at: ListDriver) -> None:
    shown = at.tui.app.screen
    await at.tui.press("tab")
    await at.until(lambda: isinstance(at.tui.app.screen, EnginesScreen))
    await at.tui.press("escape")
    await at.until(lambda: at.tui.app.screen is shown)


async def maximises(at: ListDriver) -> None:
    shown = at.page
    await at.tui.press("v")
    if not shown.PREVIEW:
        await at.until(lambda: "There is nothing to preview here." in at.tui.text)
        return
    await at.until(lambda: isinstance(at.tui.app.screen, PreviewScreen))
    await at.tui.press("slash", "z", "escape", "v")
    await at.until(lambda: at.tui.app.screen is shown)


CHECKS: dict[str, Callable[[ListDriver], Awaitable[None]]] = {
    "rows.open": opens,
    "rows.filter": filters,
    "rows.back": leaves_the_filter,
    "rows.mark": marks,
    "rows.mark_all": marks_all,
    "rows.mark_down": marks_down,
    "rows.mark_up": marks_up,
    "rows.sort": sorts,
    "rows.reverse": reverses,
    "rows.group": groups,
    "rows.unfold": unfolds,
    "rows.fold": folds,
    "rows.fold_all": folds_all,
    "rows.engines": shows_the_engines,
    "rows.maximise": maximises,
}


def test_each_key_of_the_grammar_is_checked() -> None:
    assert set(CHECKS) == {key.id for key in keymap.ROWS}


def driver(tui: TuiDriver, name: str) -> ListDriver:
    return {"tree": TreeDriver, "stuck": StuckDriver}.get(name, ListDriver)(tui, LISTS[name])


@pytest.mark.parametrize("name", most_in_proof(LISTS, 0))
async def test_every_list_has_every_key(name: str, database: str, tmp_path: Path) -> None:
    for key in keymap.ROWS:  # a new console each: no key depends on what another has left
        async with run_tui(database, tmp_path, size=(160, 100)) as tui:
            at = driver(tui, name)
            await at.open()
            await CHECKS[key.id](at)


async def test_an_action_is_about_all_that_match(database: str, tasker_db: TaskerDb, tmp_path: Path) -> None:
    """Resolve the dead letters of one cause in a filtered list."""
    async with run_tui(database, tmp_path, size=(160, 40)) as tui:
        at = ListDriver(tui, LISTS["dead"])
        await at.open()
        await tui.press("slash")
        await tui.type("such")
        await tui.press("enter", "asterisk")
        await tui.wait_for("3 marked")
        await tui.action("E")
        await tui.dry_run("Will change 3")
        await tui.press("E")
        await tui.wait_for("3 changed")
    left = await tasker_db.value("SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'pending'")
    assert left == 4


async def test_a_heading_sorts_by_a_click(database: str, tmp_path: Path) -> None:
    async with run_tui(database, tmp_path, size=(160, 40)) as tui:
        for name, title in (("stuck", "incident"), ("tree", "task")):
            at = driver(tui, name)
            await at.open()
            for sign in "▲▼":
                await tui.click_on(
                    lambda at=at: (5, at.page.table.region.y),  # type: ignore[misc]
                    lambda title=title, sign=sign: f"sorted by {title}" in tui.text and sign in tui.text,  # type: ignore[misc]
                )


def cursor_place(tui: TuiDriver, at: ListDriver, sign: str) -> tuple[int, int] | None:
    """Return the place of a sign in the line of the cursor, once the line is painted."""
    table = at.page.table
    y = table.region.y + table.cursor_row - table.top_row + 1
    line = tui.text.splitlines()[y]
    return (line.index(sign), y) if line.startswith("▌") and sign in line else None


@pytest.mark.parametrize("name", ["dead", "tree"])
async def test_a_click_on_a_fold_sign_unfolds_and_folds(name: str, database: str, tmp_path: Path) -> None:
    async with run_tui(database, tmp_path, size=(160, 40)) as tui:
        at = driver(tui, name)
        await at.open()
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)  # which unfold a tree
        await at.grouped()
        for sign, unfolded in (("▸", True), ("▾", False)):
            await tui.click_on(
                lambda sign=sign: cursor_place(tui, at, sign),  # type: ignore[misc]
                lambda unfolded=unfolded: at.row is not None and at.row.open is unfolded,  # type: ignore[misc]
            )


async def test_the_tree_says_that_only_loaded_rows_are_sorted(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """Sort a tree of two pages, of which the second is loaded by a key only."""
    for age in range(0, PAGE_NODES + 20, 5):
        await eternaltwin_db.jobs(5, age=age)
    async with run_tui(eternaltwin, tmp_path, size=(160, 40)) as tui:
        at = TreeDriver(tui, LISTS["tree"])
        await at.until(lambda: at.page.rows is not None and at.loaded == PAGE_NODES)
        await tui.click_on(
            lambda: tui.place(" age ") if " age " in tui.text else None,
            lambda: "sorted by age: loaded rows" in tui.text and "age▼" in tui.text,
        )
        await tui.press("asterisk")
        await tui.wait_for("marked of the loaded rows; ^p with an action and a filter takes all of the database")
        await tui.press("asterisk", "i")
        await tui.wait_for("age▲")
        created = [row.record.created_at for row in at.rows]
        assert created == sorted(created, reverse=True)
        await tui.press(*["pagedown"] * 4)
        await tui.wait_for("more…", lambda: at.page.table.cursor is None)
        assert at.loaded == PAGE_NODES
        await tui.press("enter")
        await at.until(lambda: at.loaded == PAGE_NODES + 20)
        await tui.wait_for(lambda: "loaded rows" not in tui.text)
        created = [row.record.created_at for row in at.rows]
        assert created == sorted(created, reverse=True)
        assert len(created) == PAGE_NODES + 20


async def test_what_is_typed_is_completed(database: str, tmp_path: Path) -> None:
    async with run_tui(database, tmp_path, size=(160, 40)) as tui:
        at = ListDriver(tui, LISTS["dead"])
        await at.open()
        await tui.press("slash")
        await tui.type("kin")
        await tui.wait_for("kind:")
        await tui.press("tab")
        await tui.type("dead")
        await tui.wait_for("kind:dead_letter")
        await tui.press("tab", "enter")
        await tui.wait_for("filter: kind:dead_letter")


async def test_marked_rows_are_handed_over_as_a_table(database: str, tmp_path: Path) -> None:
    async with run_tui(database, tmp_path, size=(160, 40)) as tui:
        nodes = "| engine | title |"
        for name, columns in (("dead", nodes), ("audit", "| time | who |"), ("tree", nodes)):
            at = driver(tui, name)
            await at.open()
            await tui.press("asterisk")
            await at.until(lambda at=at: len(at.marks) > 1)  # type: ignore[misc]
            await tui.press("y")
            await tui.wait_for("Markdown", columns)
            await tui.press("enter")
            await tui.wait_for("Markdown.")
            text = tui.app.clipboard
            assert text.startswith(columns)
            assert len(text.splitlines()) == len(at.marks) + 2


async def test_a_broad_terminal_has_the_preview_beside_the_list(database: str, tmp_path: Path) -> None:
    for width, beside in ((200, True), (120, False)):
        async with run_tui(database, tmp_path, size=(width, 30)) as tui:
            at = ListDriver(tui, LISTS["stuck"])
            await at.open()

            def placed(page: ListScreen[Any] = at.page, beside: bool = beside) -> bool:
                table, preview = page.table.region, page.query_one("#preview").region
                if beside:
                    return preview.x >= table.right and preview.y == table.y
                return preview.x == table.x and preview.y >= table.bottom > 0

            await tui.wait_for(placed)
