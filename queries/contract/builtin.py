"""Engines that come with the program, and the cache of what is parsed.

Reading one file is 17 times faster than parsing hundreds. The cache file is in the user's cache folder. It is derived
from the program's own files and may be deleted at any time. It is used only if no source file has changed since, and
if no other user can write it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from queries.contract.engine import Engine
from queries.contract.folder import TEMPLATES
from queries.files import user_dirs
from queries.files.state_file import open_private

T = TypeVar("T")

FORMAT = "1"  # increase when the encoding of the cache file changes

# Rooms whose code decides what an engine's files are parsed into
ROOMS = ("contract", "files", "records", "text")


def cached(name: str, folders: Iterable[Path], kind: type[T], parse: Callable[[], T]) -> T:
    """Return the cached result of ``parse`` for these folders, or parse and cache it.

    ``name``: of the cache file. A cache file that cannot be read or written is not an error.
    """
    key = _key(folders)
    path = user_dirs.folder("cache") / name
    content = _read(path, key)
    if content is not None:
        with contextlib.suppress(ValueError, RecursionError):  # as MsgspecError and UnicodeDecodeError are
            return msgspec.msgpack.decode(content, type=kind)
    parsed = parse()
    with contextlib.suppress(OSError):
        _write(path, key + msgspec.msgpack.encode(parsed))
    return parsed


def _key(folders: Iterable[Path]) -> bytes:
    """Return a digest of every engine file and of the source that parses them.

    It covers the names, sizes and mtimes.
    """
    package = Path(__file__).parents[1]
    files = [(str(file), file.stat()) for room in ROOMS for file in (package / room).glob("*.py")]
    pending = [*map(str, folders)]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir():
                pending.append(entry.path)
            else:
                files.append((entry.path, entry.stat()))
    lines = sorted([f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in files])
    return sha256("\n".join([FORMAT, msgspec.__version__, *lines]).encode(errors="surrogateescape")).digest()


def _read(path: Path, key: bytes) -> memoryview | None:
    with contextlib.suppress(OSError), open(path, "rb", buffering=0, opener=open_private) as file:
        if (content := file.read()).startswith(key):
            return memoryview(content)[len(key) :]
    return None


def _write(path: Path, content: bytes) -> None:
    """Replace the cache file in one step, because another process may be reading it."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(new, "wb", opener=open_private) as file:
            file.write(content)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def builtin_folder(name: str) -> Path:
    """Return the folder of an engine that comes with the program."""
    return Path(__file__).parents[1] / "engines" / name


@cache
def builtin() -> tuple[Engine, ...]:
    """Return the engines that come with the program, ordered by name."""

    def load() -> tuple[Engine, ...]:
        from queries.contract import loader  # slow to import, and the cache has most engines

        return tuple(loader.load(folder) for folder in folders)

    home = Path(__file__).parents[1] / "engines"
    folders = sorted((f for f in home.iterdir() if (f / "engine.toml").is_file()), key=lambda f: f.name)
    return cached("engines", [*folders, TEMPLATES], tuple[Engine, ...], load)
