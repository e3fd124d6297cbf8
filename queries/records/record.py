"""Base of the records that are passed around."""

from __future__ import annotations

from typing import ClassVar, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every record: immutable, built by keyword, compared by value.

    Records with ``gc=False`` are made in hundreds of thousands by a bulk action. They cannot be part of a cycle.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ()  # fields that no file sets: the name of an entry, and what follows
