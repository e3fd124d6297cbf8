"""Indent, parse and respell JSON without losing digits, keys or white space.

A text is indented by its tokens, one value per line, without parsing it into values. These lines are produced lazily,
nesting may be of any depth, and the text may be truncated.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from queries.text.safe_text import shown_bytes

_SPACE = r"[ \t\r\n]*+"
_TOKEN = re.compile(
    _SPACE
    + r"""(?: (?P<mark> [\[\]{},:] )
            | (?P<string> " [^"\\\x00-\x1f]*+ (?: \\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}) [^"\\\x00-\x1f]*+ )*+ " )
            | (?P<scalar> (?: -?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+ | true | false | null )
                          (?![\w.+-]) ) )""",
    re.VERBOSE | re.ASCII,
)
_CUT_OFF = re.compile(
    _SPACE + r'("[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+\\?|[-+.\w]{0,400}+)\Z', re.ASCII
)

# Tokens that may come next. A value is named by its first character, any scalar by "0".
_VALUE, _FIRST_VALUE, _KEY, _FIRST_KEY, _COLON = '{["0', '{["0]', '"', '"}', ":"
_CLOSES = {"{": "}", "[": "]"}


_ESCAPE = re.compile(
    r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


class NotJson(ValueError):
    """The part of the text that was read is not JSON."""


def layout(text: str, whole: bool, width: int, show: Callable[[str, int], str]) -> Iterator[str]:
    """Yield the lines of ``text``, indented by two columns per level.

    The indent is at most half of ``width``. ``show`` renders a string or number for the remaining columns. If
    ``whole`` is False the text may end anywhere, and the last line ends in ``…``. Raises NotJson at the first token
    that is not JSON.
    """
    return _Layout(text, whole, width, show).lines()


class _Layout:
    def __init__(self, text: str, whole: bool, width: int, show: Callable[[str, int], str]) -> None:
        self.text, self.whole, self.width, self.show = text, whole, width, show
        self.open: list[str] = []
        self.awaits = _VALUE
        self.line = ""

    def lines(self) -> Iterator[str]:
        for kind, token in self._tokens():
            if kind not in self.awaits:
                raise NotJson
            if kind in "]}":
                yield from self._close(token)
            else:
                if self.awaits in (_FIRST_VALUE, _FIRST_KEY):
                    yield self._break()
                self._add(kind, token)
                if kind == ",":
                    yield self._break()
        if self.whole and (self.open or self.awaits):
            raise NotJson
        yield self.line if self.whole else f"{self.line}…"

    def _tokens(self) -> Iterator[tuple[str, str]]:
        at = 0
        while match := _TOKEN.match(self.text, at):
            at = match.end()
            token = match[match.lastgroup or 0]
            yield ("0" if match.lastgroup == "scalar" else token[0]), token
        rest = _CUT_OFF.match(self.text, at)
        if rest is None or (self.whole and rest[1]):
            raise NotJson
        if rest[1]:
            yield ('"' if rest[1][0] == '"' else "0"), rest[1]

    def _add(self, kind: str, token: str) -> None:
        if kind in "{[":
            self.open.append(token)
            self.line += token
            self.awaits = _FIRST_KEY if kind == "{" else _FIRST_VALUE
        elif kind == ",":
            self.line += ","
            self.awaits = _KEY if self.open[-1] == "{" else _VALUE
        elif kind == ":":
            self.line += ": "
            self.awaits = _VALUE
        else:
            self.line += self.show(token, self.width - len(self.line) - 1)
            self.awaits = _COLON if self.awaits in (_KEY, _FIRST_KEY) else self._after()

    def _after(self) -> str:
        """Return the tokens that may follow a value: a comma or the closing bracket."""
        return "," + _CLOSES[self.open[-1]] if self.open else ""

    def _close(self, token: str) -> Iterator[str]:
        empty = self.awaits in (_FIRST_VALUE, _FIRST_KEY)
        self.open.pop()
        if not empty:
            yield self._break()
        self.line += token
        self.awaits = self._after()

    def _break(self) -> str:
        """End the line and begin the next at its indent."""
        line, self.line = self.line, " " * min(2 * len(self.open), self.width // 2)
        return line


UNCUT_CELLS = 1 << 30  # cells of a line that is never cut
PAIRS_ALIGNED = 250_000  # most pairs of tokens to align; beyond, all tokens between two equal ends count as new


class Number(NamedTuple):
    """A number as it is spelled."""

    text: str


class Parsed(NamedTuple):
    """A JSON text as a value, with numbers as spelled.

    ``repeated``: keys that occur twice in an object.
    """

    value: Any
    repeated: tuple[str, ...]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def below(path: str, key: str) -> str:
    """Return the path of a key: ``$.items.price`` or ``$["unit price"]``."""
    return f"{path}.{key}" if _NAME.match(key) else f"{path}[{json.dumps(key)}]"


def parse(text: str) -> Parsed:
    """Parse a whole text. Raises NotJson, whose str() says where it ends to be JSON."""
    repeated: dict[str, None] = {}

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(members)
        if len(values) < len(members):
            repeated.update(dict.fromkeys(key for key, n in Counter(key for key, _ in members).items() if n > 1))
        return values

    def refuse(word: str) -> Any:
        raise NotJson(f"{word} is not a JSON value")

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_float=Number, parse_int=Number, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise NotJson(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    return Parsed(value, tuple(repeated))


def pretty(text: str) -> list[str]:
    """Return the lines of a whole text, indented.

    Every token is as it is spelled. Raises NotJson.
    """
    return list(layout(text, True, UNCUT_CELLS, lambda token, _: token))


def respelled(before: str, after: str) -> str:
    """Return ``after`` with the white space of ``before``.

    That is where its tokens are the same, or replaced one by one. New tokens of a text on one line get the spaces that
    ``before`` has after its first colon and comma. Raises NotJson.
    """
    old, first_end = _spelled(before)
    new, _ = _spelled(after)
    one_line = not any("\n" in space for space, _ in old)
    spaces = {mark: next((o[0] for p, o in pairwise(old) if p[1] == mark), "") for mark in ":,"}
    parts: list[str] = []
    for kept, (space, token) in zip(_kept(old, new), new, strict=True):
        if kept is not None:
            space = old[kept][0]
        elif one_line:
            space = spaces.get(parts[-1], "") if parts else ""
        parts += [space, token]
    return "".join(parts) + first_end


def _kept(old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> list[int | None]:
    """Return for each new token the place of the same old token, or None.

    A token that replaces a single one has the place of that one.
    """
    left, right = [token for _, token in old], [token for _, token in new]
    start, end = equal_ends(left, right)
    was, now = left[start : len(left) - end], right[start : len(right) - end]
    places: list[int | None] = [*range(start), *[None] * len(now), *range(len(left) - end, len(left))]
    for _, begin, stop, at, upto in _operations(was, now):
        if stop - begin == upto - at:
            places[start + at : start + upto] = range(start + begin, start + stop)
    return places


def equal_ends(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """Return the number of equal texts at the begin of both sequences, and at the end."""
    start, least = 0, min(len(left), len(right))
    while start < least and left[start] == right[start]:
        start += 1
    end = 0
    while end < least - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return start, end


def _operations(was: Sequence[str], now: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if len(was) * len(now) > PAIRS_ALIGNED:
        return [("replace", 0, len(was), 0, len(now))]
    return SequenceMatcher(None, was, now, autojunk=False).get_opcodes()


def _spelled(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return each token with the white space before it, and that at the end.

    Raises NotJson.
    """
    tokens, at = [], 0
    while match := _TOKEN.match(text, at):
        name = match.lastgroup or 0
        tokens.append((text[at : match.start(name)], match[name]))
        at = match.end()
    if text[at:].strip(" \t\r\n"):
        raise NotJson(f"line {text.count(chr(10), 0, at) + 1} is not JSON")
    return tokens, text[at:]


DIGITS = 4300  # of a number; Python converts no more
LEVELS = 200  # of nesting: what uses a value with more could reach Python's limit of recursion
_PART = re.compile(r'[\[\]{}]|"(?:[^"\\]++|\\.)*+"?|[^"\[\]{}]++', re.DOTALL)
_NO_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(x[0-9a-f]{2})")


def decoded(text: str | bytes) -> Any:
    """Return the value of a JSON text that the server accepts as ``json``.

    Its checks are fewer than those of a parser: the escape of a single surrogate becomes its six characters, and a
    number that is too large for a float becomes a string. In a database in SQL_ASCII it may hold bytes that are no
    text, which are read as ``\\xe9``. A text that is nested too deeply is cut. Raises msgspec.DecodeError.
    """
    try:
        return msgspec.json.decode(text)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        if isinstance(text, bytes):
            text = shown_bytes(text.decode("utf-8", "surrogateescape"))
        try:
            text = cut(paired(_NO_ESCAPE.sub(r"\1\\\\\2", text)))
            return json.loads(text, parse_float=_number, parse_int=_whole)
        except (ValueError, RecursionError):
            raise msgspec.DecodeError(str(error)) from None


def cut(text: str) -> str:
    """Return a JSON text with ``"…"`` in place of what is nested deeper than LEVELS."""
    parts, level = [], 0
    for token in _PART.findall(text):
        level -= token in "]}"
        if level < LEVELS or (level == LEVELS and token[0] not in "[{]}"):
            parts.append(token)
        elif level == LEVELS and token in "[{":
            parts.append('"…"')
        level += token in "[{"
    return "".join(parts)


def paired(text: str) -> str:
    """Return a JSON text with the escape of a single surrogate as six characters."""
    if re.search(r"\\u[dD][89a-fA-F]", text) is None:
        return text
    return _ESCAPE.sub(lambda match: f"\\\\{match[2]}" if match[2] else match[0], text)


def _number(digits: str) -> float | str:
    return value if math.isfinite(value := float(digits)) else digits


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) < DIGITS else digits
