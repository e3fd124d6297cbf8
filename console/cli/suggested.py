"""Shell commands that a text suggests, and incidents as lines with these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from console.target import Target
from console.text.formatting import by_reason
from console.text.spans import Spans, crop
from console.text.views import incidents as views
from console.text.views.lines import plain, stacked
from console.text.views.news import news, unchanged
from queries.read.incidents import REFUSED_FOR_NOW, by_schemas, ordered
from queries.records.finding import OPEN, Finding, Incident
from queries.records.snapshot import NEEDS_SAMPLES, Snapshot

WAIT_SECONDS = "60"  # for nodes that an executor holds now


def incident_lines(target: Target, incidents: Iterable[Incident], cells: int, now: float) -> list[Spans]:
    """Return incidents for a width in cells, as of ``now`` in seconds since 1970."""
    return views.incidents(
        incidents, cells, now=now, command=partial(incident_command, target), helps=partial(command, target)
    )


def stuck_lines(target: Target, where: str, now: Snapshot, labels: Sequence[str], cells: int) -> list[Spans]:
    """Return the lines of ``unstick stuck``. ``labels``: engines that were read."""
    incidents = ordered(by_schemas(now.incidents), now.at)
    what, old = news(incidents, now.at), unchanged(incidents, now.at)
    between = "   " if what else ""
    above = crop([*what, (f"{between}{old}", "$faint")] if old else what, cells)
    notes = (plain(note, indent=0) for note in _notes(now, labels))
    return [
        crop([(where, "bold")], cells),
        *stacked([above] if above else [], incident_lines(target, incidents, cells, now.at), notes),
    ]


def _notes(now: Snapshot, labels: Sequence[str]) -> Iterator[str]:
    if not now.incidents:
        one_look = any(each.why == NEEDS_SAMPLES for each in now.skipped_findings)
        some, here = "need several looks" if one_look else "were not made", f" in {', '.join(labels)}" if labels else ""
        yield f"Nothing is stuck{here}." if now.is_complete else f"No findings{here}, but some checks {some}."
    for label, code in now.capped:
        yield f"There may be more of {label} {code} than were read: --limit reads more, up to the check's own limit."
    for label, text in by_reason(each for each in now.skipped_findings if not each.failed):  # others: stderr
        yield f"Not checked: {label} {text}"


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
