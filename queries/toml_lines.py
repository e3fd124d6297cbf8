"""Where in a TOML text a setting stands, for errors that name the line: ``tomllib`` gives values alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

Path = tuple[str | int, ...]
Tokens = Iterator[tuple[str, str, int]]  # kind, the token, its line

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


def lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every table, key and array element in ``text``, which must be valid TOML.

    Array elements are counted from 0, as in what ``tomllib.loads`` returns for the same text.
    """
    return _Scanner(text).scan()


def line_of(known: dict[Path, int], path: Path) -> int:
    """The line of ``path``, else of the nearest thing around it that is known, else 1."""
    while path and path not in known:
        path = path[:-1]
    return known.get(path, 1)


class _Scanner:
    """One walk over the tokens. ``within`` holds the brackets that are open around a value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[Path, int] = {}
        self.table: Path = ()
        self.elements: dict[Path, int] = {}  # arrays of tables: the index of the last element
        self.within: list[tuple[str, Path]] = []

    def scan(self) -> dict[Path, int]:
        tokens = self._tokens()
        for kind, token, line in tokens:
            if kind == "newline":
                continue
            if token == "[" and kind == "mark":
                self._header(tokens, line)
            else:
                self._value(tokens, self._key(tokens, token, line, self.table))
        return self.found

    def _tokens(self) -> Tokens:
        line = 1
        for match in _TOKEN.finditer(self.text):
            kind = match.lastgroup or ""
            if kind != "space":
                yield kind, match.group(), line
            line += match.group().count("\n")

    def _header(self, tokens: Tokens, line: int) -> None:
        """``[a.b]`` or ``[[a.b]]``, the first bracket read."""
        brackets, parts = 1, []
        for kind, token, _ in tokens:
            if kind == "newline":
                break
            brackets += token == "[" and kind == "mark"
            if kind in ("string", "bare"):
                parts.append(_name(kind, token))
        path: Path = ()
        for part in parts[:-1]:
            path = self._inside((*path, part))
            self.found.setdefault(path, line)
        path = (*path, *parts[-1:])
        if brackets > 1:
            self.found.setdefault(path, line)
            self.elements[path] = self.elements.get(path, -1) + 1
        self.table = self._inside(path)
        self.found[self.table] = line

    def _inside(self, path: Path) -> Path:
        """``path``, or the last element of the array of tables of that name."""
        return (*path, self.elements[path]) if path in self.elements else path

    def _key(self, tokens: Tokens, token: str, line: int, table: Path) -> Path:
        """``a.b =``, its first token read. Each part of a dotted key counts as found."""
        path, kind = table, "string" if token[0] in "\"'" else "bare"
        while token != "=" or kind != "mark":
            if kind in ("string", "bare"):
                path = (*path, _name(kind, token))
                self.found.setdefault(path, line)
            kind, token, line = next(tokens, ("mark", "=", line))
        return path

    def _value(self, tokens: Tokens, path: Path) -> None:
        """All that follows a ``=``, down to the end of its line."""
        self.within.clear()
        awaits_key = False
        for kind, token, line in tokens:
            if kind == "newline":
                if not self.within:
                    return
                continue
            if awaits_key and token != "}":
                path = self._key(tokens, token, line, self.within[-1][1])
                awaits_key = False
                continue
            if self.within and self.within[-1][0] == "[" and token != "]":
                self.found.setdefault(path, line)
            if kind == "mark":
                path, awaits_key = self._mark(token, path)

    def _mark(self, token: str, path: Path) -> tuple[Path, bool]:
        """The path of what follows a bracket or comma, and whether a key does."""
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
        """The element after ``path`` in the array ``outer``; in an inline table the key that follows says it."""
        last = path[len(outer)] if len(path) > len(outer) else 0
        return (*outer, last + 1) if isinstance(last, int) else outer


def _name(kind: str, token: str) -> str:
    return token if kind == "bare" else str(tomllib.loads(f"name = {token}")["name"])
