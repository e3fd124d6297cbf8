"""Let Ctrl-C and other signals end a command, or call it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any


async def ended_by_ctrl_c(command: Coroutine[Any, Any, int]) -> int:
    """Run a command that each SIGINT cancels. Return its exit code.

    asyncio's own handler cancels once, and later raises KeyboardInterrupt wherever the loop is: the loop can miss the
    end of a child then, and wait for it for ever. Raises CancelledError.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    if task is None or before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        return await command  # background jobs of a shell script ignore it
    signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(task.cancel))
    try:
        return await command
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def signals_call(handler: Callable[[], None]) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP call ``handler`` instead of ending the program."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number, action in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, action)
