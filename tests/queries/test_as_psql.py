"""Table of connection settings: unstick connects as psql does, or both refuse.

Each case runs psql and unstick on the same server with the same files and variables. What differs names its reason,
which is in docs/connecting.md.
"""

# ruff: noqa: E501 - a row of the table is one line

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from queries.db import dsn
from queries.db.database import connect
from queries.db.errors import DatabaseError
from tests.proof import most_in_proof
from tests.queries.psql_server import AVAILABLE, FACTS, PASSWORD, ConnectingServer, Outcome, newest_libpq

DOCUMENT = Path(__file__).parents[2] / "docs" / "connecting.md"


class Case(NamedTuple):
    """Settings and their outcome.

    ``as_psql`` is the user that psql connects as, "" if it refuses. ``differs`` is the word in the document.
    """

    text: str
    as_psql: str
    environment: dict[str, str] = {}
    files: dict[str, str] = {}  # in the home folder, with mode 0600
    differs: str = ""
    newest: bool = False  # needs the words of libpq 18
    said: str = ""  # in unstick's refusal


URI = "postgresql://{user}@localhost:{port}/app"
T = "host=localhost port={port} user=trusty dbname=app"
CA = "sslrootcert={certs}/ca.crt"
SOCKET = "host={folder} port={port} dbname=app"
SERVICE = ".pg_service.conf"
ESCAPED = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
QUOTED = PASSWORD.replace("\\", "\\\\")
ENCODED = "s%3Ae%5Cc%20r%25t"
ANY = "*:*:*:*:"
OWN = f"sslcert={{certs}}/client.crt sslkey={{certs}}/client.key {CA}"
CERTED = "host=localhost port={port} user=certed dbname=app"
LOGIN = f"host=localhost port={{port}} dbname=app password='{QUOTED}'"
READONLY = "host=localhost port={port} user=trusty dbname=readonly"

CASES = [
    # Strings and URIs
    Case(T, "trusty"),
    Case("postgresql://trusty@[::1]:{port}/app", "trusty"),
    Case("host=::1 port={port} user=trusty dbname=app", "trusty"),
    Case("host=localhost,::1 port={closed},{port} user=trusty dbname=app", "trusty"),
    Case(f"{T} channel_binding=require", "", said="channel_binding cannot be obeyed"),
    Case("service=a", "", files={SERVICE: f"[a]\n{T.replace(' ', chr(10))}\n  sslmode=verify-full\n"}, said="root.crt"),
    Case("user=scrammed host=localhost port={port} dbname=app", "scrammed", files={".pgpass": f"{ANY}{ESCAPED}\n"}),
    Case("user=scrammed host=localhost port={port} dbname=app", "", said="asks for a password, and none was found"),
    Case(f"{T} sslmode=verify-full {CA}", "trusty"),
    Case(f"{T} sslmode=verify-full {CA} host=127.0.0.1", "", said="certificate is not accepted"),
    Case(f"{CERTED} {OWN}", "certed"),
    Case("port=70000 host=localhost", "", said="port must be a number from 1 to 65535"),
    Case(f"{T} sslmode=require", "trusty"),
    Case(f"{SOCKET} user=peered", "peered"),
    Case(f"{T} sslmode=verify-ca {CA} sslcrl={{certs}}/revoked.crl", "", said="revoked"),
    # ... the rest is proof
    Case("postgresql://trusty@localhost:{port}/app", "trusty"),
    Case("postgres://trusty@127.0.0.1:{port}/app?sslmode=disable", "trusty"),
    Case("postgresql://trusty@localhost:{port}/app?ssl=true", "trusty"),
    Case("postgresql://trusty@localhost:{port}/app?ssl=false", "", said="does not know"),
    Case("postgresql://trusty@localhost/app?port={port}", "trusty"),
    Case("postgresql:///app?host=localhost&port={port}&user=trusty", "trusty"),
    Case("postgresql://%74rusty@local%68ost:{port}/%61pp", "trusty"),
    Case("postgresql://trusty@localhost%2C[::1]:{port}/app", "", said="cannot be read"),
    Case("postgresql://trusty@localhost:{closed},[::1]:{port}/app", "trusty"),
    Case("postgresql://trusty@localhost,127.0.0.1/app?port={closed},{port}", "trusty"),
    Case("postgresql://trusty@localhost:{port}/app?sslmode", "", said="after '?'"),
    Case("postgresql://trusty@localhost:{port}/app?options=-c%20geqo=off", "", said="after '?'"),
    Case("postgresql://trusty@localhost:{port}/app?options=-c%20geqo%3Doff", "trusty"),
    Case("postgresql://trusty@localhost:{port}/a%zz", "", said="cannot be read"),
    Case("postgresql://trusty@localhost:{port}/a%00", "", said="cannot be read"),
    Case("postgresql://trusty@localhost:{port}/%ff", "", said="not valid UTF-8"),
    Case("postgresql://trusty@[]:{port}/app", "", said="cannot be read"),
    Case("postgresql://trusty@[::1:{port}/app", "", said="cannot be read"),
    Case("postgresql://trusty@localhost:{port}/app?hots=x", "", said="does not know"),
    Case("postgresql://trusty@{sock}:{port}/app", "trusty"),
    Case("postgresql://trusty@/app?host={folder}&port={port}", "trusty"),
    Case(f"postgresql://scrammed:{ENCODED}@localhost:{{port}}/app", "scrammed"),
    Case("postgresql://scrammed:wrong@localhost:{port}/app", "", said="password authentication failed"),
    Case(f"{T} dbname='app'sslmode=require", "trusty"),
    Case("user = 'trusty'  host= localhost port ={port}\tdbname=\\app", "trusty"),
    Case("user='trusty host=localhost port={port}", "", said="cannot be read"),
    Case("user host=localhost", "", said="cannot be read"),
    Case(f"{T} database=app", "", said="does not know"),
    Case(f"{T} dbname=nowhere", "", said="does not exist"),
    Case(f"{T} connect_timeout=3", "trusty"),
    Case(f"{T} connect_timeout=3s", "", said="whole number"),
    Case(f"{T} connect_timeout=''", "", said="whole number"),
    Case(T, "", {"PGCONNECT_TIMEOUT": ""}, said="whole number"),
    Case(f"{T} options=''", "trusty", {"PGOPTIONS": "-z"}),
    Case(f"{T} connect_timeout=0", "trusty"),
    Case(f"{T} keepalives_idle=30 keepalives_count=3 tcp_user_timeout=10000", "trusty"),
    Case(f"{T} application_name=x client_encoding=LATIN1", "trusty"),
    Case("host=nosuchhost.invalid port={port} user=trusty dbname=app", "", said="is not known"),
    Case("host=nosuchhost.invalid,localhost port={port} user=trusty dbname=app", "trusty"),
    Case("host=localhost port={port},{port} user=trusty dbname=app", "", said="port has 2 values"),
    Case("host=localhost port={port} user=trusty dbname=app port=-1", "", said="port must be"),
    Case("host=localhost port={port} user=trusty dbname=app port=65536", "", said="port must be"),
    Case("host=localhost port={port} user=trusty dbname=app port=0x1538", "", said="port must be"),
    Case("host=localhost port=' {port} ' user=trusty dbname=app", "trusty"),
    Case("host=localhost,localhost port={silent},{port} user=trusty dbname=app connect_timeout=2", "trusty"),
    Case("host=localhost port={silent} user=trusty dbname=app connect_timeout=2", "", said="No answer"),
    Case("host=localhost,localhost port={port} user=rejected,x", "", said="refuses this login"),
    Case("host=localhost port={closed} user=trusty dbname=app", "", said="refused"),
    Case("host={folder} port={closed} user=trusty dbname=app", "", said=".s.PGSQL."),
    Case(f"{SOCKET} user=trusty", "trusty"),
    Case(f"{SOCKET} user=trusty sslmode=verify-full", "trusty"),
    Case(f"{SOCKET} user=unlisted", "", said="no pg_hba.conf entry"),
    Case("host={folder},localhost port={closed},{port} user=trusty dbname=app", "trusty"),
    # Ways to log in
    *(
        Case(f"host=localhost port={{port}} user={user} dbname=app password='{QUOTED}'", user)
        for user in ("clear", "md5ed", "scrammed", "tlsonly")
    ),
    *(
        Case(f"host=localhost port={{port}} user={user} dbname=app password=x", "", said="password authentication failed")
        for user in ("clear", "md5ed", "scrammed")
    ),
    *(
        Case(f"host=localhost port={{port}} user={user} dbname=app", "", said="none was found") for user in ("clear", "md5ed")
    ),
    Case("host=localhost port={port} user=rejected dbname=app", "", said="refuses this login"),
    Case("host=localhost port={port} user=unlisted dbname=app", "", said="refuses this login"),
    Case("host=localhost port={port} user=plainonly dbname=app", "plainonly"),
    Case("host=localhost port={port} user=plainonly dbname=app sslmode=require", "", said="refuses this login"),
    Case("host=localhost port={port} user=plainonly dbname=app sslmode=allow", "plainonly"),
    Case(f"host=localhost port={{port}} user=tlsonly dbname=app password='{QUOTED}' sslmode=allow", "tlsonly"),
    Case(f"host=localhost port={{port}} user=tlsonly dbname=app password='{QUOTED}' sslmode=disable", "", said="refuses"),
    Case(f"{SOCKET} user=scrammed password='{QUOTED}'", "scrammed"),
    Case(f"{SOCKET} user=certed", "", said="refuses this login"),
    # TLS
    Case(f"{T} sslmode=verify-full", "", said="root.crt"),
    Case(f"{T} sslmode=verify-full", "trusty", files={".postgresql/root.crt": "{ca}"}),
    Case(f"{T} sslmode=verify-ca {CA} host=127.0.0.1", "trusty"),
    Case(f"{T} sslmode=require sslrootcert={{certs}}/stranger.crt", "", said="certificate is not accepted"),
    Case(f"{T} sslmode=allow {CA}", "trusty"),
    Case(f"{T} sslmode=nonsense", "", said="sslmode must be one of"),
    Case(f"{T} sslmode=''", "", said="sslmode must be one of"),
    Case(T, "", {"PGSSLMODE": ""}, said="sslmode must be one of"),
    Case(f"{T} sslmode=verify-ca {CA} sslcrl={{certs}}/nothing.crl", "trusty"),
    Case(f"{T} sslmode=require sslcrl={{certs}}/revoked.crl", "trusty"),
    Case(f"{T} sslmode=require", "", files={".postgresql/root.crt": "{ca}", ".postgresql/root.crl": "{crl}"}, said="revoked"),
    Case(f"{T} sslmode=require ssl_min_protocol_version=TLSv1.3", "trusty"),
    Case(f"{T} sslmode=require ssl_max_protocol_version=TLSv1.2", "trusty"),
    Case(f"{T} sslmode=require ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2", "", said="TLS failed"),
    Case(f"{T} sslmode=require ssl_min_protocol_version=SSLv3", "", said="must be one of"),
    Case(f"{T} sslmode=require", "", {"PGSSLMINPROTOCOLVERSION": "TLSv9"}, said="PGSSLMINPROTOCOLVERSION"),
    Case(f"{T} sslmode=verify-full {CA} sslsni=1", "trusty"),
    Case(f"{T} sslmode=require sslcompression=1", "trusty"),
    Case(f"{T} sslrootcert=system sslmode=require", "", newest=True, said="needs sslmode=verify-full"),
    Case(f"{T} sslrootcert=system", "", newest=True, said="certificate is not accepted"),
    Case(f"{T} sslnegotiation=direct", "", newest=True, said="direct TLS requires"),
    Case(f"{CERTED} {OWN} sslmode=verify-full", "certed"),
    Case(f"{CERTED} sslmode=require", "", said="refuses this login"),
    Case(f"{CERTED} {OWN} sslmode=require sslcert={{certs}}/nowhere.crt", "", said="nowhere.crt (sslcert) cannot be read: no such file"),
    Case(f"{CERTED} {OWN} sslmode=require sslkey={{certs}}/nowhere.key", "", said="nowhere.key (sslkey) cannot be read"),
    Case(f"{CERTED} {OWN} sslmode=require sslkey={{certs}}/server.key", "", said="belong together"),
    Case(f"{CERTED} {OWN} sslmode=require sslkey={{certs}}/locked.key", "", said="sslpassword"),
    Case(f"{CERTED} {OWN} sslmode=require sslkey={{certs}}/locked.key sslpassword=no", "", said="does sslpassword open the key"),
    Case(f"{CERTED} {OWN} sslmode=require sslkey={{certs}}/locked.key sslpassword=opens", "certed"),
    Case(f"{CERTED} sslmode=require", "certed", files={".postgresql/postgresql.crt": "{crt}", ".postgresql/postgresql.key": "{key}"}),
    # Protections and words that are refused or ignored
    Case(f"{T} channel_binding=prefer gssencmode=disable", "trusty"),
    Case(T, "", {"PGCHANNELBINDING": "require"}, said="PGCHANNELBINDING"),
    Case(f"{T} gssencmode=require", "", said="gssencmode cannot be obeyed"),
    Case(T, "", {"PGGSSENCMODE": "require"}, said="PGGSSENCMODE"),
    Case(f"{T} min_protocol_version=3.2 max_protocol_version=3.0", "", newest=True, said="min_protocol_version cannot"),
    Case(f"{T} min_protocol_version=3.0 max_protocol_version=latest", "trusty", newest=True),
    Case(f"{T} load_balance_hosts=random", "trusty", newest=True),
    Case(f"{T} load_balance_hosts=maybe", "", newest=True, said="must be one of"),
    Case(f"{T} replication=false", "trusty"),
    # Which server
    Case(f"{T} target_session_attrs=read-write", "trusty"),
    Case(f"{T} target_session_attrs=primary", "trusty"),
    Case(f"{T} target_session_attrs=standby", "", said="target_session_attrs=standby"),
    Case(f"{T} target_session_attrs=prefer-standby", "trusty"),
    Case(f"{T} target_session_attrs=read-only", "", said="target_session_attrs=read-only"),
    Case(f"{READONLY} target_session_attrs=read-only", "trusty"),
    Case(f"{READONLY} target_session_attrs=read-write", "", said="target_session_attrs=read-write"),
    Case(f"{READONLY} target_session_attrs=primary", "trusty"),
    Case(f"{T} target_session_attrs=any", "trusty", {"PGTARGETSESSIONATTRS": "standby"}),
    # Variables
    Case("", "trusty", {"PGHOST": "::1", "PGPORT": "{port}", "PGUSER": "trusty", "PGDATABASE": "app"}),
    Case("app", "trusty", {"PGHOST": "localhost", "PGPORT": "{port}", "PGUSER": "trusty", "PGDATABASE": "x"}),
    Case("dbname=app", "trusty", {"PGHOST": "a,::1", "PGPORT": "{port}", "PGUSER": "trusty"}),
    Case("", "", {"PGHOST": "localhost", "PGPORT": "x", "PGUSER": "trusty"}, said="PGPORT"),
    Case("user=scrammed dbname=app host=localhost port={port}", "scrammed", {"PGPASSWORD": PASSWORD}),
    Case("user=scrammed dbname=app host=localhost port={port} password=''", "", {"PGPASSWORD": PASSWORD}, said="none was found"),
    Case(T, "trusty", {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": "{certs}/ca.crt"}),
    Case(T, "", {"PGSSLMODE": "verify-full"}, said="root.crt"),
    Case(T, "trusty", {"PGCONNECT_TIMEOUT": "5", "PGAPPNAME": "x", "PGCLIENTENCODING": "UTF8", "PGOPTIONS": "-c geqo=off"}),
    Case(T, "", {"PGOPTIONS": "-c nonsense=1=2 -z"}, said=""),
    # Siblings of rows above
    Case("postgresql://trusty@localhost:{port}/app?sslmode=require&sslmode=disable", "trusty"),
    Case("postgresql://rejected@localhost:{port}/app?user=trusty", "trusty"),
    Case("host=localhost port={port} user=trusty dbname='postgresql://localhost/app'", "", said="does not exist"),
    Case("host=,localhost port={closed},{port} user=trusty dbname=app", "trusty"),
    Case("service=a", "", {"PGSSLMODE": "verify-full"}, {SERVICE: "[a]\nhost=::1\nport={port}\nuser=trusty\ndbname=app\n"}, said="root.crt"),
    Case("user=scrammed host=localhost port={port} dbname=app", "", files={".pgpass": f"localhost:*:a*:*:{ESCAPED}\n"}, said="No line of"),
    Case(f"{T} connect_timeout=99999999999", "", said="whole number"),
    Case("service=a", "", files={SERVICE: "[a]\nhost=::1\nport={port}\nuser=trusty\ndbname=app\nrequiressl=1\n"}, said="write sslmode=require"),
    Case(f"{T} tcp_user_timeout=-5", "trusty"),
    # Service files
    Case("service=a", "trusty", files={SERVICE: "# a\n[b]\nhost=x\n[a]\nhost=::1\nport={port}\nuser=trusty\ndbname=app\n"}),
    Case("service=a user=trusty", "trusty", files={SERVICE: "[a]\nhost=::1\nport={port}\nuser=rejected\ndbname=app\n"}),
    Case("postgresql://trusty@/?service=a", "trusty", files={SERVICE: "[a]\nhost=localhost\nport={port}\ndbname=app\n"}),
    Case("", "trusty", {"PGSERVICE": "a"}, {SERVICE: "[a]\nhost=localhost\nport={port}\ndbname=app\nuser=trusty\n"}),
    Case("app", "trusty", {"PGSERVICE": "a"}, {SERVICE: "[a]\nhost=localhost\nport={port}\ndbname=x\nuser=trusty\n"}),
    Case("service=a", "trusty", {"PGHOST": "nowhere.invalid"}, {SERVICE: "[a]\nhost=::1\nport={port}\ndbname=app\nuser=trusty\n"}),
    Case("service=a", "trusty", {"PGSERVICEFILE": "{home}/mine"}, {"mine": "[a]\nhost=::1\nport={port}\ndbname=app\nuser=trusty\n"}),
    Case("service=a", "", {"PGSERVICEFILE": "{home}/absent"}, said="absent"),
    Case("service=a", "trusty", {"PGSYSCONFDIR": "{home}/etc"}, {"etc/pg_service.conf": "[a]\nhost=::1\nport={port}\ndbname=app\nuser=trusty\n"}),
    Case(
        "service=a", "trusty", {"PGSYSCONFDIR": "{home}/etc"},
        {SERVICE: "[b]\nx\n", "etc/pg_service.conf": "[a]\nhost=::1\nport={port}\ndbname=app\nuser=trusty\n"},
    ),
    Case("service=none", "", files={SERVICE: "[a]\nhost=::1\n"}, said="no service 'none'"),
    Case("service=a", "", said="no service 'a'"),
    Case("service=a", "", files={SERVICE: "[a]\nservice=b\n[b]\nhost=::1\n"}, said="names another service"),
    Case("service=a", "", files={SERVICE: "[a]\nhots=::1\n"}, said="unknown word"),
    Case("service=a", "trusty", files={SERVICE: "[a] x\r\n\thost=::1 \r\nport={port}\r\nuser=trusty\r\ndbname=app\r\n"}),
    Case("service=a", "", files={SERVICE: "[a]\nhost=::1\nport={port}\nuser=trusty\nchannel_binding=require\n"}, said="the service 'a' of"),
    Case("service=a", "scrammed", files={SERVICE: f"[a]\nhost=localhost\nport={{port}}\nuser=scrammed\ndbname=app\npassword={PASSWORD}\n"}),
    # Password files
    Case("user=scrammed host=::1 port={port} dbname=app", "scrammed", files={".pgpass": f"\\:\\:1:{{port}}:app:scrammed:{ESCAPED}\n"}),
    Case("user=scrammed host=::1 port={port} dbname=app", "", files={".pgpass": f"[::1]:{{port}}:app:scrammed:{ESCAPED}\n"}, said="No line of"),
    Case("user=scrammed host=localhost port={port} dbname=app", "scrammed", files={".pgpass": f"# x\n\nlocalhost:*:*:scrammed:{ESCAPED}:more\n"}),
    Case("user=scrammed host=localhost port={port} dbname=app", "", files={".pgpass": f" localhost:*:*:scrammed:{ESCAPED}\n"}, said="none was found"),
    Case("user=scrammed host=localhost port={port} dbname=app", "", files={".pgpass": f"{ANY}wrong\n{ANY}{ESCAPED}\n"}, said="line 1 of the password file"),
    Case("user=scrammed host=localhost port={port} dbname=app", "scrammed", {"PGPASSFILE": "{home}/mine"}, {"mine": f"{ANY}{ESCAPED}"}),
    Case("user=scrammed host=localhost port={port} dbname=app passfile={home}/mine", "scrammed", files={"mine": f"{ANY}{ESCAPED}\r\n"}),
    Case("user=scrammed host=localhost port={port} dbname=app", "", files={".pgpass-open": f"{ANY}{ESCAPED}\n"}, environment={"PGPASSFILE": "{home}/.pgpass-open"}, said="chmod 600"),
    Case("user=scrammed host=localhost port={port} dbname=app", "", {"PGPASSFILE": "{home}"}, said="not a plain file"),
    Case(f"{SOCKET} user=scrammed", "scrammed", files={".pgpass": f"localhost:*:*:*:wrong\n{{folder}}:*:*:*:{ESCAPED}\n"}),
    Case("user=scrammed host=localhost port={port} dbname=app password=x", "", files={".pgpass": f"{ANY}{ESCAPED}\n"}, said="password authentication failed"),
    # What differs, each with its reason
    Case(f"{T} hostaddr=127.0.0.1", "trusty", differs="hostaddr"),
    Case(T, "trusty", {"PGHOSTADDR": "127.0.0.1"}, differs="hostaddr"),
    Case(f"{SOCKET} user=trusty requirepeer={{os_user}}", "trusty", differs="requirepeer"),
    Case(f"{LOGIN} user=scrammed require_auth=scram-sha-256", "scrammed", newest=True, differs="require_auth"),
    Case(T, "trusty", {"PGREQUIRESSL": "1"}, differs="requiressl"),
    Case(f"{T} sslmode=require sslsni=0", "trusty", differs="sslsni"),
    Case(f"{T} sslmode=require sslcertmode=disable", "trusty", newest=True, differs="sslcertmode"),
    Case(f"{T} sslmode=require sslcrldir={{certs}}", "trusty", differs="sslcrldir"),
    Case(f"{CERTED} {OWN} sslkey={{certs}}/open.key sslmode=require", "", differs="sslkey"),
    Case(f"{T} keepalives_idle=x", "", differs="keepalives"),
    Case(f"{T} sslmode=require ssl_min_protocol_version=TLSv1.1", "trusty", differs="ssl_min_protocol_version"),
    Case("service=a", "", files={SERVICE: f"[a]\n{T.replace(' ', chr(10))}\n; note\n"}, differs=";`"),
    Case("service=a", "trusty", files={SERVICE: f"stray=1\n[a]\n{T.replace(' ', chr(10))}\n"}, differs="[service]`"),
    Case("user=scrammed host=::1 port={port} dbname=app", "scrammed", files={".pgpass": f"::1:{{port}}:app:scrammed:{ESCAPED}\n"}, differs="::1"),
    Case(f"{T} channel_binding=require sslmode=verify-full {CA} user=scrammed password='{QUOTED}'", "scrammed", differs="channel_binding"),
    Case(f"{T} sslmode=require sslrootcert={{certs}}/nowhere.crt", "trusty", differs="sslrootcert"),
    Case(f"{T} sslmode=verify-ca {CA} sslcrl={{certs}}/nowhere.crl", "trusty", differs="sslcrl"),
    Case("host=localhost,localhost port={port},70000 user=trusty dbname=app", "trusty", differs="port"),
    Case(f"{T} oauth_issuer=https://x.example oauth_client_id=x", "trusty", newest=True, differs="oauth_issuer"),
    Case(f"{T} scram_client_key=AAAA", "", newest=True, said="scram_client_key cannot be obeyed"),
]  # fmt: skip


@pytest.fixture(scope="module")
def connecting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectingServer]:
    server = ConnectingServer()
    server.start()
    server.prepare(tmp_path_factory.mktemp("certificates"))
    server.libraries = newest_libpq(tmp_path_factory.mktemp("libpq"))
    yield server
    server.close()


def values(server: ConnectingServer, home: Path) -> dict[str, Any]:
    certs = server.certificates
    return {
        "port": server.port,
        "closed": server.closed_port,
        "silent": server.silent_port,
        "certs": certs,
        "home": home,
        "folder": server.folder,
        "sock": str(server.folder).replace("/", "%2F"),
        "os_user": server.os_user,
        "ca": (certs / "ca.crt").read_text(),
        "crl": (certs / "revoked.crl").read_text(),
        "crt": (certs / "client.crt").read_text(),
        "key": (certs / "client.key").read_text(),
    }


async def unstick(text: str) -> Outcome:
    """Return what unstick connects to."""
    try:
        connection = await connect(text)
    except DatabaseError as error:
        return Outcome(said=str(error))
    try:
        return Outcome(*(await connection.fetchrow(FACTS)).values())
    finally:
        await connection.close()


@pytest.mark.skipif(not AVAILABLE, reason="needs psql, a server with TLS and the openssl command")
@pytest.mark.parametrize("case", most_in_proof(CASES, 15, unpacked=False))
async def test_unstick_connects_as_psql_does(
    case: Case, connecting: ConnectingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.newest and not connecting.libraries:
        pytest.skip("psql's libpq is older than 18")
    given = values(connecting, tmp_path)
    for name, content in case.files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content.format(**given).encode())
        file.chmod(0o644 if "open" in name else 0o600)
    text = case.text.format(**given)
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    own = {"HOME": str(tmp_path), "PGSYSCONFDIR": str(tmp_path / "none")}
    environment = {**own, **{name: value.format(**given) for name, value in case.environment.items()}}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    theirs, ours = connecting.psql(text, environment), await unstick(text)
    assert theirs.user == case.as_psql, theirs.said
    if case.differs:
        assert ours.user != theirs.user, "it does not differ any more"
        assert f"`{case.differs}" in DOCUMENT.read_text()
    else:
        assert ours.facts == theirs.facts, f"psql: {theirs.said}\nunstick: {ours.said}"
    if not ours.user:
        lines = ours.said.splitlines()
        assert len(lines) <= 2
        assert case.said.lower() in ours.said.lower(), ours.said
        assert not [word for word in ("Error", "Errno", "bug in", "Traceback", PASSWORD) if word in ours.said], (
            ours.said
        )


# The words of the section "Parameter Key Words" of the documentation of libpq 18.
DOCUMENTED = """
    host hostaddr port dbname user password passfile require_auth channel_binding connect_timeout client_encoding
    options application_name fallback_application_name keepalives keepalives_idle keepalives_interval keepalives_count
    tcp_user_timeout replication gssencmode sslmode requiressl sslnegotiation sslcompression sslcert sslkey
    sslkeylogfile sslpassword sslcertmode sslrootcert sslcrl sslcrldir sslsni requirepeer ssl_min_protocol_version
    ssl_max_protocol_version min_protocol_version max_protocol_version krbsrvname gsslib gssdelegation
    scram_client_key scram_server_key service target_session_attrs load_balance_hosts
    oauth_issuer oauth_client_id oauth_client_secret oauth_scope
"""


def test_each_word_of_libpq_is_in_one_of_three_lists() -> None:
    lists = (dsn.OBEYED, dsn.HARMLESS, dsn.REFUSED.keys())
    counts = {word: sum(word in words for words in lists) for word in (*DOCUMENTED.split(), "servicefile")}
    assert {word for word, count in counts.items() if count != 1} == set()
    assert counts.keys() == dsn.ALL


def test_the_lists_have_the_words_and_variables_of_the_newest_libpq() -> None:
    pq = pytest.importorskip("psycopg.pq")
    known = {each.keyword.decode(): (each.envvar or b"").decode() for each in pq.Conninfo.get_defaults()}
    assert known.keys() == dsn.ALL - {"requiressl", "servicefile"}
    assert {(word, name) for word, name in known.items() if name and dsn.variable(word) != name} == {
        ("application_name", "PGAPPNAME")
    }


@pytest.mark.parametrize("word", sorted(dsn.REFUSED))
def test_the_document_names_each_refused_word(word: str) -> None:
    assert f"`{word}" in DOCUMENT.read_text()
