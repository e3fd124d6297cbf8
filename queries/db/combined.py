"""Several reads as one statement, whose rows come as JSON.

One statement costs the server what its parts cost, and the console one message and one answer. If it fails, its parts
are run one by one. A part that fails then is run alone for a while, so that it costs the others nothing.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec

from queries.db.errors import DatabaseError, SlowError
from queries.db.query import Query, Row, RowsOrError, statement
from queries.files.statement import NAME, Statement, with_parts
from queries.records.record import Record

PARTS = 48  # of one statement: a slow one delays the others of it only
FEW_PARTS, SECONDS_MORE = 5, 0.1 * PARTS  # than the time limit of one part, for more than few: to set it is a message
ALONE_SECONDS = 600.0  # for which a part that failed is run alone
RESTS_SECONDS = 60.0  # after which a part that took too long and may rest is run again
KEPT = 256  # texts of combined statements
NAME_OF_ALL = "several statements"
NOT_FINITE = ("Infinity", "-Infinity", "NaN")  # numbers that JSON has as text

Run = Callable[[Sequence[Query]], Awaitable[list[RowsOrError]]]
_Key = tuple[str, bool]
_raw_values = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Alone(Record):
    """Reason for which a part is run alone, and until when.

    Times are those of the monotonic clock.
    """

    why: DatabaseError
    until: float
    rests_until: float


class CombinedReads:
    """Reads of which several are one statement. It keeps which parts have failed."""

    def __init__(self) -> None:
        self._alone: dict[_Key, _Alone] = {}

    async def each(self, run: Run, queries: Sequence[Query], seconds: float) -> list[RowsOrError]:
        """Return the rows of each statement, or why it failed.

        ``run`` does so for statements that it runs one by one. ``seconds``: time limit of one. Raises an error of
        NO_CONNECTION only.
        """
        if sum(query.json is not None for query in queries) < 2:
            return await run(queries)
        now = time.monotonic()
        self._alone = {key: each for key, each in self._alone.items() if each.until > now}
        answers: dict[int, RowsOrError] = {}
        for place, query in enumerate(queries):
            if (alone := self._alone.get(_key(query))) and alone.rests_until > now:
                answers[place] = alone.why
        left = [place for place in range(len(queries)) if place not in answers]
        chunks = self._chunks(queries, left)
        joined = {place for chunk in chunks for place in chunk}
        others = [place for place in left if place not in joined]
        whole = [
            combined([queries[place] for place in chunk], seconds, SECONDS_MORE if len(chunk) > FEW_PARTS else 0.0)
            for chunk in chunks
        ]
        found = await run([*(queries[place] for place in others), *whole])
        answers |= zip(others, found, strict=False)
        for chunk, answer in zip(chunks, found[len(others) :], strict=True):
            parts = [queries[place] for place in chunk]
            rows = _parted(answer, parts)
            answers |= zip(chunk, rows if rows is not None else await run(parts), strict=True)
        for place in left:
            self._note(queries[place], answers[place], now)
        return [answers[place] for place in range(len(queries))]

    async def in_turn(self, run: Run, queries: Sequence[Query], seconds: float) -> list[RowsOrError]:
        """Return the rows of statements in a transaction that writes.

        Neighbours that may be parts of one statement are. There is no answer after the first that failed.
        """
        answers: list[RowsOrError] = []
        for (joins, apart, _), some in groupby(queries, lambda q: (_is_part(q), q.apart, q.seconds)):
            parts = [*some]
            rows = None
            if joins and len(parts) > 1:
                (answer,) = await run([combined(parts, seconds)])
                rows = _parted(answer, parts)
                if isinstance(answer, DatabaseError) and not apart:
                    return [*answers, answer]
            answers += await run(parts) if rows is None else rows
            if answers and isinstance(answers[-1], DatabaseError):
                break
        return answers

    def _chunks(self, queries: Sequence[Query], places: Iterable[int]) -> list[list[int]]:
        """Return which of these are run as one: under the same settings, few at a time.

        Few statements have a plan for their values, too, if others want that.
        """
        places = [place for place in places if _is_part(queries[place]) and _key(queries[place]) not in self._alone]
        few = sum(not queries[place].custom for place in places) <= FEW_PARTS
        groups: dict[Any, list[int]] = {}
        for place in places:
            query = queries[place]
            groups.setdefault((query.in_order, query.seconds, query.custom or few), []).append(place)
        found = [group[start : start + PARTS] for group in groups.values() for start in range(0, len(group), PARTS)]
        return [chunk for chunk in found if len(chunk) > 1]

    def _note(self, query: Query, answer: RowsOrError, now: float) -> None:
        """Let a part that has failed run alone, and rest if it took too long."""
        if query.json is None or not isinstance(answer, DatabaseError):
            return
        key, rests = _key(query), now
        until = self._alone[key].until if key in self._alone else now + ALONE_SECONDS
        if isinstance(answer, SlowError) and query.rests:
            rests += RESTS_SECONDS
            answer = SlowError(f"{answer.line} It is read once a minute only.", code=answer.code)
        self._alone[key] = _Alone(why=answer, until=until, rests_until=rests)


def _is_part(query: Query) -> bool:
    """Return True if a statement may be a part of another one."""
    own = query.command or query.parsed or query.statement.custom or query.statement.schema
    return query.json is not None and not own


def _key(query: Query) -> _Key:
    return query.statement.text, query.custom


def combined(parts: Sequence[Query], seconds: float, more: float = 0.0) -> Query:
    """Return one statement of several.

    A row has the number of its part and is JSON. ``seconds``: time limit of one part. ``more``: that it may take.
    """
    names: dict[str, Any] = {}
    texts = []
    for part in parts:
        slots = [_slot(names, name, value) for name, value in part.arguments.items()]
        texts.append((part.statement.text, tuple(slots)))
    whole = _combined(tuple(texts), tuple(names))
    first, custom = parts[0], any(part.custom for part in parts)  # of few that have none themselves
    limit = (first.seconds or seconds) + more
    return Query(whole, names, custom=custom, in_order=first.in_order, seconds=limit, apart=first.apart)


def _slot(names: dict[str, Any], name: str, value: Any) -> int:
    """Return the number of a parameter with this value, from 1. Parts share it."""
    for number, (known, other) in enumerate(names.items(), 1):
        if known.partition(" ")[0] == name and type(other) is type(value) and other == value:
            return number
    names[f"{name} {len(names)}"] = value
    return len(names)


@lru_cache(maxsize=KEPT)
def _combined(parts: tuple[tuple[str, tuple[int, ...]], ...], names: tuple[str, ...]) -> Statement:
    template = statement("combined_part").text
    texts = []
    for number, (text, slots) in enumerate(parts):
        body = renumbered(text, slots)
        texts.append(with_parts(template, {"number": str(number), "statement": body}))
    return Statement(text="\nUNION ALL\n".join(texts), source=NAME_OF_ALL, parameters=names)


def renumbered(text: str, slots: Sequence[int]) -> str:
    """Return a statement with other numbers of its parameters."""
    return NAME.sub(lambda match: f"${slots[int(match['number']) - 1]}" if match["number"] else match[0], text)


def _parted(answer: RowsOrError, parts: Sequence[Query]) -> list[RowsOrError] | None:
    """Return the rows of each part.

    None if they were not read, or are no JSON because of bytes that are no text.
    """
    if isinstance(answer, DatabaseError):
        return None
    parted: list[list[Row]] = [[] for _ in parts]
    try:
        for row in answer:
            parted[row["part"]].append(_row(row["row"], parts[row["part"]].json or {}))
    except msgspec.DecodeError:
        return None
    return [*parted]


def _row(text: str, kinds: Any) -> Row:
    return {name: _value(bytes(raw), kinds.get(name)) for name, raw in _raw_values.decode(text).items()}


def _value(raw: bytes, kind: str | None) -> Any:
    """Return a value as the driver would.

    A document is text; a number that is not finite is text in JSON.
    """
    if kind == "json" and raw != b"null":
        return raw.decode()
    if kind == "json as text" and raw[:1] in b"{[":
        return raw.decode()
    value = msgspec.json.decode(raw)
    return float(value) if kind == "float" and (type(value) is int or value in NOT_FINITE) else value
