"""Effects of an action's statements: changed columns and rows, locks, calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from queries.contract.sql_calls import Token, tokens_of
from queries.files.statement import Statement
from queries.records.record import Record

# Patterns of a statement whose parts have one space between them.
_NAME = r"@schema \. (?P<name>\w+)"
_UPDATE = re.compile(rf"\bUPDATE (?:ONLY )?{_NAME}(?: (?:AS )?\w+)?? SET\b")
_INSERT = re.compile(rf"\bINSERT INTO {_NAME}")
_UPSERT = re.compile(r"\bON CONFLICT\b.*?\bDO (NOTHING|UPDATE)\b")
_DELETE = re.compile(rf"\bDELETE FROM (?:ONLY )?{_NAME}")
_CALL = re.compile(rf"(?<!INTO ){_NAME} \(")
_LOCK = re.compile(r"\bFOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)\b(?: OF (\w+(?: , \w+)*))?")
_SOURCE = re.compile(rf"(?:\bFROM|\bJOIN|,) {_NAME}\b(?! \()(?: (?:AS )?(?P<alias>\w+))?")
_TARGET = re.compile(r" (?:\((?P<several>[^)]*)\)|(?P<one>\w+))")
_DELIMITER = re.compile(r"[(),]|\b(?:DISTINCT FROM|FROM|WHERE|RETURNING)\b")
_ENCODED = re.compile(r"__name_((?:[0-9a-f]{2})+)")


class Effects(Record):
    """Effects of statements.

    ``columns`` are those that an UPDATE sets, as ``table.column``. The other names are tables, and functions of the
    engine. ``optional`` are the functions of parts that are skipped if their needs are not met.
    """

    columns: tuple[str, ...]
    inserts: tuple[str, ...]
    deletes: tuple[str, ...]
    locks: tuple[str, ...]
    calls: tuple[str, ...]
    optional: tuple[str, ...]

    @property
    def done(self) -> tuple[str, ...]:
        """The effects as privileges: ``"UPDATE task"``, ``"EXECUTE send"``."""
        updates = dict.fromkeys(column.partition(".")[0] for column in self.columns)
        names = (("UPDATE", updates), ("INSERT", self.inserts), ("DELETE", self.deletes))
        called = (("EXECUTE", (*self.calls, *self.optional)),)
        return tuple(f"{word} {name}" for word, each in (*names, *called) for name in each)


def effects_of(statements: Iterable[Statement]) -> Effects:
    """Return the effects of an action's statements."""
    effects: dict[str, list[str]] = {field: [] for field in Effects.__struct_fields__}
    for statement in statements:
        text = _plain(statement.text)
        for update in _UPDATE.finditer(text):
            effects["columns"] += (f"{update['name']}.{column}" for column in _set(text, update.end()))
        for insert in _INSERT.finditer(text):
            effects["inserts"].append(insert["name"])
            upsert = _UPSERT.search(text, insert.end())
            if upsert and upsert[1] == "UPDATE":
                effects["locks"].append(insert["name"])
        effects["deletes"] += (match["name"] for match in _DELETE.finditer(text))
        effects["locks"] += _locked(text)
        effects["optional" if statement.needs else "calls"] += (match["name"] for match in _CALL.finditer(text))
    return Effects(**{field: tuple(dict.fromkeys(map(_decoded, names))) for field, names in effects.items()})


@cache
def _plain(sql: str) -> str:
    """Return a text with one space between its tokens. Actions share many texts."""
    return " ".join(map(_word, tokens_of(sql)))


def _word(token: Token) -> str:
    """Return a token as one word, or a sign."""
    if token.text.startswith(':"'):
        return "@schema" if token.text == ':"schema"' else token.text[2:-1]
    if token.kind in ("text", "bound"):
        return "''"
    return f"__name_{token.word.encode().hex()}" if token.text[-1] == '"' else token.text


def _decoded(names: str) -> str:
    """Return names with those that quotes made one word as they are."""
    return _ENCODED.sub(lambda match: bytes.fromhex(match[1]).decode(), names)


def _set(text: str, start: int) -> Iterator[str]:
    """Yield the columns of the SET list at an offset."""
    depth = 0
    yield from _target(text, start)
    for match in _DELIMITER.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth < 0 or (depth == 0 and match[0] in ("FROM", "WHERE", "RETURNING")):
            return
        if depth == 0 and match[0] == ",":
            yield from _target(text, match.end())


def _target(text: str, start: int) -> Iterator[str]:
    match = _TARGET.match(text, start)
    if match:
        yield from re.findall(r"\w+", match["several"] or match["one"])


def _locked(text: str) -> Iterator[str]:
    """Yield the tables whose rows a SELECT locks, which requires UPDATE on them."""
    for lock in _LOCK.finditer(text):
        aliases = re.findall(r"\w+", lock[1] or "")
        for source in _SOURCE.finditer(_level(text, lock.start())):
            if not aliases or source["alias"] in aliases or source["name"] in aliases:
                yield source["name"]


def _level(text: str, end: int) -> str:
    """Return the text of the query before an offset, without the queries inside it."""
    characters: list[str] = []
    depth = 0
    for character in reversed(text[:end]):
        depth += {")": 1, "(": -1}.get(character, 0)
        if depth < 0:
            break
        characters.append(character if depth == 0 else " ")
    return "".join(reversed(characters))
