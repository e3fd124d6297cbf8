"""From the command line to the console itself. Textual is imported here and nowhere before."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import msgspec
from click import ClickException, UsageError

from console.cli.options import CliOptions
from console.cli.target import resolve
from console.config import Context
from console.target import Target

GREETING = "2 what is stuck · enter why · W C R ... remedies, dry-run first · tab the next engine · ? help"


def open_console(options: CliOptions) -> int:
    """Open the console on the chosen target. Its exit code."""
    _no_json(options)
    _needs_terminal("`unstick stuck`, `unstick tree` and `unstick do` answer without one; see `unstick --help`.")
    return _run(resolve(options))


def demo(options: CliOptions, *, headless: bool, seed: int) -> int:
    """Serve the demo, with the console on it unless ``headless``. The exit code."""
    _no_json(options)
    if options.dsn is not None:
        raise UsageError("The demo brings its own database; name no other.")
    if not headless:
        _needs_terminal("`unstick demo --headless` serves without one.")
    from console.demo import run

    try:
        if headless:
            return run.headless(seed)
        target = resolve(options)
        _leave_cleanly()
        with _served(seed) as dsn:
            context = Context(name="demo", dsn=dsn, engine=run.FIRST)
            return _run(msgspec.structs.replace(target, dsn=dsn, context=context), GREETING)
    except run.DemoUnavailable as error:
        raise ClickException(str(error)) from error


def _run(target: Target, greeting: str = "") -> int:
    from console.tui.run import run

    _leave_cleanly()
    return run(target, greeting)


def _leave_cleanly() -> None:
    """Have SIGTERM and SIGHUP end us as SIGINT does: with the terminal restored and nothing left behind."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a script's background job begins by ignoring
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means to survive it
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


@contextlib.contextmanager
def _served(seed: int) -> Iterator[str]:
    """The DSN of a demo that runs in a thread of its own for as long as the context lasts."""
    from console.demo.run import demo as running

    ready: Future[str] = Future()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with running(seed) as dsn:
            ready.set_result(dsn)
            await asyncio.Event().wait()

    task = loop.create_task(serve())

    def work() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            ready.cancel()
        except BaseException as error:
            ready.set_exception(error)
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=work, name="demo")
    thread.start()
    try:
        yield ready.result()
    finally:
        with contextlib.suppress(RuntimeError):  # it has ended by itself, and its loop with it
            loop.call_soon_threadsafe(task.cancel)
        thread.join()


def _needs_terminal(instead: str) -> None:
    """All three must be one: keys come from stdin, the size from stdout, and Textual draws on stderr."""
    streams = {"standard input": sys.stdin, "standard output": sys.stdout, "standard error": sys.stderr}
    for name, stream in streams.items():
        if not stream.isatty():
            raise UsageError(f"The console needs a terminal, and {name} is none. {instead}")


def _no_json(options: CliOptions) -> None:
    if options.json:
        raise UsageError("--json goes with a command, such as stuck.")
