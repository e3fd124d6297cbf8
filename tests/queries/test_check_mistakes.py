"""Mistakes in a folder: each is found by the check, with its file and line."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import pytest

from queries.check.lab import Lab
from queries.check.prove import NAMES, Loaded, prove
from queries.check.report import Check
from queries.records.fault import Fault
from tests.outside import change, copied
from tests.proof import one_in
from tests.servers import PostgresServer

TOML, NODES, ROOTS, LIVE, DEAD = "engine.toml", "nodes.sql", "roots.sql", "live.sql", "dead.sql"
FINDING, RETRY, RELEASE = "findings/taken_too_long.sql", "actions/retry.sql", "actions/release.sql"
IMAGES = "images.sql"
LOG = """CREATE TABLE log (item bigint);
CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS
 'BEGIN INSERT INTO public.log VALUES (NEW.id); RETURN NEW; END';
CREATE TRIGGER log_it AFTER UPDATE ON work_items FOR EACH ROW EXECUTE FUNCTION log_it();
"""
CALL = """CREATE FUNCTION no_time() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
REVOKE ALL ON FUNCTION no_time() FROM PUBLIC;
CREATE FUNCTION call_it() RETURNS trigger LANGUAGE plpgsql AS
 $$BEGIN EXECUTE format('SELECT %I.no_time()', TG_TABLE_SCHEMA); RETURN NEW; END$$;
CREATE TRIGGER call_it AFTER UPDATE ON work_items FOR EACH ROW EXECUTE FUNCTION call_it();
"""
TOUCH = """CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS
 'BEGIN NEW.max_tries := 7; RETURN NEW; END';
CREATE TRIGGER touch BEFORE UPDATE ON work_items FOR EACH ROW WHEN (OLD.state = 'failed') EXECUTE FUNCTION touch();
"""


AFTER = "(w.task, -w.id) > (split_part(:cursor, '|', 1), -split_part(:cursor, '|', 2)::int8)"
ALL_ROWS = 'WITH a AS (SELECT max(tries) AS n FROM :"schema".work_items)'
GUARD = "WHERE w.id = substr(seen.id, 6)::int8 AND w.xmin::text = seen.version AND w.state = 'failed'"
SHOWN = 'FROM :"schema".work_items w\n WHERE'
LARGE = 150_000  # rows of a large table: more than the server reads without an index


class Mistake(NamedTuple):
    """An edit of a file, and the fault that it must cause.

    ``at`` is a text in the line of the fault in ``where`` (default: the edited file).
    """

    check: str
    file: str
    old: str
    new: str
    at: str
    says: str
    where: str = ""
    more: tuple[tuple[str, str, str], ...] = ()


FILES, COLUMNS, PAGES, FOUND = "files", "columns and types", "nodes and pages", "findings and dead letters"
ACTIONS, UNDO, RIGHTS = "actions", "commit and undo", "privileges"
MISTAKES = [
    # what the files say by themselves
    Mistake(FILES, TOML, "severity = 7", "severty = 7", "severty", "did you mean"),
    Mistake(FILES, TOML, 'support = "native"', 'support = "nativ"', '"nativ"', "must be one of native"),
    Mistake(FILES, TOML, 'dead = "', 'keys.L = "retry"\ndead = "', "[actions.retry]", "has the key L of", more=()),
    Mistake(FILES, TOML, 'dead = "', 'keys.l = "retry"\ndead = "', "keys.l", "upper-case"),
    Mistake(FILES, TOML, 'action = "release"', 'action = "relase"', "relase", "is not an action"),
    Mistake(FILES, TOML, "{worker} took", "{wroker} took", "[findings", "names the evidence 'wroker'"),
    Mistake(FILES, TOML, 'cause = ["worker"]', 'cause = ["owner"]', "[findings", "names the evidence 'owner'"),
    Mistake(FILES, TOML, 'dead = "', 'effects."UPDATE work_item" = []\ndead = "', "effects", "is not a table"),
    Mistake(FILES, TOML, "[kinds.item]", "[kinds.Item]", "[kinds.Item]", "kinds.Item must be"),
    Mistake(FILES, FINDING, ":stale", ":stael", "stael", 'did you mean "stale"'),
    Mistake(FILES, RELEASE, ":stale", ":stael", "stael", 'did you mean "stale"'),
    Mistake(FILES, "children.sql", "item_by_parent", "item_by_parnt", "-- needs", "does not define"),
    Mistake(FILES, LIVE, "LIMIT :limit", "LIMIT $4", "$4", "$4 has no name"),
    Mistake(FILES, ROOTS, "< :cursor", "< :curser", "curser", "is neither a parameter"),
    Mistake(FILES, RETRY, "-- :change", "--", "-- Run", ":change is missing"),
    Mistake(FILES, "detail/payload.sql", "-- kinds: item", "-- kinds: itm", "-- kinds", "no kind of nodes"),
    Mistake(FILES, ROOTS, "SELECT", "\\ir parts/root.sql\nSELECT", "\\ir", "not a file of this folder"),
    Mistake(FILES, TOML, "[findings.taken_too_long]", "[findings.taken_to_long]", "-- Items", "nothing uses", FINDING),
    # statements as the server describes them
    Mistake(COLUMNS, ROOTS, " WHERE w.parent_id", " WHER w.parent_id", "WHER w", "syntax error"),
    Mistake(COLUMNS, NODES, "w.state AS status", "w.status AS status", "w.status", "does not exist"),
    Mistake(COLUMNS, NODES, "extract(epoch FROM w.taken_at)::float8", "w.taken_at", "SELECT", "is timestamptz"),
    Mistake(COLUMNS, NODES, "w.task AS title", "w.task AS titel", "SELECT", "title (text) is missing"),
    Mistake(COLUMNS, DEAD, "extract(epoch FROM w.due)::float8", "extract(epoch FROM w.due)", "SELECT", "is numeric"),
    Mistake(COLUMNS, ROOTS, "LIMIT :limit", "LIMIT :limit::text::int", "SELECT", "parameter limit is used as text"),
    Mistake(COLUMNS, FINDING, ") AS evidence", ")::text AS evidence", "SELECT", "evidence is text"),
    Mistake(COLUMNS, "counts.sql", "SELECT p.phase,", "SELECT p.phase AS name,", "SELECT", "and status are missing"),
    # rows
    Mistake(PAGES, NODES, "END END AS phase", "END END AS fase", "SELECT", "'todo' may be ready or scheduled"),
    Mistake(PAGES, NODES, "END END AS phase", "END ELSE 'stuck' END AS phase", "SELECT", "'stuck'"),
    Mistake(PAGES, TOML, "[[statuses.doing]]", "[[statuses.working]]", "SELECT", "'doing' is not declared", NODES),
    Mistake(PAGES, NODES, "WHEN 'todo' THEN", "WHEN 'doing' THEN", "SELECT", "'todo' may be ready or scheduled"),
    Mistake(PAGES, NODES, "END END AS", "END WHEN 'done' THEN 'held' END AS", "SELECT", "'done' is not declared with"),
    Mistake(PAGES, ROOTS, "SELECT 'item:'", "SELECT 'job:'", "SELECT", "nodes.sql has no row"),
    Mistake(PAGES, ROOTS, "w.id < :cursor", "w.id <= :cursor", "SELECT", "cursor and the order"),
    Mistake(PAGES, LIVE, "ORDER BY w.state, w.due", "ORDER BY w.due, w.state", "SELECT", "cursor and the order"),
    Mistake(PAGES, "children.sql", "w.parent_id = substr(:parent, 6)::int8", "w.id <> substr(:parent, 6)::int8",
            "SELECT", "parent is another node"),
    Mistake(PAGES, NODES, "'item:' || w.parent_id AS", "'item:' || w.parent_id + 99 AS", "SELECT", "does not exist"),
    Mistake(PAGES, TOML, 'title = "item"', 'title = "item"\nform = "uuid"', "SELECT", "is a UUID", NODES),
    Mistake(FOUND, DEAD, "ORDER BY w.due DESC", "ORDER BY w.due", "SELECT", "cursor and the order"),
    Mistake(FOUND, DEAD, ":ids IS NULL OR w.id", ":ids IS NULL OR w.id IS NOT NULL OR w.id", "SELECT",
            "no dead letter is returned"),
    Mistake(FOUND, FINDING, ":ids IS NULL OR w.id", ":ids IS NULL OR w.id IS NULL AND w.id", "SELECT",
            "is not there if"),
    Mistake(FOUND, FINDING, "'worker', w.taken_by", "'holder', w.taken_by, 'x', 'worker'", "SELECT", "no 'worker'"),
    # actions
    Mistake(ACTIONS, RETRY, "w.xmin::text AS version", "w.tries::text AS version", "SELECT", "version in nodes.sql"),
    Mistake(ACTIONS, RETRY, "   FOR UPDATE SKIP LOCKED\n", "", "SELECT", "FOR UPDATE"),
    Mistake(ACTIONS, RETRY, " AND w.xmin::text = seen.version", " AND seen.version <> ''", "UPDATE", "guard is"),
    Mistake(ACTIONS, RETRY, "RETURNING 'item:' || w.id", "RETURNING w.id::text", "SELECT", "change does not return"),
    Mistake(ACTIONS, RETRY, "AND w.state <> 'failed'", "AND false", "SELECT", "does not refuse it",
            more=((RETRY, " AND w.state = 'failed'", ""),)),
    Mistake(ACTIONS, "schema.sql", "-- The queue", f"{LOG}-- The queue", "SELECT", "log, and 0 are shown", IMAGES,
            more=(("schema.sql", LOG, ""), ("schema.sql", "error text\n);", f"error text\n);\n{LOG}"))),
    Mistake(ACTIONS, "fixture.sql", "'failed'", "'done'", "SELECT", "no node of the fixture", RETRY,
            more=(("fixture.sql", "'failed'", "'done'"),)),
    Mistake(UNDO, "schema.sql", ");\n", f");\n{TOUCH}", "UPDATE", "an undo leaves item:", RETRY),
    Mistake(RIGHTS, "schema.sql", ");\n", f");\n{CALL}", "UPDATE", "do not suffice", RELEASE),
    Mistake(ACTIONS, RETRY, "WHERE w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i))", "WHERE true",
            "SELECT", "`:lock` returns item:"),
    Mistake(ACTIONS, RETRY, "   FOR UPDATE SKIP LOCKED", "   FOR UPDATE", "   FOR UPDATE", "it waits for rows"),
    Mistake(ACTIONS, RETRY, " ORDER BY w.id\n   FOR", "   FOR", "SELECT", "it locks rows in no order"),
    Mistake(ACTIONS, RETRY, " ORDER BY w.id\n   FOR", " ORDER BY w.id DESC\n   FOR", "SELECT",
            "opposite order of release"),
    Mistake(ACTIONS, RETRY, GUARD,
            f"{GUARD} OR w.parent_id = substr(seen.id, 6)::int8 AND w.state = 'failed'", "SELECT",
            "if other rows refer to it", IMAGES),
    Mistake(ACTIONS, RETRY, GUARD,
            f"{GUARD} OR w.id <> substr(seen.id, 6)::int8 AND w.state = 'failed'", "SELECT",
            "rows of work_items, and", IMAGES),
    Mistake(ACTIONS, RETRY, "SET state = 'todo'", "SET state = 'again'", "UPDATE",
            "status 'again', which is not declared",
            more=(("schema.sql", "'failed', 'done')", "'failed', 'done', 'again', 'other')"),
                  ("schema.sql", "CHECK (state IN", "CHECK (length(state) > 0 OR state IN"))),
    Mistake(ACTIONS, NODES, "w.xmin::text AS version", "w.state AS version", "SELECT", "has the same version", RETRY,
            more=((RETRY, "w.xmin::text AS version", "w.state AS version"),
                  (RETRY, "w.xmin::text = seen.version", "w.state = seen.version"),
                  (RELEASE, "w.xmin::text AS version", "w.state AS version"),
                  (RELEASE, "w.xmin::text = seen.version", "w.state = seen.version"))),
    Mistake(PAGES, ROOTS, "w.id < :cursor::text::int8", "w.id::text < :cursor", "SELECT", "cursor and the order"),
    Mistake(PAGES, ROOTS, "work_items w\n", "work_items w CROSS JOIN unnest(ARRAY[1, 2]) AS u\n",
            "SELECT", "2 times: an id may be there once"),
    Mistake(PAGES, NODES, "work_items w\n", "work_items w CROSS JOIN unnest(ARRAY[1, 2]) AS u\n",
            "SELECT", "2 times: an id may be there once"),
    Mistake(PAGES, NODES, "extract(epoch FROM w.taken_at)", "extract(epoch FROM w.taken_at::timestamp)", "SELECT",
            "heartbeat_at depends on the time zone"),
    Mistake(PAGES, "schema.sql", "'failed', 'done')", "'failed', 'done', 'lost')", "[[statuses.todo]]",
            "may be 'lost'", TOML),
    Mistake(PAGES, NODES, "CASE WHEN w.state = 'todo' THEN extract(epoch FROM w.due)::float8 END",
            "extract(epoch FROM w.due)::float8", "SELECT", "has a due_at"),
    Mistake(FOUND, FINDING, ":ids IS NULL OR w.id = ANY (ARRAY(",
            ":ids IS NULL OR w.id <> ALL (ARRAY(SELECT 0)) OR w.id = ANY (ARRAY(",
            "SELECT", "other nodes are returned"),
    Mistake(FILES, FINDING, "w.taken_at < now()", "pg_sleep(1) IS NOT NULL AND w.taken_at < now()", "pg_sleep",
            "pg_sleep() is not one"),
    Mistake(FOUND, FINDING, "'worker', w.taken_by", "'share', 1 / w.tries, 'worker', w.taken_by", "SELECT",
            "if work_items.tries is 0: The server reports: division by zero"),
    Mistake(ACTIONS, RETRY, "seen.version AND w.state = 'failed'", "seen.version", "UPDATE",
            "change itself does not compare the status"),
    Mistake(ACTIONS, RETRY, "due = now(), tries = 0,", "due = now(),", "UPDATE", "runs again with 3 of 3 attempts"),
    Mistake(ACTIONS, RETRY, "error = NULL", "error = w.error", "UPDATE", "leaves the error in work_items.error"),
    # recognition
    Mistake("recognition", "schema.sql", "CREATE TABLE work_items", "CREATE TABLE public.work_items", "# homemade",
            "makes its tables in public", TOML,
            more=(("schema.sql", "REFERENCES work_items", "REFERENCES public.work_items"),)),
    Mistake("large tables", FINDING, "ORDER BY w.due", "ORDER BY w.taken_at", "SELECT", "no index bounds it"),
    Mistake("large tables", ROOTS, "ORDER BY w.id DESC", "ORDER BY w.task, w.id DESC", "SELECT", "no index bounds it",
            more=((ROOTS, "w.id::text AS cursor", "w.task || '|' || w.id AS cursor"),
                  (ROOTS, "w.id < :cursor::text::int8", AFTER))),
    Mistake("large tables", RETRY, ":change\nUPDATE", f":change\n{ALL_ROWS}\nUPDATE", "WITH a",
            "to change one node: no index bounds it",
            more=((RETRY, "FROM unnest(:ids, :versions) AS", "FROM a, unnest(:ids, :versions) AS"),)),
    Mistake("large tables", NODES, "w.taken_by AS owner",
            "(SELECT min(o.taken_by) FROM :\"schema\".work_items o WHERE o.task = w.task) AS owner", "SELECT",
            "no index bounds it"),
    Mistake("large tables", IMAGES, SHOWN, f"{SHOWN} (SELECT max(o.tries) FROM :\"schema\".work_items o) >= 0 AND",
            "SELECT", "to change one node: no index bounds it"),
    Mistake("large tables", "counts.sql",
            "CASE WHEN sum(count(w.phase)) OVER () > 10000 THEN 'capped' ELSE 'exact' END",
            "'exact'", "SELECT", "is called exact, and there are about"),
    Mistake("proposed indexes", TOML, "(state <> 'done'::text)", "state <> 'failed'", "[needs.item_by_state]",
            "not recognised once it is made"),
]  # fmt: skip


async def first_faulty(
    server: PostgresServer, folder: Path, tmp_path: Path, names: Collection[str] = NAMES
) -> Check | None:
    """Return the first check of these names that finds a fault."""
    loaded = Loaded(folder)
    if loaded.check.faults or loaded.engine is None:
        return loaded.check
    lab = Lab(server, tmp_path, loaded.script("schema.sql"), loaded.script("fixture.sql"))
    try:
        async for check in prove(loaded.engine, loaded.toml, lab, names, rows=LARGE):
            if check.faults:
                return check
    finally:
        await lab.close()
    return None


def test_there_are_enough() -> None:
    assert len(MISTAKES) >= 30


@pytest.mark.parametrize("mistake", one_in(5, MISTAKES), ids=[f"{m.check}: {m.says}" for m in MISTAKES])
async def test_each_mistake_is_found_at_its_place(server: PostgresServer, tmp_path: Path, mistake: Mistake) -> None:
    folder = copied(tmp_path / "engines")
    for file, old, new in ((mistake.file, mistake.old, mistake.new), *mistake.more):
        change(folder, file, old, new)
    found = await first_faulty(server, folder, tmp_path, (mistake.check,))
    assert found is not None
    assert found.name == mistake.check, [str(fault) for fault in found.faults]
    fitting = [fault for fault in found.faults if mistake.says in fault.message]
    assert fitting, [str(fault) for fault in found.faults]
    assert [each for each in fitting if fits(each, folder, mistake)], [str(fault) for fault in fitting]


def fits(fault: Fault, folder: Path, mistake: Mistake) -> bool:
    """Return True if the fault is at the file and line of the mistake."""
    path = folder / (mistake.where or mistake.file)
    return fault.file == str(path) and mistake.at in path.read_text().splitlines()[fault.line - 1]


async def test_the_engine_itself_has_none(server: PostgresServer, tmp_path: Path) -> None:
    assert await first_faulty(server, copied(tmp_path / "engines"), tmp_path) is None


async def test_a_since_that_may_be_null_is_noted(server: PostgresServer, tmp_path: Path) -> None:
    """It may be that no time is recorded, so it is no fault."""
    folder = copied(tmp_path / "engines")
    change(folder, FINDING, "w.taken_at < now() - :stale", "(w.taken_at IS NULL OR w.taken_at < now() - :stale)")
    loaded = Loaded(folder)
    assert loaded.engine is not None
    lab = Lab(server, tmp_path, loaded.script("schema.sql"), loaded.script("fixture.sql"))
    try:
        (found,) = [check async for check in prove(loaded.engine, loaded.toml, lab, (FOUND,))]
    finally:
        await lab.close()
    assert any("since is NULL if work_items.taken_at is NULL" in note for note in found.notes), found.notes
