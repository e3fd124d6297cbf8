"""Check before a change that it runs no code of an untrusted role."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from queries.contract.detect import CHANGES, trust_query, unsafe
from queries.contract.spec import Action
from queries.contract.trust import Trust
from queries.db.query import Rows
from queries.db.transaction import Transaction
from queries.read.question import Question
from queries.read.reader import Reader
from queries.records.record import Record
from queries.write.audit_choice import AuditLog

TRUST_KEPT_SECONDS = 0.5
CATALOGS = "pg_catalog"  # the name of the server's own tables among those that were written
REACHED_SINCE = "a change of these rows reaches {tables} since a moment ago: try again"


class Clearance(Record):
    """Answer to the check of an action.

    ``why``: it could run code of an untrusted role, or "". ``path``: schemas in which triggers of its tables may find
    names. ``trust``: for the entry of the change; None if there is a reason. ``reached``: tables that foreign keys,
    rules and functions lead to, which are not locked yet; see `DetectedEngine.locked`.
    """

    why: str
    path: tuple[str, ...] = ()
    trust: Trust | None = None
    reached: Mapping[str, bool] = {}


class UntrustedCode:
    """Check of actions, of which the last answer without a reason is kept."""

    def __init__(self, audit_log: AuditLog, trusted: Sequence[str]) -> None:
        self._audit_log, self._trusted = audit_log, trusted
        # Monotonic time of the last answer without a reason.
        self._kept: dict[tuple[Reader, str, tuple[str, ...]], tuple[float, Clearance]] = {}

    async def check(self, transaction: Transaction, reader: Reader, action: Action, first: Clearance) -> Clearance:
        """Lock the tables that the first answer has reached, if any, and ask again."""
        if first.why or not first.reached:
            return first
        last = await self.question(reader, action, reached=first.reached).answer(transaction)
        why = REACHED_SINCE.format(tables=", ".join(sorted(last.reached))) if last.reached else ""
        return Clearance(why=why) if why and not last.why else last

    def question(
        self, reader: Reader, action: Action, *, again: bool = False, reached: Mapping[str, bool] = {}
    ) -> Question[Clearance]:
        """Lock the tables of an action, and ask if it could run untrusted code now.

        So no trigger is created on them between this answer and the change. ``again``: an earlier part of the same run
        asked; its answer counts for TRUST_KEPT_SECONDS if only trusted roles can create triggers on these tables and
        those of the audit log. ``reached``: further tables to lock.
        """
        if no_entries := self._audit_log.no_entries:
            return Question([], lambda _: Clearance(why=no_entries))
        locks = reader.detected.locks(action.privileges, reached)
        asked_for = (reader, action.name, action.privileges)
        at, kept = self._kept.get(asked_for, (-math.inf, Clearance(why="")))
        if again and at > time.monotonic() - TRUST_KEPT_SECONDS:
            return Question(locks, lambda _: kept)

        def checked(answers: Sequence[Rows]) -> Clearance:
            clearance, keeps = self._cleared(reader, action, Trust(answers[-1]), reached)
            self._kept = {asked_for: (time.monotonic(), clearance)} if keeps else {}
            return clearance

        return Question([*locks, trust_query([reader.engine], self._trusted)], checked)

    def _cleared(
        self, reader: Reader, action: Action, trust: Trust, reached: Mapping[str, bool]
    ) -> tuple[Clearance, bool]:
        """Return the answer, and True if it may be kept: all tables are locked.

        ``reached``: those that are locked in addition to the action's.
        """
        if why := self._audit_log.doubt(trust):
            return Clearance(why=why), False
        schema = reader.detected.schema
        refused = unsafe(reader.engine, schema, reader.detected.relations, trust)
        why = msgspec.structs.replace(reader.detected, unsafe=refused).why_unsafe(action.privileges)
        if why:
            return Clearance(why=why), False
        locked = reader.detected.locked(action.privileges).keys() | reached.keys()
        new = {name: how for name, how in trust.reached(schema, action.privileges).items() if name not in locked}
        makers = trust.trigger_makers(schema, action.privileges) or self._audit_log.trigger_makers(trust)
        return Clearance(why="", path=trust.trigger_path(schema), trust=trust, reached=new), not (makers or new)

    def touched(self, tables: Iterable[str]) -> Question[str]:
        """Ask why writing these tables ran code of an untrusted role, or "".

        It is asked before COMMIT, and in a dry run. ``tables``: those that the transaction wrote and its action does
        not name, with their schemas: a trigger may write to any table. The code has run, but nothing is committed.
        """
        parts = {each: [(each[:i], each[i + 1 :]) for i, c in enumerate(each) if c == "."] for each in tables}
        if not parts:
            return Question([], lambda _: "")

        def read(answers: Sequence[Rows]) -> str:
            trust = Trust(answers[0])
            whys = (
                trust.unwritten(schema, name, command)
                for pairs in parts.values()
                for schema, name in pairs
                for command in ("", *CHANGES)
            )
            events = trust.event_trigger() if CATALOGS in parts else ""
            why = events or next(filter(None, whys), "")
            return f"{why}. It ran in this transaction, which was rolled back" if why else ""

        names = {name for pairs in parts.values() for _, name in pairs}
        return Question([trust_query([], self._trusted, names)], read)
