"""Connection strings in printed commands: complete, and without passwords."""

from __future__ import annotations

import pytest

from queries.db.redaction import HIDDEN, without_passwords


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("postgresql://u:pw@h:5432/db", "postgresql://u@h:5432/db"),
        ("postgresql://u:p%40w@h/db?sslmode=require", "postgresql://u@h/db?sslmode=require"),
        ("postgresql://h/db?user=u&password=pw&sslmode=require", "postgresql://h/db?user=u&sslmode=require"),
        ("postgresql://h/db?password=pw", "postgresql://h/db"),
        ("postgresql://h/db password=pw", "postgresql://h/db"),
        ("host=h password='p w' user=u", "host=h user=u"),
        ("host=h user=u password=pw", "host=h user=u"),
        ("password=pw host=h", "host=h"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("host=h user='a b'", "host=h user='a b'"),
        ("mydb", "mydb"),
    ],
)
def test_a_printed_string_has_no_password(given: str, printed: str) -> None:
    assert " ".join(without_passwords(given).split()) == printed
    assert HIDDEN not in without_passwords(given)
