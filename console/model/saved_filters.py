"""Filters that the operator saves in the settings file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from console.config import ConfigError, parse, shown
from queries.files.state_file import make_private
from queries.files.toml_text import written

_TABLE = re.compile(r"(?m)^[ \t]*\[[ \t]*filters[ \t]*\][^\n]*$")


def save(path: Path, name: str, filter: str) -> None:
    """Add a filter to the table ``[filters]`` of a settings file. Raises ConfigError.

    Everything else in the file stays as it is: the new text is read before it replaces the old one.
    """
    line = next(written({name: filter}))
    if not re.fullmatch(r"[\w-]+", name, re.ASCII):
        raise ConfigError("A name consists of a-z, 0-9, - and _.")
    try:
        path = path.resolve()  # a link stays one
        text = path.read_text("utf-8") if path.exists() else ""
        if name in (before := parse(text, path).filters):
            raise ConfigError(f"There is a filter @{name} already. Choose another name.")
        head = _TABLE.search(text)
        new = f"{text[: head.end()]}\n{line}{text[head.end() :]}" if head else f"{text}\n[filters]\n{line}\n".lstrip()
        if parse(new, path).filters != {**before, name: filter}:
            raise ConfigError(f"{shown(path)} cannot be changed here. Write it into [filters]: {line}")
        make_private(path.parent)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.touch(0o600, exist_ok=False)
        part.write_text(new, "utf-8")
        if path.exists():
            part.chmod(path.stat().st_mode & 0o777)
        part.replace(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{shown(path)} was not changed: {error}. Write it into [filters]: {line}") from None
