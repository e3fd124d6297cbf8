"""Suggest the known word nearest to a mistyped one."""

from __future__ import annotations

import json
from collections.abc import Iterable


def suggest(word: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word nearest to ``word``, or None.

    ``cutoff`` is the least similarity, 0 to 1.
    """
    import difflib  # slow to import, and only mistakes need it

    return next(iter(difflib.get_close_matches(word, list(names), 1, cutoff)), None)


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for the known word nearest to ``word``, or ""."""
    near = suggest(word, names)
    return f"; did you mean {quoted(near)}?" if near else ""


def unknown(what: str, word: str, names: Iterable[str]) -> str:
    """Return that there is no such thing, the nearest name, and all known ones."""
    names = list(names)
    return f"There is no {what} {word!r}{did_you_mean(word, names)}; there is {', '.join(names) or 'none'}."


def quoted(text: str) -> str:
    """Return ``text`` in double quotes, with JSON's escapes."""
    return json.dumps(text, ensure_ascii=False)
