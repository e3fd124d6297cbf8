"""The executors of agent_jobs follow their protocols; actions do not break them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import asyncpg

from queries.change import loop, perform
from queries.change.plan import plan_versions
from queries.log import audit_log
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.agent_jobs import ANNA, BERT, LABEL, AgentJobsDb
from tests.proof import proof
from tests.queries.builders import OPERATOR, do, opened, outcomes_of
from tests.servers import both_versions
from tests.simulators.agent_jobs.executor import Claim, Poller, RedisQueue

CHANGED = Outcome.CHANGED


# The mirror


@both_versions
async def test_a_live_job_overwrites_what_an_operator_marked(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    bull, agent = RedisQueue(agent_jobs_db.connection), await agent_jobs_db.agent()
    await bull.add(agent, ANNA)
    await bull.tick()
    job = await agent_jobs_db.value("SELECT id FROM jobs")
    assert outcomes_of(await do(mirror, "mark_failed", [agent_jobs_db.id(job)], {}, LABEL)) == {
        agent_jobs_db.id(job): CHANGED
    }
    await bull.tick()
    row = await agent_jobs_db.row(job)
    assert (row["status"], bull.swallowed) == ("completed", 0)
    (finding,) = [f for f in (await mirror.engines[LABEL].findings.read()).findings if f.code == "inconsistent"]
    assert "operator" in finding.sentence


@proof
async def test_actions_rain_on_the_mirror(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.sql(audit_log.ddl())
    rng = Random(5)
    bull, agents = RedisQueue(agent_jobs_db.connection), [await agent_jobs_db.agent() for _ in range(3)]
    workspace = await opened(agent_jobs_db.dsn, tmp_path)
    tally: dict[tuple[str, Outcome], int] = {}
    for step in range(250):
        if step % 2 == 0:
            await bull.add(
                rng.choice(agents),
                rng.choice((ANNA, BERT)),
                error="boom" if rng.random() < 0.2 else None,
                stalls=rng.random() < 0.1,
            )
        await asyncio.gather(bull.tick(), press(workspace, rng, tally))
    while await bull.tick():
        pass
    assert bull.swallowed == 0, "no action makes a worker's UPDATE fail"
    rows = await agent_jobs_db.connection.fetch("SELECT * FROM jobs")
    assert {r["status"] for r in rows} <= {"pending", "completed", "failed"}
    assert all((r["completed_at"] is None) == (r["status"] == "pending") for r in rows)
    assert all(r["started_at"] is None for r in rows)
    assert {action for action, outcome in tally if outcome == CHANGED} == {"mark_failed", "delete"}, tally
    await workspace.close()


# The table


@proof
async def test_actions_rain_on_the_table(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    await agent_jobs_db.sql(audit_log.ddl())
    rng = Random(3)
    connections = [await asyncpg.connect(agent_jobs_db.dsn) for _ in range(2)]
    pollers = [Poller(c) for c in connections]

    async def add(n: int) -> None:
        if n % 10 == 0:
            await agent_jobs_db.job("active", age=9000, started=8000)  # of a dead executor
        await agent_jobs_db.job("delayed" if n % 5 == 0 else "pending", age=400 - n, user=rng.choice((ANNA, BERT)))

    for n in range(60):
        await add(n)
    workspace = await opened(agent_jobs_db.dsn, tmp_path, overrides={LABEL: {"profile": "table"}})
    going = True

    async def run(poller: Poller) -> None:
        held: list[Claim] = []
        while going:
            claim = await poller.claim()  # raises if a row cannot be claimed
            held += [claim] if claim else []
            if held and (rng.random() < 0.5 or not claim):
                assert await poller.finish(held.pop(0), "boom" if rng.random() < 0.4 else None)
            await asyncio.sleep(0)
        for claim in held:
            assert await poller.finish(claim)

    running = [asyncio.create_task(run(p)) for p in pollers]
    tally: dict[tuple[str, Outcome], int] = {}
    wanted = {"wake", "release", "cancel", "retry", "restart", "pause", "resume", "delete"}
    pressed, changed = 0, set[str]()
    try:
        while pressed < 400 or (pressed < 4000 and not wanted <= changed):  # the pollers may win for a long time
            await add(pressed % 60)  # jobs never run out: without jobs, no action can change one
            await press(workspace, rng, tally)
            assert not any(task.done() for task in running)
            pressed, changed = pressed + 1, {action for action, outcome in tally if outcome == CHANGED}
    finally:
        going = False
        await asyncio.gather(*running)
        await workspace.close()
    assert [p.lost for p in pollers] == [[], []], "no job was released during its run"
    for row in await agent_jobs_db.connection.fetch("SELECT * FROM jobs"):
        ended = row["status"] in ("completed", "failed")
        assert (row["completed_at"] is not None) == ended, dict(row)
        assert row["status"] != "pending" or (row["error"], row["started_at"]) == (None, None)
        assert (row["error"] is not None) == (row["status"] == "failed")
    assert changed >= wanted, tally
    for connection in connections:
        await connection.close()


async def press(workspace: Workspace, rng: Random, tally: dict[tuple[str, Outcome], int]) -> None:
    """Apply a random action to a random job, as it was shown shortly before."""
    look = workspace.engines[LABEL]
    page = await look.pages.live(limit=40)
    if rng.random() < 0.5 or not page.nodes:
        roots = (await look.pages.roots()).nodes
        page = await look.pages.children(rng.choice(roots).id, limit=40) if roots else page
    if not page.nodes:
        return
    node = rng.choice(page.nodes)
    action = rng.choice([v.name for v in look.engine.actions_of("job") if look.availability(v).ok])
    if action == "delete" and rng.random() < 0.7:
        return
    dry_run = await perform.dry_run(
        workspace, plan_versions(workspace, LABEL, action, {node.id: node.version}), "rain", {}
    )
    (outcome,) = outcomes_of(await loop.commit(workspace, dry_run, OPERATOR)).values()
    tally[action, outcome] = tally.get((action, outcome), 0) + 1
