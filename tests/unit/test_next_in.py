"""Range of when a node is next, from reads of its queue."""

from __future__ import annotations

import pytest

from console.text import spans
from console.text.views import why as view
from queries.claim.answers import Condition, Why
from queries.claim.reader import timed


def queue(first: int, last: int = 60) -> list[str]:
    return [str(number) for number in range(first, last + 1)]


@pytest.mark.parametrize(
    ("before", "reads", "next_in"),
    [
        (30, [queue(0), queue(10), queue(30)], (30 / 2.1, 30 / 0.9)),
        (50, [queue(0), queue(0), queue(10)], (50 / 1.1, None)),  # as slow as nothing
        (58, [queue(0), queue(1), queue(2)], (58 / 0.2, None)),  # one more or less would make all the difference
        (60, [queue(0), queue(0), queue(0)], (None, None)),
        (51, [queue(10), ["urgent", *queue(10)], ["urgent", *queue(10)]], (None, None)),
        (20, [queue(0), [*queue(0, 9), "urgent", *queue(20)], queue(40)], (20 / 3.2, 20 / 0.8)),
        (1000, [queue(0, 999), queue(101, 1100)], (1000 / 10.2, None)),  # there are more that come first
        (1000, [queue(0, 999), queue(5000, 5999)], (0, None)),  # faster than could be followed
    ],
)
def test_the_range_is_of_the_lowest_and_the_highest_rate(
    before: int, reads: list[list[str]], next_in: tuple[float | None, float | None]
) -> None:
    why = Why(node_id="60", queue="q", conditions=(), before=before, at_least=before == 1000)
    found = timed(why, [(10.0 * n, ids) for n, ids in enumerate(reads)]).next_in
    assert found == tuple(None if each is None else pytest.approx(each) for each in next_in)


@pytest.mark.parametrize(("holds", "said"), [(True, "would take it: 3"), (None, "would take it, if one serves it: 3")])
def test_a_worker_that_is_not_known_may_not_serve_the_node(holds: bool | None, said: str) -> None:
    worker = Condition(name="worker", holds=holds, shows="")
    found = view.lines([Why(node_id="60", queue="q", conditions=(worker,), before=3)], [], {}, 100, 0.0)
    assert f"A worker {said} of its queue come first." in "\n".join(map(spans.text, found))
