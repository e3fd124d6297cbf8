"""Let Ctrl-C and other signals end a command, or call a function."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager
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


def ctrl_c_calls(handler: Callable[[int, FrameType | None], Any]) -> AbstractContextManager[None]:
    """Let SIGINT call ``handler``, at once.

    Background jobs of a shell script ignore it.
    """
    return _handled((signal.SIGINT,) if _is_heard(signal.SIGINT) else (), handler)


def ctrl_c_raises() -> AbstractContextManager[None]:
    """Let SIGINT raise KeyboardInterrupt in what waits for a terminal or a pipe.

    A handler of the loop would run only after the read returns.
    """
    return ctrl_c_calls(signal.default_int_handler)


def signals_call(handler: Callable[[], None]) -> AbstractContextManager[None]:
    """Let SIGINT, SIGTERM and SIGHUP call ``handler`` instead of ending the program.

    nohup lets it ignore SIGHUP.
    """
    loop = asyncio.get_running_loop()
    hangup = (signal.SIGHUP,) if _is_heard(signal.SIGHUP) else ()
    return _handled((signal.SIGINT, signal.SIGTERM, *hangup), lambda *_: loop.call_soon_threadsafe(handler))


def _is_heard(number: signal.Signals) -> bool:
    return signal.getsignal(number) is not signal.SIG_IGN


@contextlib.contextmanager
def _handled(numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Let signals call ``handler``. Only the main thread hears of them."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers} if is_main else {}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
