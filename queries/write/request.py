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


class Order(Record):
    """An action, as an operator gives it."""

    action: Action
    reason: str
    arguments: Mapping[str, Any]
    operator: Operator


class Kept(Record):
    """Values of the changed rows that are kept.

    ``no_images``: why no images for an undo, or "". ``values`` False: the audit log entry names the changed columns
    without their values.
    """

    no_images: str = ""
    values: bool = True


class Fence(Record):
    """The run that a transaction is a part of. ``cohort``: its number in a redrive."""

    run: OpenRun
    cohort: int | None = None

    def named(self) -> dict[str, Any]:
        """Return the argument of the audit log entry that names the run."""
        return self.run.named() if self.cohort is None else self.run.named(cohort=self.cohort)


class Request(Record):
    """Nodes to change in one transaction, and how.

    ``versions``: the nodes, each as the operator saw it. ``titles``: of the nodes. ``seen``: the dry run that
    the operator saw, also of other nodes, which a commit is compared with; None in a dry run. ``over``: the connection.
    ``measures``: the dry run measures the blast radius.
    """

    reader: Reader
    order: Order
    versions: Mapping[str, str]
    titles: Mapping[str, str] = {}
    seen: DryRun | None = None
    kept: Kept = Kept()
    fence: Fence | None = None
    over: str = "write"
    measures: bool = False

    @property
    def action(self) -> Action:
        """The action."""
        return self.order.action

    @property
    def sections(self) -> Mapping[str, tuple[Statement, ...]]:
        """Statements of the action's script, by section."""
        return self.reader.engine.actions.get(self.action.script, {})

    def of(self, ids: Iterable[str]) -> Request:
        """Return the request for some of its nodes."""
        return msgspec.structs.replace(self, versions={i: self.versions[i] for i in ids})
