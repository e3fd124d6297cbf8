"""Guesses that an operator has hidden, by context."""

from __future__ import annotations

from pathlib import Path

from queries.files.json_lines import JsonLines
from queries.records.record import Record

BYTES = 64 << 10  # size of the file from which it is written again


class HiddenGuess(Record):
    """A table, with its schema, that holds no work in a context or a database."""

    where: str
    table: str

    @property
    def key(self) -> tuple[str, str]:
        """A table is hidden once."""
        return self.where, self.table


class HiddenGuesses:
    """The hidden guesses, in a file of ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._file = JsonLines(folder / "hidden_guesses.jsonl", HiddenGuess, BYTES)

    def of(self, where: str) -> set[str]:
        """Return the tables of a context or a database."""
        return {each.table for each in self._file.read() if each.where == where}

    def hide(self, where: str, table: str) -> None:
        """Hide a guess."""
        self._file.append(HiddenGuess(where=where, table=table))
