"""The header's lines of engines, and moving between them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.demo.engine import connect
from console.tui.widgets.line_view import LineView
from tests.console.stage import Stage, staged
from tests.queries.snak import ANNA, BERT, Snak
from tests.servers import TestbedServer, together

LABELS = ("agent_jobs", "estuary", "eternaltwin", "tasker", "uni2work")


@pytest.fixture
async def five(server: TestbedServer) -> AsyncIterator[str]:
    """DSN of a database with the demo's data of all engines; nobody is at work."""
    dsn = await together(server)
    yield dsn
    server.drop(dsn)


def lines(stage: Stage) -> dict[str, str]:
    """The header's lines by engine."""
    found = [line for line in stage.text.splitlines()[1:6] if line[3:].split()]
    return {line[3:].split()[0]: line for line in found}


async def test_an_engine_that_cannot_be_read_keeps_no_other_from_being_read(five: str, tmp_path: Path) -> None:
    connection = await connect(five, "agent_jobs")
    async with staged(five, tmp_path, size=(120, 30)) as stage:
        await stage.until(lambda: stage.text.count(" stuck") >= 5 and "counting" not in stage.text)
        before = lines(stage)
        await connection.execute("ALTER TABLE agent_jobs.jobs RENAME status TO state")
        await connection.execute("TRUNCATE eternaltwin.job CASCADE")
        await stage.until(lambda: "not read" in lines(stage)["agent_jobs"] and "empty" in lines(stage)["eternaltwin"])
        found = lines(stage)
        assert all("not read" not in line for label, line in found.items() if label != "agent_jobs")
        assert found["agent_jobs"].split("not read")[0].split() == before["agent_jobs"].split()[:-2]
        assert "+ stuck" in found["agent_jobs"], "how many there are now is not known"
        await stage.until(lambda: "status does not exist" in stage.text)
        await connection.execute("ALTER TABLE agent_jobs.jobs RENAME state TO status")
        await stage.until(lambda: "not read" not in lines(stage)["agent_jobs"])
    await connection.close()


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_each_of_five_engines_has_its_line(five: str, tmp_path: Path, width: int) -> None:
    async with staged(five, tmp_path, size=(width, 30)) as stage:
        await stage.until(lambda: stage.text.count(" stuck") >= 5 and "counting" not in stage.text)
        found = lines(stage)
        assert tuple(found) == LABELS
        assert [label for label, line in found.items() if line.startswith(" ▸ ")] == ["agent_jobs"]
        for label, line in found.items():
            assert line.rstrip().endswith(" stuck"), "the end of a line is never squeezed out"
            assert any(glyph in line for glyph in "○►◷■◆✗?"), label
        starts = {line.index(label) for label, line in found.items()}
        assert starts == {3}
        assert "(mirror)" in found["agent_jobs"]
        assert len({"ready" in line or "blocked" in line for line in found.values()}) == 1, "all in words, or none"


async def test_one_key_goes_through_the_engines_and_back(five: str, tmp_path: Path) -> None:
    async with staged(five, tmp_path, size=(100, 30)) as stage:
        await stage.until("live", "tab engine")
        for label in (*LABELS[1:], LABELS[0]):
            await stage.press("tab")
            await stage.until(f"› {label} › all jobs", lambda label=label: lines(stage)[label].startswith(" ▸ "))
        await stage.press("shift+tab")
        await stage.until(f"› {LABELS[-1]} › all jobs")


async def test_the_cursor_begins_on_the_first_row_and_its_engine_is_the_one_in_front(five: str, tmp_path: Path) -> None:
    async with staged(five, tmp_path, size=(120, 30)) as stage:
        await stage.until(lambda: stage.text.count(" stuck") >= 5 and "counting" not in stage.text)
        await stage.press("3")
        await stage.until("▌tasker", lambda: re.search(r"[1-9]\d dead letters in", stage.text))
        assert lines(stage)["tasker"].startswith(" ▸ ")
        stage.app.session.pause()
        await stage.press("end")
        await stage.until(lambda: lines(stage)["eternaltwin"].startswith(" ▸ "))  # without a look at the database


async def test_on_a_low_screen_the_current_one_alone_has_a_line(five: str, tmp_path: Path) -> None:
    async with staged(five, tmp_path, size=(48, 10)) as stage:
        await stage.until("live", " 1/5 agent_jobs")
        await stage.press("tab", "tab", "tab")
        text = await stage.until(" 4/5 tasker", "shop")
        assert "agent_jobs" not in text


async def test_one_key_groups_the_tree_otherwise(snak: Snak, tmp_path: Path) -> None:
    clerk, cook = await snak.agent(ANNA, "clerk"), await snak.agent(BERT, "cook")
    for user, agent in ((ANNA, clerk), (BERT, clerk), (BERT, cook)):
        await snak.job(user=user, agent=agent)
    async with staged(snak.dsn, tmp_path) as stage:
        await stage.until("all jobs by agent", "clerk", "cook", "v group")
        await stage.press("v")
        text = await stage.until("all jobs by user", "user 1000", "user 2000")
        assert "clerk" not in text
        await stage.press("right")
        await stage.until("└")
        await stage.press("r", "v")
        await stage.until("all jobs by agent", "cook", lambda: "user 1000" not in stage.text)


async def test_an_engine_with_one_tree_has_no_such_key(eternaltwin: str, tmp_path: Path) -> None:
    async with staged(eternaltwin, tmp_path) as stage:
        text = await stage.until("There are no jobs")
        assert "v group" not in text
        await stage.press("v")
        await stage.until("This engine has one tree only.")


@pytest.mark.parametrize(("status", "profile"), [("pending", "mirror"), ("active", "table")])
async def test_the_profile_in_force_is_always_shown(snak: Snak, tmp_path: Path, status: str, profile: str) -> None:
    await snak.job(status)
    async with staged(snak.dsn, tmp_path) as stage:
        await stage.until("all jobs by agent", f"agent_jobs ({profile})")
        for key, sign in (("2", "stuck"), ("4", "audit"), ("question_mark", "help")):
            await stage.press(key)
            await stage.until(f"agent_jobs ({profile})", lambda sign=sign: stage.app.screen.mode() == sign)
        await stage.until(lambda: f"profile: {profile} (" in stage.app.screen.query_one(LineView).text)
