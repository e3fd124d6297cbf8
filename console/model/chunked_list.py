"""A long sequence with fast splicing and fast position lookup.

The items are kept in chunks of a few hundred. Each item knows its chunk, and each chunk knows the position of its first
item, so `index` costs one short search. A splice invalidates only these first positions; they are counted again at the
next lookup, with one addition per chunk. A plain list would search all rows for each position.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

CHUNK_ITEMS = 256


class Item(Protocol):
    """An object that a ``ChunkedList`` can hold. Items are compared by identity."""

    chunk: ListChunk | None


class ListChunk:
    """A run of neighbouring items.

    ``number`` and ``start`` are valid only after ``ChunkedList`` has counted them.
    """

    __slots__ = ("items", "number", "start")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.number = 0
        self.start = 0
        for item in items:
            item.chunk = self


T = TypeVar("T", bound=Item)


class ChunkedList(Generic[T]):
    """A sequence of distinct items.

    The ``chunk`` of an item is None exactly while the item is not in the sequence.
    """

    def __init__(self) -> None:
        self._chunks: list[ListChunk] = []
        self._starts: list[int] = []
        self._length = 0
        self._outdated = False  # the chunks' numbers and starts have to be counted again

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> T:
        if not 0 <= index < self._length:
            raise IndexError(index)
        chunk = self._chunk_at(index)
        return chunk.items[index - chunk.start]  # type: ignore[return-value]

    def index(self, item: T) -> int:
        """Return the position of an item. Raise ValueError if the item is missing."""
        chunk = item.chunk
        if chunk is None:
            raise ValueError("not in the sequence")
        self._count()
        return chunk.start + chunk.items.index(item)

    def between(self, start: int, stop: int) -> list[T]:
        """Return the items from ``start`` to ``stop`` (exclusive), cut to the sequence."""
        items: list[T] = []
        for item in self.since(max(start, 0)):
            if len(items) >= stop - max(start, 0):
                break
            items.append(item)
        return items

    def since(self, start: int) -> Iterator[T]:
        """Iterate from ``start`` to the end.

        The sequence must not change during the iteration.
        """
        if start >= self._length:
            return
        first = self._chunk_at(start)
        yield from first.items[start - first.start :]  # type: ignore[misc]
        for chunk in self._chunks[first.number + 1 :]:
            yield from chunk.items  # type: ignore[misc]

    def splice(self, start: int, stop: int, items: Sequence[T]) -> None:
        """Replace the items from ``start`` to ``stop`` (exclusive).

        Only the chunks at both ends are touched.
        """
        if not (0 <= start <= stop <= self._length):
            raise IndexError(f"rows {start}:{stop} of {self._length}")
        if start == stop and not items:
            return
        self._count()
        low, high, merged = self._merged(start, stop, items)
        step = CHUNK_ITEMS if len(merged) > 2 * CHUNK_ITEMS else 2 * CHUNK_ITEMS
        self._chunks[low:high] = [ListChunk(merged[at : at + step]) for at in range(0, len(merged), step)]
        self._length += len(items) - (stop - start)
        self._outdated = True

    def _merged(self, start: int, stop: int, items: Sequence[T]) -> tuple[int, int, list[Item]]:
        """Return the range of chunks to replace and their new items.

        A small rest absorbs the next chunk.
        """
        if not self._chunks:
            return 0, 0, list(items)
        first, last = self._chunk_at(min(start, self._length - 1)), self._chunk_at(max(start, stop - 1))
        for chunk in self._chunks[first.number : last.number + 1]:
            skip, keep = max(start - chunk.start, 0), stop - chunk.start
            for item in chunk.items[skip : max(keep, 0)]:
                item.chunk = None
        low, high = first.number, last.number + 1
        merged: list[Item] = [*first.items[: start - first.start], *items, *last.items[stop - last.start :]]
        if len(merged) < CHUNK_ITEMS // 4 and high < len(self._chunks):
            merged += self._chunks[high].items
            high += 1
        return low, high, merged

    def _chunk_at(self, index: int) -> ListChunk:
        self._count()
        return self._chunks[max(bisect_right(self._starts, index) - 1, 0)]

    def _count(self) -> None:
        if not self._outdated:
            return
        self._outdated = False
        self._starts = []
        start = 0
        for number, chunk in enumerate(self._chunks):
            chunk.number, chunk.start = number, start
            self._starts.append(start)
            start += len(chunk.items)
