"""SQL files: headers, parameters, sections; each error names file and line."""

from __future__ import annotations

import pytest

from queries.contract.engine import choose
from queries.files.statement import EngineFileError, SqlText, expand, locate, parse_sections, parse_statement


def sql(text: str, source: str = "x.sql") -> SqlText:
    return expand(source, {source: text}.__getitem__)


def test_a_statement_with_its_header() -> None:
    text = (
        "-- What it answers.\n-- title: All of it\n-- kinds: job task\n"
        "-- needs: by_job, by_time\nSELECT 1 -- one :id\n-- between\nWHERE a = :ids LIMIT :limit;\n"
    )
    statement = parse_statement(sql(text, "roots@16.sql"))
    assert statement.text == "SELECT 1 -- one :id\n\nWHERE a = $1::text[] LIMIT $2::int"
    assert statement.parameters == ("ids", "limit")
    assert (statement.title, statement.kinds, statement.server) == ("All of it", ("job", "task"), 16)
    assert statement.needs == {"by_job", "by_time"}


def test_each_section_has_its_own_parameters() -> None:
    text = (
        "-- :lock\nSELECT :ids\n-- :change\n-- why\nSELECT :args, :ids, :args\n\n"
        "-- :change\nSELECT :versions\n-- :rows\nSELECT now()\n"
    )
    sections = parse_sections(sql(text))
    assert list(sections) == ["lock", "change", "rows"]
    assert [(s.text, s.parameters) for s in sections["change"]] == [
        ("SELECT $1::jsonb, $2::text[], $1::jsonb", ("args", "ids")), ("SELECT $1::text[]", ("versions",))
    ]  # fmt: skip
    assert sections["rows"][0].parameters == ()


def test_names_in_texts_casts_and_slices_are_none() -> None:
    code = """SELECT ':ids', ":ids", :"schema".x, :'schema', a[1:2], a[b(c):limit], '12:limit'::text, :ids::uuid[]"""
    statement = parse_statement(sql(code))
    assert statement.text == code.replace(":ids::uuid[]", "$1::uuid[]")
    assert statement.parameters == ("ids",)


def test_a_part_takes_words_from_the_file_that_includes_it() -> None:
    files = {
        "late.sql": "\\set status paused\n\\set table jobs\nWITH \\ir part.sql\n, \\ir part.sql\nSELECT :limit > wrong",
        "part.sql": "a AS (SELECT 1 FROM :table\n WHERE status = :'status')",
    }
    statement = parse_statement(expand("late.sql", files.__getitem__))
    part = "a AS (SELECT 1 FROM jobs\n WHERE status = 'paused')"
    assert statement.text == f"WITH\n{part}\n,\n{part}\nSELECT $1::int > wrong"
    assert str(locate(statement, statement.text.index("wrong") + 1, "no")) == "late.sql:5:17: no"
    assert str(locate(statement, statement.text.index("status") + 1, "no")) == "part.sql:2:8: no"


def test_settings_have_names_and_faults_show_what_is_written() -> None:
    names = {"stale": "make_interval(secs => (:settings ->> 'stale')::float8)"}
    statement = parse_statement(sql("SELECT 1\n WHERE t < :stale AND :limit > wrong", "x.sql"), names)
    sent = "make_interval(secs => ($1::jsonb ->> 'stale')::float8)"
    assert statement.text == f"SELECT 1\n WHERE t < {sent} AND $2::int > wrong"
    assert statement.parameters == ("settings", "limit")
    fault = locate(statement, statement.text.index("wrong") + 1, "no such column")
    assert str(fault) == "x.sql:2:32: no such column"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-- One.\nSELECT :idz", "x.sql:2:9: 'idz' is neither a parameter nor a setting; did you mean \"ids?\""),
        ("-- One.\nLIMIT :page", "x.sql:2:8: 'page' is neither a parameter nor a setting; did you mean \"limit"),
        ("-- One.\nSELECT :ids,\n  $2", r"x.sql:3:3: \$2 has no name"),
        ("-- Nothing.\n\n;", "x.sql:1:1: the statement is empty"),
    ],
)
def test_errors_name_the_line(text: str, said: str) -> None:
    with pytest.raises(EngineFileError, match=said):
        parse_statement(sql(text))


def test_a_word_does_not_have_the_name_of_a_parameter() -> None:
    files = {"late.sql": "-- One.\n\\ir part.sql", "part.sql": "\\set status paused\n\\set limit 5\nSELECT :limit"}
    with pytest.raises(EngineFileError, match=r"^part\.sql:2:6: 'limit' is a parameter; give the word another name$"):
        expand("late.sql", files.__getitem__)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT 1", "v.sql:1:1: it has no section"),
        ("-- :lock\nSELECT :ids\n-- :rows\n\nSELECT 1,\n  :limits", "v.sql:6:4: 'limits' is neither"),
        ("-- :lock\nSELECT 1\n-- :rows\n-- nothing\n-- :change\nSELECT 1", "v.sql:3:9: the statement is empty"),
    ],
)
def test_errors_in_sections_name_the_line(text: str, said: str) -> None:
    with pytest.raises(EngineFileError, match=said):
        parse_sections(sql(text, "v.sql"))


def test_the_variant_with_the_most_needs_and_the_newest_server_is_chosen() -> None:
    def variant(source: str, needs: str = "") -> object:
        return parse_statement(sql(f"-- {source}\n{f'-- needs: {needs}' if needs else ''}\nSELECT 1", source))

    plain, newer, indexed, both = variants = [
        variant("a.sql"), variant("a@15.sql"), variant("a.i.sql", "x"), variant("a.ij.sql", "x y")
    ]  # fmt: skip
    none, x, xy = frozenset[str](), frozenset({"x"}), frozenset({"x", "y"})
    for met_needs, version, chosen in (
        (none, 14, plain), (none, 15, newer), (x, 18, indexed), (xy, 14, both), (frozenset({"y"}), 18, newer)
    ):  # fmt: skip
        assert choose(variants, met_needs, version) is chosen  # type: ignore[arg-type]
    assert choose([indexed], none, 18) is None  # type: ignore[list-item]
