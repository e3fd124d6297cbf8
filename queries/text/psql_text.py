"""Names and texts in SQL that cannot change the statement.

Scripts name them as psql does: ``:"x"`` is a quoted identifier, ``:'x'`` a text, and ``:x`` stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_VARIABLE = re.compile(r""":(?<![:\w]:)(?:"(\w+)"|'(\w+)'|(\w+))""")  # begins with a literal: 13 times faster
_UNSAFE = re.compile(r"[^\w ./+*=<>,;()\[\]{}@#!?%&|~^`:-]|--|/\*")  # `$`, quotes, `\`, line breaks, comments
_ESCAPED = re.compile(r"[^\w .+=<>,;()\[\]{}@#!?%&|~^`]")
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = (  # words with a space around each
    " all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate "
    "collation column concurrently constraint create cross current_catalog current_date current_role "
    "current_schema current_time current_timestamp current_user default deferrable desc distinct do else end "
    "except false fetch for foreign freeze from full grant group having ilike in initially inner intersect into "
    "is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on "
    "only or order outer overlaps placing primary references returning right select session_user similar some "
    "symmetric system_user table tablesample then to trailing true union unique user using variadic verbose "
    "when where window with "
)


def identifier(name: str) -> str:
    """Return a name as a quoted identifier on one line.

    The server removes the escapes, so a name that holds ``$1``, ``:"schema"`` or a line break is the same name.
    """
    return _quoted(name, '"')


def quoted_name(name: str) -> str:
    """Return a name in quotes, with all characters as they are."""
    return '"' + name.replace('"', '""') + '"'


def sql_name(name: str) -> str:
    """Return a name as SQL, with quotes if it needs them."""
    return name if _PLAIN.fullmatch(name) and f" {name} " not in _RESERVED else identifier(name)


def named(identifier: str) -> str:
    """Return the name that an identifier on one line quotes."""
    name = identifier.removeprefix("U&")[1:-1].replace('""', '"')
    escaped = r"\\\+([0-9A-F]{6})"
    return re.sub(escaped, lambda match: chr(int(match[1], 16)), name) if identifier.startswith("U&") else name


def literal(text: str) -> str:
    """Return a text as a constant on one line."""
    return _quoted(text, "'")


def bound(text: str, values: Mapping[str, str]) -> str:
    """Return a script with values for its variables. Unknown variables stay."""

    def value(match: re.Match[str]) -> str:
        quoted, constant, raw = match.groups()
        if (quoted or constant or raw) not in values:
            return match[0]
        if quoted:
            return identifier(values[quoted])
        return literal(values[constant]) if constant else values[raw]

    return _VARIABLE.sub(value, text)


def _quoted(text: str, quote: str) -> str:
    if not _UNSAFE.search(text):
        return f"{quote}{text}{quote}"
    escaped = _ESCAPED.sub(lambda match: f"\\+{ord(match[0]):06X}", text)
    return f"U&{quote}{escaped}{quote}"


def array(texts: Iterable[str]) -> str:
    """Return the text of an array of texts."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in escaped) + "}"


def sql_words(sql: str) -> list[str]:
    """Return the words of an SQL text without its literals."""
    return re.findall(r"\w+", re.sub(r"'(?:[^']|'')*'", "", sql))


_ITEM = re.compile(r'[{}]|"((?:[^"\\]|\\.)*)"|[^,{}"]+', re.DOTALL)


def items(array: str) -> list[Any]:
    """Return the elements of an array in the server's text form, as texts and lists."""
    lists: list[list[Any]] = [[]]
    for match in _ITEM.finditer(array, array.index("{")):
        if match[0] == "{":
            lists.append([])
            lists[-2].append(lists[-1])
        elif match[0] == "}":
            lists.pop()
        elif match[1] is not None:
            lists[-1].append(re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL))
        else:
            lists[-1].append(None if match[0] == "NULL" else match[0])
    return list(lists[0][0])
