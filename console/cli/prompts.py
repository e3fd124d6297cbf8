"""Questions to the one at the terminal. Where there is none, nothing is taken for granted."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

import click

from queries.safe_text import safe_text


def agreed(question: str) -> bool:
    """Whether the answer is yes. Enter alone is no. Raises UsageError where nobody can be asked."""
    return _answer(f"{question} [y/N] ", "--yes").strip().lower() in ("y", "yes")


def typed(question: str, word: str, option: str) -> bool:
    """Whether ``word`` was typed in full."""
    return _answer(f"{question} Type {word} to go on: ", option).strip() == word


def _answer(question: str, option: str) -> str:
    if not sys.stdin.isatty():
        raise click.UsageError(f"There is no terminal to ask at: {option} goes on without asking. Nothing was changed.")
    sys.stderr.write(safe_text(question))
    sys.stderr.flush()
    with _interruptible():
        return sys.stdin.readline()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let ctrl-C end the waiting: the event loop's own handler would only note it, and look once we return."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
