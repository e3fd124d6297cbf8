"""``do`` on a filter, on a group of dead letters, on ids from stdin, with a limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import Answer, fetch, unstick
from tests.servers import PostgresServer

EMPTY, STALE_OR_SKIPPED = 6, 3
FILL = """
INSERT INTO job SELECT gen_random_uuid(), now() - interval '1 day', NULL, '' FROM generate_series(1, {n});
INSERT INTO task SELECT gen_random_uuid(), job_id, '{kind}', 1, now() - interval '1 day', NULL, 3, '{status}', '1 s',
  '2 s', '', NULL FROM job j WHERE NOT EXISTS (SELECT FROM task t WHERE t.job_id = j.job_id);
INSERT INTO task_timer SELECT now() - interval '1 hour', task_id FROM task t
 WHERE status = 'Blocked' AND NOT EXISTS (SELECT FROM task_timer m WHERE m.task_id = t.task_id);
"""
BLOCKED = "SELECT 'eternaltwin/task:' || task_id FROM task WHERE status = 'Blocked' ORDER BY 1"

Fill = Callable[..., None]


@pytest.fixture
def fill(server: PostgresServer, eternaltwin: str) -> Fill:
    """Add ``n`` jobs, each with one task of a kind."""

    def fill(n: int, kind: str = "SendEmail", status: str = "Blocked") -> None:
        server.sql(FILL.format(n=n, kind=kind, status=status), eternaltwin)

    return fill


@pytest.fixture
def tasker(server: PostgresServer) -> Iterator[str]:
    """DSN of a database with the demo's dead letters of tasker."""
    dsn = server.fresh("tasker", filled=True)
    yield dsn
    server.drop(dsn)


def wake(dsn: str, *words: str, **more: Any) -> Answer:
    return unstick("do", "wake", *words, "-r", "test", "--json", dsn=dsn, **more)


def changed(answer: Answer) -> set[str]:
    """Return the nodes that were changed."""
    assert answer.out, answer.err
    return {result["id"] for result in answer.json["results"] if result["outcome"] == "changed"}


def blocked(dsn: str) -> set[str]:
    return {row[0] for row in fetch(dsn, BLOCKED)}


# A filter


def test_a_filter_selects_the_kinds_of_the_action(eternaltwin: str, fill: Fill) -> None:
    fill(3)
    fill(2, "Rare")
    fill(2, "Rare", "Complete")
    before = blocked(eternaltwin)
    assert len(before) == 5
    dry = wake(eternaltwin, "--filter", "status:blocked Rare", "--dry-run")
    assert (dry.code, len(changed(dry))) == (0, 2)
    old = wake(eternaltwin, "--filter", "age:>1h", "--dry-run")
    assert {result["id"].split(":")[0] for result in old.json["results"]} == {"eternaltwin/task"}, (
        "wake is not for jobs"
    )
    answer = wake(eternaltwin, "--filter", "status:blocked", "--filter", "Rare", "--yes")
    assert (answer.code, changed(answer)) == (0, changed(dry))
    assert blocked(eternaltwin) == before - changed(dry)


def test_a_filter_by_finding(eternaltwin: str, fill: Fill) -> None:
    fill(3)
    answer = wake(eternaltwin, "--filter", "finding:overdue_timer", "--yes")
    assert (answer.code, len(changed(answer)), blocked(eternaltwin)) == (0, 3, set())


def test_an_empty_selection_has_its_own_exit_code(eternaltwin: str, fill: Fill) -> None:
    fill(1)
    for words in (["--filter", "no-such-word"], ["--filter", "finding:lost_wakeup"], ["--filter", "engine:tasker"]):
        answer = wake(eternaltwin, *words, "--yes")
        assert (answer.code, answer.json["results"], answer.json["at"]) == (EMPTY, [], None), words
        assert "Nothing was changed" in answer.err
    assert len(blocked(eternaltwin)) == 1


def test_it_is_refused_if_not_everything_was_looked_at(
    eternaltwin: str, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(8)
    monkeypatch.setattr("console.model.selection.COMPARED_NODES", 4)
    monkeypatch.setattr("console.model.selection.NODES_AT_ONCE", 2)
    answer = wake(eternaltwin, "--filter", "status:blocked", "--yes")
    assert (answer.code, answer.json["results"]) == (1, [])
    assert "Not everything was looked at" in answer.err
    assert wake(eternaltwin, "--filter", "finding:spinning", "--yes").code == 1
    monkeypatch.setattr("console.model.selection.SELECTED_FINDING_NODES", 4)
    assert wake(eternaltwin, "--filter", "finding:overdue_timer", "--yes").code == 1
    assert len(blocked(eternaltwin)) == 8
    limited = wake(eternaltwin, "--filter", "finding:overdue_timer", "--limit", "3", "--yes")
    assert (limited.code, len(changed(limited))) == (0, 3)


def test_a_limit(eternaltwin: str, fill: Fill) -> None:
    fill(5)
    answer = wake(eternaltwin, "--filter", "status:blocked", "--limit", "2", "--yes")
    assert (answer.code, len(changed(answer)), len(blocked(eternaltwin))) == (0, 2, 3)


def test_with_a_limit_unfinished_nodes_are_compared_first(
    server: PostgresServer, eternaltwin: str, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(20, status="Complete")
    fill(2)
    monkeypatch.setattr("console.model.selection.COMPARED_NODES", 10)
    monkeypatch.setattr("console.model.selection.NODES_AT_ONCE", 2)
    answer = wake(eternaltwin, "--filter", "status:blocked", "--limit", "2", "--dry-run")
    assert (answer.code, len(changed(answer))) == (0, 2)
    assert wake(eternaltwin, "--filter", "status:blocked", "--limit", "3", "--dry-run").code == 1


def test_live_nodes_do_not_hide_what_is_below_them(tasker: str) -> None:
    """A job that was compared as unfinished still leads to its steps."""
    found = unstick("tree", "--json", "--depth", "9", "--limit", "1000", dsn=tasker).json["nodes"]
    kinds = {node["kind"] for node in found}
    assert len(kinds) > 1
    words = ["-r", "test", "--json", "--dry-run", "--filter", "age:>0s", "--limit", "9999"]
    selected = unstick("do", "retry", *words, dsn=tasker).json["versions"]
    assert selected.keys() >= {node["id"] for node in found if node["kind"] == "step" and node["created_at"]}


def test_a_saved_filter(eternaltwin: str, fill: Fill, tmp_path: Path) -> None:
    fill(1)
    fill(2, "Rare")
    settings = tmp_path / "config.toml"
    settings.write_text('[filters]\nrare = "Rare status:blocked"\n')
    answer = wake(eternaltwin, "--filter", "@rare", "--dry-run", "--config", str(settings))
    assert (answer.code, len(changed(answer))) == (0, 2)
    shown = unstick("tree", "--filter", "@rare", "--json", "--config", str(settings), dsn=eternaltwin).json["nodes"]
    assert len([node for node in shown if node["kind"] == "task"]) == 2


def test_a_filter_names_engines(eternaltwin: str, fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(1)
    for named in ("engine:eternal", "engine:ETERNALTWIN", "engine:=eternaltwin", "engine:tasker,eternaltwin"):
        assert wake(eternaltwin, "--filter", f"status:blocked {named}", "--dry-run").code == 0, named
    monkeypatch.setattr("console.model.selection.COMPARED_NODES", 0)  # what is not read is not missing
    for named in ("engine:tasker", "engine:=eternal"):
        assert wake(eternaltwin, "--filter", f"status:blocked {named}", "--dry-run").code == EMPTY, named
        assert unstick("tree", "--filter", named, "--json", dsn=eternaltwin).json["complete"]


# Ids on stdin


def test_ids_on_stdin(eternaltwin: str, fill: Fill) -> None:
    fill(4)
    first, second, *_ = sorted(blocked(eternaltwin))
    answer = wake(eternaltwin, "-", "--yes", piped=f"{first}\n\n{second}\n{first}\n")
    assert (answer.code, changed(answer)) == (0, {first, second})
    answer = wake(eternaltwin, "-", "--limit", "1", "--yes", piped="\n".join(sorted(blocked(eternaltwin))))
    assert (answer.code, len(changed(answer))) == (0, 1)
    assert "1 of 2" in answer.err
    assert wake(eternaltwin, "-", "--yes", piped="\n").code == EMPTY
    assert wake(eternaltwin, "-", piped=blocked(eternaltwin).pop()).code == 2, "there is no terminal to confirm at"


# A group of dead letters


def test_a_group_of_dead_letters(tasker: str) -> None:
    groups = unstick("dead", "--json", dsn=tasker).json["dead"][0]["groups"]
    assert len({group["key"] for group in groups}) == len(groups)
    words = ["-r", "test", "--arg", "status=permanently_failed", "--json", "--yes"]
    dead = unstick("dead", "--json", dsn=tasker).json["dead"][0]["dead_letters"]
    group = next(
        g
        for g in groups
        if any(d["fingerprint"] == g["fingerprint"] and "/dead_letter:" in d["node"]["id"] for d in dead)
    )
    members = {d["node"]["id"] for d in dead if d["fingerprint"] == group["fingerprint"]}
    answer = unstick("do", "resolve", "--group", group["key"], *words, dsn=tasker)
    assert changed(answer) == {node for node in members if "/dead_letter:" in node}
    again = unstick("do", "resolve", "--group", group["key"], *words, dsn=tasker)
    assert again.code == (EMPTY if changed(answer) == members else STALE_OR_SKIPPED)
    assert unstick("do", "resolve", "--group", "tasker/dead:00000000", *words, dsn=tasker).code == EMPTY


# Words that exclude each other


@pytest.mark.parametrize(
    "words",
    [
        ["a/b:c", "--filter", "x"],
        ["--group", "a/dead:1", "--filter", "x"],
        ["--incident", "a/b", "-"],
        ["--filter", "x", "--guard", "3:y"],
        ["--filter", ""],
        ["--filter", "colour:red"],
        ["a/b:c", "--engine", "tasker"],
        ["--limit", "3"],
    ],
)
def test_one_selection_only(eternaltwin: str, words: list[str]) -> None:
    answer = wake(eternaltwin, *words, "--yes")
    assert (answer.code, answer.out) == (2, "")


def test_an_unknown_action_with_a_filter(eternaltwin: str) -> None:
    answer = unstick("do", "wkae", "--filter", "status:blocked", "-r", "x", "--yes", dsn=eternaltwin)
    assert answer.code == 2
    assert "wake" in answer.err


def test_the_group_key_is_printed(tasker: str) -> None:
    text = unstick("dead", dsn=tasker).out
    assert all(
        group["key"] in text for group in json.loads(unstick("dead", "--json", dsn=tasker).out)["dead"][0]["groups"]
    )
