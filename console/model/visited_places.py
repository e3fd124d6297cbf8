"""Visited screens in order, with a way back and forward. UI-free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

PLACES_KEPT = 100  # places that are kept


@dataclass(frozen=True)
class Place:
    """A screen: its mode, and its own key there. ``show`` opens it again."""

    mode: str
    key: str = ""
    show: Callable[[], object] = field(compare=False, default=lambda: None)


class VisitedPlaces:
    """Visited places.

    The current one may be followed by places that the operator went back from.
    """

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._at = -1

    def visit(self, place: Place) -> None:
        """Note that a screen is in front.

        A return to the previous screen, or to the next one after going back, is a move in the history.
        """
        for step in (0, -1, 1):
            if self._place(self._at + step) == place:
                self._at += step
                return
        self.add(place)

    def add(self, place: Place) -> None:
        """Add a place after the current one. Later places are forgotten."""
        self._places = [*self._places[: self._at + 1], place][-PLACES_KEPT:]
        self._at = len(self._places) - 1

    def go(self, step: int) -> Place | None:
        """Move back (-1) or forward (1). Return the place there, or None at the end."""
        place = self._place(self._at + step)
        if place is not None:
            self._at += step
        return place

    def _place(self, at: int) -> Place | None:
        return self._places[at] if 0 <= at < len(self._places) else None
