"""Server with many ways to log in, certificates, and psql to compare with."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.servers import OTHER, PostgresServer

PSQL = OTHER / "psql"
AVAILABLE = PSQL.exists() and (OTHER / "postgres").exists() and shutil.which("openssl") is not None

USERS = ["trusty", "peered", "certed", "tlsonly", "plainonly", "clear", "md5ed", "scrammed", "rejected", "unlisted"]
PASSWORD = "s:e\\c r%t"
HBA = """
local all postgres trust
local all trusty trust
local all peered peer map=here
local all scrammed scram-sha-256
host all postgres all trust
host all trusty all trust
hostssl all certed all cert
hostssl all tlsonly all scram-sha-256
hostnossl all plainonly all trust
host all clear all password
host all md5ed all md5
host all scrammed all scram-sha-256
host all rejected all reject
"""
FACTS = """
SELECT current_user, current_database(), coalesce(host(inet_server_addr()), 'socket'), coalesce(ssl, false)::text
FROM pg_stat_ssl WHERE pid = pg_backend_pid()
"""
EXTENSIONS = """
[ca]
basicConstraints = critical, CA:true
[server]
subjectAltName = DNS:localhost
[other]
subjectAltName = DNS:elsewhere.example
[client]
basicConstraints = CA:false
[crl]
database = index
crlnumber = crlnumber
default_md = sha256
default_crl_days = 30
[req]
distinguished_name = name
[name]
"""


class Outcome(NamedTuple):
    """Role and database of a connection, or its refusal."""

    user: str = ""
    database: str = ""
    at: str = ""
    encrypted: str = ""
    said: str = ""

    @property
    def facts(self) -> tuple[str, ...]:
        return self[:4]


class ConnectingServer(PostgresServer):
    """PostgreSQL with TLS that listens on both loopback addresses and a socket."""

    def __init__(self) -> None:
        super().__init__(OTHER.parent.name)
        self._silent = socket.socket()
        self._silent.bind(("127.0.0.1", 0))
        self._silent.listen(50)  # connections are accepted by the kernel and never answered
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            self.closed_port = closed.getsockname()[1]
        self.certificates = Path()
        self.libraries = ""

    @property
    def silent_port(self) -> int:
        """A port that accepts and never answers."""
        return int(self._silent.getsockname()[1])

    def spawn(self, command: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        both = [word.replace("listen_addresses=127.0.0.1", "listen_addresses=127.0.0.1,::1") for word in command]
        return super().spawn(both if socket.has_ipv6 else command, **streams)

    def prepare(self, folder: Path) -> None:
        """Make roles and certificates, and start TLS."""
        self.certificates = folder
        make_certificates(folder)
        for name in ("ca.crt", "server.crt", "server.key"):
            shutil.copy(folder / name, self.data / name)
            self.chown(self.data / name)
            (self.data / name).chmod(0o600)
        self.sql("SET password_encryption = 'scram-sha-256'")
        quoted = PASSWORD.replace("'", "''")
        for user in USERS:
            encryption = "md5" if user == "md5ed" else "scram-sha-256"
            self.sql(f"SET password_encryption = '{encryption}'; CREATE ROLE {user} LOGIN PASSWORD '{quoted}'")
        self.sql("CREATE DATABASE app")
        self.sql("CREATE DATABASE readonly")
        self.sql("ALTER DATABASE readonly SET default_transaction_read_only = on")
        for name, value in {"ssl": "on", "ssl_ca_file": "ca.crt", "ssl_min_protocol_version": "TLSv1.2"}.items():
            self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        (self.data / "pg_hba.conf").write_text(HBA)
        me = pwd.getpwuid(os.geteuid()).pw_name
        (self.data / "pg_ident.conf").write_text(f"here {me} peered\n")
        self.halt()
        self.start()

    @property
    def os_user(self) -> str:
        """Name of the user as whom the server runs."""
        return pwd.getpwuid(self.data.stat().st_uid).pw_name

    def open_log(self) -> IO[bytes]:
        return super().open_log()

    def psql(self, text: str, environment: Mapping[str, str]) -> Outcome:
        """Return what psql connects to."""
        libraries = {"LD_LIBRARY_PATH": self.libraries} if self.libraries else {}
        done = subprocess.run(
            [PSQL, "-XAtqw", "-F", "\t", "-c", FACTS, *(["-d", text] if text else [])],
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", **libraries, **environment},
            capture_output=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            return Outcome(said=done.stderr.decode(errors="replace"))
        return Outcome(*done.stdout.decode().rstrip("\n").split("\t"))

    def close(self) -> None:
        self._silent.close()
        super().close()


def newest_libpq(folder: Path) -> str:
    """Return a library path with libpq of psycopg's wheel, or "".

    With it psql knows the words of version 18.
    """
    spec = importlib.util.find_spec("psycopg_binary")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        libraries = Path(place).with_name("psycopg_binary.libs")
        for file in libraries.glob("libpq-*.so*"):
            (folder / "libpq.so.5").symlink_to(file)
            return f"{folder}:{libraries}"
    return ""


def make_certificates(folder: Path) -> None:
    """Make certificates with the openssl command."""
    (folder / "ext").write_text(EXTENSIONS)
    for name in ("index", "index.attr"):
        (folder / name).write_text("")
    (folder / "crlnumber").write_text("01\n")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    def key(name: str) -> None:
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
        (folder / f"{name}.key").chmod(0o600)

    for root in ("ca", "stranger"):
        key(root)
        words = ("-subj", f"/CN={root}", "-days", "30", "-config", "ext", "-extensions", "ca")
        openssl("req", "-x509", "-new", "-key", f"{root}.key", "-out", f"{root}.crt", *words)
    for name, subject, kind in (("server", "localhost", "server"), ("client", "certed", "client")):
        key(name)
        openssl(
            "req", "-new", "-key", f"{name}.key", "-subj", f"/CN={subject}", "-out", f"{name}.csr", "-config", "ext"
        )
        signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "ext")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-extensions", kind, "-out", f"{name}.crt")
    openssl("ec", "-in", "client.key", "-aes128", "-passout", "pass:opens", "-out", "locked.key")
    shutil.copy(folder / "client.key", folder / "open.key")
    (folder / "open.key").chmod(0o644)
    (folder / "locked.key").chmod(0o600)
    ca = ("ca", "-config", "ext", "-name", "crl", "-keyfile", "ca.key", "-cert", "ca.crt")
    openssl(*ca, "-gencrl", "-out", "nothing.crl")
    openssl(*ca, "-revoke", "server.crt")
    openssl(*ca, "-gencrl", "-out", "revoked.crl")
