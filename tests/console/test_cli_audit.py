"""``audit``: targets, filters and export, of the table and of the local file."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import json
import re
import tracemalloc
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.cli.audit import Entries
from console.cli.output import Output
from console.model import export
from queries.log import audit_log
from queries.log.audit_log import Criteria
from queries.log.log_file import LogFile, page
from queries.records.action import Outcome, Result, RowChange
from queries.records.audit import AuditLogEntry, Origin
from queries.workspace import Workspace
from tests.command import unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import proof

NODES = [f"eternaltwin/task:00000000-0000-4000-8000-{n:012}" for n in range(4)]
HOSTILE = '=cmd|"/C calc"!A0\n| <b>*x*</b> \\ `y` [z](javascript:1)\x1b[31m\u202e'
INSERT = """
    INSERT INTO unstick.audit_log (at, role, os_user, host, application, engine, schema, action, reason, arguments,
                                   results, changes)
    SELECT to_timestamp($1), $2, $3, $4, 'test', $5, $6, $7, $8, $9, $10, $11 FROM generate_series(1, $12::int)
"""


def entry(number: int, at: float, **more: Any) -> AuditLogEntry:
    """Return an entry about two nodes: one changed, one stale."""
    results = (
        Result(id=NODES[number % 2], outcome=Outcome.CHANGED, title=f"SendEmail v{number}"),
        Result(id=NODES[2 + number % 2], outcome=Outcome.STALE, why="it was changed"),
    )
    fields: dict[str, Any] = {
        "id": "",
        "at": at,
        "role": ("postgres", 'Anna "A"')[number % 2],
        "os_user": ("anna", "BOB", "%_")[number % 3],
        "host": "laptop",
        "engine": "eternaltwin",
        "schema": "public",
        "action": ("wake", "cancel", "restart")[number % 3],
        "reason": "it was stuck",
        "results": results,
    }
    return AuditLogEntry(**fields | more)


async def store(db: EternaltwinDb, each: AuditLogEntry, times: int = 1) -> None:
    """Write an entry to the table, with its time and role."""
    fields = json.loads(msgspec.json.encode(each))
    plain = ("at", "role", "os_user", "host", "engine", "schema", "action", "reason")
    encoded = (json.dumps(fields[name]) for name in ("arguments", "results", "changes"))
    await db.connection.execute(INSERT, *(fields[name] for name in plain), *encoded, times)


def local_file(workspace: Workspace, folder: Path) -> LogFile:
    """Return the local file of a workspace, which also has a table."""
    server = workspace.server
    here = Origin(
        database=server.database, host=server.host, port=server.port, system_identifier=server.system_identifier
    )
    return LogFile(folder / "audit_log.jsonl", lambda: here)


@pytest.fixture
async def both(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> AsyncIterator[tuple[Workspace, list[AuditLogEntry]]]:
    """A workspace with twelve entries, the same in its table and in its file."""
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await Workspace(eternaltwin, file=tmp_path / "audit_log.jsonl").open()
    now = await workspace.now()
    entries = [entry(n, now - 60 * (12 - n) + 30) for n in range(12)]
    for number, each in enumerate(entries):
        await store(eternaltwin_db, each)
        local_file(workspace, tmp_path).append(msgspec.structs.replace(each, id=str(number)), intended=False)
    yield workspace, entries
    await workspace.close()


FILTERS: dict[str, Sequence[str | Outcome | None]] = {
    "who": (None, "anna", "bob@LAP", "%", "_", "carol"),
    "action": (None, "cancel", "can"),
    "target": (None, NODES[1], "0002", "sendEMAIL v1", "%"),
    "outcome": (None, Outcome.STALE, Outcome.LOST),
}


async def test_the_table_and_the_file_filter_alike(both: tuple[Workspace, list[AuditLogEntry]], tmp_path: Path) -> None:
    workspace, entries = both
    seen = set()
    for since in (None, 301):
        at = None if since is None else entries[-1].at + 30 - since
        for values in itertools.product(*FILTERS.values()):
            wanted = msgspec.convert({"since": at, **dict(zip(FILTERS, values, strict=True))}, Criteria)
            table, _ = await workspace.audit_log.page(conditions=wanted)
            file, _ = await page(local_file(workspace, tmp_path), None, 100, None, wanted)
            expected = [e.at for e in reversed(entries) if wanted.matches(e)]
            assert (
                [round(e.at, 3) for e in table] == [round(e.at, 3) for e in file] == [round(at, 3) for at in expected]
            )
            seen.add((since, len(file)))
    assert {(None, 12), (None, 0), (301, 5), (None, 4), (None, 1)} <= seen


@proof
async def test_a_filter_that_few_entries_meet_walks_in_bounded_steps(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await Workspace(eternaltwin, file=tmp_path / "audit_log.jsonl").open()
    now = await workspace.now()
    await store(eternaltwin_db, entry(1, now - 7200, reason="the first"))
    await store(eternaltwin_db, entry(0, now - 3600), 2500)
    wanted = Criteria(who="BOB")
    asked = []
    real = audit_log.statement
    monkeypatch.setattr(audit_log, "statement", lambda name: asked.append(name) or real(name))
    ((found,), cursor) = await workspace.audit_log.page(limit=2, conditions=wanted)
    assert (found.reason, cursor, len(asked)) == ("the first", None, 3)
    streamed = [each.reason async for each in workspace.audit_log.stream(None, wanted)]
    assert streamed == ["the first"]
    asked.clear()
    assert await workspace.audit_log.page(conditions=Criteria(since=now - 60)) == ((), None)
    assert len(asked) == 1, "the newest 1,000 are too old, so the others are not looked at"
    await workspace.close()


@proof
async def test_the_log_of_one_node_uses_its_index(eternaltwin_db: EternaltwinDb) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    await store(eternaltwin_db, entry(0, 0.0, results=(Result(id="x", outcome=Outcome.CHANGED),)), 5000)
    await store(eternaltwin_db, entry(1, 0.0))
    await eternaltwin_db.sql("ANALYZE unstick.audit_log")
    page = audit_log.statement("audit_log_page")
    values = {"cursor": None, "limit": 10, "ids": [NODES[1]], "query": "public", "args": "{}"}
    rows = await eternaltwin_db.connection.fetch(
        f"EXPLAIN (ANALYZE, FORMAT TEXT) {page.text}", *(values[name] for name in page.parameters)
    )
    plan = "\n".join(row[0] for row in rows)
    assert "audit_log_results_idx" in plan
    assert "Seq Scan on audit_log" not in plan


def test_a_list_names_what_was_touched(eternaltwin: str, tmp_path: Path) -> None:
    """In the text: title and id of the first node that changed, and how many others."""

    async def write() -> None:
        db = await EternaltwinDb.open(eternaltwin)
        await db.sql(audit_log.ddl())
        await store(db, entry(0, 0.0))
        untitled = (Result(id=NODES[0], outcome=Outcome.REFUSED, why="x"), Result(id=NODES[1], outcome=Outcome.CHANGED))
        await store(db, entry(1, 0.0, results=(*untitled, *untitled[:1] * 1200)))
        await db.connection.close()

    asyncio.run(write())
    _, newest, oldest = unstick("audit", dsn=eternaltwin).out.splitlines()
    assert f"SendEmail v0 {NODES[0]} +1 more" in oldest
    assert f"{NODES[1]} +1,201 more" in newest
    assert "SendEmail" not in newest


def test_an_entry_is_found_by_its_id_and_those_of_a_bulk_by_its(eternaltwin: str) -> None:
    row = RowChange(id=NODES[0], table="task", key="0", before={"status": "Blocked"}, after={"status": "Available"})
    bulk = {"arguments": {"run": {"id": "b0000000a"}}}

    async def write() -> None:
        db = await EternaltwinDb.open(eternaltwin)
        await db.sql(audit_log.ddl())
        for number, more in enumerate(({"changes": (row,)}, bulk, bulk)):
            await store(db, entry(number, 0.0, **more))
        await db.connection.close()

    asyncio.run(write())
    _, run, _ = unstick("audit", dsn=eternaltwin).out.splitlines()
    assert "b0000000a" in run
    assert "at least 2 changed" in run, "its first entry was not read"
    heading, *lines = unstick("audit", "--entries", dsn=eternaltwin).out.splitlines()
    assert heading.split()[:3] == ["time", "entry", "action"]
    assert [line.split()[1] for line in lines] == ["3", "2", "1"], "the ids that undo takes"
    page = unstick("audit", "1", "--rows", dsn=eternaltwin).out
    assert "changed task 0" in page
    assert re.search(r"status +- Blocked\n +\+ Available", page)
    assert NODES[0] in page
    assert NODES[2] in page, "the skipped nodes, too"
    assert [e["id"] for e in unstick("audit", "1", "--json", dsn=eternaltwin).json["entries"]] == ["1"]
    found = unstick("audit", "b0000000a", "--json", dsn=eternaltwin).json["entries"]
    assert [(e["id"], e["changes"]) for e in found] == [("3", []), ("2", [])]
    assert len(unstick("audit", "b0000000a", dsn=eternaltwin).out.splitlines()) == 1 + 2
    for wrong, code in (("9", 3), ("b0000000c", 3), ("no", 2), ("¹", 2)):
        refused = unstick("audit", wrong, dsn=eternaltwin)
        assert (refused.code, refused.out) == (code, "")
        assert re.search("`unstick audit -d [^`]+` lists the", refused.err)
    assert unstick("audit", "1", "--since", "1h", dsn=eternaltwin).code == 2
    assert unstick("audit", "1", "--format", "csv", dsn=eternaltwin).code == 2


def test_an_action_records_the_titles_of_its_nodes(eternaltwin_demo: str, tmp_path: Path) -> None:
    nodes = unstick("tree", "--json", dsn=eternaltwin_demo, home=tmp_path).json["nodes"]
    job = next(n for n in nodes if n["kind"] == "job" and n["phase"] not in ("done", "cancelled", "unknown"))
    done = unstick("do", "cancel", job["id"], "--reason", "x", "--yes", dsn=eternaltwin_demo, home=tmp_path)
    assert done.code == 0, done.err
    (found,) = unstick("audit", "--json", dsn=eternaltwin_demo, home=tmp_path).json["entries"]
    assert (found["results"][0]["id"], found["results"][0]["title"]) == (job["id"], job["title"])
    assert job["title"] in unstick("audit", dsn=eternaltwin_demo, home=tmp_path).out
    for words in (
        ["--target", job["id"]],
        ["--target", job["title"][:8].upper()],
        ["--outcome", "changed"],
        ["--since", "1h"],
    ):
        assert len(unstick("audit", *words, "--json", dsn=eternaltwin_demo, home=tmp_path).json["entries"]) == 1
    none = unstick("audit", "--since", "1h", "--action", "wake", dsn=eternaltwin_demo, home=tmp_path)
    assert (none.code, none.out) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        ["--since", "yesterday"],
        ["--since", "-1m"],
        ["--outcome", "chnged"],
        ["--format", "xml"],
        ["--format", "csv", "--limit", "3"],
    ],
)
def test_a_wrong_filter_is_refused(eternaltwin: str, words: list[str]) -> None:
    answer = unstick("audit", *words, dsn=eternaltwin)
    assert (answer.code, answer.out) == (2, "")


# Export


async def test_an_export_has_all_entries_and_their_rows(
    both: tuple[Workspace, list[AuditLogEntry]], eternaltwin: str
) -> None:
    _, entries = both
    text = (await _run("audit", "--format", "json", dsn=eternaltwin)).out
    shown, answer = json.loads(text), msgspec.json.decode(text, type=Entries)
    assert (shown["format"], answer.cursor, answer.place) == (1, None, "table")
    assert [round(e["at"]) for e in shown["entries"]] == [round(e.at) for e in reversed(entries)]
    rows = list(csv.DictReader(io.StringIO((await _run("audit", "--format", "csv", dsn=eternaltwin)).out)))
    assert [row["target"] for row in rows] == [r.id for e in reversed(entries) for r in e.results]
    assert {row["outcome"] for row in rows} == {"changed", "stale"}
    words = ("audit", "--who", "bob", "--format", "markdown")
    lines = (await _run(*words, dsn=eternaltwin)).out.splitlines()
    assert len(lines) == 2 + 4


async def _run(*words: str, dsn: str) -> Any:
    return await asyncio.to_thread(unstick, *words, dsn=dsn)


async def test_an_export_ends_with_its_reader(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Close the pipe after the first entry; the export then reads no further pages."""
    await eternaltwin_db.sql(audit_log.ddl())
    await store(eternaltwin_db, entry(0, 0.0), 500)
    pages, real = [], audit_log.statement

    def closing(self: Output, text: Iterable[str]) -> None:
        written = list(text)
        self.closed = any(NODES[0] in line for line in written)

    monkeypatch.setattr(audit_log, "statement", lambda name: pages.append(name) or real(name))
    monkeypatch.setattr(Output, "lines", closing)
    assert (await _run("audit", "--format", "csv", dsn=eternaltwin)).code == 0
    assert pages.count("audit_log_page") == 1


def test_hostile_text_is_only_text_in_a_spreadsheet_and_in_markdown() -> None:
    results = (Result(id=HOSTILE, outcome=Outcome.CHANGED, title=HOSTILE),)
    odd = entry(0, 0.0, role=HOSTILE, os_user="@x", reason=HOSTILE, arguments={"=1": HOSTILE}, results=results)
    (line,) = export.csv_rows(odd)
    assert "\n" not in line
    (cells,) = csv.reader(io.StringIO(line))
    (head,) = csv.reader(io.StringIO(export.csv_head()))
    assert len(cells) == len(head)
    assert not [cell for cell in cells if cell.lstrip()[:1] in tuple("=+-@|%\t")]
    assert line.count('","') == len(cells) - 1
    (row,) = export.markdown_rows(export.MARKDOWN, [odd])
    assert "\n" not in row
    bare = row.replace("\\\\", "").replace("\\|", "")
    assert bare.count("|") == len(export.MARKDOWN) + 1
    for mark in "<>*`[]":
        assert mark not in bare.replace(f"\\{mark}", "")


@proof
async def test_an_export_takes_bounded_memory(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    """Compare the peaks of 60 and of 600 large entries, of the table and of the file."""
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await Workspace(eternaltwin, file=tmp_path / "audit_log.jsonl").open()
    change = RowChange(id=NODES[0], table="task", key="x", before={"state": "x" * 100_000}, after=None)
    large = entry(0, 0.0, changes=(change,))

    async def peak(number: int) -> tuple[int, int]:
        await store(eternaltwin_db, large, number)
        for n in range(number):
            local_file(workspace, tmp_path).append(msgspec.structs.replace(large, id=f"{number}-{n}"), intended=False)
        peaks = []
        for source in (workspace.audit_log.stream(), local_file(workspace, tmp_path).entries()):
            tracemalloc.start()
            async for _ in source:
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return peaks[0], peaks[1]

    few, many = await peak(60), await peak(540)
    assert all(more < 1.3 * less + 500_000 for less, more in zip(few, many, strict=True)), (few, many)
    await workspace.close()
