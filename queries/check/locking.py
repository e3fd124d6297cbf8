"""Locks of the actions, as their text shows: which wait, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from queries.check.report import Notebook
from queries.contract.engine import Engine
from queries.contract.sql_calls import Token, tokens_of
from queries.files.statement import Statement

_STRENGTHS = (("update",), ("no", "key", "update"), ("share",), ("key", "share"))


def check_locking(engine: Engine, notes: Notebook) -> None:
    """Note locks that wait for other sessions, and locks in no or in another order."""
    orders: dict[str, tuple[str, str]] = {}
    for action in engine.spec.actions:
        for name, parts in engine.actions.get(action.script, {}).items() if action.writes else ():
            for part in parts:
                locks = list(_locks(tokens_of(part.text)))
                for at, waits in locks:
                    if waits:
                        message = "it waits for rows that other sessions have locked: add SKIP LOCKED"
                        notes.fault(part, f"{action.name}: {message}", at + 1)
                if name == "lock" and locks:
                    _check_order(part, action.name, orders, notes)


def _locks(tokens: Sequence[Token]) -> Iterator[tuple[int, bool]]:
    """Yield the place of each locking clause, and whether it waits."""
    words = [token.word for token in tokens]
    for n, token in enumerate(tokens):
        strength = next(
            (s for s in _STRENGTHS if token.word == "for" and tuple(words[n + 1 : n + 1 + len(s)]) == s), ()
        )
        if not strength:
            continue
        rest = words[n + 1 + len(strength) :]
        if rest[:1] == ["of"]:
            length = next((m for m in range(2, len(rest) + 1, 2) if rest[m : m + 1] != [","]), len(rest))
            rest = rest[length:]
        yield token.at, rest[:2] != ["skip", "locked"] and rest[:1] != ["nowait"]


def _check_order(part: Statement, action: str, orders: dict[str, tuple[str, str]], notes: Notebook) -> None:
    """Compare the order in which a part locks with that of the actions before."""
    order = _order(tokens_of(part.text))
    if not order:
        message = "it locks rows in no order, so that two sessions may take each other's: add ORDER BY"
        notes.fault(part, f"{action}: {message}")
        return
    columns, direction = order
    other, first = orders.setdefault(columns, (action, direction))
    if direction != first:
        message = f"it locks rows in the opposite order of {other}: two sessions may take each other's"
        notes.fault(part, f"{action}: {message}")


def _order(tokens: Sequence[Token]) -> tuple[str, str] | None:
    """Return the columns of the last ORDER BY and their directions, or None."""
    words = [token.word for token in tokens]
    begin = next((n + 2 for n in reversed(range(len(words))) if words[n : n + 2] == ["order", "by"]), None)
    if begin is None:
        return None
    columns, direction = [], []
    for n, word in enumerate(words[begin:], begin):
        if word in ("for", "limit", ")"):
            break
        alias = words[n + 1 : n + 2] == ["."] or word == "."
        if word in ("asc", "desc"):
            direction.append(word)
        elif not alias:
            columns.append(word)
    return " ".join(columns), " ".join(word for word in direction if word == "desc")
