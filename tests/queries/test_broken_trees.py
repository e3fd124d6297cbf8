"""Trees with rows that no root reaches: what is not shown is named."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import asyncpg
import msgspec
import pytest

from queries.contract.builtin import builtin
from tests.command import unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.outside import HOMEMADE, copied, schema
from tests.queries.builders import opened
from tests.queries.test_extreme_values import ENDLESS, spoil
from tests.servers import PostgresServer

GONE = "gone"
WHOLE = ("tree", "--json", "--depth", "99", "--limit", "5000")
# Rows by number, each with its parent.
SHAPES: dict[str, Mapping[int, int | str]] = {
    "own parent": {0: 0},
    "child of its own parent": {0: 0, 1: 0},
    "ring of two": {0: 1, 1: 0},
    "ring of three": {0: 1, 1: 2, 2: 0},
    "below a ring": {0: 1, 1: 0, 2: 0},
    "orphan": {0: GONE},
    "child of an orphan": {0: GONE, 1: 0, 2: 1},
}
LEAVES = {  # rows without children, all of one tree
    "homemade": "SELECT id FROM work_items w WHERE NOT EXISTS (SELECT FROM work_items WHERE parent_id = w.id) LIMIT 3",
    "estuary": "SELECT task_id FROM tasks w WHERE NOT EXISTS (SELECT FROM tasks WHERE parent_id = w.task_id) LIMIT 3",
    "tasker": "SELECT (array_agg(workflow_step_uuid ORDER BY workflow_step_uuid))[n] FROM workflow_steps,"
    " generate_series(1, 3) n WHERE task_uuid = (SELECT task_uuid FROM workflow_steps GROUP BY 1"
    " HAVING count(*) >= 4 ORDER BY 1 LIMIT 1) GROUP BY n ORDER BY n",
}
CHANGES = {  # $1: row, $2: parent or NULL for one that does not exist
    "homemade": "UPDATE work_items SET parent_id = coalesce($2, 999999) WHERE id = $1",
    "estuary": "UPDATE tasks SET parent_id = coalesce($2, '01:02:03:04:05:06:07:08'::macaddr8) WHERE task_id = $1",
    "tasker": "INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)"
    " VALUES (coalesce($2, gen_random_uuid()), $1, 'x', now(), now())",
}
KINDS = {"homemade": ("item", "work_items"), "estuary": ("task", "tasks"), "tasker": ("step", "workflow_steps")}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_rows_that_are_shown_and_those_that_are_named_are_all(
    server: PostgresServer, tmp_path: Path, name: str, shape: str
) -> None:
    dsn = server.fresh() if name == "homemade" else server.fresh(name, filled=True)
    if name == "homemade":
        copied(tmp_path / "engines", source=HOMEMADE)
        server.sql(schema(HOMEMADE), dsn)
    connection = await asyncpg.connect(dsn)
    leaves = [row[0] for row in await connection.fetch(LEAVES[name])]
    await connection.execute("SET session_replication_role = replica")  # as a bulk load, without foreign keys
    for row, parent in SHAPES[shape].items():
        await connection.execute(CHANGES[name], leaves[row], None if parent == GONE else leaves[int(parent)])
    kind, table = KINDS[name]
    total = await connection.fetchval(f"SELECT count(*) FROM {table}")
    await connection.close()
    words = ["tree", "--json", "--depth", "99", "--limit", "5000"]
    words += ["--engines", str(tmp_path / "engines")] if name == "homemade" else []
    answer = await asyncio.to_thread(unstick, *words, dsn=dsn, home=tmp_path)
    assert answer.code == 0, answer.err
    shown = [node["id"] for node in answer.json["nodes"] if node["kind"] == kind]
    named = sum(map(int, re.findall(r"not (\d+) ", " ".join(answer.json["notes"]))))
    assert len(shown) == len(set(shown))
    assert len(shown) + named == total, answer.json["notes"]
    assert answer.json["complete"] == (named == 0)
    server.drop(dsn)


async def test_children_that_cost_too_much_time_are_lost_alone(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    slow, fast = [f"job:{(await eternaltwin_db.row(await eternaltwin_db.task()))['job_id']}" for _ in range(2)]
    workspace = await opened(eternaltwin, tmp_path)
    reader = workspace.engines["eternaltwin"]
    (chosen,) = [each for each in reader.variant.engine.statements["children"] if "task" not in each.kinds]
    sleep = f"pg_sleep(CASE ${chosen.parameters.index('parent') + 1} WHEN '{slow}' THEN 60 ELSE 0 END)"
    text = f"SELECT s.* FROM (SELECT {sleep}) AS p, LATERAL ({chosen.text}) AS s"
    reader.variant.engine.statements["children"] = (msgspec.structs.replace(chosen, text=text),)
    lost, read = await reader.pages.below([f"eternaltwin/{slow}", f"eternaltwin/{fast}"])
    assert [node.kind for node in (*lost.nodes, *read.nodes)] == ["task"]
    assert "An index on the column of the parent" in lost.scan_required.why
    await workspace.close()


WITHOUT_INDEXES = """SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index
 WHERE indrelid = ANY (SELECT to_regclass(t) FROM unnest($1::text[]) t)
   AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)"""
ODD = ("as it is", "-infinity", "infinity", "without indexes")  # a third of the times is infinite
LISTED = {("tasker", "dead_letter")}  # by `dead`, not in the tree


@pytest.mark.parametrize("name", sorted(engine.name for engine in builtin()))
@pytest.mark.parametrize("shape", ODD)
async def test_an_answer_that_is_called_complete_has_every_row(
    server: PostgresServer, tmp_path: Path, name: str, shape: str
) -> None:
    dsn = server.fresh(name, filled=True)
    (spec,) = [engine.spec for engine in builtin() if engine.name == name]
    if "infinity" in shape:
        await spoil(dsn, ENDLESS, ODD.index(shape) - 1)
    connection = await asyncpg.connect(dsn)
    if shape == "without indexes":
        for (statement,) in await connection.fetch(WITHOUT_INDEXES, list(spec.recognise.relations)):
            await connection.execute(statement)
    answer = await asyncio.to_thread(unstick, *WHOLE, dsn=dsn, home=tmp_path)
    shown = Counter(node["kind"] for node in answer.json["nodes"])
    kinds = [kind for kind in spec.kinds if kind.table and (name, kind.name) not in LISTED]
    there = {kind.name: await connection.fetchval(f"SELECT count(*) FROM {kind.table}") for kind in kinds}
    missing = {kind: n - shown[kind] for kind, n in there.items() if n != shown[kind]}
    await connection.close()
    assert answer.json["complete"] == (not missing and not answer.json["notes"]), (missing, answer.json["notes"])
    assert shape == "without indexes" or name in ("oban", "solid_queue") or answer.json["complete"]
    part = await asyncio.to_thread(unstick, *WHOLE[:2], "--depth", "1", dsn=dsn, home=tmp_path)
    assert not part.json["complete"]
    server.drop(dsn)


FREE = "ALTER TABLE work_items DROP CONSTRAINT work_items_state_check, ALTER state DROP NOT NULL"
UNDECLARED = {  # changes, and what of it is named
    "SELECT 1": None,
    "UPDATE work_items SET state = 'paused' WHERE id < 3": "not 2 of the kind item with the status paused (2)",
    "UPDATE work_items SET state = NULL WHERE id = 1": "not 1 of the kind item with the status NULL (1)",
    "INSERT INTO work_items (task, state) SELECT 'x', 'done' FROM generate_series(1, 10100)": "without a search for",
}


@pytest.mark.parametrize("change", UNDECLARED)
async def test_live_names_rows_of_undeclared_statuses(server: PostgresServer, tmp_path: Path, change: str) -> None:
    dsn = server.fresh()
    copied(tmp_path / "engines", source=HOMEMADE)
    server.sql(f"{schema(HOMEMADE)}; {FREE}; {change}", dsn)
    words = ("tree", "--live", "--json", "--limit", "5000", "--engines", str(tmp_path / "engines"))
    answer = (await asyncio.to_thread(unstick, *words, dsn=dsn, home=tmp_path)).json
    named = UNDECLARED[change]
    assert answer["complete"] == (named is None), answer["notes"]
    assert (named or "") in " ".join(answer["notes"])
    server.drop(dsn)
