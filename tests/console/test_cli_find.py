"""``find`` and ``show`` with the text of an alert, a URL or a log line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import asyncpg
import msgspec
import pytest

from queries.read.reader import Reader
from queries.records.node import Hits, Match, Search
from queries.workspace import Workspace
from tests.command import fetch, unstick

ENGINES = {"agent_jobs", "estuary", "eternaltwin", "tasker", "uni2work"}


def one(dsn: str, query: str) -> str:
    """Return the first value of a query, as text."""
    return str(fetch(dsn, query)[0][0])


@pytest.fixture(scope="module")
def ids(every_engine: str) -> dict[str, str]:
    """Full ids of one node of each engine."""
    return {
        "eternaltwin": "eternaltwin/task:" + one(every_engine, "SELECT task_id FROM eternaltwin.task LIMIT 1"),
        "estuary": "estuary/task:" + one(every_engine, "SELECT task_id::text FROM estuary.tasks LIMIT 1"),
        "agent_jobs": "agent_jobs/job:" + one(every_engine, "SELECT id FROM agent_jobs.jobs LIMIT 1"),
        "uni2work": "uni2work/job:" + one(every_engine, "SELECT max(id) FROM uni2work.queued_job"),
        "tasker": "tasker/step:" + one(every_engine, "SELECT workflow_step_uuid FROM tasker.workflow_steps LIMIT 1"),
    }


def search(every_engine: str, text: str) -> Search:
    return decoded(unstick("find", text, "--json", dsn=every_engine).out)


def decoded(text: str) -> Search:
    plain_text = text.replace('"infinity"', "1e999").replace('"-infinity"', "-1e999")
    return msgspec.convert(json.loads(plain_text), Search)


def hits(every_engine: str, text: str) -> dict[str, Match]:
    return {hit.node.id: hit.matched for part in search(every_engine, text).engines for hit in part.hits}


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_an_id_is_found_in_every_form(every_engine: str, ids: dict[str, str], engine: str) -> None:
    full = ids[engine]
    kind, _, key = full.partition("/")[2].partition(":")
    log = f"2026-11-22 ERROR {kind}_id={key} timed out"
    for text in (full, key, f"https://ops.example/{kind}s/{key}?tab=log", log, f"see {full}, please"):
        assert hits(every_engine, text).get(full) is Match.ID, text
    assert set(hits(every_engine, full)) == {full}, "a full id is that node alone"
    beginning = search(every_engine, key[:-1])
    if engine != "uni2work":  # the number without its last digit is another job's
        assert full in {hit.node.id for part in beginning.engines for hit in part.hits}


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_show_takes_a_bare_key(every_engine: str, ids: dict[str, str], engine: str) -> None:
    full = ids[engine]
    key = full.partition(":")[2]
    answer = unstick("show", key, "--json", dsn=every_engine)
    if answer.code == 2:  # the number of a cron entry as well
        assert full in answer.err
    else:
        assert (answer.code, answer.json["node"]["id"]) == (0, full)


def test_show_lists_several_and_says_where_it_looked(every_engine: str) -> None:
    number = one(every_engine, "SELECT min(c.id) FROM uni2work.cron_last_exec c JOIN uni2work.queued_job q USING (id)")
    several = unstick("show", number, dsn=every_engine)
    assert several.code == 2
    assert f"uni2work/job:{number}" in several.err
    assert f"uni2work/cron:{number}" in several.err
    assert several.out == ""
    none = unstick("show", "00000000-0000-4000-8000-00000000000f", dsn=every_engine)
    assert (none.code, none.out) == (3, "")
    assert all(name in none.err for name in ENGINES)


def test_texts_are_searched_in_titles_errors_and_payloads(every_engine: str) -> None:
    kind = one(every_engine, "SELECT kind FROM eternaltwin.task LIMIT 1")
    error = one(every_engine, "SELECT error FROM agent_jobs.jobs WHERE error IS NOT NULL LIMIT 1")
    failed = "SELECT max(results #>> '{error,message}') FROM tasker.workflow_steps WHERE NOT processed"
    for text, engine, matched in (
        (kind, "eternaltwin", Match.TITLE),
        (error[:60], "agent_jobs", Match.ERROR),
        (one(every_engine, failed)[:60], "tasker", Match.ERROR),
        ("prune", "uni2work", Match.PAYLOAD),
    ):
        assert matched in {m for node_id, m in hits(every_engine, text).items() if node_id.startswith(engine)}, text


def test_every_engine_answers_and_says_what_it_searched(every_engine: str) -> None:
    found = search(every_engine, "no such text anywhere")
    assert {part.engine for part in found.engines} == ENGINES
    assert all(part.searched and not part.hits for part in found.engines)
    text = unstick("find", "no such text anywhere", dsn=every_engine)
    assert (text.code, text.out) == (3, ""), text.err
    assert all(name in text.err for name in ENGINES)


def test_a_lock_that_hides_nothing_is_no_failure(every_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Autovacuum locks a table exclusively for a moment, when it cuts its end off."""
    detect = Workspace.detect

    async def locked(self: Workspace, *, renew: bool = False) -> None:
        await detect(self, renew=renew)
        self.locked = frozenset({"tasks"})

    monkeypatch.setattr(Workspace, "detect", locked)
    assert unstick("find", "no such text anywhere", dsn=every_engine).code == 3


def test_more_hits_than_are_listed_are_said_to_be_capped(every_engine: str) -> None:
    part = next(p for p in search(every_engine, "job").engines if p.engine == "uni2work")
    assert (len(part.hits), part.capped) == (50, True)
    assert "only the first 50" in unstick("find", "job", dsn=every_engine).err


async def test_an_engine_that_cannot_be_read_does_not_stop_the_others(every_engine: str, ids: dict[str, str]) -> None:
    connection = await asyncpg.connect(every_engine)
    try:
        await connection.execute("BEGIN; LOCK TABLE estuary.tasks, agent_jobs.jobs IN ACCESS EXCLUSIVE MODE")
        key = ids["eternaltwin"].partition(":")[2]
        answer = await asyncio.to_thread(unstick, "find", key, "--json", dsn=every_engine)
    finally:
        await connection.close()
    assert answer.code == 1
    found = {part.engine: part for part in decoded(answer.out).engines}
    assert found["eternaltwin"].hits[0].node.id == ids["eternaltwin"]
    for engine in ("estuary", "agent_jobs"):
        assert engine not in found or found[engine].unreadable
        assert f"Not searched: {engine}" in answer.err


async def test_one_answer_arrives_before_another_engine_has_ended(
    every_engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow engine delays only its own answer."""
    from queries.read import search as searching

    workspace = await Workspace(every_engine, file=tmp_path / "audit").open()
    slow = workspace.engines["agent_jobs"]
    released = asyncio.Event()
    find = searching.find

    async def late(reader: Reader, text: str) -> Hits:
        if reader is slow:
            await released.wait()
        return await find(reader, text)

    monkeypatch.setattr(searching, "find", late)
    order = []
    async for part in searching.search(workspace.engines, searching.sought("4711", workspace.engines.values())):
        order.append(part.engine)
        if len(order) == len(ENGINES) - 1:
            released.set()
    assert order[-1] == "agent_jobs"
    await workspace.close()


def test_texts_of_a_large_table_are_searched_in_part_and_said_so(
    every_engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    found = {part.engine: part for part in search(every_engine, "no such text").engines}
    for engine in ("eternaltwin", "estuary", "agent_jobs"):
        assert "too large" in found[engine].searched, engine


def test_nothing_to_search_for_is_a_usage_error(every_engine: str) -> None:
    assert unstick("find", dsn=every_engine).code == 2
    assert unstick("find", "  ", dsn=every_engine).code == 2
