"""Words of libpq: each is obeyed, ignored without harm, or refused.

They are those of the documentation of libpq 18. A word that demands a protection is never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from queries.db import login_methods

_OBEYED = """
    service user password passfile connect_timeout dbname host hostaddr port options krbsrvname requirepeer
    require_auth sslmode requiressl sslnegotiation sslcert sslkey sslpassword sslrootcert sslcrl sslcrldir sslsni
    ssl_min_protocol_version ssl_max_protocol_version target_session_attrs load_balance_hosts
    keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout
"""
OBEYED = frozenset(_OBEYED.split())

HARMLESS: Mapping[str, str] = {
    "application_name": "unstick names its sessions unstick, by which it finds them",
    "fallback_application_name": "unstick names its sessions unstick, by which it finds them",
    "client_encoding": "unstick reads and writes UTF-8",
    "sslcompression": "TLS libraries have not compressed for years",
    "sslkeylogfile": "it only writes a file for debugging",
    "gsslib": "it is for Windows",
    "gssdelegation": "credentials are not passed on",
    "max_protocol_version": "unstick speaks 3.0, which is below each limit",
}


class Refusal(NamedTuple):
    """Values of a word that unstick cannot obey (empty: all), and what to do."""

    values: frozenset[str]
    advice: str


REFUSED: Mapping[str, Refusal] = {
    "channel_binding": Refusal(
        frozenset({"require"}),
        "unstick cannot bind to the channel: remove the word and use sslmode=verify-full,"
        " which stops the same attack (sslrootcert=system for a public certificate)",
    ),
    "gssencmode": Refusal(
        frozenset({"require"}), "unstick cannot encrypt with GSSAPI: use sslmode=verify-full instead"
    ),
    "sslcertmode": Refusal(
        frozenset({"require"}), "unstick cannot tell whether the server asked for a certificate: use allow or disable"
    ),
    "min_protocol_version": Refusal(frozenset({"3.2", "latest"}), "unstick speaks protocol 3.0 only: remove it"),
    "replication": Refusal(
        frozenset({"true", "on", "yes", "1", "database"}), "a replication connection cannot read tables: remove it"
    ),
    **dict.fromkeys(
        ("scram_client_key", "scram_server_key"),
        Refusal(frozenset(), "unstick needs the password itself: use a password file"),
    ),
    **dict.fromkeys(
        ("oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope"),
        Refusal(frozenset(), "unstick cannot log in with OAuth: use a password or a client certificate"),
    ),
}

ALL = OBEYED | HARMLESS.keys() | REFUSED.keys()
LATER = frozenset({"servicefile"})  # a word of libpq 19
SECRET = frozenset({"password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret"})
LISTS = frozenset({"host", "hostaddr", "port"})

_TLS_VERSIONS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslnegotiation": ("postgres", "direct"),
    "sslcertmode": ("disable", "allow", "require"),
    "channel_binding": ("disable", "prefer", "require"),
    "gssencmode": ("disable", "prefer", "require"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
    "load_balance_hosts": ("disable", "random"),
    "min_protocol_version": ("3.0", "3.2", "latest"),
    "max_protocol_version": ("3.0", "3.2", "latest"),
    "ssl_min_protocol_version": _TLS_VERSIONS,
    "ssl_max_protocol_version": _TLS_VERSIONS,
    "replication": ("true", "on", "yes", "1", "database", "false", "off", "no", "0"),
}
_IN_ANY_CASE = frozenset({"ssl_min_protocol_version", "ssl_max_protocol_version", "replication"})
_MAY_BE_EMPTY = _IN_ANY_CASE | {"min_protocol_version", "max_protocol_version"}
_NUMBERS = frozenset(
    {
        "connect_timeout",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
    }
)

# An empty value is one like any other to libpq: it hides the variable, and some words may not be empty.
VARIABLES: Mapping[str, str] = {
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "passfile": "PGPASSFILE",
    "channel_binding": "PGCHANNELBINDING",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "dbname": "PGDATABASE",
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "client_encoding": "PGCLIENTENCODING",
    "options": "PGOPTIONS",
    "application_name": "PGAPPNAME",
    "sslmode": "PGSSLMODE",
    "sslnegotiation": "PGSSLNEGOTIATION",
    "sslcompression": "PGSSLCOMPRESSION",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "sslcertmode": "PGSSLCERTMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcrl": "PGSSLCRL",
    "sslcrldir": "PGSSLCRLDIR",
    "sslsni": "PGSSLSNI",
    "requirepeer": "PGREQUIREPEER",
    "require_auth": "PGREQUIREAUTH",
    "min_protocol_version": "PGMINPROTOCOLVERSION",
    "max_protocol_version": "PGMAXPROTOCOLVERSION",
    "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
    "ssl_max_protocol_version": "PGSSLMAXPROTOCOLVERSION",
    "gssencmode": "PGGSSENCMODE",
    "krbsrvname": "PGKRBSRVNAME",
    "gsslib": "PGGSSLIB",
    "gssdelegation": "PGGSSDELEGATION",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
    "load_balance_hosts": "PGLOADBALANCEHOSTS",
}
"""Variable of each word. PGSERVICE, PGSERVICEFILE and PGSYSCONFDIR are read with the service."""


def fault(word: str, value: str) -> str:
    """Return the fault of a word's value, or "".

    The value is not repeated, because it may be a misplaced password.
    """
    if not _encodable(value):
        return "is not valid UTF-8"
    if "\0" in value:
        return "has a character with the code 0"
    if word in CHOICES and (value or word not in _MAY_BE_EMPTY):
        folded = value.lower() if word in _IN_ANY_CASE else value
        if folded not in {choice.lower() if word in _IN_ANY_CASE else choice for choice in CHOICES[word]}:
            return f"must be one of {', '.join(CHOICES[word])}"
    if word in _NUMBERS and integer(value) is None:
        return "must be a whole number"
    if word == "require_auth" and value:
        try:
            login_methods.allowed(value)
        except ValueError as error:
            return str(error)
    refusal = REFUSED.get(word)
    if refusal and value and (not refusal.values or value.lower() in refusal.values):
        shown = f"={value.lower()}" if refusal.values else ""
        return f"{shown} cannot be obeyed: {refusal.advice}"
    return ""


def integer(value: str) -> int | None:
    """Return the number that libpq reads, or None."""
    match = re.fullmatch(r"[ \t-\r]*([+-]?[0-9]+)[ \t-\r]*", value)
    number = int(match[1]) if match and len(match[1]) < 12 else None
    return number if number is not None and -(2**31) <= number < 2**31 else None


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
