"""Shell commands that a text suggests, and incidents as lines with these."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from console.target import Target
from console.text.spans import Spans
from console.text.views import incidents as views
from queries.read.incidents import REFUSED_FOR_NOW
from queries.records.finding import OPEN, Finding, Incident

WAIT_SECONDS = "60"  # for nodes that an executor holds now


def incident_lines(target: Target, incidents: Iterable[Incident], cells: int, now: float) -> list[Spans]:
    """Return incidents for a width in cells, as of ``now`` in seconds since 1970."""
    return views.incidents(
        incidents, cells, now=now, command=partial(incident_command, target), helps=partial(command, target)
    )


def incident_command(target: Target, of: Incident) -> str:
    """Return the shell command of an incident's suggested action, for all its nodes."""
    return _do(target, of, "--incident", of.key)


def command(target: Target, of: Finding) -> str:
    """Return the shell command of a finding's suggested action."""
    return _do(target, of, of.node_id, guard=("--guard", of.guard) if of.guard else ())


def _do(target: Target, of: Finding | Incident, *nodes: str, guard: Iterable[str] = ()) -> str:
    """Return a command that needs only the reason, and what the operator must choose.

    By typing the command the operator confirms a flag that is left to them.
    """
    given = (f"{name}={'true' if value == OPEN else value}" for name, value in of.arguments.items())
    words = (word for argument in given for word in ("--arg", argument))
    evidence = (of.findings[0] if isinstance(of, Incident) else of).evidence
    wait = ("--wait", WAIT_SECONDS) if REFUSED_FOR_NOW in evidence else ()
    return target.command("do", str(of.action), *nodes, *words, *guard, *wait, "--reason", OPEN)
