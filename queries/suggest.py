"""Suggest the known word nearest to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def suggest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word nearest to ``word``, or None. ``cutoff`` is the least similarity, 0 to 1."""
    import difflib  # slow to import, and only mistakes need it

    return next(iter(difflib.get_close_matches(word, list(known), 1, cutoff)), None)
