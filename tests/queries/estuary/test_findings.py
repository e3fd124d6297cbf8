"""Findings of estuary: rows with each finding, and similar rows without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from queries.read import details, samples
from queries.records.detail import DRAWN
from queries.records.finding import Finding
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.builders import opened, reader
from tests.servers import both_versions

SHARD = {"type": "shard_failed"}
GOOD = (ZERO, SHARD)
GHOST = "19:00:00:00:00:00:00:01"
WAITING = {"Waiting": {"partial": 1, "pending": 1}}
COUNTS = {"messages_processed": 1, "total_failures": 0, "total_successes": 1}

# finding, columns of a row with it
POSITIVE: list[tuple[str, dict[str, Any]]] = [
    ("not_served", {"type_": 5, "wake": -16}),
    ("not_served", {"type_": 1, "wake": -31}),
    ("undecodable_message", {"wake": -9, "inbox": ['"text"']}),
    ("undecodable_message", {"wake": -9, "beat": 5, "inbox": [GOOD, '{"type": "shard_failed"}']}),
    ("undecodable_message", {"wake": -9, "inbox": [f'["{ZERO}"]']}),
    ("undecodable_message", {"wake": -9, "inbox": ['["me", {"type": "shard_failed"}]']}),
    ("undecodable_message", {"wake": -9, "inbox": ["[null, 1]"]}),
    ("undecodable_message", {"wake": -9, "inbox": [None]}),
    ("undecodable_message", {"wake": -9, "beat": 226, "inbox": [(ZERO, {"type": "no such"})]}),
    ("undecodable_message", {"wake": -900, "beat": 301, "inbox": [GOOD, (ZERO, {"type": "no such"})]}),
    ("undecodable_message", {"type_": 10, "wake": -9, "beat": 226, "inbox": [(ZERO, "resume")]}),
    ("undecodable_message", {"wake": -9, "inbox": [(5, SHARD)]}),
    ("undecodable_message", {"wake": -9, "inbox": [("16-ba-2a-e3-8c-00-04-00", SHARD)]}),
    ("unrecognised_message", {"wake": -9, "inbox": [(ZERO, {"type": "no such"})]}),
    ("unrecognised_message", {"wake": -9, "beat": 5, "inbox": [GOOD, (ZERO, {"type": "no such"})]}),
    ("unrecognised_message", {"type_": 10, "wake": -9, "inbox": [(ZERO, "resume")]}),
    ("undecodable_message", {"type_": 99, "wake": -9, "inbox": ["7"]}),
    ("owner_dead", {"wake": None, "beat": 301}),
    ("owner_dead", {"wake": 900, "beat": 301}),
    ("abandoned", {"wake": -900, "beat": 601}),
    ("abandoned", {"type_": 1, "wake": -900, "beat": 121}),
    ("unread_inbox", {"wake": None, "inbox": [GOOD]}),
    ("infinite_heartbeat", {"wake": -1, "beat": "-infinity"}),
    ("infinite_heartbeat", {"wake": None, "beat": "-infinity"}),
    ("future_heartbeat", {"wake": -1, "beat": "2090-01-01"}),
    ("future_heartbeat", {"wake": 60, "beat": "infinity"}),
    ("missing_child", {"type_": 32767, "state": WAITING}),
    ("stray_messages", {"wake": -1, "inbox_next": [GOOD]}),
    ("stray_messages", {"wake": None, "inbox_next": [GOOD]}),
    ("large_inbox", {"wake": -900, "beat": 226, "inbox": [GOOD] * 50, "inbox_next": [GOOD] * 51}),
    ("overdue_and_still_locked", {"wake": -901, "beat": 5}),
    ("overdue_and_still_locked", {"wake": -901, "beat": 299}),
    ("overdue_and_still_locked", {"type_": 1, "wake": -181, "beat": 5}),
    ("missing_parent", {"type_": 32767, "parent": GHOST, "wake": 60}),
]

# finding, columns of a row without it
NEGATIVE: list[tuple[str, dict[str, Any]]] = [
    ("not_served", {"type_": 5, "wake": -10}),
    ("not_served", {"type_": 1, "wake": -25}),
    ("not_served", {"type_": 5, "wake": None}),
    ("undecodable_message", {"wake": -9, "inbox": [GOOD, (ZERO, {"type": "republish", "reason": "x"})]}),
    ("undecodable_message", {"wake": -9, "inbox": []}),
    ("undecodable_message", {"wake": -9, "beat": 220, "inbox": [(ZERO, {"type": "no such"})]}),
    ("undecodable_message", {"wake": -900, "beat": 301, "inbox": [(ZERO, None)]}),
    ("undecodable_message", {"wake": -9, "inbox": [("16ba2ae38c000400", SHARD)]}),
    ("unrecognised_message", {"wake": -9, "beat": 226, "inbox": [(ZERO, {"type": "no such"})]}),
    ("unrecognised_message", {"wake": -9, "inbox": [GOOD, (ZERO, None)]}),
    ("unrecognised_message", {"type_": 99, "wake": -9, "inbox": [(ZERO, {"any": "thing"})]}),
    ("undecodable_message", {"type_": 32767, "wake": -9, "inbox": [(ZERO, None), (GHOST, {"value": 2})]}),
    ("undecodable_message", {"type_": 99, "wake": -9, "inbox": [(ZERO, {"any": "thing"})]}),
    ("owner_dead", {"wake": -1, "beat": 301}),
    ("owner_dead", {"wake": None, "beat": 295}),
    ("owner_dead", {"wake": None}),
    ("abandoned", {"wake": -900, "beat": 595}),
    ("abandoned", {"wake": -900}),
    ("unread_inbox", {"wake": None, "inbox": []}),
    ("unread_inbox", {"wake": 60, "inbox": [GOOD]}),
    ("infinite_heartbeat", {"wake": -1}),
    ("future_heartbeat", {"wake": -1, "beat": 0}),
    ("missing_child", {"type_": 2, "state": COUNTS}),
    ("missing_child", {"type_": 32767, "state": WAITING, "inbox": [(ZERO, None)], "wake": -1}),
    ("missing_child", {"type_": 32767, "state": '"Finished"'}),
    ("missing_child", {"type_": 32767}),
    ("stray_messages", {"wake": -1, "beat": 5, "inbox_next": [GOOD]}),
    ("stray_messages", {"wake": -1, "inbox_next": []}),
    ("large_inbox", {"wake": -900, "beat": 226, "inbox": [GOOD] * 50, "inbox_next": [GOOD] * 50}),
    ("large_inbox", {"wake": -900, "beat": 5, "inbox": [GOOD] * 101}),
    ("overdue_and_still_locked", {"wake": -895, "beat": 5}),
    ("overdue_and_still_locked", {"wake": -901}),
    ("overdue_and_still_locked", {"wake": -9000, "beat": 700}),
    ("missing_parent", {"type_": 2, "parent": GHOST, "wake": -1}),
    ("missing_parent", {"type_": 32767, "parent": ZERO, "wake": -1}),
    ("missing_parent", {"type_": 32767, "parent": None, "wake": -1}),
]


@both_versions
async def test_each_finding_is_found_at_the_rows_that_have_it(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    expected = {
        (code, estuary_db.id(await estuary_db.task(**columns))) for code, columns in POSITIVE if code != "not_served"
    }
    found = (await reader(workspace, LABEL).findings.read()).findings
    assert {(f.code, f.node_id) for f in found} >= expected
    assert {f.code for f in found} - {"not_served"} == {code for code, _ in expected}
    for finding in found:
        assert "?" not in finding.sentence, finding.sentence
    one = (await reader(workspace, LABEL).findings.read([i for _, i in expected])).findings
    assert {(f.code, f.node_id) for f in one} >= expected, "the same for given ids"


@pytest.mark.parametrize(("code", "columns"), [c for c in POSITIVE if c[0] == "not_served"])
async def test_a_type_without_executor_is_reported_once(
    estuary_db: EstuaryDb, workspace: Workspace, code: str, columns: Any
) -> None:
    first = await estuary_db.task(**{**columns, "wake": columns["wake"] - 100})
    second = await estuary_db.task(**columns)
    await estuary_db.task(2, wake=-5, beat=1)  # another type's process is at work
    r = reader(workspace, LABEL)
    found = [f for f in (await r.findings.read()).findings if f.code == code]
    assert [f.node_id for f in found] == [estuary_db.id(first)]
    assert found[0].evidence["waiting"] == 2
    assert [f.code for f in (await r.findings.read([estuary_db.id(second)])).findings] == [code]
    await estuary_db.task(columns["type_"], wake=-900, beat=20)
    assert not [f for f in (await r.findings.read()).findings if f.code == code], "one of the type is being polled"


@both_versions
async def test_no_finding_at_rows_that_have_it_not(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    beside = [(code, estuary_db.id(await estuary_db.task(**columns))) for code, columns in NEGATIVE]
    found = {(f.code, f.node_id) for f in (await reader(workspace, LABEL).findings.read()).findings}
    assert found.isdisjoint(beside)
    await estuary_db.sql("DELETE FROM tasks")


async def test_a_task_with_children_or_a_live_parent_is_not_alone(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    parent = await estuary_db.task(32767, state=WAITING)
    await estuary_db.task(32767, parent=parent, wake=60)
    assert (await reader(workspace, LABEL).findings.read()).findings == ()


async def test_thresholds_and_types_are_the_operators(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    mine: dict[str, object] = {
        "2": {"heartbeat_timeout": 10.0, "large_inbox": 1.0},
        "names": {"2": "SPECS"},
        "pending": {"77": "strict $.children > 0"},
        "yields": "77",
    }
    workspace = await opened(estuary, tmp_path, overrides={LABEL: mine})
    dead = await estuary_db.task(2, wake=-900, beat=21)
    expected = {
        ("abandoned", dead),
        ("not_served", dead),
        ("large_inbox", await estuary_db.task(2, wake=-9, beat=8, inbox=[GOOD, GOOD])),
        ("missing_child", await estuary_db.task(77, state={"children": 1})),
        ("missing_parent", await estuary_db.task(77, parent=GHOST)),
    }
    found = (await reader(workspace, LABEL).findings.read()).findings
    assert {(f.code, f.node_id) for f in found} == {(code, estuary_db.id(task)) for code, task in expected}
    await workspace.close()


@both_versions
async def test_findings_survive_any_json(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """json accepts what jsonb rejects: escaped NULs, lone surrogates, huge numbers."""
    odd = [
        r'["00:00:00:00:00:00:00:00", {"type": "shard_failed", "x": "\u0000"}]',
        r'["00:00:00:00:00:00:00:00", {"type": "shard_failed", "x": "\ud800 \\u0000 \\\\ \""}]',
        '["00:00:00:00:00:00:00:00", {"type": "shard_failed", "x": 1e999999}]',
        f'["00:00:00:00:00:00:00:00", {{"type": "shard_failed", "x": {"9" * 90_000}}}]',
        r'["\u0000", 1]',
        r'"\u0000"',
    ]
    good = [estuary_db.id(await estuary_db.task(wake=-1, inbox=[text], state=text)) for text in odd[:4]]
    bad = [estuary_db.id(await estuary_db.task(wake=-1, inbox=[text])) for text in odd[4:]]
    waiting = await estuary_db.task(32767, state=r'{"Waiting": {"pending": 1, "x": "\u0000", "y": 1e99999}}')
    r = reader(workspace, LABEL)
    found = (await r.findings.read()).findings
    assert {f.node_id for f in found if f.code == "undecodable_message"} == set(bad)
    assert {f.node_id for f in found if f.code == "missing_child"} == {estuary_db.id(waiting)}
    for node_id in (*good, *bad, estuary_db.id(waiting)):
        assert await details.read(r, node_id) is not None


# Findings of several samples


async def looks(workspace: Workspace) -> tuple[Finding, ...]:
    r = reader(workspace, LABEL)
    await r.samples.take()
    return r.findings.sampled()


async def retried(estuary_db: EstuaryDb, task: str, step: float) -> None:
    """Move the heartbeat forward by some seconds, as a retry does."""
    await estuary_db.sql(
        "UPDATE tasks SET heartbeat = heartbeat + make_interval(secs => $2) WHERE task_id = $1::text::macaddr8",
        *(task, float(step)),
    )


@both_versions
@pytest.mark.parametrize(("type_", "step"), [(2, 303), (1, 62)])
async def test_a_crash_loop_is_found_by_heartbeat_steps(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, step: float
) -> None:
    task = await estuary_db.task(type_, wake=-9000, beat=5000, state=COUNTS)
    assert await looks(workspace) == ()
    for _ in range(2):
        assert await looks(workspace) == ()
        await retried(estuary_db, task, step)
    (finding,) = await looks(workspace)
    assert (finding.code, finding.node_id) == ("crash_loop", estuary_db.id(task))
    assert finding.evidence["changes"] == 2
    assert finding.evidence["timeline"].startswith(finding.evidence["first"])
    assert len(finding.evidence["timeline"].split()) == 2
    for _ in range(2):
        await retried(estuary_db, task, step)
        (finding,) = await looks(workspace)
    assert finding.evidence["changes"] == 4
    cut, *times = finding.evidence["timeline"].split()
    assert (cut, len(times)) == ("…", samples.TIMES_IN_SENTENCE)
    detail = await details.read(reader(workspace, LABEL), estuary_db.id(task))
    assert detail is not None
    assert "crash_loop" in detail.node.findings
    (section,) = [s for s in detail.sections if s.name == "held"]
    (seen,) = [s for s in detail.sections if s.drawn == "timeline"]
    drawn = [dict(zip(seen.columns, row, strict=True)) for row in seen.rows]
    assert set(seen.columns) == DRAWN["timeline"]
    assert [(r["lane"], r["state"]) for r in drawn] == [("crash loop", f"no. {n}") for n in (4, 3, 2, 1)]
    assert [samples.clock(r["at"]) for r in drawn][: samples.TIMES_IN_SENTENCE] == times[::-1]
    steps = [row[section.columns.index("step")] for row in section.rows]
    assert steps == [f"+{step:.1f}"] * 4 + [""], "newest first"


@pytest.mark.parametrize(("many", "least"), [(3, ""), (6_000, "At least ")])
async def test_a_new_crash_loop_is_found_whatever_is_locked_for_long(
    estuary_db: EstuaryDb, workspace: Workspace, many: int, least: str
) -> None:
    await estuary_db.sql(
        "INSERT INTO tasks (task_id, task_type, wake_at, heartbeat) SELECT lpad(to_hex(n), 16, '0')::macaddr8, 2,"
        f" now() - make_interval(secs => 90000 + n), now() FROM generate_series(1, {many}) AS n"
    )
    task = await estuary_db.task(2, wake=-9000, beat=5000, state=COUNTS)
    for _ in range(2):
        assert await looks(workspace) == ()
        await retried(estuary_db, task, 303)
    (finding,) = await looks(workspace)
    assert (finding.code, finding.node_id, finding.evidence["least"]) == ("crash_loop", estuary_db.id(task), least)


@pytest.mark.parametrize(("type_", "step"), [(2, 150), (1, 30), (2, 225)])
async def test_a_long_poll_is_no_crash_loop(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, step: float
) -> None:
    task = await estuary_db.task(type_, wake=-9000, beat=5000)
    for _ in range(8):
        assert await looks(workspace) == ()
        await retried(estuary_db, task, step)


async def coded(workspace: Workspace, code: str) -> list[Finding]:
    return [each for each in (await reader(workspace, LABEL).findings.read()).findings if each.code == code]


@pytest.mark.parametrize(("type_", "step", "left"), [(2, 150, 0), (1, 30, 0), (2, 303, 1), (1, 61, 1)])
async def test_a_renewed_heartbeat_is_a_long_poll(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, step: float, left: int
) -> None:
    """A failed poll is taken again only after the timeout."""
    task = await estuary_db.task(type_, wake=-25_200, beat=40, state=COUNTS)
    other = await estuary_db.task(type_, wake=-25_200, beat=40)
    await retried(estuary_db, task, -step)
    code = "overdue_and_still_locked"
    await looks(workspace)
    assert len(await coded(workspace, code)) == 2
    await retried(estuary_db, task, step)
    await estuary_db.sql("UPDATE tasks SET heartbeat = least(heartbeat, now())")
    await looks(workspace)
    assert {f.node_id for f in await coded(workspace, code)} >= {estuary_db.id(other)}
    assert len(await coded(workspace, code)) == 1 + left
    detail = await details.read(reader(workspace, LABEL), estuary_db.id(task))
    assert detail is not None
    assert (code in detail.node.findings) == bool(left)
    await estuary_db.sql("UPDATE tasks SET inner_state = '{\"n\": 7}' WHERE task_id = $1::text::macaddr8", task)
    await looks(workspace)
    assert len(await coded(workspace, code)) == 2, "another poll"


async def test_a_renewed_poll_of_hours_is_a_long_poll(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """A change of a data plane may take longer than other polls."""
    task = await estuary_db.task(2, wake=-25_200, beat=200, state=COUNTS)
    plane = await estuary_db.task(1, wake=-9_000, beat=40, state=COUNTS)
    await looks(workspace)
    assert await coded(workspace, "long_poll") == []
    for each, step in ((task, 150), (plane, 30)):
        await retried(estuary_db, each, step)
    await looks(workspace)
    (finding,) = await coded(workspace, "long_poll")
    assert (finding.node_id, finding.severity, finding.action) == (estuary_db.id(task), 6, None)
    assert "It is the only locked task of its type" in finding.sentence
    assert await coded(workspace, "overdue_and_still_locked") == []


async def test_a_poll_that_is_unusual_for_its_type_is_graver(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """A task is compared with others of its type that are polled."""
    late = [await estuary_db.task(2, wake=-wake, beat=40) for wake in (2_000, 1_000)]
    alone = await estuary_db.task(3, wake=-2_000, beat=40)
    hours = await estuary_db.task(4, wake=-4_000, beat=40)
    for _ in range(3):
        await estuary_db.task(2, wake=-120, beat=40)
    found = {f.node_id: f.severity for f in await coded(workspace, "overdue_and_still_locked")}
    assert found == {
        estuary_db.id(late[0]): 6,
        estuary_db.id(late[1]): 3,
        estuary_db.id(alone): 3,
        estuary_db.id(hours): 4,
    }


async def test_what_got_on_is_no_crash_loop(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-9000, beat=5000)
    for n in range(6):
        assert await looks(workspace) == ()
        await retried(estuary_db, task, 303)
        change = (
            "inner_state = json_build_object('n', $2::int)"
            if n % 2
            else "wake_at = now() - make_interval(secs => $2::int)"
        )
        await estuary_db.sql(f"UPDATE tasks SET {change} WHERE task_id = $1::text::macaddr8", task, n)


@both_versions
async def test_a_hot_loop_has_a_threshold_by_type(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    overrides = {LABEL: {"hot_loop": 0.0, "7": {"hot_loop_polls": 2}}}
    workspace = await opened(estuary, tmp_path, overrides=overrides)
    touchy, _ = [await estuary_db.task(type_, wake=-9, state={"n": 0}) for type_ in (7, 2)]
    for _ in range(2):
        assert await looks(workspace) == ()
        await estuary_db.sql("UPDATE tasks SET wake_at = wake_at + interval '1 ms'")
    assert [(f.code, f.node_id) for f in await looks(workspace)] == [("hot_loop", estuary_db.id(touchy))]
    await workspace.close()


async def test_heartbeats_that_are_none_are_not_sampled(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for beat in ("-infinity", "infinity"):
        await estuary_db.task(wake=-900, beat=beat)
    for _ in range(3):
        assert await looks(workspace) == ()


@both_versions
async def test_a_hot_loop_is_found_by_a_changing_state(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    workspace = await opened(estuary, tmp_path, overrides={LABEL: {"hot_loop": 0.0}})
    hot, calm = await estuary_db.task(wake=-1, state={"n": 0}), await estuary_db.task(wake=-1, state={"n": 0})
    for n in range(6):
        assert await looks(workspace) == ()
        await estuary_db.sql(
            "UPDATE tasks SET inner_state = json_build_object('n', $2::int), wake_at = now()"
            " WHERE task_id = $1::text::macaddr8", hot, n + 1,
        )  # fmt: skip
        if n == 4:
            break
    (finding,) = await looks(workspace)
    assert (finding.code, finding.node_id) == ("hot_loop", estuary_db.id(hot))
    assert finding.evidence["changes"] == 5
    assert calm
    await estuary_db.sql("UPDATE tasks SET wake_at = now() + interval '1 minute'")
    await looks(workspace)  # one sample may lack a node
    assert await looks(workspace) == (), "it has come to rest"
    await workspace.close()
