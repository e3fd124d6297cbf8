"""Folder contract: errors name file and line; shipped folders pass."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from queries.contract import detect, loader
from queries.contract.builtin import builtin
from queries.contract.engine import BrokenEngineError, Engine, with_settings
from queries.contract.file_faults import REQUIRED, SHARED
from queries.contract.folder import is_script, schema_scripts
from queries.contract.kinds import with_kinds
from queries.contract.needs import with_needs
from queries.contract.spec import Need
from queries.db import query
from queries.files.statement import EngineFileError, Statement, sql_text

HOME = Path(loader.__file__).parents[1]
SHIPPED = sorted(p for p in (HOME / "engines").rglob("*.sql") if p.parent.name != "parts")
COMMON = sorted((HOME / "sql").glob("*.sql"))


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
    (change(TOML, "undo_note", "undo_noet"), TOML, "noet",
     'is not a setting; did you mean "undo_note"?'),
    (change(TOML, 'risk = "high"', 'risk = "mild"'), TOML, '"mild"',
     "actions.1.risk must be one of low, medium, high"),
    (change(TOML, "severity = 9", 'severity = "9"'), TOML, 'severity = "9"',
     "findings.0.severity must be a whole number, not text"),
    (change(TOML, 'starved = "10m"', 'starved = "10 parsecs"'), TOML, "parsecs",
     'thresholds.starved: "10 parsecs" is not a duration; write "90s"'),
    (change(TOML, 'kinds = ["task"]\nproof', 'kinds = ["step"]\nproof'), TOML, '["step"]',
     "action wake: there is no node kind 'step'"),
    (change(TOML, 'needs = ["timer_by_task"]', 'needs = ["timers"]'), TOML, '["timers"]',
     "action wake: there is no need 'timers'; did you mean"),
    (change(TOML, 'INSERT, DELETE task_timer"]', 'INSERT, REMOVE task_timer"]'), TOML, "REMOVE",
     "worker runner: 'REMOVE task_timer' is not a privilege"),
    (change(TOML, "idx ON task (polled_at)", "idx ON tasks (polled_at)"), TOML, "ON tasks",
     "worker runner: there is no table 'tasks'"),
    (change(TOML, "idx ON task (polled_at)", "idx ON task polled_at"), TOML, "ON task polled_at",
     "is not CREATE INDEX ... ON table (columns), nor ALTER TABLE"),
    (change(TOML, "idx ON task (status, task_id)", "idx ON tasks (status, task_id)"), TOML, "ON tasks",
     "needs.task_by_status: there is no table 'tasks'"),
    (change(TOML, "idx ON task_timer (task_id)", "idx ON task_timer"), TOML, 'idx ON task_timer"',
     "needs.timer_by_task: 'CREATE INDEX CONCURRENTLY task_timer__task_id__idx ON task_timer' is not CREATE INDEX"),
    (change(TOML, "[recognise]", '[recognise]\nfunctions = ["beat", "wake(uuid, text)"]'), TOML, '"beat"',
     "recognise.functions: 'beat' must be written name(type, type)"),
    (change(TOML, "[recognise]", '[own]\nobjects = ["check on job: a"]\n\n[recognise]'), TOML,
     "[own]", "is recorded in catalog.toml"),
    (change(TOML, 'action = "wake"', 'action = "awake"'), TOML, '"awake"', "there is no action 'awake'"),
    (change(TOML, 'explains.engine = ["overdue_timer"', 'explains.engine = ["nothing"'), TOML, '"nothing"',
     "finding polls_dated_back: there is no finding 'nothing'"),
    (change(TOML, "each.compute_bound]", "each.hungry]"), TOML, "each.hungry]",
     "finding hungry: findings/hungry.sql is missing"),
    (change(TOML, 'min_changes = "spinning_polls"', 'min_changes = "spins"'), TOML, '"spins"',
     "finding spinning: there is no threshold 'spins'"),
    (change(TOML, 'action = "cancel"\nconstant', 'action = "delete"\nconstant'), TOML,
     'constant = ["kind", "kind_version"', "compute_bound: the lock section of delete has no column `unchanged`"),
    (change(TOML, 'grows = "revision"\nper_minute', "per_minute"), TOML, "per_minute =",
     "`per_minute` requires `grows`"),
    (change(TOML, 'name = "edit"\nkinds = ["job"]', 'name = "delete"\nkinds = ["job"]'), TOML, None,
     "action delete: it is defined twice for a job"),
    (change(TOML, 'each.send.why', 'each.send.command.shell = "x"\neach.send.why'), TOML, "command.shell",
     "action send: only an external action has commands"),
    (change(TOML, 'each.send.why', 'each.send.command.shell = "{id}"\neach.send.why'), TOML, "command.shell",
     "action send: {id} is not filled in; only {key} is"),
    (change("roots.sql", ":cursor", ":curser"), "roots.sql", "curser", "'curser' is neither a parameter"),
    (change("children.sql", "needs: task_by_job", "needs: task_by_jib"), "children.sql", "needs:",
     "needs 'task_by_jib', which engine.toml does not define"),
    (change("findings/starved.sql", "LIMIT :limit", "LIMIT $4"), "findings/starved.sql", "$4",
     "$4 has no name"),
    (change("detail/times.sql", "-- kinds: task", "-- kinds: step"), "detail/times.sql", "-- kinds",
     "there is no node kind 'step'"),
    (change("findings/starved.sql", "-- Index", "-- kinds: job step\n-- Index"), "findings/starved.sql", "-- kinds",
     "there is no node kind 'step'"),
    (change("detail/times.sql", "-- title: Times, as recorded", "--"), "detail/times.sql", "--",
     "needs the lines -- title: and -- kinds:"),
    (change("detail/times.sql", "-- kinds: task", "-- kinds: task\n-- drawn: pie"), "detail/times.sql", "-- drawn",
     "there is no drawing 'pie'; use graph or timeline"),
    (change(TOML, "[needs.", '[options.by]\ntitle = "t"\nview = true\n\n[needs.'), TOML, "view = true",
     "options.by: a view needs"),
    (change("actions/wake.sql", "-- :refused", "-- :refuse"), "actions/wake.sql", "-- :refuse",
     "section 'refuse' is not one of lock, refused, witnesses, change"),
    (change("actions/restart.sql", "AS verdict", "AS opinion"), "actions/restart.sql", "-- :witnesses",
     "the section 'witnesses' has no column `verdict`"),
    (change("actions/wake.sql", "-- :change", "-- :refused"), "actions/wake.sql", None,
     "the section :change is missing"),
    (change("actions/delete.sql", "WHERE j.job_id = substr(seen", "WHERE $9 = substr(seen"), "actions/delete.sql", "$9",
     "$9 has no name"),
]  # fmt: skip


@pytest.mark.parametrize(("breaking", "file", "at", "said"), BROKEN)
def test_what_is_wrong_is_named_with_its_line(
    folder: Path, breaking: Callable[[Path], None], file: str, at: str | None, said: str
) -> None:
    breaking(folder)
    with pytest.raises(BrokenEngineError) as caught:
        loader.load(folder)
    (fault,) = [each for each in caught.value.faults if said in each.message]
    assert fault.file == str(folder / file)
    assert not at or fault.line == line_of(folder / file, at)
    assert fault.column >= 1
    *_, last = str(caught.value).splitlines()
    assert last == "The engine 'mine' cannot be used until this is fixed."


@pytest.mark.parametrize("file", [*(f"{name}.sql" for name in REQUIRED), "actions/restart.sql", TOML])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    toml = folder / TOML
    derived = r'table = "(job|task)", .*?(?=children|not_recorded)'
    toml.write_text(re.sub(rf"{derived}|(?ms:^\[claim.*?(?=^\[workers))", "", toml.read_text()))
    for path in folder.glob(file.replace(".sql", "*.sql")):
        path.unlink()
    with pytest.raises(BrokenEngineError, match=re.escape(str(folder / file))):
        loader.load(folder)


@pytest.mark.parametrize(("old", "new", "said"), [
    ('effect = "The task changes', "", "action wake: `effect` is required"),
    ('each.send.why', "each.send = {}", "action send: it is unsupported, so `why` is required"),
])  # fmt: skip
def test_an_action_says_what_it_does_or_why_not(folder: Path, old: str, new: str, said: str) -> None:
    lines = (folder / TOML).read_text().splitlines()
    (folder / TOML).write_text("\n".join(new if line.startswith(old) else line for line in lines))
    with pytest.raises(BrokenEngineError, match=said):
        loader.load(folder)


def test_text_that_is_not_toml(folder: Path) -> None:
    (folder / TOML).write_text("title = 'x'\nabout = = 1\n")
    with pytest.raises(BrokenEngineError, match=r"engine\.toml:2:9: it is not valid TOML"):
        loader.load(folder)


def test_thresholds_of_an_operator_come_over_those_of_the_engine() -> None:
    shipped = next(s for s in builtin() if s.name == "eternaltwin")
    changed = with_settings(shipped, {"starved": 1.0, "SendEmail": {"starved": 2.0}})
    assert changed.settings == {**shipped.settings, "starved": 1.0, "SendEmail": {"starved": 2.0}}
    assert shipped.settings["starved"] == 600


# What ships


@pytest.mark.parametrize("shipped", builtin(), ids=lambda s: s.name)
def test_a_shipped_engine_is_as_its_folder_says(shipped: Engine) -> None:
    again = loader.load(HOME / "engines" / shipped.name)
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
    """A header explains the statement and its index or need."""
    text = sql_text(path).text
    header = re.match(r"(--.*\n)+", text)
    assert header is not None, "it begins with what it answers"
    if is_script(path.name) or path.name in ("audit_log_schema.sql", "audit_log_grant.sql"):
        return
    sections = path.parent.name == "actions" or path.name == SHARED
    head = text[: text.index("-- :")] if sections else header[0]
    body = "\n".join(line for line in text.removeprefix(head).splitlines() if not line.strip().startswith("--"))
    shared_names = path.parent.name == "actions" and (path.parent.parent / SHARED).exists()  # the indexes of its rows
    if re.search(r"\b(FROM|UPDATE|INTO) (?!unnest|given|\(SELECT)", body) and path not in COMMON and not shared_names:
        named = re.search(r"^-- (needs|Index(es)?):", text if r"\ir " in path.read_text() else head, re.MULTILINE)
        assert named, "the index that serves it, or what it needs"


def test_an_action_has_the_same_key_in_all_engines() -> None:
    keys = {(action.name, action.key) for engine in builtin() for action in engine.spec.actions}
    assert len(keys) == len({name for name, _ in keys}), "else the footer shows the action with each key"


def test_a_statement_without_kinds_is_about_those_that_it_makes() -> None:
    kinds = ["item", "queue", "worker"]

    def about(file: str, text: str, header: tuple[str, ...] = ()) -> tuple[str, ...]:
        return with_kinds(file, Statement(text=text, source=file, kinds=header), kinds).kinds

    assert about("findings/late.sql", "SELECT 'item:' || i.id AS id") == ("item",)
    assert about("findings/late.sql", "SELECT 'item:' || 1 UNION SELECT 'queue:all'") == ("item", "queue")
    assert about("findings/late.sql", "SELECT 'item:' || 1", ("worker",)) == ("worker",)
    assert about("nodes.item.sql", "SELECT") == about("children.item@18.sql", "SELECT") == ("item",)
    assert about("nodes.named.sql", "SELECT 'item:'") == about("live.item.sql", "SELECT") == ()


def test_a_statement_needs_the_functions_and_schemas_that_it_names() -> None:
    needs = {
        "ready": Need(functions=("is_ready",)),
        "queues": Need(relation="pgmq.meta"),
        "tokens": Need(relation="tokens"),
    }

    def named(text: str) -> frozenset[str]:
        return with_needs(Statement(text=text, source="x.sql", needs=frozenset({"other"})), needs).needs - {"other"}

    assert named('SELECT :"schema".is_ready(1)') == {"ready"}
    assert named("SELECT * FROM pgmq.q_jobs") == {"queues"}
    assert not named("""SELECT is_ready('pgmq') FROM :"schema".tokens""")


def test_tables_are_made_before_what_is_in_other_schemas() -> None:
    files = ["engine.toml", "fixture.sql", "schema.queue.sql", "schema.sql", "schema.log.sql", "nodes.sql"]
    assert schema_scripts(files) == ["schema.sql", "schema.log.sql", "schema.queue.sql"]


def test_every_common_statement_is_read() -> None:
    for path in COMMON:
        if path.name not in ("audit_log_schema.sql", "audit_log_grant.sql"):
            assert query.statement(path.stem).source == str(path)
    with pytest.raises((EngineFileError, OSError)):
        query.statement("nothing")


CALL = re.compile(r':"schema"\.([a-z_0-9]+)\(')


@pytest.mark.parametrize("shipped", builtin(), ids=lambda s: s.name)
def test_each_function_of_the_engine_that_is_called_is_declared(shipped: Engine) -> None:
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
