"""SQL files: headers, parameters, sections; each error names file and line."""

from __future__ import annotations

import pytest

from queries.contract.loader import PARAMETERS, choose
from queries.statement import EngineFileError, parse_sections, parse_statement


def read(text: str, source: str = "x.sql") -> object:
    return parse_statement(text, source, PARAMETERS)


def test_a_statement_with_its_header() -> None:
    statement = parse_statement(
        "-- What it answers.\n-- title: All of it\n-- kinds: job task\n-- $1 ids text[]: which\n-- $2 page int\n"
        "-- needs: by_job, by_time\nSELECT 1 -- one\n-- between\nWHERE a = $1::text[] LIMIT $2::int;\n",
        "roots@16.sql",
        PARAMETERS,
    )
    assert statement.text == "SELECT 1 -- one\n\nWHERE a = $1::text[] LIMIT $2::int"
    assert statement.parameters == ("ids", "page")
    assert (statement.title, statement.kinds, statement.server) == ("All of it", ("job", "task"), 16)
    assert statement.needs == {"by_job", "by_time"}


def test_unused_parameters_of_a_section_are_removed() -> None:
    sections = parse_sections(
        "-- $1 ids text[]\n-- $2 versions text[]\n-- $3 args jsonb\n-- :lock\nSELECT $1\n-- :change\n-- why\n"
        "SELECT $3, $1, $3\n\n-- :change\nSELECT $2\n-- :rows\nSELECT now()\n",
        "v.sql",
        PARAMETERS,
    )
    assert list(sections) == ["lock", "change", "rows"]
    assert [(s.text, s.parameters) for s in sections["change"]] == [
        ("SELECT $2, $1, $2", ("ids", "args")), ("SELECT $1", ("versions",))
    ]  # fmt: skip
    assert sections["rows"][0].parameters == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-- One.\n-- $1 idz text[]\nSELECT $1", "x.sql:2: 'idz' is not a parameter; there are args, bytes, "),
        ("-- One.\n-- $1 ids text[]\nSELECT $1,\n  $2", r"x.sql:4: \$2 is missing in the header \(-- \$2 name type"),
        ("-- Nothing.\n\n;", "x.sql:1: the statement is empty"),
    ],
)
def test_errors_name_the_line(text: str, said: str) -> None:
    with pytest.raises(EngineFileError, match=said):
        read(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT 1", "v.sql:1: it has no section"),
        ("-- $1 ids text[]\n-- :lock\nSELECT $1\n-- :rows\n\nSELECT 1,\n  $2", r"v.sql:7: \$2 is missing"),
        ("-- :lock\nSELECT 1\n-- :rows\n-- nothing\n-- :change\nSELECT 1", "v.sql:3: the statement is empty"),
    ],
)
def test_errors_in_sections_name_the_line(text: str, said: str) -> None:
    with pytest.raises(EngineFileError, match=said):
        parse_sections(text, "v.sql", PARAMETERS)


def test_the_variant_with_the_most_needs_and_the_newest_server_is_chosen() -> None:
    def variant(source: str, needs: str = "") -> object:
        return parse_statement(f"-- {source}\n{f'-- needs: {needs}' if needs else ''}\nSELECT 1", source, PARAMETERS)

    plain, newer, indexed, both = variants = [
        variant("a.sql"), variant("a@15.sql"), variant("a.i.sql", "x"), variant("a.ij.sql", "x y")
    ]  # fmt: skip
    none, x, xy = frozenset[str](), frozenset({"x"}), frozenset({"x", "y"})
    for met_needs, version, chosen in (
        (none, 14, plain), (none, 15, newer), (x, 18, indexed), (xy, 14, both), (frozenset({"y"}), 18, newer)
    ):  # fmt: skip
        assert choose(variants, met_needs, version) is chosen  # type: ignore[arg-type]
    assert choose([indexed], none, 18) is None  # type: ignore[list-item]
