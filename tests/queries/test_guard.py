"""Actions on nodes that change all the time.

The guard of a finding checks only the values that stay the same, not the version.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.change import loop
from queries.change import plan as parts
from queries.db.redaction import without_passwords
from queries.read import guard_token
from queries.records.action import Change, Outcome
from queries.records.finding import Finding
from queries.workspace import Workspace
from tests.command import ROOT, environment, unstick
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.proof import proof, repeated
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, reader
from tests.simulators.eternaltwin.kinds import encode
from tests.simulators.eternaltwin.runner import SQL, Runner, Tick

CHANGED, STALE, LOCKED = Outcome.CHANGED, Outcome.STALE, Outcome.LOCKED
SPINS = {"kind": "RefreshForumThread", "version": 2, "state": encode({"thread": 7, "phase": "AwaitToken"})}
BOUND = {"kind": "ArchiveTwinoidUser", "version": 1, "revision": 4, "cpu": 40, "poll": 40.1}
RENDERS = encode({"user": 7, "phase": "Render", "polls": 4})
LIMITS = {"spinning_polls": 2, "busy_polls": 1, "busy_polling": 0.0}


class Spinner:
    """Runner of the demo that polls all tasks, or only ``task``, without pauses."""

    def __init__(self, connection: asyncpg.Connection[Any], eternaltwin_db: EternaltwinDb) -> None:
        self.runner = Runner(connection, Random(1), batch=1000)
        self.task: uuid.UUID | None = None
        self.polling = asyncio.Lock()  # held from a poll's read to its write
        self._connection = connection
        self._twin = eternaltwin_db

    async def run(self) -> None:
        while True:
            async with self.polling:
                if self.task is None:
                    await self.runner.tick()
                elif polled := await self.runner.read(self.task):
                    await self.runner.write(polled, Tick(await self._connection.fetchval(SQL["clock"]), 1))
            await asyncio.sleep(0)

    async def polled(self, times: int = 2) -> None:
        """Wait until the runner has written ``times`` more steps.

        With two steps, the runner has read the second one after this call.
        """
        goal = self.runner.polls - self.runner.misses + times
        async with asyncio.timeout(60):
            while self.runner.polls - self.runner.misses < goal:
                await asyncio.sleep(0.001)


@pytest.fixture
async def spinner(eternaltwin: str, eternaltwin_db: EternaltwinDb) -> AsyncIterator[Spinner]:
    connection = await asyncpg.connect(eternaltwin, server_settings={"application_name": "runner"})
    spinner = Spinner(connection, eternaltwin_db)
    task = asyncio.create_task(spinner.run())
    yield spinner
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await connection.close()


@pytest.fixture
async def watching(eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(eternaltwin, tmp_path, overrides={LABEL: LIMITS})
    yield workspace
    await workspace.close()


async def watched(workspace: Workspace, spinner: Spinner, code: str) -> dict[str, Finding]:
    """Poll until the finding can appear; return the findings with this code."""
    if code == "compute_bound":
        return {f.node_id: f for f in (await reader(workspace).findings.read()).findings if f.code == code}
    for _ in range(4):
        await reader(workspace).samples.take()
        await spinner.polled()
    await reader(workspace).samples.take()
    return {f.node_id: f for f in reader(workspace).findings.sampled() if f.code == code}


async def commit(workspace: Workspace, dry_run: Change) -> Change:
    return await loop.commit(workspace, dry_run, OPERATOR)


@repeated(few=10, many=100)
@pytest.mark.parametrize("code", ["spinning", "compute_bound"])
async def test_the_suggested_action_reaches_a_task_that_a_runner_never_leaves_alone(
    eternaltwin_db: EternaltwinDb, watching: Workspace, spinner: Spinner, code: str, times: int
) -> None:
    """Poll the task before the dry run and again before the commit.

    Every version is therefore out of date, and only the finding's guard can match.
    """
    outcomes = []
    for _ in range(times):
        task = await eternaltwin_db.task(**({**BOUND, "state": RENDERS} if code == "compute_bound" else SPINS))
        spinner.task = task
        finding = (await watched(watching, spinner, code))[eternaltwin_db.id(task)]
        assert finding.action == "cancel"
        await spinner.polled()
        dry_run = await dry_run_of(watching, "cancel", {eternaltwin_db.id(task): finding.guard})
        if outcomes_of(dry_run) == {eternaltwin_db.id(task): CHANGED}:
            await spinner.polled()
            outcomes += outcomes_of(await commit(watching, dry_run)).values()
        else:
            outcomes += outcomes_of(dry_run).values()
        spinner.task = None
        row = await eternaltwin_db.row(task)
        assert (row["status"] == "Complete") == (outcomes[-1] == CHANGED)
    assert outcomes.count(CHANGED) >= times * 95 // 100, outcomes


CHANGES = [
    "state = '{}'",
    "status = 'Blocked'",
    "kind_version = 3",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("before", ["dry run", "commit"])
async def test_it_is_stale_once_what_stayed_the_same_has_changed(
    eternaltwin_db: EternaltwinDb, watching: Workspace, spinner: Spinner, change: str, before: str
) -> None:
    task = await eternaltwin_db.task(**SPINS)
    spinner.task = task
    finding = (await watched(watching, spinner, "spinning"))[eternaltwin_db.id(task)]
    async with spinner.polling:
        spinner.task = uuid.uuid4()  # no task: the row is the test's alone
    update = f"UPDATE task SET {change} WHERE task_id = $1"
    if before == "dry run":
        await eternaltwin_db.sql(update, task)
    dry_run = await dry_run_of(watching, "cancel", {eternaltwin_db.id(task): finding.guard})
    if before == "dry run":
        assert outcomes_of(dry_run) == {eternaltwin_db.id(task): STALE}
        return
    assert outcomes_of(dry_run) == {eternaltwin_db.id(task): CHANGED}
    await eternaltwin_db.sql(update, task)
    assert outcomes_of(await commit(watching, dry_run)) == {eternaltwin_db.id(task): STALE}
    assert (await eternaltwin_db.row(task))["status"] != "Complete"


async def test_it_is_stale_once_it_has_other_rows_to_touch(
    eternaltwin_db: EternaltwinDb, watching: Workspace, spinner: Spinner
) -> None:
    """Add a row to the task between dry run and commit."""
    task = await eternaltwin_db.task(**SPINS)
    spinner.task = task
    finding = (await watched(watching, spinner, "spinning"))[eternaltwin_db.id(task)]
    dry_run = await dry_run_of(watching, "cancel", {eternaltwin_db.id(task): finding.guard})
    await eternaltwin_db.timers([task], 60)
    assert outcomes_of(await commit(watching, dry_run)) == {eternaltwin_db.id(task): STALE}


async def test_a_bulk_of_them_is_done_in_parts(
    eternaltwin_db: EternaltwinDb, watching: Workspace, spinner: Spinner
) -> None:
    tasks = [await eternaltwin_db.task(**SPINS)]
    spinner.task = tasks[0]
    alike = (await watched(watching, spinner, "spinning"))[eternaltwin_db.id(tasks[0])].guard
    tasks += await eternaltwin_db.tasks(await eternaltwin_db.jobs(599), **SPINS)
    guards = dict.fromkeys(map(eternaltwin_db.id, tasks), alike)
    spinner.task = None
    dry_run = await dry_run_of(watching, "cancel", guards)
    await spinner.polled(len(tasks))
    assert list(outcomes_of(dry_run).values()).count(CHANGED) >= parts.PART_NODES * 95 // 100
    outcomes = outcomes_of(await commit(watching, dry_run))
    assert len(outcomes) == len(tasks)
    assert list(outcomes.values()).count(CHANGED) >= len(tasks) * 95 // 100


@proof
async def test_the_printed_command_does_it(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, spinner: Spinner, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(**SPINS)
    spinner.task = task

    async def run(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "console", *words, "-d", eternaltwin]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment(tmp_path), stdout=pipe)
        out, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode()

    _, out = await run("stuck", "--sample", "8")
    (line,) = [line for line in out.splitlines() if f"unstick do cancel {eternaltwin_db.id(task)} --guard" in line]
    *words, option, target = shlex.split(line.partition(": unstick ")[2])
    assert (option, target) == ("-d", without_passwords(eternaltwin))
    assert (await run(*words, "--dry-run"))[0] == 0
    assert (await eternaltwin_db.row(task))["status"] == "Available"
    old = [*words[:4], guard_token.token(["state"], {"state": "another"}), *words[5:]]
    assert (await run(*old, "--yes"))[0] == 3
    assert (await run(*words, "--yes"))[0] == 0
    assert (await eternaltwin_db.row(task))["status"] == "Complete"


@pytest.mark.parametrize("token", ["", "same:", "same:{}", "same:{", "same:[1]", "3:Available:77"])
def test_what_is_no_guard_is_not_taken_for_one(token: str) -> None:
    answer = unstick("do", "cancel", f"{LABEL}/task:{uuid.uuid4()}", "--reason", "x", "--guard", token, dsn="x")
    assert answer.code == 2
    assert "guard" in answer.err


def test_as_many_guards_as_nodes() -> None:
    token = guard_token.token(["state"], {"state": "a"})
    nodes = [f"{LABEL}/task:{uuid.uuid4()}" for _ in range(2)]
    assert unstick("do", "cancel", *nodes, "--reason", "x", "--guard", token, dsn="x").code == 2


def test_a_guard_names_every_field_or_is_none() -> None:
    assert guard_token.token([], {"a": 1}) == ""
    assert guard_token.token(["a", "b"], {"a": 1}) == ""
    token = guard_token.token(["a", "b"], {"b": "x", "a": 1, "c": 2})
    assert guard_token.is_token(token)
    assert guard_token.is_valid(token)
    assert json.loads(token.removeprefix(guard_token.MARK)) == {"a": 1, "b": "x"}
