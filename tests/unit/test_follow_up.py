"""Messages about nodes after a commit, from the reads that follow."""

from __future__ import annotations

import msgspec
import pytest

from console.model.follow_up import FollowUp
from queries.records.node import Node, Phase


def node(phase: Phase = Phase.READY, version: str = "1", **rest: object) -> Node:
    fields = {"engine": "e", "id": "e/task:1", "kind": "task", "title": "t", "phase": phase, "version": version}
    return msgspec.convert({**fields, **rest}, Node)


class Watch:
    """A watched node, and a clock."""

    def __init__(self, before: Phase = Phase.BLOCKED, timeout: float = 60.0) -> None:
        self.at = 0.0
        self.follow = FollowUp([node(before)], lambda: self.at, timeout)

    def read(self, at: float, *nodes: Node) -> str:
        self.at = at
        self.follow.put({each.id: each for each in nodes}, at)
        return self.follow.summary


def test_a_worker_takes_the_node() -> None:
    watch = Watch()
    assert "not taken yet" in watch.read(1, node())
    assert watch.follow.active
    assert watch.read(12, node(Phase.RUNNING, "2", owner="worker-3")) == "taken by worker-3 after 12s"
    assert not watch.follow.active


@pytest.mark.parametrize(
    ("later", "says"),
    [
        ([node(Phase.DONE, "2")], "done after 3s"),
        ([node(Phase.READY, "2")], "processed after 3s"),
        ([], "no longer there after 3s"),
    ],
)
def test_a_node_that_goes_on_between_two_reads(later: list[Node], says: str) -> None:
    watch = Watch()
    watch.read(1, node())
    assert watch.read(3, *later) == says


@pytest.mark.parametrize("phase", [Phase.DONE, Phase.HELD, Phase.BLOCKED, Phase.CANCELLED])
def test_nothing_is_expected_of_a_node_at_rest(phase: Phase) -> None:
    watch = Watch()
    assert watch.read(1, node(phase)) == f"now {phase}"
    assert not watch.follow.active


def test_a_node_that_was_running_before_was_not_taken() -> None:
    assert Watch(Phase.RUNNING).read(1, node(Phase.RUNNING)) == "now running"


def test_a_node_that_is_due_after_the_watch_is_not_waited_for() -> None:
    watch = Watch()
    assert "due" in watch.read(1, node(Phase.SCHEDULED, due_at=3600.0))
    assert not watch.follow.active


def test_the_watch_has_an_end() -> None:
    watch = Watch(timeout=60)
    watch.read(1, node())
    assert "not taken within 1m00s" in watch.read(61, node())
    assert not watch.follow.active


def test_the_watch_can_be_stopped() -> None:
    watch = Watch()
    watch.read(5, node())
    watch.follow.stop()
    watch.at = 50
    assert not watch.follow.active
    assert "not taken within 5s" in watch.follow.summary
