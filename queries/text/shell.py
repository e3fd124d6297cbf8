"""Commands to type into a shell, and the ids in them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable

from queries.text.safe_text import safe_text

OPEN = "..."  # a word that the operator must replace
_ID = re.compile("[^/]+/[a-z][a-z0-9_]*:")  # beginning of the id of a node


def unstick(words: Iterable[str], database: Iterable[str] = ()) -> str:
    """Return the command of unstick with these words; ``OPEN`` is in quotes.

    ``database``: the words that select the database.
    """
    return " ".join(
        f'"{OPEN}"' if word == OPEN else shlex.quote(_word(word)) for word in ("unstick", *words, *database)
    )


def _word(word: str) -> str:
    """Return an id with a hidden character, such as a line break, as JSON."""
    return json.dumps(word) if safe_text(word) != word and _ID.match(word) else word


def typed_id(text: str) -> str:
    """Return an id as it is, or from a JSON string. Raises ValueError."""
    if not text.startswith('"'):
        return text
    try:
        id_: str = json.loads(text)
        id_.encode()
    except ValueError:
        raise ValueError(f"{text} begins with a quotation mark, but is no JSON string.") from None
    return id_
