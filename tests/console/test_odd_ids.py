"""An id has the same bytes wherever it is printed, typed, piped or stored."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import asyncpg
import pytest

from console.cli.options import node_id
from queries.contract.builtin import builtin
from queries.db.errors import UnknownIdError
from queries.text import shell
from queries.text.safe_text import safe_text
from queries.text.shell import typed_id
from queries.write import audit_log
from tests.command import ROOT, Answer, unstick
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
    """Nodes with a text as key: a row of ``table`` for each key in ``column``."""

    engine: str
    kind: str
    table: str
    column: str
    action: str = ""
    identity: str = "id"


KINDS = (
    Kind("homemade", "item", "work_items", "id", "cancel", ""),
    Kind("solid_queue", "queue", "solid_queue_jobs", "queue_name", "pause"),
    Kind("oban", "queue", "oban_jobs", "queue"),
    Kind("graphile_worker", "crontab", "_private_known_crontabs", "identifier", "", ""),
    Kind("pgqueuer", "entrypoint", "pgqueuer", "entrypoint"),
    Kind("procrastinate", "queue", "procrastinate_jobs", "queue_name"),
)
COPY = """
INSERT INTO {table} OVERRIDING SYSTEM VALUE
SELECT (s.r).* FROM (SELECT jsonb_populate_record(t, jsonb_build_object({values})) AS r FROM {table} AS t LIMIT 1) AS s
"""


async def fill(dsn: str, kind: Kind) -> list[str]:
    """Copy a row for each key that the table takes, and return the ids."""
    connection = await asyncpg.connect(dsn)
    ids = []
    for number, key in enumerate(KEYS):
        values = f"'{kind.column}', $1::text" + (f", '{kind.identity}', {900_000 + number}" if kind.identity else "")
        try:
            await connection.execute(COPY.format(table=kind.table, values=values), key)
        except (asyncpg.CheckViolationError, asyncpg.StringDataRightTruncationError):
            continue
        ids.append(f"{kind.engine}/{kind.kind}:{key}")
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


@pytest.mark.parametrize("kind", KINDS, ids=[kind.engine for kind in KINDS])
def test_an_id_goes_around_in_the_same_bytes(server: PostgresServer, home: Path, kind: Kind) -> None:
    if kind.engine == "homemade":
        dsn = server.fresh("eternaltwin")
        tables = (HOMEMADE / "schema.sql").read_text()
        server.sql(tables.replace("id bigint GENERATED ALWAYS AS IDENTITY", "id text").replace("bigint", "text"), dsn)
        server.sql("INSERT INTO work_items (id, task, state) VALUES ('first', 'fetch', 'failed')", dsn)
    else:
        dsn = server.fresh(kind.engine, filled=True)
    server.sql(audit_log.ddl(), dsn)
    ids = asyncio.run(fill(dsn, kind))
    assert len(ids) > 30

    def run(*words: str, piped: str = "") -> Answer:
        return unstick(*words, dsn=dsn, home=home, piped=piped)

    tree = run("tree", "--json", "--engine", kind.engine, "--limit", "5000", "--depth", "1").json
    assert set(ids) <= {*all_ids(tree)}
    for number, id_ in enumerate(ids):
        shown = run("show", "--json", json.dumps(id_) if number % 3 == 0 else id_)
        assert (shown.code, shown.err) == (0, ""), id_
        assert next(all_ids(shown.json["node"])) == id_
    if kind.action:
        lines = [id_ if "\n" not in id_ else json.dumps(id_) for id_ in ids]
        words = ("do", kind.action, "-", "-r", "x", "-y", "--json")
        done = run(*words, piped="\n".join(lines))
        assert done.code == 0, done.err
        assert sorted(result["id"] for result in done.json["results"]) == sorted(ids)
        (entry,) = run("audit", "--json").json["entries"]
        assert sorted(result["id"] for result in entry["results"]) == sorted(ids)
        for id_ in (ids[2], ids[-1], next(i for i in ids if "\n" in i)):
            assert run("audit", id_, "--json").json["entries"][0]["id"] == entry["id"]


IDS = [f"oddq/item:{key}" for key in KEYS] + ['odd@"a b"/item:a\nb']


def test_a_shell_passes_a_printed_id_on_as_it_is() -> None:
    """The output replaces no character of a printed command."""
    for id_ in IDS:
        line = shell.unstick(["show", id_, "--reason", "..."], ["-d", "x"])
        assert safe_text(line) == line
        script = f'unstick() {{ printf "%s\\0" "$@"; }}; {line}'
        words = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode().split("\0")
        assert node_id(words[1]) == id_ == typed_id(json.dumps(id_))


@pytest.mark.parametrize("text", ['"a', '"a" b', '"\\ud800"', '"'])
def test_what_begins_as_a_json_string_and_is_none_is_refused(text: str, eternaltwin: str) -> None:
    answer = unstick("show", text, dsn=eternaltwin)
    assert (answer.code, "is no JSON string" in answer.err) == (2, True)
    piped = unstick("do", "wake", "-", "-r", "x", "-y", dsn=eternaltwin, piped=f"{text}\n")
    assert (piped.code, "is no JSON string" in piped.err) == (2, True)


def test_stdin_takes_lines_as_they_are(eternaltwin: str, tmp_path: Path) -> None:
    """Another line break than a line feed is a part of the id, and a blank, too."""
    piped = "eternaltwin/queue:a\r\neternaltwin/queue:b \n\n\xa0\n"
    script = [sys.executable, "-c", "from console.cli.selected import _with_stdin; print(list(_with_stdin(['-'])))"]
    done = subprocess.run(script, input=piped.encode(), capture_output=True, cwd=ROOT, check=True)
    assert eval(done.stdout) == ["eternaltwin/queue:a\r", "eternaltwin/queue:b ", "\xa0"]


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
