"""Nodes of one write transaction, and the sections of an action.

The sections of an action run in one short READ COMMITTED transaction. ``lock`` locks the rows with SKIP LOCKED and
returns their versions. ``refused`` returns nodes that the action does not apply to. The engine's ``images.sql`` (or
``rows.sql``) returns the places of the nodes' rows, which are read before and after ``change``. That changes them and
checks the versions again in its WHERE. A dry run then rolls back. A commit compares the rows with the dry run's. Nodes
that cannot change are skipped, each with its reason; the others continue.

If an action has ``waits``, a ``refused`` row may have ``for_now``: an executor is running the node, and
:mod:`queries.change.loop` can try again. The ``steady`` text of the node's ``lock`` row must not change during that
wait; of an action without ``waits``, it must not change since the dry run.

An action that takes work from an owner may have ``witnesses``: one row for each sign of life or death of the owner,
with ``id, witness, verdict, detail``, where the verdict is ``dead``, ``alive`` or ``unknown``; ``since`` may say when
the owner took the node. The dry run shows them. The commit reads them again, writes them to the audit log, and skips a
node whose owner has shown a sign of life since. ``dry_run`` is the time of the dry run; NULL in the dry run itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.rows import SHAPES, verify
from queries.contract.spec import Action
from queries.db.errors import DatabaseError
from queries.db.query import Query, Rows, RowsOrError
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.log.audit_log import Operator
from queries.log.run_log import OpenRun
from queries.read import guard_token
from queries.read.reader import Reader
from queries.records.action import Change, Outcome, Owner, Result, titled
from queries.records.record import Record


class Request(Record):
    """Nodes to change in one transaction, and how.

    ``versions``: the nodes, each as the operator saw it. ``titles``: of the nodes. ``seen``: the dry run that
    the operator saw, also of other nodes, which a commit is compared with; None in a dry run. ``no_images``: why no
    images of changed rows are kept for an undo, or "". ``keeps_values`` False: the audit log entry names the changed
    columns without their values. ``run``: that the transaction is a part of, and ``cohort`` its number in a redrive.
    ``measured``: takes the measurement of a dry run's blast radius; None: it is not measured.
    """

    reader: Reader
    action: Action
    reason: str
    arguments: Mapping[str, Any]
    operator: Operator
    versions: Mapping[str, str]
    titles: Mapping[str, str] = {}
    seen: Change | None = None
    no_images: str = ""
    keeps_values: bool = True
    run: OpenRun | None = None
    cohort: int | None = None
    measured: list[Any] | None = None

    @property
    def sections(self) -> Mapping[str, tuple[Statement, ...]]:
        """Statements of the action's script, by section."""
        return self.reader.engine.actions.get(self.action.script, {})

    def of(self, ids: Iterable[str]) -> Request:
        """Return the request for some of its nodes."""
        return msgspec.structs.replace(self, versions={i: self.versions[i] for i in ids})


class GuardMissedError(DatabaseError):
    """The change did not reach every locked node; the transaction is rolled back.

    ``whys``: the reason by node, as far as it is known.
    """

    def __init__(self, missed: Sequence[str], whys: Mapping[str, str] | None = None) -> None:
        super().__init__("The change did not reach every node.")
        self.missed, self.whys = missed, whys or {}


class Nodes:
    """The nodes of one transaction, and the parameters of its statements.

    ``remaining``: those that it still changes. ``skipped``: the results of the others. ``versions``: what the change
    compares. ``guarded``: nodes with a guard token instead of a version.
    """

    def __init__(self, request: Request) -> None:
        self.reader = request.reader
        self.versions = dict(request.versions)  # a node that the operator waited for gets its current version
        self.guarded = {i for i, version in self.versions.items() if guard_token.is_token(version)}
        self.remaining = sorted(self.versions)
        self.skipped: dict[str, Result] = {}
        self.owners: dict[str, Owner] = {}
        self.for_now: list[str] = []  # nodes refused because an executor is running them
        self.steady: dict[str, str | None] = {}  # by node: text that must not change during a wait
        self.notes: dict[str, tuple[str, str]] = {}  # reason and detail by changed node
        self.policies = request.reader.detected.policies  # tables whose row-level security restricts this role
        seen = request.seen
        self.parameters: dict[str, Any] = {
            "action": request.action.name,
            "operator": request.operator.name,
            "reason": request.reason,
            "args": dict(request.arguments),
            "met_needs": sorted(request.reader.detected.met_needs),
            "places": [],
            "settings": request.reader.engine.settings,
            "dry_run": None if seen is None else str(seen.at),
        }
        self._titles = request.titles

    def skip(self, node_id: str, outcome: Outcome, why: str, detail: str = "") -> None:
        """Skip a node, with its result."""
        self.skipped[node_id] = Result(id=node_id, outcome=outcome, why=why, detail=detail or msgspec.UNSET)
        self.remaining.remove(node_id)

    def skip_all(self, outcome: Outcome, why: str) -> None:
        """Skip all remaining nodes, with the same result."""
        for node_id in list(self.remaining):
            self.skip(node_id, outcome, why)

    def full(self, local: str) -> str:
        """Return the id of a node with the label of its engine."""
        return f"{self.reader.label}/{local}"

    def queries(
        self, *parts: Statement, about: Sequence[str] | None = None, json: Mapping[str, str] | None = None
    ) -> list[Query]:
        """Return the statements of sections for the remaining nodes, or ``about`` others.

        Those with unmet needs are missing. ``json``: as in `Query`.
        """
        nodes = self.remaining if about is None else about
        lists = {"ids": [self.reader.ids.local(i) for i in nodes], "versions": [self.versions[i] for i in nodes]}
        values, met = {**self.parameters, **lists}, self.reader.detected.met_needs
        return [Query(part, values, json=json) for part in parts if nodes and part.needs <= met]

    async def rows(self, transaction: Transaction, parts: Iterable[Statement], shape: str = "") -> Rows:
        """Return the rows of sections for the remaining nodes.

        ``shape`` names the columns that they must have. Raises DatabaseError.
        """
        queries = self.queries(*parts)
        return rows_of(queries, await transaction.batch(queries), shape)

    def results(self, why: str = "") -> tuple[Result, ...]:
        """Return a result for each node, ordered by id.

        Nodes that were not skipped count as changed. ``why``: what is noted with each of them, instead of ``notes``.
        """
        notes = {} if why else self.notes
        done = (self.skipped.get(i) or _changed(i, *notes.get(i, (why, ""))) for i in sorted(self.versions))
        if self.owners:
            owners = self.owners
            done = (msgspec.structs.replace(r, owner=owners[r.id]) if r.id in owners else r for r in done)
        return titled(done, self._titles)


def _changed(node_id: str, why: str, detail: str) -> Result:
    return Result(id=node_id, outcome=Outcome.CHANGED, why=why, detail=detail or msgspec.UNSET)


def rows_of(queries: Sequence[Query], answers: Sequence[RowsOrError], shape: str = "") -> Rows:
    """Return the rows of several statements, which have the columns of a shape.

    Raises DatabaseError.
    """
    every: list[Rows] = []
    for query, rows in zip(queries, answers, strict=True):
        if isinstance(rows, DatabaseError):
            raise rows
        if shape:
            verify(rows, SHAPES[shape], query.statement.source)
        every.append(rows)
    return every[0] if len(every) == 1 else [row for rows in every for row in rows]
