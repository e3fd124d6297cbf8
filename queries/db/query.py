"""A statement with the values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queries.files.statement import Statement
from queries.records.record import Record

Rows = Sequence[Mapping[str, Any]]


class Query(Record, kw_only=False):
    """A statement and the values of its parameters, by name.

    ``in_order``, ``limit``: None for those of the transaction; see `Database.reading`. ``custom``: a plan for these
    values is better than one for any, because a part of the statement depends on which values are given. ``apart``: see
    `Transaction.apart`; after it come only others that are apart.
    """

    statement: Statement
    values: Mapping[str, Any] = {}
    custom: bool = False
    in_order: bool | None = None
    limit: float | None = None
    apart: bool = False
