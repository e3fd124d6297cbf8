"""Polling of a slow server: a real one that needs 2 ms for every task it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.model.timer import MAX_LOAD_SHARE, PASSES_AVERAGED
from queries.db.server_load import DURATIONS_KEPT, ServerLoad
from tests.command import unstick
from tests.console.tui_driver import SkippingClock, TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer

WAIT = 0.125  # seconds for each answer
SPREAD = 1.25  # times the limit, because a cost is spread over later reads
LONGEST = 5.0  # seconds between two refreshes if only the machine is busy
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


async def next_pass(tui: TuiDriver, clock: SkippingClock) -> None:
    """Skip the time until the next pass is due, and wait for it."""
    session = tui.app.session
    before = session.timer.passes
    clock.skip(session.timer.wait())
    assert session.pause()
    assert not session.pause()  # wakes the loop, which sleeps by the real clock
    await tui.wait_for(lambda: session.timer.passes > before)


async def test_a_slow_server_is_looked_at_less_often(eternaltwin_db: EternaltwinDb, slow: str, tmp_path: Path) -> None:
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(5), status="Blocked", timer=-900)
    clock = SkippingClock()
    async with run_tui(slow, tmp_path, now=clock, interval=0.2) as tui:
        session = tui.app.session
        await tui.wait_for("● live", lambda: session.state.findings_loaded)
        assert session.workspace is not None
        load: ServerLoad = session.workspace.database.load
        began, worked = clock(), load.worked
        for number in range(4):
            if number == 1:  # the shortest of the first statements was taken as the round trip
                began, worked = clock(), load.worked
            await next_pass(tui, clock)
            while not session.timer.findings_due:
                await next_pass(tui, clock)
                clock.skip(session.timer.wait())
        assert 0.005 < (load.worked - worked) / (clock() - began) <= MAX_LOAD_SHARE * SPREAD
        tui.app.session.changed()
        await tui.wait_for("read every")
        assert 0.005 < load.share() <= MAX_LOAD_SHARE * SPREAD


async def test_a_cost_that_begins_later_is_counted(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, slow: str, tmp_path: Path
) -> None:
    """A statement that was cheap before may wait now, but not for long."""
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(20), status="Blocked", timer=-900)
    server.sql("ALTER POLICY slow ON task USING (true)", eternaltwin)
    clock = SkippingClock()
    async with run_tui(slow, tmp_path, now=clock) as tui:
        session = tui.app.session
        await tui.wait_for("● live", lambda: session.state.findings_loaded)
        for _ in range(DURATIONS_KEPT):
            await next_pass(tui, clock)
        before = session.timer.pace
        server.sql("ALTER POLICY slow ON task USING (pg_sleep(0.01) IS NOT NULL)", eternaltwin)
        while session.timer.pace <= 3 * before:
            await next_pass(tui, clock)


async def test_the_first_list_says_what_it_waits_for_and_keys_work(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-900)
    async with Proxy(server.port) as proxy:
        proxy.delay = 1.0
        async with run_tui(proxy.through(eternaltwin), tmp_path, interval=60, start="stuck") as tui:
            await tui.wait_for("Reading what is stuck", "reading eternaltwin …")
            await tui.press("1")
            await tui.wait_for("Reading", lambda: not tui.app.session.state.findings_loaded)
            proxy.delay = 0.0
            await tui.wait_for("0/1", "1 stuck")
            await tui.press("2")
            await tui.wait_for("overdue timer", lambda: "reading" not in tui.text)


async def test_waiting_is_not_counted_as_cost(eternaltwin_demo: str, server: PostgresServer, tmp_path: Path) -> None:
    """Three of four refreshes wait for their answers, as on a busy machine."""
    clock = SkippingClock()
    async with (
        Proxy(server.port) as proxy,
        run_tui(proxy.through(eternaltwin_demo), tmp_path, now=clock, interval=2, start="stuck") as tui,
    ):
        session = tui.app.session
        await tui.wait_for("● live", lambda: session.state.findings_loaded)
        waited = 0.0
        for n in range(2 * PASSES_AVERAGED):
            proxy.delay = WAIT if n % 4 else 0.0
            before = proxy.trips
            await next_pass(tui, clock)
            waited += (proxy.trips - before) * proxy.delay
        assert waited > PASSES_AVERAGED * WAIT, "the refreshes did wait"
        assert session.timer.pace <= LONGEST


async def test_what_cannot_be_read_is_not_asked_for_again_and_again(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, detected_once: None, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-900)
    async with run_tui(eternaltwin, tmp_path, interval=60) as tui:
        session = tui.app.session
        await tui.wait_for("● live", "1 stuck")
        await eternaltwin_db.sql("ALTER TABLE task RENAME TO hidden")
        before = session.timer.passes
        await tui.press("2")
        await tui.wait_for("overdue timer", "screen not read")
        for _ in range(50):
            await tui.pilot.pause()
        assert session.timer.passes - before <= 3


def test_info_shows_the_share(eternaltwin: str) -> None:
    assert 0 <= unstick("info", "--json", dsn=eternaltwin).json["load"] < 1
    assert re.search(
        r"^load +\d+\.\d% of wall time, for this command$", unstick("info", dsn=eternaltwin).out, re.MULTILINE
    )
