"""Kinds of nodes: their columns, and the statements that are about them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import msgspec

from queries.contract.spec import RECORDED, Kind
from queries.files.statement import Statement
from queries.text.psql_text import sql_words


def recorded(kind: Kind, statements: Iterable[Statement]) -> Kind:
    """Return the kind. Columns that no statement of its nodes has are not recorded."""
    words = {word for each in statements if each.is_for(kind.name) for word in sql_words(each.text)}
    missing = tuple(column for column in RECORDED if words and column not in words)
    return msgspec.structs.replace(kind, not_recorded=tuple(dict.fromkeys((*kind.not_recorded, *missing))))


def kind_of_file(file: str, kinds: Collection[str]) -> str:
    """Return the KIND of a file such as ``nodes.KIND.sql``, or ""."""
    name, _, rest = file.partition(".")
    variant = re.split("[.@]", rest)[0]
    return variant if name in ("nodes", "children", "claim", "next", "funnel", "flow") and variant in kinds else ""


def with_kinds(file: str, statement: Statement, kinds: Collection[str]) -> Statement:
    """Return the statement with the kinds that it is about, if its header names none.

    A file may be named after a kind. A finding or a sample is about the kinds whose ids it makes.
    """
    if statement.kinds:
        return statement
    if file.startswith(("findings/", "samples/")):
        about = [kind for kind in kinds if f"'{kind}:" in statement.text]
    else:
        about = kind_of_file(file, kinds).split()
    return msgspec.structs.replace(statement, kinds=tuple(about))
