"""Connection strings as psql takes them: a URI, ``key=value`` words, or the bare name of a database."""

from __future__ import annotations

import os
import re
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import Path
from urllib.parse import quote, unquote, urlencode

from queries.model import Record

_WORD = re.compile(r"\s*([a-z_]+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s']*)(?=\s|$)")
# libpq knows these, the driver does not; sent on, the server would refuse them as settings of its own.
_LEFT_OUT = frozenset(
    [
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "gssencmode",
        "sslcompression",
        "channel_binding",
        "load_balance_hosts",
        "fallback_application_name",
        "application_name",
        "client_encoding",
        "requirepeer",
        "require_auth",
        "sslcertmode",
        "connect_timeout",
    ]
)


class Target(Record):
    """Where to connect: a URI for the driver ("" is the libpq environment alone) and how long to try, in seconds."""

    uri: str
    timeout: float


def parse(text: str) -> Target:
    """What ``text`` names. Raises ValueError where it cannot be read."""
    if "://" in text:
        if not text.startswith(("postgres://", "postgresql://")):
            raise ValueError("it must begin with postgresql://")
        base, _, query = text.partition("?")
        words = {key: unquote(value) for key, _, value in (part.partition("=") for part in query.split("&") if part)}
        return _target(base, words)
    if "=" not in text:
        return _target(f"postgresql:///{quote(text, safe='')}", {})
    words, end = {}, 0
    for match in _WORD.finditer(text):
        if match.start() != end:
            break
        value = match[2]
        words[match[1]] = re.sub(r"\\(.)", r"\1", value[1:-1] if value.startswith("'") else value)
        end = match.end()
    if text[end:].strip():
        raise ValueError(f"it cannot be read from {text[end:].strip().split('=')[0]!r} on (key=value words are wanted)")
    return _target("postgresql://", words)


def _target(base: str, words: dict[str, str]) -> Target:
    """``base`` with the words that the driver knows, and with what it does not see to by itself."""
    service = words.get("service") or os.environ.get("PGSERVICE")  # the driver reads the variable too late
    kept = {k: v for k, v in words.items() if k not in _LEFT_OUT and v}
    if service:
        _check_service(service)
        kept["service"] = service
    # A path that is there but empty would name the database "", where psql goes on to look elsewhere.
    uri = base.removesuffix("/") if base.count("/") == 3 else base
    query = urlencode(kept, quote_via=quote)
    timeout = _timeout(words.get("connect_timeout"))
    return Target(uri=f"{uri}?{query}" if query else "" if uri == "postgresql://" else uri, timeout=timeout)


def _check_service(name: str) -> None:
    """The driver goes on without a service that is not there, to whatever database comes next."""
    given = os.environ.get("PGSERVICEFILE")
    file = Path(given) if given else Path.home() / ".pg_service.conf"
    known = ConfigParser(interpolation=None)
    try:
        known.read(file)
    except (OSError, UnicodeError, ConfigParserError) as error:
        raise ValueError(f"the service file {file} cannot be read: {str(error).splitlines()[0]}") from None
    if name not in known:
        raise ValueError(f"there is no service {name!r} in {file}")


def _timeout(given: str | None) -> float:
    try:
        seconds = float(given or os.environ.get("PGCONNECT_TIMEOUT") or 10)
    except ValueError:
        raise ValueError("connect_timeout must be a number of seconds") from None
    return seconds if seconds > 0 else 3600.0
