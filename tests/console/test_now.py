"""The first list: incidents, other failing groups, and changes of operators."""

from __future__ import annotations

from pathlib import Path

from queries.log import audit_log
from tests.console.test_dead import down_to
from tests.console.tui_driver import run_tui
from tests.db.agent_jobs import AgentJobsDb

DAY = 86_400.0


async def test_failing_groups_and_changes_are_rows_with_number_time_and_key(
    agent_jobs_db: AgentJobsDb, tmp_path: Path
) -> None:
    await agent_jobs_db.sql(audit_log.ddl())
    for error, number, days in (("Disk quota exceeded", 3, 5), ("Key is missing", 2, 6)):
        for _ in range(number):
            age = days * DAY
            await agent_jobs_db.job("failed", age=age + 60, started=age + 30, ended=age, changed=age, error=error)
    for _ in range(12):
        await agent_jobs_db.job("failed", age=300, started=200, ended=100, changed=100, error="No such bucket")
    async with run_tui(agent_jobs_db.dsn, tmp_path, size=(170, 40), start="stuck") as tui:
        text = await tui.wait_for(
            "failed alike", "Disk quota exceeded", "3 jobs", "5d00h", "1 incident, 2 dead letter groups"
        )
        assert "dead letters  failed: No such bucket" not in text, "an incident is about them"
        await down_to(tui, "Disk quota exceeded")
        assert "T retry" in next(line for line in text.splitlines() if "Disk quota exceeded" in line)
        await tui.action("T")
        await tui.press("T")
        await tui.wait_for("3 changed: job")
        await tui.press("escape")
        await tui.wait_for("1 dead letter group, 1 change", "retry by ", "U undo")
        await down_to(tui, "retry by ")
        await tui.action("U")
        await tui.press("U")
        await tui.wait_for("Undo: 3 jobs", "3 changed: job")
        await tui.press("escape")
        await tui.wait_for("Disk quota exceeded", "2 dead letter groups, 2 changes")
    assert await agent_jobs_db.value("SELECT count(*) FROM jobs WHERE status = 'failed'") == 17


async def test_changes_do_not_matter_while_nothing_is_wrong(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.sql(audit_log.ddl())
    await agent_jobs_db.job("failed", age=6 * DAY, started=6 * DAY, ended=5 * DAY, changed=5 * DAY, error="Quota")
    async with run_tui(agent_jobs_db.dsn, tmp_path, start="stuck") as tui:
        await tui.wait_for("dead letters  failed: Quota")
        await tui.action("D")
        await tui.press("D")
        await tui.wait_for("1 changed: job")
        await tui.press("escape")
        await tui.wait_for("Nothing is stuck")
