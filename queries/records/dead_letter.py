"""Dead letters and their groups."""

from __future__ import annotations

import re

import msgspec

from queries.records.node import Node, ScanRequired
from queries.records.record import Record


class DeadLetter(Record):
    """A node that its engine has given up on and that no operator has decided on.

    Its id is that of ``node``. Dead letters with equal ``fingerprint`` have the same error, ignoring ids and numbers.
    ``was`` is the state that the engine recorded at the time of death, if it records one. ``is_now`` is the current
    state.
    """

    node: Node
    severity: int  # 1 to 9, as in a `Finding`
    fingerprint: str
    since: float | None = None  # time of death
    error: str | None = None  # as the engine recorded it, truncated if long
    was: str | None = None
    is_now: str | None = None


class DeadLetters(Record):
    """Dead letters, worst and newest first.

    ``cursor``, ``scope`` and ``scan_required`` are as in `Page`.
    """

    dead_letters: tuple[DeadLetter, ...]
    at: float
    cursor: str | None = None
    scope: str = ""
    scan_required: ScanRequired | None = None


class Fate(Record):
    """Number of dead letters in a group with the same recorded and current state."""

    was: str | None
    is_now: str | None
    n: int


class Group(Record):
    """Dead letters of an engine with the same fingerprint.

    ``capped``: maybe more. ``first`` is then at most that time, and ``last`` at least.
    """

    key: str  # of engine and fingerprint
    engine: str
    fingerprint: str
    severity: int  # the worst
    n: int
    capped: bool = False
    first: float | None = None
    last: float | None = None
    fates: tuple[Fate, ...] = ()  # the most frequent first


class ErrorSummary(Record):
    """Number of an engine's dead letters that have one error, whatever their kind.

    ``capped``: as in a `Group`, with ``first`` and ``last``.
    """

    error: str  # without ids and numbers
    exception: str  # the class that it names; "" if none
    severity: int  # the worst
    n: int
    example: str = ""  # one as the engine recorded it
    capped: bool = False
    causes: dict[str, int] = {}  # numbers by what failed, such as the class of the job; the most frequent first
    groups: tuple[str, ...] = ()  # keys of the groups
    first: float | None = None
    last: float | None = None

    @property
    def text(self) -> str:
        """The error, or the example if it consists of ids, numbers and the like."""
        return self.error if re.search(r"\w", re.sub(r"<\w+>", "", self.error)) else self.example


class DeadLetterReport(Record):
    """Dead letters of one engine and their groups, worst first.

    ``meaning`` explains what a dead letter is in this engine.
    """

    engine: str
    meaning: str
    at: float | None = None
    dead_letters: tuple[DeadLetter, ...] = ()
    groups: tuple[Group, ...] = ()
    errors: tuple[ErrorSummary, ...] = ()  # of a summary, which has no dead letters and no groups
    capped: bool = False  # there may be more
    scope: str = ""  # as in a `Page`
    scan_required: ScanRequired | None = None
    unreadable: str = ""  # why they cannot be read

    def of_group(self, key: str) -> DeadLetterReport:
        """Return the report with this group only, or with none."""
        groups = tuple(each for each in self.groups if each.key == key)
        prints = {each.fingerprint for each in groups}
        members = tuple(each for each in self.dead_letters if each.fingerprint in prints)
        return msgspec.structs.replace(self, groups=groups, dead_letters=members)
