"""Statements that stop at a limit say that there may be more.

Each number of rows that a statement reads at most is lowered to 0, so that an empty table reaches it.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from queries.model import Finding
from queries.statement import Statement
from tests.queries.builders import opened
from tests.servers import PostgresServer

LIMITED = re.compile(r"\bcount\(\*\) FROM [a-z_]+\) *(?:=|>) *\d{2,}")
ENGINES = ("agent_jobs", "estuary", "eternaltwin", "oban", "pgqueuer", "procrastinate", "solid_queue", "tasker",
           "uni2work", "graphile_worker")  # fmt: skip
# Statements that also need rows, or another variant of the engine, for the row that says "at least".
NEED_ROWS = {"active_too_long", "delayed_too_long", "paused_too_long", "skipped_by_poller"}


def lowered(statement: Statement) -> Statement:
    """Return the statement with its limits of 20 rows or more lowered to none."""
    text = re.sub(r"(FROM [a-z_]+\)) = \d{2,}", r"\1 = 0", statement.text)
    text = re.sub(r"((?:FROM [a-z_]+|AS o)\)) > \d{2,}", r"\1 > -1", text)
    return msgspec.structs.replace(statement, text=re.sub(r"LIMIT \d{2,}", "LIMIT 0", text))


@pytest.mark.parametrize("engine", ENGINES)
async def test_each_statement_that_reaches_its_limit_says_at_least(
    server: PostgresServer, tmp_path: Path, engine: str
) -> None:
    dsn = server.fresh(engine)
    workspace = await opened(dsn, tmp_path)
    try:
        (reader,) = workspace.engines.values()
        statements = reader.engine.statements
        limited = {
            name: tuple(map(lowered, variants))
            for name, variants in statements.items()
            if name.startswith("findings/") and all(LIMITED.search(each.text) for each in variants)
        }
        reader.variant.engine = msgspec.structs.replace(reader.engine, statements={**statements, **limited})
        read = await reader.findings()
        assert [each for each in read.skipped_findings if each.failed] == []
        skipped = {each.code for each in read.skipped_findings}
        codes = {name.partition("/")[2] for name in limited} - NEED_ROWS
        assert codes - set(read.capped) - skipped == set()
    finally:
        await workspace.close()
        server.drop(dsn)


async def test_more_executing_jobs_than_are_read_are_capped(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("oban")
    server.sql(
        "INSERT INTO oban_jobs (state, queue, worker, args, attempt, attempted_at, attempted_by)"
        " SELECT 'executing', 'mail', 'Mailer', '{}', 1, now() - interval '3 days',"
        " ARRAY['web@1', '6f1c1a3e-0000-4000-8000-000000000001'] FROM generate_series(1, 2100)",
        dsn,
    )
    workspace = await opened(dsn, tmp_path)
    try:
        (reader,) = workspace.engines.values()
        read = await reader.findings(page=3000)
        assert [each for each in read.skipped_findings if each.failed] == []
        code = "executing_long"
        found: list[Finding] = [each for each in read.found if each.code == code]
        assert len(found) > 1999
        assert code in read.capped
        incidents = workspace.incidents(read.found, [(reader.label, each) for each in read.capped])
        assert any(each.capped and each.n > 1999 for each in incidents)
    finally:
        await workspace.close()
        server.drop(dsn)
