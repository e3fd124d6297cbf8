"""``unstick redrive``: cohorts, budget, questions, resume, stop, and the list."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.change import loop
from queries.db.errors import LostError
from queries.log import audit_log
from tests.command import Answer, fetch, started, unstick
from tests.console.test_cli_schema import problems
from tests.console.test_printed_commands import printed, run
from tests.servers import PostgresServer
from tests.simulators.agent_jobs.executor import Poller

BOOM = "model timed out after 30 s"
REASON = ("--reason", "fix deployed")
FILL = """
WITH a AS (
  INSERT INTO agents (user_id, profile) VALUES (gen_random_uuid(), ROW('clerk', 'g', 'd', '{}')::agent_profile)
  RETURNING id, user_id
)
INSERT INTO jobs (id, job_id, agent_id, user_id, status, error, created_at, started_at, completed_at, updated_at)
SELECT gen_random_uuid(), n::text, a.id, a.user_id, 'failed', 'model timed out after ' || n || ' s',
       t.ended - interval '1 min', t.ended - interval '1 min', t.ended, t.ended
  FROM a
 CROSS JOIN generate_series(1, $1::int) AS n
 CROSS JOIN LATERAL (SELECT now() - make_interval(secs => 3000 - n) AS ended) AS t
"""


class Worker:
    """An executor in a thread of its own.

    ``fate`` returns the error of a job, by its number.
    """

    def __init__(self, dsn: str, fate: Callable[[int], str | None]) -> None:
        self._dsn, self._fate = dsn, fate
        self.ran: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Worker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    async def _run(self) -> None:
        connection = await asyncpg.connect(self._dsn)
        poller = Poller(connection)
        while not self._ended.is_set():
            claim = await poller.claim()
            if claim is None:
                await asyncio.sleep(0.01)
                continue
            number = int(await connection.fetchval("SELECT job_id FROM jobs WHERE id = $1", claim.id))
            self.ran.append(number)
            await poller.finish(claim, self._fate(number))
        await connection.close()


class Queue:
    """A database with failed jobs, numbered from the oldest."""

    def __init__(self, dsn: str, home: Path) -> None:
        self.dsn, self.home = dsn, home

    def fill(self, number: int) -> str:
        """Insert failed jobs, and return the key of their group."""
        fetch(self.dsn, FILL, number)
        return str(self.run("dead", "--json").json["dead"][0]["groups"][0]["key"])

    def run(self, *words: str, **more: Any) -> Answer:
        return unstick(*words, dsn=self.dsn, home=self.home, **more)

    def redrive(self, *words: str, **more: Any) -> Answer:
        return self.run("redrive", *words, "--json", **more)

    def ids(self) -> dict[str, int]:
        """Return the number of each job by its id."""
        return {f"agent_jobs/job:{key}": int(number) for key, number in fetch(self.dsn, "SELECT id, job_id FROM jobs")}

    def revived(self) -> list[list[int]]:
        """Return the numbers of the revived jobs, by audit log entry."""
        numbers = self.ids()
        rows = self.run("audit", "--action", "retry", "--json", "--limit", "100").json["entries"]
        return [sorted(numbers[r["id"]] for r in row["results"] if r["outcome"] == "changed") for row in reversed(rows)]


@pytest.fixture
def queue(server: PostgresServer, tmp_path: Path) -> Iterator[Queue]:
    dsn = server.fresh("agent_jobs")
    server.sql(audit_log.ddl(), dsn)
    settings = tmp_path / "config" / "unstick" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[options.agent_jobs]\nprofile = "table"\n')
    yield Queue(dsn, tmp_path)
    server.drop(dsn)


def same_as_shown(queue: Queue, report: dict[str, Any]) -> None:
    """Compare what `runs` shows of a redrive with its report."""
    shown = queue.run("runs", report["run"], "--json").json["report"]
    own = {name: report[name] for name in ("format", "at", "durability", "durable")}
    assert {**shown, **own} == report


def fine(_: int) -> str | None:
    return None


def test_cohorts_grow_and_the_oldest_come_first(queue: Queue) -> None:
    key = queue.fill(40)
    with Worker(queue.dsn, fine):
        answer = queue.redrive("agent_jobs", "--group", key, "--yes", *REASON)
    assert answer.code == 0, answer.err
    report = answer.json
    assert (report["state"], report["nodes"], report["revived"]) == ("done", 40, 40)
    assert [each["size"] for each in report["cohorts"]] == [1, 5, 25, 9]
    assert report["answers"] == {"finished": 40}
    assert (report["durability"], report["durable"]) == ("local", {"local": 40})
    assert queue.revived() == [[1], [*range(2, 7)], [*range(7, 32)], [*range(32, 41)]]
    same_as_shown(queue, report)
    assert f"Redrive {report['run']}  retry group" in queue.run("runs", report["run"]).out
    assert fetch(queue.dsn, "SELECT count(*) FROM jobs WHERE status = 'completed'") == [(40,)]
    _, line = queue.run("audit").out.splitlines()
    assert "40 of 40 changed, 40 finished" in line, "a run is one line with its result"
    assert f"group {key}" in line or "model timed out" in line, "and what it was for"
    assert len(queue.run("audit", "--entries").out.splitlines()) > 4


def test_it_stops_by_itself_when_they_die_of_the_same(queue: Queue) -> None:
    key = queue.fill(60)
    with Worker(queue.dsn, lambda n: BOOM if n in (3, 4) else None):
        answer = queue.redrive("--group", key, "--yes", "--budget", "1", *REASON)
    assert answer.code == 7
    report = answer.json
    assert (report["state"], report["revived"], report["answers"]["same_death"]) == ("budget", 6, 2)
    assert fetch(queue.dsn, "SELECT count(*) FROM jobs WHERE status = 'failed'") == [(56,)]
    again = queue.redrive(report["run"], "--resume", "--yes")
    assert again.json["answers"] == report["answers"], "what ended it is known from its log"
    same_as_shown(queue, again.json)


def test_the_same_error_within_the_budget_does_not_stop_it(queue: Queue) -> None:
    key = queue.fill(10)
    with Worker(queue.dsn, lambda n: BOOM if n in (3, 4) else None):
        answer = queue.redrive("--group", key, "--yes", "--budget", "2", *REASON)
    assert (answer.code, answer.json["state"]) == (0, "done")
    assert answer.json["answers"] == {"finished": 8, "same_death": 2}


def test_deaths_of_something_else_ask(queue: Queue) -> None:
    key = queue.fill(10)
    with Worker(queue.dsn, lambda n: "disk full" if n == 1 else None):
        answer = queue.redrive("--group", key, "--yes", "--budget", "0", *REASON)
        assert (answer.code, answer.json["state"], answer.json["question"]) == (8, "asking", "other_deaths")
        assert answer.json["revived"] == 1
        again = queue.redrive(answer.json["run"], "--resume", "--yes")
    assert (again.code, again.json["state"]) == (0, "done")
    assert again.json["answers"] == {"finished": 9, "other_death": 1}


def test_without_an_answer_it_asks_and_revives_no_other(queue: Queue) -> None:
    key = queue.fill(10)
    answer = queue.redrive("--group", key, "--yes", "--wait", "0", *REASON)
    assert (answer.code, answer.json["state"], answer.json["question"]) == (8, "asking", "no_answer")
    assert answer.json["revived"] == 1
    same_as_shown(queue, answer.json)
    assert queue.redrive(answer.json["run"], "--resume", "--yes", "--reason", "still waiting").code == 8
    assert queue.revived() == [[1]]
    stopped = queue.redrive(answer.json["run"], "--stop", "--reason", "enough")
    assert (stopped.code, stopped.json["state"], stopped.json["revived"]) == (7, "stopped", 1)
    for command, way in (("redrive", ("--resume", "--yes")), ("runs", ("--stop",))):
        again = queue.run(command, answer.json["run"], *way, "--json")
        assert (again.json["state"], problems(command, again)) == ("stopped", [])
    assert problems("do", queue.run("do", "--resume", answer.json["run"], "--yes", "--json")) == []
    assert queue.revived() == [[1]]


def test_a_redrive_is_continued_or_ended_by_no_dry_run(queue: Queue) -> None:
    key = queue.fill(10)
    run = queue.redrive("--group", key, "--yes", "--wait", "0", *REASON).json["run"]
    for words in (
        ("redrive", run, "--resume"),
        ("redrive", run, "--stop"),
        ("do", "--resume", run),
        ("do", "--discard", run),
    ):
        answer = queue.run(*words, "--dry-run", "--yes")
        assert (answer.code, "Nothing was changed." in answer.err) == (2, True), words
    assert queue.revived() == [[1]]
    assert queue.run("runs", run, "--json").json["run"]["state"] == "open"


def test_the_operator_at_a_terminal_decides(queue: Queue) -> None:
    key = queue.fill(2)
    answer = queue.redrive("--group", key, "--wait", "0", *REASON, typed="y\ny\nn\n")
    assert (answer.code, answer.json["state"], answer.json["revived"]) == (7, "stopped", 1)


def test_a_dry_run_shows_the_first_cohort_and_changes_nothing(queue: Queue) -> None:
    key = queue.fill(40)
    answer = queue.redrive("--group", key, "--dry-run", "--pace", "60/min", *REASON)
    assert answer.code == 0
    shown = answer.json
    assert (shown["nodes"], shown["cohorts"], shown["budget"], shown["pace"]) == (40, [1, 5, 25, 9], "10%", "60/min")
    assert [r["outcome"] for r in shown["dry_run"]["results"]] == ["changed"]
    assert fetch(queue.dsn, "SELECT count(*) FROM jobs WHERE status = 'failed'") == [(40,)]
    assert fetch(queue.dsn, "SELECT count(*) FROM unstick.audit_log") == [(0,)]


def test_a_server_that_stays_away_leaves_it_open(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    key = queue.fill(2)

    async def lost(*_: object) -> None:
        raise LostError("gone")

    monkeypatch.setattr(loop.Loop, "change", lost)
    monkeypatch.setattr(loop, "OUTAGE_SECONDS", -1.0)
    answer = queue.redrive("--group", key, "--yes", *REASON)
    assert (answer.code, answer.json["state"], answer.json["revived"]) == (1, "running", 0)
    assert "The server was unreachable" in answer.err
    assert len(printed(answer.err)) == 2, "continue it, end it"


def test_ctrl_c_leaves_it_open(queue: Queue) -> None:
    key = queue.fill(2)
    process = started(queue.home, "redrive", "--group", key, "--yes", *REASON, "-d", queue.dsn)
    assert process.stderr is not None
    while "1 revived" not in (line := process.stderr.readline()):
        assert line, "it ended early"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, len(printed(err))) == (130, 2), err
    assert "running; 1 of 2 revived" in out


def test_a_filter_selects_dead_letters_only(queue: Queue) -> None:
    queue.fill(3)
    again = "status = 'pending', error = NULL, started_at = NULL, completed_at = NULL"
    fetch(queue.dsn, f"UPDATE jobs SET {again} WHERE job_id = '2' RETURNING 1")
    answer = queue.redrive("agent_jobs", "--filter", "kind:job", "--dry-run", *REASON)
    assert (answer.code, answer.json["nodes"]) == (0, 2)


def test_a_changed_row_is_skipped_by_name(queue: Queue, server: PostgresServer) -> None:
    key = queue.fill(6)
    numbers = {number: node for node, number in queue.ids().items()}

    def touch(number: int) -> str | None:
        if number == 1:  # while the first cohort runs, a colleague changes a member of the second
            server.sql("UPDATE jobs SET updated_at = now() WHERE job_id = '4'", queue.dsn)
        return None

    with Worker(queue.dsn, touch):
        answer = queue.redrive("--group", key, "--yes", *REASON)
    assert answer.code == 3
    assert [(r["id"], r["outcome"]) for r in answer.json["skipped"]] == [(numbers[4], "stale")]
    assert answer.json["revived"] == 5
    listed = queue.redrive(answer.json["run"], "--resume", "--yes")
    assert [r["id"] for r in listed.json["skipped"]] == [numbers[4]], "recorded"


def test_a_redrive_that_a_colleague_ends_reports_what_it_revived(queue: Queue) -> None:
    key = queue.fill(9)  # no worker answers at first
    words = ["redrive", "--group", key, "--yes", "--json", "--wait", "1h", *REASON]
    process = started(queue.home, "-d", queue.dsn, *words)
    while not queue.run("audit", "--action", "retry", "--json").json["entries"]:
        assert process.poll() is None
    (listed,) = queue.run("runs", "--json").json["runs"]
    assert queue.redrive(listed["run"], "--stop").code == 7
    with Worker(queue.dsn, fine):  # the next that the first console would record
        out, err = process.communicate(timeout=120)
    assert (process.returncode, json.loads(out)["revived"]) == (1, 1), err
    assert f"has ended the run {listed['run']}" in err
    assert "--resume" not in err
    assert "Nothing was changed" not in err


def test_a_second_redrive_of_the_group_is_refused_and_names_the_first(queue: Queue) -> None:
    key = queue.fill(4)
    first = queue.redrive("--group", key, "--yes", "--wait", "0", *REASON)
    assert first.code == 8
    second = queue.redrive("--group", key, "--yes", *REASON)
    assert second.code == 1
    assert f"redrive {first.json['run']}" in second.err
    assert "@" in second.err
    assert printed(first.err) == printed(second.err)
    resume, stop = printed(second.err)
    assert "-d" in resume.split()
    assert run(resume, "--yes", dsn=queue.dsn, home=queue.home).code == 8
    assert run(stop, dsn=queue.dsn, home=queue.home).code == 7
    assert queue.redrive("--group", key, "--yes", "--wait", "0", *REASON).code == 8


def test_the_list_shows_who_what_and_how_it_ended(queue: Queue) -> None:
    key = queue.fill(6)
    with Worker(queue.dsn, fine):
        done = queue.redrive("--group", key, "--yes", *REASON)
    fetch(queue.dsn, "UPDATE jobs SET status = 'failed', error = 'x' RETURNING 1")
    group = queue.run("dead", "--json").json["dead"][0]["groups"][0]["key"]
    asks = queue.redrive("--group", group, "--yes", "--wait", "0", "--reason", "again")
    rows = queue.redrive("--list").json["runs"]
    assert [(r["run"], r["state"], r["changed"], r["reason"]) for r in rows] == [
        (asks.json["run"], "open", 1, "again"),
        (done.json["run"], "done", 6, "fix deployed"),
    ]
    assert rows[1]["answers"] == {"finished": 6}
    shown = queue.run("redrive", "--list")
    assert done.json["run"] in shown.out


def test_its_entries_are_shown_as_others(queue: Queue) -> None:
    key = queue.fill(2)
    with Worker(queue.dsn, fine):
        assert queue.redrive("--group", key, "--yes", *REASON).code == 0
    entries = queue.run("audit", "--json").json["entries"]
    assert [each["action"] for each in entries] == ["redrive", "redrive", "retry", "redrive", "retry", "redrive"]
    for words in (["audit", "--entries"], ["audit", "--format", "csv"], ["audit", "--format", "markdown"], ["changed"]):
        answer = queue.run(*words)
        assert (answer.code, "retry" in answer.out) == (0, True), words
    assert queue.run("undo", entries[0]["id"], "--yes", *REASON).code == 1
    assert queue.run("audit", "--verify").code == 0


def test_a_limit_takes_the_oldest_of_those_that_were_read(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.cli.searched.GROUP_DEAD_LETTERS", 3)
    words = ("redrive", "--group", queue.fill(5), "--yes", "--cohorts", "2", "--wait", "0", *REASON)
    answer = queue.run(*words)
    assert (answer.code, "Not everything was looked at: only the newest 3 dead letters were read" in answer.err) == (
        1,
        True,
    )
    answer = queue.run(*words, "--limit", "2")
    assert queue.revived() == [[3, 4]]
    assert "--limit: the oldest of those that were read, not of all: only the newest 3 dead letters were" in answer.err


def test_the_pace_limits_how_many_are_revived(queue: Queue) -> None:
    key = queue.fill(5)
    with Worker(queue.dsn, fine):
        answer = queue.run("redrive", "--group", key, "--yes", "--cohorts", "5", "--pace", "2/s", *REASON)
    assert answer.code == 0
    assert "Certain on this server, which has no standby." in answer.out
    assert [len(part) for part in queue.revived()] == [2, 2, 1]


def test_a_row_that_is_gone_is_no_success_here(queue: Queue) -> None:
    key = queue.fill(4)
    answer = queue.redrive("--group", key, "--yes", "--wait", "0", *REASON)
    fetch(queue.dsn, "DELETE FROM jobs WHERE job_id = '1' RETURNING 1")
    asks = queue.redrive(answer.json["run"], "--resume")
    assert asks.code == 2, "no terminal to ask at"
    with Worker(queue.dsn, fine):
        again = queue.redrive(answer.json["run"], "--resume", "--yes")
        while again.code == 8:  # the wait is over at once, so each cohort asks until its jobs have run
            again = queue.redrive(answer.json["run"], "--resume", "--yes")
    assert (again.code, again.json["state"]) == (0, "done")
    assert again.json["answers"] == {"unknown": 1, "finished": 3}


def test_a_run_is_shown_although_its_nodes_cannot_be_read(queue: Queue) -> None:
    key = queue.fill(3)
    run = queue.redrive("--group", key, "--yes", "--wait", "0", *REASON).json["run"]
    with asyncio.Runner() as runner:
        holder = runner.run(asyncpg.connect(queue.dsn))
        runner.run(holder.execute("BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE"))
        shown, text = queue.run("runs", run, "--json"), queue.run("runs", run)
        runner.run(holder.close())
    assert (shown.code, text.code, shown.json["report"]["state"]) == (1, 1, "running")
    assert "locks jobs" in shown.json["unread"]
    assert "What the nodes do now could not be read: Another session holds a lock" in text.out


def test_an_undone_revival_is_no_new_death(queue: Queue) -> None:
    key = queue.fill(3)
    answer = queue.redrive("--group", key, "--yes", "--wait", "0", "--budget", "0", *REASON)
    entry = queue.run("audit", "--action", "retry", "--json").json["entries"][0]["id"]
    assert queue.run("undo", entry, "--yes", *REASON).code == 0
    again = queue.redrive(answer.json["run"], "--resume", "--yes")
    assert (again.code, again.json["question"], again.json["answers"]) == (8, "no_answer", {"no_answer": 1})


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--group", "x", "--filter", "y"),
        ("--list", "3"),
        ("--resume",),
        ("--group", "agent_jobs/dead:1"),
        ("--group", "agent_jobs/dead:1", "--cohorts", "0", *REASON),
        ("--group", "agent_jobs/dead:1", "--pace", "fast", *REASON),
        ("--group", "agent_jobs/dead:1", "--budget", "101%", *REASON),
        ("--group", "agent_jobs/dead:1", "--wait", "soon", *REASON),
        ("--filter", "kind:job", *REASON),
    ],
)
def test_usage(queue: Queue, words: tuple[str, ...]) -> None:
    assert queue.redrive(*words).code == 2


def test_an_unknown_group_or_redrive(queue: Queue) -> None:
    assert queue.redrive("--group", "agent_jobs/dead:00000000", "--yes", *REASON).code == 6
    assert queue.redrive("77", "--resume", "--yes").code == 3


def test_without_the_audit_log_table_the_oldest_are_a_plain_change(queue: Queue, server: PostgresServer) -> None:
    key = queue.fill(27)
    server.sql("DROP INDEX unstick.audit_log_run_idx", queue.dsn)
    old = queue.redrive("--group", key, "--dry-run", *REASON)
    assert (old.code, len(old.json["results"]), "`unstick init`" in old.err) == (0, 25, True)
    server.sql("DROP SCHEMA unstick CASCADE", queue.dsn)
    answer = queue.redrive("--group", key, "--yes", *REASON)
    assert (answer.code, problems("redrive", answer)) == (0, []), answer.err
    assert "The oldest 25 of 27 are revived at once." in answer.err
    assert fetch(queue.dsn, "SELECT job_id FROM jobs WHERE status = 'failed' ORDER BY 1") == [("26",), ("27",)]


def test_an_engine_without_an_action_says_so(queue: Queue) -> None:
    key = queue.fill(2)
    (queue.home / "config" / "unstick" / "config.toml").write_text('[options.agent_jobs]\nprofile = "mirror"\n')
    answer = queue.redrive("--group", key, "--yes", *REASON)
    assert answer.code == 1
    assert "retry is not possible here" in answer.err
