"""Numbers with a noun, which is in the singular or the plural."""

from __future__ import annotations

import re


def counted(number: int, noun: str) -> str:
    """Return a number and a noun: ``1 row``, ``1,200 rows``."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def noun_of(kind: str) -> str:
    """Return a kind of nodes as a noun: ``dead letter``, ``recurring node``."""
    name = kind.replace("_", " ")
    return f"{name} node" if name.endswith("ing") else name


def plural(noun: str) -> str:
    """Return the plural of a noun, such as the name of a kind."""
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(?:s|x|z|sh|ch)$", noun) else f"{noun}s"
