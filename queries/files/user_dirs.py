"""The user of this machine: home, folders, name, and the three streams.

Each of them may be missing.
A container may run with a user id that has no entry in passwd, without HOME, or with closed streams.
"""

from __future__ import annotations

import errno
import os
import pwd
import sys
from pathlib import Path
from typing import Literal

NO_HOME = Path("/nonexistent")  # home of users that have none, as in Debian's passwd
LOGIN_UID = Path("/proc/self/loginuid")  # of Linux: the user who logged in, whatever sudo and su did since
NO_LOGIN = 0xFFFFFFFF
_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def named_home() -> Path | None:
    """Return the home as libpq finds it, or None. It may be relative."""
    try:
        return Path(os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return None


def home() -> Path | None:
    """Return the user's home folder, or None if there is none."""
    path = named_home()
    return path if path is not None and path.is_absolute() else None


def expanded(path: Path) -> Path:
    """Return ``path`` with the home folder in place of ``~``.

    Raises OSError if there is none.
    """
    if path.parts[:1] == ("~",):
        if (own := home()) is None:
            raise OSError(errno.ENOENT, "it begins with ~, but this user has no home folder")
        return own.joinpath(*path.parts[1:])
    try:
        return path.expanduser()
    except (RuntimeError, KeyError):
        raise OSError(errno.ENOENT, "the home folder that it names is not known") from None


def user() -> str:
    """Return the name of the real user id, or its number without an entry in passwd.

    $USER and $LOGNAME are not asked: anybody can set them.
    """
    return _name(os.getuid())


def came_from() -> str:
    """Return which user this one seems to be, after ``sudo`` or ``su``; or "".

    That is a hint: the user can set $SUDO_USER, and with enough privileges the kernel's login id.
    """
    hints = [f"sudo from {sudo}"] if (sudo := os.environ.get("SUDO_USER", "")) and sudo != user() else []
    try:
        login = int(LOGIN_UID.read_text("ascii"))
    except (OSError, ValueError):
        login = NO_LOGIN
    if login not in (NO_LOGIN, os.getuid()) and _name(login) != sudo:
        hints.append(f"login of {_name(login)}")
    return ", ".join(hints).encode("utf-8", "replace").decode()


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name.encode("utf-8", "replace").decode()
    except (KeyError, OSError, OverflowError):
        return f"uid {uid}"


def open_streams() -> None:
    """Open the null device for each of the three streams that is closed.

    Otherwise the next opened file would take its number, and a child process would write into it.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def folder(purpose: Literal["config", "state", "cache"]) -> Path:
    """Return the program's folder for a purpose. The folder may not exist yet.

    Without a home it is in a folder that does not exist, so nothing is read, and what must be written is refused.
    """
    import platformdirs  # 7 ms, which a command with an explicit settings file and a warm cache can do without

    folders = {
        "config": platformdirs.user_config_dir,
        "state": platformdirs.user_state_dir,
        "cache": platformdirs.user_cache_dir,
    }
    try:
        path = Path(folders[purpose]("unstick"))
    except (RuntimeError, KeyError):
        return NO_HOME / purpose / "unstick"
    return path if path.is_absolute() else NO_HOME / purpose / "unstick"


def audit_log() -> Path:
    """Return the file with the entries of this user."""
    return folder("state") / "audit_log.jsonl"
