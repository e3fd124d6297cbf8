"""Keys from an alert to the node that it is about, in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import fetch
from tests.proof import most_in_proof
from tests.terminal.driver import Terminal

MOST = 2  # keys: a paste is one


@pytest.mark.parametrize(
    ("query", "text"),
    most_in_proof(
        [
            ("SELECT 'eternaltwin/task:' || task_id FROM eternaltwin.task LIMIT 1", "{full}"),
            ("SELECT 'eternaltwin/task:' || task_id FROM eternaltwin.task LIMIT 1", "ALERT task {key} is late"),
            (
                "SELECT 'tasker/step:' || workflow_step_uuid FROM tasker.workflow_steps LIMIT 1",
                "https://ops/steps/{key}?a=1",
            ),
            ("SELECT 'estuary/task:' || task_id FROM estuary.tasks LIMIT 1", "task_id={key} overdue"),
            ("SELECT 'agent_jobs/job:' || id FROM agent_jobs.jobs LIMIT 1", "{key}"),
            ("SELECT 'uni2work/job:' || max(id) FROM uni2work.queued_job", '{{"job_id": {key}, "level": "error"}}'),
        ],
    ),
)
def test_from_an_alert_to_the_page_of_its_node(every_engine: str, tmp_path: Path, query: str, text: str) -> None:
    full = str(fetch(every_engine, query)[0][0])
    pasted = text.format(full=full, key=full.partition(":")[2])
    with Terminal(every_engine, home=tmp_path, size=(140, 40)) as terminal:
        terminal.wait_for("● live", lambda: terminal.at > 0)
        keys = 0
        for press in (lambda: terminal.paste(pasted), lambda: terminal.press("enter")):
            press()
            keys += 1
        terminal.wait_for("Recorded", full)
        assert keys <= MOST
        assert terminal.leave("q") == 0
