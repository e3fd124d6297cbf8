"""Servers that do not answer as PostgreSQL does."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from queries.db import dsn
from queries.db.database import connect
from queries.db.errors import DatabaseError, RefusedError, UnreachableError


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def fatal(code: str, text: str) -> bytes:
    return message(b"E", b"SFATAL\0VFATAL\0C" + code.encode() + b"\0M" + text.encode() + b"\0\0")


OAUTH = message(b"R", struct.pack("!i", 10) + b"OAUTHBEARER\0\0")
NOT_TEMPORARY, TEMPORARY = DatabaseError, UnreachableError


@asynccontextmanager
async def answering(answer: bytes, *, close: bool = True) -> AsyncIterator[int]:
    """Yield the port of a server that reads one message and gives this answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        if not close:
            await reader.read()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


async def refusal(text: str) -> DatabaseError:
    """Return the error of connecting."""
    with pytest.raises(DatabaseError) as caught:
        await connect(text)
    said = str(caught.value)
    assert len(said.splitlines()) <= 2
    assert not [word for word in ("Error", "Errno", "bug in", "asyncpg", "_ssl", "secret", "\0") if word in said], said
    return caught.value


@pytest.mark.parametrize("sslmode", ["disable", "prefer", "require"])
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSSSSSSSSS",
        b"N",
        b"R",
        message(b"R", b""),
        message(b"R", struct.pack("!i", 99)),
        message(b"R", struct.pack("!i", 7)),
        OAUTH,
        message(b"E", b"\0"),
        message(b"E", b"Mx"),
        message(b"K", b""),
        b"R\xff\xff\xff\xff",
        b"R\x7f\xff\xff\xff",
        fatal("08P01", "no such user"),
        fatal("XX000", "a\nb"),
    ],
    ids=range(16),
)
async def test_an_answer_that_is_none(answer: bytes, sslmode: str) -> None:
    async with answering(answer) as port:
        await refusal(f"host=127.0.0.1 port={port} user=x password=secret sslmode={sslmode} connect_timeout=5")


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (OAUTH, NOT_TEMPORARY, "OAUTHBEARER"),
        (fatal("08P01", "unsupported startup parameter: options"), NOT_TEMPORARY, "remove options and PGOPTIONS"),
        (fatal("08P01", "server login has been failing"), TEMPORARY, "server login has been failing"),
        (fatal("28P01", "password authentication failed"), RefusedError, "the password is from the connection string"),
        (fatal("57P03", "the database system is starting up"), TEMPORARY, "starting"),
        (fatal("53300", "sorry, too many clients already"), TEMPORARY, "too many clients"),
        (b"", TEMPORARY, "closed the connection"),
    ],
)
async def test_what_a_refusal_means(answer: bytes, error: type[DatabaseError], said: str) -> None:
    async with answering(answer) as port:
        found = await refusal(f"host=127.0.0.1 port={port} user=x password=secret sslmode=disable")
    assert type(found) is error
    assert said in str(found)


async def test_a_silent_host_costs_its_own_time_only(eternaltwin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dsn, "CONNECT_SECONDS", 0.2)
    parts = urlsplit(eternaltwin)
    monkeypatch.setenv("PGPASSWORD", str(parts.password))
    async with answering(b"", close=False) as silent:
        text = f"host=127.0.0.1,127.0.0.1,127.0.0.1 user=postgres dbname={parts.path[1:]}"
        connection = await connect(f"{text} port={silent},{silent},{parts.port}")
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
        began = time.monotonic()
        assert "No answer" in str(await refusal(f"{text} port={silent}"))
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("answer", [b"", fatal("57P03", "the database system is starting up")])
async def test_after_a_host_that_is_down_the_next_one_is_tried(
    answer: bytes, eternaltwin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = urlsplit(eternaltwin)
    monkeypatch.setenv("PGPASSWORD", str(parts.password))
    async with answering(answer) as port:
        connection = await connect(
            f"host=127.0.0.1,127.0.0.1 port={port},{parts.port} user=postgres dbname={parts.path[1:]} sslmode=disable"
        )
        await connection.close()


async def test_a_refused_login_ends_the_search(eternaltwin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = urlsplit(eternaltwin)
    monkeypatch.setenv("PGPASSWORD", str(parts.password))
    async with answering(fatal("28P01", "wrong")) as port:
        text = f"host=127.0.0.1,127.0.0.1 port={port},{parts.port} user=postgres dbname={parts.path[1:]}"
        assert "refuses this login" in str(await refusal(f"{text} sslmode=disable"))


async def test_a_server_without_tls_ends_the_search_if_tls_is_required(eternaltwin: str) -> None:
    parts = urlsplit(eternaltwin)
    async with answering(b"N") as port:
        text = f"host=127.0.0.1,127.0.0.1 port={port},{parts.port} user=postgres dbname={parts.path[1:]}"
        assert "does not support TLS" in str(await refusal(f"{text} sslmode=require"))


async def test_each_failed_host_is_named() -> None:
    async with answering(b"") as port:
        found = await refusal(f"host=127.0.0.1,nowhere.invalid port={port} user=x sslmode=disable")
    assert f"127.0.0.1 port {port}: the server closed the connection" in str(found)
    assert "'nowhere.invalid' is not known" in str(found)
