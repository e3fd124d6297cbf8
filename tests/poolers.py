"""Real poolers in front of the tests' servers: PgBouncer and pgpool2.

A test is skipped where its pooler is not installed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import asyncpg
import pytest

from tests.command import fetch
from tests.servers import PostgresServer


class Pooler:
    """A pooler that runs until `close`. ``name``: of its program."""

    name = ""

    def __init__(self, *servers: PostgresServer, more: str = "") -> None:
        if (binary := shutil.which(self.name, path=f"{os.environ['PATH']}:/usr/sbin")) is None:
            pytest.skip(f"{self.name} is not installed")
        self.folder = Path(tempfile.mkdtemp(prefix="unstick-pooler-"))
        self.folder.chmod(0o777)
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            self.port, self._other_port = (each.getsockname()[1] for each in (one, other))
        self._user = f"{servers[0].user}:{servers[0].password}"
        command = [binary, *self._configured(servers, more)]
        user = {"user": 65534} if os.geteuid() == 0 else {}
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)
        end = time.monotonic() + 60
        while True:
            try:
                fetch(self.dsn("postgres"), "SELECT")
                break
            except (OSError, asyncpg.PostgresError):
                assert time.monotonic() < end
                time.sleep(0.05)

    def _configured(self, servers: tuple[PostgresServer, ...], more: str) -> list[str]:
        """Write the configuration. Return the options of the program."""
        raise NotImplementedError

    def dsn(self, name: str) -> str:
        """Return the connection string of a database, by its name or connection string."""
        return f"postgresql://{self._user}@127.0.0.1:{self.port}/{name.rpartition('/')[2]}"

    def close(self) -> None:
        """End the pooler."""
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self.folder)


class PgBouncer(Pooler):
    """PgBouncer in transaction mode, with two connections."""

    name = "pgbouncer"

    def _configured(self, servers: tuple[PostgresServer, ...], more: str = "") -> list[str]:
        (server,) = servers
        (self.folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres password={server.password}\n"
            f"[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={self.port}\nunix_socket_dir=\nauth_type=any\n"
            f"admin_users=postgres\nserver_login_retry=0.1\npool_mode=transaction\ndefault_pool_size=2\n{more}"
        )
        return ["-q", str(self.folder / "pgbouncer.ini")]

    async def admin(self, command: str) -> None:
        """Run a command of the admin console, such as PAUSE."""
        connection = await asyncpg.connect(self.dsn("pgbouncer"))
        await connection.execute(command)
        connection.terminate()

    async def lead_to(self, server: PostgresServer) -> None:
        """Lead to another server, as a switchover does."""
        self._configured((server,))
        for command in ("PAUSE", "RELOAD", "RESUME"):
            await self.admin(command)


class PgPool(Pooler):
    """pgpool2 that sends each read that it may balance to the second server."""

    name = "pgpool"

    def _configured(self, servers: tuple[PostgresServer, ...], more: str) -> list[str]:
        lines = [
            f"backend_hostname{n} = '127.0.0.1'\nbackend_port{n} = {server.port}\nbackend_weight{n} = {n}\n"
            f"backend_flag{n} = '{'DISALLOW_TO_FAILOVER' if n else 'ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER'}'\n"
            for n, server in enumerate(servers)
        ]
        folder = self.folder
        (folder / "pcp.conf").touch()
        (folder / "pgpool.conf").write_text(
            f"{''.join(lines)}listen_addresses = '127.0.0.1'\nport = {self.port}\nsocket_dir = '{folder}'\n"
            f"pcp_port = {self._other_port}\npcp_socket_dir = '{folder}'\npid_file_name = '{folder}/pid'\n"
            f"logdir = '{folder}'\n"
            "backend_clustering_mode = 'streaming_replication'\nnum_init_children = 8\nmax_pool = 1\n"
            f"enable_pool_hba = off\nallow_clear_text_frontend_auth = on\nload_balance_mode = on\n"
            f"sr_check_period = 0\n{more}"
        )
        return ["-n", "-f", str(folder / "pgpool.conf"), "-F", str(folder / "pcp.conf")]
