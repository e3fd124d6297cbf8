"""Interface of a list for its page. UI-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from console.model.forest import Forest


class ListModel(Protocol):
    """Records and the forest that shows them.

    ``NodeList`` reads them page by page, ``RowList`` has all in memory.
    """

    forest: Forest[Any]

    @property
    def records(self) -> Sequence[Any]:
        """All loaded records."""

    def chosen(self) -> Sequence[Any]:
        """Return the marked records, those of the cursor's row first.

        Without marks return those of the row.
        """

    def markable(self) -> list[str]:
        """Return the ids of the rows with all records that match the filter."""

    def numbers(self) -> tuple[int, int]:
        """Return how many records match the filter, and how many are loaded."""
