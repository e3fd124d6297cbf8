"""Open the console or serve the demo. The only module here that imports Textual."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING

import msgspec
from click import UsageError

from console.cli.options import CliOptions
from console.cli.target import resolve
from console.target import Target

if TYPE_CHECKING:
    from console.tui.guide import Guide


def open_console(options: CliOptions) -> int:
    """Open the console on the target. Return its exit code."""
    _no_json(options)
    word = options.dsn or ""
    _needs_terminal(
        "`unstick stuck`, `unstick tree` and `unstick do` work without one; see `unstick --help`.",
        f"{word} is no command, but the name of a database. " if word.isidentifier() else "",
    )
    return _run(resolve(options))


def demo(options: CliOptions, *, headless: bool, seed: int, full: bool) -> int:
    """Serve the demo and open the console on it, unless ``headless``.

    Return the exit code.
    """
    _no_json(options)
    if options.dsn is not None:
        raise UsageError("The demo has its own database and accepts no target.")
    if not headless:
        _needs_terminal("`unstick demo --headless` serves without one.")
    from console.demo import run
    from console.tui.guide import Guide

    if headless:
        return run.headless(seed, full=full)
    target = resolve(options)
    _leave_cleanly()
    with _served(seed, full=full) as dsn:
        context = msgspec.structs.replace(target.context, name="demo", dsn=dsn, engine=run.FIRST)
        return _run(msgspec.structs.replace(target, context=context), Guide(on=True))


def _run(target: Target, guide: Guide | None = None) -> int:
    from console.tui.run import run

    _leave_cleanly()
    return run(target, guide)


def _leave_cleanly() -> None:
    """Let SIGTERM and SIGHUP end the program like SIGINT: the terminal is restored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell script ignore SIGINT
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # set by nohup
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


@contextlib.contextmanager
def _served(seed: int, *, full: bool) -> Iterator[str]:
    """Run the demo in its own thread inside the context. Yields its DSN."""
    from console.demo.run import demo as running

    ready: Future[str] = Future()
    loop, failed = asyncio.new_event_loop(), list[BaseException]()

    async def serve() -> None:
        async with running(seed, full=full) as dsn:
            ready.set_result(dsn)
            await asyncio.Event().wait()

    task = loop.create_task(serve())

    def work() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            ready.cancel()
        except BaseException as error:
            (failed.append if ready.done() else ready.set_exception)(error)
            if failed and not task.cancelling():
                signal.raise_signal(signal.SIGINT)  # ends the console
        finally:
            with contextlib.suppress(Exception):  # the loop itself may have failed
                loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=work, name="demo")
    try:
        thread.start()  # Ctrl-C may come before it returns
        yield ready.result()
    finally:
        with contextlib.suppress(RuntimeError):  # the loop is closed if the demo ended by itself
            loop.call_soon_threadsafe(task.cancel)
        if thread.ident is not None:
            thread.join()
        if failed:
            raise failed[0]


def _needs_terminal(instead: str, why: str = "") -> None:
    """Raise UsageError unless stdin, stdout and stderr are a terminal.

    ``why`` the console opens at all.

    Keys come from stdin, the size from stdout, and Textual draws on stderr.
    """
    streams = {"standard input": sys.stdin, "standard output": sys.stdout, "standard error": sys.stderr}
    for name, stream in streams.items():
        if not stream.isatty():
            raise UsageError(f"{why}The console needs a terminal, but {name} is not a terminal. {instead}")


def _no_json(options: CliOptions) -> None:
    if options.json:
        raise UsageError("--json requires a command, such as stuck.")
