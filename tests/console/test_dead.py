"""Dead-letter page: groups, current states, actions on one, several or a group."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from textual.widgets import Button

from console.model import dead_letter_board
from console.model.flat_list import ON_ENTER, WITH_FILTER
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.proof import proof
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.step_history import complete, failed

REFUND = "staleness_timeout - shop/refund - refund_card: <n> after <n> ms"
STATUS = "SELECT resolution_status::text FROM tasks_dlq WHERE dlq_entry_uuid = $1"


def dead(
    data: Data, number: int, error: str = "503 after {n} ms", age: float = 9000, independent: float = 1
) -> list[UUID]:
    """Add ``number`` tasks in error with a dead letter each, the newest first."""
    dead_letters = []
    for n in range(number):
        steps = {"check_return": complete(age), "refund_card": failed(age, error=error.format(n=n))}
        task = data.task("refund", state="error", ago=age, steps=steps)
        dead_letters.append(data.dead_letter(task, age=age - (number - 1 - n) * independent))
    return dead_letters


def row_of(tui: TuiDriver) -> str:
    """The line under the cursor; "" while there is none."""
    return next((line for line in tui.text.splitlines() if line.startswith(("▌", ">"))), "")


async def down_to(tui: TuiDriver, text: str) -> None:
    """Put the cursor on the first row that has this text."""
    await tui.press("home")
    for _ in range(50):
        await tui.handled()
        if text in row_of(tui):
            return
        await tui.press("down")
    raise AssertionError(f"there is no row {text!r} in:\n{tui.text}")


async def test_groups_worst_first_with_what_has_become_of_them(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path
) -> None:
    data = Data(1)
    dead(data, 3, independent=600)
    data.dead_letter(
        data.task("refund", state="complete", ago=60), reason="manual_dlq", was="steps_in_process", age=7200
    )
    data.dead_letter(
        data.task("newsletter", state="waiting_for_dependencies"), reason="dependency_cycle_detected", age=60
    )
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 40)) as tui:
        await tui.wait_for("all jobs")
        await tui.press("3")
        text = await tui.wait_for(REFUND, "5 dead letters in 3 groups", "entries of the dead-letter queue")
        lines = [line for line in text.splitlines() if "shop/" in line or "mail/" in line]
        assert ["dependency_cycle" in lines[0], REFUND in lines[1], "manual_dlq" in lines[2]] == [True] * 3
        assert "  3  " in lines[1]
        assert "2h30m 2h10m" in " ".join(lines[1].split())
        assert "still waiting_for_dependencies" in lines[0]
        assert "waiting_for_dependencies → error" in lines[1]
        assert "steps_in_process → complete" in lines[2]
        await down_to(tui, REFUND)
        await tui.wait_for("3 was waiting_for_dependencies, now error", "E Resolve dead letter", "V Revive")
        await tui.press("right")
        await tui.wait_for("503 after 0 ms", "503 after 2 ms")
        await tui.press("left")
        await tui.wait_for(lambda: "503 after 0 ms" not in tui.text)


async def test_headings_count_what_the_filter_shows(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(data, 4, error="no such card {n}")
    dead(data, 3)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(100, 30), start="dead") as tui:
        await tui.wait_for("7 dead letters", "3 dead", lambda: " 7 " in row_of(tui))
        await tui.press("slash")
        await tui.type("such")
        text = await tui.wait_for("4 of 7 dead letters", lambda: " 4 " in row_of(tui))
        assert "groups" not in text
        await tui.press("enter", "f")
        await tui.type("nosuchtext")
        await tui.press("enter")
        await tui.wait_for("find: nosuchtext", lambda: "of 7 dead letters" not in tui.text)


async def test_the_row_of_an_engine_folds_its_groups(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(data, 3)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 40), start="dead") as tui:
        await tui.wait_for(REFUND, lambda: row_of(tui).startswith("▌ ▾ tasker "))
        await tui.press("left")
        await tui.wait_for(lambda: REFUND not in tui.text and row_of(tui).startswith("▌ ▸ tasker "))
        await tui.press("enter", "down", "left")
        await tui.wait_for(REFUND, lambda: row_of(tui).startswith("▌ ▾ tasker "))  # from a folded group to its engine


async def test_a_dead_letter_is_decided_on_elsewhere_and_another_is_made(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path
) -> None:
    data = Data(1)
    first, _ = dead(data, 2)
    stalled = data.task("newsletter", state="waiting_for_dependencies")
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for("2 dead letters in 1 group")
        await tasker_db.do("resolve", tasker_db.dead_letter(first), status="cancelled")
        await tui.wait_for("1 dead letter in 1 group")
        await tasker_db.do("bury", tasker_db.task(stalled))
        await tui.wait_for("2 dead letters in 2 groups", "manual_dlq")


async def test_open_a_dead_letter_its_history_and_its_task_in_the_tree(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path
) -> None:
    data = Data(1)
    made = data.task("refund", state="error", ago=900, steps={"refund_card": failed(950, error="no such card")})
    data.dead_letter(made, age=86400, decision="manually_resolved", note="gateway was down", by="anna")
    data.dead_letter(made, age=800)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 80)) as tui:
        await tui.press("3")
        await tui.wait_for("no such card")
        await down_to(tui, "staleness_timeout")
        await tui.press("enter")  # a group of one opens its dead letter
        await tui.wait_for(
            "State then and now", "All dead letters of this task", "gateway was down", "Snapshot", "3 dead"
        )
        await tui.press("escape")
        await tui.wait_for("1 dead letter in 1 group")
        await tui.press("o")
        await tui.wait_for("all jobs", lambda: "refund v1" in row_of(tui))


@proof
async def test_five_hundred_by_their_fingerprint_stopped_and_gone_on_with(
    tasker_db: TaskerDb, proxy: Proxy, tasker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.change.plan.PART_NODES", 5)
    data = Data(1)
    dead(data, 500)
    other = data.dead_letter(data.task("newsletter", state="error"), reason="manual_dlq")
    await tasker_db.write(data)
    count = "SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'permanently_failed'"
    async with run_tui(proxy.through(tasker), tmp_path, size=(150, 44)) as tui:
        await tui.press("3")
        await tui.wait_for("501 dead letters in 2 groups")
        await down_to(tui, REFUND)
        await tui.press("E")
        await tui.wait_for("Resolve dead letter: 500 dead letters", "Reason, for the audit log")
        await tui.type("never to be paid")
        tui.app.screen.query_one("#argument-status").value = "permanently_failed"  # type: ignore[attr-defined]
        await tui.press("enter")
        await tui.wait_for("E apply to 500")
        proxy.delay = 0.02  # a hundred parts take so long that they can be stopped on the way
        await tui.press("E")
        await tui.wait_for("of 500, ", " a second, about ")
        tui.app.screen.query_one("#stop", Button).press()
        proxy.delay = 0.0
        text = await tui.wait_for("changed", "refused", "stopped earlier", "Close")
        done = await tasker_db.value(count)
        assert 0 < done < 500
        assert f"{done} changed" in text
        assert f"{500 - done} refused" in text
        proxy.delay = 0.02
        tui.app.screen.query_one("#more", Button).press()
        await tui.wait_for("of 500, ", lambda: not tui.app.screen.query_one("#more").display)
        async with asyncio.timeout(60):
            while await tasker_db.value(count) == done:
                await asyncio.sleep(0.01)
        tui.app.screen.query_one("#stop", Button).press()
        proxy.delay = 0.0
        await tui.wait_for("changed", "refused", "stopped earlier", "Close")
        before, done = done, await tasker_db.value(count)
        assert before < done < 500, "it went on where it was stopped"
        await tui.press("enter")
        await tui.wait_for(f"{501 - done} dead letters in 2 groups")
        await down_to(tui, REFUND)
        await tui.action("E", "and the rest")
        await tui.press("E")
        await tui.wait_for(f"{500 - done} changed", "Close")
        await tui.press("enter")
        await tui.wait_for("1 dead letter in 1 group")
    assert await tasker_db.value("SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'pending'") == 1
    assert await tasker_db.value(STATUS, other) == "pending"


async def test_revive_takes_the_marked_ones_and_resolves_their_dead_letters(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path
) -> None:
    data = Data(1)
    first, second, third = dead(data, 3)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 44)) as tui:
        await tui.press("3")
        await tui.wait_for(REFUND)
        await down_to(tui, REFUND)
        await tui.press("right", "down", "space", "space")
        await tui.wait_for("2 marked")
        assert "503 after 2 ms" in row_of(tui), "the marked ones are meant, not the one under the cursor"
        await tui.action("V", "the gateway is back")
        await tui.dry_run("Will change 2")
        await tui.press("V")
        await tui.wait_for("2 changed", "Close")
        await tui.press("enter")
        await tui.wait_for("1 dead letter in 1 group", lambda: "marked" not in tui.text)
    left = [await tasker_db.value(STATUS, x) for x in (first, second, third)]
    assert left == ["manually_resolved", "manually_resolved", "pending"]
    states = await tasker_db.connection.fetch("SELECT to_state FROM task_transitions WHERE most_recent ORDER BY 1")
    assert [s[0] for s in states] == ["error", "waiting_for_dependencies", "waiting_for_dependencies"]
    await tasker_db.sound()


async def test_an_empty_desk_says_what_a_dead_letter_would_be(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for("eternaltwin  no dead letters; none: the engine keeps no errors", "3 dead")
        assert "show in tree" not in tui.text
        await tui.press("enter", "right", "left", "space", "o", "escape", "E")
        await tui.wait_for("E changes a node")


async def test_sixty_columns_and_ascii(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(data, 2)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(60, 30), ascii=True) as tui:
        await tui.press("3")
        await tui.wait_for("+ !  staleness_timeout", "count", "first")
        await down_to(tui, "staleness_timeout")
        await tui.press("right", "down")
        text = await tui.wait_for("503 after 0 ms", "E Resolve dead letter")
        assert "was waiting_for_dependencies, now error" in " ".join(text.split())
        assert text.isascii()
        assert max(map(len, text.splitlines())) == 60


async def test_hostile_errors_are_text(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(
        data,
        2,
        error="\x1b[31mred\x07 [bold]markup[/] [@click=app.quit]x[/] \u202eleft {n}\u200b 漢字\r\n" + "x" * 9000,
    )
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for("␛[<n>mred␇ [bold]markup[/]")
        await down_to(tui, "staleness_timeout")
        await tui.wait_for("[@click=app.quit]x[/] <U+202E>left <n><U+200B> 漢字")
        await tui.press("right", "down")
        text = await tui.wait_for("␛[31mred␇ [bold]markup[/]", "2 dead letters in 1 group")
        assert not any(ord(c) < 32 and c != "\n" for c in text)
        assert "\u202e" not in text


async def test_more_than_is_read_by_itself_is_marked_and_asked_for(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letter_board, "DEAD_LETTERS_AT_ONCE", 4)
    monkeypatch.setattr(dead_letter_board, "DEAD_LETTERS_READ", 8)
    data = Data(1)
    dead(data, 11)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for("8+ dead letters in 1+ groups", ON_ENTER)
        assert "  8+  " in next(line for line in tui.text.splitlines() if REFUND in line)
        await down_to(tui, "more…")
        await tui.press("enter")
        await tui.wait_for("11 dead letters in 1 group", lambda: "more…" not in tui.text)


async def test_the_row_for_more_is_at_the_end_of_its_engine_or_of_the_list(
    tasker_db: TaskerDb, tasker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letter_board, "DEAD_LETTERS_AT_ONCE", 2)
    monkeypatch.setattr(dead_letter_board, "DEAD_LETTERS_READ", 2)
    data = Data(1)
    dead(data, 9)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for(ON_ENTER)
        await down_to(tui, "more…")
        await tui.press("left")
        assert "tasker" in row_of(tui)
        await tui.press("left")
        await tui.wait_for(lambda: "more…" not in tui.text)
        await tui.press("s")
        await tui.wait_for("Only the loaded rows are sorted.", "sorted by error: loaded rows")
        for number, key in (("4+ dead letters", "end"), ("6+ dead letters", "g")):
            await tui.press(key)
            await tui.wait_for(lambda: ON_ENTER in row_of(tui))
            await tui.press("end")
            await tui.wait_for(number)
        await tui.press("slash", *"nowhere", "enter")
        await tui.wait_for("0 of 6+", WITH_FILTER)
        await tui.press("enter")
        await tui.wait_for("0 of 8+", WITH_FILTER)
        await tui.press("enter")
        await tui.wait_for("0 of 9 ", "No dead letter matches the filter.")


async def test_a_lost_server_leaves_the_last_picture(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("tasker")
    tasker_db = await TaskerDb.open(dsn, tmp_path)
    data = Data(1)
    dead(data, 2)
    await tasker_db.write(data)
    await tasker_db.close()
    async with run_tui(dsn, tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for("2 dead letters in 1 group")
        own_server.halt("immediate")
        await tui.wait_for("no connection", REFUND)
        await down_to(tui, REFUND)
        await tui.press("right", "down")
        await tui.wait_for(lambda: "503 after 0 ms" in row_of(tui))
        own_server.start()
        await tui.wait_for("● live", "Connected again.", "2 dead letters in 1 group")


async def test_an_engine_that_cannot_be_read_says_so(
    tasker_db: TaskerDb, tasker: str, detected_once: None, tmp_path: Path
) -> None:
    data = Data(1)
    dead(data, 2)
    await tasker_db.write(data)
    async with run_tui(tasker, tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for(REFUND, "2 dead letters")
        await tasker_db.sql("ALTER TABLE tasks_dlq RENAME TO elsewhere")
        await tui.wait_for(lambda: re.search(r"tasker  not read for \S+: ", tui.text), "tasks_dlq", REFUND)
        await down_to(tui, REFUND)
        screen: Any = tui.app.screen
        cells = [screen.cell(field, screen.row) for field in screen.columns()]
        assert {style for cell in cells for _, style in cell} == {"$faint"}
        await tui.wait_for(lambda: re.search(r"● live (?!<)\S+ old", tui.text))  # as old as its rows
        await tasker_db.sql("ALTER TABLE elsewhere RENAME TO tasks_dlq")
        await tui.wait_for("2 dead letters", lambda: "not read" not in tui.text)
