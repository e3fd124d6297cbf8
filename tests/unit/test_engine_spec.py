"""Folder contract: errors name file and line; shipped folders pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from queries.contract import detect, loader
from queries.contract.builtin import builtin
from queries.contract.engine import Engine, with_settings
from queries.contract.folder import is_script, schema_scripts, with_kinds
from queries.contract.needs import with_needs
from queries.contract.rules import SHARED
from queries.contract.spec import Need
from queries.db import query
from queries.files.statement import EngineFileError, Statement, sql_text

HOME = Path(loader.__file__).parents[1]
SHIPPED = sorted(p for p in (HOME / "engines").rglob("*.sql") if p.parent.name != "parts")
COMMON = sorted((HOME / "sql").glob("*.sql"))


def test_thresholds_of_an_operator_come_over_those_of_the_engine() -> None:
    shipped = next(s for s in builtin() if s.name == "eternaltwin")
    changed = with_settings(shipped, {"late": 1.0, "SendEmail": {"late": 2.0}})
    assert changed.settings == {**shipped.settings, "late": 1.0, "SendEmail": {"late": 2.0}}
    assert shipped.settings["late"] == 600


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
        assert all(text.endswith(".") for text in (finding.one, finding.incident) if text)
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
        "ready": Need(exists=("is_ready()",)),
        "queues": Need(exists=("pgmq.meta",)),
        "tokens": Need(exists=("tokens",)),
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
