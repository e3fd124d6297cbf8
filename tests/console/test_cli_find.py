"""``find`` and ``show`` with the text of an alert, a URL or a log line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.records.node import Match, Search
from queries.workspace import Workspace
from tests.command import fetch, unstick
from tests.servers import PostgresServer, all_engines_database

ENGINES = {"agent_jobs", "estuary", "eternaltwin", "tasker", "uni2work"}


@pytest.fixture(scope="module")
def house(servers: Any) -> Iterator[str]:
    """DSN of a database with the demo's data of every engine, without workers."""
    server: PostgresServer = servers["18"]
    dsn = asyncio.run(all_engines_database(server))
    yield dsn
    server.drop(dsn)


def one(dsn: str, query: str) -> str:
    """Return the first value of a query, as text."""
    return str(fetch(dsn, query)[0][0])


@pytest.fixture(scope="module")
def ids(house: str) -> dict[str, str]:
    """Full ids of one node of each engine."""
    return {
        "eternaltwin": "eternaltwin/task:" + one(house, "SELECT task_id FROM eternaltwin.task LIMIT 1"),
        "estuary": "estuary/task:" + one(house, "SELECT task_id::text FROM estuary.tasks LIMIT 1"),
        "agent_jobs": "agent_jobs/job:" + one(house, "SELECT id FROM agent_jobs.jobs LIMIT 1"),
        "uni2work": "uni2work/job:" + one(house, "SELECT max(id) FROM uni2work.queued_job"),
        "tasker": "tasker/step:" + one(house, "SELECT workflow_step_uuid FROM tasker.workflow_steps LIMIT 1"),
    }


def search(house: str, text: str) -> Search:
    return decoded(unstick("find", text, "--json", dsn=house).out)


def decoded(text: str) -> Search:
    plain_text = text.replace('"infinity"', "1e999").replace('"-infinity"', "-1e999")
    return msgspec.convert(json.loads(plain_text), Search)


def hits(house: str, text: str) -> dict[str, Match]:
    return {hit.node.id: hit.matched for part in search(house, text).engines for hit in part.hits}


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_an_id_is_found_in_every_form(house: str, ids: dict[str, str], engine: str) -> None:
    full = ids[engine]
    kind, _, key = full.partition("/")[2].partition(":")
    log = f"2026-11-22 ERROR {kind}_id={key} timed out"
    for text in (full, key, f"https://ops.example/{kind}s/{key}?tab=log", log, f"see {full}, please"):
        assert hits(house, text).get(full) is Match.ID, text
    assert set(hits(house, full)) == {full}, "a full id is that node alone"
    beginning = search(house, key[:-1])
    if engine != "uni2work":  # the number without its last digit is another job's
        assert full in {hit.node.id for part in beginning.engines for hit in part.hits}


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_show_takes_a_bare_key(house: str, ids: dict[str, str], engine: str) -> None:
    full = ids[engine]
    key = full.partition(":")[2]
    answer = unstick("show", key, "--json", dsn=house)
    if answer.code == 2:  # the number of a cron entry as well
        assert full in answer.err
    else:
        assert (answer.code, answer.json["node"]["id"]) == (0, full)


def test_show_lists_several_and_says_where_it_looked(house: str) -> None:
    number = one(house, "SELECT min(c.id) FROM uni2work.cron_last_exec c JOIN uni2work.queued_job q USING (id)")
    several = unstick("show", number, dsn=house)
    assert several.code == 2
    assert f"uni2work/job:{number}" in several.err
    assert f"uni2work/cron:{number}" in several.err
    assert several.out == ""
    none = unstick("show", "00000000-0000-4000-8000-00000000000f", dsn=house)
    assert (none.code, none.out) == (3, "")
    assert all(name in none.err for name in ENGINES)


def test_texts_are_searched_in_titles_errors_and_payloads(house: str) -> None:
    kind = one(house, "SELECT kind FROM eternaltwin.task LIMIT 1")
    error = one(house, "SELECT error FROM agent_jobs.jobs WHERE error IS NOT NULL LIMIT 1")
    failed = "SELECT max(results #>> '{error,message}') FROM tasker.workflow_steps WHERE NOT processed"
    for text, engine, matched in (
        (kind, "eternaltwin", Match.TITLE),
        (error[:60], "agent_jobs", Match.ERROR),
        (one(house, failed)[:60], "tasker", Match.ERROR),
        ("prune", "uni2work", Match.PAYLOAD),
    ):
        assert matched in {m for node_id, m in hits(house, text).items() if node_id.startswith(engine)}, text


def test_every_engine_answers_and_says_what_it_searched(house: str) -> None:
    found = search(house, "no such text anywhere")
    assert {part.engine for part in found.engines} == ENGINES
    assert all(part.searched and not part.hits for part in found.engines)
    text = unstick("find", "no such text anywhere", dsn=house)
    assert (text.code, text.out) == (3, ""), text.err
    assert all(name in text.err for name in ENGINES)


def test_a_lock_that_hides_nothing_is_no_failure(house: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Autovacuum locks a table exclusively for a moment, when it cuts its end off."""
    detect = Workspace.detect

    async def locked(self: Workspace, *, renew: bool = False) -> None:
        await detect(self, renew=renew)
        self.locked = frozenset({"tasks"})

    monkeypatch.setattr(Workspace, "detect", locked)
    assert unstick("find", "no such text anywhere", dsn=house).code == 3


def test_more_hits_than_are_listed_are_said_to_be_capped(house: str) -> None:
    part = next(p for p in search(house, "job").engines if p.engine == "uni2work")
    assert (len(part.hits), part.capped) == (50, True)
    assert "only the first 50" in unstick("find", "job", dsn=house).err


async def test_an_engine_that_cannot_be_read_does_not_stop_the_others(house: str, ids: dict[str, str]) -> None:
    connection = await asyncpg.connect(house)
    try:
        await connection.execute("BEGIN; LOCK TABLE estuary.tasks, agent_jobs.jobs IN ACCESS EXCLUSIVE MODE")
        key = ids["eternaltwin"].partition(":")[2]
        answer = await asyncio.to_thread(unstick, "find", key, "--json", dsn=house)
    finally:
        await connection.close()
    assert answer.code == 1
    found = {part.engine: part for part in decoded(answer.out).engines}
    assert found["eternaltwin"].hits[0].node.id == ids["eternaltwin"]
    for engine in ("estuary", "agent_jobs"):
        assert engine not in found or found[engine].unreadable
        assert f"Not searched: {engine}" in answer.err


async def test_one_answer_arrives_before_another_engine_has_ended(house: str, tmp_path: Path) -> None:
    """A slow engine delays only its own answer."""
    from queries.read import search as searching

    workspace = await Workspace.open(house, file=tmp_path / "audit")
    slow = workspace.engines["agent_jobs"]
    released = asyncio.Event()
    find = slow.find

    async def late(text: str, page: int = 50) -> Any:
        await released.wait()
        return await find(text, page)

    slow.find = late  # type: ignore[method-assign]
    order = []
    async for part in searching.search(workspace.engines, searching.sought("4711", workspace.engines.values())):
        order.append(part.engine)
        if len(order) == len(ENGINES) - 1:
            released.set()
    assert order[-1] == "agent_jobs"
    await workspace.close()


def test_texts_of_a_large_table_are_searched_in_part_and_said_so(house: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    found = {part.engine: part for part in search(house, "no such text").engines}
    for engine in ("eternaltwin", "estuary", "agent_jobs"):
        assert "too large" in found[engine].searched, engine


def test_nothing_to_search_for_is_a_usage_error(house: str) -> None:
    assert unstick("find", dsn=house).code == 2
    assert unstick("find", "  ", dsn=house).code == 2
