"""Find the places of settings in a TOML text. ``tomllib`` returns only values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from queries.files.written import Path

Place = tuple[int, int]  # line and column, from 1
Tokens = Iterator[tuple[str, str, Place]]  # kind, the token, its place

_TOKEN = re.compile(
    r"""
      (?P<space>   [ \t]++ | \#[^\n]*+ )
    | (?P<newline> \r?\n )
    | (?P<string>  \"{3} (?: \\[\s\S] | (?!\"{3})[^\\] )*+ \"{3,5}
                 | '{3} (?: (?!'{3})[\s\S] )*+ '{3,5}
                 | \" (?: \\. | [^\"\\\n] )*+ \"
                 | ' [^'\n]*+ ' )
    | (?P<mark>    [\[\]{}=,.] )
    | (?P<bare>    [^\s\[\]{}=,.\#\"']++ )
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=1)  # a loader asks for hundreds of settings of one file
def places(text: str) -> dict[Path, Place]:
    """Return the place of every table, key and array element in valid TOML.

    Array elements are counted from 0, as in what ``tomllib.loads`` returns for the same text.
    """
    return _Scanner(text).scan()


def place_of(table_places: dict[Path, Place], path: Path) -> Place:
    """Return the place of ``path``, or of the nearest known table, or the first one."""
    while path and path not in table_places:
        path = path[:-1]
    return table_places.get(path, (1, 1))


class _Scanner:
    """Single-pass scanner of the tokens.

    ``within`` is the stack of open brackets around a value.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: dict[Path, Place] = {}
        self.table: Path = ()
        self.elements: dict[Path, int] = {}  # arrays of tables: the index of the last element
        self.within: list[tuple[str, Path]] = []

    def scan(self) -> dict[Path, Place]:
        tokens = self._tokens()
        for kind, token, place in tokens:
            if kind == "newline":
                continue
            if token == "[" and kind == "mark":
                self._header(tokens)
            else:
                self._value(tokens, self._key(tokens, token, place, self.table))
        return self.places

    def _tokens(self) -> Tokens:
        line, start = 1, 0
        for match in _TOKEN.finditer(self.text):
            kind, token = match.lastgroup or "", match.group()
            if kind != "space":
                yield kind, token, (line, match.start() - start + 1)
            if "\n" in token:
                line += token.count("\n")
                start = match.start() + token.rindex("\n") + 1

    def _header(self, tokens: Tokens) -> None:
        """Read ``[a.b]`` or ``[[a.b]]`` after its first bracket."""
        brackets, parts = 1, []
        for kind, token, place in tokens:
            if kind == "newline":
                break
            brackets += token == "[" and kind == "mark"
            if kind in ("string", "bare"):
                parts.append((_name(kind, token), place))
        path: Path = ()
        for part, place in parts[:-1]:
            path = self._inside((*path, part))
            self.places.setdefault(path, place)
        name, place = parts[-1]
        path = (*path, name)
        if brackets > 1:
            self.places.setdefault(path, place)
            self.elements[path] = self.elements.get(path, -1) + 1
        self.table = self._inside(path)
        self.places[self.table] = place

    def _inside(self, path: Path) -> Path:
        """Return ``path``, or the last element if it is an array of tables."""
        return (*path, self.elements[path]) if path in self.elements else path

    def _key(self, tokens: Tokens, token: str, place: Place, table: Path) -> Path:
        """Read ``a.b =`` after its first token.

        Record a place for each part of a dotted key.
        """
        path, kind = table, "string" if token[0] in "\"'" else "bare"
        while token != "=" or kind != "mark":
            if kind in ("string", "bare"):
                path = (*path, _name(kind, token))
                self.places.setdefault(path, place)
            kind, token, place = next(tokens, ("mark", "=", place))
        return path

    def _value(self, tokens: Tokens, path: Path) -> None:
        """Read the value after a ``=``, to the end of its last line."""
        self.within.clear()
        awaits_key = False
        for kind, token, place in tokens:
            if kind == "newline":
                if not self.within:
                    return
                continue
            if awaits_key and token != "}":
                path = self._key(tokens, token, place, self.within[-1][1])
                awaits_key = False
                continue
            if self.within and self.within[-1][0] == "[" and token != "]":
                self.places.setdefault(path, place)
            if kind == "mark":
                path, awaits_key = self._mark(token, path)

    def _mark(self, token: str, path: Path) -> tuple[Path, bool]:
        """Return the path of the token after a bracket or comma, and True if it is a key."""
        if token == "{":
            self.within.append(("{", path))
            return path, True
        if token == "[":
            self.within.append(("[", path))
            return (*path, 0), False
        if token in "]}":
            return (self.within.pop()[1] if self.within else path), False
        if token == "," and self.within:
            bracket, outer = self.within[-1]
            return self._next(path, outer), bracket == "{"
        return path, False

    @staticmethod
    def _next(path: Path, outer: Path) -> Path:
        """Return the path of the element after ``path`` in ``outer``.

        In an inline table the next key completes it.
        """
        last = path[len(outer)] if len(path) > len(outer) else 0
        return (*outer, last + 1) if isinstance(last, int) else outer


def _name(kind: str, token: str) -> str:
    import tomllib  # slow to import, and only faults need it

    return token if kind == "bare" else str(tomllib.loads(f"name = {token}")["name"])
