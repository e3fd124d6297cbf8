"""Addresses that are tried, options of the socket, and errors of connecting."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from queries.db import connecting, dsn
from queries.db.database import connect
from queries.db.errors import DatabaseError, RefusedError
from tests.command import unstick
from tests.servers import PostgresServer

CERT, KEY = (Path(__file__).parent / "tls" / name for name in ("cert.pem", "key.pem"))


def words(text: str, **more: object) -> str:
    """Return a URI as words, with other ones instead or in addition."""
    parts = urlsplit(text)
    own = {"host": "127.0.0.1", "port": parts.port, "user": parts.username, "dbname": parts.path[1:]}
    return " ".join(f"{word}='{value}'" for word, value in {**own, "password": parts.password, **more}.items())


async def test_each_address_of_a_name_is_tried(eternaltwin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def addresses(host: str, port: int, **_: Any) -> list[Any]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, (address, port)) for address in ("127.0.0.9", "127.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", addresses)
    await (await connect(words(eternaltwin, host="several.invalid", sslmode="disable"))).close()
    with pytest.raises(DatabaseError, match=r": connection refused\.") as caught:
        await connect(words(eternaltwin, host="several.invalid", port=1))
    assert "Errno" not in str(caught.value)


async def test_hosts_are_shuffled_only_if_that_is_asked_for(eternaltwin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "shuffle", list.reverse)
    tried: list[str] = []
    once = connecting.connect_once

    async def noted(host: Any, *rest: Any) -> Any:
        tried.append(host.name)
        return await once(host, *rest)

    monkeypatch.setattr(connecting, "connect_once", noted)
    for balance, order in (("disable", ["127.0.0.9", "127.0.0.1"]), ("random", ["127.0.0.1"])):
        tried.clear()
        text = words(eternaltwin, host="127.0.0.9,127.0.0.1", sslmode="disable", load_balance_hosts=balance)
        await (await connect(text)).close()
        assert tried == order


async def test_tls_without_a_request_before_it(server: PostgresServer, eternaltwin: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERT, KEY)
    context.set_alpn_protocols(["postgresql"])
    tasks = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        from_server, to_server = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(copied(reader, to_server), copied(from_server, writer))

    async def copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    listener = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    port = listener.sockets[0].getsockname()[1]
    tls = {"sslnegotiation": "direct", "sslmode": "verify-full", "sslrootcert": CERT}
    connection = await connect(words(eternaltwin, host="localhost", port=port, **tls))
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
    assert tasks == ["postgresql"]
    with pytest.raises(DatabaseError, match="certificate is not accepted"):
        await connect(words(eternaltwin, host="127.0.0.1", port=port, **tls))
    listener.close()


async def test_a_statement_is_cancelled_at_the_same_host(eternaltwin: str) -> None:
    connection = await connect(words(eternaltwin, host="127.0.0.9,127.0.0.1", sslmode="prefer"))
    with pytest.raises(TimeoutError):
        await connection.fetchval("SELECT pg_sleep(60)", timeout=0.1)
    assert await connection.fetchval("SELECT 1") == 1, "the server has cancelled it"
    await connection.close()


async def test_a_missing_password_is_not_a_wrong_one(
    eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(RefusedError, match=r"none was found[^$]*\.pgpass cannot be read: no such file"):
        await connect(words(eternaltwin, password=""))
    (tmp_path / ".pgpass").write_text("*:*:*:*:secret\n")
    (tmp_path / ".pgpass").chmod(0o640)
    with pytest.raises(RefusedError, match=r"because others may read it \(mode 0640\): chmod 600"):
        await connect(words(eternaltwin, password=""))
    (tmp_path / ".pgpass").chmod(0o600)
    with pytest.raises(DatabaseError, match=r"from line 1 of the password file .*\.pgpass") as caught:
        await connect(words(eternaltwin, password=""))
    assert "none was found" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_machine_without_names_and_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> Any:
        raise KeyError(number)

    monkeypatch.setattr(dsn.pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME", raising=False)
    for name in ("PGUSER", "PGSERVICEFILE", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    assert dsn.parse("host=h user=anna").hosts[0].password_source == "there is no home folder for a password file"
    with pytest.raises(ValueError, match="No user is named"):
        dsn.parse("host=h")
    with pytest.raises(ValueError, match="no service file"):
        dsn.parse("service=a user=anna")


@pytest.mark.parametrize(
    "text",
    [
        "host=127.0.0.1 port=70000",
        "host=127.0.0.1 port=-1",
        "host=127.0.0.1 port=1 dbname=\udcff",
        "host=127.0.0.1 port=1 dbname=a\0b",
        "host=\0 port=1 user=x",
        "host=.. port=1 user=x",
        f"host={'a' * 300} port=1 user=x",
        f"host=/{'a' * 300} port=1 user=x",
        "host=127.0.0.1 port=1 sslmode=require sslcert=/ user=x",
        "host=127.0.0.1 port=1 sslmode=require sslrootcert=/ user=x",
        "service='a\nb'",
        "host=127.0.0.1 port=1 passfile=/ user=x",
        "host=127.0.0.1 port=1 sslmode=require sslcrl=/ user=x",
        "host=127.0.0.1 port=99999999999999999999 user=x",
        "connect_timeout=99999999999 host=127.0.0.1 port=1 user=x",
    ],
)
def test_bad_input_is_no_bug(text: str) -> None:
    answer = unstick("stuck", text)
    assert answer.code == 1
    assert 1 <= len(answer.err.strip().splitlines()) <= 2
    assert not [word for word in ("bug in", "Error", "Errno", "Traceback") if word in answer.err], answer.err
