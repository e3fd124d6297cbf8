"""Connection strings as psql takes them: a URI, words, or a database name.

They are read as libpq reads them: the words of the string, then those of the service, then the variables. The driver's
own reader is not used. It differs in most of this: services, the password file, lists, addresses, and the words that
it sends to the server as settings. No message repeats a value, because that may be a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote_to_bytes

from queries.db import libpq_files, libpq_words
from queries.db.libpq_files import Setting
from queries.db.redaction import redact
from queries.records.record import Record
from queries.text.suggest import did_you_mean

DEFAULT_PORT = 5432
CONNECT_SECONDS = 10.0  # for each address, if nothing else is said; libpq waits for ever
ENDLESS_SECONDS = 3600.0  # for connect_timeout=0
# libpq knows one of them, which depends on the package. The first one in which a server listens is taken.
SOCKET_FOLDERS = ("/var/run/postgresql", "/run/postgresql", "/tmp", "/private/tmp")

_STRING = "the connection string"
_SCHEMES = ("postgresql://", "postgres://")
_BLANK = r"[ \t-\r]"
_WORD = re.compile(rf"(?s){_BLANK}*([^= \t-\r]+){_BLANK}*={_BLANK}*('(?:[^'\\]|\\.)*'|(?!')(?:[^ \t-\r\\]|\\.|\\$)*)")
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")


class Host(Record):
    """One host of the list.

    ``name`` is verified; ``address`` is connected, if it is given. ``name`` is a folder for a Unix socket.
    ``password_source`` says where the password was found or looked for.
    """

    name: str
    address: str
    port: int
    password: str
    password_source: str

    def __repr__(self) -> str:
        return f"Host({self.name!r}, {self.address!r}, {self.port})"

    @property
    def local(self) -> bool:
        """True for a Unix socket."""
        return not self.address and self.name.startswith("/")

    @property
    def socket(self) -> str:
        """Path of the Unix socket."""
        return f"{self.name}/.s.PGSQL.{self.port}"


class ConnectionTarget(Record):
    """Hosts, role and database, and the time limit of each address in seconds.

    ``shown`` names it in errors, without passwords. ``service``: its name, or "". ``names``: prepared statements may
    have names.
    """

    hosts: tuple[Host, ...]
    user: str
    database: str
    words: Mapping[str, str]  # the other ones; those that are not given are absent
    timeout: float
    shown: str
    service: str = ""
    names: bool = True

    def __repr__(self) -> str:
        return f"Target({self.hosts!r}, {self.user!r}, {self.database!r})"


def parse(text: str) -> ConnectionTarget:
    """Return the target that ``text`` names.

    Raises ValueError with a message for the operator.
    """
    settings = _words(text)
    for word in settings:
        if word not in libpq_words.ALL | libpq_words.LATER:
            advice = "; write sslmode=require" if word == "ssl" else did_you_mean(word, libpq_words.ALL)
            raise _unusable(f"it has a word that psql does not know{advice}")
    if "requiressl" in settings:
        settings["sslmode"] = Setting("require" if settings.pop("requiressl").value == "1" else "prefer", _STRING)
    file = settings.pop("servicefile", Setting("", "")).value
    name = settings.pop("service", Setting(os.environ["PGSERVICE"], "") if "PGSERVICE" in os.environ else None)
    if name is not None:
        settings = {**libpq_files.service(name.value, file), **settings}
    for word, variable in libpq_words.VARIABLES.items():
        if word not in settings and variable in os.environ:
            settings[word] = Setting(os.environ[variable], f"the variable {variable}")
    if "sslmode" not in settings and os.environ.get("PGREQUIRESSL", "").startswith("1"):
        settings["sslmode"] = Setting("require", "the variable PGREQUIRESSL")
    for word, setting in settings.items():
        for value in (setting.value, *setting.parts):
            if fault := libpq_words.fault(word, value):
                joint = "" if fault.startswith(("=", " ")) else " "
                raise ValueError(f"{word}{joint}{fault} (in {setting.source}).")
    return _target(settings, redact(text), "" if name is None else name.value)


def _target(settings: Mapping[str, Setting], shown: str, service: str) -> ConnectionTarget:
    words = {word: setting.value for word, setting in settings.items()}
    user = words.get("user") or libpq_files.user_name()
    database = words.get("dbname") or user
    seconds = libpq_words.integer(words.get("connect_timeout") or "") if words.get("connect_timeout") else None
    hosts = tuple(
        _host(name, address, port, words, database, user, settings) for name, address, port in _places(settings)
    )
    rest = {word: value for word, value in words.items() if word not in libpq_words.LISTS | {"password"}}
    timeout = CONNECT_SECONDS if seconds is None else float(seconds) if seconds > 0 else ENDLESS_SECONDS
    return ConnectionTarget(
        hosts=hosts, user=user, database=database, words=rest, timeout=timeout, shown=shown, service=service
    )


def _places(settings: Mapping[str, Setting]) -> Iterator[tuple[str, str, int]]:
    """Yield name, address and port of each host. Raises ValueError."""
    names, addresses, ports = (
        settings[word].values if word in settings else () for word in ("host", "hostaddr", "port")
    )
    count = len(addresses or names) or 1
    if names and addresses and len(names) != len(addresses):
        raise ValueError(f"host has {_values(len(names))}, but hostaddr {_values(len(addresses))}: give one for each.")
    if len(ports) > 1 and len(ports) != count:
        raise ValueError(f"port has {_values(len(ports))}, but there {_hosts(count)}: give one port, or one for each.")
    for index in range(count):
        port = ports[index if len(ports) > 1 else 0] if ports else ""
        number = libpq_words.integer(port) if port else DEFAULT_PORT
        if number is None or not 0 < number < 65536:
            raise ValueError(f"port must be a number from 1 to 65535 (in {settings['port'].source}).")
        name = names[index] if names else ""
        if name.startswith("@"):
            raise ValueError(f"host names an abstract socket, which unstick does not support (in {_source(settings)}).")
        yield name, addresses[index] if addresses else "", number


def _host(
    name: str,
    address: str,
    port: int,
    words: Mapping[str, str],
    database: str,
    user: str,
    settings: Mapping[str, Setting],
) -> Host:
    folder = name
    if not name and not address:
        listening = (each for each in SOCKET_FOLDERS if Path(each, f".s.PGSQL.{port}").exists())
        folder = next(listening, SOCKET_FOLDERS[0])
    if password := words.get("password"):
        return Host(
            name=folder, address=address, port=port, password=password, password_source=settings["password"].source
        )
    # The password file names a host by its name, else by its address, and a default socket as localhost.
    local = [] if address and not name else ["localhost"] if not name or name in SOCKET_FOLDERS else []
    names = [*local, *([name or address] if name or address else [])]
    entry = libpq_files.password(words.get("passfile") or "", names, str(port), database, user)
    return Host(name=folder, address=address, port=port, password=entry.value, password_source=entry.source)


def _source(settings: Mapping[str, Setting]) -> str:
    return settings["host"].source if "host" in settings else _STRING


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _hosts(count: int) -> str:
    return "is 1 host" if count == 1 else f"are {count} hosts"


def _unusable(what: str) -> ValueError:
    return ValueError(f"The connection string cannot be used: {what}{'' if what.endswith('?') else '.'}")


# Reading the text


def _words(text: str) -> dict[str, Setting]:
    """Return the words of a connection string. Raises ValueError.

    The last one of several equal words counts.
    """
    if text.startswith(_SCHEMES):
        return _uri(text.partition("://")[2])
    if "://" in text.partition("=")[0]:
        raise _unusable("it must begin with postgresql://")
    if "=" not in text:
        if redact(text) != text:  # not the name of a database; the server's answer and log would repeat the password
            raise _unusable("it must begin with postgresql://")
        return {"dbname": Setting(text, _STRING)} if text else {}
    words, end = dict[str, Setting](), 0
    for match in _WORD.finditer(text):
        if match.start() != end or not match[1].isidentifier():
            break
        value = match[2]
        quoted = value.startswith("'")
        words[match[1]] = Setting(re.sub(r"(?s)\\(.?)", r"\1", value[1:-1] if quoted else value), _STRING)
        end = match.end()
    if text[end:].strip(" \t\n\v\f\r"):
        after = f" after {[*words][-1]}" if words and [*words][-1] in libpq_words.ALL else ""
        raise _unusable(f"it cannot be read{after}: use key=value words, with quotes around spaces")
    return words


def _uri(rest: str) -> dict[str, Setting]:
    """Return the words of a URI without its scheme. Raises ValueError."""
    words: dict[str, Setting] = {}
    authority, at, after = rest.partition("@")
    if at and "/" not in authority:
        user, colon, password = authority.partition(":")
        if user:
            words["user"] = _decoded(user, "user or password")
        if colon and password:
            words["password"] = _decoded(password, "user or password")
        rest = after
    hosts_text = re.match(r"[^/?]*", rest)
    hosts = hosts_text[0] if hosts_text else ""
    rest = rest[len(hosts) :]
    if "@" in hosts:
        raise _malformed("user or password")
    names, ports = [], []
    for host in hosts.split(","):
        match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]]*))(?::([^:]*))?", host)
        if match is None:
            raise _malformed("user or password" if at else "host or port")
        names += _decoded(match[1] or match[2] or "", "host or port").value.split(",")
        ports += _decoded(match[3] or "", "host or port").value.split(",")
        if ports[-1] and libpq_words.integer(ports[-1]) is None:
            raise _malformed("host or port")
    if len(names) > 1 or names[0]:
        words["host"] = Setting("", _STRING, tuple(names))
    if len(ports) > 1 or ports[0]:
        words["port"] = Setting("", _STRING, tuple(ports))
    path, _, query = rest.partition("?")
    if path[1:]:
        words["dbname"] = _decoded(path[1:], "database")
    return words | _query(query)


def _query(query: str) -> dict[str, Setting]:
    words = {}
    for part in query.removesuffix("&").split("&") if query else ():
        word, equals, value = part.partition("=")
        if not equals or "=" in value:
            raise _unusable("a parameter after '?' must be a word, one '=', and a value (%3D is a '=' in it)")
        name, setting = _decoded(word, "parameter").value, _decoded(value, "parameter")
        if (name, setting.value) == ("ssl", "true"):
            name, setting = "sslmode", Setting("require", _STRING)
        words[name] = setting
    return words


def _decoded(text: str, what: str) -> Setting:
    """Return a decoded part of a URI, without blanks around it. Raises ValueError."""
    text = text.strip(" ")
    if _PERCENT.search(text) or " " in text:
        raise _malformed(what)
    decoded = unquote_to_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    return Setting(decoded, _STRING)


def _malformed(what: str) -> ValueError:
    return _unusable(f"its {what} cannot be read: characters such as / ? # : @ % must be percent-encoded there")
