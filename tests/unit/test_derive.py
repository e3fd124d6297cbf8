"""Statements that follow from ``engine.toml``, its short forms, and their faults."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from queries.contract import loader
from queries.contract.actions import with_scripts
from queries.contract.document import in_full
from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.folder import is_script, read
from queries.contract.spec import EngineSpec
from queries.files.statement import NAME, PARAMETERS, locate
from queries.files.toml_file import TomlFile
from queries.records.action import Undo
from queries.records.node import Phase
from tests.outside import HOMEMADE, IN_FULL, change, copied

TOML = "engine.toml"
LINES = {"homemade": 43, "outbox": 15}  # of an engine's files
PART = """-- Running items, the first three.
nodes AS (
  SELECT 'item:' || t.id AS id, t.taken_at, t.taken_by FROM :"schema".work_items t WHERE t.state = 'doing' LIMIT 3
),
more AS (SELECT count(*) = 3 AS more FROM nodes)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder in which almost everything is derived."""
    return copied(tmp_path, source=HOMEMADE)


def load(folder: Path) -> Engine:
    return loader.load(folder)


def test_a_useful_engine_has_few_lines() -> None:
    for name, most in LINES.items():
        every = HOMEMADE.with_name(name).rglob("*")
        files = [path for path in every if path.is_file() and not is_script(path.name)]
        assert sum(len(path.read_text().splitlines()) for path in files) <= most
    engine, outbox = load(HOMEMADE), load(HOMEMADE.with_name("outbox"))
    assert {"nodes", "roots", "children", "live", "find", "counts", "dead", "rows"} <= engine.statements.keys()
    assert {"claim", "next", "funnel", "findings/late", "findings/owner_dead"} <= outbox.statements.keys()
    assert "findings/taken_too_long" in engine.statements
    assert engine.actions.keys() == {"release", "retry", "cancel"}


def test_a_derived_action_has_the_guards_of_a_written_one() -> None:
    derived, written = load(HOMEMADE), load(IN_FULL)
    for name in ("release", "retry"):
        mine, theirs = derived.actions[name], written.actions[name]
        assert mine.keys() == theirs.keys()
        (lock,), (change_,) = mine["lock"], mine["change"]
        assert "FOR NO KEY UPDATE SKIP LOCKED" in lock.text
        assert "xmin::text" in lock.text
        assert "xmin::text" in change_.text
        assert "versions" in change_.parameters
        one, other = (next(a for a in e.spec.actions if a.name == name) for e in (derived, written))
        for field in ("key", "title", "kinds", "support", "undo", "privileges"):
            assert getattr(one, field) == getattr(other, field)
        assert set(one.overwrites) == set(other.overwrites)
    release = next(a for a in derived.spec.actions if a.name == "release")
    assert release.phases == (Phase.RUNNING,)


def test_a_declared_action_repeats_each_refusal_in_its_change(folder: Path) -> None:
    change(folder, TOML, 'why = "its worker took it lately"', 'why = "it was {status} for less than {stale}: wait"')
    actions = load(folder).actions
    (change_,), (refused,) = actions["release"]["change"], actions["release"]["refused"]
    assert "(taken_at > now() - make_interval(secs => ($3::jsonb ->> 'stale')::float8)) IS NOT TRUE" in change_.text
    why = "'it was ' || coalesce((t.state)::text, 'NULL') || ' for less than ' || make_interval("
    assert why in refused.text
    (refused,) = actions["cancel"]["refused"]
    assert "'it is ' || coalesce((t.state)::text, 'NULL') || ', not todo or failed'\n" in refused.text


def test_a_threshold_may_be_that_of_the_kind_of_a_row(folder: Path) -> None:
    change(folder, TOML, "taken_at < now() - :stale", "taken_at < now() - :stale_of_kind AND t.id < :most_of_kind")
    change(folder, TOML, '"5m"', '"5m"\nthresholds.most = 3\nthresholds_by = "t.task"\nthresholds.mail.stale = "1h"')
    text = load(folder).statements["findings/taken_too_long"][0].text
    name = next(re.finditer(r"\$\d::jsonb", text))[0]
    of_kind = "coalesce({0} -> t.task ->> '{1}', {0} ->> '{1}')::float8"
    assert f"taken_at < now() - make_interval(secs => {of_kind.format(name, 'stale')})" in text
    assert f"t.id < {of_kind.format(name, 'most')}" in text


def test_a_declared_action_may_delete(folder: Path) -> None:
    change(folder, TOML, "set = { state = \"'cancelled'\" }", "delete = true")
    engine = load(folder)
    cancel = next(action for action in engine.spec.actions if action.name == "cancel")
    assert cancel.overwrites == ("work_items.*",)
    assert {"DELETE work_items", "UPDATE work_items"} == set(cancel.privileges)
    sections = engine.actions["cancel"]
    assert sections["change"][0].text.startswith("DELETE FROM")
    assert "t.state IN ('todo', 'failed')" in sections["change"][0].text
    assert "FOR UPDATE SKIP LOCKED" in sections["lock"][0].text


def test_a_shared_section_is_for_actions_that_have_none(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    before = load(folder).actions
    file = (folder / "actions" / "retry.sql").read_text()
    header, lock, *others = re.split(r"(?=^-- :)", file, flags=re.MULTILINE)
    (folder / "actions" / "retry.sql").write_text(header + "".join(others))
    with pytest.raises(BrokenEngineError, match="the section :lock is missing"):
        load(folder)
    (folder / "actions.sql").write_text(header + lock.replace("\n", "\n-- kinds: item\n", 1))
    after = load(folder).actions
    (part,) = after["retry"]["lock"]
    assert part.source == str(folder / "actions.sql")
    assert part.text == before["retry"]["lock"][0].text
    assert after["release"] == before["release"]


def test_actions_may_share_settings(folder: Path) -> None:
    several = """
[actions.elsewhere]
kinds = ["item"]
support = "external"
each.pause.why = "the application pauses"
each.wake = { why = "the application wakes", support = "unsupported" }
"""
    with (folder / TOML).open("a") as file:
        file.write(several)
    actions = {a.name: a for a in load(folder).spec.actions}
    assert list(actions) == ["release", "retry", "cancel", "pause", "wake"]
    assert (actions["wake"].why, actions["wake"].support) == ("the application wakes", "unsupported")
    assert (actions["pause"].key, actions["pause"].support) == ("P", "external")
    change(folder, TOML, 'support = "unsupported"', 'support = "outside"')
    with pytest.raises(BrokenEngineError) as caught:
        load(folder)
    (fault,) = caught.value.faults
    assert 'support = "outside"' in (folder / TOML).read_text().splitlines()[fault.line - 1]


def test_what_no_statement_has_is_not_recorded(folder: Path) -> None:
    (kind,) = load(folder).spec.kinds
    assert {"job_id", "revision", "cpu", "created_at", "heartbeat_at"} <= set(kind.not_recorded)
    assert not {"status", "owner", "error", "attempts", "due_at", "parent_id"} & set(kind.not_recorded)


def test_the_parent_of_a_node_is_of_the_same_kind_by_default(folder: Path) -> None:
    (kind,) = load(folder).spec.kinds
    assert kind.below == kind.name
    change(folder, TOML, '"parent_id"', '"item.parent_id"')
    assert load(folder).spec.kinds == (kind,)


def test_an_omitted_column_of_a_written_statement_is_not_recorded(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    change(folder, "nodes.sql", "NULL::float8 AS cpu, NULL::float8 AS poll,", "")
    change(folder, TOML, '"revision", "cpu", "poll", ', '"revision", ')
    (kind,) = load(folder).spec.kinds
    assert {"cpu", "poll", "revision"} <= set(kind.not_recorded)


def test_a_file_replaces_what_follows(folder: Path) -> None:
    for file in ("live.sql", "children.sql", "counts.sql"):
        (folder / file).write_text((IN_FULL / file).read_text().replace("item_by_state", "item_by_status"))
    engine = load(folder)
    assert [s.source for s in engine.statements["children"]] == [str(folder / "children.sql")]
    (folder / "actions").mkdir()
    refused = "-- :refused\nSELECT i AS id, 'no' AS why FROM unnest(:ids) AS i\n"
    (folder / "actions" / "cancel.sql").write_text(refused)
    cancel = load(folder).actions["cancel"]
    assert {part.source for part in cancel["refused"]} == {str(folder / "actions" / "cancel.sql")}
    assert "'no' AS why" in cancel["refused"][0].text
    assert cancel["lock"][0].text == engine.actions["cancel"]["lock"][0].text


def test_a_need_that_nothing_uses_is_not_derived(folder: Path) -> None:
    assert load(folder).spec.needs.keys() == {"item_by_parent", "item_by_status"}
    change(folder, TOML, 'parent = "parent_id"\n', "")
    assert load(folder).spec.needs.keys() == {"item_by_status"}


LONG = """
title = "t"
about = "a"
keys.I = "skip_it"

[recognise.relations.task]
id = "int8"
state = "text|varchar"

[kinds.task]
title = "task"

[[statuses.todo]]
phase = "ready"
means = "waits: for a worker"

[[statuses.todo]]
phase = "scheduled"

[actions.release]
title = "Release"
kinds = ["task"]
support = "emulated"
why = "the engine has none"

[arguments.count]
title = "a number"

[[actions.skip_it]]
title = "Skip it"
kinds = ["task"]
confirm = "typed"
risk = "high"

[[actions.skip_it]]
title = "Skip it"
kinds = ["task"]
support = "external"
why = "w"
when = { mode = "b" }

[[actions.edit]]
title = "Edit and retry"
kinds = ["task"]
support = "unsupported"
why = "w"

[[actions.edit]]
title = "Edit and retry"
kinds = ["task"]

[findings.too_late]
severity = 5
sentence = "[It waits|{n} wait]: no worker takes [it|them]."
explains = { "job, day" = ["early"], engine = ["very_late"], node = ["early", "paused"] }

[findings.very_late]
severity = 6
sentence = "[It waits|{n} wait]: no worker takes [it|them]."
explains.node = ["early", "paused"]

[findings.early]
severity = 2
sentence = "It ran early."
explains = { engine = ["paused"], node = ["paused", "late"] }

[workers.worker]
privileges = ["SELECT task", "UPDATE task", "SELECT job", "UPDATE job", "EXECUTE f", "EXECUTE g"]

[workers.poller]
privileges = ["SELECT q.a_*", "DELETE q.a_*", "EXECUTE f", "EXECUTE g"]
"""
SHORT = """
title = "t"
about = "a"
recognise.relations.task = "id int8, state text|varchar"
keys = { I = "skip_it" }
arguments.count = { title = "a number" }
kinds.task = {}
statuses.todo = ["ready: waits: for a worker", "scheduled"]

[workers.any]
privileges = ["EXECUTE f, g"]
each.worker.privileges = ["SELECT, UPDATE task, job"]
each.poller.privileges = ["SELECT, DELETE q.a_*"]

[[findings]]
sentence = "[It waits|{n} wait]: no worker takes [it|them]."
explains.node = ["early", "paused"]
each.too_late = { severity = 5, explains = { "job, day" = ["early"], engine = ["very_late"] } }
each.very_late.severity = 6

[[findings]]
explains.node = ["late"]
each.early = { severity = 2, sentence = "It ran early.", explains = { engine = ["paused"], node = ["paused"] } }

[actions.any]

[actions.any.each.release]
why = "the engine has none"

[[actions.skip_it]]
confirm = "typed"

[[actions.skip_it]]
support = "external"
why = "w"
when = { mode = "b" }

[[actions.edit]]
support = "unsupported"
why = "w"

[[actions.edit]]
"""


def test_short_forms_mean_what_the_long_ones_do(tmp_path: Path) -> None:
    specs: list[EngineSpec] = []
    (tmp_path / "actions").mkdir()
    (tmp_path / "actions" / "edit_task.sql").write_text("-- :lock\nSELECT 1\n")
    for text in (LONG, SHORT):
        (tmp_path / TOML).write_text(text)
        spec = TomlFile(TOML, text).decode(EngineSpec, in_full)
        specs.append(msgspec.structs.replace(spec, actions=with_scripts(spec, read(tmp_path).files)))
    assert specs[0] == specs[1]


def test_an_action_has_the_arguments_that_its_statements_name(folder: Path) -> None:
    shared = 'arguments.why = { title = "a" }\narguments.due = { title = "b", type = "int" }'
    change(folder, TOML, 'stale = "5m"', f'stale = "5m"\n{shared}')
    change(folder, TOML, 'due = "now()"', 'due = "to_timestamp(:due)", task = ":why"')
    named = {action.name: [a.name for a in action.arguments] for action in load(folder).spec.actions}
    assert named == {"release": [], "retry": ["why", "due"], "cancel": []}


def test_an_action_that_overwrites_nothing_says_why_it_cannot_be_undone(folder: Path) -> None:
    (folder / "actions").mkdir()
    sql = "SELECT i AS id FROM unnest(:ids) AS i"
    (folder / "actions" / "poke.sql").write_text(f"-- Poke.\n-- :refused\n{sql}\n-- :change\n{sql}\n")
    toml = (folder / TOML).read_text() + '[actions.poke]\neffect = "a"\n'
    (folder / TOML).write_text(toml)
    with pytest.raises(BrokenEngineError) as caught:
        load(folder)
    (fault,) = caught.value.faults
    assert fault.message == "actions.poke cannot be undone; `undo_note` must say why"
    assert fault.line == toml.splitlines().index("[actions.poke]") + 1
    (folder / TOML).write_text(f'{toml}undo_note = "b"\n')
    (poke,) = [action for action in load(folder).spec.actions if action.name == "poke"]
    assert poke.undo is Undo.NONE


def test_a_choice_with_the_name_of_a_need_requires_it(folder: Path) -> None:
    need = 'needs.there = { exists = ["a.b"], why = "c" }'
    option = 'options.where = { choices = ["there", "elsewhere"] }'
    change(folder, TOML, 'stale = "5m"', f'stale = "5m"\n{need}\n{option}')
    change(folder, TOML, "[actions.cancel]", '[actions.cancel]\nwhen = { where = "there" }')
    assert [action.needs for action in load(folder).spec.actions] == [(), (), ("there",)]


@pytest.mark.parametrize("due_at", ["due", "to_timestamp(due)", "to_timestamp(due / 1000.0)"])
@pytest.mark.parametrize(("type_", "greatest"), [("int4", "2147483647"), ("int8", "9223372036854775807")])
def test_dead_letters_begin_with_the_greatest_number(folder: Path, type_: str, greatest: str, due_at: str) -> None:
    change(folder, TOML, "due timestamptz", f"due {type_}")
    change(folder, TOML, 'due_at = "due"', f'due_at = "{due_at}"')
    (statement,) = load(folder).statements["dead"]
    assert f"'{greatest}'::{type_})" in statement.text
    assert "ORDER BY t.due DESC, t.id DESC" in statement.text


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('owner = "taken_by"', 'owner = "wrong"', "nodes"),
        ('where = "state', 'where = "wrong', "findings/taken_too_long"),
        ('evidence = { worker = "taken_by" }', 'evidence = { worker = "wrong" }', "findings/taken_too_long"),
    ],
)
def test_a_mistake_in_an_expression_has_the_line_of_its_table(folder: Path, old: str, new: str, name: str) -> None:
    change(folder, TOML, old, new)
    (statement,) = load(folder).statements[name]
    fault = locate(statement, statement.text.index("wrong") + 1, "no such column")
    table = f"[{name.replace('/', '.')}]" if "/" in name else "[kinds.item]"
    assert fault.file == str(folder / TOML)
    assert fault.message in (f"{name}: no such column", "nodes.item: no such column")
    assert (folder / TOML).read_text().splitlines()[fault.line - 1] == table


def test_the_digest_covers_the_templates(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = read(folder).digest
    monkeypatch.setattr("queries.contract.folder.TEMPLATES", tmp_path)
    assert read(folder).digest != before


def test_a_derived_need_stays_as_long_as_something_uses_it(folder: Path) -> None:
    files = loader.derived_files(read(folder))
    file = next(file for file in files if file.startswith("children"))
    (folder / file).write_text(files[file].replace("-- needs: item_by_parent\n", ""))
    assert "item_by_parent" not in load(folder).spec.needs
    sql = "-- needs: item_by_parent\nUPDATE :\"schema\".work_items t SET error = NULL WHERE false RETURNING '' AS id"
    (folder / "actions").mkdir()
    (folder / "actions" / "cancel.sql").write_text(f"-- Cancel.\n-- :change\n{sql}\n")
    assert "item_by_parent" in load(folder).spec.needs


def test_a_derived_text_has_no_placeholder_left() -> None:
    for text in loader.derived_files(read(HOMEMADE)).values():
        names = {match["name"] for match in NAME.finditer(text) if match["name"]}
        assert names <= {*PARAMETERS, "stale", "item_keys"}


def test_a_file_may_name_the_keys_of_the_ids_of_a_kind(folder: Path) -> None:
    text = "WHERE t.id = ANY (:item_keys) FOR UPDATE"
    (folder / "actions").mkdir()
    action = folder / "actions" / "release.sql"
    action.write_text(f"-- :lock\nSELECT 'item:' || t.id AS id, '1' AS version FROM :\"schema\".work_items t {text}\n")
    (lock,) = load(folder).actions["release"]["lock"]
    assert "ANY (ARRAY(SELECT CAST(substr(i, 6) AS int8) FROM unnest($1::text[]) AS i WHERE i ~ '^item:-?(" in lock.text
    assert (
        locate(lock, lock.text.index("UPDATE") + 1, "").column == action.read_text().splitlines()[1].index("UPDATE") + 1
    )
    action.write_text(action.read_text().replace("item_keys", "itm_keys"))
    with pytest.raises(BrokenEngineError, match='did you mean "item_keys"'):
        load(folder)


@pytest.mark.parametrize(
    ("rule", "part", "condition"),
    [
        ("alike", "failures AS (SELECT 'item:1' AS id, now() AS at, 'no' AS error, true AS first)", "count(*) >= "),
        ("regular", "events AS (SELECT 'mail' AS key, 'item:1' AS id, now() AS at)", "/ count(l.at), "),
    ],
)
def test_a_rule_finds_rows_of_a_part_by_comparing_them(folder: Path, rule: str, part: str, condition: str) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "rows.sql").write_text(f"-- Made up.\n{part}\n")
    change(
        folder,
        TOML,
        "where = \"state = 'doing' AND taken_at < now() - :stale\"",
        f'among = "rows"\npattern.{rule} = ":stale"',
    )
    change(folder, TOML, 'since = "taken_at"', 'since = "now()"')
    change(folder, TOML, 'evidence = { worker = "taken_by" }', 'evidence = { worker = "id", age = "now()" }')
    (statement,) = load(folder).statements["findings/taken_too_long"]
    assert f"{condition}make_interval(" in statement.text
    assert locate(statement, statement.text.index(condition), "").file.endswith(TOML)


def test_a_finding_may_be_declared_among_the_rows_of_a_part(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "running.sql").write_text(PART)
    change(folder, TOML, "where = \"state = 'doing' AND ", 'among = "running"\nwhere = "')
    change(folder, TOML, 'evidence = { worker = "taken_by" }', 'evidence = { worker = "taken_by", age = "taken_at" }')
    (statement,) = load(folder).statements["findings/taken_too_long"]
    assert "FROM nodes AS t" in statement.text
    assert "(taken_at < now() - make_interval(" in statement.text
    assert "ORDER BY taken_at, t.id" in statement.text
    assert statement.text.endswith("FROM more WHERE $1::text[] IS NULL AND more")
    assert locate(statement, statement.text.index("LIMIT 3"), "").file.endswith("parts/running.sql")
    assert locate(statement, statement.text.index("(taken_at <"), "").file.endswith(TOML)
    (folder / "parts" / "running.sql").write_text(PART.partition(",\nmore AS")[0])
    (statement,) = load(folder).statements["findings/taken_too_long"]
    assert "more" not in statement.text
    unread = ",\nunread AS (SELECT 'the archive: no SELECT'::text AS unread)"
    (folder / "parts" / "running.sql").write_text(PART.partition(",\nmore AS")[0] + unread)
    (statement,) = load(folder).statements["findings/taken_too_long"]
    assert "jsonb_build_object('unread', u.unread) END, NULL, NULL FROM unread AS u" in statement.text
    (folder / "parts" / "running.sql").unlink()
    with pytest.raises(BrokenEngineError, match=r"names the file parts/running\.sql, which is missing"):
        load(folder)


def test_a_finding_may_have_the_text_of_its_part_and_share_evidence(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "running.sql").write_text(PART)
    toml = (folder / TOML).read_text()
    shared = """[findings.long]
among = '''
-- Indexes: made up.
\\ir parts/running.sql
, few AS (SELECT id FROM nodes LIMIT 4)'''
evidence.worker = "taken_by"
[findings.long.each.taken_too_long]
where"""
    (folder / TOML).write_text(toml.replace("[findings.taken_too_long]\nwhere", shared.replace("\\\\", "\\")))
    change(folder, TOML, 'evidence = { worker = "taken_by" }', 'evidence = { age = "taken_at" }')
    (statement,) = load(folder).statements["findings/taken_too_long"]
    assert "jsonb_strip_nulls(jsonb_build_object('worker', taken_by, 'age', taken_at)) AS evidence" in statement.text
    assert statement.text.endswith("FROM more WHERE $1::text[] IS NULL AND more")
    assert locate(statement, statement.text.index("LIMIT 3"), "").file.endswith("parts/running.sql")
    assert locate(statement, statement.text.index("LIMIT 4"), "").file.endswith(TOML)
    (folder / "parts" / "running.sql").unlink()
    with pytest.raises(BrokenEngineError, match=r"names the file parts/running\.sql, which is missing"):
        load(folder)


def test_a_stored_text_is_a_detail_section(folder: Path) -> None:
    change(folder, TOML, 'parent = "parent_id"\n', 'parent = "parent_id"\npayloads.last_error = "error"\n')
    (statement,) = load(folder).statements["detail/last_error"]
    assert (statement.title, statement.kinds) == ("Last error", ("item",))
    assert "convert_to(t.error::text, 'UTF8')" in statement.text
    change(folder, TOML, 'payloads.last_error = "error"', 'payloads.last_error = "eror"')
    with pytest.raises(BrokenEngineError, match="'eror', which is not a column of work_items"):
        load(folder)


def test_an_operator_may_wait_for_what_is_refused_for_now(folder: Path) -> None:
    (release, *_) = load(folder).spec.actions
    assert not release.waits
    (folder / "actions").mkdir()
    refused = "SELECT 'item:1' AS id, 'it is taken' AS why, true AS for_now"
    (folder / "actions" / "release.sql").write_text(f"-- :refused\n{refused}\n")
    engine = load(folder)
    (release, *_) = engine.spec.actions
    assert release.waits
    assert [part.text for part in engine.actions["release"]["refused"]] == [refused]


def test_the_reason_of_a_need_follows_from_its_table(folder: Path) -> None:
    change(folder, TOML, "[kinds.item]", '[needs.scan]\ntable = "work_items"\n\n[kinds.item]')
    assert load(folder).spec.needs["scan"].why == "this requires a full scan of the table work_items"


MADE = [
    ("CREATE INDEX ON work_items (task)", ("task",), (), True),
    ("CREATE UNIQUE INDEX CONCURRENTLY a ON work_items USING btree (task DESC, id)", ("task", "id"), (), True),
    ('CREATE INDEX a ON "work_items" ("task") INCLUDE (id) WHERE done', ("task",), ("(done)",), False),
    ("create index a on work_items (due) where due > '2020-01-01'", ("due",), ("(due > '2020-01-01')",), True),
    ("CREATE INDEX a ON work_items (task) WHERE state = 'task'", ("task",), ("(state = 'task')",), False),
    ("ALTER TABLE work_items ADD PRIMARY KEY (id)", ("id",), (), True),
]


@pytest.mark.parametrize(("ddl", "columns", "partial", "full"), MADE)
def test_what_a_need_requires_follows_from_its_index(
    folder: Path, ddl: str, columns: tuple[str, ...], partial: tuple[str, ...], full: bool
) -> None:
    change(folder, TOML, "[kinds.item]", f"needs.it.ddl = {json.dumps(ddl)}\n\n[kinds.item]")
    need = load(folder).spec.needs["it"]
    assert (need.table, need.columns, need.partial, need.full) == ("work_items", columns, partial, full)
    change(folder, TOML, "needs.it.ddl", 'needs.it.partial = ["x", ""]\nneeds.it.ddl')
    change(folder, TOML, "needs.it.ddl", 'needs.it.columns = ["id"]\nneeds.it.ddl')
    need = load(folder).spec.needs["it"]
    assert (need.columns, need.partial, need.full, need.ddl) == (("id",), ("x", ""), True, ddl)


def test_retry_revives_dead_letters(folder: Path) -> None:
    assert load(folder).spec.revival("item", "any cause") == "retry"
    change(folder, TOML, "[kinds.item]", 'redrive.item."item no." = "cancel"\n\n[kinds.item]')
    spec = load(folder).spec
    assert [spec.revival("item", cause) for cause in ("item no. <n>", "any cause")] == ["cancel", ""]


def test_a_table_with_an_undo_of_its_own_is_append_only(folder: Path) -> None:
    (folder / "undo").mkdir()
    (folder / "undo" / "work_items.sql").write_text("-- :change\nSELECT 1\n\n-- :added\nSELECT 1\n")
    assert load(folder).spec.append_only == ("work_items",)
    (folder / "undo" / "work_items.sql").rename(folder / "undo" / "work_item.sql")
    with pytest.raises(BrokenEngineError, match=r"undo/work_item.sql:1:1: its name is not one of the tables"):
        load(folder)
