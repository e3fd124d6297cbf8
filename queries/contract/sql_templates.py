"""Templates of derived statements, with values for their slots.

A slot is a word after a colon, as a variable in psql.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from queries.contract.folder import TEMPLATES

Lines = list[str]
Filled = dict[str, str | Lines]
Values = Mapping[str, str | Lines]

_SLOT = re.compile(r"(?<![:\w]):([a-z_]+)\b")


@cache
def template(name: str) -> tuple[str, ...]:
    """Return the lines of a template."""
    return tuple((TEMPLATES / f"{name}.sql").read_text("utf-8").splitlines())


def one_line(template: str, /, **values: str) -> str:
    """Return a template of one line with these values."""
    (text,) = filled(template, values)
    return text


def filled(name: str, values: Values) -> Lines:
    """Return a template with these values."""
    return list(_lines(template(name), values))


def repeated(name: str, values: Values, parts: Iterable[Values]) -> Lines:
    """Return a template with a UNION ALL of its lines from ``:each`` to ``:end``."""
    lines = template(name)
    begin = lines.index("-- :each")
    end = lines.index("-- :end") if "-- :end" in lines else len(lines)
    bodies = joined(list(_lines(lines[begin + 1 : end], part)) for part in parts)
    return [*_lines(lines[:begin], values), *bodies, *_lines(lines[end + 1 :], values)]


def joined(parts: Iterable[Lines]) -> Lines:
    """Return statements joined with UNION ALL."""
    joined: Lines = []
    for part in parts:
        joined += [*(["UNION ALL"] if joined else []), *part]
    return joined


def _lines(template: Iterable[str], values: Values) -> Iterator[str]:
    for line in template:
        alone = re.fullmatch(r"(.*?)(?:-- )?(?<![:\w]):([a-z_]+)", line)
        several = values.get(alone[2]) if alone else None
        if alone and isinstance(several, list):
            indent = alone[1]
            yield from ((indent if n == 0 else " " * len(indent)) + text for n, text in enumerate(several))
        else:
            yield _SLOT.sub(lambda match: str(values.get(match[1], match[0])), line)
