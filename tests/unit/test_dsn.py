"""Connection strings come out as the driver must have them to do what psql does."""

from __future__ import annotations

import asyncio
import os
import pwd
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queries.db import dsn
from queries.db.database import Database
from queries.db.errors import DatabaseError
from queries.db.redaction import HIDDEN, redact


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(dsn, "SOCKET_FOLDERS", ("/var/run/postgresql",))


def place(text: str) -> tuple[list[tuple[str, int]], str, str, str]:
    """Return the hosts, user, password and database that ``text`` names."""
    target = dsn.parse(text)
    hosts = [(host.name, host.port) for host in target.hosts]
    return hosts, target.user, target.hosts[0].password, target.database


DEFAULT = [("/var/run/postgresql", 5432)]


@pytest.mark.parametrize(
    ("text", "hosts", "user", "password", "database"),
    [
        ("", DEFAULT, "", "", ""),
        ("mydb", DEFAULT, "", "", "mydb"),
        ("my db/ü", DEFAULT, "", "", "my db/ü"),
        ("dbname=mydb", DEFAULT, "", "", "mydb"),
        ("host=a,b port=1,2 dbname = mydb", [("a", 1), ("b", 2)], "", "", "mydb"),
        (r"user='a\'b c' dbname=''", DEFAULT, "a'b c", "", "a'b c"),
        ("user='a'dbname=b", DEFAULT, "a", "", "b"),
        ("host= dbname=x", [("dbname=x", 5432)], "", "", ""),
        ("dbname=a dbname=b", DEFAULT, "", "", "b"),
        ("postgresql://", DEFAULT, "", "", ""),
        ("postgresql:///", DEFAULT, "", "", ""),
        ("postgresql:///mydb", DEFAULT, "", "", "mydb"),
        ("postgresql://host/?dbname=x", [("host", 5432)], "", "", "x"),
        ("postgresql://u:p%2F@host:1/my/db", [("host", 1)], "u", "p/", "my/db"),
        ("postgres://h/d?sslmode=require&keepalives=1", [("h", 5432)], "", "", "d"),
        ("postgresql:///d?host=%2Ftmp%2Fa%20b", [("/tmp/a b", 5432)], "", "", "d"),
        ("postgresql://a%2Cb:1/d", [("a", 1), ("b", 1)], "", "", "d"),
        ("postgresql://[::1]:7,[fe80::1],c/d", [("::1", 7), ("fe80::1", 5432), ("c", 5432)], "", "", "d"),
        ("host=::1,fe80::1 port=7", [("::1", 7), ("fe80::1", 7)], "", "", ""),
        ("postgresql://anna@h/d?user=bert&host=i", [("i", 5432)], "bert", "", "d"),
    ],
)
def test_what_a_string_names(text: str, hosts: list[tuple[str, int]], user: str, password: str, database: str) -> None:
    found = place(text)
    own = pwd.getpwuid(os.geteuid()).pw_name
    assert found == (hosts, user or own, password, database or user or own)


def test_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dsn.parse("").timeout == 10
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    assert dsn.parse("mydb").timeout == 3
    assert dsn.parse("connect_timeout=5").timeout == 5
    assert dsn.parse("postgresql://h?connect_timeout=0").timeout == 3600
    with pytest.raises(ValueError, match="connect_timeout must be a whole number"):
        dsn.parse("connect_timeout=soon")


def test_a_service_must_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text("[mine]\nhost=db1\npassword=100%;#:\n[default]\nuser=x\n")
    for text in ("service=mine", "postgresql:///?service=mine"):
        assert place(text)[0] == [("db1", 5432)]
        assert place(text)[2] == "100%;#:"
    assert place("service=mine host=db2")[0] == [("db2", 5432)]
    with pytest.raises(ValueError, match="There is no service 'yours' in"):
        dsn.parse("service=yours")
    monkeypatch.setenv("PGSERVICE", "mine")
    assert place("")[0] == [("db1", 5432)]
    assert place("mydb")[3] == "mydb"
    (tmp_path / ".pg_service.conf").write_text("[mine]\npassword is db1\n")
    with pytest.raises(ValueError, match='has an unknown word; did you mean "password"') as caught:
        dsn.parse("")
    assert "db1" not in str(caught.value)


def test_the_machines_services_come_after_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "pg_service.conf").write_text("[mine]\nhost=theirs\n[shared]\nhost=db3\n")
    (tmp_path / "own").write_text("[mine]\nhost=db1\n")
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path / "etc"))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "own"))
    assert place("service=mine")[0] == [("db1", 5432)]
    assert place("service=shared")[0] == [("db3", 5432)]
    monkeypatch.delenv("PGSYSCONFDIR")
    monkeypatch.setattr(dsn, "SYSTEM_FOLDERS", (str(tmp_path / "absent"), str(tmp_path / "etc")))
    assert place("service=shared")[0] == [("db3", 5432)]


@pytest.mark.parametrize(
    ("lines", "host", "sslmode"),
    [
        ("[a]\nhost=x\n  sslmode=verify-full\n", "x", "verify-full"),
        ("; note\n[b]\nbroken\n[a]\nhost = x\n", "x", None),
        ("  [a]  \r\n\thost=x  \r\n # sslmode=require\n\n", "x", None),
        ("[a]\nhost=x;y # z\n", "x;y # z", None),
        ("[a] of mine\nhost=x\n", "x", None),
        ("[ab]\nhost=y\n[A]\nhost=y\n[a]\nhost=x\n[c]\nbroken\n", "x", None),
    ],
)
def test_a_service_file_is_read_line_by_line(lines: str, host: str, sslmode: str | None, tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text(lines)
    target = dsn.parse("service=a")
    assert (target.hosts[0].name, target.words.get("sslmode")) == (host, sslmode)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[a]\nhost=x\nhost=y\n", "line 3 repeats a service or a word"),
        ("[a]\nhost=x\n[a]\nsslmode=require\n", "line 3 repeats a service or a word"),
        ("host=stray\n[a]\nhost=x\n", r"line 1 .*neither \[service\] nor word=value"),
        ("[a]\nhots=x\n", "the service 'a' of .* has an unknown word; did you mean \"host\""),
        ("[a]\nservice=b\n", "the service 'a' of .* names another service"),
        ("[a]\nsslmode=verify\n", "sslmode must be one of .*the service 'a' of"),
        ("[a]\nchannel_binding=require\n", "channel_binding cannot .*remove the word.*=system.*the service 'a' of"),
        ("[b]\n", "there is no service 'a' in"),
    ],
)
def test_a_fault_of_a_service_file_is_refused(lines: str, said: str, tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text(lines)
    with pytest.raises(ValueError, match="(?i)" + said):
        dsn.parse("service=a")


@pytest.mark.parametrize(
    ("line", "text", "password"),
    [
        (r"h:5432:d:u:a\:b\\c", "host=h dbname=d user=u", r"a:b\c"),
        (r"\:\:1:*:*:*:six", "host=::1", "six"),
        ("*:*:*:*:any:more", "host=h", "any"),
        ("h:5432:d:u:", "host=h dbname=d user=u", ""),
        ("#h:5432:d:u:x\nh:5432:d:u:y", "host=h dbname=d user=u", "y"),
        (" h:5432:d:u:x", "host=h dbname=d user=u", ""),
        ("h:5432:d:u:x \r", "host=h dbname=d user=u", "x "),
        ("localhost:5432:d:u:x", "dbname=d user=u", "x"),
        ("localhost:5432:d:u:x", "host=/var/run/postgresql dbname=d user=u", "x"),
        ("/a:5432:d:u:x", "host=/a dbname=d user=u", "x"),
        ("localhost:5432:d:u:x", "host=/a dbname=d user=u", ""),
        ("h:5432:*d:u:x", "host=h dbname=d user=u", ""),
        ("h:5432:d", "host=h dbname=d user=u", ""),
    ],
)
def test_a_password_file_is_read_line_by_line(line: str, text: str, password: str, tmp_path: Path) -> None:
    (tmp_path / ".pgpass").write_text(f"stranger:*:*:*:no\n{line}\n")
    (tmp_path / ".pgpass").chmod(0o600)
    host = dsn.parse(text).hosts[0]
    assert host.password == password
    assert ".pgpass" in host.password_source


def test_bytes_that_are_no_text_in_the_files(tmp_path: Path) -> None:
    (tmp_path / ".pgpass").write_bytes(b"h:*:*:b\xff:x\nh:*:*:good:\xc3\xbc\nh:*:*:bad:\xff\n")
    (tmp_path / ".pgpass").chmod(0o600)
    assert dsn.parse("host=h user=good").hosts[0].password == "ü"
    with pytest.raises(ValueError, match=r"The password in line 3 of .*\.pgpass is not valid UTF-8"):
        dsn.parse("host=h user=bad")
    (tmp_path / ".pg_service.conf").write_bytes(b"[\xff]\nuser=\xff\n[a]\nuser=\xff\n")
    with pytest.raises(ValueError, match=r"user is not valid UTF-8 \(in the service 'a' of"):
        dsn.parse("service=a")
    (tmp_path / ".pg_service.conf").unlink()
    (tmp_path / ".pg_service.conf").mkdir()
    with pytest.raises(ValueError, match=r"The service file .* cannot be read: is a directory"):
        dsn.parse("service=a")


def test_each_host_has_its_own_password(tmp_path: Path) -> None:
    (tmp_path / "passwords").write_text("a:1:*:*:one\nb:2:*:*:two\n")
    (tmp_path / "passwords").chmod(0o600)
    hosts = dsn.parse(f"host=a,b port=1,2 passfile={tmp_path}/passwords").hosts
    assert [host.password for host in hosts] == ["one", "two"]
    (tmp_path / "passwords").chmod(0o644)
    host = dsn.parse(f"host=a port=1 passfile={tmp_path}/passwords").hosts[0]
    assert host.password == ""
    assert "others may read it (mode 0644): chmod 600" in host.password_source


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
    target = dsn.parse(text)
    assert [(host.name, host.port) for host in target.hosts] == [("db1", 5433)]
    assert (target.user, target.hosts[0].password, target.database) == ("anna", "se/cret", "shop")
    assert "se/cret" not in repr(target)


def test_variables_fill_what_the_string_leaves_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c geqo=on")
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PGDATABASE", "shop")
    monkeypatch.setenv("PGPORT", "7")
    assert place("")[::3] == ([("elsewhere", 7)], "shop")
    assert dsn.parse("").words["options"] == "-c geqo=on"
    assert place("postgresql://h")[0] == [("h", 7)]
    assert place("postgresql://a,b:8")[0] == [("a", 5432), ("b", 8)]
    monkeypatch.setenv("PGCHANNELBINDING", "require")
    with pytest.raises(ValueError, match=r"cannot be obeyed: .*remove the word.*=verify-full.*PGCHANNELBINDING"):
        dsn.parse("host=h")
    monkeypatch.delenv("PGCHANNELBINDING")
    monkeypatch.setenv("PGREQUIREAUTH", "scram-sha-256")
    with pytest.raises(ValueError, match=r"require_auth cannot be obeyed: .*verify-full.*PGREQUIREAUTH"):
        dsn.parse("host=h")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hostaddr=::1", "hostaddr cannot be obeyed: write the address as host"),
        ("host=a,b port=1,2,3", "port has 3 values, but host 2"),
        ("port=1,2", "port has 2 values, but host 1"),
        *((f"port={port}", "port must be a number from 1 to 65535") for port in ("0", "-1", "65536", "70000", "x")),
        ("postgresql:///%ff", "dbname is not valid UTF-8"),
        ("dbname=\udcff", "dbname is not valid UTF-8"),
    ],
)
def test_a_value_that_cannot_be_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        dsn.parse(text)


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
    with pytest.raises(
        ValueError, match="^The connection string cannot be used: " + re.escape(connection_error)
    ) as caught:
        dsn.parse(text)
    assert "cret" not in str(caught.value)


# Secrets

SECRET = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=3, max_size=20).map(
    lambda text: f"Q7{text}Z"
)


def connection_error(text: str) -> str:
    """Return the error of connecting to ``text``, where nothing listens."""
    try:
        asyncio.run(Database(text).renew())
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
    assert target.hosts
