"""A long sequence that is spliced in the middle and asked "which row is this?", both far below O(n).

Items are kept in blocks of a few hundred. Each item remembers its block and each block its first row, so a position is
one subtraction and one short search; after a splice only the blocks' first rows are counted again (lazily, one
addition a block). A list would need a search over all rows for every position; a tree would be more code for nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

SIZE = 256


class Item(Protocol):
    """What may be kept in ``ChunkedList``: an object (compared by identity) with room for its block."""

    block: ListChunk | None


class ListChunk:
    """A run of neighbouring items. ``number`` and ``start`` are valid only while the sequence says so."""

    __slots__ = ("items", "number", "start")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.number = 0
        self.start = 0
        for item in items:
            item.block = self


T = TypeVar("T", bound=Item)


class ChunkedList(Generic[T]):
    """A sequence of distinct items; an item's ``block`` is None exactly while it is not in the sequence."""

    def __init__(self) -> None:
        self._blocks: list[ListChunk] = []
        self._starts: list[int] = []
        self._length = 0
        self._stale = False

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> T:
        if not 0 <= index < self._length:
            raise IndexError(index)
        block = self._block_at(index)
        return block.items[index - block.start]  # type: ignore[return-value]

    def index(self, item: T) -> int:
        """The row of an item. ValueError where it is not in the sequence."""
        block = item.block
        if block is None:
            raise ValueError("not in the sequence")
        self._count()
        return block.start + block.items.index(item)

    def between(self, start: int, stop: int) -> list[T]:
        """The items of the rows ``start`` to ``stop`` (exclusive), as many as there are."""
        found: list[T] = []
        for item in self.since(max(start, 0)):
            if len(found) >= stop - max(start, 0):
                break
            found.append(item)
        return found

    def since(self, start: int) -> Iterator[T]:
        """The items from row ``start`` to the end. The sequence must not change meanwhile."""
        if start >= self._length:
            return
        first = self._block_at(start)
        yield from first.items[start - first.start :]  # type: ignore[misc]
        for block in self._blocks[first.number + 1 :]:
            yield from block.items  # type: ignore[misc]

    def splice(self, start: int, stop: int, items: Sequence[T]) -> None:
        """Put ``items`` where the rows ``start`` to ``stop`` were. Costs the rows given and taken, and two blocks."""
        if not (0 <= start <= stop <= self._length):
            raise IndexError(f"rows {start}:{stop} of {self._length}")
        if start == stop and not items:
            return
        self._count()
        low, high, merged = self._around(start, stop, items)
        step = SIZE if len(merged) > 2 * SIZE else 2 * SIZE
        self._blocks[low:high] = [ListChunk(merged[at : at + step]) for at in range(0, len(merged), step)]
        self._length += len(items) - (stop - start)
        self._stale = True

    def _around(self, start: int, stop: int, items: Sequence[T]) -> tuple[int, int, list[Item]]:
        """Blocks ``low`` to ``high`` are replaced by the returned items; a small remainder takes in its neighbour."""
        if not self._blocks:
            return 0, 0, list(items)
        first, last = self._block_at(min(start, self._length - 1)), self._block_at(max(start, stop - 1))
        for block in self._blocks[first.number : last.number + 1]:
            skip, keep = max(start - block.start, 0), stop - block.start
            for item in block.items[skip : max(keep, 0)]:
                item.block = None
        low, high = first.number, last.number + 1
        merged: list[Item] = [*first.items[: start - first.start], *items, *last.items[stop - last.start :]]
        if len(merged) < SIZE // 4 and high < len(self._blocks):
            merged += self._blocks[high].items
            high += 1
        return low, high, merged

    def _block_at(self, index: int) -> ListChunk:
        self._count()
        return self._blocks[max(bisect_right(self._starts, index) - 1, 0)]

    def _count(self) -> None:
        if not self._stale:
            return
        self._stale = False
        self._starts = []
        start = 0
        for number, block in enumerate(self._blocks):
            block.number, block.start = number, start
            self._starts.append(start)
            start += len(block.items)
