"""Service file and password file of libpq, read line by line."""

from __future__ import annotations

import io
import os
import pwd
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from queries.db.errors import capital
from queries.db.libpq_words import ALL
from queries.files import user_dirs
from queries.files.state_file import open_file
from queries.text.suggest import did_you_mean

LINE_BYTES = 1023  # of a service file; libpq refuses longer lines
# Folders of the machine's pg_service.conf. libpq knows the one that it was built with, which depends on the package.
SYSTEM_FOLDERS = ("/etc/postgresql-common", "/etc/sysconfig/pgsql", "/usr/local/pgsql/etc", "/etc/postgresql")
IN_SERVICES = ALL - {"requiressl"}  # libpq knows that one in strings only
_BLANKS = " \t\n\v\f\r"


class Setting(NamedTuple):
    """A word's value, and where it was found: a noun phrase.

    ``parts``: its values, if it was written as a list of values and not as text with commas.
    """

    value: str
    source: str
    parts: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The values of a list."""
        return self.parts or tuple(self.value.split(",") if self.value else ())


def user_name() -> str:
    """Return the operating system's name of the user. Raises ValueError."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise ValueError(
            f"No user is named, and the local user {os.geteuid()} has no name: write user=... or set PGUSER."
        ) from None


def service(name: str, file: str = "") -> dict[str, Setting]:
    """Return the words of a service. Raises ValueError.

    It is in the user's file or the machine's.
    """
    given = file or os.environ.get("PGSERVICEFILE") or ""
    own = Path(given) if given else None
    if own is None and (folder := user_dirs.named_home()) is not None and _exists(folder / ".pg_service.conf"):
        own = folder / ".pg_service.conf"
    looked = [own] if own else []
    if own and (words := _section(own, name)) is not None:
        return words
    shared = os.environ.get("PGSYSCONFDIR")
    folders = [shared] if shared else SYSTEM_FOLDERS
    for path in (Path(each) / "pg_service.conf" for each in folders):
        if _exists(path):
            looked.append(path)
            if (words := _section(path, name)) is not None:
                return words
            break
    places = " and ".join(map(str, looked))
    where = f"in {places}" if places else "because there is no service file (~/.pg_service.conf, or PGSERVICEFILE)"
    raise ValueError(f"There is no service {name!r} {where}.")


def _section(path: Path, name: str) -> dict[str, Setting] | None:
    """Return the words of the first section with this name, or None.

    The first of several equal words counts.
    """
    words: dict[str, Setting] | None = None
    try:
        lines = [*_lines(path)]
    except OSError as error:
        raise ValueError(f"{capital(_unreadable('service file', path, error))}.") from None
    for number, line in enumerate(lines, 1):
        where = f"line {number} of the service file {path}"
        if len(line.encode("utf-8", "surrogateescape")) >= LINE_BYTES:
            raise ValueError(f"Line {number} of the service file {path} is longer than {LINE_BYTES - 1} bytes.")
        text = line.strip(_BLANKS)
        if not text or text.startswith("#"):
            continue
        if text.startswith("["):
            if words is not None:
                return words
            words = {} if text.startswith(f"[{name}]") else None
        elif words is not None:
            word, equals, value = text.partition("=")
            if not equals:
                raise ValueError(f"{capital(where)} has no '='. Each line of a service is a word, '=' and its value.")
            if word == "service":
                raise ValueError(f"{capital(where)} names a service. A service cannot refer to another one.")
            if word not in IN_SERVICES:
                spaced = word.rstrip(_BLANKS) in IN_SERVICES
                advice = ": write no blank before '='" if spaced else did_you_mean(word, IN_SERVICES)
                raise ValueError(_ended(f"{capital(where)} has a word that psql does not know{advice}"))
            words.setdefault(word, Setting(value, where))
    return words


def password(file: str, hosts: Sequence[str], port: str, database: str, user: str) -> Setting:
    """Return the password for one of the names of a host, or why there is none.

    Without one, the value is "" and the source says why.
    The first line that matches counts. ``file`` is the one that the settings name, or "".
    """
    folder = user_dirs.named_home()
    if not file and folder is None:
        return Setting("", "there is no home folder for a password file")
    path = Path(file) if file or folder is None else folder / ".pgpass"
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Setting("", _unreadable("password file", path, error))
    if not stat.S_ISREG(mode):
        return Setting("", f"the password file {path} is ignored, because it is not a plain file")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Setting(
            "", f"the password file {path} is ignored, because others may read it (mode {mode & 0o777:04o}): chmod 600"
        )
    try:
        for number, line in enumerate(_lines(path), 1):
            text = line.rstrip("\r\n")
            if not text.startswith("#"):
                for host in hosts:
                    if (rest := _rest(text, (host, port, database, user))) is not None:
                        return Setting(
                            _utf_8(_unescaped(rest), number, path), f"line {number} of the password file {path}"
                        )
    except OSError as error:
        return Setting("", _unreadable("password file", path, error))
    return Setting("", f"no line of the password file {path} is for {hosts[0]}:{port}:{database}:{user}")


def _rest(line: str, fields: Sequence[str]) -> str | None:
    """Return the text after the fields if they match, or None.

    A colon in a field may be written without a backslash, because libpq compares before it looks for the end.
    """
    at = 0
    for field in fields:
        if line.startswith("*:", at):
            at += 2
            continue
        for character in field:
            at += line.startswith("\\", at)
            if not line.startswith(character, at):
                return None
            at += 1
        if not line.startswith(":", at):
            return None
        at += 1
    return line[at:]


def _unescaped(text: str) -> str:
    """Return the text up to a colon, without backslashes before characters."""
    match = re.match(r"(?:\\.|[^:])*", text)
    return re.sub(r"\\(.)", r"\1", match[0] if match else "")


def _utf_8(value: str, number: int, path: Path) -> str:
    """Return the password. Raises ValueError if the driver cannot send it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"The password in line {number} of the password file {path} is not valid UTF-8.") from None
    return value


def _lines(path: Path) -> Iterator[str]:
    with io.TextIOWrapper(open_file(path), "utf-8", "surrogateescape", "\n") as file:
        yield from file


def _unreadable(what: str, path: Path, error: OSError) -> str:
    return f"the {what} {path} cannot be read: {(error.strerror or 'it failed').lower()}"


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def _ended(text: str) -> str:
    return text if text.endswith("?") else f"{text}."
