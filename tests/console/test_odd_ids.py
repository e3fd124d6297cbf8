"""An id has the same bytes wherever it is printed, typed, piped or stored."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from uuid import UUID

import asyncpg
import pytest

from console.cli.exit_codes import SKIPPED
from queries.contract.builtin import builtin
from queries.db.errors import UnknownIdError
from queries.log import audit_log
from queries.text.shell import typed_id
from tests.command import ROOT, Answer, environment, unstick
from tests.outside import HOMEMADE, change, copied
from tests.queries.builders import opened
from tests.servers import PostgresServer

KEYS = (
    "", "a", " a", "a ", "a\t", "\ta", "a\nb", "a\n", "\na", "a\r", "a\r\nb", "a\u2028b", "a\x0bb", "a\x85", "a\xa0",
    "'", '"', '"a"', "a'b\"c", "`id`", "$(id)", "$HOME", "a\\nb", "\\", "--help", "-5", "-", "@prod", "a:b", "a/b",
    "item:a", "%41", "a%0Ab", "a\u2424b", "<U+000A>", "é", "e\u0301", "\u212b", "\u202eabc", "a\u200db", "🂡",
    "\x1b[31m", "NULL", "null", "*", "x" * 8000,
)  # fmt: skip


class Kind(NamedTuple):
    """Rows of ``table``, one for each key, with ``value`` in ``column``."""

    engine: str
    kind: str
    table: str
    column: str
    action: str = ""  # with its arguments; "" if these nodes have none
    value: str = "$1::text"


KINDS = (
    Kind("homemade@a b", "item", '"a b".work_items', "id", "cancel"),
    Kind("solid_queue", "queue", "solid_queue_jobs", "queue_name", "pause"),
    Kind("solid_queue", "recurring", "solid_queue_recurring_tasks", "key"),
    Kind("uni2work", "bucket", "token_bucket", "ident", "refill --arg value=999999999999"),
    Kind("uni2work", "group", "queued_job", "content", "", "jsonb_build_object('job', $1::text)"),
    Kind("oban", "queue", "oban_jobs", "queue"),
    Kind("graphile_worker", "crontab", "_private_known_crontabs", "identifier"),
    Kind("pgqueuer", "entrypoint", "pgqueuer", "entrypoint"),
    Kind("procrastinate", "queue", "procrastinate_jobs", "queue_name"),
)
PRINTED = re.compile("^Refused: `(unstick show .*)` says", re.MULTILINE)
COPY = """
INSERT INTO {0.table} OVERRIDING SYSTEM VALUE
SELECT (s.r).* FROM (SELECT jsonb_populate_record(t, jsonb_build_object(
  'id', $2::int, 'lock_instance', NULL, 'lock_time', NULL, '{0.column}', {0.value})) AS r FROM {0.table} t LIMIT 1) AS s
"""


async def fill(dsn: str, kind: Kind) -> list[str]:
    """Copy a row for each key that the table takes, and return the ids."""
    connection = await asyncpg.connect(dsn)
    ids = []
    for number, key in enumerate(KEYS):
        if kind.kind == "group" and not 0 < len(key) <= 80:  # it has another name then
            continue
        with contextlib.suppress(asyncpg.CheckViolationError, asyncpg.StringDataRightTruncationError):
            await connection.execute(COPY.format(kind), key, 900_000 + number)
            ids.append(f"{kind.engine}/{kind.kind}:{'none|' if kind.kind == 'group' else ''}{key}")
    await connection.close()
    return ids


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Folder of an operator with an own engine whose key is a text."""
    settings = tmp_path / "config" / "unstick"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("[engines.homemade]\ntrust = true\n")
    folder = copied(settings / "engines", source=HOMEMADE)
    change(folder, "engine.toml", "id int8, parent_id int8", "id text, parent_id text")
    return tmp_path


def all_ids(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("id"), str):
            yield value["id"]
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from all_ids(each)


@pytest.mark.parametrize("kind", KINDS, ids=[f"{kind.engine}-{kind.kind}" for kind in KINDS])
def test_an_id_goes_around_in_the_same_bytes(server: PostgresServer, home: Path, kind: Kind) -> None:
    if kind.action == "cancel":
        dsn = server.fresh("eternaltwin")
        tables = (HOMEMADE / "schema.sql").read_text().replace("id bigint GENERATED ALWAYS AS IDENTITY", "id text")
        tables += "INSERT INTO work_items (id, task, state) VALUES ('first', 'fetch', 'failed');"
        server.sql(f'{tables} CREATE SCHEMA "a b"; SET search_path = "a b"; {tables}'.replace("bigint", "text"), dsn)
    else:
        dsn = server.fresh(kind.engine, filled=True)
    server.sql(audit_log.ddl(), dsn)
    ids = asyncio.run(fill(dsn, kind))
    assert len(ids) > 30

    def run(*words: str, code: int = 0) -> Answer:
        answer = unstick(*words, dsn=dsn, home=home)
        assert answer.code == code, (words, answer.err)
        return answer

    def shell(line: str, piped: bytes = b"", code: int = 0) -> Any:
        script = f'unstick() {{ {sys.executable} -m console "$@"; }}; {line} --json'
        env = environment(home, {"PGPASSWORD": unquote(str(urlsplit(dsn).password))})
        done = subprocess.run(["sh", "-c", script], input=piped, stdout=subprocess.PIPE, cwd=ROOT, env=env)
        assert done.returncode == code, line
        return json.loads(done.stdout)

    assert {*ids} <= {*all_ids(run("tree", "--json", "--engine", kind.engine, "--limit", "5000", "--depth", "3").json)}
    lines = "\n".join(json.dumps(id_) if "\n" in id_ else id_ for id_ in ids).encode()
    done = shell(f"unstick do {kind.action or 'cancel'} - -r x -y -d {dsn}", lines, 0 if kind.action else SKIPPED)
    assert sorted(result["id"] for result in done["results"]) == sorted(ids)
    if kind.action:
        (entry,) = run("audit", "--json").json["entries"]
        assert sorted(result["id"] for result in entry["results"]) == sorted(ids)
    for number, id_ in enumerate(ids):
        typed = json.dumps(id_) if number % 2 else id_
        if kind.action and number % 9 == 0:
            assert run("audit", typed, "--json").json["entries"][0]["id"] == entry["id"]
        (line,) = PRINTED.findall(run("do", "cancel", typed, "-r", "x", "-y", code=SKIPPED).err)
        assert typed_id(shlex.split(line)[2]) == id_
        if number % len(KINDS) == KINDS.index(kind):
            assert next(all_ids(shell(line)["node"])) == id_
    if kind.action:
        undone = run("undo", entry["id"], "-r", "x", "-y", "--json").json
        assert sorted(result["id"] for result in undone["results"]) == sorted(ids)


@pytest.mark.parametrize("text", ['"a', '"a" b', '"\\ud800"', '"'])
def test_what_begins_as_a_json_string_and_is_none_is_refused(text: str, eternaltwin: str) -> None:
    answer = unstick("show", text, dsn=eternaltwin)
    assert (answer.code, "is no JSON string" in answer.err) == (2, True)
    piped = unstick("do", "wake", "-", "-r", "x", "-y", dsn=eternaltwin, piped=f"{text}\n")
    assert (piped.code, "is no JSON string" in piped.err) == (2, True)


NUMBERS = ("0", "-1", "2147483648", "9223372036854775807", "-9223372036854775808", "8999999999999999999", "007")
UUIDS = (f"{0:032x}", "f" * 32)


@pytest.mark.parametrize("name", [engine.name for engine in builtin()])
async def test_extreme_keys_are_read_and_refused_in_words(server: PostgresServer, tmp_path: Path, name: str) -> None:
    workspace = await opened(server.fresh(name, filled=True), tmp_path)
    whys = []
    for reader in workspace.engines.values():
        for kind in reader.engine.spec.kinds:
            for key in (*NUMBERS, *map(str, map(UUID, UUIDS)), str(UUID("f" * 32)).upper(), "", "x" * 100_000, "a/7"):
                id_ = f"{reader.label}/{kind.name}:{key}"
                try:
                    workspace.reader(id_)
                except UnknownIdError as error:
                    whys.append(str(error))
                    continue
                there = {node.id.rpartition(":")[2] for node in (await reader.nodes.read([id_])).nodes}
                assert there <= {key, key.lower(), key.lstrip("0")}
    assert all("the key of" in why for why in whys)
    await workspace.close()
