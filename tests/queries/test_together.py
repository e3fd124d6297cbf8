"""A database with every engine: labels, ranking of findings, and full ids."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from queries.read import details
from queries.read.reader import Reader
from queries.records.node import Node, split_id
from queries.workspace import Workspace
from tests.command import fetch, unstick
from tests.queries.builders import opened
from tests.simulators.every import ENGINES

NAMES = sorted(engine.name for engine in ENGINES)
SELDOM = {"user", "queue", "runner"}  # kinds that a tree or a finding shows in some circumstances only


@pytest.fixture
async def workspace(every_engine: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(every_engine, tmp_path)
    yield workspace
    await workspace.close()


async def walked(reader: Reader) -> list[Node]:
    """Return nodes of every kind: roots, children, unfinished, dead and stuck ones."""
    nodes = list((await reader.pages.roots(limit=30)).nodes)
    for node in nodes:  # grows meanwhile
        if node.kind in reader.engine.spec.parents and len(nodes) < 300:
            below = (await reader.pages.children(node.id, limit=5, allow_scan=True)).nodes
            nodes += [n for n in below if n.id not in {m.id for m in nodes}]
    nodes += (await reader.pages.live(limit=50)).nodes
    nodes += [dead_letter.node for dead_letter in (await reader.pages.dead(limit=20)).dead_letters]
    nodes += (await reader.nodes.read(f.node_id for f in (await reader.findings.read()).findings)).nodes
    return list({n.id: n for n in nodes}.values())


# All at once


def test_engines_names_them_all(every_engine: str) -> None:
    answer = unstick("engines", "--json", dsn=every_engine)
    assert sorted(s["label"] for s in answer.json["engines"]) == NAMES
    text = unstick("engines", dsn=every_engine).out
    assert all(f"{name}" in text for name in NAMES)


def test_stuck_ranks_the_findings_of_all_together(every_engine: str) -> None:
    answer = unstick("stuck", "--json", "--limit", "100000", dsn=every_engine)
    found = answer.findings
    assert sorted({f["engine"] for f in found}) == NAMES
    incidents = answer.json["incidents"]
    order = [-i["severity"] for i in incidents]
    assert order == sorted(order)
    mixed = [i["engine"] for i in incidents if i["severity"] == 7]
    assert len(set(mixed)) > 2, "one severity, several engines"
    assert all(f["node_id"].startswith(f"{f['engine']}/") for f in found)


@pytest.mark.parametrize("name", NAMES)
def test_the_tree_of_each_can_be_asked_for(every_engine: str, name: str) -> None:
    page = unstick("tree", "--engine", name, "--json", dsn=every_engine).json
    assert page["nodes"]
    assert {n["engine"] for n in page["nodes"]} == {name}
    stuck = unstick("stuck", "--engine", name, "--json", dsn=every_engine)
    assert {f["engine"] for f in stuck.findings} == {name}


def test_the_tree_of_all_can_be_asked_for(every_engine: str) -> None:
    assert {n["engine"] for n in unstick("tree", "--json", dsn=every_engine).json["nodes"]} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_ids_are_full_everywhere(workspace: Workspace, name: str) -> None:
    reader = workspace.engines[name]
    nodes = await walked(reader)
    assert {n.kind for n in nodes} >= {k.name for k in reader.engine.spec.kinds} - SELDOM
    ids = [i for n in nodes for i in (n.id, n.parent_id, n.job_id) if i is not None]
    ids += [f.node_id for f in (await reader.findings.read()).findings]
    for id_ in ids:
        label, kind, key = split_id(id_)
        assert (label, bool(key)) == (name, True)
        assert reader.engine.kind(kind), id_
        assert workspace.reader(id_) is reader
    again = (await reader.nodes.read(n.id for n in nodes)).nodes
    assert [n.id for n in again] == [n.id for n in nodes], "each id finds its node"


def test_each_shows_what_its_findings_name(every_engine: str) -> None:
    """Run ``show`` for a finding of each engine, and dry-run its suggested action."""
    found = unstick("stuck", "--json", "--limit", "100000", dsn=every_engine).findings
    for name in NAMES:
        finding = next(f for f in found if f["engine"] == name and f["action"])
        detail = unstick("show", finding["node_id"], "--json", dsn=every_engine)
        assert detail.json["node"]["id"] == finding["node_id"]
        assert finding["code"] in detail.json["node"]["findings"]
        text = unstick("show", finding["node_id"], dsn=every_engine).out
        assert f"unstick do {finding['action']} {finding['node_id']}" in text


def test_the_desk_has_a_part_for_each_with_what_a_dead_letter_is_there(every_engine: str) -> None:
    answer = unstick("dead", "--json", dsn=every_engine)
    assert answer.code == 0
    parts = {part["engine"]: part for part in answer.json["dead"]}
    assert sorted(parts) == NAMES
    assert all(part["meaning"] and not part["unreadable"] and not part["scan_required"] for part in parts.values())
    assert {name for name in NAMES if not parts[name]["dead_letters"]} == {"eternaltwin"}
    assert parts["eternaltwin"]["meaning"].startswith("none: ")
    for name, part in parts.items():
        assert sum(group["n"] for group in part["groups"]) == len(part["dead_letters"])
        assert all(dead_letter["node"]["id"].startswith(f"{name}/") for dead_letter in part["dead_letters"])
    text = unstick("dead", dsn=every_engine).out
    assert [line.split("  ")[0] for line in text.splitlines() if not line.startswith(" ")] == NAMES


# Other spellings of a key


def spelled(node: Node) -> list[str]:
    """Return other spellings of the id that the key's type may treat as equal."""
    label, kind, key = split_id(node.id)
    zeros = f"{key[: len(key) - len(key.split('/')[-1])]}000{key.split('/')[-1]}"
    return [i for i in (f"{label}/{kind}:{key.upper()}", f"{label}/{kind}:{zeros}") if i != node.id]


@pytest.mark.parametrize("name", NAMES)
async def test_a_key_in_capitals_is_the_same_node_or_none(workspace: Workspace, name: str) -> None:
    reader = workspace.engines[name]
    by_kind = {n.kind: n for n in await walked(reader)}
    for node in by_kind.values():
        for other in spelled(node):
            for asked in ([other], [other, node.id], [node.id, other]):
                read = (await reader.nodes.read(asked)).nodes
                assert [n.id for n in read] in ([node.id], []), (asked, read)
                assert read or node.id not in asked
            alone = (await reader.nodes.read([other])).nodes
            detail = await details.read(reader, other)
            assert (detail is not None) == bool(alone)
            assert detail is None or detail.node.id == node.id


@pytest.mark.parametrize(("name", "kind"), [("agent_jobs", "agent"), ("agent_jobs", "job"), ("estuary", "task"),
                                            ("eternaltwin", "job"), ("eternaltwin", "task"), ("tasker", "step"),
                                            ("tasker", "task"), ("uni2work", "cron"), ("uni2work", "job")])  # fmt: skip
async def test_other_spellings_are_found(workspace: Workspace, name: str, kind: str) -> None:
    node = next(n for n in await walked(workspace.engines[name]) if n.kind == kind and spelled(n))
    read = [(await workspace.engines[name].nodes.read([other])).nodes for other in spelled(node)]
    assert [n.id for nodes in read for n in nodes] == [node.id]


def test_a_typed_id_in_capitals_is_shown_and_acted_on(every_engine: str) -> None:
    (task,) = fetch(every_engine, "SELECT task_id::text FROM eternaltwin.task WHERE status = 'Available' LIMIT 1")[0]
    node, typed = f"eternaltwin/task:{task}", f"eternaltwin/task:{task.upper()}"
    assert unstick("show", typed, "--json", dsn=every_engine).json["node"]["id"] == node
    answer = unstick("do", "cancel", typed, "--dry-run", "--json", "--reason", "x", dsn=every_engine)
    assert [(r["id"], r["outcome"]) for r in answer.json["results"]] == [(node, "changed")]
    ghost = "eternaltwin/task:FFFFFFFF-0000-4000-8000-00000000000F"
    answer = unstick("do", "cancel", typed, node, ghost, "--dry-run", "--json", "--reason", "x", dsn=every_engine)
    assert {r["id"]: r["outcome"] for r in answer.json["results"]} == {node: "changed", ghost: "gone"}
