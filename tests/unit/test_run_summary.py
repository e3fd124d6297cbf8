"""Entries of a run in the lists of the audit log."""

from __future__ import annotations

from typing import Any

import pytest

from console.text.views.audit_entry import outcome, target
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry


def entry(run: object, *results: Result) -> AuditLogEntry:
    return AuditLogEntry(
        id="4",
        at=0.0,
        role="r",
        os_user="anna",
        host="laptop",
        engine="e",
        schema="s",
        action="bulk",
        reason="x",
        arguments={"run": run},
        results=results,
    )


@pytest.mark.parametrize(
    ("run", "shown", "about"),
    [
        ({"event": "begin", "nodes": 3000}, "begun, 3000 nodes", "run 4"),
        ({"id": "3", "event": "end", "reason": "done"}, "ended: done", "run 3"),
        ({"id": "3", "event": "judged", "cohort": 1}, "cohort 2 judged", "run 3"),
        ({"id": "3", "event": "resume"}, "continued", "run 3"),
        ({"id": "3", "event": "of a later version"}, "none", "run 3"),
        ({"id": "3", "event": ["x"]}, "none", "run 3"),
        ({"id": "3", "event": "judged", "cohort": "{0}"}, "cohort  judged", "run 3"),
        ("3", "none", "–"),
    ],
)
def test_an_event_says_what_happened(run: Any, shown: str, about: str) -> None:
    found = entry(run)
    assert ("".join(text for text, _ in outcome(found)), target(found)) == (shown, about)


def test_a_change_of_a_run_has_the_outcomes_of_its_nodes() -> None:
    found = entry({"id": "3"}, Result(id="e/job:1", outcome=Outcome.CHANGED))
    assert ("".join(text for text, _ in outcome(found)), target(found)) == ("1 changed", "e/job:1")
