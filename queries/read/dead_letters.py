"""Records of dead letters, grouped by error. No I/O."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from queries.records.dead_letter import DeadLetter, DeadLetters, Fate, Group
from queries.records.node import Node, Page
from queries.text.instant import newest_first

ERROR_CHARACTERS = 300  # characters of an error that are compared

_VARYING = (
    r"(?P<id>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b(?:[0-9a-fA-F]{2}:){5,7}[0-9a-fA-F]{2}\b)"
    r"|(?P<hex>\b(?:0[xX][0-9a-fA-F]+|(?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{8,})\b)"
    r"|(?P<token>\b(?=\w{8})[A-Za-z_]*[0-9]+[A-Za-z_]+[0-9]\w*\b)"
    r"|(?P<n>[0-9]+)"
)


def fold(error: str) -> str:
    """Return an error with ids and numbers replaced.

    They become ``<id>``, ``<hex>``, ``<token>`` or ``<n>``.
    """
    blanks = re.sub(r"\s+", " ", error[:ERROR_CHARACTERS]).strip()
    return re.sub(_VARYING, lambda match: f"<{match.lastgroup}>", blanks)


def page(read: Page, rows: Mapping[str, Mapping[str, Any]]) -> DeadLetters:
    """Combine a page of nodes with their rows of ``dead.sql``."""
    dead_letters = tuple(_dead_letter(node, rows[node.id]) for node in read.nodes)
    return DeadLetters(dead_letters=dead_letters, at=read.at, cursor=read.cursor, scope=read.scope)


def _dead_letter(node: Node, row: Mapping[str, Any]) -> DeadLetter:
    """Return a dead letter; cause and current state are the node's status by default."""
    error, cause = row["error"] or None, row["cause"] or node.status or str(node.phase)
    return DeadLetter(
        node=node,
        severity=row["severity"],
        fingerprint=f"{cause}: {fold(error)}" if error else cause,
        since=row["since"],
        error=error,
        was=row["was"],
        is_now=row["is_now"] if row["is_now"] is not None else node.status,
    )


def order(dead_letter: DeadLetter) -> tuple[int, float, str]:
    """Return the sort key: worst first, then newest."""
    return -dead_letter.severity, newest_first(dead_letter.since), dead_letter.node.id


def grouped(dead_letters: Iterable[DeadLetter], *, capped: bool = False) -> dict[Group, list[DeadLetter]]:
    """Group by engine and fingerprint, worst groups first, then newest.

    Dead letters within a group are in the same order.
    """
    groups: dict[tuple[str, str], list[DeadLetter]] = {}
    for each in sorted(dead_letters, key=order):
        groups.setdefault((each.node.engine, each.fingerprint), []).append(each)
    return {
        _group(engine, fingerprint, dead_letters_of, capped): dead_letters_of
        for (engine, fingerprint), dead_letters_of in groups.items()
    }


def digest(fingerprint: str) -> str:
    """Return the short name of a fingerprint, as in the keys of groups."""
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:8]


def _group(engine: str, fingerprint: str, dead_letters_of: list[DeadLetter], capped: bool) -> Group:
    times = [each.since for each in dead_letters_of if each.since is not None]
    fates = Counter((each.was, each.is_now) for each in dead_letters_of)
    return Group(
        key=f"{engine}/dead:{digest(fingerprint)}",
        engine=engine,
        fingerprint=fingerprint,
        severity=dead_letters_of[0].severity,
        n=len(dead_letters_of),
        capped=capped,
        first=min(times, default=None),
        last=max(times, default=None),
        fates=tuple(Fate(was=was, is_now=is_now, n=n) for (was, is_now), n in fates.most_common()),
    )
