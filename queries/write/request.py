"""Request of one write transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from queries.contract.spec import Action
from queries.files.statement import Statement
from queries.read.reader import Reader
from queries.records.action import DryRun
from queries.records.record import Record
from queries.write.audit_log import Operator
from queries.write.run_log import OpenRun


class Request(Record):
    """Nodes to change in one transaction, and how.

    ``versions``: the nodes, each as the operator saw it. ``titles``: of the nodes. ``seen``: the dry run that
    the operator saw, also of other nodes, which a commit is compared with; None in a dry run. ``no_images``: why no
    images of changed rows are kept for an undo, or "". ``keeps_values`` False: the audit log entry names the changed
    columns without their values. ``run``: that the transaction is a part of, and ``cohort`` its number in a redrive.
    ``measures``: the dry run measures the blast radius.
    """

    reader: Reader
    action: Action
    reason: str
    arguments: Mapping[str, Any]
    operator: Operator
    versions: Mapping[str, str]
    titles: Mapping[str, str] = {}
    seen: DryRun | None = None
    no_images: str = ""
    keeps_values: bool = True
    run: OpenRun | None = None
    cohort: int | None = None
    measures: bool = False

    @property
    def sections(self) -> Mapping[str, tuple[Statement, ...]]:
        """Statements of the action's script, by section."""
        return self.reader.engine.actions.get(self.action.script, {})

    def of(self, ids: Iterable[str]) -> Request:
        """Return the request for some of its nodes."""
        return msgspec.structs.replace(self, versions={i: self.versions[i] for i in ids})
