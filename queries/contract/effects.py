"""Effects of an action's statements: changed columns and rows, locks, calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
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
WRITTEN = re.compile(  # rows of a change as its file has it: how, of which table, and an UPDATE's name of it
    r'(UPDATE|DELETE|INSERT)(?: FROM| INTO)?\s+:"schema"\.:?"?(\w+)"?(?:\s+(?:AS\s+)?(\w+)\s+SET\b)?'
)
_STOP = re.compile(r"'(?:[^']|'')*'|[(),]|\b(?:(?<!DISTINCT )FROM|WHERE|RETURNING)\b")
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
            columns = (re.findall(r"\w+", part.partition("=")[0]) for part in _set(text, update.end()))
            effects["columns"] += (f"{update['name']}.{column}" for each in columns for column in each)
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
    """Yield the parts of the SET list at an offset."""
    depth = 0
    for stop in _STOP.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(stop[0], 0)
        ends = depth < 0 or (depth == 0 and stop[0].isalpha())
        if ends or (depth == 0 and stop[0] == ","):
            yield text[start : stop.start()]
            start = stop.end()
        if ends:
            return
    yield text[start:]


def set_values(sql: str, update: re.Match[str], settings: Collection[str]) -> dict[str, str]:
    """Return the values that an UPDATE sets, as SQL of its row ``t``.

    "": more than the row and the settings decides.
    """
    values: dict[str, str] = {}
    for part in _set(sql, update.end()):
        columns, _, text = part.partition("=")
        names, bare = re.findall(r"\w+", columns), re.sub("'[^']*'|::", " ", text)
        known = {*re.findall(r"\b(\w+)\.", bare)} <= {update[3]} and {*re.findall(r":(\w+)", bare)} <= {*settings}
        row = f"(SELECT {text.strip()} FROM (SELECT t.*) AS {update[3]})"
        values |= dict.fromkeys(
            names, row if known and len(names) == 1 and ':"' not in bare and text.split() != ["DEFAULT"] else ""
        )
    return values


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
