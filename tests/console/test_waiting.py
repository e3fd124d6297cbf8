"""Suggested commands, and waiting for a locked task, on screen and in commands."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from textual.widgets import Button, Input

from queries.db.redaction import without_passwords
from tests.command import environment
from tests.console.tui_driver import run_tui
from tests.db.estuary import ZERO, EstuaryDb, digest
from tests.homes import HOMES
from tests.servers import PostgresServer

GOOD = f'["{ZERO}", {{"type": "shard_failed"}}]'
POISON = '"poison"'
DROP = ("--arg", "position=1", "--arg", f"digest={digest(POISON)}", "--reason", "poison")


async def started(*words: str, dsn: str) -> asyncio.subprocess.Process:
    """The program itself, because signals reach main threads alone."""
    home = Path(tempfile.mkdtemp(dir=HOMES.name))
    pipe = asyncio.subprocess.PIPE
    arguments = (sys.executable, "-m", "console", *words, "-d", dsn)
    return await asyncio.create_subprocess_exec(*arguments, stdout=pipe, stderr=pipe, env=environment(home, {}))


async def waits(program: asyncio.subprocess.Process) -> None:
    """Return once the program says that it waits."""
    assert program.stderr is not None
    async with asyncio.timeout(60):
        while b"Ctrl-C" not in (line := await program.stderr.readline()):
            assert line, "it ended"


async def command(*words: str, dsn: str) -> tuple[int | None, str, str]:
    """A command to its end: its exit code and what it wrote."""
    program = await started(*words, dsn=dsn)
    out, err = await asyncio.wait_for(program.communicate(), 120)
    return program.returncode, out.decode(), err.decode()


async def expire_heartbeat(estuary_db: EstuaryDb, task: str) -> None:
    """Make the retry due: set a heartbeat older than the timeout."""
    await estuary_db.sql(
        "UPDATE tasks SET heartbeat = now() - interval '301 s' WHERE task_id = $1::text::macaddr8", task
    )


@pytest.mark.parametrize("page", ["stuck", "show"])
async def test_a_suggested_command_runs_as_it_is_printed(estuary_db: EstuaryDb, estuary: str, page: str) -> None:
    task = await estuary_db.task(wake=-900, beat=301, inbox=[GOOD, POISON])
    _, out, _ = await command(page, *([estuary_db.id(task)] if page == "show" else []), dsn=estuary)
    (line,) = [each.partition("action: ")[2] for each in out.splitlines() if "action: unstick do drop" in each]
    program, *words, option, target = shlex.split(line.replace('"..."', "poison"))
    assert (program, option, target) == ("unstick", "-d", without_passwords(estuary))
    code, _, err = await command(*words, "--yes", dsn=estuary)
    assert code == 0, err
    assert (await estuary_db.row(task))["inbox"] == [GOOD]


async def test_a_decision_is_proposed_with_a_choice(server: PostgresServer) -> None:
    dsn = server.fresh("tasker", filled=True)
    _, out, _ = await command("stuck", dsn=dsn)
    lines = [each for each in out.splitlines() if "action: unstick do resolve" in each]
    assert lines
    assert all("--arg status=manually_resolved" in line for line in lines)
    server.drop(dsn)


async def test_do_says_that_waiting_would_help(estuary_db: EstuaryDb, estuary: str) -> None:
    task = await estuary_db.task(wake=-900, beat=20, inbox=[POISON])
    code, out, err = await command("do", "drop", estuary_db.id(task), *DROP, "--yes", dsn=estuary)
    assert (code, out.startswith("  1 refused")) == (3, True)
    assert "--wait" in err
    code, _, err = await command("do", "drop", estuary_db.id(task), *DROP, "--yes", "--wait", "0.5", dsn=estuary)
    assert code == 3
    assert (await estuary_db.row(task))["inbox"] == [POISON]


async def test_do_waits_until_it_is_free(estuary_db: EstuaryDb, estuary: str) -> None:
    task = await estuary_db.task(wake=-900, beat=20, inbox=[POISON, GOOD])
    program = await started("do", "drop", estuary_db.id(task), *DROP, "--yes", "--wait", "300", "--json", dsn=estuary)
    await waits(program)
    await asyncio.sleep(0.5)
    assert program.returncode is None  # it has tried, and goes on waiting
    await expire_heartbeat(estuary_db, task)
    out, err = await asyncio.wait_for(program.communicate(), 60)
    assert program.returncode == 0, err
    assert [r["outcome"] for r in json.loads(out)["results"]] == ["changed"]
    assert (await estuary_db.row(task))["inbox"] == [GOOD]


async def test_waiting_is_broken_off_by_ctrl_c(estuary_db: EstuaryDb, estuary: str) -> None:
    task = await estuary_db.task(wake=-900, beat=20, inbox=[POISON])
    program = await started("do", "drop", estuary_db.id(task), *DROP, "--yes", "--wait", "3000", dsn=estuary)
    await waits(program)
    await asyncio.sleep(0.3)
    program.send_signal(signal.SIGINT)
    out, _ = await asyncio.wait_for(program.communicate(), 60)
    assert program.returncode == 130
    assert b"refused" in out
    assert (await estuary_db.row(task))["inbox"] == [POISON]


# On the screen


async def test_the_screen_fills_in_what_the_finding_knows_and_waits(
    estuary_db: EstuaryDb, estuary: str, tmp_path: Path
) -> None:
    task = await estuary_db.task(wake=-900, beat=230, inbox=[GOOD, POISON])
    async with run_tui(estuary, tmp_path, size=(140, 50)) as tui:
        await tui.press("2")
        await tui.wait_for("undecodable message", lambda: tui.app.screen.targets())  # type: ignore[attr-defined]
        await tui.press("X")
        await tui.wait_for("Reason, for the audit log")
        fields = {field.id: field.value for field in tui.app.screen.query(Input)}
        assert fields["argument-position"] == "2"
        assert fields["argument-digest"] == digest(POISON)
        await tui.type("poison")
        await tui.press("enter")
        await tui.wait_for("w waits")
        assert tui.app.screen.query_one("#go", Button).disabled
        await tui.press("w")
        await tui.wait_for("waiting up to")
        assert not tui.app.screen.query_one("#go", Button).disabled
        await tui.press("X")
        await tui.wait_for("Waiting for 1 locked node")
        assert (await estuary_db.row(task))["inbox"] == [GOOD, POISON]
        await expire_heartbeat(estuary_db, task)
        await tui.wait_for("1 changed")
        assert (await estuary_db.row(task))["inbox"] == [GOOD]


async def test_waiting_on_the_screen_can_be_stopped(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    task = await estuary_db.task(wake=-900, beat=230, inbox=[POISON])
    async with run_tui(estuary, tmp_path, size=(140, 50)) as tui:
        await tui.press("2")
        await tui.wait_for("undecodable message", lambda: tui.app.screen.targets())  # type: ignore[attr-defined]
        await tui.action("X", "poison")
        await tui.press("w")
        await tui.wait_for("waiting up to")
        await tui.press("X")
        await tui.wait_for("Waiting for 1 locked node")
        tui.app.screen.query_one("#stop", Button).press()
        await tui.wait_for("1 refused")
        assert (await estuary_db.row(task))["inbox"] == [POISON]


async def test_a_key_for_a_running_task_leads_to_waiting(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    await estuary_db.task(wake=3600, beat=0)
    async with run_tui(estuary, tmp_path, size=(140, 50), start="tree") as tui:
        await tui.wait_for("● live", "running", lambda: tui.app.screen.cursor())  # type: ignore[attr-defined]
        await tui.action("P", "hot")
        await tui.wait_for("the task is locked: a running poll sets wake_at", "w waits")
