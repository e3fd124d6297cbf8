"""The built-in engines as they were when last loaded: reading one file is faster than parsing hundreds.

The file is in the user's cache folder, holds nothing that the program's own files do not, and may be deleted at any
time. It counts only as long as none of those files has changed, and only if nobody else could have written it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from queries import user_dirs
from queries.state_file import open_private

T = TypeVar("T")

FORMAT = "1"  # changes whenever what is kept does


def kept(folders: Iterable[Path], kind: type[T], make: Callable[[], T]) -> T:
    """What ``make`` gives for these folders, from the file where it is still true. Faults of the file are no errors."""
    signature = _signature(folders)
    path = _path()
    found = _read(path, signature)
    if found is not None:
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.msgpack.decode(found, type=kind)
    made = make()
    with contextlib.suppress(OSError):
        _write(path, signature + msgspec.msgpack.encode(made))
    return made


def _path() -> Path:
    return user_dirs.folder("cache") / "engines"


def _signature(folders: Iterable[Path]) -> bytes:
    """A digest of the names, sizes and times of all files, and of the code that reads them."""
    here, ground = Path(__file__).parent, Path(__file__).parents[1]
    files = [here / "loader.py", here / "spec.py", ground / "statement.py", ground / "model.py"]
    found = [(str(file), file.stat()) for file in files]
    waiting = [*map(str, folders)]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            if entry.is_dir():
                waiting.append(entry.path)
            else:
                found.append((entry.path, entry.stat()))
    told = sorted([f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in found])
    return sha256("\n".join([FORMAT, msgspec.__version__, *told]).encode(errors="surrogateescape")).digest()


def _read(path: Path, signature: bytes) -> bytes | None:
    with contextlib.suppress(OSError), os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
        if file.read(len(signature)) == signature:
            return file.read()
    return None


def _write(path: Path, content: bytes) -> None:
    """All or nothing: another process may be reading."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with os.fdopen(open_private(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(content)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
