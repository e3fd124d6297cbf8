"""Connection strings come out as the driver must have them to do what psql does."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries import dsn


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PGSERVICE", "PGSERVICEFILE", "PGCONNECT_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("", ""),
        ("mydb", "postgresql:///mydb"),
        ("my db/ü", "postgresql:///my%20db%2F%C3%BC"),
        ("dbname=mydb", "postgresql://?dbname=mydb"),
        ("host=a,b port=1,2 dbname = mydb", "postgresql://?host=a%2Cb&port=1%2C2&dbname=mydb"),
        (r"dbname='it''s' user='a\'b'", None),
        (r"user='a\'b c' dbname=''", "postgresql://?user=a%27b%20c"),
        ("postgresql://", ""),
        ("postgresql:///", ""),
        ("postgresql:///mydb", "postgresql:///mydb"),
        ("postgresql://host", "postgresql://host"),
        ("postgresql://host/", "postgresql://host"),
        ("postgresql://host/?dbname=x", "postgresql://host?dbname=x"),
        ("postgresql://u:p%2F@host:1/my/db", "postgresql://u:p%2F@host:1/my/db"),
        ("postgres://h/d?sslmode=require&keepalives=1", "postgres://h/d?sslmode=require"),
        ("postgresql:///d?host=%2Ftmp%2Fa%20b", "postgresql:///d?host=%2Ftmp%2Fa%20b"),
    ],
)
def test_what_the_driver_gets(text: str, uri: str | None) -> None:
    if uri is None:
        with pytest.raises(ValueError, match="cannot be read"):
            dsn.parse(text)
    else:
        assert dsn.parse(text).uri == uri


def test_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dsn.parse("").timeout == 10
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    assert dsn.parse("mydb").timeout == 3
    assert dsn.parse("connect_timeout=5").timeout == 5
    assert dsn.parse("postgresql://h?connect_timeout=0").timeout == 3600
    with pytest.raises(ValueError, match="number of seconds"):
        dsn.parse("connect_timeout=soon")


def test_a_service_must_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text("[mine]\nhost=db1\npassword=100%\n")
    assert dsn.parse("service=mine").uri == "postgresql://?service=mine"
    assert dsn.parse("postgresql:///?service=mine").uri == "postgresql://?service=mine"
    with pytest.raises(ValueError, match="no service 'yours' in"):
        dsn.parse("service=yours")
    monkeypatch.setenv("PGSERVICE", "mine")
    assert dsn.parse("").uri == "postgresql://?service=mine"
    assert dsn.parse("mydb").uri == "postgresql:///mydb?service=mine"
    (tmp_path / ".pg_service.conf").write_text("host=db1\n")
    with pytest.raises(ValueError, match="cannot be read"):
        dsn.parse("")
