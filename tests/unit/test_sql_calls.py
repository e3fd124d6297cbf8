"""Functions that the SQL of an engine outside of the package may call."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.contract.engine import BrokenEngineError
from queries.contract.outside import load
from queries.contract.sql_calls import call_faults
from queries.files.statement import SqlText, parse_statement
from tests.outside import HOMEMADE, IN_FULL, copied

REFUSED = {
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity": "pg_terminate_backend()",
    "SELECT pg_catalog.pg_sleep(1)": "pg_sleep()",
    "SELECT PG_SLEEP (1)": "pg_sleep()",
    'SELECT "pg_sleep"(1)': "pg_sleep()",
    'SELECT U&"pg_\\0073leep"(1)': "pg_",
    "SELECT u&\"pg!0073leep\" UESCAPE '!' (1)": "UESCAPE",
    "SELECT pg_read_file('/etc/passwd')": "pg_read_file()",
    "SELECT/**/pg_sleep(1)": "/*",
    "SELECT 'a\\', pg_sleep(1), '": "backslash",
    "SELECT $$a$$, pg_sleep(1), $$b$$": "pg_sleep()",
    "SELECT e'\\'', pg_sleep(1), e''": "pg_sleep()",
    "SELECT pg_advisory_lock(1)": "pg_advisory_lock()",
    "SELECT set_config('role', 'x', false)": "set_config()",
    "SELECT nextval('s')": "nextval()",
    "SELECT lo_unlink(1)": "lo_unlink()",
    "SELECT * FROM public.dblink('', 'SELECT 1') AS t(a int)": "another schema",
    "SELECT * FROM pg_class, dblink('', '') AS (a int)": "dblink()",
    "SELECT query_to_xml('DELETE FROM t', true, true, '')": "query_to_xml()",
    "SELECT 1 OPERATOR(public.+) 2": "OPERATOR()",
    "SELECT '1'::public.evil": "another schema",
    "SELECT CAST('1' AS public.evil)": "another schema",
    "SELECT public.evil '1'": "another schema",
    "SELECT '1':::\"schema\".evil": "evil",
    'SELECT :"schema".evil(1)': "evil()",
    'SELECT (ARRAY[1])[1:"pg_sleep"(1)]': '"pg_sleep"()',
    "COPY (SELECT 1) TO PROGRAM 'id'": "begins with",
    "CALL evil()": "begins with",
    "DO $$ BEGIN END $$": "begins with",
    "WITH a AS (SELECT 1), pg_sleep(x) AS (VALUES (1)) SELECT 1": "pg_sleep()",
}
ALLOWED = [
    'SELECT count(*) FILTER (WHERE a IN (1, 2)) OVER (PARTITION BY b) FROM :"schema".t AS s(a, b)',
    "WITH RECURSIVE a(x) AS (SELECT 1), b(y) AS NOT MATERIALIZED (SELECT 2) SELECT x FROM a JOIN b USING (y)",
    "SELECT extract(epoch FROM now()), CAST(a AS varchar(3)), b::numeric(3, 1), 'pg_sleep(1)', \"pg_sleep\" FROM c",
    "SELECT a::pg_catalog.int8, a::text[], pg_catalog.now() FROM unnest(:ids) AS a -- pg_sleep(1)",
    "SELECT a FROM t WHERE b = ANY (ARRAY(SELECT 1)) AND (a, b) > (1, 2) AND EXISTS (SELECT FROM u)",
]


def faults(text: str) -> list[str]:
    statement = parse_statement(SqlText(file="x.sql", text=text, origins=(("x.sql", 1),)))
    return [fault.message for fault in call_faults(statement)]


@pytest.mark.parametrize("text", REFUSED)
def test_a_statement_is_refused(text: str) -> None:
    assert any(REFUSED[text] in message for message in faults(text)), faults(text)


@pytest.mark.parametrize("text", ALLOWED)
def test_a_statement_is_allowed(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize("source", [HOMEMADE, IN_FULL], ids=["derived", "in full"])
def test_a_folder_that_has_not_passed_names_file_and_line(tmp_path: Path, source: Path) -> None:
    folder = copied(tmp_path / "engines", source=source)
    assert load(folder).unproven
    file = folder / ("engine.toml" if source == HOMEMADE else "findings/taken_too_long.sql")
    text = file.read_text().replace("taken_at < now() - :stale", "taken_at < now() - :stale AND pg_sleep(1) IS NULL")
    file.write_text(text)
    with pytest.raises(BrokenEngineError) as error:
        load(folder)
    (fault,) = error.value.faults
    derived = source == HOMEMADE
    assert ("[findings.taken_too_long]" if derived else "pg_sleep") in text.splitlines()[fault.line - 1]
    said = "findings/taken_too_long: pg_sleep()" if derived else "pg_sleep()"
    assert (fault.file, fault.message.partition(" is not")[0]) == (str(file), said)
    assert load(folder, trusted=True).unproven == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"t.send_after <= now()"', '"pg_sleep(1) IS NULL"'),
        ("finders =", 'owner = "pg_sleep(1)"\nfinders ='),
        ("finders =", 'since = "now() + pg_sleep(1)"\nfinders ='),
        ("finders =", 'order = "pg_sleep(1)"\nfinders ='),
        ("finders =", 'queue = "pg_sleep(1)"\nfinders ='),
        ("finders =", 'dead = "pg_sleep(1) IS NULL"\nfinders ='),
        ("finders =", """unfinished = { "t.state = 'new'" = "pg_sleep(1)" }\nfinders ="""),
        ('"t.send_after <= now()"', """{ holds = "t.send_after <= now()", why = "pg_sleep(1)::text" }"""),
    ],
)
def test_a_claim_calls_nothing_foreign(tmp_path: Path, old: str, new: str) -> None:
    folder = copied(tmp_path / "engines", source=HOMEMADE.with_name("outbox"))
    file = folder / "engine.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(BrokenEngineError) as error:
        load(folder)
    assert {fault.file for fault in error.value.faults} == {str(file)}
    assert all(": pg_sleep() is not" in fault.message for fault in error.value.faults)
