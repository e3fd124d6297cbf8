"""Open a workspace, run actions as an operator does, and read the outcomes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from queries.change import edit, perform
from queries.change.loop import Loop, commit
from queries.change.plan import Plan, plan_entry, plan_versions
from queries.change.run import Run
from queries.change.state import Do, Step
from queries.db.database import Database
from queries.db.errors import DatabaseError
from queries.log import audit_log
from queries.read import documents
from queries.read.reader import Reader
from queries.records.action import Change, Outcome, Result
from queries.records.finding import Finding
from queries.records.node import Node, Page
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL

OPERATOR = audit_log.Operator(os_user="anna", host="laptop")


async def opened(
    dsn: str, folder: Path, *, later: bool = False, patience: float = 1.0, override_read_only: bool = False, **more: Any
) -> Workspace:
    """Open a workspace with its local audit log in ``folder``."""
    database = Database(dsn, patience=patience, override_read_only=override_read_only)
    return await Workspace(database, file=folder / "audit_log.jsonl", **more).open(later=later)


def reader(workspace: Workspace, label: str = LABEL) -> Reader:
    return workspace.engines[label]


def local(page: Page) -> list[str]:
    """Return the ids of its nodes within their engine."""
    return [node.id.partition("/")[2] for node in page.nodes]


async def findings_of(workspace: Workspace, label: str = LABEL, **options: Any) -> dict[str, list[Finding]]:
    """Read the findings, and return them by code."""
    findings = await reader(workspace, label).findings.read(**options)
    assert findings.skipped_findings == ()
    codes: dict[str, list[Finding]] = {}
    for finding in findings.findings:
        assert "?" not in finding.sentence, finding.sentence
        codes.setdefault(finding.code, []).append(finding)
    return codes


async def seen(workspace: Workspace, ids: Iterable[str], label: str = LABEL) -> dict[str, str]:
    """Return the nodes' versions, as the operator's screen shows them."""
    return {node.id: node.version for node in (await reader(workspace, label).nodes.read(ids)).nodes}


async def dry_run_of(
    workspace: Workspace,
    action: str,
    ids: Iterable[str] | Mapping[str, str],
    arguments: Mapping[str, Any] | None = None,
    label: str = LABEL,
) -> Change:
    """Return the dry run of the dialog, for current versions or the ``seen`` ones."""
    versions = dict(ids) if isinstance(ids, Mapping) else await seen(workspace, ids, label)
    return await perform.dry_run(
        workspace, plan_versions(workspace, label, action, versions), "it was stuck", arguments or {}
    )


async def do(
    workspace: Workspace,
    action: str,
    ids: Iterable[str] | Mapping[str, str],
    arguments: Mapping[str, Any] | None = None,
    label: str = LABEL,
) -> Change:
    """Read the versions, dry-run the action and commit it."""
    dry_run = await dry_run_of(workspace, action, ids, arguments, label)
    return await commit(workspace, dry_run, OPERATOR)


def outcomes_of(results: Change | Iterable[Result]) -> dict[str, Outcome]:
    """Return the outcomes by node id."""
    given = results.results if isinstance(results, Change) else results
    return {r.id: r.outcome for r in given}


def why(results: Change, node_id: str) -> str:
    return next(r.why for r in results.results if r.id == node_id)


def detail(results: Change | Iterable[Result], node_id: str) -> str:
    given = results.results if isinstance(results, Change) else results
    found = next(r.detail for r in given if r.id == node_id)
    assert isinstance(found, str)
    return found


async def planned_edit(
    workspace: Workspace, node_id: str, change: Callable[[str], str], label: str = LABEL, name: str = "edit"
) -> Plan:
    """Read the text of a node, edit it as ``change`` does, and return the plan."""
    engine = reader(workspace, label)
    (node,) = (await engine.nodes.read([node_id])).nodes
    action = engine.engine.action(name, node.kind)
    assert action is not None
    document = await documents.read(engine, action, node.id)
    return edit.planned(workspace, engine, name, node, document, change(edit.shown(document.text)))


async def dry_run_edit(
    workspace: Workspace, node_id: str, change: Callable[[str], str], label: str = LABEL, **arguments: Any
) -> Change:
    """Return the dry run of an edit."""
    plan = await planned_edit(workspace, node_id, change, label)
    return await perform.dry_run(workspace, plan, "wrong input", {**plan.arguments, **arguments})


def instead(old: str, new: str) -> Callable[[str], str]:
    """Return an edit that replaces a part of the text."""

    def change(text: str) -> str:
        assert old in text, text
        return text.replace(old, new, 1)

    return change


async def committed(workspace: Workspace, dry_run: Change) -> Change:
    """Commit what was dry-run."""
    return await commit(workspace, dry_run, OPERATOR)


async def undone(workspace: Workspace, done: Change) -> Change:
    """Undo the entry of these outcomes."""
    plan = await plan_entry(workspace, done.entries[0])
    return await committed(workspace, await perform.dry_run(workspace, plan, "wrong", {"entry": done.entries[0]}))


def marks(dry_run: Change) -> list[tuple[str, str, bool]]:
    """Return path and code of each mark, and whether the edit causes it."""
    assert dry_run.edit is not None
    return [(mark.path, mark.code, mark.new) for mark in dry_run.edit.marks]


async def edits(workspace: Workspace, label: str, nodes: Iterable[Node], name: str = "edit") -> AsyncIterator[Plan]:
    """Yield plans that edit the texts of nodes, as far as they can be edited.

    The last object of a text gets another key.
    """
    for node in nodes:
        with contextlib.suppress(DatabaseError):
            yield await planned_edit(workspace, node.id, _with_a_key, label, name)


def _with_a_key(text: str) -> str:
    head, brace, tail = text.rpartition("}")
    return f'{head.rstrip()}{"" if head.rstrip().endswith("{") else ","} "edited": 1.50{brace}{tail}'


class Progress(NamedTuple):
    """Progress of a change since the last step.

    ``waits``: seconds until the next attempt to reach the server.
    """

    done: int
    results: tuple[Result, ...]
    waits: float | None
    loop: Loop

    @property
    def run(self) -> Run | None:
        """The run, if it is one."""
        return self.loop.run


async def steps(workspace: Workspace, dry_run: Change, run: Run | None = None) -> AsyncIterator[Progress]:
    """Commit a dry run, or continue a run with it. Yield after each step."""
    change = await Loop(workspace, dry_run, OPERATOR, run=run).begin()
    known: set[str] = set()

    def progress(step: Step | None) -> Progress:
        results = tuple(r for r in change.state.results.values() if r.id not in known)
        known.update(r.id for r in results)
        waits = step.seconds if step is not None and step.do is Do.PAUSE else None
        return Progress(len(change.state.results), results, waits, change)

    async with contextlib.aclosing(change.steps()) as found:
        async for step in found:
            yield progress(step)
    yield progress(None)
