"""Folder contract: errors name file and line; shipped folders pass."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from queries.contract import detect, loader
from queries.contract.loader import PARAMETERS, BrokenEngineError, Engine
from queries.db import shared_sql
from queries.statement import EngineFileError, Statement

HOME = Path(loader.__file__).parents[1]
SHIPPED = sorted(p for p in (HOME / "engines").rglob("*.sql") if p.parent.name != "parts")
COMMON = sorted((HOME / "sql").glob("*.sql"))
PARAMETER = re.compile(r"^-- \$(\d+) (\w+) (text\[\]|text|int|float8|jsonb?)(: .+)?$", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An engine that is well, to be broken."""
    shutil.copytree(HOME / "engines" / "eternaltwin", tmp_path / "mine")
    return tmp_path / "mine"


def change(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def line_of(path: Path, text: str) -> int:
    return path.read_text().partition(text)[0].count("\n") + 1


TOML = "engine.toml"
BROKEN = [
    (change(TOML, "bulk_needs_index", "bulk_needs_idnex"), TOML, "idnex",
     'is not a setting; did you mean "bulk_needs_index"?'),
    (change(TOML, 'risk = "high"', 'risk = "mild"'), TOML, '"mild"',
     "actions.1.risk must be one of low, medium, high"),
    (change(TOML, "severity = 9", 'severity = "9"'), TOML, 'severity = "9"',
     "findings.0.severity must be a whole number, not text"),
    (change(TOML, 'starved = "10m"', 'starved = "10 parsecs"'), TOML, "parsecs",
     'thresholds.starved: "10 parsecs" is not a duration; write "90s"'),
    (change(TOML, 'kinds = ["task"]\nphases', 'kinds = ["step"]\nphases'), TOML, '["step"]',
     "action wake: there is no node kind 'step'"),
    (change(TOML, 'needs = ["timer_by_task"]', 'needs = ["timers"]'), TOML, '["timers"]',
     "action wake: needs 'timers', which is not defined"),
    (change(TOML, '"DELETE task_timer"]', '"REMOVE task_timer"]'), TOML, '"REMOVE',
     "worker runner: 'REMOVE task_timer' is not a privilege"),
    (change(TOML, '"task"\ncolumns = ["polled_at"]', '"tasks"\ncolumns = ["polled_at"]'), TOML, '"tasks"',
     "worker runner: there is no table 'tasks'"),
    (change(TOML, '["job.job__user__fk"', '["job__user__fk"'), TOML, '["job__user__fk"', "must be written table.name"),
    (change(TOML, 'action = "wake"', 'action = "awake"'), TOML, '"awake"', "there is no action 'awake'"),
    (change(TOML, 'code = "compute_bound"', 'code = "hungry"'), TOML, '"hungry"',
     "finding hungry: findings/hungry.sql is missing"),
    (change(TOML, 'min_changes = "spinning_polls"', 'min_changes = "spins"'), TOML, '"spins"',
     "finding spinning: there is no threshold 'spins'"),
    (change(TOML, 'action = "cancel"\nproof = "assumed"\nconstant',
            'action = "wake"\nproof = "assumed"\nconstant'), TOML,
     'constant = ["kind", "kind_version"', "finding compute_bound: the lock section of wake has no column `unchanged`"),
    (change(TOML, 'grows = "revision"\nper_minute', "per_minute"), TOML, "per_minute =",
     "`per_minute` requires `grows`"),
    (change(TOML, 'name = "send"', 'name = "release"'), TOML, None, "action release: it is defined twice for a task"),
    (change("roots.sql", "-- $1 cursor", "-- $1 curser"), "roots.sql", "curser", "'curser' is not a parameter"),
    (change("children.sql", "needs: task_by_job", "needs: task_by_jib"), "children.sql", "needs:",
     "needs 'task_by_jib', which engine.toml does not define"),
    (change("findings/starved.sql", "LIMIT $3", "LIMIT $4"), "findings/starved.sql", "LIMIT $4",
     "$4 is missing in the header"),
    (change("detail/state.sql", "-- kinds: task", "-- kinds: step"), "detail/state.sql", "-- kinds",
     "there is no node kind 'step'"),
    (change("findings/starved.sql", "-- $1", "-- kinds: job step\n-- $1"), "findings/starved.sql", "-- kinds",
     "there is no node kind 'step'"),
    (change("detail/state.sql", "-- title: State", "--"), "detail/state.sql", "--",
     "needs the lines -- title: and -- kinds:"),
    (change("detail/state.sql", "-- kinds: task", "-- kinds: task\n-- drawn: pie"), "detail/state.sql", "-- drawn",
     "there is no drawing 'pie'; use graph or timeline"),
    (change(TOML, "[needs.", '[options.by]\ntitle = "t"\nview = true\n\n[needs.'), TOML, "view = true",
     "options.by: a view needs"),
    (change("actions/wake.sql", "-- :refused", "-- :refuse"), "actions/wake.sql", "-- :refuse",
     "section 'refuse' is not one of lock, refused, witnesses, rows, change"),
    (change("actions/restart.sql", "AS verdict", "AS opinion"), "actions/restart.sql", "-- :witnesses",
     "the section 'witnesses' has no column `verdict`"),
    (change("actions/wake.sql", "-- :rows", "-- "), "actions/wake.sql", None, "the section :rows is missing"),
    (change("actions/delete.sql", "WHERE j.job_id = substr(seen", "WHERE $9 = substr(seen"), "actions/delete.sql", "$9",
     "$9 is missing in the header"),
]  # fmt: skip


@pytest.mark.parametrize(("breaking", "file", "at", "said"), BROKEN)
def test_what_is_wrong_is_named_with_its_line(
    folder: Path, breaking: Callable[[Path], None], file: str, at: str | None, said: str
) -> None:
    breaking(folder)
    with pytest.raises(BrokenEngineError) as caught:
        loader.load(folder, "mine")
    first, last = str(caught.value).splitlines()
    assert first.startswith(f"{folder / file}:{line_of(folder / file, at) if at else ''}")
    assert re.match(r":\d+: ", first.removeprefix(str(folder / file)))
    assert said in first
    assert last == "The engine 'mine' cannot be used until this is fixed."


@pytest.mark.parametrize("file", [*(f"{name}.sql" for name in loader.REQUIRED), "actions/restart.sql", TOML])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    for path in folder.glob(file.replace(".sql", "*.sql")):
        path.unlink()
    with pytest.raises(BrokenEngineError, match=re.escape(str(folder / file))):
        loader.load(folder, "mine")


@pytest.mark.parametrize(("old", "said"), [
    ('effect = "The task changes', "action wake: `effect` is required"),
    ('why = "tasks of this engine', "action send: it is unsupported, so `why` is required"),
])  # fmt: skip
def test_an_action_says_what_it_does_or_why_not(folder: Path, old: str, said: str) -> None:
    lines = (folder / TOML).read_text().splitlines()
    (folder / TOML).write_text("\n".join(line for line in lines if not line.startswith(old)))
    with pytest.raises(BrokenEngineError, match=said):
        loader.load(folder, "mine")


def test_text_that_is_not_toml(folder: Path) -> None:
    (folder / TOML).write_text("title = 'x'\nabout = = 1\n")
    with pytest.raises(BrokenEngineError, match=r"engine\.toml:2: it is not valid TOML"):
        loader.load(folder, "mine")


def test_thresholds_of_an_operator_come_over_those_of_the_engine() -> None:
    shipped = next(s for s in loader.builtin() if s.name == "eternaltwin")
    changed = loader.with_settings(shipped, {"starved": 1.0, "SendEmail": {"starved": 2.0}})
    assert changed.settings == {**shipped.settings, "starved": 1.0, "SendEmail": {"starved": 2.0}}
    assert shipped.settings["starved"] == 600


# What ships


@pytest.mark.parametrize("shipped", loader.builtin(), ids=lambda s: s.name)
def test_a_shipped_engine_is_as_its_folder_says(shipped: Engine) -> None:
    again = loader.load(HOME / "engines" / shipped.name, shipped.name)
    assert again == shipped, "independent of caches between runs"
    assert shipped.spec.title
    assert detect.expected([shipped])
    for action in shipped.spec.actions:
        assert action.key.isupper(), "upper-case keys change the database"
        assert action.script in shipped.actions or not action.writes
        if action.writes:
            assert action.effect.endswith(".")
            assert action.next.endswith(".")
            assert action.privileges or action.needs
    keys = [(action.key, kind, tuple(action.when.items())) for action in shipped.spec.actions for kind in action.kinds]
    assert len(keys) == len(set(keys)), "one key, one action"
    for finding in shipped.spec.findings:
        assert finding.sentence.endswith(".")
        assert 1 <= finding.severity <= 9
        assert not finding.action or any(v.writes for v in shipped.spec.actions if v.name == finding.action)


@pytest.mark.parametrize("path", [*SHIPPED, *COMMON], ids=lambda p: str(p.relative_to(HOME)))
def test_a_header_explains_the_statement(path: Path) -> None:
    """A header explains the statement, its parameters and its index or need."""
    text = loader.text(path)
    shared = "\\ir " in path.read_text()  # then the numbers are those of the parts
    header = re.match(r"(--.*\n)+", text)
    assert header is not None, "it begins with what it answers"
    if path.name in ("schema.sql", "audit_log_schema.sql", "audit_log_grant.sql"):
        return
    head = text[: text.index("-- :lock")] if path.parent.name == "actions" else header[0]
    body = "\n".join(line for line in text.removeprefix(head).splitlines() if not line.strip().startswith("--"))
    used = {int(n) for n in re.findall(r"\$(\d+)", body)}
    said = {int(m[1]): m[2] for m in PARAMETER.finditer(head)}
    assert set(said) == used, "every parameter, and none that is not there"
    assert shared or used == set(range(1, len(used) + 1))
    assert set(said.values()) <= PARAMETERS
    if re.search(r"\b(FROM|UPDATE|INTO) (?!unnest|given|\(SELECT)", body) and path not in COMMON:
        assert re.search(r"-- (needs|Index(es)?):", head), "the index that serves it, or what it needs"


def test_every_common_statement_is_read() -> None:
    for path in COMMON:
        if path.name not in ("audit_log_schema.sql", "audit_log_grant.sql"):
            assert shared_sql.statement(path.stem).source == str(path)
    with pytest.raises((EngineFileError, OSError)):
        shared_sql.statement("nothing")


CALL = re.compile(r':"schema"\.([a-z_0-9]+)\(')


@pytest.mark.parametrize("shipped", loader.builtin(), ids=lambda s: s.name)
def test_each_function_of_the_engine_that_is_called_is_declared(shipped: loader.Engine) -> None:
    """Each called function is declared, so owner and privilege are checked before."""
    needs = shipped.spec.needs

    def undeclared(statement: Statement, known: set[str]) -> set[str]:
        return set(CALL.findall(statement.text)) - known - {f for n in statement.needs for f in needs[n].functions}

    for key, variants in shipped.statements.items():
        for statement in variants:
            assert undeclared(statement, set()) == set(), key
    executed = {p.partition(" ")[2] for v in shipped.spec.actions for p in v.privileges if p.startswith("EXECUTE ")}
    for action in [v for v in shipped.spec.actions if v.writes]:
        known = {p.partition(" ")[2] for p in action.privileges} | {f for n in action.needs for f in needs[n].functions}
        for sections in shipped.actions[action.script].values():
            for statement in sections:
                # what only runs where a need of its own is met is at least granted, by another action
                assert undeclared(statement, known | (executed if statement.needs else set())) == set(), action.name
