"""Ids whose key is no value of the type that keys have."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.contract import id_forms
from queries.contract.outside import outside_engines
from queries.workspace import Workspace
from tests.command import unstick
from tests.db.agent_jobs import AgentJobsDb
from tests.outside import HOMEMADE, copied, schema
from tests.queries.builders import opened
from tests.servers import PostgresServer


@pytest.mark.parametrize("command", [("do", "--reason", "x", "wake"), ("show",)])
def test_a_malformed_id_is_named_as_such(eternaltwin_demo: str, tmp_path: Path, command: tuple[str, ...]) -> None:
    node = "eternaltwin/task:NOT_A_UUID"
    answer = unstick(*command, node, dsn=eternaltwin_demo, home=tmp_path)
    said = " ".join(answer.err.split())
    assert answer.code != 0
    assert f"{node} is no id: the key of a task is a UUID, for example eternaltwin/task:0123" in said
    assert "exist" not in said


async def test_the_type_of_the_column_decides(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    workspace = await Workspace(agent_jobs_db.dsn, file=tmp_path / "audit_log.jsonl").open()
    detected = workspace.engines["agent_jobs"].detected
    job = await agent_jobs_db.job()
    assert id_forms.why_malformed(detected, "job", str(job)) == ""
    assert "a UUID" in id_forms.why_malformed(detected, "job", f"{job}0")
    assert id_forms.why_malformed(detected, "queue", "all") == ""
    assert id_forms.why_malformed(detected, "queue", "any text").startswith('the key of a queue is "all", for example')
    await workspace.close()


async def test_a_number_may_be_negative(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh()
    server.sql(schema(HOMEMADE), dsn)
    server.sql("INSERT INTO work_items (id, task, state) OVERRIDING SYSTEM VALUE VALUES (-5, 'Negative', 'todo')", dsn)
    copied(tmp_path / "engines", source=HOMEMADE)
    workspace = await opened(dsn, tmp_path, outside=outside_engines([tmp_path / "engines"], {"homemade"}))
    (engine,) = workspace.engines.values()
    (node_id,) = [node.id for node in (await engine.pages.roots()).nodes if node.title == "Negative"]
    (read,) = (await workspace.reader(node_id).nodes.read([node_id])).nodes
    assert (read.id, read.title) == ("homemade/item:-5", "Negative")
    await workspace.close()
    server.drop(dsn)
