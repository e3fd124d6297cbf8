"""Rows of a commit compared with those of its dry run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from queries.records.action import DryRun, Outcome, Result, RowChange
from queries.write import gate

NODE = "e/task:1"
DRY_RUN = DryRun(
    engine="e",
    action="wake",
    reason="",
    arguments={},
    results=(Result(id=NODE, outcome=Outcome.CHANGED),),
    changes=(),
    versions={NODE: "1"},
    row_digests={},
    at=0.0,
    audit_log="table",
    operator="ann@a",
)


def change(value: Any) -> RowChange:
    return RowChange(id=NODE, table="task", key="1", before={"n": "other"}, after={"n": value})


def compared(now: Any, shown: Any) -> str:
    """Return why a commit of another operator than the dry run stops, or ""."""
    try:
        gate.compare_rows([change(now)], msgspec.structs.replace(DRY_RUN, changes=(change(shown),)), [NODE], "bob@b")
    except gate.UnshownError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        ("2026-11-28T12:00:01.5+00:00", "2026-11-28T11:00:00+00:00"),
        (1795867201, 1795863600.5),
        ("6f0c1f5e-0d2b-4b57-a3cb-2d6f0f6f1a11", "0b7d2a34-55aa-4c1e-9a0f-7f1f9f1f2c22"),
        ("cancelled by bob@b", "cancelled by ann@a"),
        ({"at": "10:01", "by": ["bob@b"]}, {"by": ["ann@a"], "at": "10:00"}),
    ],
)
def test_times_ids_and_operators_may_differ(now: Any, shown: Any) -> None:
    assert compared(now, shown) == ""


@pytest.mark.parametrize(
    ("now", "shown"),
    [(True, 1), (2, 1), ("done", "failed"), ({"a": 1}, {"a": True}), ([1], [1, 1]), ({"a": 1}, {"b": 1}), (None, 1)],
)
def test_another_value_stops_the_commit(now: Any, shown: Any) -> None:
    assert "set task.n to another value than the dry run" in compared(now, shown)
