"""Let Ctrl-C and other signals end a command, or call a function."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any


async def ended_by_ctrl_c(command: Coroutine[Any, Any, int]) -> int:
    """Run a command that each SIGINT cancels. Return its exit code.

    asyncio's own handler cancels once, and later raises KeyboardInterrupt wherever the loop is: the loop can miss the
    end of a child then, and wait for it for ever. Raises CancelledError.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    with ctrl_c_calls(lambda *_: loop.call_soon_threadsafe(task.cancel)):
        return await command


@contextlib.contextmanager
def ctrl_c_calls(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Let SIGINT call ``handler``, at once, in the main thread."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield  # background jobs of a shell script ignore it
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def signals_call(handler: Callable[[], None]) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP call ``handler`` instead of ending the program.

    Only the main thread hears of signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    if before[signal.SIGHUP] is signal.SIG_IGN:  # set by nohup
        del before[signal.SIGHUP]
    for number in before:
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number, action in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, action)
