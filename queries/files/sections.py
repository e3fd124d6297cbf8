"""Sections of an SQL file, each begun by a line ``-- :name``."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple


class SqlSection(NamedTuple):
    """One section: its name, what follows in that line, and the offsets of its text."""

    name: str
    options: str
    start: int
    end: int


def sections(text: str, options: str = "") -> list[SqlSection]:
    """Return the sections of a text in order. A name may occur again.

    ``options``: the pattern of what may follow a name.
    """
    marks = [*re.finditer(rf"^-- :(\w+)({options})$", text, re.MULTILINE), None]
    return [
        SqlSection(mark[1], mark[2], mark.end(), following.start() if following else len(text))
        for mark, following in pairwise(marks)
        if mark is not None
    ]
