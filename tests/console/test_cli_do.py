"""``do``, ``init`` and ``audit``: dry run, confirmation, outcomes and exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import asyncpg
import msgspec
import pexpect
import pytest

from console.cli import carry_out as command
from queries.log import audit_log
from queries.records.action import Change, Outcome, Result
from queries.records.audit import AuditLogEntry
from tests.command import ROOT, Answer, environment, fetch, started, unstick
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer

STATUS = "SELECT status::text, revision, (SELECT count(*) FROM task_timer m WHERE m.task_id = t.task_id) FROM task t"
SNAPSHOT = (
    "SELECT t::text, t.xmin::text FROM task t UNION ALL SELECT m::text, m.xmin::text FROM task_timer m ORDER BY 1"
)
INSERT = """
SET transaction_read_only = off;
INSERT INTO job VALUES ('{job}', now() - interval '1 day', NULL, '{{}}');
INSERT INTO task
VALUES ('{task}', '{job}', 'SendEmail', 1, now() - interval '1 day', NULL, 3, '{status}', '1 s', '2 s', '{{}}', NULL);
INSERT INTO task_timer VALUES (now() - interval '1 hour', '{task}');
"""

Add = Callable[..., str]


@pytest.fixture
def add(server: PostgresServer, eternaltwin: str) -> Add:
    """Add a job with one task that has a timer.

    Returns the task's id, or with ``kind`` the job's.
    """

    def add(status: str = "Blocked", kind: str = "task") -> str:
        keys = {"job": uuid.uuid4(), "task": uuid.uuid4()}
        server.sql(INSERT.format(**keys, status=status), eternaltwin)
        return f"eternaltwin/{kind}:{keys[kind]}"

    return add


@pytest.fixture
def production(eternaltwin: str, tmp_path: Path) -> Path:
    """Home with a production context ``prod`` and a read-only context ``look``."""
    file = tmp_path / "config" / "unstick" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f'[contexts.prod]\ndsn = "{eternaltwin}"\nproduction = true\n'
        f'[contexts.look]\ndsn = "{eternaltwin}"\nread_only = true\n'
    )
    return tmp_path


def do(dsn: str | None, action: str, *words: str, **more: Any) -> Answer:
    return unstick("do", action, "--reason", "it was stuck", *words, dsn=dsn, **more)


# Change and exit codes


@pytest.fixture
def forbidden(server: PostgresServer, eternaltwin: str) -> str:
    """A database in which transactions are read-only unless they ask for more."""
    server.sql(f"ALTER DATABASE {eternaltwin.rpartition('/')[2]} SET default_transaction_read_only = on")
    return eternaltwin


def test_no_changes_where_none_are_wanted_unless_the_command_line_overrides_it(forbidden: str, add: Add) -> None:
    node = add()
    answer = do(forbidden, "wake", node, "--yes", "--json")
    assert (answer.code, [r["outcome"] for r in answer.json["results"]]) == (3, ["refused"])
    assert do(forbidden, "wake", node, "--yes", "--override-read-only").code == 0


def test_or_the_context_does(forbidden: str, add: Add, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'[contexts.prod]\ndsn = "{forbidden}"\noverride_read_only = true\n')
    assert do(None, "wake", add(), "--yes", "@prod", "--config", str(settings)).code == 0


def changed(node: str) -> str:
    """Return the text for one changed node."""
    return f"  1 changed\n    SendEmail v1  {node}\n"


def test_a_wake(eternaltwin: str, add: Add) -> None:
    node = add()
    answer = do(eternaltwin, "wake", node, "--yes")
    assert (answer.code, answer.out) == (0, changed(node))
    assert "Blocked → Available" in answer.err
    assert fetch(eternaltwin, STATUS) == [("Available", 3, 0)]


def test_as_json_it_is_the_outcomes(eternaltwin: str, add: Add) -> None:
    node = add()
    answer = do(eternaltwin, "wake", node, "--yes", "--json")
    outcomes = msgspec.json.decode(answer.out, type=Change)
    (result,) = outcomes.results
    assert result == Result(id=node, outcome=Outcome.CHANGED, title=result.title)
    assert {change.table for change in outcomes.changes} == {"task", "task_timer"}
    assert outcomes.xid is not None
    assert outcomes.audit_log == str(answer.home / "state" / "unstick" / "audit_log.jsonl")


def test_a_dry_run_changes_nothing(eternaltwin: str, add: Add) -> None:
    node, other = add(), add("Available")
    before = fetch(eternaltwin, SNAPSHOT)
    answer = do(eternaltwin, "wake", node, other, "--dry-run")
    assert answer.code == 3
    first, skipped = answer.out.split("Skipped")
    assert "Will change 1 task of 2: SendEmail v1\n1 task Blocked → Available" in first
    assert skipped.index("1 refused") < skipped.index(other)
    exact = msgspec.json.decode(do(eternaltwin, "wake", node, "--dry-run", "--json").out, type=Change)
    assert [r.outcome for r in exact.results] == [Outcome.CHANGED]
    assert exact.blast_radius is not None
    assert exact.blast_radius.beyond == "not known"
    assert any(reach.code == "becomes" and reach.what == "ready" for reach in exact.blast_radius.reached)
    rows, _, radius = do(eternaltwin, "wake", node, "--dry-run", "--rows").out.partition("Blast radius")
    assert rows.index("Rows before and after") < rows.index(node)
    assert "become ready" in radius.partition("beyond this database")[0]
    assert fetch(eternaltwin, SNAPSHOT) == before


def test_each_node_by_name(eternaltwin: str, add: Add) -> None:
    good, finished, gone = add(), add("Complete"), f"eternaltwin/task:{uuid.uuid4()}"
    answer = do(eternaltwin, "wake", good, finished, gone, "--yes")
    assert answer.code == 3
    words = [line.split()[-1] if "/task:" in line else line.split()[1].strip(":") for line in answer.out.splitlines()]
    assert [word for word in words if word in (good, finished, gone, "changed", "refused", "gone")] == [
        *("refused", finished),
        *("gone", gone),
        *("changed", good),
    ]


def test_a_node_twice_is_one(eternaltwin: str, add: Add) -> None:
    node = add()
    assert do(eternaltwin, "wake", node, node, "--yes").out == changed(node)


def test_what_the_engine_cannot_do(eternaltwin: str, add: Add) -> None:
    answer = do(eternaltwin, "release", add(), "--yes")
    assert answer.code == 3
    assert "unsupported" in answer.out


def test_an_argument(eternaltwin: str, server: PostgresServer, add: Add) -> None:
    node = add()
    server.sql("DELETE FROM task_timer", eternaltwin)
    assert do(eternaltwin, "wake", node, "--yes").code == 3
    assert do(eternaltwin, "wake", node, "--yes", "--arg", "untimed=no").code == 3
    assert do(eternaltwin, "wake", node, "--yes", "--arg", "untimed").code == 0


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([], 0),
        ([Outcome.CHANGED], 0),
        *(([Outcome.CHANGED, each], 3) for each in Outcome if each not in (Outcome.CHANGED, Outcome.UNKNOWN)),
        ([Outcome.CHANGED, Outcome.GONE, Outcome.UNKNOWN], 5),
    ],
)
def test_the_exit_code_is_the_worst_outcome(outcomes: list[Outcome], code: int) -> None:
    assert command.exit_code([Result(id="x", outcome=outcome) for outcome in outcomes]) == code


# Confirming


def test_without_a_terminal_nothing_is_taken_for_granted(eternaltwin: str, add: Add) -> None:
    node = add()
    before = fetch(eternaltwin, SNAPSHOT)
    answer = do(eternaltwin, "wake", node)
    assert (answer.code, answer.out) == (2, "")
    assert "--yes" in answer.err
    assert "Nothing was changed" in answer.err
    assert fetch(eternaltwin, SNAPSHOT) == before


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("yes\n", 0), ("\n", 1), ("n\n", 1), ("", 1), ("wake\n", 1)])
def test_an_action_that_wants_care_is_asked_about(eternaltwin: str, add: Add, typed: str, code: int) -> None:
    node = add()
    answer = do(eternaltwin, "wake", node, typed=typed)
    assert answer.code == code
    assert "1 of 1" in answer.err
    assert fetch(eternaltwin, STATUS)[0][0] == ("Available" if code == 0 else "Blocked")
    assert ("Nothing was changed" in answer.err) == bool(code)
    if code:
        said = json.loads(do(eternaltwin, "wake", node, "--json", typed=typed).out)
        assert said["error"] == "You did not agree. Nothing was changed."


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 1), ("cancel\n", 1)])
def test_an_action_that_destroys_asks_like_any_other_outside_production(
    eternaltwin: str, add: Add, typed: str, code: int
) -> None:
    answer = do(eternaltwin, "cancel", add(), typed=typed)
    assert answer.code == code
    assert fetch(eternaltwin, STATUS)[0][0] == ("Complete" if code == 0 else "Blocked")


@pytest.mark.parametrize(("typed", "code"), [("prod\n", 0), ("cancel\n", 1), ("y\n", 1), ("\n", 1)])
def test_on_production_the_contexts_name_is_typed(
    production: Path, eternaltwin: str, add: Add, typed: str, code: int
) -> None:
    answer = do("@prod", "cancel", add(), typed=typed, home=production)
    assert answer.code == code
    assert "prod" in answer.err
    assert fetch(eternaltwin, STATUS)[0][0] == ("Complete" if code == 0 else "Blocked")


def test_on_production_yes_is_not_enough_to_destroy(production: Path, eternaltwin: str, add: Add) -> None:
    node = add()
    assert do("@prod", "cancel", node, "--yes", home=production).code == 2
    assert do("@prod", "cancel", node, "--confirm", "staging", home=production).code == 2
    assert fetch(eternaltwin, STATUS)[0][0] == "Blocked"
    assert do("@prod", "cancel", node, "--confirm", "prod", home=production).code == 0
    assert fetch(eternaltwin, STATUS)[0][0] == "Complete"


def test_on_production_what_only_wants_care_goes_with_yes(production: Path, add: Add) -> None:
    assert do("@prod", "wake", add(), "--yes", home=production).code == 0


def settings(home: Path, **contexts: str) -> None:
    """Write a settings file with contexts by name."""
    file = home / "config" / "unstick" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"[contexts.{name}]\n{more}\n" for name, more in contexts.items()))


WAYS = ("url", "alias", "words", "variables", "service", "service words", "another context")


def places(dsn: str, home: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return other ways to name the same database: words and variables."""
    parts = urlsplit(dsn)
    name, port, user = parts.path[1:], str(parts.port), str(parts.username)
    (home / "services").write_text(f"[shop]\nhost=127.0.0.1\nport={port}\ndbname={name}\nuser={user}\n")
    login = {"PGPASSWORD": unquote(str(parts.password)), "PGUSER": user}
    service = {**login, "PGSERVICEFILE": str(home / "services")}
    ways: list[tuple[list[str], dict[str, str]]] = [
        (["-d", dsn], {}),
        (["-d", dsn.replace("127.0.0.1", "localhost")], {}),
        (["-d", f"host=LOCALHOST port={port} dbname={name}"], login),
        ([], {**login, "PGHOST": "127.0.0.1", "PGPORT": port, "PGDATABASE": name}),
        ([], {**service, "PGSERVICE": "shop"}),
        (["-d", "service=shop"], service),
        (["-d", "@plain"], {}),
    ]
    return dict(zip(WAYS, ways, strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_production_is_the_server_and_not_the_name_that_was_typed(
    eternaltwin: str, add: Add, tmp_path: Path, way: str
) -> None:
    settings(tmp_path, plain=f'dsn = "{eternaltwin}"', prod=f'dsn = "{eternaltwin}"\nproduction = true')
    node, (words, variables) = add(), places(eternaltwin, tmp_path)[way]
    refused = do(None, "cancel", node, "--yes", *words, home=tmp_path, **variables)
    assert refused.code == 2
    assert "which is the production server of the context prod. Give --confirm prod." in " ".join(refused.err.split())
    assert fetch(eternaltwin, STATUS)[0][0] == "Blocked"
    assert do(None, "cancel", node, *words, typed="y\n", home=tmp_path, **variables).code == 1
    assert do(None, "cancel", node, "--confirm", "prod", *words, home=tmp_path, **variables).code == 0


@pytest.mark.parametrize("typed", ["url", "another context"])
def test_a_server_that_was_opened_by_a_context_is_known_again(
    server: PostgresServer, eternaltwin: str, add: Add, tmp_path: Path, typed: str
) -> None:
    """Compare what the server says: the context names it by a socket."""
    name = eternaltwin.rpartition("/")[2]
    contexts = {"plain": f'dsn = "{eternaltwin}"', "prod": f'dsn = "{server.socket_dsn(name)}"\nproduction = true'}
    settings(tmp_path, **contexts)
    words = places(eternaltwin, tmp_path)[typed][0]
    assert unstick("info", "--json", *words, home=tmp_path).json["production"] == "", "it is not known yet"
    assert unstick("info", "--json", "-d", "@prod", home=tmp_path).json["production"] == "prod"
    assert unstick("info", "--json", *words, home=tmp_path).json["production"] == "prod"
    assert do(None, "cancel", add(), "--yes", *words, home=tmp_path).code == 2
    other = server.fresh("eternaltwin")
    assert unstick("info", "--json", "-d", other, home=tmp_path).json["production"] == "", "another database"


def test_a_copy_of_the_files_of_production_with_a_context_of_its_own_is_not_production(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    with closing(own_server.replica()) as replica:
        replica.sql("SELECT pg_promote()")
        dsn = own_server.fresh("eternaltwin")
        replica.sql(f"CREATE DATABASE {dsn.rpartition('/')[2]}")
        copied = dsn.replace(f":{own_server.port}/", f":{replica.port}/")
        settings(tmp_path, copy=f'dsn = "{copied}"', prod=f'dsn = "{dsn}"\nproduction = true')
        opened = {
            words: unstick("info", "--json", "-d", words, home=tmp_path).json["production"]
            for words in ("@prod", "@copy", copied, dsn)
        }
        assert opened == {"@prod": "prod", "@copy": "", copied: "prod", dsn: "prod"}
        own_server.sql(INSERT.format(job=(key := uuid.uuid4()), task=key, status="Blocked"), dsn)
        assert do("@prod", "wake", f"eternaltwin/task:{key}", "--yes", home=tmp_path).code == 0
        for name in ("@copy", "@prod"):
            assert unstick("audit", "--json", "-d", name, home=tmp_path).json["receipts"] == [], "it is not lost"


def test_a_read_only_context_makes_its_server_read_only(eternaltwin: str, add: Add, production: Path) -> None:
    node = add()
    settings(production, plain=f'dsn = "{eternaltwin}"', look=f'dsn = "{eternaltwin}"\nread_only = true')
    for words in (["-d", eternaltwin], ["-d", "@plain"]):
        answer = do(None, "wake", node, "--yes", *words, home=production)
        assert answer.code == 3
        assert "the context look names this server, and is read-only" in " ".join(answer.out.split())
        assert unstick("init", "--yes", *words, home=production).code == 2
    assert fetch(eternaltwin, STATUS)[0][0] == "Blocked"
    settings(
        production, prod=f'dsn = "{eternaltwin}"\nproduction = true', look=f'dsn = "{eternaltwin}"\nread_only = true'
    )
    answer = do(eternaltwin, "wake", node, "--yes", home=production)
    assert (answer.code, "open it as @prod to change it" in " ".join(answer.out.split())) == (3, True)


@pytest.mark.parametrize("words", [["-d", "@look"], ["-d", "@prod", "--read-only"]])
def test_read_only(production: Path, eternaltwin: str, add: Add, words: list[str]) -> None:
    node = add()
    before = fetch(eternaltwin, SNAPSHOT)
    answer = do(None, "wake", node, "--yes", *words, home=production)
    assert answer.code == 3
    assert "read-only" in answer.out
    assert unstick("init", "--yes", *words, home=production).code == 2
    assert fetch(eternaltwin, SNAPSHOT) == before


def test_rows_of_another_table_want_its_name_typed(server: PostgresServer, eternaltwin: str, add: Add) -> None:
    node = add("Complete", "job")
    server.sql(
        "CREATE TABLE invoice (id int PRIMARY KEY, job_id uuid REFERENCES job ON DELETE CASCADE);"
        f"INSERT INTO invoice VALUES (1, '{node.partition(':')[2]}')",
        eternaltwin,
    )
    refused = do(eternaltwin, "delete", node, "--yes")
    assert refused.code == 2
    assert "deleted 1 row of public.invoice, which do not come back" in refused.err
    assert "--confirm public.invoice" in refused.err
    assert do(eternaltwin, "delete", node, typed="delete\n").code == 1
    assert fetch(eternaltwin, "SELECT count(*) FROM job") == [(1,)]
    assert do(eternaltwin, "delete", node, "--yes", "--confirm", "public.invoice").code == 0
    assert fetch(eternaltwin, "SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM invoice)") == [(0, 0)]


def test_a_dry_run_needs_no_typed_confirmation_and_says_the_value(eternaltwin: str, add: Add) -> None:
    node = add("Available", "job")
    assert do(eternaltwin, "restart", node, "--dry-run").code == 0
    refused = do(eternaltwin, "restart", node, "--arg", "confirm=SendEmail v2", "--dry-run")
    assert refused.code == 3
    assert "SendEmail v1" in refused.out


# Interruptions


async def waiting(connection: asyncpg.Connection[Any], for_what: str) -> None:
    """Until another session of unstick waits in the server as ``for_what`` says."""
    here = "datname = current_database() AND application_name = 'unstick'"
    query = f"SELECT count(*) FROM pg_stat_activity WHERE {here} AND {for_what}"
    async with asyncio.timeout(60):
        while not await connection.fetchval(query):
            await asyncio.sleep(0)


SLOW_COMMIT = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN WHILE NOT pg_try_advisory_xact_lock(1) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NULL; END $$;
CREATE TRIGGER slow AFTER INSERT ON unstick.audit_log FOR EACH ROW EXECUTE FUNCTION slow();
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_an_interrupted_commit_waits_for_its_outcome(
    server: PostgresServer, eternaltwin: str, add: Add, tmp_path: Path, number: signal.Signals
) -> None:
    node = add()
    server.sql(audit_log.ddl() + SLOW_COMMIT, eternaltwin)
    connection = await asyncpg.connect(eternaltwin)
    await connection.execute("SELECT pg_advisory_lock(1)")
    process = started(tmp_path, "do", "wake", node, "-r", "x", "--yes", "-d", eternaltwin)
    await waiting(connection, "wait_event = 'PgSleep'")
    process.send_signal(number)
    assert process.stderr is not None
    while "Interrupted" not in (line := process.stderr.readline()):
        assert line, "it ended without a word"
    await connection.execute("SELECT pg_advisory_unlock(1)")
    out, err = process.communicate(timeout=60)
    assert out == changed(node), err
    assert process.returncode == 0
    assert await connection.fetchval("SELECT status::text FROM task") == "Available"
    await connection.close()


async def test_an_interrupted_look_ends_at_once(eternaltwin: str, tmp_path: Path) -> None:
    connection, watcher = await asyncpg.connect(eternaltwin), await asyncpg.connect(eternaltwin)
    async with connection.transaction():
        await connection.execute("LOCK TABLE job, task")
        process = started(tmp_path, "stuck", "-d", eternaltwin)
        await waiting(watcher, "wait_event_type = 'Lock'")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, "", "Interrupted.")
    await connection.close()
    await watcher.close()


def test_at_a_terminal(eternaltwin: str, add: Add, tmp_path: Path) -> None:
    node = add()
    words = ["-m", "console", "-d", eternaltwin, "do", "wake", node, "--reason", "it was stuck"]
    env: Any = {**environment(tmp_path), "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"}
    child = pexpect.spawn(sys.executable, words, cwd=str(ROOT), env=env, timeout=60, encoding="utf-8")
    child.expect_exact("[y/N] ")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, str(child.before)) == (130, "^CInterrupted. Nothing was changed.\r\n")
    assert fetch(eternaltwin, STATUS)[0][0] == "Blocked"
    child = pexpect.spawn(sys.executable, words, cwd=str(ROOT), env=env, timeout=60, encoding="utf-8")
    child.expect_exact("[y/N] ")
    child.sendline("y")
    child.expect(rf"1 changed\s+SendEmail v1  {node}")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert fetch(eternaltwin, STATUS)[0][0] == "Available"


def test_an_id_without_its_engine(eternaltwin: str, add: Add) -> None:
    node = add()
    key = node.partition(":")[2]
    assert "no transaction" in unstick("blockers", key, dsn=eternaltwin).out.lower()
    stale = do(eternaltwin, "wake", key, "--yes", "--guard", 'same:{"revision":1}')
    assert (stale.code, stale.out.split()[:2]) == (3, ["1", "stale:"])
    assert do(eternaltwin, "wake", "-", "--guard", 'same:{"revision":1}', piped=key).code == 2
    refused = do(eternaltwin, "restart", key, "--dry-run")
    assert "restart is not an action for a task, but for a job" in refused.err + refused.out
    assert "unstick do restart eternaltwin/job:" in refused.err + refused.out
    answer = do(eternaltwin, "wake", "-", "--yes", piped=key)
    assert (answer.code, answer.out) == (0, changed(node))
    unknown = do(eternaltwin, "wake", str(uuid.uuid4()), "--yes")
    assert (unknown.code, "Write eternaltwin/job:" in unknown.err) == (2, True)
    assert f"audit {node}" in unstick("undo", node, "-r", "x", dsn=eternaltwin).err


# The audit log


def test_init_shows_asks_and_creates(eternaltwin: str, server: PostgresServer, add: Add) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role}")
    words = ["init", "--operator", role]
    exists = "SELECT to_regclass('unstick.audit_log') IS NOT NULL"
    printed = unstick(*words, "--sql", dsn=eternaltwin)
    assert (printed.code, printed.out) == (0, audit_log.script([role]))
    assert unstick(*words, dsn=eternaltwin).code == 2
    refused = unstick(*words, dsn=eternaltwin, typed="n\n")
    assert refused.code == 1
    assert "CREATE TABLE IF NOT EXISTS unstick.audit_log" in refused.err
    assert fetch(eternaltwin, exists) == [(False,)]
    assert unstick(*words, dsn=eternaltwin, typed="y\n").code == 0
    assert unstick(*words, "--yes", dsn=eternaltwin).code == 0  # twice is as good as once
    assert fetch(eternaltwin, exists) == [(True,)]
    assert fetch(eternaltwin, f"SELECT has_column_privilege('{role}', 'unstick.audit_log', 'reason', 'INSERT')") == [
        (True,)
    ]

    node = add()
    answer = do(eternaltwin, "wake", node, "--yes")
    assert "unstick.audit_log" in answer.err
    shown = unstick("audit", "--json", dsn=eternaltwin).json
    entry = msgspec.convert(shown["entries"][0], AuditLogEntry)
    assert (entry.action, entry.reason, entry.role) == ("wake", "it was stuck", "postgres")
    assert [result.id for result in entry.results] == [node]
    assert shown["place"] == "table"


def test_init_without_the_right_to(eternaltwin: str, server: PostgresServer) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    dsn = server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")
    answer = unstick("init", "--yes", dsn=dsn)
    assert (answer.code, "Nothing was changed." in answer.err) == (1, True)
    assert "permission denied" in answer.err.lower()


async def test_ctrl_c_in_init_waits_for_its_outcome(eternaltwin: str, tmp_path: Path) -> None:
    other, watcher = await asyncpg.connect(eternaltwin), await asyncpg.connect(eternaltwin)
    await other.execute("BEGIN; CREATE SCHEMA unstick")
    process = started(tmp_path, "init", "--yes", "-d", eternaltwin)
    await waiting(watcher, "wait_event_type = 'Lock'")
    process.send_signal(signal.SIGINT)
    while process.stderr and "Interrupted: waiting" not in (line := process.stderr.readline()):
        assert line, "it ended without a word"
    await other.close()
    _, err = await asyncio.to_thread(process.communicate, timeout=60)
    assert (process.returncode, "The audit log is now the table" in err) == (0, True), err
    await watcher.close()


async def test_init_whose_commit_is_not_answered_is_in_doubt(eternaltwin: str, proxy: Proxy) -> None:
    proxy.fail = "after"
    answer = await asyncio.to_thread(unstick, "init", "--yes", dsn=proxy.through(eternaltwin))
    assert (answer.code, "It is not known whether" in answer.err, "changed" in answer.err) == (5, True, False)


def test_init_for_a_role_that_is_not_there_changes_nothing(eternaltwin: str) -> None:
    answer = unstick("init", "--yes", "--operator", 'no"body', dsn=eternaltwin)
    assert answer.code == 1
    assert 'no"body' in answer.err
    assert fetch(eternaltwin, "SELECT to_regclass('unstick.audit_log') IS NULL") == [(True,)]


def test_a_bug_leaves_a_file_and_no_traceback(eternaltwin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"near {eternaltwin}")

    monkeypatch.setattr("console.cli.stuck.opened", broken)
    password = eternaltwin.split(":")[2].split("@")[0]
    answer = unstick("stuck", dsn=eternaltwin)
    assert answer.code == 1
    assert len(answer.err.splitlines()) == 2
    (file,) = (answer.home / "state" / "unstick").glob("crash-*.txt")
    assert str(file) in answer.err
    assert file.stat().st_mode & 0o077 == 0
    text = file.read_text()
    assert "ZeroDivisionError" in text
    assert password not in text
    assert password not in answer.err


def test_the_crash_file_knows_no_password_of_the_environment(eternaltwin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(os.environ["PGPASSWORD"])

    monkeypatch.setattr("console.cli.stuck.opened", broken)
    answer = unstick("stuck", dsn="host=x password='hid den'", PGPASSWORD="topsecret")
    (file,) = (answer.home / "state" / "unstick").glob("crash-*.txt")
    text = file.read_text()
    assert "topsecret" not in text
    assert "hid den" not in text


def test_the_witnesses_about_the_owner_are_in_text_json_and_audit_log(
    server: PostgresServer, eternaltwin: str, add: Add
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    node = add("Available", "job")
    server.sql(
        """UPDATE task SET state = '{"phase":"Late"}'; UPDATE job SET initial_state = '{"phase":"First"}'""",
        eternaltwin,
    )
    arguments = (node, "--arg", "confirm=SendEmail v1")
    text = do(eternaltwin, "restart", *arguments, "--dry-run", "--rows")
    assert re.search(r"state.phase +Late → First", text.out)  # bytes with JSON, by path
    assert "too large" not in text.out
    assert "Owner, dead or alive" in text.out
    assert re.search(r"owner (is|seems) dead: \d of 5", text.out)
    assert "last poll of the job  dead: no unfinished task was polled" in text.out
    (result,) = do(eternaltwin, "restart", *arguments, "--dry-run", "--json").json["results"]
    assert result["owner"]["verdict"] == "dead"
    assert {"name", "verdict", "detail"} == set(result["owner"]["witnesses"][0])
    (done,) = do(eternaltwin, "restart", *arguments, "--yes", "--json").json["results"]
    (entry,) = unstick("audit", "--json", dsn=eternaltwin).json["entries"]
    assert entry["results"] == [done]
    assert [w["name"] for w in done["owner"]["witnesses"]] == [w["name"] for w in result["owner"]["witnesses"]]
