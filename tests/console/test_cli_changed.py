"""``changed``: text and JSON of what the engines and the operators changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from queries.records.change import Changes
from tests.command import unstick


def test_the_list_has_engines_and_operators(eternaltwin_demo: str, tmp_path: Path) -> None:
    nodes = unstick("tree", "--json", dsn=eternaltwin_demo, home=tmp_path).json["nodes"]
    job = next(n for n in nodes if n["kind"] == "job" and n["phase"] not in ("done", "cancelled"))
    done = unstick("do", "cancel", job["id"], "--reason", "a test", "--yes", dsn=eternaltwin_demo, home=tmp_path)
    assert done.code == 0, done.err
    answer = unstick("changed", dsn=eternaltwin_demo, home=tmp_path)
    assert answer.code == 0
    heading, first, *others = answer.out.splitlines()
    assert heading.split() == ["time", "engine", "change", "status", "title", "id", "by", "role", "reason"]
    assert job["id"] in first
    assert "a test" in first
    assert "polled" in others[0]
    assert "eternaltwin: recorded:" in answer.err
    whole = unstick("changed", "--json", "--since", "10m", dsn=eternaltwin_demo, home=tmp_path)
    assert whole.json["format"] == 1
    changes = msgspec.json.decode(whole.out, type=Changes)
    assert [c.entry is not None for c in changes.changes[:2]] == [True, False]
    assert changes.at - changes.since == pytest.approx(600)
    assert [source.name for source in changes.sources] == ["eternaltwin", "audit log"]


def test_a_long_list_is_capped_and_continues(eternaltwin_demo: str) -> None:
    first = unstick("changed", "--limit", "5", dsn=eternaltwin_demo)
    assert (first.code, len(first.out.splitlines())) == (0, 6)
    capped = unstick("changed", "--limit", "5", "--json", dsn=eternaltwin_demo).json
    assert capped["capped"]
    assert "Capped" in first.err
    after = unstick("changed", "--limit", "5", "--after", capped["cursor"], "--json", dsn=eternaltwin_demo).json
    assert after["since"] == capped["since"]
    assert not {c["id"] for c in after["changes"]} & {c["id"] for c in capped["changes"]}


@pytest.mark.parametrize(("words", "code"), [(["--since", "noon"], 2), (["--limit", "0"], 2), (["--after", "x"], 2)])
def test_a_wrong_argument_is_refused(eternaltwin: str, words: list[str], code: int) -> None:
    answer = unstick("changed", *words, dsn=eternaltwin)
    assert (answer.code, answer.out) == (code, "")


def test_nothing_changed(eternaltwin: str) -> None:
    answer = unstick("changed", dsn=eternaltwin)
    assert (answer.code, answer.out) == (0, "")
    assert "No change was recorded" in answer.err
