"""Bad input gets one or two clear lines and an exit code, and changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
import uuid
from collections.abc import Callable, Iterator
from itertools import product
from urllib.parse import quote, urlsplit

import asyncpg
import pytest

from tests.command import Answer, fetch, unstick
from tests.proof import most_in_proof, one_in
from tests.servers import PostgresServer

JOB = uuid.UUID("10000000-0000-4000-8000-000000000001")
TASK = uuid.UUID("20000000-0000-4000-8000-000000000001")
NODE = f"eternaltwin/task:{TASK}"
ROWS = f"""
INSERT INTO job VALUES ('{JOB}', now() - interval '1 day', NULL, '{{}}');
INSERT INTO task
VALUES ('{TASK}', '{JOB}', 'SendEmail', 1, now() - interval '1 day', NULL, 3, 'Blocked', '1 s', '2 s', '{{}}', NULL);
INSERT INTO task_timer VALUES (now() - interval '1 hour', '{TASK}');
"""
SNAPSHOT = (
    "SELECT t::text, t.xmin::text FROM task t UNION ALL SELECT m::text, m.xmin::text FROM task_timer m ORDER BY 1"
)


@pytest.fixture
def stuck(eternaltwin: str, server: PostgresServer) -> str:
    """A database with one task whose timer is overdue."""
    server.sql(ROWS, eternaltwin)
    return eternaltwin


def wake(dsn: str, *more: str) -> Answer:
    return unstick("do", "wake", NODE, "--reason", "it is late", "--yes", *more, dsn=dsn)


def few_lines(answer: Answer) -> str:
    """Return the message of a failed command: at most two lines, all on stderr."""
    assert answer.out == ""
    assert 1 <= len(answer.err.splitlines()) <= 2, answer.err
    return answer.err


# The server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "command", [["engines"], ["tree"], ["stuck"], ["show", NODE], ["audit"], ["changed"], ["init", "--yes"]]
)
def test_no_server(command: list[str]) -> None:
    port = free_port()
    answer = unstick(*command, dsn=f"postgresql://anna:secret@127.0.0.1:{port}/app")
    assert answer.code == 1
    said = few_lines(answer)
    assert f"127.0.0.1:{port}" in said
    assert "secret" not in said


def test_no_server_by_the_libpq_environment() -> None:
    answer = unstick("stuck", PGHOST="127.0.0.1", PGPORT=str(free_port()), PGPASSWORD="secret", PGUSER="anna")
    assert answer.code == 1
    assert "secret" not in few_lines(answer)


def test_no_such_host() -> None:
    answer = unstick("stuck", dsn="postgresql://nowhere.invalid/app")
    assert answer.code == 1
    assert "nowhere.invalid" in few_lines(answer)


@pytest.mark.parametrize("dsn", ["mysql://host/app", "host=a b c", "postgresql://h:port/app", "connect_timeout=soon"])
def test_a_connection_string_that_is_none(dsn: str) -> None:
    answer = unstick("stuck", dsn=dsn)
    assert answer.code == 1
    few_lines(answer)


def test_a_wrong_password(server: PostgresServer) -> None:
    answer = unstick("stuck", dsn=server.dsn(user="postgres", password="guess-me"))
    assert answer.code == 1
    said = few_lines(answer)
    assert "password authentication failed" in said
    assert "guess-me" not in said


def test_an_unknown_database(server: PostgresServer) -> None:
    answer = unstick("stuck", dsn=server.dsn("nowhere"))
    assert answer.code == 1
    assert 'database "nowhere" does not exist' in few_lines(answer).lower()


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def oldest_protocol(client: socket.socket) -> None:
    """Speak enough of the protocol to report version 13."""
    while True:
        (length,) = struct.unpack("!I", client.recv(4, socket.MSG_WAITALL))
        (request,) = struct.unpack("!I", client.recv(length - 4, socket.MSG_WAITALL)[:4])
        if request != 80877103:  # not a request for TLS, so the startup message
            break
        client.sendall(b"N")
    facts = {"server_version": "13.22", "client_encoding": "UTF8", "TimeZone": "UTC", "integer_datetimes": "on"}
    client.sendall(message(b"R", struct.pack("!I", 0)))
    for name, value in facts.items():
        client.sendall(message(b"S", f"{name}\0{value}\0".encode()))
    client.sendall(message(b"K", struct.pack("!II", 1, 2)) + message(b"Z", b"I"))
    client.recv(1)


def no_postgres(client: socket.socket) -> None:
    """Answer as a web server."""
    client.recv(8)
    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def silent(client: socket.socket) -> None:
    """Accept the connection and never answer."""
    while client.recv(4096):
        pass


def hangs_up(client: socket.socket) -> None:
    client.recv(8)


@contextlib.contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Yield the port of a server that runs ``answer`` for each client."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, contextlib.suppress(OSError, struct.error):
                    answer(client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_a_server_older_than_14() -> None:
    with serving(oldest_protocol) as port:
        answer = unstick("stuck", dsn=f"postgresql://anna@127.0.0.1:{port}/app")
    assert answer.code == 1
    assert "PostgreSQL 13; unstick needs 14 or newer" in few_lines(answer)


@pytest.mark.parametrize("what", [no_postgres, silent, hangs_up])
def test_what_is_no_postgresql_at_all(what: Callable[[socket.socket], None]) -> None:
    with serving(what) as port:
        answer = unstick("stuck", dsn=f"postgresql://anna@127.0.0.1:{port}/app?connect_timeout=1")
    assert answer.code == 1
    assert f"127.0.0.1:{port}" in few_lines(answer)


# What is in it


@pytest.mark.parametrize("command", [["tree"], ["stuck"], ["show", NODE], ["do", "wake", NODE, "-r", "x", "--yes"]])
def test_no_known_engine(database: str, server: PostgresServer, command: list[str]) -> None:
    holds = f"unstick: The database {urlsplit(database).path.strip('/')} holds no "
    other = "task engine that unstick supports, and its one table does not look like work."
    for sql, what, next_ in (
        ("SELECT", "tables.", "unstick demo"),
        ("CREATE TABLE a (b int)", other, "engine new TABLE"),
    ):
        server.sql(sql, database)
        answer = unstick(*command, dsn=database)
        first, known, *others, last = answer.err.splitlines()
        assert all(line.startswith("  Other databases of its server: ") for line in others)
        assert (answer.code, answer.out, first) == (1, "", holds + what)
        assert "unstick knows agent_jobs, estuary, eternaltwin, " in known
        assert (next_ in last, "Nothing was changed." in last) == (True, command[0] == "do")


def test_no_known_engine_in_the_list_of_engines(database: str) -> None:
    answer = unstick("engines", "--json", dsn=database)
    assert answer.code == 1
    assert answer.json["engines"] == []
    assert any("eternaltwin" in line for line in answer.json["expected"])


LOOKALIKES = {
    "prototype": (
        "DROP TABLE task_timer, task, job; CREATE TABLE etwin_jobs (id uuid); CREATE TABLE etwin_tasks (id uuid)",
        "etwin",
    ),
    "a parent": ("ALTER TABLE task ADD parent_task_id uuid", "parent_task_id"),
    "other labels": ("ALTER TYPE task_status RENAME VALUE 'Available' TO 'Ready'", "Ready"),
    "another type": ("ALTER TABLE task ALTER state TYPE text USING ''", "task.state"),
}


@pytest.mark.parametrize("change", LOOKALIKES)
def test_a_lookalike_is_declined_with_the_reason(eternaltwin: str, server: PostgresServer, change: str) -> None:
    sql, reason = LOOKALIKES[change]
    server.sql(sql, eternaltwin)
    answer = unstick("stuck", dsn=eternaltwin)
    assert answer.code == 1
    declined = [line for line in answer.err.splitlines() if "Declined eternaltwin in schema public" in line]
    assert len(declined) == 1
    assert reason in declined[0]


@pytest.fixture
def role(server: PostgresServer, stuck: str) -> Callable[[str], str]:
    """Create a role with these privileges and return its DSN."""

    def make(grants: str) -> str:
        name = server.unique("role")
        server.sql(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        server.sql(grants.replace("ROLE", name), stuck)
        return server.dsn(urlsplit(stuck).path.strip("/"), user=name, password="x")

    return make


def test_columns_that_a_role_may_not_read_are_named(role: Callable[[str], str]) -> None:
    """The server names only the table."""
    some = "GRANT SELECT (task_id, job_id, status) ON task TO ROLE"
    answer = unstick(
        "tree", dsn=role(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO ROLE; REVOKE ALL ON task FROM ROLE; {some}")
    )
    said = " ".join(answer.err.split())
    assert answer.code == 1
    assert "permission denied for table task" in said.lower()
    columns = said.partition("The role may not read these columns: ")[2]
    assert " of task" in columns
    assert "revision" in columns
    assert "job_id" not in columns


def test_without_connect_the_privilege_is_named(server: PostgresServer, stuck: str, role: Callable[[str], str]) -> None:
    database = urlsplit(stuck).path.strip("/")
    dsn = role(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
    answer = unstick("tree", dsn=dsn)
    server.sql(f"GRANT CONNECT ON DATABASE {database} TO PUBLIC", stuck)
    said = " ".join(answer.err.split())
    assert answer.code == 1
    assert "refuses this role" in said
    assert "GRANT CONNECT ON DATABASE" in said
    assert "starting, stopping" not in said


@pytest.mark.parametrize("command", ["tree", "stuck", "dead"])
def test_no_select(role: Callable[[str], str], command: str) -> None:
    answer = unstick(command, dsn=role("SELECT 1"))
    assert answer.code == 1
    assert "permission denied" in answer.err.lower()
    assert len(answer.err.splitlines()) <= 2
    assert "Nothing is stuck" not in answer.out


def test_select_but_no_update(role: Callable[[str], str], stuck: str) -> None:
    dsn = role("GRANT SELECT ON ALL TABLES IN SCHEMA public TO ROLE")
    before = fetch(stuck, SNAPSHOT)
    assert unstick("stuck", "--json", dsn=dsn).findings
    answer = wake(dsn)
    assert answer.code == 3
    assert answer.out.split()[:2] == ["1", "denied:"]
    assert NODE in answer.out
    assert "UPDATE task" in answer.out
    assert "DELETE task_timer" in answer.out
    shown = unstick("show", NODE, dsn=dsn)
    assert "lacks UPDATE task" in shown.out
    assert fetch(stuck, SNAPSHOT) == before


async def test_a_row_that_another_session_locks(stuck: str) -> None:
    connection = await asyncpg.connect(stuck)
    try:
        before = await connection.fetch(SNAPSHOT)
        async with connection.transaction():
            await connection.execute("SELECT FROM task FOR UPDATE")
            answer = await asyncio.to_thread(wake, stuck)  # it answers while the lock is held
        assert answer.code == 3
        assert answer.out.split()[:2] == ["1", "locked"]
        assert NODE in answer.out
        assert await connection.fetch(SNAPSHOT) == before
    finally:
        await connection.close()


async def test_a_table_that_another_session_locks(stuck: str) -> None:
    connection = await asyncpg.connect(stuck)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE task_timer IN EXCLUSIVE MODE")
            answer = await asyncio.to_thread(wake, stuck)
        assert answer.code == 3
        assert answer.out.split()[:2] == ["1", "locked"]
        assert NODE in answer.out
    finally:
        await connection.close()


# Values

HOSTILE = {
    "escapes": b"\x1b[2J\x1b]0;owned\x07 \xc2\x9b31m",
    "markup": b"[bold red]not[/] [link=file:///etc/passwd]this[/link] [/]",
    "bidi": "\u202egnp.exe \u05d0\u05d1\u05d2 \u2066x".encode(),
    "wide": "\u6f22\u5b57 \U0001f469\u200d\U0001f4bb \u0e01\u0e33".encode(),
    "invalid": b"\xff\xfe\x80 not utf-8 \xc3",
    "json": json.dumps({"text": "\x1b[31m\u202e", "[b]": ["\x9b", None]}, ensure_ascii=False).encode(),
    "deep": b"[" * 20_000,
    "nul": b"\0\0\0",
    "empty": b"",
}


@pytest.mark.parametrize(("column", "value"), one_in(3, product(["state", "output"], HOSTILE)))
def test_stored_values_are_shown_and_not_obeyed(server: PostgresServer, stuck: str, value: str, column: str) -> None:
    server.sql(f"UPDATE task SET {column} = '\\x{HOSTILE[value].hex()}'", stuck)
    answer = unstick("show", NODE, dsn=stuck)  # which checks that no control character comes out
    assert answer.code == 0
    if value == "markup":
        assert "[bold red]not[/]" in answer.out
    exact = unstick("show", NODE, "--json", dsn=stuck)
    assert not any(ord(c) in {*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066} for c in exact.out.rstrip("\n"))


def test_ten_megabytes_of_json(server: PostgresServer, stuck: str) -> None:
    server.sql("UPDATE task SET state = convert_to('[' || repeat('\"abcdefg\",', 1048576) || '1]', 'UTF8')", stuck)
    answer = unstick("show", NODE, dsn=stuck)
    assert answer.code == 0
    assert "JSON, 10 MB (the first 64 kB)" in answer.out
    assert len(answer.out) < 300_000
    state = next(s for s in unstick("show", NODE, "--json", dsn=stuck).json["sections"] if s["name"] == "state")
    assert state["payload"]["size"] == 10 * 1048576 + 3
    assert len(state["payload"]["head"]) == -(-65536 // 3) * 4
    more = unstick("show", NODE, "--json", "--size", "100000", dsn=stuck).json["sections"]
    assert len(next(s for s in more if s["name"] == "state")["payload"]["head"]) == -(-100000 // 3) * 4


def test_hostile_words_in_a_reason_and_in_the_audit_log(stuck: str) -> None:
    reason = "\x1b[31mred\u202e \u6f22 [b]"
    answer = unstick("do", "wake", NODE, "--reason", reason, "--yes", dsn=stuck)
    assert answer.code == 0
    audit = unstick("audit", dsn=stuck, home=answer.home)
    assert "␛[31mred<U+202E> \u6f22 [b]" in audit.out
    assert unstick("audit", "--json", dsn=stuck, home=answer.home).json["entries"][0]["reason"] == reason


TIMES = {
    "last": ("294276-12-31 23:59:59.999+00", "294276-12-31T23:59:59Z", 9224318015999.999),
    "first": ("4714-11-24 00:00:00+00 BC", "4714-11-24T00:00:00Z BC", -210866803200.0),
    "never": ("infinity", "infinity", "infinity"),
    "always": ("-infinity", "-infinity", "-infinity"),
}


@pytest.mark.parametrize("when", most_in_proof(TIMES))
def test_times_at_the_ends_of_the_range(server: PostgresServer, stuck: str, when: str) -> None:
    written, shown, number = TIMES[when]
    server.sql(f"UPDATE job SET created_at = '{written}'; UPDATE task SET created_at = '{written}'", stuck)
    server.sql(f"UPDATE task_timer SET deadline = '{written}'", stuck)
    detail = unstick("show", NODE, dsn=stuck)
    assert detail.code == 0
    assert detail.out.count(shown) >= 2
    node = unstick("show", NODE, "--json", dsn=stuck).json["node"]
    assert node["created_at"] == number
    assert node["due_at"] == number
    for command in (["tree"], ["tree", "--live"], ["stuck"], ["engines"]):
        assert unstick(*command, dsn=stuck).code == 0
        assert unstick(*command, "--json", dsn=stuck).code == 0
    assert unstick("tree", "age:>1h", dsn=stuck).code == 0
    assert wake(stuck).code == 0


def test_a_role_with_a_strange_name(server: PostgresServer, stuck: str) -> None:
    name = f'an "odd" \x1b[31m {server.unique()}'
    quoted = '"' + name.replace('"', '""') + '"'
    server.sql(f"CREATE ROLE {quoted} LOGIN PASSWORD 'x'")
    dsn = server.dsn(quote(urlsplit(stuck).path.strip("/")), user=name, password="x")
    answer = unstick("tree", dsn=dsn)
    assert answer.code == 1
