"""Connection strings as psql takes them: a URI, ``key=value`` words, or the bare name of a database."""

from __future__ import annotations

import os
import re
from urllib.parse import quote, urlencode

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
        base, mark, query = text.partition("?")
        words = dict(part.partition("=")[::2] for part in query.split("&") if part)
        timeout = words.get("connect_timeout")
        kept = "&".join(f"{k}={v}" for k, v in words.items() if k not in _LEFT_OUT)
        return Target(uri=base + (mark + kept if kept else ""), timeout=_timeout(timeout))
    if "=" not in text:
        return Target(uri=f"postgresql:///{quote(text, safe='')}" if text else "", timeout=_timeout(None))
    words, end = {}, 0
    for match in _WORD.finditer(text):
        if match.start() != end:
            break
        value = match[2]
        words[match[1]] = re.sub(r"\\(.)", r"\1", value[1:-1] if value.startswith("'") else value)
        end = match.end()
    if text[end:].strip():
        raise ValueError(f"it cannot be read from {text[end:].strip().split('=')[0]!r} on (key=value words are wanted)")
    kept = urlencode({k: v for k, v in words.items() if k not in _LEFT_OUT and v}, quote_via=quote)
    return Target(uri=f"postgresql:///?{kept}", timeout=_timeout(words.get("connect_timeout")))


def _timeout(given: str | None) -> float:
    try:
        seconds = float(given or os.environ.get("PGCONNECT_TIMEOUT") or 10)
    except ValueError:
        raise ValueError("connect_timeout must be a number of seconds") from None
    return seconds if seconds > 0 else 3600.0
