"""TLS by libpq's settings: the certificate is checked or the connection refused.

The embedded server is built without TLS, so something in front of it ends the encryption, as a load balancer does.
``tls/`` holds a self-signed certificate for ``localhost`` and its key, made for these tests and good for nothing else.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from queries.db.errors import DatabaseError
from queries.workspace import Workspace
from tests.servers import PostgresServer

CERT, KEY = (Path(__file__).parent / "tls" / name for name in ("cert.pem", "key.pem"))
ASKED = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")


@pytest.fixture
async def port(server: PostgresServer) -> AsyncIterator[int]:
    """Yield a port on which the server accepts only TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERT, KEY)
    tasks: set[asyncio.Task[None]] = set()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            if await reader.readexactly(8) != ASKED:
                return
            writer.write(b"S")
            await writer.drain()
            await writer.start_tls(context)
            from_server, to_server = await asyncio.open_connection("127.0.0.1", server.port)
            await asyncio.gather(forward(reader, to_server), forward(from_server, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass  # the other side did not like the certificate
        finally:
            writer.close()

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    yield listener.sockets[0].getsockname()[1]
    listener.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def by_tls(dsn: str, port: int, settings: str, host: str = "localhost") -> str:
    parts = urlsplit(dsn)
    return f"postgresql://{parts.username}:{parts.password}@{host}:{port}{parts.path}?{settings}"


@pytest.mark.parametrize("settings", [f"sslmode=verify-full&sslrootcert={CERT}", "sslmode=require", "sslmode=prefer"])
async def test_a_certificate_that_is_good_enough(eternaltwin: str, port: int, settings: str, tmp_path: Path) -> None:
    workspace = await Workspace(by_tls(eternaltwin, port, settings), file=tmp_path / "audit_log").open()
    try:
        assert (await workspace.engines["eternaltwin"].pages.roots()).nodes == ()
        server = workspace.server
        assert (server.encrypted, server.tls[:4], server.local) == (True, "TLSv", False)
    finally:
        await workspace.close()


@pytest.mark.parametrize(
    ("settings", "host", "said"),
    [
        (f"sslmode=verify-full&sslrootcert={CERT}", "127.0.0.1", "certificate"),  # it is for another name
        ("sslmode=verify-full&sslrootcert={other}", "localhost", "certificate"),
        ("sslmode=verify-ca&sslrootcert={nowhere}", "localhost", "nowhere.pem"),
        ("sslmode=disable", "localhost", ""),
    ],
)
async def test_any_other_is_refused_in_a_line_or_two(
    eternaltwin: str, port: int, settings: str, host: str, said: str, tmp_path: Path
) -> None:
    settings = settings.format(other=tmp_path / "other.pem", nowhere=tmp_path / "nowhere.pem")
    (tmp_path / "other.pem").write_text(Path(ssl.get_default_verify_paths().cafile or CERT).read_text())
    with pytest.raises(DatabaseError) as caught:
        await Workspace(by_tls(eternaltwin, port, f"{settings}&connect_timeout=3", host)).open()
    lines = str(caught.value).splitlines()
    assert len(lines) <= 2
    assert said in str(caught.value)
    assert str(urlsplit(eternaltwin).password) not in str(caught.value)
