"""``unstick dead``: JSON with the records' fields, fitting text, read errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from jsonschema import Draft202012Validator

from console.cli import output
from console.cli.schema import schema
from queries.records.dead_letter import DeadLetterReport
from tests.command import fetch, unstick
from tests.servers import PostgresServer

HOSTILE = """
UPDATE workflow_steps SET results = jsonb_set(results, '{error,message}', '"\\u001b[31mred"')
 WHERE results::text LIKE '%card was closed by its owner%'
"""


class Answer(msgspec.Struct):
    dead: tuple[DeadLetterReport, ...]


@pytest.fixture(scope="module")
def tasker(servers: Any) -> Iterator[str]:
    """A database with tasker's demo data and a hostile error."""
    server: PostgresServer = servers["18"]
    dsn = server.fresh("tasker", filled=True)
    server.sql(HOSTILE, dsn)
    yield dsn
    server.drop(dsn)


def test_json_is_dead_by_engine(tasker: str) -> None:
    answer = unstick("dead", "--json", dsn=tasker)
    assert answer.code == 0
    record = msgspec.convert(json.loads(answer.out), Answer)
    assert output.answered(record) == answer.out.rstrip("\n")
    (part,) = record.dead
    assert (part.engine, part.capped, part.scan_required, part.unreadable) == ("tasker", False, None, "")
    assert part.meaning
    pending = fetch(tasker, "SELECT dlq_entry_uuid::text FROM tasks_dlq WHERE resolution_status = 'pending'")
    dead_letters = {x.node.id for x in part.dead_letters if x.node.kind == "dead_letter"}
    assert dead_letters == {f"tasker/dead_letter:{key}" for (key,) in pending}
    assert sum(group.n for group in part.groups) == len(part.dead_letters)
    assert [x.fingerprint for x in part.dead_letters] == [g.fingerprint for g in part.groups for _ in range(g.n)]


def test_text_shows_groups_dead_letters_and_their_current_state(tasker: str) -> None:
    answer = unstick("dead", dsn=tasker)
    assert answer.code == 0
    assert answer.err == ""
    assert answer.out.startswith("tasker  ")
    assert re.search(r"waiting_for_dependencies → complete", answer.out)
    assert re.search(r"\n {7}id +current state +since\n", answer.out), "one heading, above the groups"
    assert "<n> from <address>" in answer.out
    assert "blocked_by_failures" in answer.out
    assert "␛[<n>mred" in answer.out, "the demo's hostile error cannot steer a terminal"


def test_a_limit_marks_the_group_as_capped(tasker: str) -> None:
    text = unstick("dead", "--limit", "2", dsn=tasker).out
    assert text.count("tasker/") - text.count("tasker/dead:") == 2
    assert "1+" in text
    assert "--limit" in text
    (part,) = unstick("dead", "--limit", "2", "--json", dsn=tasker).json["dead"]
    assert part["capped"]
    assert len(part["dead_letters"]) == 2
    assert all(group["capped"] for group in part["groups"])


def test_a_summary_counts_each_error_once(tasker: str) -> None:
    (part,) = unstick("dead", "--json", dsn=tasker).json["dead"]
    (short,) = (answer := unstick("dead", "--summary", "--json", dsn=tasker)).json["dead"]
    assert list(Draft202012Validator(schema(["dead"])).iter_errors(answer.json)) == []
    numbers = [error["n"] for error in short["errors"]]
    assert sum(numbers) == len(part["dead_letters"]) > len(numbers)
    assert numbers == sorted(numbers, reverse=True)
    assert (short["dead_letters"], short["groups"]) == ([], [])
    assert {key for error in short["errors"] for key in error["groups"]} == {group["key"] for group in part["groups"]}
    text = unstick("dead", "--summary", dsn=tasker).out.splitlines()
    assert len(text) == 1 + len(numbers)
    assert any(line.lstrip().startswith(f"{numbers[0]}  {short['errors'][0]['error']}") for line in text)
    (first, *_) = unstick("dead", "--summary", "--limit", "2", "--json", dsn=tasker).json["dead"][0]["errors"]
    assert first["capped"], "at least"


def test_an_engine_that_keeps_none_says_so(eternaltwin: str) -> None:
    text = unstick("dead", dsn=eternaltwin).out
    assert text.startswith("eternaltwin  none")
    assert "No dead letters." in text


def test_what_cannot_be_read_is_reported_and_is_a_failure(server: PostgresServer) -> None:
    dsn, role = server.fresh("tasker", filled=True), server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", dsn)
    server.sql(f"REVOKE SELECT ON tasks_dlq FROM {role}", dsn)
    answer = unstick("dead", "--json", dsn=server.dsn(urlsplit(dsn).path.strip("/"), user=role, password="x"))
    assert answer.code == 1
    (part,) = answer.json["dead"]
    assert "tasks_dlq" in part["unreadable"]
    assert part["dead_letters"] == []
    assert f"the role {role} has no SELECT on tasks_dlq" in answer.err
    server.drop(dsn)


def test_an_engine_by_its_name(tasker: str) -> None:
    assert unstick("dead", "--engine", "tasker", dsn=tasker).code == 0
    assert unstick("dead", "--engine", "nosuch", dsn=tasker).code == 2
