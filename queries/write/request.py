"""Request of one write transaction, and the result of its dry run."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import msgspec

from queries.contract.spec import Action
from queries.files.statement import Statement
from queries.read.reader import Reader
from queries.records.action import Verdict
from queries.records.record import Record
from queries.write import gate
from queries.write.audit_log import Operator
from queries.write.run_log import OpenRun


class Order(Record):
    """An action, as an operator gives it."""

    action: Action
    reason: str
    arguments: Mapping[str, Any]
    operator: Operator


class Seen(Record):
    """Result of the dry run that the operator saw, which a commit compares.

    ``row_digests``: of the rows, by node. ``verdicts``: about the owners, ``at`` that time by the server's clock.
    ``shown``: what it did. ``steady`` is set if the operator waited for the nodes, whose versions have changed since: a
    node is then accepted in its current version if its ``steady`` text is unchanged.
    """

    row_digests: Mapping[str, str] = {}
    verdicts: Mapping[str, Verdict] = {}
    at: float | None = None
    shown: gate.Shown = gate.Shown()
    steady: Mapping[str, str | None] | None = None

    def of(self, ids: Container[str]) -> Seen:
        """Return what it has about some of its nodes. What it did is about all of them."""
        digests = {i: digest for i, digest in self.row_digests.items() if i in ids}
        verdicts = {i: verdict for i, verdict in self.verdicts.items() if i in ids}
        return msgspec.structs.replace(self, row_digests=digests, verdicts=verdicts)


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

    ``versions``: the nodes, each as the operator saw it. ``titles``: of the nodes. ``seen``: None in a dry run.
    ``over``: the connection. ``measures``: the dry run measures the blast radius.
    """

    reader: Reader
    order: Order
    versions: Mapping[str, str]
    titles: Mapping[str, str] = {}
    seen: Seen | None = None
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
