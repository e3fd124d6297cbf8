"""``changed``: text and JSON of what the engines and the operators changed."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from console.text.views.changes import counts
from queries.records.change import Changes, NodeChange
from tests.command import unstick
from tests.servers import PostgresServer


def test_the_list_has_engines_and_operators(eternaltwin_demo: str, tmp_path: Path) -> None:
    nodes = unstick("tree", "--json", dsn=eternaltwin_demo, home=tmp_path).json["nodes"]
    job = next(n for n in nodes if n["kind"] == "job" and n["phase"] not in ("done", "cancelled", "unknown"))
    done = unstick("do", "cancel", job["id"], "--reason", "a test", "--yes", dsn=eternaltwin_demo, home=tmp_path)
    assert done.code == 0, done.err
    answer = unstick("changed", dsn=eternaltwin_demo, home=tmp_path)
    assert answer.code == 0
    engine, operators, heading, first, *others = answer.out.splitlines()
    assert re.fullmatch(r"eternaltwin: \d+ created", engine)
    assert operators == "eternaltwin, by operators: 1 cancel"
    assert heading.split() == ["time", "engine", "change", "status", "title", "id", "by", "role", "reason"]
    assert job["id"] in first
    assert "a test" in first
    assert "created" in others[0]
    assert not any("polled" in line for line in others)
    assert re.search(r"Not shown, of the newest: \d+ polled of eternaltwin\. --all shows them\.", answer.err)
    assert "eternaltwin: recorded:" in answer.err
    whole = unstick("changed", "--json", "--since", "10m", dsn=eternaltwin_demo, home=tmp_path)
    assert whole.json["format"] == 1
    changes = msgspec.json.decode(whole.out, type=Changes)
    assert [c.entry is not None for c in changes.changes[:2]] == [True, False]
    assert changes.at - changes.since == pytest.approx(600)
    assert [source.name for source in changes.sources] == ["eternaltwin", "audit log"]


def test_a_long_list_is_capped_and_continues(eternaltwin_demo: str) -> None:
    first = unstick("changed", "--all", "--limit", "5", dsn=eternaltwin_demo)
    assert (first.code, len(first.out.splitlines())) == (0, 7)
    counted = re.match(r"eternaltwin: (\d+) polled, (\d+) created\n", first.out)
    assert counted is not None, "all of the window are counted, not only the five that are listed"
    assert int(counted[1]) > 200
    capped = unstick("changed", "--all", "--limit", "5", "--json", dsn=eternaltwin_demo).json
    assert capped["capped"]
    assert "Capped" in first.err
    more = ("--after", capped["cursor"], "--json")
    after = unstick("changed", "--all", "--limit", "5", *more, dsn=eternaltwin_demo).json
    assert after["since"] == capped["since"]
    assert not {c["id"] for c in after["changes"]} & {c["id"] for c in capped["changes"]}


def test_a_filter_leaves_what_matches(eternaltwin_demo: str, tmp_path: Path) -> None:
    every = unstick("changed", "--all", "--json", dsn=eternaltwin_demo, home=tmp_path).json["changes"]
    created = [change["id"] for change in every if change["what"] == "created"]
    assert 0 < len(created) < len(every)
    answer = unstick("changed", "--all", "--filter", "!change:polled", "--json", dsn=eternaltwin_demo, home=tmp_path)
    assert [change["id"] for change in answer.json["changes"]] == [c["id"] for c in every if c["what"] != "polled"]
    text = unstick("changed", "--all", "--filter", "change:created age:<10m", dsn=eternaltwin_demo, home=tmp_path)
    assert re.match(r"eternaltwin: \d+ created\n", text.out)
    assert f"{len(created)} of the {len(every)} changes that were read match the filter." in text.err
    none = unstick("changed", "--all", "--filter", "change:no_such", dsn=eternaltwin_demo, home=tmp_path)
    assert (none.code, none.out) == (0, "")
    assert f"0 of the {len(every)} changes that were read match the filter." in none.err


def test_what_scans_a_large_table_is_left_until_asked_for(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    dsn = server.fresh("agent_jobs", filled=True)
    server.sql("UPDATE jobs SET updated_at = now() WHERE id IN (SELECT id FROM jobs LIMIT 3); ANALYZE jobs", dsn)
    answer = unstick("changed", dsn=dsn)
    assert (answer.code, answer.out) == (0, "")
    assert re.search(
        r"agent_jobs: not searched\.\n.*\(CREATE INDEX .*\)\. --allow-scan reads it with a scan of about \d+ kB\.",
        answer.err,
    )
    assert "No change was recorded in what was searched since" in answer.err
    scanned = unstick("changed", "--allow-scan", dsn=dsn)
    assert re.match(r"agent_jobs: .*\d+ ", scanned.out)
    assert len(scanned.out.splitlines()) >= 2 + 3
    assert "scan" not in scanned.err
    server.drop(dsn)


WRONG = [(["--since", "noon"], 2), (["--limit", "0"], 2), (["--after", "x"], 2), (["--filter", "change:>3"], 2)]


@pytest.mark.parametrize(("words", "code"), WRONG)
def test_a_wrong_argument_is_refused(eternaltwin: str, words: list[str], code: int) -> None:
    answer = unstick("changed", *words, dsn=eternaltwin)
    assert (answer.code, answer.out) == (code, "")


def test_nothing_changed(eternaltwin: str) -> None:
    answer = unstick("changed", dsn=eternaltwin)
    assert (answer.code, answer.out) == (0, "")
    assert "No change was recorded" in answer.err


def test_changes_are_counted_by_the_status_that_they_lead_to() -> None:
    of = {"at": 0.0, "engine": "tasker", "id": "tasker/step:1", "what": "transition"}
    read = [
        NodeChange(**of, new="pending"),
        *(NodeChange(**of, old="in_progress", new=new) for new in ("error", "error")),
    ]
    assert [line[1][0] for line in counts(read, capped=True)] == ["at least 2 → error, 1 transition"]
