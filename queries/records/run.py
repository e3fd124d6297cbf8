"""Runs: their nodes, cohorts, and how they went."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from queries.records.action import Answer, Change, Durability, Result
from queries.records.record import Record

BULK, REDRIVE = "bulk", "redrive"  # kinds of runs, and actions of the entries of their events


class Member(Record, array_like=True):
    """A node of a run as it was when the run began."""

    id: str
    version: str
    title: str = ""


class WatchedMember(Member, array_like=True):
    """A dead letter of a redrive.

    ``target``: the node to watch, which differs if the engine has an entry for each dead letter. ``attempt`` tells its
    next death from this one. ``marks``: error texts without ids and numbers, which tell what it died of.
    """

    target: str = ""
    attempt: str = ""
    marks: tuple[str, ...] = ()


class RunCommands(NamedTuple):
    """Shell commands that continue and end a run."""

    resume: str
    stop: str

    @property
    def lines(self) -> tuple[str, str]:
        """One line for each."""
        return f"Continue: {self.resume}", f"End it: {self.stop}"

    @property
    def sentence(self) -> str:
        """Both in a sentence."""
        return f"`{self.resume}` continues it, `{self.stop}` ends it."


def commands_of(command: Callable[..., str], kind: str, run: str) -> RunCommands:
    """Return the commands of a run. ``command`` makes one of its words."""
    if kind == REDRIVE:
        return RunCommands(command(REDRIVE, run, "--resume"), command(REDRIVE, run, "--stop"))
    return RunCommands(command("do", "--resume", run), command("runs", run, "--stop"))


class RunSummary(Record):
    """A run in a list.

    ``kind``: bulk or redrive. ``state``: open, unreadable, or why it ended: done, budget, stopped. ``at``, ``last_at``:
    when it began, and when something was last recorded. ``place``: "table", or the file on this machine that has it.
    """

    run: str
    kind: str
    engine: str
    action: str
    selection: str
    reason: str
    who: str
    at: float
    last_at: float
    state: str
    nodes: int
    changed: int
    answers: dict[Answer, int] = {}
    place: str = "table"


class Runs(Record):
    """Runs, newest first. ``unread``: why others, of this machine, cannot be read."""

    runs: tuple[RunSummary, ...]
    unread: tuple[str, ...] = ()


class CohortReport(Record):
    """A cohort of a redrive. ``answers``: number of revived nodes with each answer."""

    size: int
    revived: int = 0
    skipped: int = 0
    answers: dict[Answer, int] = {}


class RedriveReport(Record):
    """State of a redrive.

    ``state``: running, asking, or why it ended: done, budget, stopped. ``question``: what only the operator can decide,
    about ``asked_ids``. ``skipped``: nodes that were not revived, by name. ``durability``: of the least certain cohort
    that this console has revived. ``durable``: number of nodes that it has revived, by durability.
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
    durable: dict[Durability, int] = {}

    @property
    def open(self) -> bool:
        """True if its end is not recorded."""
        return self.state in ("running", "asking")


class RunDetail(Record):
    """A run with its outcomes so far.

    ``pending``: the nodes without one. ``report``: of a redrive, as its nodes are now. ``unread``: why they could not
    be read, or "".
    """

    run: RunSummary
    results: tuple[Result, ...]
    pending: tuple[str, ...]
    report: RedriveReport | None = None
    unread: str = ""


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
    dry_run: Change
