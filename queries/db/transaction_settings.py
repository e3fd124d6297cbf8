"""Settings of a transaction and of its statements, and their time limits."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from queries.db.errors import SlowError
from queries.db.query import Query
from queries.records.record import Record
from queries.text.duration import measured
from queries.text.psql_text import quoted_name

# unstick's own limit, not the server's: a slow network looks like a slow server.
LATE = "The transaction was rolled back: it did not end within {lasts}, and its row locks hold up workers."
NEARER = "If the network is slow, run unstick near the server, or change fewer nodes at once."
ROUNDED_SECONDS = 0.005  # by which the server may end a statement too early
SHRINK_SHARE = 0.3  # of a statement's time limit, by which it may exceed the remaining time; to set it is a message


class StatementSettings(Record):
    """Settings that one statement of a transaction may have, and another not.

    ``schemas`` are on the search_path. ``in_order``: without bitmap scans and parallel workers. ``generic``: with a
    plan for any values. ``seconds``: its time limit.
    """

    seconds: float
    schemas: tuple[str, ...] = ()
    in_order: bool = False
    generic: bool = False

    def commands(self, before: StatementSettings | None = None) -> list[str]:
        """Return the commands that set what differs from ``before``."""
        changed = []
        if before is None or self.schemas != before.schemas:
            changed.append(search_path(*self.schemas))
        if before is None or self.in_order != before.in_order:
            changed.append(f"SET LOCAL enable_bitmapscan = {'off' if self.in_order else 'DEFAULT'}")
            changed.append(f"SET LOCAL max_parallel_workers_per_gather = {0 if self.in_order else 'DEFAULT'}")
        if before is None or self.generic != before.generic:
            mode = "force_generic_plan" if self.generic else "force_custom_plan"
            changed.append(f"SET LOCAL plan_cache_mode = {mode}")
        if before is None or self.seconds != before.seconds:
            changed.append(f"SET LOCAL statement_timeout = '{round(self.seconds * 1000) or 1}ms'")
        return changed


class TransactionSettings:
    """Settings of one transaction, those of the server now, and the time that is left.

    ``own``: the settings with which it begins. ``defaults``: those of a statement that asks for nothing else.
    """

    def __init__(self, own: StatementSettings) -> None:
        self.own = own
        self.now: StatementSettings | None = own  # of the server; None: not known
        self.defaults = own
        self._lasts: float | None = None  # seconds from its begin
        self._until: float | None = None

    def begin(self) -> None:
        """Let its time limit begin."""
        if self._lasts is not None:
            self._until = time.monotonic() + self._lasts

    def limit_time(self, seconds: float | None, *, begun: bool) -> None:
        """Set the time limit: from now if it has begun, or from its begin."""
        now, seconds = time.monotonic(), self.own.seconds if seconds is None else seconds
        past = 0.0 if self._until is None or self._lasts is None else now - self._until + self._lasts
        self._lasts = past + seconds
        if begun:
            self._until = now + seconds

    def late(self) -> SlowError | None:
        """Return the error of a transaction whose time is over, or None."""
        if self._until is None or self._lasts is None or time.monotonic() < self._until - ROUNDED_SECONDS:
            return None
        return SlowError(LATE.format(lasts=measured(self._lasts)), NEARER, code="57014")

    def search(self, schema: str, more: Sequence[str]) -> None:
        """Put more schemas on the search_path after ``schema``, for triggers.

        The caller must have checked that only trusted roles can create objects in them.
        """
        if more:
            self.defaults = msgspec.structs.replace(self.defaults, schemas=tuple(dict.fromkeys((schema, *more))))

    def of(self, query: Query | None = None, *, keeps: bool = False) -> StatementSettings:
        """Return what a statement runs under.

        ``keeps``: a plan is made once for all later reads. Raises SlowError if no time is left.
        """
        defaults = self.defaults
        seconds = defaults.seconds if query is None or query.seconds is None else query.seconds
        if self._until is not None:
            if late := self.late():
                raise late
            rest = max(self._until - time.monotonic(), ROUNDED_SECONDS)
            now = (self.now and self.now.seconds) or seconds
            more = min(seconds, self._lasts or seconds) * SHRINK_SHARE
            if rest < seconds - more:
                seconds = now if now <= seconds and rest >= now - more else rest
        if query is None:
            return msgspec.structs.replace(defaults, seconds=seconds)
        in_order = defaults.in_order if query.in_order is None else query.in_order
        return StatementSettings(
            seconds=seconds,
            schemas=(query.statement.schema,) if query.statement.schema else defaults.schemas,
            in_order=in_order,
            generic=keeps and in_order and not (query.custom or query.statement.custom),  # else a plan would stay
        )

    def commands(self, settings: StatementSettings) -> list[str]:
        """Return the commands that give the server these settings.

        From then on it has them.
        """
        before, self.now = self.now, settings
        return settings.commands(before)


def search_path(*schemas: str) -> str:
    """Return the command for a search_path of the server's and these schemas.

    A role that may create objects in another schema on the path could have its operators and functions run by unstick.
    """
    own = "".join(f"{quoted_name(schema)}, " for schema in schemas if schema)
    return f"SET LOCAL search_path = pg_catalog, {own}pg_temp"
