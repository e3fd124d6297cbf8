"""JSON output: its schema describes every answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from console.cli import commands, output
from console.cli.schema import ANSWERS, schema
from tests.command import Answer, fetch, unstick
from tests.servers import PostgresServer, Servers

WITHOUT_JSON = {"demo", "init", "metrics", "help", "man", "completion", "schema"}
IN_WATCH_TESTS = {"watch"}  # it does not end
FAILED = """
SELECT workflow_step_uuid::text FROM workflow_step_transitions WHERE most_recent AND to_state = 'error'
 ORDER BY workflow_step_transition_uuid DESC LIMIT 1
"""


@pytest.fixture(scope="module")
def demo(servers: Servers) -> Iterator[str]:
    """DSN of a database with the demo's data, which only `test_answers` changes."""
    server: PostgresServer = servers["18"]
    dsn = server.fresh("tasker", filled=True)
    yield dsn
    server.drop(dsn)


def exact(described: Any) -> Any:
    """Return a schema that refuses fields that it does not describe."""
    if isinstance(described, list):
        return [exact(each) for each in described]
    if not isinstance(described, dict):
        return described
    more = {"additionalProperties": False} if "title" in described and "properties" in described else {}
    found = {key: exact(value) for key, value in described.items()} | more
    if more:
        found["properties"] = {"format": True} | found["properties"]
    return found


def problems(command: str, answer: Answer) -> list[str]:
    """Return where an answer differs from its schema."""
    validator = Draft202012Validator(exact(schema([command])))
    found = [error for line in answer.out.splitlines() for error in validator.iter_errors(json.loads(line))]
    return [f"{list(error.absolute_path)}: {error.message[:200]}" for error in found]


def answers(dsn: str) -> Iterator[tuple[str, Answer]]:
    """Yield an answer or more of every command that prints JSON."""
    for name in ("engines", "tree", "stuck", "dead", "blockers", "grants", "audit", "info", "why", "shift"):
        yield name, unstick(name, "--json", dsn=dsn)
    yield "stuck", unstick("stuck", "--json", "--sample", "0", dsn=dsn)
    yield "sql", unstick("sql", "wake", "--json")
    yield "engine", unstick("engine", "check", "/no/such/folder", "--json")
    yield "engine", unstick("engine", "new", "tasks", "--json", dsn=dsn)
    yield "engine", unstick("engine", "show", "eternaltwin", "--json")
    dead = unstick("dead", "--json", dsn=dsn).json["dead"][0]["dead_letters"][0]["node"]["id"]
    finding = next(f for f in unstick("stuck", "--json", dsn=dsn).findings if f["action"] == "retry")
    given = [word for name, value in finding["arguments"].items() for word in ("--arg", f"{name}={value}")]
    words = [finding["action"], finding["node_id"], *given, "-r", "test", "--json"]
    for node in (dead, finding["node_id"]):
        yield "show", unstick("show", node, "--json", dsn=dsn)
        yield "find", unstick("find", node, "--json", dsn=dsn)
        yield "blockers", unstick("blockers", node, "--json", dsn=dsn)
        yield "try", unstick("try", node, "--yes", "--json", dsn=dsn)
    home = unstick("info", "--json", dsn=dsn).home
    yield "do", unstick("do", *words, "--dry-run", dsn=dsn)
    done = unstick("do", *words, "--yes", dsn=dsn, home=home)
    yield "do", done
    yield "undo", unstick("undo", done.json["entries"][0], "-r", "test", "--yes", "--json", dsn=dsn, home=home)
    ((step,),) = fetch(dsn, FAILED)
    edit = ("edit", f"tasker/step:{step}", "-r", "test", "--input", "-", "--dry-run", "--json")
    edited = unstick("do", *edit, dsn=dsn, home=home, piped='{"step": 1, "new": 2}')
    assert len(edited.json["edit"]["marks"]) == 2
    yield "do", edited
    yield "audit", unstick("audit", "--json", dsn=dsn, home=home)
    yield "changed", unstick("changed", "--since", "1h", "--json", dsn=dsn, home=home)
    entry = unstick("audit", "--json", dsn=dsn, home=home).json["entries"][0]["id"]
    yield "undo", unstick("undo", entry, "-r", "test", "--dry-run", "--json", dsn=dsn, home=home)
    assert unstick("init", "--yes", dsn=dsn).code == 0
    yield "audit", unstick("audit", "--verify", "--json", dsn=dsn, home=home)
    yield "redrive", unstick("redrive", "--list", "--json", dsn=dsn)
    yield "runs", unstick("runs", "--json", dsn=dsn)


def test_answers_are_as_described(demo: str) -> None:
    seen = set()
    for command, answer in answers(demo):
        assert answer.json["format"] == output.FORMAT, command
        assert problems(command, answer) == [], command
        seen.add(command)
    assert seen | IN_WATCH_TESTS == set(ANSWERS) == set(commands.unstick.commands) - WITHOUT_JSON


def test_infinity_is_described() -> None:
    node = {"engine": "a", "id": "a/b:c", "kind": "b", "title": "", "phase": "done", "version": "1"}
    page = {"nodes": [{**node, "due_at": "infinity"}], "at": 1.5, "complete": True, "format": 1}
    assert list(Draft202012Validator(schema(["tree"])).iter_errors(page)) == []
    page["nodes"] = [{**node, "due_at": "soon"}]
    assert list(Draft202012Validator(schema(["tree"])).iter_errors(page))
    assert list(Draft202012Validator(schema(["tree"])).iter_errors({"nodes": [], "at": 1.5}))


@pytest.mark.parametrize("words", [[], ["stuck"], ["do"]])
def test_the_schema_is_valid(words: list[str]) -> None:
    answer = unstick("schema", *words)
    assert (answer.code, answer.err) == (0, "")
    Draft202012Validator.check_schema(answer.json)
    assert {shape["title"] for shape in answer.json["anyOf"]} == {f"unstick {name} --json" for name in words or ANSWERS}


def test_a_command_without_json() -> None:
    answer = unstick("schema", "demo")
    assert (answer.code, answer.out) == (2, "")
    assert "engines, tree" in answer.err
