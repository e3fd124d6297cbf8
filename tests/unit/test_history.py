"""History of pages: back, forward, and what a return is."""

from __future__ import annotations

from console.model.history import PLACES_KEPT, History, Place

STUCK, NODE, TREE, OTHER = Place("stuck"), Place("stuck", "node 1"), Place("tree"), Place("dead")


def visited(*places: Place) -> History:
    history = History()
    for place in places:
        history.visit(place)
    return history


def test_back_and_forward() -> None:
    history = visited(STUCK, NODE, TREE)
    assert [history.go(-1), history.go(-1), history.go(-1)] == [NODE, STUCK, None]
    assert [history.go(1), history.go(1), history.go(1)] == [NODE, TREE, None]


def test_a_page_closed_with_escape_can_be_opened_again() -> None:
    history = visited(STUCK, NODE, STUCK)
    assert history.go(-1) is None
    assert history.go(1) == NODE


def test_another_page_after_going_back_replaces_the_later_ones() -> None:
    history = visited(STUCK, NODE, TREE)
    history.go(-1)
    history.visit(OTHER)
    assert history.go(1) is None
    assert history.go(-1) == NODE


def test_the_same_page_twice_is_one_place() -> None:
    history = visited(STUCK, STUCK, NODE, NODE)
    assert [history.go(-1), history.go(-1)] == [STUCK, None]


def test_a_page_may_be_added_although_it_is_the_one_before() -> None:
    history = visited(TREE, NODE)
    history.add(TREE)
    history.visit(TREE)
    assert [history.go(-1), history.go(-1)] == [NODE, TREE]


def test_old_places_are_dropped() -> None:
    history = visited(*(Place("stuck", str(n)) for n in range(PLACES_KEPT + 5)))
    steps = 0
    while history.go(-1) is not None:
        steps += 1
    assert steps == PLACES_KEPT - 1
