"""Polling of a slow server: a real one that needs 2 ms for every task it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.model.refresh_clock import LOAD_SHARE
from queries.db.server_load import Load
from tests.command import unstick
from tests.console.tui_driver import SkippingClock, TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer

SLOW = """
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};
    ALTER TABLE task ENABLE ROW LEVEL SECURITY;
    CREATE POLICY slow ON task USING (pg_sleep(0.002) IS NOT NULL)
"""


@pytest.fixture
def slow(server: PostgresServer, eternaltwin: str) -> Iterator[str]:
    """Yield the DSN of a role that waits 2 ms for every task it reads."""
    role = server.unique("slow")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(SLOW.format(role=role), eternaltwin)
    yield server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")
    server.sql(f"DROP OWNED BY {role}", eternaltwin)
    server.sql(f"DROP ROLE {role}")


async def next_poll(tui: TuiDriver, clock: SkippingClock) -> None:
    """Skip the time until the next poll of each part is due, and wait for these polls."""
    session = tui.app.session
    before = session.polls
    clock.skip(max(session.waits))
    assert session.pause()
    assert not session.pause()  # wakes the loop, which sleeps by the real clock
    await tui.wait_for(lambda: all(now > then for now, then in zip(session.polls, before, strict=True)))


async def test_a_slow_server_is_looked_at_less_often(eternaltwin_db: EternaltwinDb, slow: str, tmp_path: Path) -> None:
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(5), status="Blocked", timer=-900)
    clock = SkippingClock()
    async with run_tui(slow, tmp_path, now=clock, interval=0.2) as tui:
        session = tui.app.session
        await tui.wait_for("● live", lambda: min(session.polls) > 0)
        assert session.workspace is not None
        load: Load = session.workspace.database.load
        while session.pace <= 2 * session.interval:  # the shortest of the first statements was taken as the round trip
            await next_poll(tui, clock)
        began, worked = clock(), load.worked
        while clock() - began < 2 * Load.WINDOW:
            await next_poll(tui, clock)
        clock.skip(max(session.waits))
        assert 0.005 < (load.worked - worked) / (clock() - began) <= LOAD_SHARE
        tui.app.session.changed()
        await tui.wait_for("read every")
        assert 0.005 < load.share() <= LOAD_SHARE


async def test_what_cannot_be_read_is_not_asked_for_again_and_again(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, detected_once: None, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-900)
    async with run_tui(eternaltwin, tmp_path, interval=60) as tui:
        session = tui.app.session
        await tui.wait_for("● live", "1 stuck")
        await eternaltwin_db.sql("ALTER TABLE task RENAME TO hidden")
        before = session.polls[0]
        await tui.press("2")
        await tui.wait_for("overdue timer", "page not read")
        for _ in range(50):
            await tui.pilot.pause()
        assert session.polls[0] - before <= 3


def test_info_shows_the_share(eternaltwin: str) -> None:
    assert 0 <= unstick("info", "--json", dsn=eternaltwin).json["load"] < 1
    assert re.search(
        r"^load +\d+\.\d% of wall time, for this command$", unstick("info", dsn=eternaltwin).out, re.MULTILINE
    )
