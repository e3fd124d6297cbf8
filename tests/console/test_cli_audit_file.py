"""Local audit file: visible entries, damage, and an unreadable table."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from queries.log import audit_log
from tests.command import ROOT, Answer, environment, unstick
from tests.servers import PostgresServer


def act(dsn: str, home: Path, *more: str) -> Answer:
    """Cancel the first job that can be cancelled."""
    nodes = unstick("tree", "--json", dsn=dsn, home=home).json["nodes"]
    jobs = [n["id"] for n in nodes if n["kind"] == "job" and n["phase"] not in ("done", "cancelled", "unknown")]
    answer = unstick("do", "cancel", jobs[0], "--reason", "test", "--yes", *more, dsn=dsn, home=home)
    assert answer.code == 0, answer.err
    return answer


def entries(dsn: str, home: Path, *more: str) -> list[dict[str, object]]:
    answer = unstick("audit", "--json", *more, dsn=dsn, home=home)
    assert answer.code == 0
    found: list[dict[str, object]] = answer.json["entries"]
    return found


def lines(home: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (home / "state" / "unstick" / "audit_log.jsonl").read_text().splitlines()]


def test_entries_are_those_of_the_database_that_is_open(
    server: PostgresServer, eternaltwin_demo: str, tmp_path: Path
) -> None:
    act(eternaltwin_demo, tmp_path)
    (own,) = entries(eternaltwin_demo, tmp_path)
    assert entries(eternaltwin_demo, tmp_path, str(own["id"])) == [own], "by its own id, with its rows"
    assert own["origin"]["database"] == eternaltwin_demo.rpartition("/")[2]  # type: ignore[index]
    assert {"host", "port", "system_identifier", "context"} <= own["origin"].keys()  # type: ignore[attr-defined]
    node = own["results"][0]["id"]  # type: ignore[index]
    copy = server.fresh("eternaltwin", filled=True)  # the same ids: the demo's data are made from the same seed
    try:
        assert entries(copy, tmp_path) == []
        assert unstick("audit", str(own["id"]), dsn=copy, home=tmp_path).code == 3
        assert entries(copy, tmp_path, node) == []
        assert "What was done" not in unstick("show", node, dsn=copy, home=tmp_path).out
        act(copy, tmp_path)
        assert len(entries(copy, tmp_path)) == 1
    finally:
        server.drop(copy)
    assert len(entries(eternaltwin_demo, tmp_path)) == 1


def test_the_same_database_under_another_address_has_its_entries(eternaltwin_demo: str, tmp_path: Path) -> None:
    act(eternaltwin_demo, tmp_path)
    path = tmp_path / "state" / "unstick" / "audit_log.jsonl"
    stale = [line | {"origin": line["origin"] | {"host": "10.9.8.7", "port": 1}} for line in lines(tmp_path)]  # type: ignore[operator]
    path.write_text("".join(json.dumps(line) + "\n" for line in stale))
    assert len(entries(eternaltwin_demo, tmp_path)) == 1
    unknown = [line | {"origin": line["origin"] | {"system_identifier": ""}} for line in stale]
    path.write_text("".join(json.dumps(line) + "\n" for line in unknown))
    assert entries(eternaltwin_demo, tmp_path) == []
    others = [{k: v for k, v in line.items() if k != "origin"} for line in stale]
    path.write_text("".join(json.dumps(line) + "\n" for line in others))
    assert entries(eternaltwin_demo, tmp_path) == []


def test_the_context_is_noted(eternaltwin_demo: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[contexts.prod]\ndsn = {json.dumps(eternaltwin_demo)}\n")
    nodes = unstick("tree", "--json", dsn=eternaltwin_demo, home=tmp_path).json["nodes"]
    node = next(node["id"] for node in nodes if node["phase"] not in ("done", "cancelled", "unknown"))
    done = unstick("do", "cancel", node, "--reason", "x", "--yes", "@prod", home=tmp_path, UNSTICK_CONFIG=str(config))
    assert done.code == 0, done.err
    assert {line["origin"]["context"] for line in lines(tmp_path)} == {"prod"}  # type: ignore[index]


def test_a_full_disk_stops_the_change_and_swallows_no_later_line(eternaltwin_demo: str, tmp_path: Path) -> None:
    act(eternaltwin_demo, tmp_path)
    path = tmp_path / "state" / "unstick" / "audit_log.jsonl"
    size = path.stat().st_size + 20  # of any file of the next command
    nodes = unstick("tree", "--json", dsn=eternaltwin_demo, home=tmp_path).json["nodes"]
    node = next(n["id"] for n in nodes if n["kind"] == "job" and n["phase"] == "blocked")
    command = [sys.executable, "-m", "console", "do", "cancel", node, "-r", "x", "--yes", "-d", eternaltwin_demo]
    full = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    assert (full.returncode, "audit_log.jsonl cannot be used: " in full.stdout) == (3, True), full.stdout + full.stderr
    again = unstick("tree", "--json", dsn=eternaltwin_demo, home=tmp_path).json["nodes"]
    assert [n for n in again if n["id"] == node] == [n for n in nodes if n["id"] == node]
    act(eternaltwin_demo, tmp_path)
    _, _, torn, *after = path.read_text().splitlines()
    assert len(torn) == 20
    assert [json.loads(line)["intended"] for line in after] == [True, False]
    assert len(entries(eternaltwin_demo, tmp_path)) == 2


def test_a_file_that_another_user_may_have_chosen_lets_nothing_be_changed(
    eternaltwin_demo: str, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_text("")
    folder = tmp_path / "state" / "unstick"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "audit_log.jsonl").symlink_to(other)
    node = unstick("tree", "--json", dsn=eternaltwin_demo, home=tmp_path).json["nodes"][0]["id"]
    done = unstick("do", "cancel", node, "--reason", "x", "--yes", "--json", dsn=eternaltwin_demo, home=tmp_path)
    assert done.code == 3
    assert {result["outcome"] for result in done.json["results"]} == {"refused"}
    assert other.read_text() == ""
    assert unstick("audit", dsn=eternaltwin_demo, home=tmp_path).code == 1
    shown = unstick("show", node, dsn=eternaltwin_demo, home=tmp_path)
    assert (shown.code, "symbolic link" in shown.out) == (0, True)


@pytest.mark.parametrize("may", ["", "USAGE ON SCHEMA unstick", "INSERT ON unstick.audit_log"])
def test_a_table_that_may_not_be_read_is_not_an_empty_one(
    server: PostgresServer, eternaltwin_demo: str, tmp_path: Path, may: str
) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    act(eternaltwin_demo, tmp_path)
    role = server.unique("viewer")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT ON job, task, task_timer TO {role}", eternaltwin_demo)
    if may:
        server.sql(f"GRANT {may} TO {role}", eternaltwin_demo)
    viewer = server.dsn(eternaltwin_demo.rpartition("/")[2], user=role, password="x")
    try:
        answer = unstick("audit", dsn=viewer, home=tmp_path)
        assert answer.code == 1
        assert role in answer.err
        assert "no entries" not in answer.err
        found = unstick("audit", "--json", dsn=viewer, home=tmp_path)
        assert (found.code, found.json["entries"], bool(found.json["unreadable"])) == (1, [], True)
        for name in ("1", "b0000000a"):
            one = unstick("audit", name, dsn=viewer, home=tmp_path)
            assert (one.code, one.out, role in one.err, "no entry" in one.err) == (1, "", True, False)
        node = unstick("tree", "--json", dsn=viewer).json["nodes"][0]["id"]
        assert "may not read" in unstick("show", node, dsn=viewer).out
    finally:
        server.sql(f"DROP OWNED BY {role}", eternaltwin_demo)
        server.sql(f"DROP ROLE {role}")


def test_what_is_no_cursor_is_a_wrong_word(server: PostgresServer, eternaltwin_demo: str, tmp_path: Path) -> None:
    for _ in range(2):
        for cursor in ("garbage", "99999999999999999999999", "1;", ""):
            answer = unstick("audit", "--after", cursor, dsn=eternaltwin_demo, home=tmp_path)
            assert answer.code == 2, answer
            assert "22P02" not in answer.err
        server.sql(audit_log.ddl(), eternaltwin_demo)
