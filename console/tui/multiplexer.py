"""tmux and GNU screen, between the console and the terminal."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE

ANSWER_SECONDS = 5.0  # of tmux
KEEP_TITLE, TITLE, GIVE_TITLE_BACK = "\x1b[22;2t", "\x1b]2;{text}\x07", "\x1b[23;2t"  # of the terminal
PIECE = 500  # characters in one sequence that screen passes on: it prints the rest of a longer one


def in_screen() -> bool:
    """Return True in GNU screen, which passes on no OSC 52 and no 24-bit colours.

    Behind ssh only TERM tells.
    """
    term = os.environ.get("TERM", "").startswith("screen")
    return bool(os.environ.get("STY")) or (term and not os.environ.get("TMUX"))


def passed_on(sequence: str) -> str:
    """Return what sends a control sequence to the terminal, also through GNU screen."""
    if not in_screen():
        return sequence
    return "".join(f"\x1bP{sequence[at : at + PIECE]}\x1b\\" for at in range(0, len(sequence), PIECE))


async def tmux_took(text: str) -> bool:
    """Copy a text to tmux. Return True if tmux says that it has it.

    tmux offers it to the terminal. It ignores OSC 52 of programs unless ``set-clipboard`` is on.
    """
    if not os.environ.get("TMUX"):
        return False
    command = ("tmux", "load-buffer", "-w", "-")  # -w: since tmux 3.2
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
        async with asyncio.timeout(ANSWER_SECONDS):
            await process.communicate(text.encode())
    except (OSError, TimeoutError):
        return False
    return process.returncode == 0
