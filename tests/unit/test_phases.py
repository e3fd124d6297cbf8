"""A row without a phase has the phase of its status."""

from __future__ import annotations

from typing import Any

import pytest

from queries.contract.rows import counts_of, drawn_phase, phase_of, phases_of
from queries.contract.spec import Status
from queries.db.errors import UnreadableError
from queries.records.node import Phase, Precision

PHASES = phases_of(
    Status(native=native, phase=phase)
    for native, phase in [
        ("todo", Phase.READY), ("todo", Phase.SCHEDULED), ("late", Phase.READY), ("doing", Phase.RUNNING),
        ("doing", Phase.RUNNING),
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("row", "phase"),
    [
        ({"status": "doing"}, Phase.RUNNING),
        ({"status": "doing", "phase": None}, Phase.RUNNING),
        ({"status": "doing", "phase": "held"}, Phase.HELD),
        ({"status": "todo", "phase": "scheduled"}, Phase.SCHEDULED),
        ({"status": None, "phase": "done"}, Phase.DONE),
        ({"status": "another"}, Phase.UNKNOWN),
    ],
)
def test_the_phase_of_a_row(row: dict[str, Any], phase: Phase) -> None:
    assert phase_of(row, PHASES) is phase


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"status": "todo", "phase": None}, "the status 'todo' may be ready or scheduled"),
        ({"status": None}, "one of them is required"),
        ({"phase": None}, "one of them is required"),
    ],
)
def test_a_row_without_a_phase(row: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        phase_of(row, PHASES)


def test_an_unknown_word() -> None:
    with pytest.raises(ValueError, match="stuck"):
        phase_of({"phase": "stuck"}, PHASES)


@pytest.mark.parametrize(
    ("parts", "sum_"),
    [
        ([(1, "exact"), (2, "exact")], (3, Precision.EXACT)),
        ([(1, "exact"), (2, "estimated")], (3, Precision.ESTIMATED)),
        ([(1, "estimated"), (2, "capped")], (3, Precision.CAPPED)),
        ([(1, "exact"), (None, "unknown")], (1, Precision.CAPPED)),
        ([(None, "unknown"), (None, "unknown")], (None, Precision.UNKNOWN)),
        ([(None, "unknown")], (None, Precision.UNKNOWN)),
        ([(7, "unknown")], (None, Precision.UNKNOWN)),
        ([(0, "exact")], (0, Precision.EXACT)),
    ],
)
def test_the_sum_of_a_phase(parts: list[tuple[int | None, str]], sum_: tuple[int | None, Precision]) -> None:
    """The rows are of two statuses with the same phase."""
    rows = [{"status": "late", "n": parts[0][0], "precision": parts[0][1]}]
    rows += [{"phase": "ready", "n": n, "precision": precision} for n, precision in parts[1:]]
    (count,) = counts_of(rows, PHASES)
    assert (count.phase, count.n, count.precision) == (Phase.READY, *sum_)


def test_the_phase_of_a_moment_in_a_drawing() -> None:
    rows = [("doing", None), ("doing", "held"), ("todo", None), ("no. 3", None), (None, None)]
    assert [drawn_phase({"state": state, "phase": phase}, PHASES) for state, phase in rows] == [
        "running", "held", None, None, None
    ]  # fmt: skip
