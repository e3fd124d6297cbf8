"""The part of a line that differs, so that only this part is sent to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

Cell = tuple[str, Style | None]


def changed_cells(before: Iterable[Segment], after: Iterable[Segment]) -> tuple[int, int] | None:
    """Return the first cell that differs, and the number of cells up to the last.

    None if no cell differs.
    """
    segments, others = list(before), list(after)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(segments, others, strict=False)))
    begin = sum(segment.cell_length for segment in segments[:same])
    old, new = list(_cells(segments[same:])), list(_cells(others[same:]))
    length = max(len(old), len(new))
    blank: Cell = (" ", None)
    old += [blank] * (length - len(old))
    new += [blank] * (length - len(new))
    differing = [place for place, cells in enumerate(zip(old, new, strict=True)) if cells[0] != cells[1]]
    if not differing:
        return None
    start, end = differing[0], differing[-1] + 1
    while start and "" in (old[start][0], new[start][0]):  # the second half of a wide character
        start -= 1
    while end < length and "" in (old[end][0], new[end][0]):
        end += 1
    return begin + start, end - start


def _cells(segments: Iterable[Segment]) -> Iterator[Cell]:
    """Yield the cells of a line; a wide character is followed by empty ones."""
    for text, style, _ in segments:
        for character in text:
            yield character, style
            for _ in range(cell_len(character) - 1):
                yield "", style
