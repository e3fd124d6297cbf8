"""Note which test reaches which mutation.

``reach.py`` copies this file into a checkout as ``queries/_probe.py``.
"""

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

HITS = Path(__file__).parents[2] / "hits.jsonl"
_noted: set[tuple[int, str]] = set()
_MARK = re.compile(r"/\*mutation (\d+)\*/")


def hit(number: int) -> None:
    """Note once for each test of this process that a mutation was reached."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "")  # programs that a test starts inherit it
    if (number, test) not in _noted:
        _noted.add((number, test))
        with contextlib.suppress(OSError), HITS.open("a", encoding="utf-8") as file:
            file.write(json.dumps([number, *test.rpartition(" ")[::2]]) + "\n")


def watch() -> None:
    """Note the marks in statements that are sent to a server."""
    from asyncpg.protocol.protocol import Protocol

    def noting(name: str) -> None:
        send = getattr(Protocol, name)

        def noted(self: Any, *values: Any, **named: Any) -> Any:
            for text in (*values, *named.values()):
                if isinstance(text, str) and "/*mutation " in text:
                    for mark in _MARK.finditer(text):
                        hit(int(mark[1]))
            return send(self, *values, **named)

        setattr(Protocol, name, noted)

    for name in ("prepare", "query", "copy_out"):
        noting(name)
