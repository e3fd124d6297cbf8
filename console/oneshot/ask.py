"""Questions to the one at the terminal. Where there is none, nothing is taken for granted."""

from __future__ import annotations

import sys

import click


def agreed(question: str) -> bool:
    """Whether the answer is yes. Enter alone is no. Raises UsageError where nobody can be asked."""
    return _answer(f"{question} [y/N] ", "--yes").strip().lower() in ("y", "yes")


def typed(question: str, word: str, option: str) -> bool:
    """Whether ``word`` was typed in full."""
    return _answer(f"{question} Type {word} to go on: ", option).strip() == word


def _answer(question: str, option: str) -> str:
    if not sys.stdin.isatty():
        raise click.UsageError(f"There is no terminal to ask at: {option} goes on without asking. Nothing was changed.")
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()
