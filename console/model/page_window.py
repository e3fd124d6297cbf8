"""Window of loaded pages in a long list of siblings.

Pages are numbered from the top. A page is read by a keyset cursor: the key after which it starts. The window stores the
key of each page reached so far, and the ids of the loaded pages.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_PAGES = 10  # loaded pages
MAX_FILTERED_PAGES = 200  # loaded pages while a filter hides rows


class PageWindow:
    """Run of loaded pages that starts at page ``low``.

    The key of the first page is None.
    """

    def __init__(self, ids: list[str], after: str | None) -> None:
        self.low = 0
        self._keys: list[str | None] = [None]
        self._pages = [ids]
        self._set_next_key(after)

    @property
    def after(self) -> str | None:
        """Key of the page after the loaded ones; None if they are the last."""
        high = self.low + len(self._pages)
        return self._keys[high] if high < len(self._keys) else None

    @property
    def partial(self) -> bool:
        """True if there are pages before or after the loaded ones."""
        return self.after is not None or self.low > 0

    @property
    def reached(self) -> int:
        """Number of pages from the top to the last loaded page."""
        return self.low + len(self._pages)

    @property
    def start(self) -> str | None:
        """Key of the page before the loaded ones."""
        return self._keys[self.low - 1]

    @property
    def first(self) -> str | None:
        """Key of the first loaded page."""
        return self._keys[self.low]

    def start_of(self, ids: Sequence[str]) -> str | None:
        """Return the key of the page with the first known id of ``ids``.

        If no id is known, return the key of the first loaded page.
        """
        for id_ in ids:
            for number, page in enumerate(self._pages, self.low):
                if id_ in page:
                    return self._keys[number]
        return self.first

    def places(self) -> dict[str, int]:
        """Return the number of each record's page."""
        return {id_: number for number, page in enumerate(self._pages, self.low) for id_ in page}

    def append(self, ids: list[str], after: str | None) -> None:
        """Add the page that follows the loaded ones.

        ``after`` is the key of the page behind it.
        """
        self._pages.append(ids)
        self._set_next_key(after)

    def prepend(self, ids: list[str]) -> None:
        """Add the page that precedes the loaded ones."""
        self.low -= 1
        self._pages.insert(0, ids)

    def evict_before(self, children: Sequence[str], pages: int = MAX_PAGES) -> list[str]:
        """Drop the first pages beyond the limit.

        Return the children that precede the remaining pages.
        """
        if len(self._pages) <= pages:
            return []
        self.low += len(self._pages) - pages
        self._pages = self._pages[-pages:]
        positions = self._positions(children)
        return list(children[: min(positions)]) if positions else []

    def evict_after(self, children: Sequence[str], pages: int = MAX_PAGES) -> list[str]:
        """Drop the last pages beyond the limit.

        Return the children that follow the remaining pages.
        """
        if len(self._pages) <= pages:
            return []
        self._pages = self._pages[:pages]
        positions = self._positions(children)
        return list(children[max(positions) + 1 :]) if positions else []

    def _positions(self, children: Sequence[str]) -> list[int]:
        loaded = {id_ for page in self._pages for id_ in page}
        return [position for position, id_ in enumerate(children) if id_ in loaded]

    def _set_next_key(self, after: str | None) -> None:
        """Store the key of the next page and forget the keys behind it.

        The forgotten keys may be out of date.
        """
        self._keys[self.low + len(self._pages) :] = [] if after is None else [after]
