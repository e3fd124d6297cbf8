"""Broken connections leave no internal error on stderr."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path

import asyncpg

from tests.command import environment
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import repeated
from tests.queries.proxy import Proxy

END_BACKENDS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()"""
INTERNAL = ("never retrieved", "never awaited", "Traceback", "Task was destroyed", "Exception ignored", "a bug in")


@repeated(3, 100)
async def test_no_future_fails_unobserved(
    eternaltwin_db: EternaltwinDb, proxy: Proxy, eternaltwin: str, tmp_path: Path, times: int
) -> None:
    """Break connections at random moments, by the network or the server."""
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-3600))
    commands = (
        ("stuck",),
        ("do", "wake", node, "--reason", "test", "--yes"),
        ("watch", "--interval", "0.2"),
        ("find", "x"),
    )
    usual = dict.fromkeys(commands, 1.0)  # seconds of a command that was not cut
    for seed in range(times):
        chosen = random.Random(seed)
        command = commands[seed % len(commands)]
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "console", *command, "-d", proxy.through(eternaltwin),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, env=environment(tmp_path),
        )  # fmt: skip
        await asyncio.sleep(chosen.uniform(0.2, 1.2) * usual[command])
        for _ in range(chosen.randint(1, 3)):
            if chosen.random() < 0.5:
                await proxy.cut()
            else:
                await end_backends(eternaltwin)
            await asyncio.sleep(chosen.uniform(0, 0.05))
        if command[0] == "watch" and process.returncode is None:
            process.terminate()
        _, said = await asyncio.wait_for(process.communicate(), 120)
        if process.returncode == 0:
            usual[command] = time.monotonic() - began
        assert not any(word in said.decode() for word in INTERNAL), (seed, command, said.decode())


async def end_backends(dsn: str) -> None:
    """End all other sessions of the database."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(END_BACKENDS)
    finally:
        await connection.close()
