"""Connection strings as psql takes them: a URI, words, or a database name.

asyncpg parses most of a string. This module handles the differences from libpq: words that asyncpg sends to the server
as settings, services (asyncpg fails on ``%`` in a password, and ignores an unknown service), and a few variables.
No message repeats its input, because that may be a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import Path
from urllib.parse import quote, unquote, urlencode

from queries.db.redaction import redact
from queries.model import Record
from queries.suggest import did_you_mean

_WORD = r"(?s)\s*([a-z_]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?=\s|$)"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)")
_SUPPORTED_WORDS = """
    host port dbname user password passfile options target_session_attrs sslmode sslnegotiation sslcert sslkey
    sslpassword sslrootcert sslcrl ssl_min_protocol_version ssl_max_protocol_version krbsrvname gsslib
"""
_UNSUPPORTED_WORDS = """
    keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout gssencmode gssdelegation
    sslcompression sslsni sslcrldir sslcertmode sslkeylogfile channel_binding load_balance_hosts requirepeer
    require_auth fallback_application_name application_name client_encoding connect_timeout replication
    min_protocol_version max_protocol_version scram_client_key scram_server_key oauth_issuer oauth_client_id
    oauth_client_secret oauth_scope
"""
_FORWARDED = frozenset(_SUPPORTED_WORDS.split())
_DROPPED = frozenset(_UNSUPPORTED_WORDS.split())  # asyncpg would send them as settings, which the server refuses
_HANDLED_HERE = frozenset({"service", "servicefile", "hostaddr", "database"})
_VARIABLES = {"hostaddr": "PGHOSTADDR", "options": "PGOPTIONS"}  # those that asyncpg does not read


class Target(Record):
    """URI for asyncpg, and the timeout of the attempt in seconds.

    "" is the libpq environment alone.
    """

    uri: str
    timeout: float


def parse(text: str) -> Target:
    """Return the target that ``text`` names.

    Raises ValueError with a message that ends a sentence.
    """
    if _URI.match(text.lstrip()) or "://" in text.partition("=")[0]:
        base, _, query = text.strip().partition("?")
        _check_uri(base)
        pairs = (part.partition("=") for part in query.partition("#")[0].split("&") if part)
        return _target(base, _known({unquote(key): unquote(value) for key, _, value in pairs}))
    if "=" not in text:
        if redact(text) != text:  # not the name of a database; the server's answer and log would repeat the password
            raise ValueError("it must begin with postgresql://")
        return _target(f"postgresql:///{quote(text, safe='')}", {})
    words, end = {}, 0
    for match in re.finditer(_WORD, text):
        if match.start() != end:
            break
        value = match[2]
        words[match[1]] = re.sub(r"\\(.)", r"\1", value[1:-1] if value.startswith("'") else value, flags=re.DOTALL)
        end = match.end()
    if text[end:].strip():
        after = f" after {[*words][-1]}" if words else ""
        raise ValueError(f"it cannot be read{after}: use key=value words, with quotes around spaces")
    return _target("postgresql://", _known(words))


def _check_uri(base: str) -> None:
    """Raise ValueError for a malformed host.

    asyncpg would repeat it in its error, with part of the password.
    """
    match = _URI.match(base)
    if match is None or match[1] not in ("postgres", "postgresql"):
        raise ValueError("it must begin with postgresql://")
    user, at, hosts = match[2].rpartition("@")
    for host in hosts.split(","):
        if not re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?", host) or "@" in user:
            what = "user or password" if at else "host or port"
            raise ValueError(f"its {what} cannot be read: characters such as / ? # : @ must be percent-encoded there")


def _known(words: Mapping[str, str]) -> dict[str, str]:
    """Return ``words``. Raises ValueError for a word that libpq does not know."""
    known = _FORWARDED | _DROPPED | _HANDLED_HERE
    for word in words:
        if word not in known:
            raise ValueError(f"it has a word that psql does not know{did_you_mean(word, known)}")
    return dict(words)


def _target(base: str, words: dict[str, str]) -> Target:
    """Return the target for a URI and words.

    It includes the service and the variables that asyncpg does not handle.
    """
    name = words.get("service") or os.environ.get("PGSERVICE")
    service = _service(name, words.get("servicefile")) if name else {}
    if service.keys() | words.keys() & {"hostaddr", "port"}:
        # asyncpg has no word for an address, and ignores a port that is not given together with its host.
        base, hosts = _without_hosts(base)
        words = {**service, **hosts, **words}
    for word, variable in _VARIABLES.items():
        if word not in words and os.environ.get(variable):
            words[word] = os.environ[variable]
    if words.get("hostaddr"):
        base, hosts = _without_hosts(base)
        words = {**hosts, **words, "host": words["hostaddr"]}
    if "database" in words:
        words.setdefault("dbname", words["database"])
    kept = {k: v for k, v in words.items() if k in _FORWARDED and v}
    # An empty path would name the database "", while psql takes the name from the environment.
    uri = base.removesuffix("/") if base.count("/") == 3 else base
    query = urlencode(kept, quote_via=quote)
    timeout = _timeout(words.get("connect_timeout"))
    return Target(uri=f"{uri}?{query}" if query else "" if uri == "postgresql://" else uri, timeout=timeout)


def _without_hosts(base: str) -> tuple[str, dict[str, str]]:
    """Split a URI into one without hosts, and the hosts and ports as words."""
    scheme, slashes, rest = base.partition("//")
    authority, slash, path = rest.partition("/")
    user, at, hosts = authority.rpartition("@")
    parts = [re.sub(r":(\d*)$", r" \1", host).partition(" ") for host in hosts.split(",")]
    words = {"host": unquote(",".join(p[0] for p in parts)), "port": ",".join(p[2] for p in parts)}
    return f"{scheme}{slashes}{user}{at}{slash}{path}", {k: v for k, v in words.items() if v.strip(",")}


def _service(name: str, file: str | None) -> dict[str, str]:
    """Return the words of a service, from the user's service file or the machine's."""
    own = Path(file or os.environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf")
    shared = os.environ.get("PGSYSCONFDIR")
    for path in (own, *([Path(shared) / "pg_service.conf"] if shared else [])):
        services = ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",), default_section="\0")
        try:
            services.read(path)
        except (OSError, UnicodeError, ConfigParserError) as error:
            raise ValueError(f"the service file {path} cannot be read ({type(error).__name__})") from None
        if name in services:
            return _known(dict(services[name]))
    raise ValueError(f"there is no service {name!r} in {own}")


def _timeout(given: str | None) -> float:
    try:
        seconds = float(given or os.environ.get("PGCONNECT_TIMEOUT") or 10)
    except ValueError:
        raise ValueError("connect_timeout must be a number of seconds") from None
    return seconds if seconds > 0 else 3600.0
