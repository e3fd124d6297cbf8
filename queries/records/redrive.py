"""Cohorts of a redrive, and how they went."""

from __future__ import annotations

from queries.records.action import Answer, DryRun, Durability, Result
from queries.records.record import Record


class CohortReport(Record):
    """A cohort of a redrive. ``answers``: number of revived nodes with each answer."""

    size: int
    revived: int = 0
    skipped: int = 0
    answers: dict[Answer, int] = {}


class RedriveReport(Record):
    """State of a redrive.

    ``state``: running, asking, or why it ended: done, budget, stopped. ``question``: what only the operator can decide,
    about ``asked_ids``. ``cohorts`` is empty in a list of redrives. ``skipped``: nodes that were not revived, by name.
    ``durability``: of the least certain cohort that this console has revived.
    """

    run: str
    engine: str
    action: str
    selection: str
    reason: str
    who: str
    at: float
    state: str
    nodes: int
    revived: int
    question: str = ""
    asked_ids: tuple[str, ...] = ()
    cohorts: tuple[CohortReport, ...] = ()
    answers: dict[Answer, int] = {}
    skipped: tuple[Result, ...] = ()
    durability: Durability | None = None


class RedrivePreview(Record):
    """Plan of a redrive: the sizes of its cohorts, and the dry run of the first one."""

    engine: str
    action: str
    selection: str
    nodes: int
    cohorts: tuple[int, ...]
    budget: str
    pace: str
    wait: float
    dry_run: DryRun


class Redrives(Record):
    """Redrives, newest first."""

    redrives: tuple[RedriveReport, ...]
