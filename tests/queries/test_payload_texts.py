"""Foreign JSON documents keep their text when an action changes their rows.

Every document gets members that another spelling would change: numbers, the order of keys, keys that occur twice,
escapes. An action may change the members in CHANGED; the others keep their text there too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.change import loop, perform
from queries.change.plan import plan_versions
from queries.check.actions import edit_plan
from queries.check.lab import TIMEOUT_FACTOR
from queries.check.nodes import known_nodes
from queries.contract.builtin import builtin
from queries.contract.spec import Action
from queries.db.database import Database
from queries.log import audit_log
from queries.read.reader import Reader
from queries.records.action import Change, Outcome, Undo
from queries.records.node import Node
from queries.workspace import Workspace
from tests.proof import most_in_proof, repeated
from tests.queries.builders import OPERATOR, opened, undone
from tests.queries.test_undo_rounds import ARGUMENTS
from tests.servers import PostgresServer

NODES = 3  # nodes of each action
SLOW = ("estuary", "tasker")  # engines with many actions
FLAGS = {"flag": True, "int": 1, "json": {}, "text": "x"}
SPELLED = ["1.0e+20", "1E400", "0.10", "-0.0", r'"\u0000"', r'"\ud800\u0001"', r'"\\u0000\"\\/"', "[ 1,\n2 ]", "{}",
           '{"zz":1,"a":2, "a":3.10}']  # fmt: skip
STORED = ["1.10", "-0.0", "1e20", '{"a": 2, "zz": 1.50}', r'"\\u0000\""']  # values that jsonb can hold
CHANGED = {  # members of documents that an action changes
    ("solid_queue", "retry"): {"executions", "exception_executions"},
    ("oban", "retry"): {"uniq_bmp"},
    ("tasker", "resolve"): {"unstick"},
    ("tasker", "revive"): {"unstick"},
}
REPLACED = {("tasker", "complete"): "workflow_steps.results"}  # columns that get the operator's own document
COLUMNS = """
SELECT c.oid::regclass::text, quote_ident(a.attname), format_type(a.atttypid, NULL),
       coalesce((SELECT string_agg(format('%I::text', k.attname), ' || '' '' || ' ORDER BY k.attnum)
                   FROM pg_index i JOIN pg_attribute k ON k.attrelid = i.indrelid AND k.attnum = ANY (i.indkey)
                  WHERE i.indrelid = c.oid AND i.indisprimary), 'ctid::text')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'unstick') AND n.nspname NOT LIKE 'pg\\_%'
   AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
   AND format_type(a.atttypid, NULL) IN ('json', 'jsonb', 'text', 'character varying', 'bytea', 'json[]', 'jsonb[]')
"""
Documents = dict[tuple[str, str], list[str]]  # texts by column and key of the row; an array has several


def spelled(rng: Random, text: str, values: list[str]) -> str:
    """Return a JSON object with more members, or another text as it is."""
    try:
        members = json.loads(text)
    except ValueError:
        return text
    if not isinstance(members, dict):
        return text
    inserted = ",".join(f'"x{n}":{rng.choice(values)}' for n in range(3))
    return text.replace("{", "{" + inserted + ("," if members else ""), 1)


async def documents(connection: asyncpg.Connection[Any], rng: Random | None = None) -> Documents:
    """Return all texts that may be JSON.

    With ``rng``, first spell members in odd ways. Triggers and constraints of foreign keys do not see that.
    """
    found: Documents = {}
    await connection.execute(f"SET session_replication_role = {'origin' if rng is None else 'replica'}")
    for relation, column, type_, key in await connection.fetch(COLUMNS):
        array, binary = type_.endswith("[]"), type_ == "bytea"
        value = f"{column}::text[]" if array else f"ARRAY[{column}::text]"
        value = f"ARRAY[encode({column}, 'escape')]" if binary else value
        query = f"SELECT {key}, ctid::text, {value} FROM {relation} WHERE {column} IS NOT NULL"
        query += f" AND substr({column}, 1, 1) = '{{'::bytea" if binary else ""
        for name, place, texts in await connection.fetch(query):
            if rng is not None and column != "snapshot":
                old, texts = texts, [spelled(rng, text, STORED if "jsonb" in type_ else SPELLED) for text in texts]
                if binary:
                    texts = [text.replace("\\\\", "\\") if text == old[0] else text for text in texts]
                if texts != old:
                    new = f"$1::text[]::{type_}" if array else f"($1::text[])[1]::{type_}"
                    new = "convert_to(($1::text[])[1], 'UTF8')" if binary else new
                    update = f"UPDATE {relation} SET {column} = {new} WHERE ctid = $2::text::tid"
                    await connection.execute(update, texts, place)
            found[f"{relation}.{column}", name] = texts
    return found if rng is None else await documents(connection)


def pairs(text: str, without: Collection[str]) -> list[Any]:
    """Return the members of an object in order, with numbers as they are spelled."""
    read = json.loads(text, parse_float=str, parse_int=str, object_pairs_hook=list)
    return [pair for pair in read if pair[0] not in without]


def compare(before: Documents, after: Documents, changed: Collection[str], edited: Collection[str]) -> None:
    """Assert that texts are the same.

    Members that an action changes, and texts that were edited, may differ.
    """
    known = set(map(tuple, before.values()))
    for place, texts in before.items():
        now = after.get(place)
        copied = now is not None and tuple(now) in known  # a copy of another one is exact, too
        if now is None or copied or (edited and texts[0].startswith("{")):
            continue
        if len(texts) != 1 or len(now) != 1:  # messages were added or removed
            assert all(text in texts or '"x0"' not in text for text in now), (place, texts, now)
        elif texts[0].startswith("{") and '"x0"' in texts[0]:
            assert changed, (place, texts, now)
            assert pairs(texts[0], changed) == pairs(now[0], changed), place


def arguments_of(name: str, action: Action, node: Node) -> dict[str, Any]:
    """Return arguments with which an action changes as much as it can."""
    given = {a.name: FLAGS.get(a.type, (*a.choices, "")[0]) for a in action.arguments if a.required or a.type == "flag"}
    given |= ARGUMENTS.get((name, action.name), {})
    return given | ({"confirm": node.title.partition(" - ")[0]} if "confirm" in given else {})


STAYS = re.compile("^irreversible|which undo does not restore")


async def act(workspace: Workspace, engine: Reader, action: Action, node: Node) -> Change | None:
    """Do an action on a node; return None if it is refused."""
    plan = plan_versions(workspace, engine.label, action.name, {node.id: node.version})
    arguments = arguments_of(engine.engine.name, action, node)
    if action.document is not None:
        edit = await edit_plan(workspace, engine, action, node)
        if edit is None:
            return None
        plan, arguments = edit, arguments | dict(edit.arguments)
    dry_run = await perform.dry_run(workspace, plan, "a test", arguments)
    if not any(each.outcome is Outcome.CHANGED for each in dry_run.results):
        return None
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert {each.outcome for each in outcomes.results} == {Outcome.CHANGED}, outcomes.results
    return outcomes


@pytest.mark.timeout(1800)
@repeated(few=1, many=2)
@pytest.mark.parametrize("name", most_in_proof(sorted((e.name for e in builtin()), key=SLOW.__contains__)))
async def test_no_action_spells_a_document_in_another_way(
    server: PostgresServer, tmp_path: Path, name: str, times: int
) -> None:
    for seed in range(times):
        rng, dsn, done = Random(f"{name}/{seed}"), server.fresh(name, filled=True), Counter[str]()
        server.sql(audit_log.ddl(), dsn)
        connection = await asyncpg.connect(dsn, server_settings={"search_path": "public"})
        await documents(connection, rng)
        workspace = await Workspace(Database(dsn, patience=TIMEOUT_FACTOR), file=tmp_path / f"{seed}.jsonl").open()
        (engine,) = workspace.engines.values()
        nodes = [*(await known_nodes(engine)).values()]
        for action in [each for each in engine.engine.actions_here if each.writes]:
            able = [node for node in nodes if node.kind in action.kinds]
            for node in rng.sample(able, len(able)):
                if done[action.name] == NODES:
                    break
                (now,) = (await engine.nodes.read([node.id])).nodes or (None,)
                if now is None or not engine.availability(action, now).ok:
                    continue
                before = await documents(connection)
                outcomes = await act(workspace, engine, action, now)
                if outcomes is None:
                    continue
                done[action.name] += 1
                changed = CHANGED.get((name, action.name), ())
                whole = REPLACED.get((name, action.name))
                kept = {place: texts for place, texts in before.items() if place[0] != whole}
                compare(kept, await documents(connection), changed, [action.name] if action.document else [])
                if action.undo is not Undo.NONE and outcomes.entries:
                    undo = await undone(workspace, outcomes)
                    if {each.outcome for each in undo.results} == {Outcome.CHANGED}:
                        compare(before, await documents(connection), (), ())
                        done["undone"] += 1
                    else:  # a message or a result that was recorded stays, and nothing else is a reason
                        assert all(map(STAYS.search, (each.why for each in undo.results))), undo.results
        assert done["undone"]
        print(name, dict(done))
        await workspace.close()
        await connection.close()
        server.drop(dsn)


@pytest.mark.parametrize("table", [True, False], ids=["table", "file"])
async def test_a_document_that_parsers_refuse_is_logged_and_undone(
    server: PostgresServer, tmp_path: Path, table: bool
) -> None:
    """A single surrogate, and a number that is too large for a float."""
    dsn, payload = server.fresh("graphile_worker", filled=True), r'{"a":"\ud800","b":1E400,"c":"\u0000"}'
    if table:
        server.sql(audit_log.ddl(), dsn)
    connection = await asyncpg.connect(dsn)
    tables = "SELECT oid::regclass::text FROM pg_class WHERE relname = '_private_jobs' AND relkind = 'r'"
    relation = await connection.fetchval(tables)
    await connection.execute(f"UPDATE {relation} SET payload = $1", payload)
    workspace = await opened(dsn, tmp_path)
    (engine,) = workspace.engines.values()
    action = next(each for each in engine.engine.actions_here if each.name == "delete")
    nodes = (await known_nodes(engine)).values()
    node = next(n for n in nodes if n.kind in action.kinds and engine.availability(action, n).ok)
    outcomes = await act(workspace, engine, action, node)
    assert outcomes is not None
    (entry,) = await workspace.audit_log.find(outcomes.entries[0], changes=True)
    (change,) = [each for each in entry.changes if each.table.endswith("jobs")]
    assert change.before is not None
    assert change.before["payload"] == {"a": r"\ud800", "b": "1E400", "c": "\0"}
    await undone(workspace, outcomes)
    texts = {row[0] for row in await connection.fetch(f"SELECT payload::text FROM {relation}")}
    assert texts == {payload}
    await workspace.close()
    await connection.close()
    server.drop(dsn)
