"""Check an engine's options, and find the one that groups its tree."""

from __future__ import annotations

from queries.contract.engine import Engine
from queries.contract.spec import GROUP
from queries.db.errors import DatabaseError


def check(engine: Engine, label: str, option: str, value: object) -> None:
    """Raise DatabaseError for an unknown option of ``label``, or an unknown value."""
    options = engine.spec.options
    if option not in options:
        raise DatabaseError(f"{label} has no option {option!r}; it has {', '.join(options) or 'none'}.")
    choices = options[option].choices
    if choices and value not in choices:
        raise DatabaseError(f"{label}: {option} cannot be {value!r}; it is one of {', '.join(choices)}.")


def view(engine: Engine | None) -> tuple[str, str]:
    """Return the option that groups the engine's tree and its value, or two ""."""
    if engine is None:
        return "", ""
    return (GROUP, str(engine.settings[GROUP])) if GROUP in engine.spec.options else ("", "")


def next_view(engine: Engine) -> tuple[str, str]:
    """Return the option that groups the engine's tree and its next value."""
    name, value = view(engine)
    choices = engine.spec.options[name].choices if name else ("",)
    return name, choices[(choices.index(value) + 1) % len(choices)]
