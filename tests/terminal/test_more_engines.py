"""A job of each engine with a worker is repaired, and the server stops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.proof import most_in_proof
from tests.servers import PostgresServer
from tests.terminal.driver import Terminal

ENGINES = ("graphile_worker", "oban", "pgqueuer", "procrastinate", "solid_queue")  # each has a job of a dead worker
REASON = "its worker is gone"


@pytest.mark.parametrize("engine", most_in_proof(ENGINES))
def test_a_job_is_repaired_and_the_server_stops(own_server: PostgresServer, tmp_path: Path, engine: str) -> None:
    dsn = own_server.fresh(engine, filled=True)
    with Terminal(dsn, "--interval", "0.5", home=tmp_path, start="stuck", size=(150, 40)) as terminal:
        terminal.wait_for("● live", "owner dead", lambda: terminal.at > 0)
        while "owner dead" not in terminal.under:
            was = terminal.at
            terminal.press("down").wait_for(lambda was=was: terminal.at not in (-1, was))
        terminal.press("L").wait_for("Reason, for the audit log").type(REASON).wait_for(REASON)
        terminal.press("enter").wait_for(re.compile("L apply to (1 job|2 jobs)"))
        terminal.press("L").wait_for(re.compile("[12] changed"), "Close")
        terminal.press("enter").wait_for(re.compile("Release: 2 jobs: [12] changed"))

        own_server.halt("immediate")
        terminal.wait_for(re.compile(r"no connection, \d+s old"), "failing")
        terminal.press("1").wait_for(f"› {engine}").press("2").wait_for("failing", "no connection,")
        own_server.start()
        terminal.wait_for("● live").without("no connection")
        terminal.press("4").wait_for(re.compile(f"release.*{REASON}"))
        assert terminal.leave("q") == 0


def test_the_demo_shows_all_engines(place: Path) -> None:
    """They are one after the other in the bar, which has no room for all at once."""
    with Terminal("demo", "--all", home=place, TMPDIR=str(place), start="stuck", size=(150, 60)) as terminal:
        terminal.wait_for("● live").press("1").settled()
        left = {*ENGINES, "eternaltwin", "tasker", "estuary", "uni2work", "agent_jobs"}
        for _ in range(2 * len(left)):
            left -= {name for name in left if name in terminal.text}
            terminal.press(">").settled()
        assert not left
        assert terminal.leave("q") == 0
