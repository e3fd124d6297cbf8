"""Tables written as TOML are read as the same tables."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queries.files.toml_text import Inline, written

TEXTS = st.text(
    st.characters(exclude_categories=("Cs",)) | st.sampled_from("\"'\\\n\t\r\x00\x7f#=[].{}\u202e\U000e0001")
)
VALUES = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.lists(TEXTS, max_size=3)
TABLES = st.dictionaries(TEXTS, VALUES | st.dictionaries(TEXTS, VALUES, max_size=3), max_size=3)
some = settings(max_examples=min(settings.default.max_examples, 50), suppress_health_check=[HealthCheck.too_slow])


@some
@given(TABLES)
def test_any_table_is_read_as_it_was_written(table: dict[str, Any]) -> None:
    lines = list(written(table))
    assert tomllib.loads("\n".join(lines)) == table
    assert all("\n" not in line and (line.isprintable() or not line) for line in lines)


@some
@given(st.dictionaries(TEXTS, st.lists(st.dictionaries(TEXTS, TEXTS, max_size=3), max_size=3), max_size=3))
def test_tables_may_be_on_one_line(table: dict[str, list[dict[str, str]]]) -> None:
    inline = {key: [Inline(each) for each in value] for key, value in table.items()}
    assert tomllib.loads("\n".join(written(inline))) == table
