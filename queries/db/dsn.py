"""Connection strings as psql takes them: a URI, words, or a database name.

The words of the string count first, then those of its service, then the variables. The driver reads URIs only, no
service of a variable and no escapes of the password file, and sends unknown words to the server as settings. So they
are read here. No message repeats a value, because that may be a password.
"""

from __future__ import annotations

import configparser
import io
import os
import pwd
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from queries.db.redaction import redact
from queries.files import user_dirs
from queries.files.state_file import open_file
from queries.records.record import Record
from queries.text.suggest import did_you_mean

DEFAULT_PORT = 5432
CONNECT_SECONDS = 10.0  # for each host, if nothing else is said; libpq waits for ever
ENDLESS_SECONDS = 3600.0  # for connect_timeout=0
# libpq knows one of them, which depends on the package. The first one in which a server listens is taken.
SOCKET_FOLDERS = ("/var/run/postgresql", "/run/postgresql", "/tmp", "/private/tmp")
# Folders of the machine's pg_service.conf. libpq knows the one that it was built with.
SYSTEM_FOLDERS = ("/etc/postgresql-common", "/etc/sysconfig/pgsql", "/usr/local/pgsql/etc", "/etc/postgresql")

# Words of libpq 18: each is obeyed, ignored without harm, or refused. One that demands a protection is never ignored.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslnegotiation": ("postgres", "direct"),
    "ssl_min_protocol_version": ("TLSv1.2", "TLSv1.3"),
    "ssl_max_protocol_version": ("TLSv1.2", "TLSv1.3"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
    "load_balance_hosts": ("disable", "random"),
}
_OBEYED = """
    service servicefile user password passfile connect_timeout dbname host port options krbsrvname
    sslcert sslkey sslpassword sslrootcert sslcrl
"""
OBEYED = frozenset(_OBEYED.split()) | CHOICES.keys()
_HARMLESS = """
    application_name fallback_application_name client_encoding sslcompression sslkeylogfile gsslib gssdelegation
    max_protocol_version keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout
"""
HARMLESS = frozenset(_HARMLESS.split())
# Values that demand nothing, and what to do about any other.
REFUSED: Mapping[str, tuple[str, str]] = {
    "hostaddr": ("", "write the address as host; for sslmode=verify-full write the name instead"),
    "requirepeer": ("", "unstick cannot tell who runs the server: remove it"),
    "require_auth": ("", "remove it and use sslmode=verify-full, which lets no other server ask for the password"),
    "requiressl": ("0", "write sslmode=require"),
    "sslcrldir": ("", "name a file with sslcrl"),
    "sslsni": ("1", "unstick sends the name of the server: remove it"),
    "sslcertmode": ("allow", "unstick sends a certificate if the server asks: remove it"),
    "channel_binding": (
        "disable prefer",
        "remove the word and use sslmode=verify-full (with sslrootcert=system if the certificate is public)",
    ),
    "gssencmode": ("disable prefer", "unstick cannot encrypt with GSSAPI: use sslmode=verify-full instead"),
    "min_protocol_version": ("3.0", "unstick speaks protocol 3.0 only: remove it"),
    "replication": ("false off no 0", "a replication connection cannot read tables: remove it"),
    **dict.fromkeys(
        ("scram_client_key", "scram_server_key"), ("", "unstick needs the password itself: use a password file")
    ),
    **dict.fromkeys(
        ("oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope"),
        ("", "unstick cannot log in with OAuth: use a password or a client certificate"),
    ),
}
ALL = OBEYED | HARMLESS | REFUSED.keys()

_STRING = "the connection string"
_BLANK = r"[ \t-\r]"
_WORD = re.compile(rf"(?s){_BLANK}*([^= \t-\r]+){_BLANK}*={_BLANK}*('(?:[^'\\]|\\.)*'|(?!')(?:[^ \t-\r\\]|\\.|\\$)*)")
_URI = re.compile(r"(?s)postgres(?:ql)?://(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)(?:/([^?]*))?(?:\?(.*))?")
_HOST = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]*))(?::([0-9]*))?")


class Setting(NamedTuple):
    """A word's value, and a noun phrase for the place where it was found."""

    value: str
    source: str


_NOTHING = Setting("", _STRING)


class Host(Record):
    """One host of the list.

    ``name`` is a folder for a Unix socket. ``password_source`` says where the password was found or looked for.
    """

    name: str
    port: int
    password: str
    password_source: str

    def __repr__(self) -> str:
        return f"Host({self.name!r}, {self.port})"

    @property
    def local(self) -> bool:
        """True for a Unix socket."""
        return self.name.startswith("/")


class ConnectionTarget(Record):
    """Hosts, role and database, and the time limit of each host in seconds.

    ``shown`` names it in errors, without passwords. ``service``: its name, or "". ``names``: prepared statements may
    have names.
    """

    hosts: tuple[Host, ...]
    user: str
    database: str
    words: Mapping[str, str]  # those that were given, without the password
    timeout: float
    shown: str
    service: str = ""
    names: bool = True

    def __repr__(self) -> str:
        return f"Target({self.hosts!r}, {self.user!r}, {self.database!r})"


def variable(word: str) -> str:
    """Return the variable of a word."""
    odd = {"dbname": "PGDATABASE", "connect_timeout": "PGCONNECT_TIMEOUT"}
    return odd.get(word) or f"PG{word.upper().replace('_', '')}"


def parse(text: str) -> ConnectionTarget:
    """Return the target that ``text`` names.

    Raises ValueError with a message for the operator.
    """
    typed = {word: Setting(value, _STRING) for word, value in _words(text).items()}
    for word in typed:
        if word not in ALL:
            raise _unusable(f"it has a word that psql does not know{_instead(word)}")
    names = ((word, variable(word)) for word in sorted(OBEYED | REFUSED.keys()))
    settings = {word: Setting(os.environ[name], f"the variable {name}") for word, name in names if name in os.environ}
    service, file = ((settings | typed).get(word, _NOTHING).value for word in ("service", "servicefile"))
    if service:
        settings |= _service(service, file)
    settings |= typed
    for word, setting in settings.items():
        if fault := _fault(word, setting.value):
            raise ValueError(f"{word} {fault} (in {setting.source}).")
    words = {word: setting.value for word, setting in settings.items() if setting.value and word != "password"}
    user = words.get("user") or _user_name()
    database = words.get("dbname") or user
    seconds = float(words.get("connect_timeout") or CONNECT_SECONDS)
    return ConnectionTarget(
        hosts=tuple(_hosts(settings, user, database)),
        user=user,
        database=database,
        words=words,
        timeout=seconds if seconds > 0 else ENDLESS_SECONDS,
        shown=redact(text),
        service=service,
    )


def _fault(word: str, value: str) -> str:
    """Return the fault of a word's value, or ""."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return "is not valid UTF-8"
    if "\0" in value:
        return "has a character with the code 0"
    if word in CHOICES and value not in CHOICES[word]:
        return f"must be one of {', '.join(CHOICES[word])}"
    if word == "connect_timeout" and not re.fullmatch(r"\s*[+-]?[0-9]{1,9}\s*", value):
        return "must be a whole number"
    if word in REFUSED and value and value.lower() not in REFUSED[word][0].split():
        return f"cannot be obeyed: {REFUSED[word][1]}"
    return ""


def _hosts(settings: Mapping[str, Setting], user: str, database: str) -> Iterator[Host]:
    """Yield the hosts, each with its port and password. Raises ValueError."""
    names, ports = (settings.get(word, _NOTHING).value.split(",") for word in ("host", "port"))
    if len(ports) not in (1, len(names)):
        raise ValueError(
            f"port has {len(ports)} values, but host {len(names)}: give one port, or one for each host"
            f" (in {settings['port'].source})."
        )
    for name, port in zip(names, ports if len(ports) == len(names) else ports * len(names), strict=True):
        digits = port.strip() or str(DEFAULT_PORT)
        if not re.fullmatch("[0-9]{1,5}", digits) or not 0 < int(digits) < 65536:
            raise ValueError(f"port must be a number from 1 to 65535 (in {settings['port'].source}).")
        listening = (folder for folder in SOCKET_FOLDERS if Path(folder, f".s.PGSQL.{digits}").exists())
        place = name or next(listening, SOCKET_FOLDERS[0])
        password = settings.get("password", _NOTHING)
        if not password.value:
            hosts = (place, "localhost") if place in SOCKET_FOLDERS else (place,)
            password = _password(settings.get("passfile", _NOTHING).value, (hosts, (digits,), (database,), (user,)))
        yield Host(name=place, port=int(digits), password=password.value, password_source=password.source)


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise ValueError(
            f"No user is named, and the local user {os.geteuid()} has no name: write user=... or set PGUSER."
        ) from None


def _instead(word: str) -> str:
    return "; write sslmode=require" if word == "ssl" else did_you_mean(word, ALL)


def _unusable(what: str) -> ValueError:
    return _error(f"The connection string cannot be used: {what}")


def _error(text: str) -> ValueError:
    return ValueError(text if text.endswith("?") else f"{text}.")


# Reading the text


def _words(text: str) -> dict[str, str]:
    """Return the words of a connection string. Raises ValueError.

    The last one of several equal words counts.
    """
    if (uri := _URI.fullmatch(text)) is not None:
        return _uri(*(part or "" for part in uri.groups()))
    # Not a database's name if it has a password: the server's answer and log would repeat it.
    if "://" in text.partition("=")[0] or ("=" not in text and redact(text) != text):
        raise _unusable("it must begin with postgresql://")
    if "=" not in text:
        return {"dbname": text} if text else {}
    words, end = dict[str, str](), 0
    for match in _WORD.finditer(text):
        if match.start() != end or not match[1].isidentifier():
            break
        value = match[2]
        quoted = value.startswith("'")
        words[match[1]] = re.sub(r"(?s)\\(.?)", r"\1", value[1:-1] if quoted else value)
        end = match.end()
    if text[end:].strip(" \t\n\v\f\r"):
        after = f" after {[*words][-1]}" if words and [*words][-1] in ALL else ""
        raise _unusable(f"it cannot be read{after}: use key=value words, with quotes around spaces")
    return words


def _uri(user: str, password: str, hosts: str, database: str, query: str) -> dict[str, str]:
    """Return the words of a URI's parts. Raises ValueError."""
    names, ports = [], []
    for host in hosts.split(","):
        if (match := _HOST.fullmatch(host)) is None or "@" in host:
            raise _malformed("user or password" if user or "@" in host else "host or port")
        names.append(_decoded(match[1] or match[2] or "", "host or port"))
        ports.append(match[3] or "")
    words = {
        "user": _decoded(user, "user or password"),
        "password": _decoded(password, "user or password"),
        "host": ",".join(names),
        "port": ",".join(ports) if any(ports) else "",
        "dbname": _decoded(database, "database"),
    }
    words = {word: value for word, value in words.items() if value}
    for part in query.removesuffix("&").split("&") if query else ():
        word, equals, value = part.partition("=")
        if not equals or "=" in value:
            raise _unusable("a parameter after '?' must be a word, one '=', and a value (%3D is a '=' in it)")
        given = _decoded(word, "parameter"), _decoded(value, "parameter")
        words |= {"sslmode": "require"} if given == ("ssl", "true") else dict([given])
    return words


def _decoded(text: str, what: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})|%00| ", text):
        raise _malformed(what)
    return unquote(text, errors="surrogateescape")


def _malformed(what: str) -> ValueError:
    return _unusable(f"its {what} cannot be read: characters such as / ? # : @ % must be percent-encoded there")


# Reading files of libpq


def _service(name: str, file: str) -> dict[str, Setting]:
    """Return the words of a service, from the user's file or the machine's.

    Raises ValueError.
    """
    home = user_dirs.named_home()
    own = Path(file) if file else home / ".pg_service.conf" if home else None
    folders = [os.environ["PGSYSCONFDIR"]] if os.environ.get("PGSYSCONFDIR") else SYSTEM_FOLDERS
    shared = (Path(folder) / "pg_service.conf" for folder in folders)
    looked = [path for path in (own, *shared) if path is not None and ((file and path == own) or _exists(path))]
    for path in looked:
        sections = configparser.RawConfigParser(delimiters=("=",), default_section="", allow_no_value=True)
        try:
            sections.read_string("\n".join(line.strip() for line in _lines(path)))  # an indent continues no line
        except OSError as error:
            raise ValueError(f"The service file {path} cannot be read: {_why(error)}.") from None
        except configparser.Error as error:
            raise ValueError(
                f"The service file {path} cannot be read: its line {getattr(error, 'lineno', '')} repeats a service or"
                " a word, or is neither [service] nor word=value."
            ) from None
        if name in sections:
            for word in sections[name]:
                if word not in ALL or word.startswith("service"):
                    wrong = "names another service" if word in ALL else f"has an unknown word{_instead(word)}"
                    raise _error(f"The service {name!r} of {path} {wrong}")
            source = f"the service {name!r} of {path}"
            return {word: Setting(value or "", source) for word, value in sections[name].items()}
    places = " and ".join(map(str, looked))
    where = f"in {places}" if places else "because there is no service file (~/.pg_service.conf, or PGSERVICEFILE)"
    raise ValueError(f"There is no service {name!r} {where}.")


def _password(file: str, fields: tuple[tuple[str, ...], ...]) -> Setting:
    """Return the password of the first line that has one of the values of each field.

    Without one, the value is "" and the source says why. ``file`` is the one that the settings name, or "".
    """
    home = user_dirs.named_home()
    if not file and home is None:
        return Setting("", "there is no home folder for a password file")
    path = Path(file) if file or home is None else home / ".pgpass"
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return Setting("", f"the password file {path} is ignored, because it is not a plain file")
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            why = f"because others may read it (mode {mode & 0o777:04o}): chmod 600"
            return Setting("", f"the password file {path} is ignored, {why}")
        for number, line in enumerate(_lines(path), 1):
            parts = [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"((?:\\.|[^:\\])*)(?::|$)", line)]
            if not line.startswith("#") and all(
                part == "*" or part in values for part, values in zip(parts, fields, strict=False)
            ):
                source = f"line {number} of the password file {path}"
                if fault := _fault("password", "".join(parts[4:5])):
                    raise ValueError(f"The password in {source} {fault}.")
                return Setting("".join(parts[4:5]), source)
    except OSError as error:
        return Setting("", f"the password file {path} cannot be read: {_why(error)}")
    return Setting("", f"no line of the password file {path} is for {':'.join(values[0] for values in fields)}")


def _lines(path: Path) -> Iterator[str]:
    with io.TextIOWrapper(open_file(path), "utf-8", "surrogateescape") as file:
        for line in file:
            yield line.rstrip("\r\n")


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def _why(error: OSError) -> str:
    return (error.strerror or "it failed").lower()
