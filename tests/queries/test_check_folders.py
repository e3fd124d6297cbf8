"""Checks of parts that the home-made engine does not have."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path

import asyncpg
import pytest

from queries.check import prove
from queries.check.lab import Lab
from queries.check.prove import Loaded
from queries.check.report import Check
from queries.check.scripts import script
from queries.contract.builtin import builtin_folder
from queries.contract.folder import TRY
from queries.contract.loader import load
from queries.text.psql_text import array
from tests.outside import HOMEMADE, MORE, change, copied
from tests.proof import most_in_proof, proof
from tests.servers import PostgresServer

TOML, SCHEMA, FIXTURE = "engine.toml", "schema.sql", "fixture.sql"
LARGE = 150_000
EDIT = """
[actions.edit]
from = ["failed"]
effect = "Replaces the payload."
[arguments]
payload = { type = "document", title = "payload of the item", required = true }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder in which almost everything is derived."""
    return copied(tmp_path / "engines", source=HOMEMADE)


def with_edit(folder: Path) -> None:
    (folder / TOML).write_text((folder / TOML).read_text() + EDIT)
    (folder / "actions").mkdir(mode=0o700)
    shutil.copy(MORE / "edit.sql", folder / "actions")


async def checks(server: PostgresServer, folder: Path, place: Path, names: Collection[str]) -> list[Check]:
    loaded = Loaded(folder)
    assert loaded.engine is not None, [str(fault) for fault in loaded.check.faults]
    lab = Lab(server, place, loaded.script(SCHEMA), loaded.script(FIXTURE))
    try:
        return [check async for check in prove.prove(loaded.engine, loaded.toml, lab, names, rows=LARGE)]
    finally:
        await lab.close()


def faults(found: Collection[Check]) -> list[str]:
    return [str(fault) for check in found for fault in check.faults]


async def test_an_action_changes_what_a_generated_column_follows_from(
    server: PostgresServer, tmp_path: Path, folder: Path
) -> None:
    """The column is in no ``overwrites``, and the undo restores it."""
    column = "  free boolean GENERATED ALWAYS AS (taken_at IS NULL) STORED,\n  error text\n"
    change(folder, SCHEMA, "  error text\n", column)
    found = await checks(server, folder, tmp_path, (prove.ACTIONS, prove.UNDO))
    assert faults(found) == []
    assert [note for check in found for note in check.notes] == []


async def test_a_release_after_which_no_worker_takes_the_row_is_a_fault(
    server: PostgresServer, tmp_path: Path, folder: Path
) -> None:
    change(folder, TOML, """set = { state = "'todo'", taken_by""", "set = { taken_by")
    (fault,) = faults(await checks(server, folder, tmp_path, (prove.ACTIONS,)))
    assert "release: after it no worker takes a node of the fixture: todo" in fault


@proof
async def test_many_unfinished_statuses_are_bounded(server: PostgresServer, tmp_path: Path, folder: Path) -> None:
    """Each part reads its page, and the counts 10,000 rows of each status."""
    words = [f"wait_{n}" for n in range(20)]
    change(folder, SCHEMA, "'cancelled')", "'cancelled', " + ", ".join(f"'{word}'" for word in words) + ")")
    change(
        folder, TOML, 'doing = "running', "\n".join(f'{w} = "ready: it waits"' for w in words) + '\ndoing = "running'
    )
    rows = "; ".join(f"INSERT INTO work_items (task, state) VALUES ('x', '{word}')" for word in words)
    (folder / FIXTURE).write_text((folder / FIXTURE).read_text() + rows)
    (found,) = await checks(server, folder, tmp_path, (prove.PLANS,))
    assert found.faults == ()
    assert found.number


@proof
async def test_a_status_that_is_no_column_says_what_large_tables_need(
    server: PostgresServer, tmp_path: Path, folder: Path
) -> None:
    change(folder, TOML, 'status = "state"', "status = \"CASE WHEN t.state = 'todo' THEN 'todo' ELSE t.state END\"")
    (found,) = await checks(server, folder, tmp_path, (prove.PLANS,))
    assert found.faults == ()
    (note,) = (note for note in found.notes if note.startswith("live: "))
    assert "the status of work_items is no column" in note
    assert "live.sql" in note


@proof
async def test_dead_letters_have_an_index_in_their_order(server: PostgresServer, tmp_path: Path, folder: Path) -> None:
    """No row lacks the time, so a search for rows without one must not read them all."""
    change(folder, SCHEMA, "  error text\n", "  error text,\n  failed_at timestamptz\n")
    failed = ";\nUPDATE work_items SET failed_at = due WHERE state = 'failed';\n"
    (folder / FIXTURE).write_text((folder / FIXTURE).read_text() + failed)
    change(folder, TOML, "error text", "error text, failed_at timestamptz")
    change(folder, TOML, 'dead_since = "due"', 'dead_since = "failed_at"')
    found = await checks(server, folder, tmp_path, (prove.FINDINGS, prove.INDEXES, prove.PLANS))
    assert faults(found) == []
    notes = [note for check in found for note in check.notes if "dead" in note]
    assert [note for note in notes if "since is NULL" not in note] == []


async def test_a_list_without_an_index_is_named(server: PostgresServer, tmp_path: Path, folder: Path) -> None:
    change(
        folder,
        TOML,
        "\n[kinds.item]",
        '\nneeds.by_state = { table = "work_items", columns = ["state"] }\n\n[kinds.item]',
    )
    (found,) = await checks(server, folder, tmp_path, (prove.PLANS,))
    assert [fault.message.partition(":")[0] for fault in found.faults] == ["counts"], faults([found])


async def test_copies_of_rows_refer_to_copies_of_their_parents(server: PostgresServer) -> None:
    dsn = server.fresh()
    tables = """
      CREATE TABLE queue (name text PRIMARY KEY);
      CREATE TABLE job (id int8 PRIMARY KEY, queue text REFERENCES queue, parent int8, ref uuid UNIQUE);
      CREATE TABLE step (job int8 PRIMARY KEY REFERENCES job, ref uuid REFERENCES job (ref), at timestamptz);
      INSERT INTO queue VALUES ('a'), ('b');
      INSERT INTO job VALUES (7, 'a', NULL, gen_random_uuid()), (8, 'b', 7, gen_random_uuid());
      INSERT INTO step SELECT id, ref, now() FROM job;
    """
    server.sql(tables, dsn)
    references = json.dumps([{"table": "job", "column": "parent", "of": "job", "key": "id"}])
    names = array(["queue", "job", "step"])
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(script("multiply", schema="public", tables=names, references=references, rows="1000"))
        for query, want in (
            ("SELECT count(*) FROM job", 1002),
            ("SELECT count(DISTINCT queue) FROM job", 1002),
            ("SELECT count(DISTINCT parent) FROM job", 501),
            ("SELECT count(*) FROM job WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM job)", 0),
            ("SELECT count(*) FROM step JOIN job ON job.id = step.job AND job.ref = step.ref", 1002),
            ("SELECT count(*) FROM job LEFT JOIN queue ON queue.name = job.queue WHERE queue.name IS NULL", 0),
        ):
            assert await connection.fetchval(query) == want, query
    finally:
        await connection.close()
        server.drop(dsn)


async def test_an_edited_text_is_stored_and_undone(server: PostgresServer, tmp_path: Path, folder: Path) -> None:
    with_edit(folder)
    found = await checks(server, folder, tmp_path, (prove.ACTIONS, prove.UNDO, prove.PRIVILEGES))
    assert faults(found) == []
    assert not [note for check in found for note in check.notes if "edit" in note]


ANOTHER = """
title = "Workers"
about = "Workers of another engine."
recognise.relations.procrastinate_workers = "id int8, last_heartbeat timestamptz"
kinds.worker = { table = "procrastinate_workers", columns = { status = "'alive'" } }
statuses.alive = "running: it works"
"""
SEEN = "\n   AND md5(t.payload::text) = :args -> 'payload' ->> 'seen'"
EDIT_MISTAKES = {
    "another text": [(SEEN, "")],
    "does not refuse it": [(" AND t.state <> 'failed'", " AND false"), (" AND t.state = 'failed'", "")],
    "the guard is missing": [(" AND t.xmin::text = seen.version", " AND seen.version <> ''")],
    "not locked": [("\n   FOR NO KEY UPDATE OF t SKIP LOCKED", "")],
}


@pytest.mark.parametrize("says", most_in_proof(EDIT_MISTAKES))
async def test_a_mistake_in_an_edit_is_found(server: PostgresServer, tmp_path: Path, folder: Path, says: str) -> None:
    with_edit(folder)
    for old, new in EDIT_MISTAKES[says]:
        change(folder, "actions/edit.sql", old, new)
    (found,) = await checks(server, folder, tmp_path, (prove.ACTIONS,))
    assert any(says in fault and "edit: " in fault for fault in faults([found])), faults([found])


async def test_an_engine_that_is_another_one_is_found_from_both_sides(
    server: PostgresServer, tmp_path: Path, folder: Path
) -> None:
    (folder / TOML).write_text(ANOTHER)
    shutil.copy(builtin_folder("procrastinate") / SCHEMA, folder)
    (folder / FIXTURE).write_text("INSERT INTO procrastinate_workers DEFAULT VALUES")
    (found,) = await checks(server, folder, tmp_path, (prove.RECOGNITION,))
    takes, taken = sorted(faults([found]), key=lambda fault: "also taken" in fault)
    assert "takes the tables of procrastinate for its own" in takes
    assert "its tables are also taken for procrastinate" in taken


# Sections that actions share: an action that loses its own gets the shared one

LOG = "CREATE TABLE log (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item int8 NOT NULL);\n"
NOTED = """
[actions.note]
from = ["failed"]
effect = "Notes that it was seen."
"""
ROWS = """-- Rows of the items, and of what the log says of them.
SELECT 'item:' || t.id AS id, t.tableoid AS relation, t.ctid::text AS place, t.xmax AS locker
  FROM :"schema".work_items t WHERE t.id = ANY (:item_keys)
UNION ALL SELECT 'item:' || l.item, l.tableoid, l.ctid::text, l.xmax FROM :"schema".log l
 WHERE l.item = ANY (:item_keys)
"""
SHARED_MISTAKES = {
    "": (),
    "of log, and 0 are shown": (),
    "the version in nodes.sql": ("lock", "t.xmin::text AS version", "t.tries::text AS version"),
}


@pytest.mark.parametrize("says", most_in_proof(SHARED_MISTAKES))
async def test_an_action_that_loses_its_own_section_is_found(
    server: PostgresServer, tmp_path: Path, folder: Path, says: str
) -> None:
    """The rows of items lack a table, or the shared lock has another version."""
    lost = SHARED_MISTAKES[says]
    change(folder, SCHEMA, "CREATE TABLE work_items", f"{LOG}CREATE TABLE work_items")
    change(
        folder,
        TOML,
        "recognise.relations.work_items",
        'recognise.relations.log = "id int8, item int8"\nrecognise.relations.work_items',
    )
    (folder / TOML).write_text((folder / TOML).read_text() + NOTED)
    header, *sections = re.split(r"(?m)^(?=-- :\w+$)", (MORE / "note.sql").read_text())
    kept = [each for each in sections if each[4:].split()[0] not in lost[:1]]
    (folder / "actions").mkdir(mode=0o700)
    (folder / "actions" / "note.sql").write_text(header + "".join(kept))
    (folder / "actions.sql").write_text(header + "".join(each for each in sections if each[4:].split()[0] == "lock"))
    if "of log" not in says:
        (folder / "rows.sql").write_text(ROWS)
    if lost[1:]:
        change(folder, "actions.sql", *lost[1:])
    (found,) = await checks(server, folder, tmp_path, (prove.ACTIONS,))
    assert bool(found.faults) == bool(says), faults([found])
    assert not says or any("note: " in fault and says in fault for fault in faults([found])), faults([found])


async def test_a_table_that_an_engine_may_lack_is_noted(server: PostgresServer, tmp_path: Path) -> None:
    """Oban for Elixir has no table of producers."""
    loaded = Loaded(builtin_folder("oban"))
    assert loaded.engine is not None
    lab = Lab(server, tmp_path, f"{loaded.script(SCHEMA)};\nDROP TABLE oban_producers CASCADE", "")
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, (prove.COLUMNS, prove.NODES, prove.INDEXES)):
            assert check.faults == ()
            assert check.name != prove.COLUMNS or any("oban_producers is not there" in note for note in check.notes)
    finally:
        await lab.close()


async def test_an_event_without_a_time_is_no_event_of_a_regular_finding(folder: Path, eternaltwin: str) -> None:
    change(
        folder,
        TOML,
        "where = \"state = 'doing' AND taken_at < now() - :stale\"",
        'among = "rows"\npattern.regular = ":stale"',
    )
    change(folder, TOML, 'since = "taken_at"', 'since = "last"')
    change(folder, TOML, 'evidence = { worker = "taken_by" }', 'evidence = { worker = "key", age = "seen" }')
    found = {}
    for timed in (3, 7):
        rows = (
            "SELECT 'mail', 'item:' || i, CASE WHEN i <= {n} THEN now() - make_interval(hours => 1, mins => i) END"
            " FROM generate_series(1, 20) AS i"
        )
        (folder / "parts").mkdir(exist_ok=True)
        (folder / "parts" / "rows.sql").write_text(f"-- Made up.\nevents(key, id, at) AS ({rows.format(n=timed)})\n")
        (statement,) = load(folder).statements["findings/taken_too_long"]
        values = {"ids": None, "limit": 10, "settings": '{"stale": 60}'}
        connection = await asyncpg.connect(eternaltwin)
        found[timed] = [r["id"] for r in await connection.fetch(statement.text, *map(values.get, statement.parameters))]
        await connection.close()
    assert found == {3: [], 7: ["item:1"]}


CLAIM = """-- :claim
-- kinds: item
UPDATE :"schema".work_items SET state = 'doing', taken_by = 'w', taken_at = now()
 WHERE id = substr(:id, 6)::int8 AND state = 'todo' AND due <= now() RETURNING id
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "", ""),
        ("taken_by = 'w'", "state = 'odd'", "multiple assignments"),
        ("state = 'todo'", "false", "try: no node of the fixture is reached by claim"),
        (":claim", ":take", "the section :take is not one of claim, progress, finish, fail"),
        ("kinds: item", "kinds: job", "there is no kind of nodes 'job'"),
        ("taken_by = 'w'", "taken_by = pg_ls_dir('.')", "pg_ls_dir"),
        (":id,", ":node,", "'node' is neither a parameter nor a setting"),
    ],
)
async def test_the_statements_to_try_are_proven(
    server: PostgresServer, tmp_path: Path, folder: Path, old: str, new: str, says: str
) -> None:
    (folder / TRY).write_text(CLAIM.replace(old, new))
    loaded = Loaded(folder)
    at_load = [str(fault) for fault in loaded.check.faults]
    found = at_load or faults(await checks(server, folder, tmp_path, (prove.COLUMNS, prove.ACTIONS)))
    assert all(TRY in fault for fault in found), found
    assert any(says in fault for fault in found) is bool(says), found
