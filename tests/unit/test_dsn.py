"""Connection strings come out as the driver must have them to do what psql does."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from asyncpg import connect_utils
from hypothesis import example, given
from hypothesis import strategies as st

from queries.db import dsn
from queries.db.database import Database
from queries.db.redaction import HIDDEN, redact
from queries.errors import DatabaseError


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
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
    (tmp_path / ".pg_service.conf").write_text("[mine]\nhost=db1\npassword=100%;#:\n[default]\nuser=x\n")
    mine = "postgresql://?host=db1&password=100%25%3B%23%3A"
    assert dsn.parse("service=mine").uri == mine
    assert dsn.parse("postgresql:///?service=mine").uri == mine
    assert dsn.parse("service=mine host=db2").uri == mine.replace("db1", "db2")
    with pytest.raises(ValueError, match="no service 'yours' in"):
        dsn.parse("service=yours")
    monkeypatch.setenv("PGSERVICE", "mine")
    assert dsn.parse("").uri == mine
    assert dsn.parse("mydb").uri == mine.replace("//?", "///mydb?")
    (tmp_path / ".pg_service.conf").write_text("[mine]\nhots=db1\n")
    with pytest.raises(ValueError, match='a word that psql does not know; did you mean "host"'):
        dsn.parse("")
    (tmp_path / ".pg_service.conf").write_text("password=db1\n")
    with pytest.raises(ValueError, match="cannot be read") as caught:
        dsn.parse("")
    assert "db1" not in str(caught.value)


def test_the_machines_services_come_after_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "pg_service.conf").write_text("[mine]\nhost=theirs\n[shared]\nhost=db3\n")
    (tmp_path / "own").write_text("[mine]\nhost=db1\n")
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path / "etc"))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "own"))
    assert dsn.parse("service=mine").uri == "postgresql://?host=db1"
    assert dsn.parse("service=shared").uri == "postgresql://?host=db3"


def driven(text: str) -> tuple[list[Any], Any]:
    """Return the addresses and parameters that asyncpg derives."""
    return connect_utils._parse_connect_dsn_and_args(
        dsn=dsn.parse(text).uri or None, host=None, port=None, user=None, password=None, passfile=None, database=None,
        ssl=None, service=None, servicefile=None, direct_tls=None, server_settings=None, target_session_attrs=None,
        krbsrvname=None, gsslib=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://anna:se%2Fcret@db1:5433/shop",
        "postgres://anna:se%2Fcret@db1:5433/shop?keepalives=1&application_name=x",
        "postgresql:///shop?host=db1&port=5433&user=anna&password=se%2Fcret",
        "postgresql://anna@db1/shop?password=se%2Fcret&port=5433",
        "host=db1 port=5433 user=anna password=se/cret dbname=shop",
        "host = db1 port=5433 user='anna' password='se/cret' dbname = shop connect_timeout=3 gssencmode=disable",
        r"password='se\/cret' host=db1 port=5433 user=ann\a dbname=shop",
        "postgresql://anna:se%2Fcret@elsewhere:5433/shop?hostaddr=db1",
        "host=elsewhere hostaddr=db1 port=5433 user=anna password=se/cret dbname=shop",
        "service=mine user=anna",
        "postgresql:///shop?service=mine&user=anna",
        "postgresql://anna@db1:5433/shop?service=other",
        "service=other host=db1 port=5433 user=anna dbname=shop",
    ],
)
def test_each_way_to_say_it_comes_to_the_same(text: str, tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text(
        "[mine]\nhost=db1\nport=5433\nuser=bert\npassword=se/cret\ndbname=shop\n"
        "[other]\nhost=db2\nport=6000\nuser=bert\npassword=se/cret\ndbname=other\n"
    )
    addresses, parameters = driven(text)
    assert addresses == [("db1", 5433)]
    assert (parameters.user, parameters.password, parameters.database) == ("anna", "se/cret", "shop")
    assert not parameters.server_settings


def test_several_hosts_sockets_addresses_tls_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    several = driven("postgresql://a:1,[::1]:2,b:3/db?target_session_attrs=prefer-standby")
    assert several[0] == [("a", 1), ("::1", 2), ("b", 3)]
    assert several[1].target_session_attrs.value == "prefer-standby"
    assert driven("host=a,b port=1,2 dbname=x")[0] == [("a", 1), ("b", 2)]
    assert driven("postgresql://[::1]/db?port=7")[0] == [("::1", 7)]
    assert driven("postgresql://a,b/db?port=7,8")[0] == [("a", 7), ("b", 8)]
    assert driven("host=/tmp/sockets port=7 dbname=x")[0] == ["/tmp/sockets/.s.PGSQL.7"]
    assert driven("postgresql://%2Ftmp%2Fsockets:7/x")[0] == ["/tmp/sockets/.s.PGSQL.7"]
    assert driven("host=a sslmode=require dbname=x")[1].sslmode.name == "require"
    assert driven("postgresql://a/x?sslmode=disable")[1].sslmode.name == "disable"
    assert driven("host=a dbname=x options='-c geqo=off'")[1].server_settings == {"options": "-c geqo=off"}
    monkeypatch.setenv("PGOPTIONS", "-c geqo=on")
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PGHOSTADDR", "10.0.0.1")
    monkeypatch.setenv("PGDATABASE", "shop")
    addresses, parameters = driven("")
    assert addresses == [("10.0.0.1", 5432)]
    assert (parameters.database, parameters.server_settings) == ("shop", {"options": "-c geqo=on"})


@pytest.mark.parametrize(
    ("text", "connection_error"),
    [
        ("mysql://u:p@h/d", "it must begin with postgresql://"),
        ("//u:p@h/d?a=b", "it cannot be read: use key=value words"),
        ("postgresql://u:se/cret@h/d", "its host or port cannot be read: characters such as"),
        ("postgresql://u:se@cret@h/d", "its user or password cannot be read: characters such as"),
        ("postgresql://h:port/d", "its host or port cannot be read"),
        ("host=h password=se cret", "it cannot be read after password: use key=value words"),
        ("host=h password='secret", "it cannot be read after host: use key=value words"),
        ("hots=h", 'it has a word that psql does not know; did you mean "host"?'),
        ("postgresql://h/d?sslmod=require", 'it has a word that psql does not know; did you mean "sslmode"?'),
        ("=", "it cannot be read: use key=value words"),
    ],
)
def test_an_error_does_not_repeat_the_string(text: str, connection_error: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(connection_error)) as caught:
        dsn.parse(text)
    assert "cret" not in str(caught.value)


# Secrets

SECRET = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=3, max_size=20).map(
    lambda text: f"Q7{text}Z"
)


def connection_error(text: str) -> str:
    """Return the error of connecting to ``text``, where nothing listens."""
    try:
        asyncio.run(Database(text).batch(()))
    except DatabaseError as error:
        return str(error)
    raise AssertionError("a server listens on port 1")


def written(secret: str) -> list[str]:
    """Connection strings that are well formed."""
    escaped = secret.replace("\\", "\\\\").replace("'", "\\'")
    encoded = quote(secret, safe="")
    return [
        f"postgresql://anna:{encoded}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?user=anna&password={encoded}&sslmode=disable",
        f"postgres://127.0.0.1:1/db?sslpassword={encoded}",
        f"host=127.0.0.1 port=1 user=anna password='{escaped}' dbname=db",
        f"password = '{escaped}' host=127.0.0.1 port=1",
        f"sslpassword='{escaped}' host=127.0.0.1 port=1 sslmode=disable",
    ]


def broken(secret: str) -> list[str]:
    """Connection strings with typical mistakes."""
    return [
        f"postgresql://anna:{secret}@127.0.0.1:1/db",
        f"postgresql://anna:{secret}",
        f"anna:{secret}@127.0.0.1/db",
        f"mysql://anna:{secret}@127.0.0.1/db",
        f"host=127.0.0.1 port=1 password='{secret}",
    ]


def leaks(secret: str, text: str) -> bool:
    return any(form in text for form in (secret, quote(secret, safe=""), quote(secret), secret[:-1], secret[1:]))


@given(SECRET)
@example("Q7it's \\Z")
@example("Q7p@ss/wo:rd?#&=Z")
def test_redacting_never_leaks(secret: str) -> None:
    for text in written(secret):
        hidden = redact(text)
        assert not leaks(secret, hidden), hidden
        assert HIDDEN in hidden
        assert redact(hidden) == hidden
    for text in broken(secret):
        if text.startswith(("postgresql://anna", "anna", "mysql")) and "@" not in text:
            continue  # a password looks like a port there
        assert not leaks(secret, redact(text)), redact(text)


@given(st.text(max_size=60))
def test_redacting_takes_anything_and_leaves_what_has_no_secret(text: str) -> None:
    redact(text)
    assert redact("host=db1 port=5432 dbname=x") == "host=db1 port=5432 dbname=x"
    assert redact("postgresql://anna@db1/x?sslmode=require") == "postgresql://anna@db1/x?sslmode=require"
    assert redact("mydb") == "mydb"


@pytest.mark.parametrize("secret", ["Q7secretZ", "Q7it's \\Z", "Q7p@ss/wo:rd?#&=Z", "Q7 % %zz Z"])
def test_no_error_leaks_either(secret: str) -> None:
    for text in [*written(secret), *broken(secret)]:
        assert not leaks(secret, connection_error(text)), connection_error(text)


@given(st.text(max_size=40))
def test_parsing_anything_gives_a_target_or_a_value_error(text: str) -> None:
    try:
        target = dsn.parse(text)
    except ValueError:
        return
    assert target.uri == "" or target.uri.startswith(("postgresql://", "postgres://"))
