"""Loaded pages of siblings in a tree, of a log, or of dead letters.

Pages are numbered from the top. A page is read by a keyset cursor: the key after which it starts. The window stores the
key of each page reached so far, and the ids of the loaded pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from queries.records.record import Record

MAX_PAGES = 10  # loaded pages
MAX_FILTERED_PAGES = 200  # loaded pages while a filter hides rows


class PageWindow(Record):
    """Run of loaded pages that starts at page ``low``.

    The key of the first page is None. A window is a value. The reader of a page replaces the window from which it took
    the key, if that is still in use: a page is neither lost nor added to those of another read.
    """

    low: int = 0
    keys: tuple[str | None, ...] = (None,)
    pages: tuple[tuple[str, ...], ...] = ()

    @property
    def read(self) -> bool:
        """True once a page was read."""
        return bool(self.pages)

    @property
    def after(self) -> str | None:
        """Key of the page after the loaded ones; None if they are the last."""
        return self.keys[self.reached] if self.reached < len(self.keys) else None

    @property
    def partial(self) -> bool:
        """True if there are pages before or after the loaded ones."""
        return self.after is not None or self.low > 0

    @property
    def reached(self) -> int:
        """Number of pages from the top to the last loaded page."""
        return self.low + len(self.pages)

    @property
    def start(self) -> str | None:
        """Key of the page before the loaded ones."""
        return self.keys[self.low - 1]

    @property
    def first(self) -> str | None:
        """Key of the first loaded page."""
        return self.keys[self.low]

    def start_of(self, ids: Sequence[str]) -> str | None:
        """Return the key of the page with the first known id of ``ids``.

        If no id is known, return the key of the first loaded page.
        """
        for id_ in ids:
            for number, page in enumerate(self.pages, self.low):
                if id_ in page:
                    return self.keys[number]
        return self.first

    @property
    def places(self) -> dict[str, int]:
        """The number of each record's page."""
        return {id_: number for number, page in enumerate(self.pages, self.low) for id_ in page}

    def append(self, ids: Iterable[str], after: str | None) -> PageWindow:
        """Return the window with the page that follows the loaded ones.

        ``after`` is the key of the page behind it. The keys behind are forgotten: they may be out of date.
        """
        keys = self.keys[: self.reached + 1] + (() if after is None else (after,))
        return PageWindow(low=self.low, keys=keys, pages=(*self.pages, tuple(ids)))

    def prepend(self, ids: Iterable[str]) -> PageWindow:
        """Return the window with the page that precedes the loaded ones."""
        return PageWindow(low=self.low - 1, keys=self.keys, pages=(tuple(ids), *self.pages))

    def evict(self, children: Sequence[str], pages: int, *, top: bool) -> tuple[PageWindow, Sequence[str]]:
        """Return the window without the first (``top``) or last pages beyond the limit.

        Return also the children before or after the remaining pages.
        """
        excess = len(self.pages) - pages
        if excess <= 0:
            return self, ()
        low, kept = (self.low + excess, self.pages[excess:]) if top else (self.low, self.pages[:pages])
        window = PageWindow(low=low, keys=self.keys, pages=kept)
        places = window.places
        loaded = [position for position, id_ in enumerate(children) if id_ in places] or [0 if top else len(children)]
        return window, children[: loaded[0]] if top else children[loaded[-1] + 1 :]


UNREAD = PageWindow()  # no page was read
