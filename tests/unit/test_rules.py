"""The table of rules: its settings exist, and each mistake is named with its line."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from queries.contract import loader
from queries.contract.engine import BrokenEngineError
from queries.contract.rules import RULES, STATEMENT_RULES, Rules
from queries.contract.spec import EngineSpec
from tests.outside import HOMEMADE, change, copied

TOP, KIND, FINDING, ACTION = 'stale = "5m"', 'parent = "parent_id"', "severity = 7", "[actions.cancel]"
VIEW = '{ title = "a", view = true, choices = ["x", "y"] }'
EVIDENCE = "findings/taken_too_long.sql has no evidence 'nothing'"
MISTAKES = [  # text after which a setting is written, the setting, and the message
    (KIND, 'key = "ident"', "kind item: recognise.relations.work_items has no column 'ident'"),
    (KIND, 'below = "itm"', "kind item: there is no node kind 'itm'; did you mean \"item\"?"),
    (KIND, 'name = "Item"', "kind Item: its name must match [a-z][a-z0-9_]{0,39}"),
    (TOP, 'recognise.roles.jobs = "*_jobs"', "recognise.roles: 'jobs' is not one of the tables"),
    (TOP, 'recognise.roles.work_items = "work"', "the pattern 'work' must be a name with one `*` in it"),
    (TOP, f"options = {{ a = {VIEW}, b = {VIEW} }}", "options.b: a is a view already"),
    (TOP, 'undo.counters = ["work_items.trys"]', "undo.counters: there is no column 'work_items.trys'"),
    (TOP, 'redrive.revivals = [{ kind = "item", action = "revive" }]', "redrive: 'revive' is not an action for a item"),
    (TOP, 'redrive = { why = "a", revivals = [{ kind = "item", action = "retry" }] }', "redrive: `why` is only for"),
    (TOP, 'thresholds.limit = "5m"', "thresholds.limit: a parameter of statements has this name"),
    (TOP, 'thresholds_by = "kind"', "thresholds_by: 'kind' must be a column of a row t, such as t.kind"),
    (TOP, 'thresholds_by = "t.task"\nthresholds.stale_of_kind = "5m"', "thresholds.stale_of_kind: the threshold for a"),
    (TOP, f"options.ids = {VIEW}", "options.ids: a parameter of statements has this name"),
    (TOP, 'arguments.cursor = { title = "a" }', "arguments.cursor: a parameter of statements has this name"),
    (ACTION, 'arguments.limit = { title = "a" }', "action cancel: argument limit: a parameter of statements has this"),
    (TOP, 'flow.table = "work_itms"', "flow: there is no table 'work_itms'; did you mean \"work_items\"?"),
    ("[actions.retry]", 'key = "L"', "action retry: release has the key L for a item"),
    (ACTION, 'name = "Cancel"', "action Cancel: its name must match"),
    (ACTION, 'undo = "none"', "action cancel: it cannot be undone, so `undo_note` is required"),
    (ACTION, 'arguments.text = { title = "a", type = "document" }', "action cancel: its file has no section :document"),
    (ACTION, 'arguments.text = { title = "a", type = "document" }', "section :lock has no column `unchanged`"),
    (ACTION, 'arguments.text = { title = "a", type = "document" }', "action cancel: `compared` is required"),
    (FINDING, 'code = "Late"', "finding Late: its code must match"),
    (FINDING, 'arguments = { position = "1" }', "finding taken_too_long: release has no argument 'position'"),
    (FINDING, 'counter = "tries"', "finding taken_too_long: `counter` and `min_increase` require each other"),
    (FINDING, 'seconds = "stal"', "finding taken_too_long: there is no threshold 'stal'; did you mean \"stale\"?"),
    (FINDING, 'per_minute = "stal"', "finding taken_too_long: there is no threshold 'stal'"),
    (FINDING, 'explains = [{ symptoms = ["late"] }]', "finding taken_too_long: no finding is a symptom 'late'"),
    *((FINDING, f"{setting} = [\"nothing\"]", EVIDENCE) for setting in ("cause_text", "constant", "changes")),
    *((FINDING, f'{setting} = "nothing"', EVIDENCE) for setting in ("counter", "min_increase", "grows")),
    (FINDING, 'arguments = { position = "{nothing}" }', EVIDENCE),
]  # fmt: skip


def record(kind: Any) -> Any:
    """Return a type without None and what annotates it."""
    if typing.get_origin(kind) is typing.Annotated:
        return record(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return record(next(each for each in typing.get_args(kind) if each is not types.NoneType))
    return kind


def settings(kind: Any) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


@pytest.mark.parametrize("rules", [*STATEMENT_RULES, *RULES], ids=lambda rules: rules.at)
def test_a_rule_is_about_a_setting(rules: Rules) -> None:
    kind: Any = EngineSpec
    for step in rules.at.split("."):
        if step == "*":
            arguments = typing.get_args(kind)
            kind = record(arguments[1] if typing.get_origin(kind) is dict else arguments[0])
        else:
            kind = record(settings(kind)[step])
    for setting, _, _ in rules.rules:
        assert not setting or setting in settings(kind)


@pytest.mark.parametrize(("after", "written", "said"), MISTAKES, ids=[f"{each[1]}: {each[2]}" for each in MISTAKES])
def test_what_breaks_a_rule_is_named_with_its_line(tmp_path: Path, after: str, written: str, said: str) -> None:
    folder = copied(tmp_path, source=HOMEMADE)
    change(folder, "engine.toml", after, f"{after}\n{written}")
    with pytest.raises(BrokenEngineError) as caught:
        loader.load(folder)
    (fault,) = [fault for fault in caught.value.faults if said in fault.message]
    lines = (folder / "engine.toml").read_text().splitlines()
    first = lines.index(written.splitlines()[0])
    headers = [line for line in lines[:first] if line.startswith("[")]
    assert lines[fault.line - 1] in (*written.splitlines(), *headers[-1:])


def test_a_kind_with_children_needs_a_statement(tmp_path: Path) -> None:
    folder = copied(tmp_path, source=HOMEMADE)
    change(folder, "engine.toml", TOP, f"{TOP}\nkinds.other = {{ children = true }}")
    change(folder, "engine.toml", FINDING, f'{FINDING}\nkind = "item"')
    with pytest.raises(BrokenEngineError, match=r"kind other: no children.sql is for it \(-- kinds: other\)"):
        loader.load(folder)


def test_actions_name_their_kinds_if_there_are_several(tmp_path: Path) -> None:
    folder = copied(tmp_path, source=HOMEMADE)
    change(folder, "engine.toml", TOP, f'{TOP}\nkinds.queue.form = "all"')
    with pytest.raises(BrokenEngineError, match="action cancel: `kinds` is required"):
        loader.load(folder)


def test_a_status_with_several_phases_needs_the_column(tmp_path: Path) -> None:
    folder = copied(tmp_path, source=HOMEMADE)
    sql = """-- Nodes.\nSELECT 'item:' || id AS id, state AS status FROM :"schema".work_items WHERE :ids IS NULL"""
    (folder / "nodes.sql").write_text(sql)
    with pytest.raises(BrokenEngineError, match="status todo: it has several phases"):
        loader.load(folder)
