"""Try a worker's next statement, by command and by keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.tui.screens.attempt import TryDialog
from tests.command import fetch, unstick
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer

JOBS = """
INSERT INTO _private_tasks (id, identifier) OVERRIDING SYSTEM VALUE VALUES (1, 'mail');
INSERT INTO _private_job_queues (id, queue_name) OVERRIDING SYSTEM VALUE VALUES (1, 'q');
INSERT INTO _private_jobs (id, task_id, payload, attempts) OVERRIDING SYSTEM VALUE
VALUES (1, 1, '{}', 0), (2, 1, '{}', 25);
"""
REFUSED = "ALTER TABLE task ADD CONSTRAINT calm CHECK (revision < 4)"
COUNT = "SELECT sum(revision) FROM task"


@pytest.fixture
def jobs(server: PostgresServer) -> Iterator[str]:
    dsn = server.fresh("graphile_worker")
    server.sql(JOBS, dsn)
    yield dsn
    server.drop(dsn)


def test_the_command_asks_and_says_what_the_server_answers(server: PostgresServer, jobs: str) -> None:
    job = "graphile_worker/job:1"
    piped = unstick("try", job, dsn=jobs)
    assert (piped.code, "--yes runs without asking" in piped.err) == (2, True)
    refused = unstick("try", job, dsn=jobs, typed="n\n")
    assert refused.code == 3
    assert "As role postgres" in refused.err
    assert "the values that sequences gave" in refused.err
    assert "UPDATE" in refused.err
    agreed = unstick("try", job, dsn=jobs, typed="y\n")
    assert agreed.code == 0
    assert "✓ claim, as role postgres: 1 row" in agreed.out
    assert "1 row of _private_jobs updated" in agreed.out
    assert "Rolled back" in agreed.out
    server.sql("ALTER TABLE _private_jobs ADD CONSTRAINT calm CHECK (attempts < 1) NOT VALID", jobs)
    answer = unstick("try", job, "--yes", dsn=jobs)
    assert answer.code == 3
    assert "✗ claim, as role postgres: new row" in answer.out
    assert "calm" in answer.out
    assert "23514" in answer.out
    found = unstick("try", job, "--yes", "--json", dsn=jobs).json
    assert found["finding"]["code"] == "try_refused"
    assert found["steps"][0]["error"]["constraint"] == "calm"
    assert fetch(jobs, "SELECT max(attempts) FILTER (WHERE id = 1) FROM _private_jobs") == [(0,)]


def test_it_is_not_tried_where_nothing_may_be_changed(jobs: str) -> None:
    job, whys = "graphile_worker/job:1", dict[tuple[str, ...], str]()
    whys[job, "--read-only"] = "this console is read-only"
    whys["graphile_worker/job:2",] = "it is failed: no worker writes to it any more"
    whys["graphile_worker/queue:1",] = "declares no statement to try on a queue"
    whys[job, "--as", "who"] = "there is no role who"
    for words, why in whys.items():
        answer = unstick("try", *words, dsn=jobs)
        assert (answer.code, answer.out.startswith("Not tried: ")) == (3, True), words
        assert why in answer.out
    assert unstick("try", "graphile_worker/job:99", dsn=jobs).code == 3


def test_a_standby_is_named(own_server: PostgresServer) -> None:
    dsn = own_server.fresh("graphile_worker")
    own_server.sql(JOBS, dsn)
    own_server.standby()
    answer = unstick("try", "graphile_worker/job:1", "--yes", dsn=dsn)
    assert (answer.code, "this server is a standby" in answer.out) == (3, True)


def test_an_engine_without_statements_says_so(server: PostgresServer) -> None:
    folder = Path("tests/engines/homemade")
    dsn = server.fresh()
    server.sql((folder / "schema.sql").read_text() + (folder / "fixture.sql").read_text(), dsn)
    answer = unstick("try", "homemade/item:1", "--engines", str(folder), dsn=dsn)
    assert (answer.code, "homemade: this engine declares no statement to try" in answer.out) == (3, True)
    server.drop(dsn)


@pytest.mark.parametrize("size", [(120, 40), (60, 30)])
async def test_t_shows_the_statement_and_runs_it_at_the_second_t(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, size: tuple[int, int]
) -> None:
    await eternaltwin_db.task(await eternaltwin_db.job(), status="Available")
    await eternaltwin_db.sql(REFUSED)
    async with run_tui(eternaltwin, tmp_path, size=size) as tui:
        await tui.wait_for("0/1")
        await tui.press("right")
        await tui.wait_for("└")
        await tui.press("down")
        await tui.wait_for("C Cancel", "last changed")
        await tui.press("t")
        await tui.wait_for("As role postgres", "NOTIFY", "t try it")
        for key in ("enter", "T", "W", "space", "y", "x", "R"):
            await tui.press(key)
        assert isinstance(tui.app.screen, TryDialog), "no other key is meant for it"
        assert "calm" not in tui.text
        await tui.press("t")
        await tui.wait_for("✗ claim", "calm", "Rolled back")
        await tui.press("escape", "enter")
        await tui.wait_for("try refused", "calm")
        await tui.press("t")
        await tui.wait_for("As role postgres")
        await eternaltwin_db.sql("ALTER TABLE task DROP CONSTRAINT calm")
        await tui.press("t")
        await tui.wait_for("✓ claim")
        await tui.press("escape")
        await tui.wait_for(lambda: "try refused" not in tui.text)
    assert await eternaltwin_db.value(COUNT) == 3
