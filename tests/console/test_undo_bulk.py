"""Undo of a run: all of its entries, at most 500 nodes in a transaction."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from console.text.spans import Spans
from console.text.views.action import result_lines
from queries.log import audit_log
from queries.records.action import Outcome, Result, RowChange
from tests.command import fetch, unstick
from tests.console.test_cli_resume import FILL, PACE, killed, unfinished
from tests.console.tui_driver import run_tui
from tests.servers import PostgresServer

NODES = 1100
STATUSES = "SELECT status::text, count(*)::int FROM task GROUP BY 1 ORDER BY 1"


@pytest.fixture
def bulk(server: PostgresServer, eternaltwin: str, tmp_path: Path) -> str:
    """Wake many tasks. Return the id of the bulk."""
    server.sql(FILL % NODES + audit_log.ddl(), eternaltwin)
    keys = fetch(eternaltwin, "SELECT task_id::text FROM task ORDER BY 1")
    ids = [f"eternaltwin/task:{key}" for (key,) in keys]
    done = unstick("do", "wake", *ids, "-r", "wrong", "--yes", "--json", dsn=eternaltwin, home=tmp_path)
    assert done.code == 0, done.err
    assert f"unstick undo {done.json['run']}" in done.err
    first = {change["id"] for change in done.json["changes"]}
    assert done.json["logged"] == NODES - len(first) == NODES - 500
    return str(done.json["run"])


def test_all_entries_of_a_bulk_are_undone_and_done_again(
    server: PostgresServer, eternaltwin: str, bulk: str, tmp_path: Path
) -> None:
    wakes = unstick("audit", "--action", "wake", "--json", dsn=eternaltwin, home=tmp_path).json["entries"]
    (key,) = fetch(eternaltwin, "SELECT max(task_id::text) FROM task")[0]
    server.sql(f"UPDATE task SET kind = kind WHERE task_id = '{key}'", eternaltwin)
    preview = unstick("undo", bulk, "-r", "oops", "--dry-run", "--json", dsn=eternaltwin, home=tmp_path)
    assert preview.json["arguments"] == {"run": bulk}

    undone = unstick("undo", bulk, "-r", "oops", "--yes", "--json", dsn=eternaltwin, home=tmp_path)
    assert undone.code == 3
    outcomes = {r["id"]: r["outcome"] for r in undone.json["results"]}
    assert len(outcomes) == NODES
    assert [i for i, outcome in outcomes.items() if outcome != "changed"] == [f"eternaltwin/task:{key}"]
    assert fetch(eternaltwin, STATUSES) == [("Available", 1), ("Blocked", NODES - 1)]
    assert fetch(eternaltwin, "SELECT count(*)::int FROM task_timer") == [(NODES - 1,)]

    log = unstick("audit", "--action", "undo", "--json", dsn=eternaltwin, home=tmp_path).json["entries"]
    assert {e["arguments"]["run"]["id"] for e in log} == {undone.json["run"]}
    assert {e["arguments"]["entry"] for e in log} == {e["id"] for e in wakes}
    assert len(log) == 3
    assert all(len(e["results"]) <= 500 for e in log)

    again = unstick("undo", undone.json["run"], "-r", "no", "--yes", "--json", dsn=eternaltwin, home=tmp_path)
    assert (again.code, len(again.json["results"])) == (0, NODES - 1)
    assert fetch(eternaltwin, STATUSES) == [("Available", NODES)]


def test_some_nodes_of_a_bulk_are_undone(eternaltwin: str, bulk: str, tmp_path: Path) -> None:
    keys = fetch(eternaltwin, "SELECT min(task_id::text), max(task_id::text) FROM task")[0]
    ids = [f"eternaltwin/task:{key}" for key in keys]
    some = unstick("undo", bulk, *ids, "-r", "oops", "--yes", "--json", dsn=eternaltwin, home=tmp_path)
    assert (some.code, [r["id"] for r in some.json["results"]]) == (0, ids)
    assert fetch(eternaltwin, STATUSES) == [("Available", NODES - 2), ("Blocked", 2)]
    other = unstick("undo", "b00000000", "-r", "oops", "--yes", dsn=eternaltwin, home=tmp_path)
    assert other.code == 3
    assert fetch(eternaltwin, STATUSES) == [("Available", NODES - 2), ("Blocked", 2)]


def test_a_killed_undo_is_continued(server: PostgresServer, eternaltwin: str, bulk: str, tmp_path: Path) -> None:
    server.sql(PACE, eternaltwin)
    killed(eternaltwin, tmp_path, random.Random(1), "undo", bulk, "-r", "oops", "--yes")
    (name,) = unfinished(eternaltwin, tmp_path)
    again = unstick("do", "--resume", name, "--yes", "--json", dsn=eternaltwin, home=tmp_path)
    assert again.code == 0, again.err
    assert {r["outcome"] for r in again.json["results"]} == {"changed"}
    assert unfinished(eternaltwin, tmp_path) == []
    assert fetch(eternaltwin, STATUSES) == [("Blocked", NODES)]


async def test_u_takes_the_bulk_of_an_entry(eternaltwin: str, bulk: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("4")
        await tui.wait_for("wake")
        await tui.action("U")
        await tui.wait_for(f"Undo: {NODES} tasks", f"Will change {NODES}")
        await tui.press("U")
        await tui.wait_for(f"{NODES} changed")
        await tui.press("U")  # and again, from the result
        await tui.wait_for("Reason, for the audit log")
    assert await asyncio.to_thread(fetch, eternaltwin, STATUSES) == [("Blocked", NODES)]


def test_the_result_says_how_many_rows_only_the_log_has() -> None:
    results = [Result(id=f"eternaltwin/task:{n}", outcome=Outcome.CHANGED) for n in range(3)]
    change = RowChange(
        id=results[0].id, table="task", key="0", before={"status": "Blocked"}, after={"status": "Complete"}
    )
    shown = [as_text(result_lines(results, 60, changes=(change,), logged=n)) for n in (2, 0)]
    assert "The audit log has the rows of 2 more nodes." in shown[0]
    assert "more nodes" not in shown[1]
    assert "the rows of 2 more nodes." in as_text(result_lines(results, 60, logged=2)), (
        "no node was dry-run and changed"
    )


def as_text(lines: Sequence[Spans]) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)
