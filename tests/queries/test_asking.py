"""Suggested actions: reads say what each leads to, as its dry run does."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from queries import snapshot
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.read import details
from queries.read.incidents import LEAVES, REFUSED, cause_of
from queries.read.reader import Reader
from queries.records.action import FREEING, Outcome, Proof
from queries.records.finding import ENDS, FAILS, HELPS, IS_REFUSED, TELLS, WAITS, Finding
from tests.command import unstick
from tests.queries.builders import dry_run_of, opened
from tests.servers import PostgresServer

ENGINES = [engine.name for engine in builtin()]
NOT_YET = {  # where the dry run names what comes first: a dispatcher, another failed step of the task
    ("solid_queue", "slot_lost"), ("solid_queue", "failing"), ("tasker", "failing"),
}  # fmt: skip

KNOWN = {  # how many at least let a worker take the node, and how many end it; a function may decide the rest
    "agent_jobs": (0, 2), "estuary": (8, 2), "eternaltwin": (4, 5), "graphile_worker": (2, 3), "oban": (3, 4),
    "pgqueuer": (3, 4), "procrastinate": (4, 3), "solid_queue": (0, 4), "uni2work": (0, 4),
}  # fmt: skip


async def asked_of(engine: Reader, node_id: str, code: str) -> Finding:
    """Return a finding as the page of its node has it."""
    detail = await details.read(engine, node_id)
    assert detail is not None
    return next(each for each in detail.findings if each.code == code)


@pytest.mark.parametrize("name", ENGINES)
async def test_what_an_action_says_is_what_its_dry_run_shows(
    server: PostgresServer, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each cause: what is offered helps, and the others have their reason."""
    monkeypatch.setattr("queries.change.transaction.FREEING", {a.name for e in builtin() for a in e.spec.actions})
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = workspace.engines[name]
    causes: dict[object, list[Finding]] = {}
    for finding in (await engine.findings.read()).findings:
        causes.setdefault(cause_of(engine.findings.specs[finding.code], finding), []).append(finding)
    asked: Counter[str] = Counter()
    for one in [some[0] for some in causes.values()]:
        first = await asked_of(engine, one.node_id, one.code)
        for action, said in first.asked.items():
            offered = action == first.action
            dry = await dry_run_of(workspace, action, [first.node_id], first.arguments if offered else {}, name)
            changed = {each.id for each in dry.results if each.outcome is Outcome.CHANGED}
            about = first.code, action, said, dry.results, dry.unmet
            if said.startswith((IS_REFUSED, WAITS)):
                assert not changed, about
                assert not offered or said.startswith(WAITS), about
            elif said == ENDS:
                assert changed <= {*dry.unmet, *(row.id for row in dry.changes if row.after is None)}, about
            elif said == HELPS:
                assert changed - dry.unmet.keys(), about
            elif said != TELLS:
                failing = re.findall(r"(?:^|, )([a-z ]+) \(", said.removeprefix(FAILS))
                assert all(word in text for word in failing for text in dry.unmet.values()), about
                assert changed <= dry.unmet.keys(), about
            assert changed or said == TELLS or said.startswith((IS_REFUSED, WAITS)), about
            if offered and changed and action in FREEING and (name, first.code) not in NOT_YET:
                assert changed - dry.unmet.keys(), about
            asked[said.partition(": ")[0]] += 1
    helping, ending = KNOWN.get(name, (0, 0))
    assert asked[HELPS] >= helping, asked
    assert asked[ENDS] >= ending, asked
    await workspace.close()
    server.drop(dsn)


TAKEN = "UPDATE pgqueuer SET queue_manager_id = gen_random_uuid(), slot = 1, dedupe_key = NULL WHERE status = 'failed'"
QUEUED = "(SELECT min(id) FROM pgqueuer WHERE status = 'queued')"
TWINS = f"UPDATE pgqueuer SET dedupe_key = 'twin' WHERE status = 'failed' OR id = {QUEUED}"


def releasing(proof: Proof) -> tuple[Engine, ...]:
    """Return the engines; pgqueuer releases failed jobs, which stay failed."""

    def changed(engine: Engine) -> Engine:
        own = {"failing": {"action": "release", "instead": "", "proof": proof}}
        found = tuple(msgspec.structs.replace(f, **own.get(f.code, {})) for f in engine.spec.findings)
        return msgspec.structs.replace(engine, spec=msgspec.structs.replace(engine.spec, findings=found))

    return tuple(changed(engine) if engine.name == "pgqueuer" else engine for engine in builtin())


@pytest.mark.parametrize("proof", Proof)
async def test_an_action_that_helps_comes_before_a_declared_one_that_does_not(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proof: Proof
) -> None:
    """If none helps, the declared one is offered, not one that would end it.

    A guess offers none that runs work again.
    """
    engines = releasing(proof)
    monkeypatch.setattr("queries.workspace.builtin", lambda: engines)
    dsn = server.fresh("pgqueuer", filled=True)
    server.sql("UPDATE pgqueuer SET dedupe_key = NULL", dsn)
    server.sql(f"DELETE FROM pgqueuer WHERE status = 'failed' AND id <> {QUEUED.replace('queued', 'failed')}", dsn)
    server.sql(TAKEN, dsn)
    workspace = await opened(dsn, tmp_path)
    reader = workspace.engines["pgqueuer"]

    async def listed() -> Finding:
        (one,) = (f for f in (await reader.findings.read()).findings if f.code == "failing")
        return one

    best, why = "retry", "release does not help: would still fail: free (failed)"
    if proof is Proof.ASSUMED:
        best, why = "release", ""
    failed = await listed()
    assert (failed.action, failed.asked) == (best, {})  # a list does not name the others
    assert failed.evidence.get(REFUSED, "") == why
    failed = await asked_of(reader, failed.node_id, "failing")
    assert (failed.action, failed.asked["retry"], failed.evidence.get(REFUSED, "")) == (best, HELPS, why)
    server.sql(TWINS, dsn)
    alone, failed = await listed(), await asked_of(reader, failed.node_id, "failing")
    for each in (alone, failed):
        assert each.action == "release"
        assert each.evidence[LEAVES] == "after release no worker would take it: free (failed)"
        (incident,) = snapshot.incidents(workspace, [each])
        said = "No action is known to help alone: after release no worker would take it: free (failed)."
        assert (incident.action, incident.sentence.endswith(said)) == ("release", True)
    assert failed.asked["release"] == f"{FAILS}free (failed)"
    assert failed.asked["retry"].startswith(IS_REFUSED)
    assert failed.asked["delete"] == ENDS
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize(("name", "last", "ends"), [
    ("graphile_worker", "UPDATE _private_jobs SET attempts = max_attempts WHERE locked_at IS NOT NULL", "mark_failed"),
    ("oban", "UPDATE oban_jobs SET attempt = max_attempts WHERE state = 'executing'", "cancel"),
])  # fmt: skip
async def test_a_job_without_attempts_is_not_run_once_more(
    server: PostgresServer, tmp_path: Path, name: str, last: str, ends: str
) -> None:
    dsn = server.fresh(name, filled=True)
    server.sql(last, dsn)
    workspace = await opened(dsn, tmp_path)
    reader = workspace.engines[name]
    dead = [f for f in (await reader.findings.read()).findings if f.code == "owner_dead"]
    assert {f.action for f in dead} == {ends}
    one = await asked_of(reader, dead[0].node_id, "owner_dead")
    assert (one.action, one.asked["release"].partition(" of ")[0]) == (ends, f"{IS_REFUSED}this was the last")
    await workspace.close()
    server.drop(dsn)


def test_the_others_are_listed_with_their_reason(server: PostgresServer) -> None:
    dsn = server.fresh("oban", filled=True)
    incidents = unstick("stuck", "--json", dsn=dsn).json["incidents"]
    dead = next(i for i in incidents if i["action"] == "cancel")
    node = dead["findings"][0]["node_id"]
    said = unstick("show", node, "--json", dsn=dsn).json["findings"][0]["asked"]
    assert said["cancel"] == ENDS
    shown = unstick("show", node, dsn=dsn).out
    assert f"possible actions: release: {said['release']}; cancel: would end it" in " ".join(shown.split())
    server.drop(dsn)


async def test_a_dry_run_takes_what_is_due_now_for_due(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("pgqueuer", filled=True)
    server.sql("UPDATE pgqueuer SET execute_after = now() + interval '1 h' WHERE status = 'queued'", dsn)
    workspace = await opened(dsn, tmp_path)
    dry = await dry_run_of(workspace, "wake", ["pgqueuer/job:4"], {}, "pgqueuer")
    assert [each.outcome for each in dry.results] == [Outcome.CHANGED]
    assert dry.unmet == {}
    await workspace.close()
    server.drop(dsn)
