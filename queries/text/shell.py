"""Commands to type into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

OPEN = "..."  # a word that the operator must replace


def unstick(words: Iterable[str], database: Iterable[str] = ()) -> str:
    """Return the command of unstick with these words; ``OPEN`` is in quotes.

    ``database``: the words that select the database.
    """
    return " ".join(f'"{OPEN}"' if word == OPEN else shlex.quote(word) for word in ("unstick", *words, *database))
