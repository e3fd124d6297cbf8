"""Drawings on the page of a node: the graph of steps and the timeline of changes."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from console.text import formatting
from console.tui.widgets.line_view import LineView
from queries.records.detail import DRAWN
from tests.command import unstick
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.estuary import EstuaryDb
from tests.db.tasker import TaskerDb
from tests.servers import PostgresServer
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.step_history import complete, failed
from tests.simulators.tasker.templates import Step, Template


async def opened(tui: TuiDriver, title: str) -> str:
    """The page of the only unfinished task."""
    await tui.wait_for("live", lambda: len(tui.app.screen.targets()) == 1)
    await tui.press("l")
    await tui.wait_for("live", title, lambda: " done" not in tui.text)  # a narrow list has no note beside the tabs
    await tui.press("home", "enter")
    return await read(tui)


async def read(tui: TuiDriver) -> str:
    """Wait until the page is there, also what is below the screen's end."""
    return await tui.wait_for(lambda: tui.app.screen.query(LineView) and "Recorded" in page(tui))


def page(tui: TuiDriver) -> str:
    return tui.app.screen.query_one(LineView).text


async def blocked(tasker_db: TaskerDb) -> None:
    """Add an order with one permanently failed step."""
    data = Data(1)
    steps = {
        "validate_cart": complete(900),
        "reserve_stock": complete(300),
        "charge_card": complete(800),
        "book_carrier": failed(200, attempts=3),
    }
    data.task("fulfil_order", state="blocked_by_failures", ago=100, age=1000, steps=steps)
    await tasker_db.write(data)


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_a_tasks_steps_are_drawn_with_levels_states_and_the_critical_path(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path, width: int
) -> None:
    await blocked(tasker_db)
    async with run_tui(tasker, tmp_path, size=(width, 50)) as tui:
        await opened(tui, "fulfil_order")
        text = page(tui)
        assert "Steps  6 steps on 4 levels; heavy: the critical path" in text
        lines = text.partition("Steps  ")[2].splitlines()[1:]
        drawn = lines[:12]
        assert " 0 ✓       validate_cart" in drawn[0]
        assert "┃" in drawn[1]
        charge, reserve = (next(line for line in drawn if name in line) for name in ("charge_card", "reserve_stock"))
        assert charge.startswith(" 1 ┠─✓")
        assert reserve.startswith("   ✓ │")
        failure = next(line for line in drawn if "book_carrier" in line)
        assert "✗─│───┨" in failure, "it ended with its failure"
        assert "error" in failure
        confirm = next(line for line in drawn if "send_confirmat" in line)
        assert confirm.startswith(" 3 ■━┷━━━┛")
        room = tui.app.screen.query_one(LineView).scrollable_content_region.width
        assert max(map(formatting.width, lines)) <= room < width
        assert "attempt 3/3" in text


async def test_a_tasks_changes_are_drawn_with_their_waits(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    await blocked(tasker_db)
    async with run_tui(tasker, tmp_path) as tui:
        await opened(tui, "fulfil_order")
        lines = page(tui).partition("Timeline")[2].splitlines()
        lane = next(line for line in lines if line.startswith("  book_carrier"))
        assert "✗" in lane
        assert "error for 3m" in lane
        change = next(line for line in lines if "✗ error" in line and "book_carrier" in line)
        assert "1s" in change
        assert "for the orchestrator" in change


async def test_in_ascii_nothing_else_is_drawn(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    await blocked(tasker_db)
    async with run_tui(tasker, tmp_path, size=(120, 90), ascii=True) as tui:
        await opened(tui, "fulfil_order")
        steps, _, rest = tui.text.partition("Steps  ")[2].partition("Recorded")
        drawn = steps + rest.partition("Timeline")[2].partition("Context")[0]
        assert " 1 *-+" in drawn
        assert "x-|---" in drawn
        assert drawn.isascii()


HOSTILE = "\x1b[2J[bold]\u202e漢字[/]\x07"


async def test_hostile_names_are_text(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    data = Data(
        1,
        [
            Template(
                namespace="shop", name="t", version="1", steps=(Step(name=HOSTILE), Step(name="next", after=(HOSTILE,)))
            )
        ],
    )
    data.task("t", steps={HOSTILE: failed(10, error=HOSTILE)})
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(80, 40)) as tui:
        await opened(tui, "t v1")
        drawn = page(tui)
        assert "␛[2J[bold]<U+202E>漢字[/]␇" in drawn
        assert not [c for c in drawn if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]


@pytest.mark.parametrize(("wide", "size"), [(50, (60, 24)), (200, (120, 40))])
async def test_wide_graphs_scroll(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path, wide: int, size: tuple[int, int]
) -> None:
    many = [f"part_{n:03}" for n in range(wide)]
    steps = (Step(name="split"), *(Step(name=n, after=("split",)) for n in many), Step(name="merge", after=tuple(many)))
    data = Data(1, [Template(namespace="shop", name="wide", version="1", steps=steps)])
    data.task("wide", steps={"split": complete(50)})
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=size) as tui:
        await opened(tui, "wide v1")
        lines = page(tui).partition("Steps  ")[2].splitlines()
        assert lines[0].startswith(f"{wide + 2} steps on 3 levels")
        assert all(any(name in line for line in lines) for name in (*many, "merge"))
        merge = next(n for n, line in enumerate(lines) if line.startswith(" 2 "))
        assert "■" in lines[merge]
        for _ in range(200):
            if "merge" in tui.text:
                break
            await tui.press("pagedown")
        assert "part_" in tui.text
        assert "merge" in tui.text


async def test_a_step_with_several_parents_is_once_in_the_tree(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path
) -> None:
    await blocked(tasker_db)
    async with run_tui(tasker, tmp_path, size=(120, 29)) as tui:
        await tui.wait_for("live", "all jobs")
        await tui.press("l")
        await tui.wait_for("unfinished", "send_confirmation +2")
        await tui.press("end", "enter")
        await read(tui)
        await tui.press("o")
        there = ("all jobs", "validate_cart", "pack_parcel +1", "book_carrier")
        text = await tui.wait_for(*there, lambda: re.search(r"send_confirm\S* \+2", tui.text))
        assert text.count("pack_parcel +1") == len(re.findall(r"send_confirm\S* \+2", text)) == 1


def test_without_the_screen_it_is_drawn_too(server: PostgresServer) -> None:
    dsn = server.fresh("tasker", filled=True)
    found = unstick("stuck", "--json", dsn=dsn).findings
    task = next(f["node_id"] for f in found if f["code"] == "blocked_by_failures")
    answer = unstick("show", task, dsn=dsn)
    assert "levels; heavy: the critical path" in answer.out
    assert "✗" in answer.out
    plain = unstick("show", task, "--ascii", dsn=dsn)
    assert plain.out.partition("Steps")[2].partition("Context")[0].isascii()
    section = next(s for s in unstick("show", task, "--json", dsn=dsn).json["sections"] if s["drawn"] == "graph")
    assert set(section["columns"]) == DRAWN["graph"]
    server.drop(dsn)


async def test_what_repeated_looks_have_seen_is_drawn(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("estuary")
    estuary_db = await EstuaryDb.open(dsn)
    task = await estuary_db.task(2, wake=-9000, beat=5000, state={"n": 1})
    retry = "UPDATE tasks SET heartbeat = heartbeat + interval '303 seconds' WHERE task_id = $1::text::macaddr8"
    async with run_tui(dsn, tmp_path, size=(100, 90)) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)
        (reader,) = tui.app.session.engines.values()
        for _ in range(4):
            await reader.samples.take()
            await estuary_db.sql(retry, task)
        await reader.samples.take()
        await tui.press("enter")
        text = await tui.wait_for("The task failed 4 times since", "Seen by this console", "no. 4")
        lane = next(line for line in text.splitlines() if "4 times since" in line and "●" in line)
        assert lane.split()[:2] == ["crash", "loop"]
    await estuary_db.connection.close()
    server.drop(dsn)
