"""Order of a list that the operator has chosen. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Order(Generic[T]):
    """A column by which items are sorted. Items without a value are last."""

    title: str
    value: Callable[[T], Any]
    reverse: bool = False

    def sorted(self, items: Sequence[U], item: Callable[[U], T]) -> list[U]:
        """Return these items in order; equal ones stay in the order of ``items``.

        ``item`` returns what the column is about.
        """
        values = [self.value(item(each)) for each in items]
        with_value = [(value, each) for value, each in zip(values, items, strict=True) if value is not None]
        without = [each for value, each in zip(values, items, strict=True) if value is None]
        return [each for _, each in sorted(with_value, key=lambda pair: pair[0], reverse=self.reverse)] + without
