"""The page of the tree: its order, its columns, its preview."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.model.node_list import SIBLINGS_READ, NodeList
from console.tui.screens.tree import TreeScreen
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb


def tree(tui: TuiDriver) -> TreeScreen:
    screen = tui.app.screen
    assert isinstance(screen, TreeScreen)
    return screen


def columns(tui: TuiDriver) -> list[str]:
    return [column.name for column in tree(tui).table.look.shown]


async def test_rows_that_look_alike_have_their_ids_and_a_parent_says_what_is_below(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    first, second = [await eternaltwin_db.task(job, status="Blocked", timer=-6000) for _ in range(2)]
    other = await eternaltwin_db.task(job, kind="SendFax", polled=1)
    async with run_tui(eternaltwin, tmp_path, size=(120, 30)) as tui:
        await tui.wait_for("● live", "2 below")
        if "▾" not in tui.text:
            await tui.press("right")
        await tui.wait_for(f"SendEmail v1  #{str(first)[:8]}", f"SendEmail v1  #{str(second)[:8]}", "overdue timer")
        assert str(other)[:8] not in tui.text.split("────")[0], "no other row looks like it"


async def test_the_error_of_a_failed_node_is_in_its_row(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.job("failed", error="429 Too Many Requests\nretry later", number=7)
    await agent_jobs_db.job("completed", number=8)
    async with run_tui(agent_jobs_db.dsn, tmp_path, size=(120, 30)) as tui:
        await tui.wait_for("● live", "clerk")
        if "▾" not in tui.text:
            await tui.press("right")
        await tui.wait_for("job 7  429 Too Many Requests  ", "job 8")  # the second line is in the preview alone


async def test_a_column_comes_with_its_first_value(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """Of jobs that wait for nothing none is due; a task with a timer is."""
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, status="Blocked", timer=3000)
    async with run_tui(eternaltwin, tmp_path, size=(80, 24)) as tui:
        await tui.wait_for("● live", "SendEmail")
        assert columns(tui)[:5] == ["title", "status", "revision", "cpu", "poll"]
        assert "due" not in columns(tui)
        await tui.press("right")
        await tui.wait_for(lambda: "due" in columns(tui))
        assert "finding" not in columns(tui)


@pytest.mark.parametrize(
    ("size", "place"), [((80, 24), None), ((120, 35), "below"), ((140, 24), "beside"), ((200, 50), "beside")]
)
async def test_the_preview_has_its_place_where_there_is_room(
    size: tuple[int, int], place: str | None, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.tasks([job] * 3)
    async with run_tui(eternaltwin, tmp_path, size=size) as tui:
        await tui.wait_for("● live", "SendEmail")
        await tui.laid_out()
        table, preview = tree(tui).table.region, tree(tui).query_one("#preview").region
        places: dict[Any, bool] = {
            "below": preview.y >= table.bottom and preview.x == table.x,
            "beside": preview.x >= table.right and preview.y == table.y,
            None: not preview.area,
        }
        assert places[place]


async def test_the_preview_begins_with_what_to_do(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, status="Blocked", timer=-3000)
    async with run_tui(eternaltwin, tmp_path, size=(200, 50)) as tui:
        await tui.wait_for("● live", "SendEmail")
        await tui.press("right")
        await tui.wait_for("└", "overdue timer")
        await tui.press("down")
        await tui.wait_for(eternaltwin_db.id(task))
        preview = [line.partition("│")[2].strip() for line in tui.text.splitlines() if "│" in line]
        assert preview[0] == "To do: W Wake"
        assert "overdue timer for" in preview[2]


async def test_the_tree_begins_with_what_needs_attention(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """The tree is unfolded to the late task.

    Its job and one that waits are behind the first page.
    """
    late, waiting = await eternaltwin_db.job(age=90_000), await eternaltwin_db.job(age=80_000)
    await eternaltwin_db.tasks([late] * 20, status="Complete", kind="Healthy")
    task = await eternaltwin_db.task(late, status="Blocked", timer=-3000, kind="Late", age=100)
    await eternaltwin_db.task(waiting, status="Blocked", timer=3000, kind="Waits")
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(150), status="Complete", kind="Ended")
    async with run_tui(eternaltwin, tmp_path, start="stuck", size=(120, 40)) as tui:
        await tui.wait_for("● live", "overdue timer")
        await tui.press("1")
        await tui.wait_for("all jobs", "Late v1", "overdue timer")
        tree_rows = tree(tui).rows
        rows = [row.id for row in tree_rows.between(0, 40)]
        assert rows[:2] == [eternaltwin_db.id(late, "job"), eternaltwin_db.id(task)]
        assert tree_rows.cursor_row == 0
        assert "more… (Enter loads more)" in tui.text, "of the healthy tasks beside it a few are enough"
        assert len(tree_rows.below(rows[0])) == SIBLINGS_READ + 1
        jobs = [row.id for row in tree_rows.between(0, 40) if row.depth == 0]
        assert jobs[1] == eternaltwin_db.id(waiting, "job")


async def test_a_key_that_is_pressed_while_the_first_rows_come_in_is_not_undone(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Move the cursor while the nodes that need attention are read, as a key does."""
    for number in range(5):
        await eternaltwin_db.job(age=3600 * number)
    settle, moved = NodeList.settle, list[str | None]()

    def during_a_key(self: NodeList, parent_id: str | None) -> None:
        settle(self, parent_id)
        if not moved:
            self.touched = self.move(2)
            moved.append(self.cursor)

    monkeypatch.setattr(NodeList, "settle", during_a_key)
    async with run_tui(eternaltwin, tmp_path, size=(120, 35)) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded and len(tree(tui).rows))
        assert moved[0] is not None
        assert tree(tui).rows.cursor == moved[0]


async def test_no_row_moves_while_it_is_looked_at(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """A job that ends keeps its place until the next visit."""
    late, ends = await eternaltwin_db.job(), await eternaltwin_db.job()
    await eternaltwin_db.task(late, status="Blocked", timer=-3000, kind="Late")
    task = await eternaltwin_db.task(ends, status="Blocked", timer=3000, kind="Ends")
    waits = await eternaltwin_db.job(age=99_999)
    await eternaltwin_db.task(waits, status="Blocked", timer=3000, kind="Waits")

    def jobs() -> list[str]:
        tree_rows = tree(tui).rows
        return [row.id for row in tree_rows.between(0, len(tree_rows)) if row.depth == 0]

    order = [eternaltwin_db.id(job, "job") for job in (late, ends, waits)]
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", "overdue timer", lambda: jobs() == order)
        await tui.press("left")
        await tui.wait_for(lambda: not tree(tui).rows.is_expanded(order[0]))
        await eternaltwin_db.sql("UPDATE task SET status = 'Complete' WHERE task_id = $1", task)
        await eternaltwin_db.sql("DELETE FROM task_timer WHERE task_id = $1", task)
        await tui.wait_for("✓ done")
        assert jobs() == order
        await tui.press("2")
        await tui.wait_for("1 incident")
        await tui.press("1")
        await tui.wait_for(lambda: jobs() == [order[0], order[2], order[1]])
        assert not tree(tui).rows.is_expanded(order[0])
