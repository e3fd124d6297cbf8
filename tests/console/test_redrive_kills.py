"""Redrives whose console is killed at random moments, on a real server.

Each engine has its demo executor.

A trigger in the engine's table witnesses each revival. ``REDRIVE_KILLS`` is the number of rounds for each engine.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.log import audit_log
from tests.command import ROOT, environment, fetch, unstick
from tests.db.agent_jobs import AgentJobsDb
from tests.db.estuary import EstuaryDb
from tests.db.uni2work import LIVE, Uni2workDb
from tests.proof import ROUNDS, proof
from tests.servers import PostgresServer
from tests.simulators.agent_jobs.executor import Poller
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import Executor
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.orchestrator import Orchestrator
from tests.simulators.tasker.step_history import complete, failed
from tests.simulators.tasker.worker import Worker
from tests.simulators.uni2work.executor import Instance

SEED = int(os.environ.get("REDRIVE_SEED", "1"))
KILLS = 2
NODES = 14
POISON = "model timed out"
UPSTREAM = "refund_card: 503 from http://10.0.0.1:8080/v1 after 950 ms"

WITNESS = """
CREATE TABLE witness (id text NOT NULL);
CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO public.witness VALUES (to_jsonb(NEW) ->> TG_ARGV[0]); RETURN NULL; END $$;
CREATE TRIGGER witness AFTER {event} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION witness('{key}');
"""
IDLE = "'0001-01-01T00:00:00Z'"


class Case:
    """An engine with dead letters, its executor, and a trigger that sees revivals."""

    def __init__(
        self,
        event: str,
        condition: str,
        key: str,
        fill: Callable[[str], Awaitable[None]],
        run: Callable[[asyncpg.Connection[Any], threading.Event], Awaitable[None]],
        *words: str,
    ) -> None:
        self.witness = WITNESS.format(event=event, condition=condition, key=key)
        self.fill, self.run, self.words = fill, run, words


async def fill_agent_jobs(dsn: str) -> None:
    db = await AgentJobsDb.open(dsn)
    for n in range(NODES):
        await db.job("failed", age=900, started=800, ended=700 - n, changed=700 - n, error=f"{POISON} after {n} s")
    await db.connection.close()


async def run_agent_jobs(connection: asyncpg.Connection[Any], ended: threading.Event) -> None:
    poller = Poller(connection)
    while not ended.is_set():
        claim = await poller.claim()
        if claim is None:
            await asyncio.sleep(0.02)
        else:
            await poller.finish(claim, f"{POISON} after 9 s" if claim.id.int % 8 == 0 else None)


async def fill_uni2work(dsn: str) -> None:
    db = await Uni2workDb.open(dsn)
    await db.jobs(NODES, age=90_000, held=80_000)
    await db.connection.close()


async def run_uni2work(connection: asyncpg.Connection[Any], ended: threading.Event) -> None:
    instance = Instance(connection, LIVE)
    while not ended.is_set():
        await instance.flush()
        await asyncio.sleep(0.05)


async def fill_estuary(dsn: str) -> None:
    db = await EstuaryDb.open(dsn)
    for n in range(NODES):
        await db.task(kinds.DISCOVERS, beat=90_000 - n, inbox=[(kinds.ZERO, {"type": "queued"})])
    await db.connection.close()


async def run_estuary(connection: asyncpg.Connection[Any], ended: threading.Event) -> None:
    executor = Executor(connection, Random(1))
    while not ended.is_set():
        await executor.tick()
        await asyncio.sleep(0.02)


class Unlucky(Random):
    """Random source with which one handler in eight fails permanently."""

    def random(self) -> float:
        return 0.0 if super().random() < 0.125 else 0.999

    def choice(self, seq: Any) -> Any:
        return seq[0]


async def fill_tasker(dsn: str) -> None:
    connection = await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"})
    data = Data(1)
    for n in range(NODES):
        steps = {"check_return": complete(), "refund_card": failed(error=UPSTREAM)}
        data.task("refund", state="blocked_by_failures", ago=600 - n, steps=steps)
    await data.insert(connection)
    await connection.close()


async def run_tasker(connection: asyncpg.Connection[Any], ended: threading.Event) -> None:
    rng = Unlucky(1)
    orchestrator, worker = Orchestrator(connection, rng), Worker(connection, rng, ("shop",), batch=10)
    await orchestrator.ready()
    while not ended.is_set():
        await orchestrator.tick()
        await worker.tick()
        await asyncio.sleep(0.01)


CASES = {
    "agent_jobs": Case(
        "UPDATE ON jobs",
        "OLD.status = 'failed' AND NEW.status = 'pending'",
        "id",
        fill_agent_jobs,
        run_agent_jobs,
    ),
    "uni2work": Case(
        "UPDATE ON queued_job",
        "OLD.lock_time < now() - interval '1 h' AND NEW.lock_time IS NULL",
        "id",
        fill_uni2work,
        run_uni2work,
        *("--arg", "gone=true"),
    ),
    "estuary": Case(
        "UPDATE ON tasks",
        f"OLD.heartbeat <> {IDLE} AND OLD.heartbeat < now() - interval '1 h' AND NEW.heartbeat = {IDLE}",
        "task_id",
        fill_estuary,
        run_estuary,
    ),
    "tasker": Case(
        "INSERT ON task_transitions",
        "NEW.from_state = 'blocked_by_failures'",
        "task_uuid",
        fill_tasker,
        run_tasker,
    ),
}


@contextmanager
def executing(dsn: str, case: Case) -> Iterator[None]:
    """Run the engine's executor in a thread."""
    ended = threading.Event()

    async def run() -> None:
        connection = await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"})
        try:
            await case.run(connection, ended)
        finally:
            await connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(30)


def killed(home: Path, dsn: str, rng: Random, *words: str) -> None:
    """Run a command and kill it at some moment after its next audit log entry."""
    before = fetch(dsn, "SELECT count(*) FROM unstick.audit_log")
    process = subprocess.Popen(
        [sys.executable, "-m", "console", "redrive", *words, "--yes", "-d", dsn],
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if fetch(dsn, "SELECT count(*) FROM unstick.audit_log") != before:
            break
    time.sleep(rng.choice((0.0, rng.uniform(0, 0.05), rng.uniform(0, 1.0))))
    process.kill()
    process.wait()


def begun(dsn: str) -> str | None:
    """Return the redrive of this database, if it has begun."""
    rows = fetch(dsn, "SELECT id::text FROM unstick.audit_log WHERE arguments #>> '{run,event}' = 'begin'")
    assert len(rows) <= 1
    return rows[0][0] if rows else None


def play(server: PostgresServer, engine: str, home: Path, rng: Random) -> dict[str, int]:
    case = CASES[engine]
    dsn = server.fresh(engine)
    try:
        asyncio.run(case.fill(dsn))
        server.sql(audit_log.ddl() + case.witness, dsn)
        (group,) = unstick("dead", "--json", dsn=dsn, home=home).json["dead"][0]["groups"]
        budget = rng.choice(("0", "2", "50%"))
        words = (
            "--group",
            group["key"],
            "--cohorts",
            "1,4",
            "--budget",
            budget,
            "--wait",
            "60s",
            *case.words,
            "-r",
            "x",
        )
        with executing(dsn, case):
            for _ in range(KILLS):
                run = begun(dsn)
                killed(home, dsn, rng, *(words if run is None else (run, "--resume")))
            run = begun(dsn)
            answer = unstick(
                "redrive", *(words if run is None else (run, "--resume")), "--yes", "--json", dsn=dsn, home=home
            )
            while answer.code == 8:
                answer = unstick("redrive", begun(dsn) or "", "--resume", "--yes", "--json", dsn=dsn, home=home)
            assert answer.code in (0, 7), answer.err
        report = answer.json
        changed = fetch(
            dsn,
            "SELECT r ->> 'id' FROM unstick.audit_log l, jsonb_array_elements(l.results) AS r"
            " WHERE l.action <> 'redrive' AND r ->> 'outcome' = 'changed'",
        )
        witnessed = [key for (key,) in fetch(dsn, "SELECT id FROM witness")]
        assert len(set(witnessed)) == len(witnessed), "revived twice"
        assert sorted(node.partition(":")[2] for (node,) in changed) == sorted(witnessed), "an entry for each"
        assert report["revived"] == len(witnessed)
        assert report["skipped"] == []
        if report["state"] == "done":
            assert len(witnessed) == NODES, "lost"
        else:
            assert report["state"] == "budget"
            last = [each for each in report["cohorts"] if each["revived"]][-1]["size"]
            died = report["answers"]["same_death"]
            allowed = (len(witnessed) - last) / 2 if budget == "50%" else int(budget)
            assert allowed < died <= allowed + last
        return {report["state"]: 1, "revived": len(witnessed)}
    finally:
        server.drop(dsn)


@proof
@pytest.mark.parametrize("engine", CASES)
def test_nothing_is_lost_or_revived_twice(server: PostgresServer, engine: str, tmp_path: Path) -> None:
    settings = tmp_path / "config" / "unstick" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[options.agent_jobs]\nprofile = "table"\n')
    total: dict[str, int] = {}
    times = max(1, round(8 * ROUNDS))
    for number in range(times):
        for name, count in play(server, engine, tmp_path, Random(f"{SEED}/{engine}/{number}")).items():
            total[name] = total.get(name, 0) + count
    print(f"{engine}: {times} redrives, {times * KILLS} kills: {total}")
