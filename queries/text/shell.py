"""Commands to type into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def unstick(words: Iterable[str], database: Iterable[str] = ()) -> str:
    """Return the command of unstick with these words.

    ``database``: the words that select the database.
    """
    return shlex.join(["unstick", *words, *database])
