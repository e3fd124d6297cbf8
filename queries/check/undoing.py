"""Undo of each action: the rows are as they were before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queries.change import perform
from queries.change.loop import commit
from queries.change.plan import plan_entry, plan_versions
from queries.check.actions import ACTION_NODES, REASON, Tried, edit_plan
from queries.check.report import Notebook, first
from queries.check.scripts import filled
from queries.check.subject import Subject
from queries.contract.engine import Engine
from queries.files.statement import Statement
from queries.files.toml_file import TomlFile
from queries.log import audit_log
from queries.read.reader import Reader
from queries.records.action import Change, Outcome, Undo
from queries.workspace import Workspace

RowsByTable = Mapping[str, dict[str, dict[str, Any]]]  # by table and key


async def check_undo(subject: Subject, notes: Notebook) -> None:
    """Commit each action on a database of its own, and undo it. Raises DatabaseError."""
    unseen = Notebook("", TomlFile("", ""))
    database = ""
    for each in subject.tried:
        reused = bool(database)
        database = database or await subject.lab.filled()
        restored = await _tried(subject, database, each, unseen if reused else notes)
        if restored is None and reused:  # an earlier undo may have left something
            database = await subject.lab.filled()
            restored = await _tried(subject, database, each, notes)
        notes.number += restored is not None
        database = database if restored else ""


async def _tried(subject: Subject, database: str, each: Tried, notes: Notebook) -> bool | None:
    """Commit and undo an action.

    Return True if the database is as before, and None after a fault.
    """
    async with subject.opened(database) as (workspace, reader):
        with notes.errors(_at(subject.engine, each), f"{each.action.name}: "):
            return await _check(workspace, reader, each, notes)
    return None


def _at(engine: Engine, tried: Tried, section: str = "change") -> Statement | None:
    return first(engine.actions[tried.action.script][section])


async def _check(workspace: Workspace, reader: Reader, tried: Tried, notes: Notebook) -> bool | None:
    action, at = tried.action, _at(reader.engine, tried)
    ids = list(tried.changed)[:ACTION_NODES]
    before = await _rows(reader)
    outcomes, dry_run = await _commit(workspace, reader, tried, ids)
    if not _changed(outcomes):  # some actions are for one node at a time
        outcomes, dry_run = await _commit(workspace, reader, tried, ids[:1])
    if not _changed(outcomes):
        why = next((f"{r.outcome}: {r.why}" for r in outcomes.results), "")
        notes.fault(at, f"{action.name}: a commit changes nothing: {why}")
        return None
    if action.undo is Undo.NONE:
        return False
    kept = [
        _difference(tried, at, f"{reader.ids.local(i)} as it is: {w}", notes) for i, w in dry_run.irreversible.items()
    ]
    if kept:
        return False if all(kept) else None
    entry = outcomes.entries[0]
    undone = await perform.dry_run(workspace, await plan_entry(workspace, entry), REASON, {"entry": entry})
    done = await commit(workspace, undone, audit_log.operator())
    for result in done.results:
        if result.outcome is not Outcome.CHANGED:
            notes.fault(at, f"{action.name}: the undo is {result.outcome}: {result.why}")
            return None
    rest = [_difference(tried, at, text, notes) for text in _differences(before, await _rows(reader), reader.engine)]
    return None if not all(rest) else not rest


def _difference(tried: Tried, at: Statement | None, text: str, notes: Notebook) -> bool:
    """Note what an undo leaves.

    Return False if it is a fault, because ``undo_note`` does not tell the operator.
    """
    if tried.action.undo_note:
        notes.note(f"{tried.action.name}: an undo leaves {text}")
    else:
        message = f"an undo leaves {text}. Add it to effects, or tell the operator in undo_note"
        notes.fault(at, f"{tried.action.name}: {message}")
    return bool(tried.action.undo_note)


async def _commit(workspace: Workspace, reader: Reader, tried: Tried, ids: Sequence[str]) -> tuple[Change, Change]:
    now = (await reader.nodes.read(ids)).nodes
    plan = plan_versions(workspace, reader.label, tried.action.name, {node.id: node.version for node in now})
    if tried.action.document is not None and now:
        plan = await edit_plan(workspace, reader, tried.action, now[0]) or plan
    dry_run = await perform.dry_run(workspace, plan, REASON, {**tried.arguments, **plan.arguments})
    return await commit(workspace, dry_run, audit_log.operator()), dry_run


def _changed(outcomes: Change) -> bool:
    return any(result.outcome is Outcome.CHANGED for result in outcomes.results)


async def _rows(reader: Reader) -> RowsByTable:
    """Return the rows of all tables of the engine, by table and key."""
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    async with reader.database.reading(60.0) as transaction:
        for name, relation in reader.detected.relations.items():
            rows = await transaction.rows(filled("table_rows", schema=reader.detected.schema, table=name), {})
            decoded = [msgspec.json.decode(row["row"]) for row in rows]
            key = next((i["columns"] for i in relation.indexes if i["unique"] and i["partial"] is None), None)
            tables[name] = {_key(row, key): row for row in decoded}
    return tables


def _key(row: Mapping[str, Any], columns: Sequence[str] | None) -> str:
    """Return the values of a row's key, or of all its columns."""
    return str([row.get(column) for column in columns or row])


def _differences(before: RowsByTable, after: RowsByTable, engine: Engine) -> list[str]:
    """Return what differs, as ``table.column``, without what an undo keeps."""
    spec = engine.spec
    differences = set()
    for table in before.keys() | after.keys():
        if table in spec.append_only:
            continue
        old, new = before.get(table, {}), after.get(table, {})
        differences |= {f"{table}: rows that were added" for key in new.keys() - old.keys()}
        differences |= {f"{table}: rows that are missing" for key in old.keys() - new.keys()}
        for key in old.keys() & new.keys():
            differences |= {f"{table}.{c} changed" for c, value in old[key].items() if new[key].get(c) != value}
    return sorted(each for each in differences if each.removesuffix(" changed") not in spec.counters)
