"""``--watch`` streams answers; ``watch`` runs a command for each new incident."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from jsonschema import Draft202012Validator

from console.cli.schema import schema
from console.cli.watch import HOOK_PAUSE_SECONDS, HOOK_TRIES, NEW_AFTER_SECONDS, EarlierIncidents
from queries.records.action import Proof
from queries.records.finding import Incident
from tests.command import ROOT, environment, unstick
from tests.servers import PostgresServer

LATE = """
INSERT INTO job VALUES ('{key}', now() - interval '1 day', NULL, '');
INSERT INTO task
VALUES ('{key}', '{key}', 'A', 1, now() - interval '1 day', NULL, 3, 'Blocked', '1 s', '2 s', '', NULL);
INSERT INTO task_timer VALUES (now() - interval '1 hour', '{key}');
"""

Late = Callable[[], str]


@pytest.fixture
def late(server: PostgresServer, eternaltwin: str) -> Late:
    """Add a task with an overdue timer."""

    def late() -> str:
        key = uuid.uuid4()
        server.sql(LATE.format(key=key), eternaltwin)
        return f"eternaltwin/task:{key}"

    return late


@contextmanager
def running(home: Path, *words: str, program: tuple[str, ...] = ("-m", "console")) -> Iterator[subprocess.Popen[str]]:
    """Run a command in the background. It is ended like with Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, *program, *words],
        cwd=ROOT,
        env=environment(home),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()


def line(stream: IO[str] | None) -> str:
    assert stream is not None
    found = stream.readline()
    assert found, "the command has ended"
    return found


def until(path: Path, lines: int) -> list[str]:
    """Return the lines of a file once it has as many."""
    deadline = time.monotonic() + 120
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert time.monotonic() < deadline, path.read_text() if path.exists() else "no file"
        time.sleep(0.1)
    return path.read_text().splitlines()


# --watch


@pytest.mark.parametrize("command", ["stuck", "tree"])
def test_watch_streams_a_line_for_each_answer(eternaltwin: str, late: Late, tmp_path: Path, command: str) -> None:
    with running(tmp_path, command, "-w", "--json", "--interval", "200ms", "-d", eternaltwin) as process:
        first = json.loads(line(process.stdout))
        node = late()
        assert node not in str(first)
        validator = Draft202012Validator(schema([command]))
        deadline = time.monotonic() + 120
        while node not in str(answer := json.loads(line(process.stdout))):
            assert time.monotonic() < deadline
            assert list(validator.iter_errors(answer)) == []


def test_watch_as_text(eternaltwin: str, tmp_path: Path) -> None:
    with running(tmp_path, "stuck", "-w", "--interval", "200ms", "-d", eternaltwin) as process:
        place, nothing, between, *again = [line(process.stdout).strip() for _ in range(6)]
    assert place.endswith(f"{eternaltwin.rpartition('/')[2]} as postgres")
    assert (nothing, between, again) == ("Nothing is stuck in eternaltwin.", "", [place, nothing, between])


def test_watch_samples(eternaltwin: str, tmp_path: Path) -> None:
    with running(tmp_path, "stuck", "-w", "--json", "-d", eternaltwin) as process:
        assert json.loads(line(process.stdout))["skipped_findings"] == []


@pytest.mark.parametrize(("words", "lines"), [("stuck -w --json", 2), ("watch", 0)])
def test_watch_ends_when_its_reader_leaves(eternaltwin: str, tmp_path: Path, words: str, lines: int) -> None:
    """Without a line to write, too."""
    command = f"{sys.executable} -m console {words} --interval 200ms -d '{eternaltwin}' | head -n {lines}"
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=120
    )
    assert len(done.stdout.splitlines()) == lines
    assert "Traceback" not in done.stderr


def test_watch_continues_after_an_outage(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    with running(tmp_path, "stuck", "-w", "--json", "--interval", "200ms", "-d", dsn) as process:
        before = json.loads(line(process.stdout))["at"]
        own_server.halt("immediate")
        said = line(process.stderr)
        own_server.start()
        started = time.time()
        deadline = time.monotonic() + 120
        while json.loads(line(process.stdout))["at"] < started:
            assert time.monotonic() < deadline
        assert before < started
        assert said


# watch --on-new


def script(folder: Path, text: str) -> str:
    """Return a command that runs Python text with the folder as its argument."""
    file = folder / "on new.py"  # a name with a blank
    file.write_text(text)
    return shlex.join([sys.executable, str(file), str(folder)])


NOTE = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
new = json.load(sys.stdin)
with (folder / "seen").open("a") as file:
    print(json.dumps([new, sys.argv[2:]]), file=file)
print("noise")
"""


def test_a_command_gets_each_new_incident(server: PostgresServer, eternaltwin: str, late: Late, tmp_path: Path) -> None:
    server.sql("INSERT INTO job VALUES (gen_random_uuid(), now() - interval '1 day', NULL, '')", eternaltwin)
    words = ["watch", "--json", "--interval", "200ms", "-d", eternaltwin, "--on-new", script(tmp_path, NOTE)]
    with running(tmp_path, *words) as process:
        assert "already: 1;" in line(process.stderr)
        node = late()
        (text,) = until(tmp_path / "seen", 1)
        printed = json.loads(line(process.stdout))
        late()
        time.sleep(1)
    new, arguments = json.loads(text)
    assert arguments == [], "the data of the database is on stdin only"
    found = [*new["incident"]["findings"], *new["incident"]["explained"]]
    assert node in [finding["node_id"] for finding in found]
    assert new == printed
    assert new["format"] == 1
    assert list(Draft202012Validator(schema(["watch"])).iter_errors(new)) == []
    assert len(until(tmp_path / "seen", 1)) == 1, "an incident is reported once"


def test_a_command_that_fails_runs_three_times(eternaltwin: str, late: Late, tmp_path: Path) -> None:
    late()
    fails = script(tmp_path, NOTE + "sys.exit(7)\n")
    with running(
        tmp_path, "watch", "--existing", "--interval", "200ms", "-d", eternaltwin, "--on-new", fails
    ) as process:
        until(tmp_path / "seen", HOOK_TRIES)
        while "does not run again" not in (said := line(process.stderr)):
            assert "noise" in said or "ended with 7" in said
        time.sleep(1)
    assert len(until(tmp_path / "seen", HOOK_TRIES)) == HOOK_TRIES


def test_a_command_that_is_none() -> None:
    for words in ("no-such-program -x", "", "'unclosed"):
        answer = unstick("watch", "--on-new", words, dsn="x")
        assert (answer.code, answer.out) == (2, "")
        assert "--on-new" in answer.err


WITH = "import sys, console.cli.watch as w; w.{} = {}; from console.cli.main import main; sys.exit(main())"
FAILED = """
INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, active_job_id, created_at, updated_at)
SELECT 'q', 'Job' || n, '{}', gen_random_uuid(), now(), now() FROM generate_series(1, 3) n;
INSERT INTO solid_queue_failed_executions (job_id, error, created_at)
SELECT id, '{"exception_class":"IOError","message":"' || translate(class_name, '123', 'abc') || '"}', now()
  FROM solid_queue_jobs WHERE class_name LIKE 'Job_'
"""


def test_a_command_runs_once_for_a_finding_and_a_minute(server: PostgresServer, tmp_path: Path) -> None:
    """The first incident after the start does not wait, although there were others."""
    dsn = server.fresh("solid_queue")
    server.sql(FAILED.replace("Job", "Old"), dsn)
    words = ["watch", "--json", "--interval", "200ms", "-d", dsn, "--on-new", script(tmp_path, NOTE)]
    with running(tmp_path, *words, program=("-c", WITH.format("HOOK_PAUSE_SECONDS", 1e9))) as process:
        assert "already: 3;" in line(process.stderr)
        server.sql(FAILED, dsn)
        (text,) = until(tmp_path / "seen", 1)
        line(process.stdout)
        server.sql(FAILED.replace("Job", "Mail"), dsn)
        time.sleep(1)
    new, _ = json.loads(text)
    assert len(new["others"]) == 2
    assert new["where"]["typed"].startswith("127.0.0.1"), "as it was typed: a tunnel hides the server's own address"
    assert len(until(tmp_path / "seen", 1)) == 1
    server.drop(dsn)


def test_incidents_of_a_finding_wait_for_the_next_minute() -> None:
    earlier, one, two = EarlierIncidents(), incident("a/b:1"), incident("a/b:2")
    assert earlier.by_finding([one, two], 0, together=True) == [[one, two]]
    earlier.add(0, one)
    assert earlier.by_finding([two], HOOK_PAUSE_SECONDS - 1, together=True) == []
    assert earlier.by_finding([two], HOOK_PAUSE_SECONDS, together=True) == [[two]]


def incident(key: str) -> Incident:
    return Incident(
        key=key, engine="a", code="b", title="", sentence="", severity=1, proof=Proof.VERIFIED, n=1, findings=()
    )


def test_an_incident_that_comes_back_is_new_after_five_minutes() -> None:
    seen, one = EarlierIncidents(), incident("a/b")
    assert seen.fresh([one], 0) == [one]
    seen.add(0, one)
    assert seen.fresh([one], 10) == []
    assert seen.over(10 + NEW_AFTER_SECONDS) == []
    assert seen.fresh([one], 10 + NEW_AFTER_SECONDS) == [], "it flaps"
    assert seen.over(20 + 2 * NEW_AFTER_SECONDS) == [one]
    assert seen.over(20 + 2 * NEW_AFTER_SECONDS) == [], "it ends once"
    assert seen.fresh([one], 30 + 2 * NEW_AFTER_SECONDS) == [one]


@pytest.mark.parametrize("fails", [0, HOOK_TRIES - 1])
def test_a_command_gets_each_incident_that_has_ended(
    server: PostgresServer, eternaltwin: str, late: Late, tmp_path: Path, fails: int
) -> None:
    note = NOTE + f"sys.exit(len((folder / 'seen').read_text().splitlines()) <= {fails} and sys.argv[2:] == ['end'])\n"
    hook = script(tmp_path, note)
    words = ["watch", "--json", "--interval", "200ms", "-d", eternaltwin, "--existing", "--on-end", f"{hook} end"]
    with running(tmp_path, *words, program=("-c", WITH.format("NEW_AFTER_SECONDS", 0.5))) as process:
        late()
        new = json.loads(line(process.stdout))
        server.sql("UPDATE task_timer SET deadline = now() + interval '1 day'", eternaltwin)
        *_, last = until(tmp_path / "seen", 1 + fails)
    ended, arguments = json.loads(last)
    assert arguments == ["end"]
    assert (ended["incident"]["key"], ended["at"] > new["at"]) == (new["incident"]["key"], True)
    assert list(Draft202012Validator(schema(["watch"])).iter_errors(ended)) == []


def test_a_command_that_hangs_does_not_stop_the_others(
    server: PostgresServer, eternaltwin: str, late: Late, tmp_path: Path
) -> None:
    """It ends with `watch`, with its children, and has no password."""
    log = tmp_path / "log"
    hook = tmp_path / "hook"
    hook.write_text(
        f'#!/bin/bash\nread -r document\n(exec sleep 600) &\necho "$! ${{PGPASSWORD-none}}" >> {log}\nsleep 600\n'
    )
    hook.chmod(0o755)
    words = ("watch", "--existing", "--on-new", str(hook), "--interval", "200ms", "-d", eternaltwin)
    started = environment(tmp_path, {"PGPASSWORD": "secret"})
    process = subprocess.Popen([sys.executable, "-m", "console", *words], cwd=ROOT, env=started)
    try:
        late()
        until(log, 1)
        server.sql(f"INSERT INTO job VALUES ('{uuid.uuid4()}', now() - interval '1 day', NULL, '')", eternaltwin)
        until(log, 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
    for written in log.read_text().splitlines():
        child, password = written.split()
        assert password == "none"
        assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]
