"""Indent JSON by its tokens, one value per line, without parsing it into values.

Lines are produced lazily, nesting may be of any depth, and the text may be truncated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
