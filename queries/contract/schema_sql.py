"""Objects that ``schema.sql`` makes, with the names that the server gives them.

It reads CREATE TABLE, INDEX and TRIGGER, and what ALTER TABLE adds. It does not know what a table inherits, what a DO
block makes, what a later statement drops or renames, and the name of an index on an expression that is no function.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from itertools import count

from queries.contract.effects import decoded, encoded
from queries.contract.spec import Own

LONGEST = 63  # bytes of a name

_TEXT = re.compile(
    r"""--[^\n]*|/\*.*?\*/|(?P<text>\b[eE]'(?:[^'\\]|\\.|'')*'|'[^']*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"""
    r"""|(?P<quoted>(?:U&)?"(?:[^"]|"")*")""",
    re.DOTALL,
)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_NAME = r"(?:\w+\.)?(\w+)"
_TABLE = re.compile(rf"create (?:\w+ )?table (?:if not exists )?{_NAME} ?\{{(\d+)\}}")
_ALTER = re.compile(rf"alter table (?:if exists )?(?:only )?{_NAME} (.*)")
_ADD = re.compile(r"add (?:column )?(?:if not exists )?(.*)")
_INDEX = re.compile(
    r"create (unique )?index (?:concurrently )?(?:if not exists )?(?:(\w+) )?"
    rf"on (?:only )?{_NAME} ?(?:using \w+ ?)?\{{(\d+)\}}(?: ?include ?\{{(\d+)\}})?"
)
_TRIGGER = re.compile(rf"create (?:or replace )?(?:constraint )?trigger (\w+) .*? on {_NAME}")
_CONSTRAINT = re.compile(
    r"(?:\bconstraint (\w+) )?\b(primary key|check|unique|exclude(?= using| ?\{)|foreign key|references)\b"
    r"(?: nulls(?: not)? distinct| using \w+)? ?(?:\{(\d+)\})?(?: ?include ?\{(\d+)\})?"
)
_ENDS = {"check": "check", "unique": "key", "exclude": "excl", "foreign key": "fkey", "references": "fkey"}  # of names
_USED = re.compile(r"(?:\b\w+\.)?(?<!\}\.)(?<![:\w])(?<!\bas )\b(\w+)\b(?! ?\{| ?''|\.)")


def own_objects(sql: str) -> Own:
    """Return the objects that a script makes on its tables."""
    schema = _Schema(sql)
    columns = (f"{table}.{column}" for table, some in schema.columns.items() for column in some)
    return Own(triggers=tuple(schema.triggers), constraints=tuple(schema.constraints), columns=tuple(columns))


class _Schema:
    """Objects of a script. ``{7}`` is the 7th text in parentheses."""

    def __init__(self, sql: str) -> None:
        self.triggers: list[str] = []
        self.constraints: list[str] = []
        self.columns: dict[str, list[str]] = {}
        self._named: set[str] = set()
        self._groups: list[str] = []
        text, n = " ".join(_TEXT.sub(_word, sql).translate(_LOWER).split()), 1
        while n:
            text, n = _PARENTHESES.subn(self._group, text)
        for statement in text.split(";"):
            self._run(statement.strip())

    def _group(self, match: re.Match[str]) -> str:
        self._groups.append(match[1])
        return f"{{{len(self._groups) - 1}}}"

    def _run(self, statement: str) -> None:
        if made := _TABLE.match(statement):
            self._add(_name(made[1]), self._elements(made[2]))
        elif altered := _ALTER.match(statement):
            self._add(_name(altered[1]), (m[1] for each in altered[2].split(",") if (m := _ADD.match(each.strip()))))
        elif index := _INDEX.match(statement):
            name = self._name(index[2], _name(index[3]), self._parts(index[4], index[5]), "idx")
            self.constraints += [name] if index[1] else []
        elif trigger := _TRIGGER.match(statement):
            self.triggers.append(f"{_name(trigger[2])}.{_name(trigger[1])}")

    def _add(self, table: str, elements: Iterable[str]) -> None:
        """Add columns and constraints to a table."""
        found: list[tuple[str, re.Match[str]]] = []
        columns = self.columns.setdefault(table, [])
        for element in elements:
            if match := _CONSTRAINT.match(element):
                found.append(("", match))
            else:
                word, _, rest = element.partition(" ")
                columns.append(_name(word))
                found += ((columns[-1], match) for match in _CONSTRAINT.finditer(rest))
        for column, match in found:
            name, kind, group, included = match.groups()
            parts = [column] if column else self._parts(group, included)
            if kind == "check":
                used = set(columns).intersection(map(_name, self._words(group)))
                parts = [*used] if len(used) == 1 else []
            if kind in _ENDS:
                self.constraints.append(self._name(name, table, parts, _ENDS[kind]))

    def _elements(self, *groups: str | None) -> list[str]:
        return [element.strip() for group in groups if group for element in self._groups[int(group)].split(",")]

    def _parts(self, *groups: str | None) -> list[str]:
        """Return the names that an index gives to its columns."""
        words = (re.match(r"\w+", element) for element in self._elements(*groups))
        return [_name(word[0]) if word else "expr" for word in words]

    def _words(self, group: str) -> Iterator[str]:
        """Yield the words of an expression that may be columns."""
        pending = [group]
        while pending:
            text = self._groups[int(pending.pop())]
            pending += re.findall(r"\{(\d+)\}", text)
            yield from _USED.findall(text)

    def _name(self, given: str | None, table: str, parts: Iterable[str], end: str) -> str:
        """Return the name of a table's object: the given one, or the first that is free."""
        made = (_joined(table, "_".join(parts), f"{end}{n or ''}") for n in count())
        name = _name(given) if given else next(name for name in made if name not in self._named)
        self._named.add(name)
        return f"{table}.{name}"


def _word(match: re.Match[str]) -> str:
    """Return a quoted name as one word, and a text as an empty one."""
    return encoded(match["quoted"]) if match["quoted"] else "''" if match["text"] else " "


def _name(word: str) -> str:
    return _clipped(decoded(word), LONGEST)


def _joined(table: str, columns: str, end: str) -> str:
    """Return a name of at most 63 bytes, as the server shortens its parts."""
    first, second = len(table.encode()), len(columns.encode())
    while first + second > LONGEST - len(f"_{end}") - bool(columns):
        first, second = (first - 1, second) if first > second else (first, second - 1)
    return "_".join(filter(None, (_clipped(table, first), _clipped(columns, second), end)))


def _clipped(name: str, length: int) -> str:
    return name.encode()[:length].decode(errors="ignore")
