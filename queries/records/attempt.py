"""Trials of a worker's next statement on a node, and the server's answers."""

from __future__ import annotations

from queries.records.finding import Finding
from queries.records.node import Phase
from queries.records.record import Record


class Trial(Record):
    """Statements to try on a node, and the role.

    ``why``: how the role was found. ``own``: it is that of the operator. ``statements``: SQL by section. ``assumed``:
    some of it was not compared with the engine's source. ``refused``: why it is not tried, or "".
    """

    node_id: str
    title: str
    kind: str
    phase: Phase
    version: str
    role: str = ""
    why: str = ""
    own: bool = True
    statements: dict[str, str] = {}
    assumed: bool = False
    refused: str = ""


class Step(Record):
    """Answer of the server to one section.

    ``rows``: of the node that it reached. ``written``: rows by table, as far as the server counts them. ``error``: the
    fields of its error, such as ``message`` and ``constraint``. ``unmet``: conditions of a worker that fail.
    ``refused``: why no worker can do it, or "".
    """

    statement: str
    rows: int = 0
    written: tuple[str, ...] = ()
    error: dict[str, str] = {}
    unmet: tuple[str, ...] = ()
    refused: str = ""


class Attempt(Record):
    """Trial that was rolled back, with the server's answers.

    ``finding``: what the server refuses. It is shown with the node while the node has the same version.
    """

    trial: Trial
    at: float = 0.0
    steps: tuple[Step, ...] = ()
    finding: Finding | None = None

    @property
    def passed(self) -> bool:
        """Return True if a worker could do all of it."""
        return bool(self.steps) and all(step.rows and not step.error for step in self.steps)
