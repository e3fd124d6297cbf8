"""Reads, changes and undo under hostile settings of a role or database."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Awaitable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import msgspec
import pytest

from queries import snapshot
from queries.change import loop
from queries.contract.builtin import builtin
from queries.db.database import SPELLING, Database
from queries.db.errors import DatabaseError
from queries.db.query import Query
from queries.files.statement import Statement
from queries.log import audit_log
from queries.read import changes, details, search
from queries.records.action import Change, Outcome
from queries.records.node import Node
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, undone
from tests.queries.test_exact_values import HOSTILE
from tests.servers import PostgresServer

ALL = sorted(engine.name for engine in builtin())
ONE_BY_ONE = [(engine, {name: word}) for name, word in HOSTILE.items() for engine in ALL]
AGE = re.compile(r"\b(\d+[dhms])+\b|\b(\d+ days?,? ?)?\b\d\d:\d\d:\d\d(\.\d+)?\b|\b\d+ days?\b")
MOVING = ("at", "now", "age")  # fields of the moment of a read


def set_all(server: PostgresServer, dsn: str, settings: dict[str, str]) -> None:
    name = urlsplit(dsn).path.strip("/")
    server.sql(f"ALTER DATABASE {name} RESET ALL")
    for setting, word in settings.items():
        words = ", ".join(f"'{part}'" for part in word.split(", "))
        server.sql(f"ALTER DATABASE {name} SET {setting} = {words}")


async def everything(workspace: Workspace) -> list[str]:
    """Return every read of every engine, as JSON.

    What passes between two reads is omitted.
    """
    answers: dict[str, Any] = {}
    for label, reader in workspace.engines.items():
        pages = [await reader.pages.roots(), await reader.pages.live()]
        nodes = {node.id: node for page in pages for node in page.nodes}
        findings = await reader.findings.read()
        dead = await reader.pages.dead()
        few = [*first_of_each(nodes.values())]
        changed, source = await changes.read(reader, 0.0, {}, 20)
        answers[label] = {
            "pages": pages,
            "counts": await reader.nodes.counts(),
            "findings": sorted(findings.findings, key=lambda each: (each.node_id, each.code)),
            "skipped": [(each.code, each.failed) for each in findings.skipped_findings],
            "dead": dead,
            "changed": [changed, source],
            "details": [await details.read(reader, node.id) for node in few],
            "children": [await answer_of(reader.pages.children(node.id)) for node in few],
            "found": [await answer_of(search.find(reader, re.split("[:/]", node.id)[-1])) for node in few],
            "searched": [await search.find_texts(reader, word) for word in ("a", "_", "%", "\\", "'")],
        }
    problems = await snapshot.server_problems(workspace, ())
    answers["server"] = [(each.code, each.title) for each in problems.findings]
    return [*steady(answers)]


async def answer_of(read: Awaitable[object]) -> object:
    """Return an answer, or the message of an error."""
    try:
        return await read
    except DatabaseError as error:
        return str(error)


def first_of_each(nodes: Iterable[Node]) -> Iterable[Node]:
    """Return one node of each kind and phase."""
    return {(node.kind, node.phase): node for node in nodes}.values()


def is_age(value: Any) -> bool:
    """Return True for seconds that pass, but not for a time of a row."""
    return isinstance(value, float) and value % 1 != 0 and (abs(value) < 1e9 or abs(value - time.time()) < 60)


def steady(answer: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each value of an answer that does not differ by the moment."""
    built = msgspec.to_builtins(answer, enc_hook=repr, str_keys=True)
    if isinstance(built, dict):
        for key, inner in built.items():
            if key not in MOVING:
                yield from steady(inner, f"{path}.{key}")
    elif isinstance(built, list | tuple):
        for number, inner in enumerate(built):
            yield from steady(inner, f"{path}.{number}")
    else:
        yield f"{path} = {AGE.sub('(age)', str(built))!r}" if not is_age(built) else f"{path} is an age"


async def state(dsn: str) -> dict[str, list[str]]:
    """Return the text of all rows by table."""
    connection = await asyncpg.connect(dsn, server_settings=SPELLING)
    tables = await connection.fetch(
        "SELECT c.oid::regclass::text FROM pg_class c WHERE relkind = 'r' AND relnamespace::regnamespace::text"
        " NOT IN ('pg_catalog', 'information_schema', 'unstick')"
    )
    rows = {
        name: [r[0] for r in await connection.fetch(f"SELECT t::text FROM {name} t ORDER BY 1")] for (name,) in tables
    }
    await connection.close()
    return rows


async def first_change(workspace: Workspace) -> Change | None:
    """Return the dry run of the first action that changes a node and can be undone."""
    for label, reader in workspace.engines.items():
        nodes = [*first_of_each([*(await reader.pages.live()).nodes, *(await reader.pages.roots()).nodes])]
        actions = sorted((a for a in reader.engine.spec.actions if a.undo != "none"), key=lambda a: a.name != "wake")
        for action in actions:
            for node in nodes:
                flags = {argument.name: True for argument in action.arguments if argument.type == "flag"}
                if node.kind not in action.kinds or len(flags) < len(action.arguments):
                    continue
                with contextlib.suppress(DatabaseError):
                    seen = {node.id: node.version}
                    dry_run = await dry_run_of(workspace, action.name, seen, flags, label=label)
                    if Outcome.CHANGED in outcomes_of(dry_run).values():
                        return dry_run
    return None


cases = pytest.mark.parametrize(
    ("engine", "settings"),
    most_in_proof([("pgqueuer", HOSTILE), *((e, HOSTILE) for e in ALL if e != "pgqueuer"), *ONE_BY_ONE]),
)


@cases
async def test_every_read_is_that_of_the_default(
    server: PostgresServer, tmp_path: Path, engine: str, settings: dict[str, str]
) -> None:
    dsn = server.fresh(engine, filled=True)
    for _ in range(3):  # a timer may pass between two of the reads, and on a busy machine another one
        answers = []
        for given in ({}, settings, {}):
            set_all(server, dsn, given)
            workspace = await opened(dsn, tmp_path)
            assert workspace.engines, workspace.declined
            answers.append(set(await everything(workspace)))
            await workspace.close()
        first, hostile, last = answers
        if (first & last) <= hostile <= (first | last):
            break
    assert hostile - (first | last) == set()
    assert (first & last) - hostile == set()
    assert len(first & last) > 100
    server.drop(dsn)


@cases
async def test_a_change_and_its_undo_are_those_of_the_default(
    server: PostgresServer, tmp_path: Path, engine: str, settings: dict[str, str]
) -> None:
    done = []
    for given in ({}, settings):
        dsn = server.fresh(engine, filled=True)
        server.sql(audit_log.ddl(), dsn)
        set_all(server, dsn, given)
        workspace = await opened(dsn, tmp_path)
        before = await state(dsn)
        dry_run = await first_change(workspace)
        assert dry_run is not None
        changed = await loop.commit(workspace, dry_run, OPERATOR)
        assert Outcome.CHANGED in outcomes_of(changed).values()
        back = await undone(workspace, changed)
        after = await state(dsn)
        tables = {name for name in before if before[name] != after[name]}
        done.append((dry_run.action, outcomes_of(changed), outcomes_of(back), tables))
        await workspace.close()
        server.drop(dsn)
    assert done[0] == done[1]


async def test_triggers_fire_whatever_the_role_is_set_to(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path
) -> None:
    """A role that may not set session_replication_role back is refused."""
    role = server.unique("r")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin
    )
    server.sql(f"ALTER ROLE {role} SET session_replication_role = replica")
    database = Database(server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x"))
    with pytest.raises(DatabaseError, match="session_replication_role"):
        async with database.writing() as transaction:
            await transaction.control("SAVEPOINT begun")
    server.sql(f"ALTER ROLE {role} SUPERUSER")
    async with database.writing() as transaction:
        query = Statement(text="SELECT current_setting('session_replication_role') AS word", source="")
        (row,) = await transaction.rows(query, {})
        assert row["word"] == "origin"
    await database.close()


async def test_a_pattern_of_the_first_read_keeps_its_backslashes(server: PostgresServer, eternaltwin: str) -> None:
    set_all(server, eternaltwin, {"standard_conforming_strings": "off"})
    database = Database(eternaltwin)
    query = Statement(text=r"SELECT 'a1' ~ '^a\d$' AS found, U&'\0041' AS word", source="")
    assert [dict(row) for row in (await database.batch([Query(query)]))[0]] == [{"found": True, "word": "A"}]
    await database.close()
