"""Report errors in one or two lines with an exit code.

A program error also writes a crash file.
"""

from __future__ import annotations

import os
import re
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from console.cli.exit_codes import FAILED, INTERRUPTED, SKIPPED, USAGE
from console.cli.output import say
from queries.db.redaction import HIDDEN, redact, redact_message, secrets
from queries.files.state_file import open_private
from queries.text.safe_text import safe_text
from unstick import mixed


def report(error: BaseException, arguments: Sequence[str]) -> int:
    """Report ``error`` on stderr, without the secrets in ``arguments``.

    Return the exit code.
    """
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, KeyboardInterrupt | click.Abort):
        say("Interrupted.")
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        return _usage(error, arguments)
    if isinstance(error, BrokenPipeError):
        return 0
    code = _known(error)
    if code is None:
        return _crash(error, arguments)
    _say_lines(redact_message(str(error), arguments))
    return code


def _say_lines(message: str) -> None:
    say(*(f"unstick: {line}" if n == 0 else f"  {line}" for n, line in enumerate(message.splitlines())))


def _usage(error: click.ClickException, arguments: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "unstick"
    _say_lines(redact_message(error.format_message(), arguments))
    if isinstance(error, click.UsageError):
        say(f"  Try: {path} --help")
        return USAGE
    return error.exit_code


def _known(error: BaseException) -> int | None:
    from console.config import ConfigError
    from queries.contract.engine import BrokenEngineError
    from queries.db.errors import DatabaseError, MissingError, UnknownIdError

    if isinstance(error, MissingError):
        return SKIPPED
    if isinstance(error, ConfigError | UnknownIdError):
        return USAGE
    if isinstance(error, DatabaseError | BrokenEngineError):
        return FAILED
    from console.demo.server import DemoUnavailable  # slow to import

    return FAILED if isinstance(error, DemoUnavailable) else None


def _crash(error: BaseException, arguments: Sequence[str]) -> int:
    """Write a crash file for a bug report, without secrets and values of variables.

    If another distribution has files in the packages, the bug is not unstick's: say that instead.
    """
    if fault := mixed():
        say(fault)
        return FAILED
    say(f"unstick: this is a bug in unstick ({type(error).__name__}). The command was stopped.")
    try:
        path = _write(error, arguments)
    except OSError as failure:
        say(f"  The crash file could not be written: {failure.strerror}.")
    else:
        say(f"  Please report it with the crash file {path}. The file holds no passwords.")
    return FAILED


def _write(error: BaseException, arguments: Sequence[str]) -> Path:
    from console.cli.program import version
    from queries.files import user_dirs

    text = "\n".join(
        [
            f"unstick {version()}, Python {sys.version.split()[0]}, {sys.platform}",
            f"arguments: {[redact(word) for word in arguments]}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    path = user_dirs.folder("state") / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    with open(path, "x", errors="replace", opener=open_private) as file:
        file.writelines(safe_text(line) + "\n" for line in without_secrets(text, arguments).splitlines())
    return path


def without_secrets(text: str, arguments: Sequence[str]) -> str:
    """Remove passwords from ``text``.

    They come from connection strings, the arguments and the environment.
    """
    passwords = {os.environ.get("PGPASSWORD", "")}.union(*map(secrets, arguments))
    for secret in sorted(filter(None, passwords), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return re.sub(r"\bpostgres(?:ql)?://[^\s'\"]+", lambda match: redact(match[0]), text)
