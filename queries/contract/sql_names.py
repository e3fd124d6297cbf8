"""Names in an engine's SQL: settings, arguments and keys of ids."""

from __future__ import annotations

import re
from collections.abc import Iterator

from queries.contract.derive import keys_in_sql
from queries.contract.spec import EngineSpec
from queries.files.statement import Statement

OF_KIND = "_of_kind"  # end of the name of a threshold that may be set for one kind
_FIRST = r"\s*->>?\s*(?:'(?P<name>[^']*)'|[\w.]+(?:\([^()]*\))?(?:::\w+)?\s*->>?\s*'(?P<inner>[^']*)')"


def names_in_sql(spec: EngineSpec, *, action: bool = False) -> dict[str, str]:
    """Return SQL for settings, keys of each kind, and in an action for arguments.

    A duration is an interval, a count a number, and an option a text. A threshold has a second name for that of the
    kind of a row.
    """
    names = {name: f"(:settings ->> '{name}')" for name in spec.options}
    for name, value in spec.thresholds.items():
        names[name] = _threshold(f"(:settings ->> '{name}')", value)
        if spec.thresholds_by and not isinstance(value, dict):
            of_kind = f"coalesce(:settings -> {spec.thresholds_by} ->> '{name}', :settings ->> '{name}')"
            names[f"{name}{OF_KIND}"] = _threshold(of_kind, value)
    arguments = spec.arguments.values() if action else ()
    return keys_in_sql(spec) | names | {a.name: _argument(f"(:args ->> '{a.name}')", a.type) for a in arguments}


def _threshold(text: str, value: object) -> str:
    """Return the value of a threshold from its text."""
    return f"make_interval(secs => {text}::float8)" if isinstance(value, str) else f"{text}::float8"


def _argument(text: str, type_: str) -> str:
    """Return the value of an argument from its text."""
    return f"{text}::int8" if type_ == "int" else f"coalesce({text}::bool, false)" if type_ == "flag" else text


def keys_of(statement: Statement, parameter: str) -> Iterator[tuple[str, int]]:
    """Yield the keys of a jsonb parameter that a statement reads, and offsets."""
    for number in (n for n, name in enumerate(statement.parameters, 1) if name == parameter):
        for match in re.finditer(rf"\${number}(?!\d)(?:::\w+)*{_FIRST}", statement.text):
            group = "name" if match["name"] is not None else "inner"
            yield match[group], match.start(group)
