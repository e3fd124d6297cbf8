"""Visited screens: back, forward, and what a return is."""

from __future__ import annotations

from console.model.visited_places import PLACES_KEPT, Place, VisitedPlaces

STUCK, NODE, TREE, OTHER = Place("stuck"), Place("stuck", "node 1"), Place("tree"), Place("dead")


def visited(*screens: Place) -> VisitedPlaces:
    places = VisitedPlaces()
    for screen in screens:
        places.visit(screen)
    return places


def test_back_and_forward() -> None:
    places = visited(STUCK, NODE, TREE)
    assert [places.go(-1), places.go(-1), places.go(-1)] == [NODE, STUCK, None]
    assert [places.go(1), places.go(1), places.go(1)] == [NODE, TREE, None]


def test_a_page_closed_with_escape_can_be_opened_again() -> None:
    places = visited(STUCK, NODE, STUCK)
    assert places.go(-1) is None
    assert places.go(1) == NODE


def test_another_page_after_going_back_replaces_the_later_ones() -> None:
    places = visited(STUCK, NODE, TREE)
    places.go(-1)
    places.visit(OTHER)
    assert places.go(1) is None
    assert places.go(-1) == NODE


def test_the_same_page_twice_is_one_place() -> None:
    places = visited(STUCK, STUCK, NODE, NODE)
    assert [places.go(-1), places.go(-1)] == [STUCK, None]


def test_a_page_may_be_added_although_it_is_the_one_before() -> None:
    places = visited(TREE, NODE)
    places.add(TREE)
    places.visit(TREE)
    assert [places.go(-1), places.go(-1)] == [NODE, TREE]


def test_old_places_are_dropped() -> None:
    places = visited(*(Place("stuck", str(n)) for n in range(PLACES_KEPT + 5)))
    steps = 0
    while places.go(-1) is not None:
        steps += 1
    assert steps == PLACES_KEPT - 1
