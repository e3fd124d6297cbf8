"""Phases of rows.

``[statuses]`` declares the phase of a status. A statement returns it only for a status with several phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from queries.contract.spec import Status
from queries.db.errors import UnreadableError
from queries.db.query import Row
from queries.records.node import Count, Phase, Precision

Phases = Mapping[str, tuple[Phase, ...]]
ENDED = (Phase.DONE, Phase.CANCELLED)
_LEAST_SURE = (Precision.UNKNOWN, Precision.CAPPED, Precision.ESTIMATED, Precision.EXACT)


def phases_of(statuses: Iterable[Status]) -> Phases:
    """Return the phases that each status may have."""
    phases: dict[str, tuple[Phase, ...]] = {}
    for status in statuses:
        phases[status.native] = tuple(dict.fromkeys((*phases.get(status.native, ()), status.phase)))
    return phases


def phase_of(row: Row, phases: Phases) -> Phase:
    """Return the column ``phase`` of a row, else the phase of its status.

    Raises UnreadableError if there is none, ValueError for an unknown word.
    """
    if row.get("phase") is not None:
        return Phase(row["phase"])
    status = row.get("status")
    if status is None:
        raise UnreadableError("the columns phase and status have NULL; one of them is required")
    choices = phases.get(status, (Phase.UNKNOWN,))
    if len(choices) > 1:
        words = " or ".join(choices)
        raise UnreadableError(f"the column phase has NULL, and the status {status!r} may be {words}")
    return choices[0]


def counts_of(rows: Iterable[Row], phases: Phases) -> tuple[Count, ...]:
    """Return the sum of each phase. Raises as :func:`phase_of`.

    A sum is as sure as its least sure part. If a part is unknown, it is the least number.
    """
    parts: dict[Phase, list[Row]] = {}
    for row in rows:
        parts.setdefault(phase_of(row, phases), []).append(row)
    return tuple(_sum(phase, some) for phase, some in parts.items())


def drawn_phase(row: Row, phases: Phases) -> str | None:
    """Return the phase of a row of a drawing, else the only one of its state."""
    choices = phases.get(row["state"], ())
    return choices[0] if row["phase"] is None and len(choices) == 1 else row["phase"]


def _sum(phase: Phase, rows: Sequence[Row]) -> Count:
    numbers = [row["n"] for row in rows if row["n"] is not None and row["precision"] != Precision.UNKNOWN]
    least = next(each for each in _LEAST_SURE if any(row["precision"] == each for row in rows))
    return Count(
        phase=phase,
        n=sum(numbers) if numbers else None,
        precision=Precision.CAPPED if numbers and least is Precision.UNKNOWN else least,
    )
