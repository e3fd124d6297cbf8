"""Templates of derived statements, with values for their slots.

A slot is a word after a colon, as a variable in psql. Each line keeps the setting of ``engine.toml`` that it is from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from queries.contract.folder import TEMPLATES
from queries.files.written import Path as Setting

Lines = list[tuple[str, Setting]]
Filled = dict[str, str | tuple[str, Setting] | Lines]
Values = Mapping[str, str | tuple[str, Setting] | Lines]
TemplatePart = tuple[Setting, Values]


_SLOT = re.compile(r"(?<![:\w]):([a-z_]+)\b")


@cache
def template(name: str) -> tuple[str, ...]:
    """Return the lines of a template."""
    return tuple((TEMPLATES / f"{name}.sql").read_text("utf-8").splitlines())


def one_line(template: str, /, **values: str) -> str:
    """Return a template of one line with these values."""
    ((text, _),) = filled(template, (), values)
    return text


def filled(name: str, at: Setting, values: Values) -> Lines:
    """Return a template with these values.

    ``at``: the setting of lines without a value.
    """
    return list(_lines(template(name), at, values))


def repeated(name: str, at: Setting, values: Values, parts: Iterable[TemplatePart]) -> Lines:
    """Return a template with a UNION ALL of its lines from ``:each`` to ``:end``."""
    lines = template(name)
    begin = lines.index("-- :each")
    end = lines.index("-- :end") if "-- :end" in lines else len(lines)
    bodies = [list(_lines(lines[begin + 1 : end], path, part)) for path, part in parts]
    return [*_lines(lines[:begin], at, values), *joined(bodies), *_lines(lines[end + 1 :], at, values)]


def joined(parts: Iterable[Lines]) -> Lines:
    """Return statements joined with UNION ALL."""
    joined: Lines = []
    for part in parts:
        joined += [("UNION ALL", part[0][1])] if joined else []
        joined += part
    return joined


def _lines(template: Iterable[str], at: Setting, values: Values) -> Iterator[tuple[str, Setting]]:
    for line in template:
        alone = re.fullmatch(r"(.*?)(?:-- )?(?<![:\w]):([a-z_]+)", line)
        several = values.get(alone[2]) if alone else None
        if alone and isinstance(several, list):
            indent = alone[1]
            for m, (text, path) in enumerate(several):
                yield (indent if m == 0 else " " * len(indent)) + text, path or at
            continue
        path = at
        for name in _SLOT.findall(line):
            value = values.get(name)
            path = value[1] if isinstance(value, tuple) else path
        yield _SLOT.sub(lambda match: _text(values, match), line), path


def _text(values: Values, match: re.Match[str]) -> str:
    value = values.get(match[1], match[0])
    return value if isinstance(value, str) else str(value[0])
