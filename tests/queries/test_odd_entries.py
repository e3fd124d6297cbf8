"""An entry of the audit log that unstick did not write costs itself only."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.model import export
from console.text import spans
from console.text.views.audit_entry import entry_lines, summary
from queries.change import loop, perform
from queries.change import run as runs
from queries.change.plan import plan_entry
from queries.change.state import State
from queries.db.errors import DatabaseError
from queries.log import audit_log
from queries.log.audit_log import Criteria
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries import odd
from tests.queries.builders import do, opened


@pytest.fixture
async def workspace(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    yield workspace
    await workspace.close()


async def all_entries(workspace: Workspace, conditions: Criteria = audit_log.ALL) -> dict[str, Any]:
    return {entry.id: entry async for entry in workspace.audit_log.stream(None, conditions)}


async def test_each_odd_entry_is_listed_beside_the_genuine_ones(
    workspace: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=30))
    genuine = [await do(workspace, "wake", [node], {"untimed": True})]
    names = {await odd.store(eternaltwin_db.connection, each, node): each for each in odd.forged()}
    genuine.append(await do(workspace, "cancel", [node]))
    entries = await all_entries(workspace)
    assert entries.keys() == {*names, *(entry for done in genuine for entry in done.entries)}
    unreadable = {name for entry, (name, _) in names.items() if entries[entry].unreadable}
    assert {"results=number", "results[0]=null", "result.id=number", "changes=text", "arguments=list"} <= unreadable
    assert {"outcome of a later version", "results=deep", "results[0]=deep_object"} <= unreadable
    assert (
        not {
            "change.before.a=deep",
            "change.before.a=nul",
            "change.before.a=out_of_range",
            "result.title=text",
            "run.begin.nodes=text",
        }
        & unreadable
    )
    assert not any(entries[each].unreadable for done in genuine for each in done.entries)
    without = await all_entries(workspace, Criteria(changes=False))
    assert without.keys() == entries.keys()
    for entry in (*entries.values(), *without.values()):
        for spans_ in (
            summary(entry, node),
            summary(entry),
            *entry_lines(entry, 100),
            *entry_lines(entry, 100, node_id=node),
        ):
            spans.text(spans_)
        lines = list(export.csv_rows(entry)) + list(export.markdown_rows(export.MARKDOWN, [entry]))
        assert lines
        json.loads(msgspec.json.encode(entry))
    for conditions in (Criteria(outcome=Outcome.CHANGED), Criteria(target=node), Criteria(action="wake", who="anna")):
        assert {genuine[0].entries[0]} <= (await all_entries(workspace, conditions)).keys()
    about, why = await workspace.audit_log.newest(node, len(entries))
    assert not why
    assert {done.entries[0] for done in genuine} <= {entry.id for entry in about}
    verification = await workspace.audit_log.verify()
    named = {problem.id for problem in verification.problems if problem.code == "unreadable"}
    not_read = {"changes=long", "change.before=long", "change.after=long"}  # rows of more than 64 kB
    assert {names[entry].name for entry in named} == unreadable - not_read
    assert {problem.code for problem in verification.problems} <= {"unreadable", "backdated"}


async def test_no_odd_entry_ends_a_command_about_it(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    """Also about a run that the entry begins or is a part of."""
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=30))
    await do(workspace, "wake", [node], {"untimed": True})
    names = {await odd.store(eternaltwin_db.connection, each, node): each.name for each in odd.forged()}
    refusals: set[str] = set()
    for each in (await all_entries(workspace)).values():
        with contextlib.suppress(DatabaseError):
            runs.fold(workspace, "eternaltwin", State(), [each])
    for entry, name in names.items():
        try:
            plan = await plan_entry(workspace, entry)
            if name.startswith(("result", "outcome")):
                dry_run = await perform.dry_run(workspace, plan, "wrong", plan.arguments)
                assert not dry_run.nodes, f"{name} can be undone"
        except DatabaseError as error:
            refusals.add(error.line.partition(str(entry))[2])
        with contextlib.suppress(DatabaseError):
            await loop.look(workspace, await runs.load(workspace, entry))
    assert any("cannot be read: results: Expected `array`, got `int`" in line for line in refusals)
    listed = await runs.listed(workspace, len(names))
    begun = {entry for entry, name in names.items() if name.startswith("run.begin") and ".id=" not in name}
    assert {run.run for run in listed.runs} >= begun
    json.loads(msgspec.json.encode(listed))
    assert all("Unfinished" in line or "more" in line for line in await runs.messages(workspace))


async def test_no_odd_list_of_nodes_ends_a_command(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    refused: dict[str, str] = {}
    for name, content in odd.members():
        run = await odd.begin(eternaltwin_db.connection, content)
        try:
            loaded = await runs.load(workspace, run)
            await loop.look(workspace, loaded)
            runs.part_of(workspace, loaded.plan, loaded.plan.ids)
        except DatabaseError as error:
            refused[name] = error.line
    assert all("cannot be read" in why for why in refused.values())
    assert {"members=text", "list=null", "member=huge", "member[0]=text", "member[0]=empty"} <= refused.keys()
    assert not {"member[1]=text", "member[2]=lines"} & refused.keys()


async def test_no_odd_images_end_an_undo(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task())
    results = json.dumps([{"id": node, "outcome": "changed"}])
    row = f'["{node.partition("/")[2]}", ["1"], {{}}, "x", "1"]'
    table = '{{"tables": [{{"table": "task", "key": ["task_id"], "columns": [], "others": [], "rows": [{}]}}]}}'
    for value in {**odd.VALUES, **odd.JSON_ONLY}.values():
        parts = (value, f'{{"tables": {value}}}', table.format(value), table.format(row.replace('"x"', value)))
        for content in (*parts, table.format(row.replace("{}", value)), f'{{"incomplete": {value}}}'):
            entry = await odd.store_images(eternaltwin_db.connection, content, results=results)
            plan = await plan_entry(workspace, entry)
            try:
                dry_run = await perform.dry_run(workspace, plan, "wrong", plan.arguments)
            except DatabaseError:
                continue
            assert not dry_run.nodes
