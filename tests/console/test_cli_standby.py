"""Answers of a standby: each says how old its data is, and suggests no change."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from console.cli.schema import schema
from console.text.views.row_diff import SAME_REFUSED
from queries.log import audit_log
from queries.read.blockers import STANDBY
from tests.command import fetch, unstick
from tests.console.test_cli_watch import line, running
from tests.console.tui_driver import run_tui
from tests.servers import PostgresServer

BLOCKED = "SELECT 'eternaltwin/task:' || task_id FROM task WHERE status = 'Blocked' LIMIT 1"
LINE = re.compile(r"standby, data of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[str, PostgresServer, str]]:
    """A database, its standby, and the database there."""
    with closing(PostgresServer()) as primary:
        primary.start()
        dsn = primary.fresh("eternaltwin", filled=True)
        with closing(primary.replica()) as replica:
            yield dsn, replica, replica.dsn(dsn.rpartition("/")[2])


def test_an_idle_primary_is_no_lag(pair: tuple[str, PostgresServer, str]) -> None:
    _, _, there = pair
    begun = time.time()
    first, second = (unstick("stuck", "--json", dsn=there).json for _ in range(2))
    assert begun <= first["standby"]["data_of"] < second["standby"]["data_of"] <= time.time()
    assert {i["key"] for i in first["incidents"]} == {i["key"] for i in second["incidents"]}


def test_every_answer_says_how_old_its_data_is_and_suggests_no_change(pair: tuple[str, PostgresServer, str]) -> None:
    dsn, replica, there = pair
    node = fetch(dsn, BLOCKED)[0][0]
    assert "unstick do" in unstick("stuck", dsn=dsn).out
    assert "standby" not in unstick("stuck", "--json", dsn=dsn).json
    replica.sql("ALTER SYSTEM SET recovery_min_apply_delay = '1h'")
    replica.sql("SELECT pg_reload_conf()")
    assert unstick("do", "wake", node, "-r", "test", "-y", dsn=dsn).code == 0
    while fetch(replica.dsn(), "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()") != [(True,)]:
        pass
    ((last,),) = fetch(replica.dsn(), "SELECT extract(epoch FROM pg_last_xact_replay_timestamp())::float8")
    reads = [
        ["show", node],
        ["find", node],
        *([word] for word in ("engines", "tree", "stuck", "dead", "changed", "audit")),
    ]
    for words in (*reads, ["tree", "--live"], ["blockers"], ["runs"]):
        text, answer = unstick(*words, dsn=there), unstick(*words, "--json", dsn=there)
        assert LINE.match(text.out), words
        assert (words != ["blockers"]) or STANDBY in text.out
        assert len(LINE.findall(text.out)) == 1, words
        assert "unstick do" not in text.out, words
        assert "To do" not in text.out.replace("To do: Connect to the primary.", ""), words
        assert answer.json["standby"]["data_of"] == pytest.approx(last, abs=1e-3), words
    findings = unstick("stuck", "--json", dsn=there).findings
    assert {finding["action"] for finding in findings} == {None}
    assert not any(each["available"] for each in unstick("engines", "--json", dsn=there).json["engines"][0]["actions"])
    metrics = unstick("metrics", dsn=there)
    labels = rf'context="",server="[^"]+:\d+",database="{there.rpartition("/")[2]}"'
    age = re.search(rf"^unstick_standby_data_age_seconds{{{labels}}} (.*)$", metrics.out, re.MULTILINE)
    assert age is not None
    assert float(age[1]) > 0
    assert LINE.match(metrics.err)


def test_watch_says_it_with_each_incident(pair: tuple[str, PostgresServer, str], tmp_path: Path) -> None:
    words = ("watch", "--interval", "200ms", "-d", pair[2])
    with running(tmp_path, *words) as process:
        assert LINE.match(line(process.stderr))
    with running(tmp_path, *words, "--existing", "--json") as process:
        answers = [json.loads(line(process.stdout)) for _ in range(5)]
    assert all(each["standby"]["data_of"] > 0 for each in answers)
    incidents = [each["incident"] for each in answers]
    found = [node for each in incidents for node in (each, *each["findings"], *each["explained"])]
    assert {each["action"] for each in found} == {None}
    assert {each["remedy"] for each in incidents} == {"", "Connect to the primary."}
    with running(tmp_path, *words, "--existing") as process:
        text = "".join(line(process.stdout) for _ in range(30))
    assert 0 <= len(LINE.findall(text)) - text.count(" severity ") <= 1 < 2 < len(LINE.findall(text))
    assert "unstick do" not in text


def test_a_refusal_by_the_server_is_said_once_and_leads_to_no_other_command(
    pair: tuple[str, PostgresServer, str],
) -> None:
    _, _, there = pair
    nodes = [row[0] for row in fetch(there, BLOCKED.replace("LIMIT 1", "LIMIT 30"))]
    answer = unstick("do", "wake", *nodes, "-r", "test", "-n", dsn=there)
    assert (answer.code, answer.out.count("this server is a standby")) == (3, 1)
    assert "unstick show" not in answer.err
    rows = unstick("do", "wake", *nodes, "-r", "test", "-n", "--rows", dsn=there)
    assert sum(node in rows.out for node in nodes) == min(len(nodes), SAME_REFUSED)


@pytest.mark.parametrize("command", ["do wake x/task:1 -r x", "undo 7 -r x", "redrive --group x -r x", "do --resume 7"])
def test_a_command_that_fails_before_its_change_says_that_nothing_was_changed(command: str) -> None:
    answer = unstick(*command.split(), "-y", "--json", dsn="postgresql://postgres@127.0.0.1:1/x")
    assert (answer.code, answer.json["results"]) == (1, [])
    assert "Nothing was changed." in answer.json["error"]
    assert answer.err.count("Nothing was changed.") == 1
    assert list(Draft202012Validator(schema([command.split()[0]])).iter_errors(answer.json)) == []
    assert "Nothing was changed" not in unstick("stuck", dsn="postgresql://postgres@127.0.0.1:1/x").err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        *(("undo 999", 3), ("do wake x/task:1", 2), ("do wake no-id", 2), ("do wake --filter kind:none", 6)),
        *(("do wake --incident eternaltwin/none", 1), ("redrive --group eternaltwin/none", 6), ("do --resume 99", 3)),
    ],
)
def test_so_does_one_that_finds_nothing(
    server: PostgresServer, eternaltwin: str, tmp_path: Path, command: str, code: int
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    reason = () if "--resume" in command else ("-r", "x")
    answer = unstick(*command.split(), *reason, "-y", "--json", dsn=eternaltwin, home=tmp_path)
    assert (answer.code, answer.json["results"]) == (code, [])
    assert "Nothing was changed." in answer.json["error"]
    assert answer.err.count("Nothing was changed.") == 1
    for hint in re.findall("`unstick ([^`]+)`", answer.err):
        words = shlex.split(hint)
        assert words[-2] == "-d"
        assert unstick(*words[:-2], dsn=eternaltwin, home=tmp_path).code == 0


async def test_the_header_of_the_console_says_it_too(pair: tuple[str, PostgresServer, str], tmp_path: Path) -> None:
    async with run_tui(pair[2], tmp_path, start="stuck") as tui:
        await tui.wait_for("standby, data of ", "overdue timer", lambda: "W wake" not in tui.text)
