"""Conditions of a filter that the server compares. UI-free.

They are true for each node that matches the filter, and may be true for others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from console.model.fields.field import Field, Form
from console.model.fields.node import FIELDS
from console.model.filter import ANY, NONE, Filter, Term, allows
from queries.contract import rows
from queries.records.node import Node

COMPARED_FIELDS = {field.name: field for field in FIELDS if field.json in rows.COMPARED}
CLOCK_SLACK_SECONDS = 1.0  # between the clock of the statement and that of the comparison


def conditions(selection: Filter) -> Mapping[str, Sequence[str]]:
    """Return the conditions of a filter by column, for `PageReader.matching`."""
    by_column = {}
    for name, field in COMPARED_FIELDS.items():
        if terms := [term for term in selection.terms if term.field == name and _is_compared(term)]:
            by_column[field.json] = _condition(field, terms)
    return by_column


def compares_more(filter: Filter) -> bool:
    """Return True if the console must compare some term itself."""
    return any(term.field not in ("kind", "engine") and not _is_compared(term) for term in filter.terms)


def _is_compared(term: Term) -> bool:
    how = rows.COMPARED[COMPARED_FIELDS[term.field].json] if term.field in COMPARED_FIELDS else ""
    return how == "one_of" or (how != "" and not term.negated and (how != "text" or _pattern(term) != ""))


def _condition(field: Field[Node], terms: Sequence[Term]) -> list[str]:
    how = rows.COMPARED[field.json]
    if how == "one_of":
        return [word for word in field.words if all(allows(term, word) for term in terms)]
    if how == "text":
        return [_pattern(term) for term in terms]
    slack = CLOCK_SLACK_SECONDS if field.form is Form.AGE else 0.0
    low = max(min(-math.inf if v.op.startswith("<") else v.number for v in term.values) for term in terms)
    high = min(max(math.inf if v.op.startswith(">") else v.number for v in term.values) for term in terms)
    return [_number(low - slack), _number(high + slack)]


def _pattern(term: Term) -> str:
    """Return a regular expression that a matching text has, or "" if there is none.

    The server compares only ASCII characters. A text with other characters is left to the console.
    """
    parts = list(_alternatives(term))
    return "" if None in parts else "|".join(filter(None, [*parts, "[^ -~]"]))


def _alternatives(term: Term) -> Iterator[str | None]:
    for value in term.values:
        text = value.text
        if not text.isascii() or (not value.op and text.casefold() == NONE):
            yield None
        elif not value.op and text.casefold() == ANY:
            yield "."
        else:
            escaped = re.sub(r"([^A-Za-z0-9_])", r"\\\1", text)
            part = COMPARED_FIELDS[term.field].form is Form.PART and not value.op
            yield f"{'' if part else '^'}{escaped}{'$' if value.op else ''}"


def _number(number: float) -> str:
    return "Infinity" if number == math.inf else "-Infinity" if number == -math.inf else repr(number)
