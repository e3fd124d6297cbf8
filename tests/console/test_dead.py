"""The dead-letter desk: groups, dead letters, what has become of them; decisions on one, on marked ones, on a group."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from textual.widgets import Button

from console.demo.tasker.data import Data
from console.demo.tasker.shapes import complete, failed
from console.model import dead_letter_board
from queries.model import Outcome
from tests.console.stage import Stage, staged
from tests.queries.builders import Twin
from tests.queries.proxy import Proxy
from tests.queries.tasker_rows import Shop
from tests.servers import TestbedServer

REFUND = "staleness_timeout · shop/refund · refund_card: <n> after <n> ms"
STATUS = "SELECT resolution_status::text FROM tasks_dlq WHERE dlq_entry_uuid = $1"


def dead(
    data: Data, number: int, error: str = "503 after {n} ms", age: float = 9000, independent: float = 1
) -> list[UUID]:
    """So many tasks in error with a dead letter each; the first one is the oldest."""
    dead_letters = []
    for n in range(number):
        steps = {"check_return": complete(age), "refund_card": failed(age, error=error.format(n=n))}
        dead_letters.append(
            data.dead_letter(data.task("refund", state="error", ago=age, steps=steps), age=age - n * independent)
        )
    return dead_letters


def row_of(stage: Stage) -> str:
    """The line under the cursor; "" while there is none."""
    return next((line for line in stage.text.splitlines() if line.startswith(("▌", ">"))), "")


async def down_to(stage: Stage, text: str) -> None:
    """Put the cursor on the first row that has this text."""
    await stage.press("home")
    while text not in row_of(stage):
        before = stage.text
        await stage.press("down")
        await stage.until(lambda before=before: stage.text != before)


async def test_groups_worst_first_with_what_has_become_of_them(shop: Shop, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(data, 3, independent=600)
    data.dead_letter(
        data.task("refund", state="complete", ago=60), reason="manual_dlq", was="steps_in_process", age=7200
    )
    data.dead_letter(
        data.task("newsletter", state="waiting_for_dependencies"), reason="dependency_cycle_detected", age=60
    )
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 40)) as stage:
        await stage.until("all jobs")
        await stage.press("3")
        text = await stage.until(REFUND, "5 dead letters in 3 groups", "enter the dead-letter queue of this engine")
        lines = [line for line in text.splitlines() if "▸ " in line and " · " in line]
        assert ["dependency_cycle" in lines[0], REFUND in lines[1], "manual_dlq" in lines[2]] == [True] * 3
        assert "  3  " in lines[1]
        assert "2h30m   2h10m" in lines[1]
        assert "still waiting_for_dependencies" in lines[0]
        assert "waiting_for_dependencies → error" in lines[1]
        assert "steps_in_process → complete" in lines[2]
        await down_to(stage, REFUND)
        await stage.until("3 was waiting_for_dependencies, now error", "E Resolve dead letter", "V Revive")
        await stage.press("right")
        await stage.until("503 after 0 ms", "503 after 2 ms")
        await stage.press("left")
        await stage.until(lambda: "503 after 0 ms" not in stage.text)


async def test_a_dead_letter_is_decided_on_elsewhere_and_another_is_made(
    shop: Shop, tasker: str, tmp_path: Path
) -> None:
    data = Data(1)
    first, _ = dead(data, 2)
    stalled = data.task("newsletter", state="waiting_for_dependencies")
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 40)) as stage:
        await stage.press("3")
        await stage.until("2 dead letters in 1 group")
        await shop.do("resolve", shop.dead_letter(first), status="cancelled")
        await stage.until("1 dead letter in 1 group")
        await shop.do("bury", shop.task(stalled))
        await stage.until("2 dead letters in 2 groups", "manual_dlq")


async def test_open_a_dead_letter_its_history_and_its_task_in_the_tree(shop: Shop, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    made = data.task("refund", state="error", ago=900, steps={"refund_card": failed(950, error="no such card")})
    data.dead_letter(made, age=86400, decision="manually_resolved", note="gateway was down", by="anna")
    data.dead_letter(made, age=800)
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 80)) as stage:
        await stage.press("3")
        await stage.until("no such card")
        await down_to(stage, "staleness_timeout")
        await stage.press("enter")
        await stage.until("▾")
        await stage.press("down")
        await stage.until(lambda: "▾" not in row_of(stage))
        await stage.press("enter")
        await stage.until("Then and now", "All dead letters of this task", "gateway was down", "Snapshot", "3 dead")
        await stage.press("escape")
        await stage.until("1 dead letter in 1 group")
        await stage.press("o")
        await stage.until("all jobs", lambda: "refund v1" in row_of(stage))


async def test_resolve_from_key_to_row(shop: Shop, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    first, second = dead(data, 2)
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 44)) as stage:
        await stage.press("3")
        await stage.until(REFUND)
        await down_to(stage, REFUND)
        await stage.press("right", "down")
        await stage.until(lambda: "503 after 0 ms" in row_of(stage))
        await stage.action("E", "the gateway was down")
        await stage.until("pending → manually_resolved", "Would change 1 node")
        assert await shop.value(STATUS, first) == "pending", "a dry run changes nothing"
        await stage.press("E")
        await stage.until("1 changed", "Close")
        await stage.press("enter")
        await stage.until("1 dead letter in 1 group", lambda: "503 after 0 ms" not in stage.text)
        assert await shop.value(STATUS, second) == "pending"
    row = await shop.row("SELECT * FROM tasks_dlq WHERE dlq_entry_uuid = $1", first)
    assert (row["resolution_status"], row["resolution_notes"]) == ("manually_resolved", "the gateway was down")
    assert row["resolved_by"]
    assert '"detection_method"' in row["metadata"], "metadata is added to, not replaced"


async def test_of_two_operators_one_has_changed_it_and_the_other_is_told(
    shop: Shop, tasker: str, tmp_path: Path
) -> None:
    data = Data(1)
    (dead_letter,) = dead(data, 1)
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 44)) as stage:
        await stage.press("3")
        await stage.until(REFUND)
        await down_to(stage, REFUND)
        await stage.action("E", "it is dealt with")
        await stage.until("E changes 1 node")
        other = await shop.do("resolve", shop.dead_letter(dead_letter), status="permanently_failed", name="Ben")
        assert [r.outcome for r in other.results] == [Outcome.CHANGED]
        await stage.press("E")
        await stage.until("1 moved", "Close")
        await stage.press("enter")
        await stage.until("no dead letters")
    row = await shop.row("SELECT * FROM tasks_dlq")
    assert (row["resolution_status"], row["resolved_by"]) == ("permanently_failed", "Ben")


async def test_five_hundred_by_their_fingerprint_stopped_and_gone_on_with(
    shop: Shop, proxy: Proxy, tasker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.actions.perform.CHUNK", 5)
    data = Data(1)
    dead(data, 500)
    other = data.dead_letter(data.task("newsletter", state="error"), reason="manual_dlq")
    await shop.write(data)
    count = "SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'permanently_failed'"
    async with staged(proxy.through(tasker), tmp_path, size=(150, 44)) as stage:
        await stage.press("3")
        await stage.until("501 dead letters in 2 groups")
        await down_to(stage, REFUND)
        await stage.press("E")
        await stage.until("Resolve dead letter: 500 nodes", "Reason, for the audit log")
        await stage.type("never to be paid")
        stage.app.screen.query_one("#argument-status").value = "permanently_failed"  # type: ignore[attr-defined]
        await stage.press("enter")
        await stage.until("E changes 500 nodes")
        proxy.delay = 0.02  # a hundred chunks take so long that they can be stopped on the way
        await stage.press("E")
        await stage.until("of 500, ", " a second, about ")
        stage.app.screen.query_one("#stop", Button).press()
        proxy.delay = 0.0
        text = await stage.until("changed", "refused", "stopped before its turn came", "Close")
        done = await shop.value(count)
        assert 0 < done < 500
        assert f"{done} changed" in text
        assert f"{500 - done} refused" in text
        proxy.delay = 0.02
        stage.app.screen.query_one("#more", Button).press()
        await stage.until("of 500, ", lambda: not stage.app.screen.query_one("#more").display)
        stage.app.screen.query_one("#stop", Button).press()
        proxy.delay = 0.0
        await stage.until("changed", "refused", "stopped before its turn came", "Close")
        before, done = done, await shop.value(count)
        assert before < done < 500, "it went on where it was stopped"
        await stage.press("enter")
        await stage.until(f"{501 - done} dead letters in 2 groups")
        await down_to(stage, REFUND)
        await stage.action("E", "and the rest")
        await stage.press("E")
        await stage.until(f"{500 - done} changed", "Close")
        await stage.press("enter")
        await stage.until("1 dead letter in 1 group")
    assert await shop.value("SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'pending'") == 1
    assert await shop.value(STATUS, other) == "pending"


async def test_revive_takes_the_marked_ones_and_resolves_their_dead_letters(
    shop: Shop, tasker: str, tmp_path: Path
) -> None:
    data = Data(1)
    first, second, third = dead(data, 3)
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 44)) as stage:
        await stage.press("3")
        await stage.until(REFUND)
        await down_to(stage, REFUND)
        await stage.press("right", "down", "space", "space")
        await stage.until("2 marked")
        assert "503 after 2 ms" in row_of(stage), "the marked ones are meant, not the one under the cursor"
        await stage.action("V", "the gateway is back")
        await stage.until("Would change 2 nodes")
        await stage.press("V")
        await stage.until("2 changed", "Close")
        await stage.press("enter")
        await stage.until("1 dead letter in 1 group", lambda: "marked" not in stage.text)
    left = [await shop.value(STATUS, x) for x in (first, second, third)]
    assert left == ["manually_resolved", "manually_resolved", "pending"]
    states = await shop.connection.fetch("SELECT to_state FROM task_transitions WHERE most_recent ORDER BY 1")
    assert [s[0] for s in states] == ["error", "waiting_for_dependencies", "waiting_for_dependencies"]
    await shop.sound()


async def test_what_failed_for_good_is_put_into_the_queue_by_hand(shop: Shop, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    steps = {"check_return": complete(900), "refund_card": failed(800, error="card 4711 is closed")}
    data.task("refund", state="blocked_by_failures", ago=700, steps=steps)
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 44)) as stage:
        await stage.press("3")
        await stage.until("failed for good · shop/refund · refund_card: card <n> is closed")
        await down_to(stage, "failed for good")
        await stage.action("B", "for the shop to decide")
        await stage.press("B")
        await stage.until("1 changed", "Close")
        await stage.press("enter")
        await stage.until("manual_dlq · shop/refund · refund_card: card <n> is closed", "still blocked_by_failures")
    snapshot = await shop.value("SELECT task_snapshot::text FROM tasks_dlq")
    assert "card 4711 is closed" in snapshot


async def test_an_empty_desk_says_what_a_dead_letter_would_be(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    async with staged(eternaltwin, tmp_path, size=(150, 40)) as stage:
        await stage.press("d")
        await stage.until("eternaltwin  no dead letters; none: the engine keeps no errors", "3 dead")
        await stage.press("enter", "right", "left", "space", "o", "m", "escape", "E")
        await stage.until("E changes a node, and there is none under the cursor.")


async def test_sixty_columns_and_ascii(shop: Shop, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(data, 2)
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(60, 30), ascii=True) as stage:
        await stage.press("3")
        await stage.until("> staleness_timeout", "dead_letters", "first")
        await down_to(stage, "staleness_timeout")
        await stage.press("right", "down")
        text = await stage.until("503 after 0 ms", "E Resolve dead letter")
        assert "was waiting_for_dependencies, now error" in " ".join(text.split())
        assert text.isascii()
        assert max(map(len, text.splitlines())) == 60


async def test_hostile_errors_are_text(shop: Shop, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(
        data,
        2,
        error="\x1b[31mred\x07 [bold]markup[/] [@click=app.quit]x[/] \u202eleft {n}\u200b 漢字\r\n" + "x" * 9000,
    )
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 40)) as stage:
        await stage.press("3")
        await stage.until("␛[<n>mred␇ [bold]markup[/]")
        await down_to(stage, "staleness_timeout")
        await stage.until("[@click=app.quit]x[/] <U+202E>left <n><U+200B> 漢字")
        await stage.press("right", "down")
        text = await stage.until("␛[31mred␇ [bold]markup[/]", "2 dead letters in 1 group")
        assert not any(ord(c) < 32 and c != "\n" for c in text)
        assert "\u202e" not in text


async def test_more_than_is_read_by_itself_is_marked_and_asked_for(
    shop: Shop, tasker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letter_board, "PAGE", 4)
    monkeypatch.setattr(dead_letter_board, "CAP", 8)
    data = Data(1)
    dead(data, 11)
    await shop.write(data)
    async with staged(tasker, tmp_path, size=(150, 40)) as stage:
        await stage.press("3")
        await stage.until("8+ dead letters in 1+ groups", "m more dead letters")
        assert "  8+  " in next(line for line in stage.text.splitlines() if REFUND in line)
        await stage.press("m")
        await stage.until("11 dead letters in 1 group", lambda: "m more dead letters" not in stage.text)


async def test_a_lost_server_leaves_the_last_picture(own_server: TestbedServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("tasker")
    shop = await Shop.open(dsn, tmp_path)
    data = Data(1)
    dead(data, 2)
    await shop.write(data)
    await shop.close()
    async with staged(dsn, tmp_path, size=(150, 40)) as stage:
        await stage.press("3")
        await stage.until("2 dead letters in 1 group")
        own_server.halt("immediate")
        await stage.until("no connection", REFUND)
        await down_to(stage, REFUND)
        await stage.press("right", "down")
        await stage.until(lambda: "503 after 0 ms" in row_of(stage))
        own_server.start()
        await stage.until("● live", "Connected again.", "2 dead letters in 1 group")


async def test_an_engine_that_cannot_be_read_says_so(shop: Shop, tasker: str, tmp_path: Path) -> None:
    await shop.write(Data(1))
    async with staged(tasker, tmp_path, size=(150, 40)) as stage:
        await stage.press("3")
        await stage.until("no dead letters")
        await shop.sql("ALTER TABLE tasks_dlq RENAME TO elsewhere")
        await stage.until("tasker  not read: ", "tasks_dlq")
        await shop.sql("ALTER TABLE elsewhere RENAME TO tasks_dlq")
        await stage.until("no dead letters")
