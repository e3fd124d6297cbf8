"""``do --resume``: a bulk whose console was killed goes on where it was."""

from __future__ import annotations

import contextlib
import json
import random
import re
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from uuid import UUID

import pytest

from queries.write import audit_log
from tests.command import ROOT, environment, fetch, started, unstick
from tests.proof import most_in_proof
from tests.servers import PostgresServer

NODES = 2300  # three parts, or more without a table for the audit log
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
    server.sql(FILL % NODES + PACE, eternaltwin)
    return [f"eternaltwin/task:{key}" for (key,) in fetch(eternaltwin, "SELECT task_id::text FROM task ORDER BY 1")]


def unfinished(dsn: str, home: Path) -> list[str]:
    """Return the ids of the runs that have not ended."""
    found = unstick("runs", "--json", dsn=dsn, home=home).json["runs"]
    return [run["run"] for run in found if run["state"] == "open"]


def recorded(dsn: str, home: Path) -> list[object]:
    """Return what changes whenever a run records something."""
    sizes: list[object] = []
    with contextlib.suppress(FileNotFoundError):
        sizes.append((home / "state/unstick/audit_log.jsonl").stat().st_size)
    if fetch(dsn, "SELECT to_regclass('unstick.audit_log') IS NOT NULL") == [(True,)]:
        sizes += fetch(dsn, "SELECT count(*) FROM unstick.audit_log")
    return sizes


def killed(dsn: str, home: Path, rng: random.Random, *words: str) -> None:
    """Run a command and kill it at no particular moment of its commit."""
    before = recorded(dsn, home)
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
        if recorded(dsn, home) != before:
            break
    time.sleep(rng.uniform(0, 0.5))
    process.kill()
    process.wait()


@pytest.mark.parametrize(("seed", "place"), most_in_proof(product(range(4), ["table", "file"])))
def test_a_killed_bulk_is_continued(
    server: PostgresServer, eternaltwin: str, ids: list[str], tmp_path: Path, place: str, seed: int
) -> None:
    if place == "table":
        server.sql(audit_log.ddl(), eternaltwin)
    rng = random.Random(seed)
    killed(eternaltwin, tmp_path, rng, "do", "wake", *ids, "-r", "missed", "--yes")
    (name,) = unfinished(eternaltwin, tmp_path)
    home = tmp_path if place == "file" else tmp_path / "another machine"
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


@pytest.mark.parametrize("place", ["table", "file"])
def test_what_is_left_can_be_looked_at_refused_and_forgotten(
    server: PostgresServer, eternaltwin: str, ids: list[str], tmp_path: Path, place: str
) -> None:
    if place == "table":
        server.sql(audit_log.ddl(), eternaltwin)
    killed(eternaltwin, tmp_path, random.Random(1), "do", "wake", *ids, "-r", "missed", "--yes")
    (name,) = unfinished(eternaltwin, tmp_path)

    def do(*words: str) -> int:
        return unstick("do", *words, dsn=eternaltwin, home=tmp_path).code

    assert do("--resume", name, "wake", ids[0]) == 2
    assert do("--resume", name, "-r", "another reason") == 2
    assert do("--resume", name, "--discard", name) == 2
    assert do("--resume", name, "--wait", "1") == 2
    assert do() == 2
    for missing in ("nothing", "../nothing", "b0123abcd", "18ec200025f3361d-7de2"):
        assert do("--resume", missing, "--yes") == 3
    assert do("--resume", "999", "--yes") == (3 if place == "table" else 1), "the table may have it"
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


def test_a_run_that_cannot_be_read_is_said(eternaltwin: str, tmp_path: Path) -> None:
    (tmp_path / "state/unstick/runs").mkdir(parents=True)
    (tmp_path / "state/unstick/runs/18ec200025f3361d-7de2").touch()
    listed = unstick("runs", "--json", dsn=eternaltwin, home=tmp_path)
    assert (listed.code, listed.json["runs"], len(listed.json["unread"])) == (1, [], 1)
    for words in (("runs",), ("do", "wake", f"eternaltwin/task:{UUID(int=1)}", "-r", "x", "--dry-run")):
        assert "has lost the beginning" in unstick(*words, dsn=eternaltwin, home=tmp_path).err


def test_an_outage_is_reported_on_stderr_and_waited_for(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    own_server.sql(FILL % NODES + PACE, dsn)
    ids = [f"eternaltwin/task:{key}" for (key,) in fetch(dsn, "SELECT task_id::text FROM task")]
    process = started(tmp_path, "-d", dsn, "do", "wake", *ids, "-r", "missed", "--yes", "--json")
    assert process.stderr is not None
    while f" of {NODES}" not in (line := process.stderr.readline()):
        assert line, "it ended early"
    own_server.halt("immediate")
    while "Server lost, retrying in" not in (line := process.stderr.readline()):
        assert line, "it ended early"
    own_server.start()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (err, [r for r in json.loads(out)["results"] if r["outcome"] != "changed"][:2])
    assert {r["outcome"] for r in json.loads(out)["results"]} == {"changed"}
    assert fetch(dsn, "SELECT count(*) FROM task WHERE status = 'Available'") == [(NODES,)]
