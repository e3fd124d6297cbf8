"""Which pages of a long list of siblings are held: a run of them around where one reads.

Pages are numbered from the top. A page is read by the key it starts after, which is remembered for each page ever
reached; that and the ids of the run are all that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

PAGES = 10  # how many are held
SIFTED = 200  # and where a filter hides some of their rows


class PageWindow:
    """Pages ``low`` and following are held. A key is None for the first page."""

    def __init__(self, ids: list[str], after: str | None) -> None:
        self.low = 0
        self._keys: list[str | None] = [None]
        self._pages = [ids]
        self._reach(after)

    @property
    def after(self) -> str | None:
        """The key of the page after those held; None where there is none."""
        high = self.low + len(self._pages)
        return self._keys[high] if high < len(self._keys) else None

    @property
    def reached(self) -> int:
        """How many pages there are down to the last one held."""
        return self.low + len(self._pages)

    @property
    def start(self) -> str | None:
        """The key of the page before those held."""
        return self._keys[self.low - 1]

    @property
    def first(self) -> str | None:
        """The key of the first page held."""
        return self._keys[self.low]

    def start_of(self, ids: Sequence[str]) -> str | None:
        """The key of the page that has the first of these ids that any page has; of the first page held, else."""
        for id_ in ids:
            for number, page in enumerate(self._pages, self.low):
                if id_ in page:
                    return self._keys[number]
        return self.first

    def append(self, ids: list[str], after: str | None) -> None:
        """The page after those held was read; ``after`` is the key of the one after that."""
        self._pages.append(ids)
        self._reach(after)

    def prepend(self, ids: list[str]) -> None:
        """The page before those held was read."""
        self.low -= 1
        self._pages.insert(0, ids)

    def evict_before(self, children: Sequence[str], pages: int = PAGES) -> list[str]:
        """Which of the children go, so that not more pages are held than may be: those before the pages that stay."""
        if len(self._pages) <= pages:
            return []
        self.low += len(self._pages) - pages
        self._pages = self._pages[-pages:]
        places = self._places(children)
        return list(children[: min(places)]) if places else []

    def evict_after(self, children: Sequence[str], pages: int = PAGES) -> list[str]:
        """The same from the other end."""
        if len(self._pages) <= pages:
            return []
        self._pages = self._pages[:pages]
        places = self._places(children)
        return list(children[max(places) + 1 :]) if places else []

    def _places(self, children: Sequence[str]) -> list[int]:
        kept = {id_ for page in self._pages for id_ in page}
        return [place for place, id_ in enumerate(children) if id_ in kept]

    def _reach(self, after: str | None) -> None:
        """What was known of the pages further down may be otherwise now."""
        self._keys[self.low + len(self._pages) :] = [] if after is None else [after]
