"""Search all engines for an id, or for a text that may hold ids.

Such a text is a URL, a log line or an alert.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from queries.db.errors import DatabaseError, attempted, readable
from queries.read.reader import Reader
from queries.records.node import Hit, Hits, Match, Node
from queries.records.record import Record

MOST_IDS = 8  # ids of one text that are looked up
SEARCH_CHARACTERS = 200  # characters of a text that is searched for in titles, errors and payloads
HITS_READ = 50  # of a search
SEARCHED_BYTES, ANY_BYTES = 65_536, 2**31 - 1  # of a value that a search reads; usually, and if it is asked to
RANKS = {matched: rank for rank, matched in enumerate(Match)}
SURE = (Match.ID, Match.REFERENCE)

_FULL = re.compile(r"""(?<![\w@.-])[\w@.-]+/[a-z_]+:[^\s"'<>,;(){}\[\]]+""")
_UUID = r"(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f-])"
_HEX = r"(?<![0-9a-z])(?:[0-9a-f]{32}|[0-9a-f]{16})(?![0-9a-z])"
_MAC = r"(?<![0-9a-f:])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){6}(?![0-9a-f:])"
_NUMBER = (
    r"(?<![a-z])(?P<word>(?!(?:p|u|g|t)id)[a-z_-]*id|job|task|step|cron|message|(?:jobs|tasks|steps|messages)(?=/))"
    r"""["']?(?:\s*[=:#]\s*|\s+|/)["'#]?"""
    r"(?:[\w.:-]+\[(?=[0-9]+(?:\]|$))|(?<=/id: )[\w.-]+/)?(?P<number>[0-9]{1,18})(?![\w.-]|:[0-9a-f]{2})"
)  # the number of job_id=42, "task": 42, job #42, /jobs/42, job send[42], entrypoint/id: send/42
_OF_KIND = re.compile(r"([a-z_-]+):([0-9]+)")
_KEY = re.compile("|".join((_UUID, _MAC, _HEX, _NUMBER)), re.IGNORECASE)


class Sought(Record):
    """Parts of a text to look for.

    ``ids`` were taken from a longer text if ``exact``; only whole ids match then. ``text`` is searched for in titles,
    errors and payloads. ``capped``: the text has more ids.
    """

    ids: tuple[str, ...]
    exact: bool
    text: str
    capped: bool = False
    unsearched: str = ""  # why ``text`` is empty


def is_full(text: str) -> bool:
    """Return True if a text has the form of a full id, ``engine/kind:key``."""
    return re.match(r"[\w@.-]+/[a-z_]+:", text) is not None


def sought(text: str, readers: Iterable[Reader]) -> Sought:
    """Return what to look for: the ids in a text, or else the text itself."""
    text = " ".join(text.split()).strip("\"'<>()[]{},;")
    readers = tuple(readers)
    if any(reader.ids.owns(text) for reader in readers):
        return Sought(ids=(text,), exact=True, text="", unsearched="the text is a full id")
    ids: list[str] = []
    rest = text
    for match in _FULL.finditer(text):
        full = match[0].rstrip(".:")
        if any(reader.ids.owns(full) for reader in readers):
            ids.append(full)
            rest = rest.replace(full, " ")
    ids += [_id_of(match) for match in _KEY.finditer(rest)]
    ids = list(dict.fromkeys(ids))
    whole = not ids or ids == [text]
    long = len(text) > SEARCH_CHARACTERS
    return Sought(
        ids=(text,) * bool(text) if whole else tuple(ids[:MOST_IDS]),
        exact=not whole,
        text="" if long else text,
        capped=len(ids) > MOST_IDS,
        unsearched=f"the text is longer than {SEARCH_CHARACTERS} characters" if long else "",
    )


def _id_of(match: re.Match[str]) -> str:
    """Return an id as in the text; a number gets the kind named before it."""
    if match["number"] is None:
        return match[0]
    kind = re.sub(r"[_-]?id$|s$", "", match["word"].lower())
    return f"{kind}:{match['number']}" if kind else match["number"]


async def search(
    readers: Mapping[str, Reader], query: Sought, *, texts: bool = True, large: bool = False
) -> AsyncIterator[Hits]:
    """Yield the answer of each engine as it arrives.

    The engines' statements take turns on one connection, each with a time limit. ``texts``: also search titles, errors
    and payloads. ``large``: payloads of any size. Raises an error of NO_CONNECTION only.
    """
    asked = [reader for reader in readers.values() if _concerned(reader, query, readers.values())]
    tasks = [
        asyncio.ensure_future(_answer(reader, query, readers.values(), texts=texts, large=large)) for reader in asked
    ]
    try:
        for task in asyncio.as_completed(tasks):
            yield await task
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def find(reader: Reader, text: str, limit: int = HITS_READ) -> Hits:
    """Find nodes by id, by its beginning, or by another id that the engine records."""
    kind, colon, key = reader.ids.local(text).partition(":")
    named = colon and reader.engine.kind(kind)  # a key may have colons of its own
    # A tag's index can only be read as a bitmap.
    return await _hits(reader, "find", key if named else text, limit, in_order=False)


async def find_texts(reader: Reader, text: str, limit: int = HITS_READ, *, large: bool = False) -> Hits:
    """Find nodes by a part of their title, error or payload.

    ``large``: also in values of more than 64 kB, within the time limit of a read. ``Hits.searched`` says how far
    the engine could search them.
    """
    if "search" not in reader.engine.statements:
        return Hits(engine=reader.label, unsearched="unstick searches this engine by ids only")
    return await _hits(reader, "search", text, limit, in_order=True, bytes=ANY_BYTES if large else SEARCHED_BYTES)


async def _hits(reader: Reader, which: str, text: str, limit: int, *, in_order: bool, bytes: int = 0) -> Hits:
    variant = reader.variant
    async with variant.reading(in_order=in_order) as transaction:
        chosen = variant.needed(which)
        rows = await variant.rows(transaction, which, chosen, query=text, limit=limit + 1, bytes=bytes)
        read = await reader.pages.of(transaction, rows, limit)
    with readable(f"{which}.sql"):
        matched = {reader.ids.full(row["id"]): Match(row["matched"]) for row in reversed(rows) if row["id"] is not None}
    hits = [Hit(node=node, matched=matched.get(node.id, Match.ID)) for node in read.nodes]
    hits.sort(key=lambda hit: RANKS[hit.matched])
    return Hits(
        engine=reader.label, hits=tuple(hits[:limit]), at=read.at, capped=len(hits) > limit, searched=read.scope
    )


def only(answers: Iterable[Hits]) -> Node | None:
    """Return the only node with the id that was searched for, or None."""
    answers = tuple(answers)
    hits = [hit for answer in answers for hit in answer.hits]
    nodes = sure(answers)
    certain = len(hits) == 1 or any(hit.matched in SURE for hit in hits)
    return nodes[0] if len(nodes) == 1 and certain else None


def sure(answers: Iterable[Hits]) -> Sequence[Node]:
    """Return the nodes whose id matches best.

    These are the nodes with that id; without any, those with another id; without any, those whose id begins so.
    """
    hits = [hit for answer in answers for hit in answer.hits]
    for best in (Match.ID, Match.REFERENCE, Match.BEGINNING):
        if nodes := [hit.node for hit in hits if hit.matched is best]:
            return nodes
    return ()


def _concerned(reader: Reader, query: Sought, readers: Iterable[Reader]) -> bool:
    return bool(query.text or _of(reader, query, readers))


def _of(reader: Reader, query: Sought, readers: Iterable[Reader]) -> list[str]:
    """Return the full ids of this engine, and the ids without an engine."""
    return [i for i in query.ids if reader.ids.owns(i) or not any(each.ids.owns(i) for each in readers)]


async def _answer(reader: Reader, query: Sought, readers: Iterable[Reader], *, texts: bool, large: bool) -> Hits:
    hits = Hits(engine=reader.label)
    for each in _of(reader, query, readers):
        named = await attempted(_by_id(reader, each, exact=query.exact))
        if isinstance(named, DatabaseError):
            return msgspec.structs.replace(hits, unreadable=named.line)
        hits = _joined(hits, named)
    if not (texts and query.text):
        return hits
    holding = await attempted(find_texts(reader, query.text, large=large))
    if isinstance(holding, DatabaseError):
        return msgspec.structs.replace(hits, unsearched=holding.line)
    return _joined(hits, holding)


async def _by_id(reader: Reader, each: str, *, exact: bool) -> Hits:
    of_kind = _OF_KIND.fullmatch(each) if exact else None
    if reader.ids.owns(each) or (of_kind is not None and reader.engine.kind(of_kind[1])):
        page = await reader.nodes.read([each])
        if page.nodes or of_kind is None:
            hits = tuple(Hit(node=node, matched=Match.ID) for node in page.nodes)
            return Hits(engine=reader.label, hits=hits, at=page.at)
    answer = await find(reader, each if of_kind is None else of_kind[2])
    if not exact:
        return answer
    hits = tuple(hit for hit in answer.hits if hit.matched in SURE)
    return msgspec.structs.replace(answer, hits=hits, capped=answer.capped and len(hits) == len(answer.hits))


def _joined(one: Hits, two: Hits) -> Hits:
    """Return two answers of an engine as one, each node once with its best match."""
    hits: dict[str, Hit] = {}
    for hit in sorted((*one.hits, *two.hits), key=lambda hit: RANKS[hit.matched]):
        hits.setdefault(hit.node.id, hit)
    return msgspec.structs.replace(
        two,
        hits=tuple(hits.values())[:HITS_READ],
        at=max(one.at, two.at),
        capped=one.capped or two.capped or len(hits) > HITS_READ,
        searched=two.searched or one.searched,
    )
