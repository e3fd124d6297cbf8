"""Run the command line in this process, with its own streams and settings.

answer = unstick("stuck", "--json", dsn=dsn)      # an Answer: code, out, err
answer.json["incidents"]

Every answer is checked: no command may show a traceback or send a control character to the terminal.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import asyncpg

from console.cli.main import main
from tests.homes import HOMES, folders

ROOT = Path(__file__).parents[1]
# Characters that Unicode marks Default_Ignorable, apart from those of category Cf.
IGNORABLE = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
IGNORABLE |= {*range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}


def hidden(text: str) -> list[str]:
    """Return the code points of ``text`` that are invisible or control a terminal.

    Characters that reorder a line are included.
    """
    if text.isascii() and text.isprintable():
        return []
    bad = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return [f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in bad or ord(c) in IGNORABLE]


class Answer(NamedTuple):
    """Result of a command. ``home`` is the folder of its files."""

    code: int
    out: str
    err: str
    home: Path

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def findings(self) -> list[Any]:
        """The findings of all incidents in the output of ``stuck --json``."""
        return [f for i in self.json["incidents"] for f in (*i["findings"], *i["explained"])]


class Terminal(io.StringIO):
    """A stdin that is a terminal."""

    def isatty(self) -> bool:
        return True


def unstick(
    *arguments: str,
    dsn: str | None = None,
    typed: str | None = None,
    piped: str = "",
    home: Path | None = None,
    **env: str,
) -> Answer:
    """Run a command.

    ``typed`` is the input at a terminal; None means no terminal, and ``piped`` is the input.
    """
    place = home or Path(tempfile.mkdtemp(dir=HOMES.name))
    words = [*arguments, *(("-d", dsn) if dsn is not None else ())]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    stdin = io.StringIO(piped) if typed is None else Terminal(typed)
    with (
        patch.dict(os.environ, environment(place, env), clear=True),
        patch.multiple(sys, stdin=stdin, stdout=out, stderr=err),
    ):
        code = main(words)
    answer = Answer(code, *(stream.buffer.getvalue().decode() for stream in (out, err)), place)
    assert "Traceback" not in answer.err, answer.err
    assert not hidden(answer.err.replace("\n", "")), repr(answer.err)
    assert not hidden(answer.out.replace("\n", "")), repr(answer.out)
    return answer


def environment(home: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    """Return the environment of a program whose user has this home."""
    return {**os.environ, **folders(home), "PYTHONPATH": str(ROOT), **more}


def started(home: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own. ``home`` is the folder of its files."""
    return subprocess.Popen(
        [sys.executable, "-m", "console", *words],
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def fetch(dsn: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Read rows over a separate connection."""

    async def read() -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(dsn)
        try:
            return [tuple(row) for row in await connection.fetch(query, *values)]
        finally:
            await connection.close()

    return asyncio.run(read())
