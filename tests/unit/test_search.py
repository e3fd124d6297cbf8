"""Ids in a text, however it is written, and the node that a search is certain of."""

from __future__ import annotations

from typing import Any, cast

import pytest

from queries.read.reader import Reader
from queries.read.search import MOST_IDS, SEARCH_CHARACTERS, only, sought
from queries.records.node import Hit, Hits, Match, Node, Phase

UUID = "019b7591-1100-7000-8000-00000000000a"
MAC = "16:ba:2a:e3:8c:00:04:0f"


class Engine:
    """An engine with two kinds of nodes."""

    @property
    def ids(self) -> Engine:
        return self

    def owns(self, node_id: str) -> bool:
        return node_id.startswith(("shop/task:", "shop/group:"))


READERS = (cast(Reader, Engine()),)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (UUID, [UUID]),
        (f"  {UUID}\n", [UUID]),
        (f'"{UUID}",', [UUID]),
        (f"https://ops.example/tasks/{UUID}?tab=log#top", [UUID]),
        (f"2026-11-22T10:00:00Z ERROR task={UUID} timed out", [UUID]),
        (f"task {UUID.upper()}: failed", [UUID.upper()]),
        (UUID.replace("-", ""), [UUID.replace("-", "")]),
        (f"trace {UUID.replace('-', '')} ended", [UUID.replace("-", "")]),
        (f"task_id={MAC} overdue", [MAC]),
        (f"at {MAC.replace(':', '-')}.", [MAC.replace(":", "-")]),
        (f"shop/task:{UUID}", [f"shop/task:{UUID}"]),
        ("shop/group:none|two words", ["shop/group:none|two words"]),
        (f"see shop/task:{UUID}, please", [f"shop/task:{UUID}"]),
        (f"other/task:{UUID}", [UUID]),
        ("task=4711 failed", ["task:4711"]),
        ("job_id: 42, retry", ["job:42"]),
        ('{"jobId": "42", "level": 30}', ["job:42"]),
        ("id=42", ["42"]),
        ("https://ops.example/jobs/123/log", ["job:123"]),
        ("job #9 of 10 failed", ["job:9"]),
        ("pid=99 uid=1 job 7 of shard 3", ["job:7"]),
        ("job=7 job=7 task=8", ["job:7", "task:8"]),
        ("Starting job send[6]()", ["job:6"]),
        ("Job app.mail.send[6](to='a') ended with status: Error", ["job:6"]),
        ("postgres[77] job worker[12 of 3", ["postgres[77] job worker[12 of 3"]),
        ("Dispatched entrypoint/id: send/42", ["42"]),
        ("step build/2 failed", ["step build/2 failed"]),
        ("705d", ["705d"]),
        ("4711", ["4711"]),
        ("refund failed", ["refund failed"]),
    ],
)
def test_ids_are_taken_out_of_a_text(text: str, ids: list[str]) -> None:
    wanted = sought(text, READERS)
    assert list(wanted.ids) == ids
    assert wanted.exact == (ids != [" ".join(text.split()).strip('",')] or text.startswith("shop/"))


def test_a_text_with_many_ids_is_cut_and_said_so() -> None:
    wanted = sought(" ".join(f"task={n}" for n in range(MOST_IDS + 1)), READERS)
    assert (len(wanted.ids), wanted.capped) == (MOST_IDS, True)
    assert not sought(" ".join(f"task={n}" for n in range(MOST_IDS)), READERS).capped


def test_a_long_text_is_searched_for_its_ids_only() -> None:
    wanted = sought(f"task={UUID} " + "x" * SEARCH_CHARACTERS, READERS)
    assert (wanted.ids, wanted.text, bool(wanted.unsearched)) == ((UUID,), "", True)
    wanted = sought(f"task={UUID} failed", READERS)
    assert (wanted.text, wanted.unsearched) == (f"task={UUID} failed", "")


def found(*matches: Match, engine: str = "shop") -> Hits:
    def node(number: int) -> Node:
        values: dict[str, Any] = {"engine": engine, "kind": "task", "title": "t", "version": "1"}
        return Node(id=f"{engine}/task:{number}", phase=Phase.READY, **values)

    return Hits(engine=engine, hits=tuple(Hit(node=node(n), matched=m) for n, m in enumerate(matches)))


def test_one_node_with_that_id_is_certain() -> None:
    for answers, sure in (
        ([found(Match.ID, Match.REFERENCE, Match.PAYLOAD), found(Match.ERROR, engine="b")], "shop/task:0"),
        ([found(Match.REFERENCE), found(Match.BEGINNING, engine="b")], "shop/task:0"),
        ([found(Match.BEGINNING)], "shop/task:0"),
        ([found(Match.ID), found(Match.ID, engine="b")], None),
        ([found(Match.BEGINNING, Match.BEGINNING)], None),
        ([found(Match.TITLE)], None),
        ([], None),
    ):
        node = only(answers)
        assert (node.id if node else None) == sure
