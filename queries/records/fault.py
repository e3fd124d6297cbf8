"""Place of a mistake in a file."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A place in a file, and what is wrong there. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"
