"""Shell commands that a text suggests, and incidents as lines with these."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from console.target import Target
from console.text.pages import incidents as pages
from console.text.spans import Spans
from queries.records.finding import OPEN, Finding, Incident


def incident_lines(target: Target, found: Iterable[Incident], cells: int, now: float) -> list[Spans]:
    """Return incidents for a width in cells, as of ``now`` in seconds since 1970."""
    return pages.incidents(
        found, cells, now=now, command=partial(incident_command, target), helps=partial(command, target)
    )


def incident_command(target: Target, of: Incident) -> str:
    """Return the shell command of an incident's suggested action, for all its nodes."""
    return _do(target, of.action, "--incident", of.key, *_given(of.arguments))


def command(target: Target, of: Finding) -> str:
    """Return the shell command of a finding's suggested action."""
    guard = ("--guard", of.guard) if of.guard else ()
    return _do(target, of.action, of.node_id, *_given(of.arguments), *guard)


def session_command(target: Target, session_id: str) -> str:
    """Return the shell command that ends a session."""
    return _do(target, "end_session", session_id)


def _do(target: Target, action: str | None, *words: str) -> str:
    """Return a command that needs only the reason, and what the operator must choose."""
    selected = f" {shlex.join(target.words)}" if target.words else ""
    return f'unstick do {action} {shlex.join(words)} --reason "{OPEN}"{selected}'


def _given(arguments: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of arguments.

    By typing the command the operator confirms a flag that is left to them.
    """
    for name, value in arguments.items():
        yield from ("--arg", f"{name}={'true' if value == OPEN else value}")
