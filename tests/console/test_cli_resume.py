"""``do --resume``: a bulk whose console was killed goes on where it was."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from queries.log import audit_log
from tests.command import ROOT, environment, fetch, started, unstick
from tests.proof import most_in_proof
from tests.servers import PostgresServer

NODES = 2300  # five parts
FILL = """
INSERT INTO job SELECT gen_random_uuid(), now() - interval '1 day', NULL, '{}' FROM generate_series(1, %d);
INSERT INTO task SELECT gen_random_uuid(), job_id, 'SendEmail', 1, now() - interval '1 day', NULL, 3, 'Blocked',
  '1 s', '2 s', '{}', NULL FROM job;
INSERT INTO task_timer SELECT now() + interval '1 hour', task_id FROM task;
"""
PACE = """
CREATE FUNCTION pace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
CREATE TRIGGER pace AFTER UPDATE ON task FOR EACH STATEMENT EXECUTE FUNCTION pace();
"""


@pytest.fixture
def ids(server: PostgresServer, eternaltwin: str) -> list[str]:
    server.sql(FILL % NODES + PACE + audit_log.ddl(), eternaltwin)
    return [f"eternaltwin/task:{key}" for (key,) in fetch(eternaltwin, "SELECT task_id::text FROM task ORDER BY 1")]


def unfinished(dsn: str, home: Path) -> list[str]:
    """Return the ids of the runs that have not ended."""
    found = unstick("runs", "--json", dsn=dsn, home=home).json["runs"]
    return [run["run"] for run in found if run["state"] == "open"]


def recorded(dsn: str) -> list[object]:
    """Return what changes whenever a run records something."""
    return fetch(dsn, "SELECT count(*) FROM unstick.audit_log")


def killed(dsn: str, home: Path, rng: random.Random, *words: str) -> None:
    """Run a command and kill it at no particular moment of its commit."""
    before = recorded(dsn)
    process = subprocess.Popen(
        [sys.executable, "-m", "console", "-d", dsn, *words],
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if recorded(dsn) != before:
            break
    time.sleep(rng.uniform(0, 0.5))
    process.kill()
    process.wait()


@pytest.mark.parametrize("seed", most_in_proof(range(4)))
def test_a_killed_bulk_is_continued(eternaltwin: str, ids: list[str], tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    killed(eternaltwin, tmp_path, rng, "do", "wake", *ids, "-r", "missed", "--yes")
    (name,) = unfinished(eternaltwin, tmp_path)
    home = tmp_path / "another machine"
    for _ in range(2):
        killed(eternaltwin, home, rng, "do", "--resume", name, "--yes")
    if unfinished(eternaltwin, home):
        reported = unstick("do", "wake", ids[0], "-r", "x", "--dry-run", dsn=eternaltwin, home=home)
        assert f"do --resume {name}" in reported.err
        shown = unstick("runs", name, "--json", dsn=eternaltwin, home=home).json
        done = {r["id"] for r in shown["results"]}
        assert shown["run"]["changed"] == len(done)
        assert {*done, *shown["pending"]} == set(ids)
        answer = unstick("do", "--resume", name, "--yes", "--json", dsn=eternaltwin, home=home)
        assert answer.code == 0, answer.err
        assert {r["id"]: r["outcome"] for r in answer.json["results"]} == dict.fromkeys(ids, "changed")
    assert unfinished(eternaltwin, home) == []
    (number,) = fetch(eternaltwin, "SELECT count(*) FROM task WHERE status = 'Available'")
    assert number == (NODES,)
    entries = unstick("audit", "--json", "--limit", "1000", dsn=eternaltwin, home=home).json["entries"]
    shown = [r["id"] for entry in entries for r in entry["results"] if r["outcome"] == "changed"]
    assert sorted(shown) == ids, "each once"
    again = unstick("do", "--resume", name, "--yes", dsn=eternaltwin, home=home)
    assert (again.code, "has no node left to change" in again.err) == (0, True)


def test_what_is_left_can_be_looked_at_refused_and_forgotten(eternaltwin: str, ids: list[str], tmp_path: Path) -> None:
    killed(eternaltwin, tmp_path, random.Random(1), "do", "wake", *ids, "-r", "missed", "--yes")
    (name,) = unfinished(eternaltwin, tmp_path)

    def do(*words: str) -> int:
        return unstick("do", *words, dsn=eternaltwin, home=tmp_path).code

    assert do("--resume", name, "wake", ids[0]) == 2
    assert do("--resume", name, "-r", "another reason") == 2
    assert do("--resume", name, "--discard", name) == 2
    assert do("--resume", name, "--wait", "1") == 2
    assert do() == 2
    for missing in ("nothing", "../nothing", "b0123abcd", "18ec200025f3361d-7de2", "999"):
        assert do("--resume", missing, "--yes") == 3
    asked = unstick("do", "--resume", name, dsn=eternaltwin, home=tmp_path, typed="n\n")
    assert (asked.code, unfinished(eternaltwin, tmp_path)) == (1, [name])
    assert re.search(r"\b\d+ of 2300 nodes", asked.err)
    dry = unstick("do", "--resume", name, "--dry-run", "--json", dsn=eternaltwin, home=tmp_path)
    assert (dry.code, dry.json["action"], unfinished(eternaltwin, tmp_path)) == (0, "wake", [name])
    shown = unstick("runs", name, dsn=eternaltwin, home=tmp_path)
    assert f"do --resume {name}" in shown.out
    for _ in range(2):
        assert unstick("runs", name, "--stop", dsn=eternaltwin, home=tmp_path).code == 0
        assert unfinished(eternaltwin, tmp_path) == []
    ended = unstick("do", "--resume", name, "--yes", dsn=eternaltwin, home=tmp_path)
    assert (ended.code, unfinished(eternaltwin, tmp_path)) == (1, [])
    assert f"The run {name} has ended: stopped." in ended.err
    assert "stopped" in unstick("runs", name, dsn=eternaltwin, home=tmp_path).out


def test_without_the_table_the_ids_that_are_left_are_printed(
    server: PostgresServer, eternaltwin: str, ids: list[str], tmp_path: Path
) -> None:
    """The bulk ends when it loses its server; `do -` takes the rest."""
    server.sql(
        "DROP SCHEMA unstick CASCADE; CREATE OR REPLACE FUNCTION pace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF (SELECT count(*) FROM task WHERE status = 'Available') > 1200 THEN"
        " PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$",
        eternaltwin,
    )
    done = unstick("do", "wake", *ids, "-r", "missed", "--yes", dsn=eternaltwin, home=tmp_path)
    left = [line for line in done.err.splitlines() if line.startswith("eternaltwin/task:")]
    assert (done.code, len(left), unfinished(eternaltwin, tmp_path)) == (3, NODES - 1000, []), done.err
    assert "--resume" not in done.err
    assert f"Not changed: {len(left)} nodes" in done.err
    server.sql("DROP TRIGGER pace ON task", eternaltwin)
    blocked = fetch(eternaltwin, "SELECT task_id FROM task WHERE status = 'Blocked'")
    assert sorted(left) == sorted(f"eternaltwin/task:{key}" for (key,) in blocked)
    again = unstick("do", "wake", "-", "-r", "again", "--yes", dsn=eternaltwin, home=tmp_path, piped="\n".join(left))
    assert again.code == 0, again.err
    assert fetch(eternaltwin, "SELECT count(*) FROM task WHERE status = 'Available'") == [(NODES,)]


def test_an_outage_is_reported_on_stderr_and_waited_for(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    own_server.sql(FILL % NODES + PACE + audit_log.ddl(), dsn)
    ids = [f"eternaltwin/task:{key}" for (key,) in fetch(dsn, "SELECT task_id::text FROM task")]
    process = started(tmp_path, "-d", dsn, "do", "wake", *ids, "-r", "missed", "--yes", "--json")
    assert process.stderr is not None
    while f" of {NODES}" not in (line := process.stderr.readline()):
        assert line, "it ended early"
    own_server.halt("immediate")
    while "Server lost, retrying in" not in (line := process.stderr.readline()):
        assert line, "it ended early"
    assert re.search(r"Changed so far: [1-9]\d*\.", line)
    assert "Nothing was changed" not in line
    own_server.start()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (err, [r for r in json.loads(out)["results"] if r["outcome"] != "changed"][:2])
    assert {r["outcome"] for r in json.loads(out)["results"]} == {"changed"}
    assert fetch(dsn, "SELECT count(*) FROM task WHERE status = 'Available'") == [(NODES,)]
