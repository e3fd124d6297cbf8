"""Open files that the user names, and private ones.

No other user can write private ones. They are in the user's state and cache folders.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading.

    Raises OSError, also for a named pipe, because reading one waits for its other end, and for a device other than
    /dev/null, because /dev/zero has no end.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    status = os.fstat(file.fileno())
    device = stat.S_ISCHR(status.st_mode) and not os.path.samestat(status, Path(os.devnull).stat())
    if device or stat.S_ISFIFO(status.st_mode):
        file.close()
        raise OSError(errno.EPERM, f"It is a {'device' if device else 'named pipe'}, not a file", str(path))
    return file


def open_private(name: str | Path, flags: int) -> int:
    """Return a descriptor for a file, also as the opener of `open`.

    With O_CREAT, create a missing file (0600) and folder (0700). Raises OSError, also if the file or its folder is a
    symbolic link, belongs to another user, can be written by other users, or has another name. Another user could then
    choose the file that is read or overwritten.
    """
    path = Path(name)
    if flags & os.O_CREAT:
        make_private(path.parent)
    above = f"the folder {path.parent}"
    folder = _opened(str(path.parent), os.O_RDONLY | os.O_DIRECTORY, None, above)
    try:
        _check(folder, above)
        # O_NONBLOCK, because opening a named pipe blocks until its other end is opened.
        file = _opened(path.name, flags & ~os.O_TRUNC | os.O_NONBLOCK, folder, "it")
    finally:
        os.close(folder)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EPERM, "it is not a regular file")
        if os.fstat(file).st_nlink > 1:
            raise OSError(errno.EPERM, "it has a second name (a hard link)")
        _check(file, "it")
        if flags & os.O_TRUNC:
            os.ftruncate(file, 0)
    except BaseException:
        os.close(file)
        raise
    return file


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, in one call if possible. Raises OSError.

    Several processes may append to the same file.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def make_private(folder: Path) -> None:
    """Create a missing folder and its missing parents (0700). Raises OSError.

    ``mkdir(parents=True)`` gives the parents the mode of the umask.
    """
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def insecure(
    status: os.stat_result, what: str = "it", *, of_root: bool = True, writers: int = stat.S_IWGRP | stat.S_IWOTH
) -> str:
    """Return why another user may have written a file, or "".

    ``of_root``: root may have written it. ``writers``: bits of its mode that let others write it.
    """
    if status.st_uid not in ((os.geteuid(), 0) if of_root else (os.geteuid(),)):
        return f"{what} belongs to another user (uid {status.st_uid})"
    if status.st_mode & writers:
        return f"{what} can be written by other users (mode {status.st_mode & 0o777:o})"
    return ""


def _opened(name: str, flags: int, folder: int | None, what: str) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and flags & os.O_DIRECTORY):
            raise OSError(errno.EPERM, f"{what} is a symbolic link") from error
        raise


def _check(descriptor: int, what: str) -> None:
    if why := insecure(os.fstat(descriptor), what, of_root=False):
        raise OSError(errno.EPERM, why)
