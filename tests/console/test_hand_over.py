"""H: the shift as Markdown, from every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from console.cli.schema import schema
from console.model.hand_over import Shift, shift_lines
from console.model.hand_over import opened as opened_work
from console.tui.screens.copy import choices, shift_choices
from queries.log import audit_log
from queries.log.audit_log import operator
from queries.records.finding import Findings, SkippedFinding
from queries.records.snapshot import Part, Snapshot
from queries.records.where import Where
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, opened, undone
from tests.servers import PostgresServer


@pytest.mark.parametrize("page", ["1", "4"])
async def test_a_shift_is_copied_with_what_is_open_done_and_stuck_again(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path, page: str
) -> None:
    kinds = ("Back", "Gone", "Undone")
    back, gone, again_as_before = [await eternaltwin_db.task(kind=kind, status="Blocked", timer=-900) for kind in kinds]
    open_ = await eternaltwin_db.task(kind="Open", status="Blocked", timer=-900)
    workspace = await opened(eternaltwin, tmp_path)
    await do(workspace, "wake", map(eternaltwin_db.id, (back, gone)))
    await undone(workspace, await do(workspace, "wake", [eternaltwin_db.id(again_as_before)]))
    await workspace.close()
    await eternaltwin_db.sql("UPDATE task SET status = 'Blocked' WHERE task_id = $1", back)
    await eternaltwin_db.sql(
        "INSERT INTO task_timer (task_id, deadline) VALUES ($1, now() - interval '900 seconds')", back
    )
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", "3 stuck", lambda: tui.app.session.state.findings_loaded)
        await tui.press(page, "H")
        await tui.wait_for("shift as Markdown")
        await tui.press("enter")
        await tui.wait_for("Sent to the terminal: shift as Markdown.")
        copied = tui.app.clipboard
    head, opened_, done, again = copied.split("## ")
    assert f"{eternaltwin.rpartition('/')[2]} as postgres" in head.replace("\\", "")
    assert f", by {operator().name} " in head.replace("\\", "")
    assert re.search(r"- 3 critical, eternaltwin since \S+Z: overdue timer: ", opened_)
    assert " wake: 3 changed, 1 undone later; it was stuck; " in done
    assert "undo" not in done.replace("undone", "")
    assert str(back) in again.replace("\\", "")
    for other in (gone, open_, again_as_before):
        assert str(other) not in again.replace("\\", "")


async def test_a_quiet_shift_says_so(eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)
        await tui.press("H")
        await tui.wait_for("shift as Markdown")
        await tui.press("enter")
        await tui.wait_for("Sent to the terminal: shift as Markdown.")
        assert tui.app.clipboard.count("Nothing.") == 3


async def test_what_is_not_read_again_is_handed_over_as_that(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-900)
    async with run_tui(eternaltwin, tmp_path, start="stuck") as tui:
        state, front = tui.app.session.state, tui.app.front
        assert front is not None
        await tui.wait_for("overdue timer", front.cursor)
        nodes = front.targets()
        await eternaltwin_db.sql("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE")
        await tui.wait_for(lambda: [each for each in state.shown.incidents if each.read_at], "not read for ")
        copied = [*choices(tui.app.session, nodes), *await shift_choices(tui.app.session, tui.app.where)]
        await eternaltwin_db.sql("ROLLBACK")
    sign = re.compile(r"\(not read since \d{4}-.*overdue timer|overdue timer.* \(not read since \d{4}-")
    dated = [each.title for each in copied if sign.search(each.text)]
    assert dated == ["why stuck", "Markdown", "shift as Markdown", "shift as text"]
    skipped = (SkippedFinding(engine="x", code="overdue_timer", why="locked", failed=True),)
    part = Part(label="x", findings=Findings(findings=(), at=1.0, skipped_findings=skipped))
    where = Where(typed="h", cluster_name="main", database="d", role="r")
    now = Snapshot(at=1.0, parts=(part,), incidents=())
    nothing = Shift(
        where=where, who="x", since=0.0, until=1.0, open=opened_work(now, ()), done=(), again=(), unread=("x",)
    )
    assert "Nothing in the parts" in "\n".join(shift_lines(nothing, marked=False))


async def test_a_log_that_cannot_be_read_is_said(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)
        await eternaltwin_db.sql("ALTER TABLE unstick.audit_log RENAME TO hidden")
        await tui.press("H")
        await tui.wait_for("The audit log could not be read.", lambda: tui.app.screen is tui.app.front)


NIGHT = """
INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, active_job_id, created_at, updated_at)
SELECT 'q', (ARRAY['SyncJob', 'MailJob', 'BillJob'])[1 + n % 3], '{}', gen_random_uuid(), now(), now()
  FROM generate_series(1, 1200) n;
INSERT INTO solid_queue_failed_executions (job_id, error, created_at)
SELECT id, format('{"exception_class":"%s","message":"%s"}', (ARRAY['IOError', 'KeyError'])[1 + (id % 4 = 0)::int],
         'no file /tmp/upload-' || substr(md5(id::text), 1, 7) || '.csv of tenant' || id || '@x.example'), now()
  FROM solid_queue_jobs
"""


def test_a_night_is_a_text_for_a_ticket(server: PostgresServer, tmp_path: Path) -> None:
    """Each error is one line with its exact number, and so is each work."""
    dsn = server.fresh("solid_queue")
    server.sql(NIGHT, dsn)
    server.sql(audit_log.ddl(), dsn)
    (report,) = unstick("dead", "--json", dsn=dsn).json["dead"]
    for row in report["dead_letters"][:3]:
        assert unstick("do", "cancel", row["node"]["id"], "-r", "tenant closed", "-y", dsn=dsn).code == 0
    last = unstick("audit", "--json", dsn=dsn).json["entries"][0]["id"]
    assert unstick("undo", last, "-r", "wrong tenant", "-y", dsn=dsn).code == 0
    words = ("redrive", "--group", report["groups"][0]["key"], "--limit", "6", "--wait", "0s", "-r", "disk is mounted")
    unstick(*words, "-y", dsn=dsn)
    answer = unstick("shift", "--json", dsn=dsn)
    assert list(Draft202012Validator(schema(["shift"])).iter_errors(answer.json)) == []
    numbers = [(each["n"], each["capped"], each["what"].partition(":")[0]) for each in answer.json["open"]]
    assert sorted(numbers, reverse=True) == numbers
    assert [(capped, error) for _, capped, error in numbers] == [(False, "IOError"), (False, "KeyError")]
    assert 1190 < sum(n for n, *_ in numbers) < 1200
    text = unstick("shift", "--markdown", dsn=dsn).out
    assert len(text.splitlines()) <= 40, text
    assert re.search(r"redrive, retry: \d of 6 changed.*; disk is mounted; .*; group .*: \w+Error: no file ", text), (
        text
    )
    assert "cancel: 3 changed, 1 undone later; tenant closed; " in text
    server.drop(dsn)
