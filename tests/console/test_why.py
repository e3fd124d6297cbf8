"""The command `why`, and the same answers on the page of a node."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.command import unstick
from tests.servers import PostgresServer

JOBS = """
INSERT INTO pgqueuer (id, priority, entrypoint, status, execute_after, queue_manager_id, heartbeat)
OVERRIDING SYSTEM VALUE VALUES
  (1, 0, 'mail', 'queued', now() - interval '5 minutes', NULL, now()),
  (2, 0, 'mail', 'queued', now() + interval '1 hour', NULL, now()),
  (3, 0, 'mail', 'picked', now() - interval '9 minutes', '00000000-0000-4000-8000-000000000001', now()),
  (4, 0, 'files', 'queued', now() - interval '5 minutes', NULL, now()),
  (5, 0, 'mail', 'failed', now() - interval '5 minutes', NULL, now()),
  (6, 0, 'mail', 'queued', now() - interval '2 minutes', NULL, now())
"""
MORE_JOBS = """
INSERT INTO pgqueuer (id, priority, entrypoint, status, execute_after, heartbeat) OVERRIDING SYSTEM VALUE
SELECT n, 0, 'mail', 'queued', now() - interval '2 minutes', now() FROM generate_series(10, 3000) AS n
"""
TAKEN = "DELETE FROM pgqueuer WHERE id = (SELECT min(id) FROM pgqueuer WHERE id >= 10)"
QUEUES = """
INSERT INTO solid_queue_jobs (id, queue_name, class_name, created_at, updated_at) SELECT n, q, 'SyncJob', now(), now()
  FROM (VALUES (1, 'mail_slow'), (2, 'reports')) AS v(n, q);
INSERT INTO solid_queue_ready_executions (job_id, queue_name, created_at)
SELECT id, queue_name, now() FROM solid_queue_jobs;
INSERT INTO solid_queue_processes (kind, name, pid, last_heartbeat_at, created_at, metadata)
VALUES ('Worker', 'w1', 1, timezone('UTC', now()), now(), '{"queues":"default, mail*"}'),
       ('Worker', 'w2', 2, timezone('UTC', now()) - interval '1 hour', now(), '{"queues":"*"}');
"""

BEHIND = """
INSERT INTO procrastinate_workers (id, last_heartbeat) OVERRIDING SYSTEM VALUE
VALUES (1, now() - interval '1 hour'), (2, now());
INSERT INTO procrastinate_jobs (id, queue_name, task_name, priority, lock, status, worker_id)
OVERRIDING SYSTEM VALUE VALUES
  (1, 'mail', 'send', 0, 'a', 'doing', 1), (2, 'mail', 'send', 0, 'a', 'todo', NULL),
  (3, 'mail', 'send', 0, 'a', 'todo', NULL), (4, 'mail', 'send', 0, NULL, 'todo', NULL);
"""
KEYS = """
INSERT INTO solid_queue_jobs (id, queue_name, class_name, concurrency_key, created_at, updated_at)
SELECT n, q, 'SyncJob', 'k', timezone('UTC', now()) - interval '2 hours', now()
  FROM (VALUES (1, 'reports'), (2, 'mail')) AS v(n, q);
INSERT INTO solid_queue_ready_executions (job_id, queue_name, created_at)
VALUES (1, 'reports', timezone('UTC', now()) - interval '2 hours');
INSERT INTO solid_queue_blocked_executions (job_id, queue_name, concurrency_key, expires_at, created_at)
VALUES (2, 'mail', 'k', now(), timezone('UTC', now()));
INSERT INTO solid_queue_processes (kind, name, pid, last_heartbeat_at, created_at, metadata)
VALUES ('Worker', 'w1', 1, timezone('UTC', now()), now(), '{"queues":"*"}');
INSERT INTO solid_queue_pauses (queue_name, created_at) VALUES ('reports', timezone('UTC', now()) - interval '2 hours');
"""


@pytest.fixture
def pgqueuer(server: PostgresServer) -> Iterator[str]:
    dsn = server.fresh("pgqueuer")
    server.sql(JOBS, dsn)
    yield dsn
    server.drop(dsn)


def why(dsn: str, *words: str) -> dict[str, dict[str, tuple[bool | None, str]]]:
    """Return the conditions of nodes, by id and name."""
    nodes = unstick("why", *words, "--json", dsn=dsn).json["nodes"]
    return {n["node_id"]: {c["name"]: (c["holds"], c["shows"]) for c in n["conditions"]} for n in nodes}


def test_each_condition_is_said_with_its_value(pgqueuer: str) -> None:
    answer = unstick("why", "pgqueuer/job:2", dsn=pgqueuer)
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["✓", "free", "queued"] in lines
    assert any(line[:2] == ["✗", "due"] for line in lines)
    assert any(line[:2] == ["✓", "worker"] for line in lines)
    assert lines[-1] == ["No", "worker", "takes", "it:", "due."]
    failed = why(pgqueuer, "pgqueuer/job:5")["pgqueuer/job:5"]
    assert failed["free"] == (False, "failed")
    taken = unstick("why", "pgqueuer/job:3", dsn=pgqueuer).out
    assert "It is taken by 00000000-0000-4000-8000-000000000001 since" in taken


def test_a_node_that_all_conditions_allow_is_next_at_the_rate_of_its_queue(
    server: PostgresServer, pgqueuer: str
) -> None:
    def node(number: int, *words: str) -> Any:
        (found,) = unstick("why", f"pgqueuer/job:{number}", *words, "--json", dsn=pgqueuer).json["nodes"]
        return found

    def work() -> None:
        while not done.wait(0.01):
            server.sql(TAKEN, pgqueuer)

    server.sql(MORE_JOBS, pgqueuer)
    assert [node(number)["before"] for number in (1, 6, 2, 900)] == [0, 1, None, 892]
    assert [node(number, "--sample", "0.1")["next_in"] for number in (1, 6, 2)] == [[None, None]] * 3
    still = r"1 of its queue come first\. In the last \ds their number did not fall\."
    assert re.search(still, unstick("why", "pgqueuer/job:6", "--sample", "1", dsn=pgqueuer).out)
    assert unstick("why", "--sample", "1", dsn=pgqueuer).code == 2
    done = threading.Event()
    with ThreadPoolExecutor() as pool:
        worker = pool.submit(work)
        try:
            known = node(900, "--sample", "2")
            beyond = unstick("why", "pgqueuer/job:3000", "--sample", "2", dsn=pgqueuer).out
        finally:
            done.set()
        worker.result()
    soonest, latest = known["next_in"]
    assert known["before"] < 892
    assert known["measured"] >= 2
    assert 0 < soonest < (latest or 1e9)
    said = r"at least 1,000 of its queue come first\. At the rates measured in the last \w+, it is next in \w+ or later"
    assert re.search(said, " ".join(beyond.split()))


def test_what_no_worker_takes_has_no_answer(pgqueuer: str) -> None:
    assert unstick("why", "pgqueuer/entrypoint:mail", dsn=pgqueuer).code == 3
    assert unstick("why", "pgqueuer/job:99", dsn=pgqueuer).code == 3


def test_the_funnel_counts_each_queue(pgqueuer: str) -> None:
    answer = unstick("why", "--json", dsn=pgqueuer).json
    ((funnel,),) = answer["engines"].values()
    assert funnel["conditions"] == ["free", "due"]
    counts = {each["queue"]: (each["n"], each["passed"], each["worker"]["holds"]) for each in funnel["queues"]}
    assert counts == {"mail": (4, [3, 2], True), "files": (1, [1, 1], None)}
    assert "mail" in unstick("why", dsn=pgqueuer).out


def test_a_worker_is_one_that_lives_and_takes_the_queue(server: PostgresServer) -> None:
    dsn = server.fresh("solid_queue")
    server.sql(QUEUES, dsn)
    served = why(dsn, "solid_queue/job:1")["solid_queue/job:1"]
    other = why(dsn, "solid_queue/job:2")["solid_queue/job:2"]
    assert served["worker"] == (True, "w1 on ?")
    assert other["worker"] == (False, "no worker takes reports; alive: w1 on ?")
    server.drop(dsn)


def test_the_page_of_a_node_that_waits_has_the_conditions(pgqueuer: str) -> None:
    sections = {s["name"]: s for s in unstick("show", "pgqueuer/job:2", "--json", dsn=pgqueuer).json["sections"]}
    assert [row[:2] for row in sections["why"]["rows"]] == [["✓", "free"], ["✗", "due"], ["✓", "worker"]]
    ended = unstick("show", "pgqueuer/job:5", "--json", dsn=pgqueuer).json["sections"]
    assert "why" not in {section["name"] for section in ended}


def test_a_dry_run_says_which_condition_still_fails(server: PostgresServer) -> None:
    """A job that is made due in a paused queue does not run."""
    dsn = server.fresh("oban")
    server.sql(
        """INSERT INTO oban_producers (uuid, node, queue, meta)
        VALUES (gen_random_uuid(), 'app.1', 'mail', '{"paused": true}');
        INSERT INTO oban_jobs (queue, worker, state, scheduled_at)
        SELECT q, 'App.Send', 'scheduled', now() + interval '1 hour' FROM unnest(ARRAY['mail', 'other']) AS q""",
        dsn,
    )
    answer = unstick("do", "wake", "oban/job:1", "--dry-run", "-r", "r", dsn=dsn)
    assert "Afterwards no worker takes it. What still fails: not paused" in " ".join(answer.out.split())
    assert unstick("do", "wake", "oban/job:1", "--dry-run", "-r", "r", "--json", dsn=dsn).json["unmet"].keys() == {
        "oban/job:1"
    }
    assert "Afterwards" not in unstick("do", "wake", "oban/job:2", "--dry-run", "-r", "r", dsn=dsn).out
    server.drop(dsn)


def test_a_condition_without_its_table_is_not_known(server: PostgresServer) -> None:
    """The engine for Elixir has no producers."""
    dsn = server.fresh("oban")
    server.sql("DROP TABLE oban_producers; INSERT INTO oban_jobs (queue, worker) VALUES ('mail', 'App.Send')", dsn)
    (conditions,) = why(dsn, "oban/job:1").values()
    assert {name: holds for name, (holds, _) in conditions.items()} == {
        **dict.fromkeys(("state", "due", "staged", "attempts_left"), True),
        **dict.fromkeys(("not_paused", "slot_free", "worker")),
    }
    assert "mail" in unstick("why", dsn=dsn).out
    server.drop(dsn)


def test_what_waits_leads_to_the_node_with_a_problem(server: PostgresServer) -> None:
    dsn = server.fresh("procrastinate")
    server.sql(BEHIND, dsn)
    answer = unstick("why", "procrastinate/job:2", "--json", dsn=dsn).json
    ((job, waiter, codes),) = [
        (each["node_id"], each["waiter"], [found["code"] for found in each["findings"]]) for each in answer["holders"]
    ]
    assert (job, waiter, codes) == ("procrastinate/job:1", "procrastinate/job:2", ["owner_dead"])
    shown = unstick("show", "procrastinate/job:2", dsn=dsn).out
    assert "What keeps it waiting" in shown
    assert ["lock", "free", "procrastinate/job:1", "owner", "dead"] in [line.split()[1:] for line in shown.splitlines()]
    assert "What keeps it waiting" not in unstick("show", "procrastinate/job:4", dsn=dsn).out
    server.drop(dsn)


def test_a_holder_is_without_problems_only_as_far_as_it_was_checked(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    dsn = server.fresh("procrastinate")
    server.sql(BEHIND.replace("'doing', 1", "'doing', 2"), dsn)
    (holder,) = unstick("why", "procrastinate/job:2", "--json", dsn=dsn).json["holders"]
    skipped = [each["code"] for each in holder["skipped_findings"]]
    assert (holder["findings"], skipped) == ([], ["blocked_by_a_scheduled_job", "lock_held_long"])
    said = unstick("why", "procrastinate/job:2", dsn=dsn).out
    assert "No problem of it was found by the checks that ran." in said
    assert "Not checked: blocked_by_a_scheduled_job, lock_held_long: " in said
    page = unstick("show", "procrastinate/job:2", dsn=dsn).out
    assert "No problem of its own was detected by the checks that ran." in page
    assert "none was found; 2 checks were not made" in page
    server.drop(dsn)


def test_what_waits_leads_over_a_node_that_waits_itself(server: PostgresServer) -> None:
    dsn = server.fresh("solid_queue")
    server.sql(KEYS, dsn)
    answer = unstick("why", "solid_queue/job:2", "--json", dsn=dsn).json
    assert [(each["node_id"], each["waiter"], each["condition"]) for each in answer["holders"]] == [
        ("solid_queue/job:1", "solid_queue/job:2", "key free"),
        ("solid_queue/queue:reports", "solid_queue/job:1", "not paused"),
    ]
    assert [found["code"] for found in answer["holders"][-1]["findings"]] == ["queue_paused"]
    said = unstick("why", "solid_queue/job:2", dsn=dsn).out
    assert "solid_queue/queue:reports keeps solid_queue/job:1 waiting: not paused" in said
    server.drop(dsn)
