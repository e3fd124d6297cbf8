"""Interactive confirmation. Raises UsageError without a terminal."""

from __future__ import annotations

import sys

import click

from console.cli.output import PLACE
from console.interrupts import ctrl_c_raises
from queries.text.safe_text import safe_text


def possible() -> bool:
    """Return True if there is a terminal to ask at."""
    return sys.stdin.isatty()


def agreed(question: str) -> bool:
    """Return True if the answer is yes. Enter alone means no."""
    return _answer(f"{question} [y/N] ", "--yes").strip().lower() in ("y", "yes")


def typed(question: str, word: str, option: str) -> bool:
    """Return True if the operator typed ``word`` in full."""
    return _answer(f"{question} Type {word} to continue: ", option).strip() == word


def _answer(question: str, option: str) -> str:
    if not possible():
        raise click.UsageError(f"No terminal to confirm at. Nothing was changed. {option} runs without asking.")
    place = PLACE.get()
    question = question if place in question else f"{place}: {question}"
    with ctrl_c_raises():  # before the question, which Ctrl-C may answer at once
        sys.stderr.write(safe_text(question))
        sys.stderr.flush()
        return sys.stdin.readline()
