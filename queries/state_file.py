"""Open files in the user's state and cache folders: regular files of this user that no other user can write."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def open_private(path: Path, flags: int) -> int:
    """Return a descriptor for ``path``; with O_CREAT, make the file (0600) and its folder (0700) where missing.

    Raises OSError, also where the file or its folder is a symbolic link, belongs to another user, or can be written by
    other users: then another user chooses what is read, or what is overwritten.
    """
    if flags & os.O_CREAT:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    above = f"the folder {path.parent}"
    folder = _opened(str(path.parent), os.O_RDONLY | os.O_DIRECTORY, None, above)
    try:
        _check(folder, above)
        # Without waiting, because a named pipe in place of the file blocks until its other end is opened.
        file = _opened(path.name, flags & ~os.O_TRUNC | os.O_NONBLOCK, folder, "it")
    finally:
        os.close(folder)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EPERM, "it is not a regular file")
        _check(file, "it")
        if flags & os.O_TRUNC:
            os.ftruncate(file, 0)
    except BaseException:
        os.close(file)
        raise
    return file


def _opened(name: str, flags: int, folder: int | None, what: str) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and flags & os.O_DIRECTORY):
            raise OSError(errno.EPERM, f"{what} is a symbolic link") from error
        raise


def _check(descriptor: int, what: str) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        raise OSError(errno.EPERM, f"{what} belongs to another user (uid {status.st_uid})")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise OSError(errno.EPERM, f"{what} can be written by other users (mode {status.st_mode & 0o777:o})")
