"""``unstick engine new``: tables of different shapes, and what becomes of them."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from queries.check.prove import Loaded, prove_on
from queries.check.report import Check
from queries.contract.loader import load
from queries.contract.outside import OutsideEngines
from queries.records.action import Proof
from queries.records.node import Phase
from queries.text.psql_text import identifier, literal
from queries.workspace import Workspace
from tests.command import Answer, fetch, unstick
from tests.proof import proof
from tests.servers import FOLDERS, PostgresServer

TABLES = Path(__file__).parent / "tables"
HOSTILE = 'jo"bs\' = [x]\n\\ir secret\n-- :lock $1 {a} :"schema" #]'
ODD_WORD = 'it\'s "odd"\n-- :change\n$1 {worker} \\'
WRITTEN = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int, count(*) FROM pg_stat_user_tables"


class Shape(NamedTuple):
    """A table, and what is proposed for it."""

    file: str
    table: str
    phases: Mapping[str, set[str]]
    questions: list[str]
    actions: set[str]
    findings: set[str]
    name: str = ""

    @property
    def engine(self) -> str:
        return self.name or self.table


WAITING = {"ready", "scheduled"}
PARTS = {"late", "owner_dead", "failing", "dead_letters", "wake", "retry", "release", "cancel"}
EVERY = {"late", "owner_dead", "failing", "dead_letters"}
SHAPES = [
    Shape("enum", "jobs",
        {"queued": WAITING, "running": {"running"}, "failed": {"failed"}, "done": {"done"}, "cancelled": {"cancelled"}},
        ["cancel", "stale", "attempts_on_retry", "attempts_on_release", "claim", "notify"],
        {"wake", "retry", "release", "cancel"}, EVERY),
    Shape("checked", "tasks",
        {"pending": WAITING, "processing": {"running"}, "retry": WAITING, "error": {"failed"}, "complete": {"done"}},
        ["ready_word", "no_cancelled", "stale", "no_due", "time_zone", "claim", "notify", "triggers"],
        {"wake", "retry", "release"}, EVERY),
    Shape("free", "messages",
        {"new": {"ready"}, "enqueued": {"ready"}, "claimed": {"running"}, "errored": {"failed"},
         "finished": {"done"}, "perhaps": {"unknown"}},
        ["free_text", "unknown_words", "ready_word", "no_cancelled", "guessed_columns", "stale", "attempts_on_retry",
         "attempts_on_release", "claim", "notify", "parent"],
        {"retry", "release"}, {"owner_dead", "failing", "dead_letters"}),
    Shape("epoch", "steps",
        {"ready": WAITING, "running": {"running"}, "failed": {"failed"}, "success": {"done"},
         "canceled": {"cancelled"}},
        ["cancel", "stale", "time_unit", "attempts_on_retry", "attempts_on_release", "claim", "notify"],
        {"wake", "retry", "release", "cancel"}, EVERY),
    Shape("columns", "delayed_jobs", {"failed": {"failed"}, "taken": {"running"}, "waiting": WAITING},
        ["no_status", "stale", "no_due", "attempts_on_retry", "attempts_on_release", "claim", "notify"],
        {"wake", "retry", "release"}, EVERY),
    Shape("last_try", "work", {"taken": {"running"}, "given up": {"failed"}, "waiting": WAITING},
        ["no_status", "stale", "attempts_on_retry", "attempts_on_release", "claim", "notify", "checks", "beside"],
        {"wake", "retry", "release"}, EVERY),
    Shape("hostile", HOSTILE,
        {"queued": WAITING, ODD_WORD: {"unknown"}, "running": {"running"}, "failed": {"failed"},
         "canceled": {"cancelled"}},
        ["unknown_words", "cancel", "stale", "claim", "notify"], {"wake", "retry", "release", "cancel"}, EVERY,
        "jo_bs_x_ir_secret_lock_1_a_schema"),
    Shape("mail", "mail_queue",
        {"queued": WAITING, "sending": {"running"}, "sent": {"done"}, "bounced": {"failed"},
         "cancelled": {"cancelled"}},
        ["guessed_words", "cancel", "guessed_columns", "stale", "attempts_on_retry", "attempts_on_release", "claim",
         "notify"],
        {"wake", "retry", "release", "cancel"}, EVERY),
    Shape("locked", "outbox",
        {"ready": {*WAITING, "running"}, "failed": {"failed"}, "dead": {"failed"}, "cancelled": {"cancelled"},
         "done": {"done"}},
        ["lock_alone", "cancel", "guessed_columns", "stale", "no_due", "claim", "notify"],
        {"wake", "retry", "release", "cancel"}, EVERY),
    Shape("numbers", "deliveries",
        {"0": WAITING, "1": {"running"}, **{str(number): {"unknown"} for number in (2, 3, 4)}},
        ["number_status", "other_status", "guessed_words", "no_cancelled", "stale", "claim", "notify"],
        {"wake", "release"}, {"late", "owner_dead"}),
    Shape("pair", "sync_requests",
        {"queued": WAITING, "running": {"running"}, "failed": {"failed"}, "done": {"done"}},
        ["no_cancelled", "guessed_columns", "stale", "claim", "notify"], {"wake", "retry", "release"}, EVERY),
    Shape("ended", "archive", {"done": {"done"}}, ["free_text", "no_cancelled"], set(), set()),
]  # fmt: skip
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=[shape.file for shape in SHAPES])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the operator's files."""
    monkeypatch.setattr("queries.check.plans.TABLE_ROWS", 400_000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def place(home: Path, name: str) -> Path:
    return home / "config" / "unstick" / "engines" / name


def fill(server: PostgresServer, file: str, dsn: str) -> None:
    server.sql((TABLES / f"{file}.sql").read_text(), dsn)


def proposed(shape: Shape, server: PostgresServer, dsn: str, home: Path) -> Path:
    """Propose an engine for a table. Return its folder."""
    fill(server, shape.file, dsn)
    answer = unstick("engine", "new", shape.table, dsn=dsn, home=home)
    assert answer.code == 0, answer.err
    return place(home, shape.engine)


def answered(folder: Path) -> None:
    """Remove the questions of a proposal, and take its claim for right."""
    path = folder / "engine.toml"
    text = re.sub(r"(?m)\A(?:#.*\n)+", "", path.read_text())
    path.write_text(re.sub(r'(?m)(?<=^\[claim)(\.\w+\]\n)proof = "assumed"\n', r"\1", text))


def viewer(server: PostgresServer, dsn: str) -> str:
    """Return the DSN of a new role that may only read."""
    role = server.unique("viewer")
    schemas = fetch(dsn, "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname !~ '^pg_|^information'")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'", dsn)
    for (schema,) in schemas:
        server.sql(f"GRANT USAGE ON SCHEMA {schema} TO {role}", dsn)
        server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}", dsn)
    return server.dsn(dsn.rpartition("/")[2], user=role, password="x")


@each_shape
def test_a_role_that_may_only_read_gets_a_proposal(
    server: PostgresServer, database: str, home: Path, shape: Shape
) -> None:
    fill(server, shape.file, database)
    before = fetch(database, WRITTEN)
    answer = unstick("engine", "new", shape.table, "--json", dsn=viewer(server, database), home=home)
    assert answer.code == 0, answer.err
    assert fetch(database, WRITTEN) == before
    said = answer.json
    assert (said["engine"], said["table"]) == (shape.engine, shape.table)
    assert [each["code"] for each in said["questions"]] == shape.questions
    assert set(said["actions"]) == shape.actions
    assert set(said["findings"]) == shape.findings
    assert {each["name"] for each in said["not_proposed"]} == PARTS - shape.actions - shape.findings
    assert [each["number"] for each in said["questions"]] == list(range(1, len(shape.questions) + 1))
    folder = Path(said["folder"])
    assert folder == place(home, shape.engine)
    assert said["next"][:4] == ["unstick", "engine", "check", str(folder)]
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == set(said["files"])
    comments = re.findall(r"(?m)^# ASK (\d+): ", (folder / "engine.toml").read_text())
    assert [int(number) for number in comments] == list(range(1, len(shape.questions) + 1))


@each_shape
def test_a_proposal_is_an_engine(server: PostgresServer, database: str, home: Path, shape: Shape) -> None:
    """And nothing of the rows is copied but statuses."""
    folder = proposed(shape, server, database, home)
    spec = load(folder).spec
    for path in folder.rglob("*"):
        assert path.is_dir() or "secret" not in path.read_text().replace("ir secret", "").replace("ir_secret", "")
    phases: dict[str, set[str]] = {}
    for status in spec.statuses:
        phases.setdefault(status.native, set()).add(str(status.phase))
    assert phases == shape.phases
    assert {action.name for action in spec.actions} == shape.actions
    assert {each.proof for each in (*spec.actions, *spec.findings)} <= {Proof.ASSUMED}
    assert {each.code for each in spec.findings} == shape.findings - {"dead_letters"}
    answer = unstick("engines", "--json", dsn=database, home=home)
    assert answer.code == 0, answer.err
    (engine,) = answer.json["engines"]
    assert engine["label"] == shape.engine
    assert answer.json["declined"] == answer.json["broken"] == []
    assert all(not action["available"] for action in engine["actions"])
    assert bool(stuck(database, home)) == bool(spec.findings)


# What a worker of each table asks for, and rows for each action.
CLAIMS = {
    "enum": (
        (
            "SELECT id::text FROM jobs WHERE state = 'queued' AND run_at <= now() AND locked_by IS NULL"
            " AND attempts < max_attempts"
        ),
        "INSERT INTO jobs (job_type, run_at) VALUES ('later', now() + interval '1 day')",
    ),
    "checked": (
        "SELECT task_id::text FROM tasks WHERE status IN ('pending', 'retry') AND (scheduled_at > now()) IS NOT TRUE",
        (
            "INSERT INTO tasks (name, status, scheduled_at)"
            " VALUES ('bad', 'error', NULL), ('later', 'pending', now() + interval '1 day')"
        ),
    ),
    "columns": (
        "SELECT id::text FROM delayed_jobs WHERE locked_at IS NULL AND failed_at IS NULL AND run_at <= now()",
        "INSERT INTO delayed_jobs (handler, run_at) VALUES ('later', now() + interval '1 day')",
    ),
}
FROM = {"retry": "failed", "release": "running", "wake": "scheduled"}


@pytest.mark.parametrize("file", CLAIMS)
def test_what_an_action_has_changed_is_found_by_a_worker(
    server: PostgresServer, database: str, home: Path, file: str
) -> None:
    """Run the proposed actions, and after each the claim of a worker."""
    shape = next(shape for shape in SHAPES if shape.file == file)
    claim, rows = CLAIMS[file]
    answered(proposed(shape, server, database, home))
    server.sql(rows, database)
    (home / "config" / "unstick" / "config.toml").write_text(f"engines.{shape.engine}.trust = true\n")
    nodes = unstick("tree", "--json", dsn=database, home=home).json["nodes"]
    for action, phase in FROM.items():
        assert action in shape.actions
        node = next(node["id"] for node in nodes if node["phase"] == phase)
        key = node.partition(":")[2]
        assert (key,) not in fetch(database, claim), action
        done = unstick("do", action, node, "--reason", "a test", "--yes", dsn=database, home=home)
        assert done.code == 0, (action, done.out, done.err)
        assert (key,) in fetch(database, claim), action


def test_each_column_that_may_matter_is_asked_about(server: PostgresServer, database: str, home: Path) -> None:
    server.sql(
        """CREATE TABLE queue_job (id serial PRIMARY KEY, state text, statename text, eta timestamp, runs_at_all int,
             date_created timestamp, date_started timestamp, next_run_time float8, created_at timestamp NOT NULL);
           CREATE INDEX ON queue_job (state, eta, id);
           INSERT INTO queue_job (state, eta, created_at) SELECT w, e, now() - interval '3 h'
             FROM unnest(ARRAY['pending', 'started', 'done']) w, unnest(ARRAY[NULL, now()::timestamp + '1 d']) e""",
        database,
    )
    said = unstick("engine", "new", "queue_job", "--json", dsn=database, home=home).json
    asked = {each["code"]: each["text"] for each in said["questions"]}
    assert "statename (text)" in asked["other_status"]
    times = "date_created (timestamp), next_run_time (float8)"
    assert f"these columns say of the times of a row: {times}?" in asked["other_time"]
    assert "for due, since its created_at." in asked["no_due"]
    assert stuck(database, home) == {"late"}


def test_a_row_that_a_worker_has_taken_is_not_given_up(server: PostgresServer, database: str, home: Path) -> None:
    proposed(next(shape for shape in SHAPES if shape.file == "last_try"), server, database, home)
    answer = unstick("tree", "--json", dsn=database, home=home)
    assert {node["id"]: node["status"] for node in answer.json["nodes"]} == {
        "work/work:1": "waiting", "work/work:2": "given up", "work/work:3": "taken"
    }  # fmt: skip


def test_constraints_on_several_columns_are_named(server: PostgresServer, database: str, home: Path) -> None:
    shape = next(shape for shape in SHAPES if shape.file == "last_try")
    fill(server, shape.file, database)
    answer = unstick("engine", "new", shape.table, "--json", dsn=database, home=home)
    (asked,) = (each["text"] for each in answer.json["questions"] if each["code"] == "checks")
    assert "locked_by_one CHECK (((locked_at IS NULL) = (locked_by IS NULL)))" in asked


def test_a_worker_lives_before_its_first_heartbeat_and_a_check_is_kept(
    server: PostgresServer, database: str, home: Path
) -> None:
    server.sql(
        """CREATE TABLE work (id bigint PRIMARY KEY, run_at timestamptz, started_at timestamptz,
             heartbeat_at timestamptz,
             status text NOT NULL CHECK (status IN ('queued', 'running', 'done', 'cancelled')), finished_at timestamptz,
             CHECK ((status IN ('done', 'cancelled')) = (finished_at IS NOT NULL)))""",
        database,
    )
    answer = unstick("engine", "new", "work", "--json", dsn=database, home=home)
    assert answer.code == 0, answer.err
    settings = tomllib.loads((Path(answer.json["folder"]) / "engine.toml").read_text())
    assert "coalesce(heartbeat_at, started_at)" in settings["actions"]["release"]["refuse"][0]["when"]
    assert "coalesce(heartbeat_at, started_at)" in settings["claim"]["work"]["dead"]
    assert settings["actions"]["cancel"]["set"] == {"status": "'cancelled'", "finished_at": "now()"}
    assert stuck(database, home) == set()
    server.sql("INSERT INTO work VALUES (1, now(), now() - interval '1 day', NULL, 'running', NULL)", database)
    assert stuck(database, home) == {"owner_dead"}


def test_a_table_of_failures_is_no_waiting_work(server: PostgresServer, database: str, home: Path) -> None:
    ddl = "CREATE TABLE failures (id bigint PRIMARY KEY, failed_at timestamptz NOT NULL DEFAULT now(), error text)"
    server.sql(ddl, database)
    answer = unstick("engine", "new", "failures", "--json", dsn=database, home=home)
    assert answer.code == 0, answer.err
    assert answer.json["actions"] == []
    settings = tomllib.loads((Path(answer.json["folder"]) / "engine.toml").read_text())
    assert settings["statuses"] == {"failed": "failed"}


CAMEL = """
CREATE TABLE nodes (id bigint PRIMARY KEY); INSERT INTO nodes VALUES (1);
CREATE TABLE "workItems" (id bigint PRIMARY KEY,
  "jobStatus" text NOT NULL CHECK ("jobStatus" IN ('NotStarted', 'InProgress', 'Failed', 'Done')),
  node bigint REFERENCES nodes, "runAt" timestamptz, "startedAt" timestamptz, "heartbeatAt" timestamptz {})
"""


@pytest.mark.parametrize("columns", ["", ', "lockedBy" text'])
def test_words_in_names_are_split_and_a_foreign_key_is_no_worker(
    server: PostgresServer, database: str, home: Path, columns: str
) -> None:
    server.sql(CAMEL.format(columns), database)
    answer = unstick("engine", "new", "workItems", "--json", dsn=database, home=home)
    assert answer.code == 0, answer.err
    settings = tomllib.loads((Path(answer.json["folder"]) / "engine.toml").read_text())
    assert settings["statuses"]["InProgress"] == "running"
    assert "runAt" in str(settings["kinds"])
    emptied = settings["actions"]["release"]["set"]
    assert "node" not in emptied
    assert {"startedAt", "heartbeatAt"} <= emptied.keys()
    assert ("lockedBy" in emptied) is bool(columns)
    asked = [each["text"] for each in answer.json["questions"] if each["code"] == "other_owner"]
    assert len(asked) == 1
    assert "the worker that has taken a row: node?" in asked[0]


def test_the_tables_beside_it_are_named(server: PostgresServer, database: str, home: Path) -> None:
    shape = next(shape for shape in SHAPES if shape.file == "last_try")
    fill(server, shape.file, database)
    server.sql("".join(f"CREATE TABLE other_{n} (id int);" for n in range(9)), database)
    answer = unstick("engine", "new", shape.table, "--json", dsn=database, home=home)
    (asked,) = (each["text"] for each in answer.json["questions"] if each["code"] == "beside")
    tables = asked.partition(": ")[2].partition("?")[0].split(", ")
    assert tables[:3] == ["work_queues (queue refers to it)", "work_results (it refers to this table)", "customers"]
    assert (len(tables), tables[-1]) == (9, "4 more")


def test_dead_letters_without_a_cause_have_their_status_as_cause(
    server: PostgresServer, database: str, home: Path
) -> None:
    for file in ("mail", "locked"):
        proposed(next(shape for shape in SHAPES if shape.file == file), server, database, home)
    server.sql("UPDATE mail_queue SET last_error = 'lost' WHERE state = 'bounced'", database)
    answer = unstick("dead", "--json", dsn=database, home=home)
    assert answer.code == 0, answer.err
    dead = [each for part in answer.json["dead"] for each in part["dead_letters"]]
    assert {each["fingerprint"] for each in dead} == {"bounced: lost", "dead"}


def stuck(dsn: str, home: Path) -> set[str]:
    """Return the codes of the findings."""
    answer = unstick("stuck", "--json", dsn=dsn, home=home)
    assert answer.code == 0, answer.err
    return {each["code"] for each in answer.findings}


@proof
@each_shape
def test_a_proposal_passes_the_check(server: PostgresServer, database: str, home: Path, shape: Shape) -> None:
    folder = proposed(shape, server, database, home)
    answered(folder)
    answer = unstick("engine", "check", str(folder), "-d", database, "--json", home=home)
    assert "run as superuser of a server of their own" in " ".join(answer.err.split())
    assert [fault for check in answer.json["checks"] for fault in check["faults"]] == []
    assert answer.code == 0


def test_the_values_of_a_number_are_asked_about(server: PostgresServer, database: str, home: Path) -> None:
    """Until each value has a phase there are no findings and no actions."""
    fill(server, "numbers", database)
    server.sql(
        "ALTER TABLE deliveries DROP CONSTRAINT deliveries_state_check; UPDATE deliveries SET state = 7", database
    )
    answer = unstick("engine", "new", "deliveries", "--json", dsn=database, home=home)
    (asked,) = (each["text"] for each in answer.json["questions"] if each["code"] == "number_status")
    assert asked.startswith("Is state (int2) the status? Which phase have its values: 7?")
    assert stuck(database, home) == set()
    tree = unstick("tree", "--json", dsn=database, home=home).json["nodes"]
    assert {(node["kind"], node["status"], node["phase"]) for node in tree} == {("delivery", "7", "unknown")}


def test_open_questions_keep_the_actions_off(server: PostgresServer, database: str, home: Path) -> None:
    """Neither a check nor the operator's trust is an answer."""
    shape = SHAPES[0]
    folder = proposed(shape, server, database, home)
    (home / "config" / "unstick" / "config.toml").write_text(f"engines.{shape.engine}.trust = true\n")
    (engine,) = unstick("engines", "--json", dsn=database, home=home).json["engines"]
    assert f"{len(shape.questions)} of the questions in {folder}/engine.toml (# ASK) are open" in engine["unproven"]
    assert {each["available"] for each in engine["actions"]} == {False}
    settings = folder / "engine.toml"
    advice = settings.read_text().replace('action = ""', 'action = "wake"', 1)  # a proposal itself gives none
    assert advice != settings.read_text()
    settings.write_text(advice)
    assert "suggested action" not in (out := unstick("stuck", dsn=database, home=home).out)
    assert "wake is only a proposal: " in " ".join(out.split())
    (folder / "schema.sql").unlink()  # what comes after is slow
    answer = unstick("engine", "check", str(folder), "--json", home=home)
    faults = next(check["faults"] for check in answer.json["checks"] if check["name"] == "questions")
    assert (answer.code, len(faults)) == (1, len(shape.questions) + 1)
    rows = (folder / "engine.toml").read_text().splitlines()
    assert all(rows[line - 1].startswith(("# ASK", 'proof = "assumed"')) for _, line, *_ in faults)
    settings.write_text(re.sub(r"(?m)\A(?:#.*\n)+", "", settings.read_text()))
    (engine,) = unstick("engines", "--json", dsn=database, home=home).json["engines"]
    assert f"the claim of job in {folder}/engine.toml is a guess" in engine["unproven"]
    assert {each["available"] for each in engine["actions"]} == {False}
    answered(folder)
    (engine,) = unstick("engines", "--json", dsn=database, home=home).json["engines"]
    assert engine["unproven"] == ""
    assert {each["available"] for each in engine["actions"]} == {True}


GENUINE = {
    "procrastinate": "procrastinate_jobs",
    "pgqueuer": "pgqueuer",
    "oban": "oban_jobs",
    "solid_queue": "solid_queue_jobs",
}


@pytest.mark.parametrize(("engine", "table"), GENUINE.items(), ids=list(GENUINE))
def test_a_proposal_for_the_table_of_a_known_engine_reads_its_rows(
    server: PostgresServer, database: str, home: Path, engine: str, table: str
) -> None:
    """The ``schema.sql`` of these engines is compared with their own in tests/workers."""
    for file in ("schema.sql", "fixture.sql"):
        server.sql((FOLDERS / engine / file).read_text(), database)
    server.sql(f"ALTER TABLE {table} RENAME TO unheard_of", database)
    answer = unstick("engine", "new", "unheard_of", "--json", dsn=database, home=home)
    assert answer.code == 0, answer.err
    loaded = Loaded(Path(answer.json["folder"]))
    assert loaded.check.faults == ()
    assert loaded.engine is not None
    known = {(status.native, status.phase) for status in load(FOLDERS / engine).spec.statuses}
    right = {status.native for status in loaded.engine.spec.statuses if (status.native, status.phase) in known}
    others = {status.native for status in loaded.engine.spec.statuses} - right
    assert others == ({"waiting"} if engine == "solid_queue" else set())  # it has a table for each state
    assert [fault for check in asyncio.run(read_only(database, loaded)) for fault in check.faults] == []


async def read_only(dsn: str, loaded: Loaded) -> list[Check]:
    """Check a folder on a real database, as ``engine check -d`` does."""
    assert loaded.engine is not None
    workspace = await Workspace(dsn, read_only=True, outside=OutsideEngines(engines=(loaded.engine,))).open()
    try:
        return [check async for check in prove_on(workspace, loaded.engine, loaded.toml)]
    finally:
        await workspace.close()


REFUSED = {
    "no_key": "no key",
    "odd_key": "inet",
    "with.dot": "dot",
    "a_view": "a view",
    "queue": "public, other",
    "missing": "No schema",
    "closed": "SELECT",
    'broken"name': "No schema",
}


@pytest.mark.parametrize(("table", "why"), REFUSED.items(), ids=list(REFUSED))
def test_a_table_is_refused_with_the_reason(
    server: PostgresServer, database: str, home: Path, table: str, why: str
) -> None:
    fill(server, "refused", database)
    dsn = viewer(server, database)
    server.sql(f"REVOKE SELECT ON closed FROM {dsn.partition('://')[2].partition(':')[0]}", database)
    answer = unstick("engine", "new", table, dsn=dsn, home=home)
    assert answer.code == 1
    assert why in answer.err
    assert not place(home, "").exists()


@pytest.mark.parametrize("name", ["other.queue", '"other".queue', '"other"."queue"'])
def test_a_table_can_be_named_with_its_schema(server: PostgresServer, database: str, home: Path, name: str) -> None:
    fill(server, "refused", database)
    assert unstick("engine", "new", name, "--json", dsn=database, home=home).json["table_schema"] == "other"
    chosen = unstick(
        "engine", "new", "queue", "--schema", "other", "--to", str(home / "q"), "--json", dsn=database, home=home
    )
    assert chosen.json["table_schema"] == "other"


def test_no_folder_is_overwritten(server: PostgresServer, database: str, home: Path) -> None:
    folder = proposed(SHAPES[0], server, database, home)
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    answer = unstick("engine", "new", "jobs", dsn=database, home=home)
    assert answer.code == 2
    assert {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()} == before
    assert unstick("engine", "new", "jobs", "--to", str(home / "mine"), dsn=database, home=home).code == 0
    assert tomllib.loads((home / "mine" / "engine.toml").read_text())["kinds"]["job"]["table"] == "jobs"
    for refused in ("eternaltwin", "Odd name", "server"):
        assert unstick("engine", "new", "jobs", "--to", str(home / refused), dsn=database, home=home).code == 2
        assert not (home / refused).exists()


def test_a_folder_of_a_table_whose_name_unstick_has(server: PostgresServer, database: str, home: Path) -> None:
    server.sql("CREATE TABLE tasker (id int8 PRIMARY KEY, status text)", database)
    assert unstick("engine", "new", "tasker", "--json", dsn=database, home=home).json["engine"] == "own_tasker"


def test_only_the_newest_rows_are_read(server: PostgresServer, database: str, home: Path) -> None:
    server.sql("CREATE TABLE jobs (id int8 PRIMARY KEY, status text)", database)
    server.sql(
        "INSERT INTO jobs SELECT n, CASE n WHEN 1 THEN 'ancient' ELSE 'done' END FROM generate_series(1, 100001) n",
        database,
    )
    folder = place(home, "jobs")
    assert unstick("engine", "new", "jobs", dsn=database, home=home).code == 0
    assert tomllib.loads((folder / "engine.toml").read_text())["statuses"] == {"done": "done"}


def test_a_column_with_many_words_is_no_status(server: PostgresServer, database: str, home: Path) -> None:
    server.sql("CREATE TABLE jobs (id int8 PRIMARY KEY, status text)", database)
    server.sql("INSERT INTO jobs SELECT n, 'word ' || n FROM generate_series(1, 50) n", database)
    answer = unstick("engine", "new", "jobs", "--json", dsn=database, home=home)
    assert [each["code"] for each in answer.json["questions"]] == ["no_words"]
    assert "word" not in (place(home, "jobs") / "engine.toml").read_text().partition("title =")[2]


def test_an_untrusted_owner_is_refused(server: PostgresServer, database: str, home: Path) -> None:
    role = server.unique("stranger")
    server.sql(f"CREATE ROLE {role}; CREATE SCHEMA theirs AUTHORIZATION {role}", database)
    server.sql("CREATE TABLE theirs.jobs (id int8 PRIMARY KEY, status text)", database)
    server.sql(f"ALTER TABLE theirs.jobs OWNER TO {role}", database)
    assert role in unstick("engine", "new", "jobs", dsn=database, home=home).err
    assert unstick("engine", "new", "jobs", "--trust", role, dsn=database, home=home).code == 0


def test_a_database_without_an_engine_names_the_command(server: PostgresServer, database: str, home: Path) -> None:
    server.sql("CREATE TABLE people (id int8 PRIMARY KEY)", database)
    for command in ("engines", "stuck"):
        answer: Answer = unstick(command, dsn=database, home=home)
        assert answer.code == 1
        assert "unstick engine new" in answer.err


def test_names_and_texts_are_the_same_on_the_server(database: str) -> None:
    """They are so on every server, for any text but the NUL that it cannot store."""
    for text in (
        HOSTILE,
        ODD_WORD,
        "plain",
        "a--b",
        "a/*b",
        "§ä🐘\u202e",
        "\\+00000A",
        "U&",
        "$1",
        ":'schema'",
        "x" * 63,
    ):
        ((got,),) = fetch(database, f"SELECT {literal(text)}")
        assert got == text
        record: Any = fetch(database, f"SELECT 1 AS {identifier(text)}")
        assert record == [(1,)]


def test_statuses_have_a_phase() -> None:
    from queries.propose.proposal import state_of

    words = {"In-Progress": Phase.RUNNING, "TODO": Phase.READY, "timed out": Phase.FAILED, "": Phase.UNKNOWN}
    guesses = {
        "to_send": Phase.READY,
        "uploading": Phase.RUNNING,
        "in_flight": Phase.RUNNING,
        "Delivered": Phase.DONE,
        "send failed": Phase.FAILED,
        "failed_permanently": Phase.FAILED,
        "awaiting_approval": Phase.BLOCKED,
        "retry_later": Phase.SCHEDULED,
        "missing": Phase.UNKNOWN,
    }
    states = [state_of(word) for word in (*words, *guesses)]
    assert {state.word: state.phase for state in states} == words | guesses
    assert {state.word for state in states if state.guessed} == guesses.keys() - {"missing"}
