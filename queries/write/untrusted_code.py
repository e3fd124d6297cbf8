"""Check before a change that it runs no code of an untrusted role."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import msgspec

from queries.contract.detect import trust_query, unsafe
from queries.contract.spec import Action
from queries.contract.trust import Trust
from queries.read.question import Question
from queries.read.reader import Reader
from queries.write.audit_choice import AuditLog

TRUST_KEPT_SECONDS = 0.5


class UntrustedCode:
    """Check of actions, of which the last answer without a reason is kept."""

    def __init__(self, audit_log: AuditLog, trusted: Sequence[str]) -> None:
        self._audit_log, self._trusted = audit_log, trusted
        # Monotonic time of the last answer without a reason, and its schemas.
        self._kept: dict[tuple[Reader, str, tuple[str, ...]], tuple[float, tuple[str, ...]]] = {}

    def check(self, reader: Reader, action: Action, *, again: bool = False) -> Question[tuple[str, tuple[str, ...]]]:
        """Ask why an action could run code of an untrusted role now; "" if it could not.

        Ask also for the schemas in which triggers of these tables may find names.

        The transaction has locked the tables of the action, so no trigger is created on them between this answer and
        the change. ``again``: an earlier part of the same run asked; its answer counts for TRUST_KEPT_SECONDS if only
        trusted roles can create triggers on these tables and those of the audit log.
        """
        if no_entries := self._audit_log.no_entries:
            return Question([], lambda _: (no_entries, ()))
        asked_for = (reader, action.name, action.privileges)
        at, path = self._kept.get(asked_for, (-math.inf, ()))
        if again and at > time.monotonic() - TRUST_KEPT_SECONDS:
            return Question([], lambda _: ("", path))
        query = trust_query([reader.engine], self._trusted)
        return Question([query], lambda answers: self._checked(reader, action, Trust(answers[0])))

    def _checked(self, reader: Reader, action: Action, trust: Trust) -> tuple[str, tuple[str, ...]]:
        asked_for = (reader, action.name, action.privileges)
        if why := self._audit_log.doubt(trust):
            return why, ()
        detected = msgspec.structs.replace(
            reader.detected, unsafe=unsafe(reader.engine, reader.detected.schema, reader.detected.relations, trust)
        )
        why = detected.why_unsafe(action.privileges)
        tables = [privilege.partition(" ")[2] for privilege in action.privileges]
        makers = trust.trigger_makers(reader.detected.schema, tables) or self._audit_log.trigger_makers(trust)
        kept = not why and not makers
        path = trust.trigger_path(reader.detected.schema)
        self._kept = {asked_for: (time.monotonic(), path)} if kept else {}
        return why, path
