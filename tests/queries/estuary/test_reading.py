"""Reads of estuary: detection, statuses, trees, counts, details, large tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from queries.contract import detect
from queries.read import details, search
from queries.read.reader import Reader
from queries.records.node import Node, Page, Phase, Precision
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb, digest
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer, both_versions

GHOST = "19:00:00:00:00:00:00:01"
SCHEMA = (Path(__file__).parents[3] / "queries" / "engines" / LABEL / "schema.sql").read_text()


# Detection


async def engines(dsn: str, tmp_path: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Return label and schema of each estuary, and the reasons of declined schemas."""
    workspace = await opened(dsn, tmp_path)
    await workspace.close()
    found = [(label, r.detected.schema) for label, r in workspace.engines.items() if r.engine.name == LABEL]
    return found, [d.why for d in workspace.declined if d.engine == LABEL]


@both_versions
async def test_it_is_recognised_as_upstream_has_it(database: str, server: PostgresServer, tmp_path: Path) -> None:
    """The domain is in public, the rest in internal; other columns are ignored."""
    types = "CREATE SEQUENCE shard_0_id_sequence; CREATE DOMAIN flowid AS macaddr8;"
    assert types.split("; ")[1].rstrip(";") in SCHEMA
    rest = SCHEMA.replace("CREATE DOMAIN flowid AS macaddr8;", "").replace(
        "ALTER DOMAIN flowid", "ALTER DOMAIN public.flowid"
    )
    server.sql("CREATE SCHEMA internal; CREATE DOMAIN public.flowid AS macaddr8;", database)
    server.sql(f"SET search_path = internal, public; {rest}; ALTER TABLE tasks ADD note text", database)
    assert await engines(database, tmp_path) == ([(LABEL, "internal")], [])
    estuary_db = await EstuaryDb.open(database, "internal, public".replace(", ", '", "'))
    workspace = await opened(database, tmp_path)
    task = await estuary_db.task(2, wake=60)
    from tests.queries.estuary.test_actions import apply

    for action, arguments in (("send", {"message": {"type": "shard_failed"}}), ("delete", {})):
        assert (await apply(workspace, action, task, **arguments))[0] == "changed"
    assert workspace.engines[LABEL].variant.notes[0].startswith("parents: random (flowid has the default")
    await workspace.close()
    await estuary_db.connection.close()


async def test_it_is_recognised_in_any_schema_and_with_any_name_for_the_domain(
    database: str, server: PostgresServer, tmp_path: Path
) -> None:
    for schema in ("one", "two"):
        server.sql(f"CREATE SCHEMA {schema}; SET search_path = {schema}; {SCHEMA.replace('flowid', 'my_id')}", database)
    server.sql("CREATE FUNCTION one.send_to_task(text) RETURNS void LANGUAGE sql AS ''", database)
    found, declined = await engines(database, tmp_path)
    assert found == [(f"{LABEL}@one", "one"), (f"{LABEL}@two", "two")]
    assert declined == []


# States


@pytest.mark.parametrize(
    ("type_", "wake", "beat", "status", "phase"),
    [
        (2, None, None, "suspended", Phase.BLOCKED),
        (2, -1, None, "ready", Phase.READY),
        (2, 60, None, "sleeping", Phase.SCHEDULED),
        (2, -400, 0, "polling", Phase.RUNNING),
        (2, -400, 220, "polling", Phase.RUNNING),
        (2, -400, 230, "lapsed", Phase.HELD),
        (2, -400, 301, "reclaimable", Phase.HELD),
        (2, None, 301, "orphaned", Phase.FAILED),
        (2, 60, 301, "orphaned", Phase.FAILED),
        (1, -400, 40, "polling", Phase.RUNNING),
        (1, -400, 50, "lapsed", Phase.HELD),
        (1, -400, 61, "reclaimable", Phase.HELD),
        (2, -400, "-infinity", "reclaimable", Phase.HELD),
        (2, "infinity", "infinity", "polling", Phase.RUNNING),
        (2, "-infinity", None, "ready", Phase.READY),
        (2, "294276-12-31 23:59:59+00", "4713-01-01 00:00:00+00 BC", "orphaned", Phase.FAILED),
    ],
)
async def test_a_status_follows_from_heartbeat_and_wake_at(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, wake: Any, beat: Any, status: str, phase: Phase
) -> None:
    task = await estuary_db.task(type_, wake=wake, beat=beat)
    r = reader(workspace, LABEL)
    node = (await r.nodes.read([estuary_db.id(task)])).nodes[0]
    assert (node.status, node.phase) == (status, phase)
    assert (node.heartbeat_at is None) == (beat is None)
    assert {(s.native, s.phase) for s in r.engine.spec.statuses} >= {(status, phase)}
    assert {c.phase: c.n for c in await r.nodes.counts()}[phase] == 1
    assert await details.read(r, estuary_db.id(task)) is not None
    await r.findings.read()


async def test_what_the_engine_does_not_record_is_empty(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    r = reader(workspace, LABEL)
    node = (
        await r.nodes.read(
            [estuary_db.id(await estuary_db.task(wake=60, inbox=[(ZERO, 1)], inbox_next=[(ZERO, 1), (ZERO, 2)]))]
        )
    ).nodes[0]
    kind = r.engine.kind("task")
    assert kind is not None
    assert [getattr(node, field) for field in kind.not_recorded] == [None] * len(kind.not_recorded)
    assert node.title == "LIVE_SPEC_CONTROLLER - 3 messages"
    assert node.due_at is not None


@both_versions
@pytest.mark.parametrize(
    ("id_", "created"),
    [
        ("16:ba:2a:e3:8c:00:04:00", 1600000000 + (0x16BA2AE38C000400 >> 23) / 1000),
        ("00:00:00:00:00:00:00:00", 1600000000.0),
        ("ff:ff:ff:ff:ff:ff:ff:ff", None),
        ("7f:00:00:00:00:00:00:00", None),
    ],
)
async def test_the_creation_time_is_in_the_id(
    estuary_db: EstuaryDb, workspace: Workspace, id_: str, created: float | None
) -> None:
    await estuary_db.task(id_=id_)
    node = (await reader(workspace, LABEL).nodes.read([estuary_db.id(id_)])).nodes[0]
    assert node.created_at == created


async def test_type_names_are_configurable(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    workspace = await opened(estuary, tmp_path, overrides={LABEL: {"names": {"2": "SPECS", "77": "MINE"}}})
    ids = [estuary_db.id(await estuary_db.task(type_)) for type_ in (1, 2, 77, 78)]
    titles = [node.title for node in (await reader(workspace, LABEL).nodes.read(ids)).nodes]
    assert titles == ["DATA_PLANE_CONTROLLER", "SPECS", "MINE", "type 78"]
    await workspace.close()


# Trees and pages


async def all_of(page: Callable[[str | None], Coroutine[Any, Any, Page]]) -> list[Node]:
    """Return every node of a list, page by page."""
    nodes: list[Node] = []
    cursor: str | None = None
    while True:
        read = await page(cursor)
        nodes += read.nodes
        cursor = read.cursor
        if cursor is None:
            return nodes


@both_versions
async def test_a_root_has_no_parent_that_exists(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """Most rows of the real engine have a random parent_id, the default of the domain."""
    r = reader(workspace, LABEL)
    random = await estuary_db.value(
        "INSERT INTO tasks (task_id, task_type) VALUES (id_generator(), 2) RETURNING task_id::text"
    )
    assert await estuary_db.value("SELECT parent_id IS NOT NULL FROM tasks")
    self_ = "16:00:00:00:00:00:00:77"
    roots = {
        random,
        await estuary_db.task(parent=None),
        await estuary_db.task(parent=ZERO),
        await estuary_db.task(parent=GHOST),
        await estuary_db.task(id_=self_, parent=self_),
    }
    top = await estuary_db.task(32767)
    middle = await estuary_db.task(32767, parent=top)
    leaves = [await estuary_db.task(32767, parent=middle) for _ in range(3)]
    found = (await r.pages.roots()).nodes
    assert {n.id for n in found} == {estuary_db.id(i) for i in (*roots, top)}
    assert [n.parent_id for n in found] == [None] * len(found)
    assert [n.id for n in (await r.pages.children(estuary_db.id(top))).nodes] == [estuary_db.id(middle)]
    below = await all_of(lambda cursor: r.pages.children(estuary_db.id(middle), cursor, 2))
    assert [n.id for n in below] == [estuary_db.id(i) for i in leaves], "oldest first"
    assert {n.parent_id for n in below} == {estuary_db.id(middle)}
    for root in roots:
        assert (await r.pages.children(estuary_db.id(root))).nodes == ()


@both_versions
async def test_pages_of_roots_go_on_over_pages_of_children(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """Roots are adjacent or far apart, with many children between them."""
    roots, kin = [], []
    for children in (0, 7, 0, 1, 23, 0):
        roots.append(await estuary_db.task(32767, parent=GHOST if children % 2 else None))
        kin.append({estuary_db.id(await estuary_db.task(32767, parent=roots[-1])) for _ in range(children)})
    newest_first = [estuary_db.id(i) for i in reversed(roots)]
    r = reader(workspace, LABEL)
    for page in (1, 2, 3, 6, 50):
        assert [n.id for n in await all_of(lambda c, page=page: r.pages.roots(c, page))] == newest_first
    for root, children in zip(roots, kin, strict=True):
        found = (await r.nodes.read([*children, estuary_db.id(root)])).nodes
        assert {n.id: n.parent_id for n in found} == {
            **dict.fromkeys(children, estuary_db.id(root)),
            estuary_db.id(root): None,
        }


@both_versions
async def test_live_tasks_are_in_the_order_in_which_they_are_due(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for wake in (None, "infinity", 70, -50, -50, "2020-01-01", "-infinity", None):
        await estuary_db.task(wake=wake)
    due = [n.due_at for n in (await reader(workspace, LABEL).pages.live()).nodes]
    timed = [d for d in due if d is not None]
    assert (timed, due[6:]) == (sorted(timed), [None, None])


@both_versions
async def test_find_takes_ids_in_any_spelling_and_types_by_name(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    one, two = "16:ba:2a:e3:8c:00:04:00", "16:ba:2b:00:00:00:00:01"
    await estuary_db.task(2, id_=one)
    await estuary_db.task(1, id_=two, wake=-5)
    await estuary_db.task(77, id_="17:00:00:00:00:00:00:01")
    r = reader(workspace, LABEL)

    async def found(text: str) -> list[str]:
        return [n.id for n in (await search.find(r, text)).nodes]

    for text in (
        one,
        "16BA2AE38C000400",
        "16ba.2ae3.8c00.0400",
        "16:ba:2a",
        f"estuary/task:{one}",
        f"task:{one}",
        " 16ba2ae ",
    ):
        assert await found(text) == [estuary_db.id(one)], text
    assert await found("16ba") == [estuary_db.id(one), estuary_db.id(two)]
    for text in ("%", "zzz'", "16ba2ae38c00040000", "type 99999999999", "\\", "ff"):
        assert await found(text) == [], text
        assert (await search.find_texts(r, text)).hits == (), text
    assert [n.id for n in (await search.find_texts(r, "data_plane")).nodes] == [estuary_db.id(two)]
    assert [n.id for n in (await search.find_texts(r, "type 77")).nodes] == [estuary_db.id("17:00:00:00:00:00:00:01")]
    assert (await found(""), (await search.find_texts(r, "")).hits) == ([], ())


# Task details


@both_versions
async def test_detail_shows_messages_with_sender_and_position(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    sender = await estuary_db.task(12)
    task = await estuary_db.task(
        32767,
        state={"Waiting": {"partial": 1, "pending": 1}},
        parent=GHOST,
        wake=-9,
        beat=2,
        inbox=[(ZERO, {"value": 1}), (sender, None), (GHOST, {"value": [1, {"a": "]"}]}), "17", None],
        inbox_next=[(sender, {"value": 2})],
    )
    detail = await details.read(reader(workspace, LABEL), estuary_db.id(task))
    assert detail is not None
    sections = {s.name: s for s in detail.sections}
    inbox = [dict(zip(sections["inbox"].columns, row, strict=True)) for row in sections["inbox"].rows]
    assert [(m["position"], m["sender"], m["from"], m["message"]) for m in inbox] == [
        ("1", ZERO, "the engine", '{"value": 1}'),
        ("2", sender, "TENANT_CONTROLLER", "EOF"),
        ("3", GHOST, "no such task", '{"value": [1, {"a": "]"}]}'),
        ("4", None, None, "17"),
        ("5", None, None, "NULL"),
    ]
    checks = [m["check"].partition(":")[0] for m in inbox]
    assert checks == ["decodable", "decodable", "unrecognised for this type", "undecodable", "undecodable"]
    assert [m["digest"] for m in inbox] == [digest(stored) for stored in (await estuary_db.row(task))["inbox"]]
    assert len(sections["inbox_next"].rows) == 1
    payload = sections["state"].payload
    assert payload is not None
    assert json.loads(payload.head) == {"Waiting": {"partial": 1, "pending": 1}}
    times = dict(zip(sections["times"].columns, sections["times"].rows[0], strict=True))
    assert times["parent"] == f"{GHOST}, which does not exist"
    assert times["shard"] == "0"


# A large table


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every table as large."""
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)


async def test_what_would_scan_a_large_table_is_offered_not_done(
    large: None, estuary_db: EstuaryDb, estuary: str, tmp_path: Path, server: PostgresServer
) -> None:
    parent = await estuary_db.task(32767, state={"Waiting": {"partial": 1, "pending": 1}})
    child = await estuary_db.task(32767, parent=parent)
    orphaned = await estuary_db.task(beat=900)
    unread = await estuary_db.task(inbox=[(ZERO, {"type": "shard_failed"})])
    workspace = await opened(estuary, tmp_path)
    r: Reader = reader(workspace, LABEL)
    page = await r.pages.children(estuary_db.id(parent))
    assert page.scan_required is not None
    assert page.scan_required.ddl.startswith("CREATE INDEX CONCURRENTLY")
    assert [n.id for n in (await r.pages.children(estuary_db.id(parent), allow_scan=True)).nodes] == [
        estuary_db.id(child)
    ]
    findings = await r.findings.read()
    assert {u.code for u in findings.skipped_findings} == {
        "owner_dead", "unread_inbox", "missing_child", "dependency_cycle",
    }  # fmt: skip
    for task, code in ((orphaned, "owner_dead"), (unread, "unread_inbox")):
        detail = await details.read(r, estuary_db.id(task))
        assert detail is not None
        assert [f.code for f in detail.findings] == [code], "checking one task is cheap"
    counts = {c.phase: c for c in await r.nodes.counts()}
    assert counts[Phase.FAILED].precision is Precision.UNKNOWN
    assert [n.id for n in (await r.pages.live()).nodes] == [], "suspended tasks have no index"
    assert len((await r.pages.roots()).nodes) == 3
    await workspace.close()

    server.sql("; ".join(n.ddl.replace("CONCURRENTLY", "") for n in r.detected.missing()), estuary)
    workspace = await opened(estuary, tmp_path)
    r = reader(workspace, LABEL)
    assert [n.id for n in (await r.pages.children(estuary_db.id(parent))).nodes] == [estuary_db.id(child)]
    assert {f.code for f in (await r.findings.read()).findings} == {"owner_dead"}
    await workspace.close()


async def test_a_delete_in_a_large_table_says_what_it_cannot_know(
    large: None, estuary_db: EstuaryDb, estuary: str, tmp_path: Path
) -> None:
    from tests.queries.estuary.test_actions import apply

    workspace = await opened(estuary, tmp_path)
    task = await estuary_db.task()
    outcome, why = await apply(workspace, "delete", task)
    assert (outcome, "childless" in why) == ("refused", True)
    assert (await apply(workspace, "delete", task, childless=True))[0] == "changed"
    await workspace.close()
