"""Filters that the server compares in an engine with derived statements."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.model import selection
from console.model.conditions import compares_more, conditions
from console.model.fields.field import Context
from console.model.filter import NODES, parse
from console.model.selection import select
from queries.contract.outside import outside_engines
from queries.read.reader import Reader
from tests.outside import HOMEMADE, copied, schema
from tests.queries.builders import opened
from tests.servers import PostgresServer

ROWS = """
INSERT INTO work_items (task, state, taken_by, tries)
SELECT 'Mail', CASE WHEN n % 3 = 0 THEN 'todo' ELSE 'done' END, 'Worker_' || n % 7, n % 4
  FROM generate_series(1, {n}) AS n;
INSERT INTO work_items (task, state, taken_by, tries) VALUES
  ('Mail', 'doing', 'stra' || chr(223) || 'e', 2), ('Mail', 'doing', 'a.b*c', 2), ('Mail', 'doing', E'x\\ny', 2),
  ('Mail', 'todo', '', 0), ('Mail', 'todo', NULL, 0);
"""
FILTERS = (
    "phase:ready", "phase:=ready", "phase:ready,failed", "!phase:done", "phase:r !phase:=running", "status:DO",
    "status:=doing", "status:todo,doing", "!status:done", "status:any", "status:none", "owner:worker_3",
    "owner:=WORKER_3", "owner:none", "owner:any", "owner:a.b*", "owner:strasse", "owner:=strasse", "owner:stra",
    'owner:"x\ny"', "owner:y", "attempts:2", "attempts:>1", "attempts:>=1,<=0", "attempts:<1 phase:ready",
    "!attempts:>1", "age:>1h", "!age:>1h", "kind:item", "kind:job", "!kind:item", "Mail status:doing", "owner:x,none",
)  # fmt: skip


@pytest.fixture
async def homemade(server: PostgresServer) -> AsyncIterator[str]:
    """The DSN of a database with a home-made engine, whose statements are derived."""
    dsn = server.fresh()
    server.sql(schema(HOMEMADE), dsn)
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def reader(homemade: str, tmp_path: Path) -> AsyncIterator[Reader]:
    copied(tmp_path / "engines", source=HOMEMADE)
    workspace = await opened(homemade, tmp_path, outside=outside_engines([tmp_path / "engines"], {"homemade"}))
    (only,) = workspace.engines.values()
    yield only
    await workspace.close()


async def test_each_filter_selects_what_the_console_would(
    server: PostgresServer, homemade: str, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.sql(ROWS.format(n=60), homemade)
    monkeypatch.setattr(selection, "NODES_AT_ONCE", 7)
    every = await select(reader, parse(""))
    assert len(every.nodes) > 64
    for text in FILTERS:
        wanted = parse(text)
        found = await select(reader, wanted)
        context = Context(now=every.at)
        expected = {node.id for node in every.nodes if NODES.matches(wanted, context)(node)}
        assert ({node.id for node in found.nodes}, found.missing) == (expected, ()), text


async def test_the_server_compares_most_filters(server: PostgresServer, homemade: str, reader: Reader) -> None:
    server.sql(ROWS.format(n=60), homemade)
    for text, most in (("phase:running", 9), ("owner:worker_3", 20), ("attempts:3", 20), ("status:doing", 9)):
        page = await reader.pages.matching("item", conditions(parse(text)), None, 500)
        assert 0 < len(page.nodes) < most, text
    assert not compares_more(parse("phase:ready !kind:x owner:a"))
    assert all(compares_more(parse(text)) for text in ("Mail", "owner:none", "!status:a"))


async def test_a_condition_on_more_rows_than_are_compared(
    server: PostgresServer, homemade: str, reader: Reader
) -> None:
    server.sql(ROWS.format(n=45_000), homemade)
    found = await select(reader, parse("phase:running"))
    assert (len(found.nodes) > 2, found.missing) == (True, ())
    ready = await select(reader, parse("phase:ready attempts:>2"))
    assert (len(ready.nodes), ready.missing) == (3750, ())
    words = await select(reader, parse("no-such-word"))
    assert "is compared by the server, without that limit" in words.missing[0]


async def test_more_matches_than_are_compared(
    server: PostgresServer, homemade: str, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.sql(ROWS.format(n=60), homemade)
    monkeypatch.setattr(selection, "COMPARED_NODES", 4)
    found = await select(reader, parse("phase:done"))
    assert (len(found.nodes) > 39, found.missing) == (True, ())
    monkeypatch.setattr(selection, "SELECTION_PAGES", 1)
    monkeypatch.setattr(selection, "NODES_AT_ONCE", 9)
    assert "--limit" in (await select(reader, parse("phase:done"))).missing[0]
