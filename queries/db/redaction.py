"""Remove passwords from connection strings before they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

HIDDEN = "***"  # of fixed length, because a longer mask would reveal the length of the secret

# Up to the last "@", because a password that is not percent-encoded may contain one. Hiding too much does no harm.
# The scheme may be mistyped (postgres//, postgres:/, //); the rest still contains a password.
_USER = r"(?s)^(\s*(?:(?:[A-Za-z][\w+.-]*)?[:;.,]?[/\\]+)?[^:@/\s=?]*):(?!//)(.*)@"
_SECRET = r"\w*(?:pass(?:word|wd|phrase|code)?|pwd|secret)|scram_\w+_key"
_PARAMETER = r"([?&])([^=&]*)=([^&]*)"
_WORD = rf"(?is)(?<!\w)((?:{_SECRET})\s*=\s*)('(?:\\.|[^'\\])*(?:'|\Z)|(?:\\.|[^\s\\])*)"
_SECRET_CHARACTERS = 6  # characters; a shorter secret may be part of ordinary words


def redact(dsn: str) -> str:
    """Return ``dsn`` with its passwords replaced.

    ``dsn`` is a URI or ``key=value`` words, well formed or not.
    """
    dsn = re.sub(_USER, rf"\1:{HIDDEN}@", dsn)
    if "://" not in dsn.partition("=")[0]:
        return re.sub(_WORD, rf"\1{HIDDEN}", dsn)
    uri, *words = re.split(r"(?s)(?=\s)", dsn.lstrip(), maxsplit=1)
    return "".join([re.sub(_PARAMETER, _parameter, uri), *(re.sub(_WORD, rf"\1{HIDDEN}", word) for word in words)])


def without_passwords(dsn: str) -> str:
    """Return ``dsn`` without its passwords, for a printed command."""
    uri, *words = re.split(r"(?s)(?=\s)", dsn.lstrip(), maxsplit=1) if "://" in dsn.partition("=")[0] else ("", dsn)
    base, mark, query = re.sub(_USER, r"\1@", uri).partition("?")
    kept = "&".join(part for part in query.split("&") if not _secret(part.partition("=")[0]))
    rest = re.sub(_WORD, "", "".join(words)).rstrip()
    return base + (mark + kept if kept else "") + (rest if uri else rest.strip())


def secrets(dsn: str) -> set[str]:
    """Return the passwords in ``dsn``, as written there and decoded."""
    texts = {match[2] for match in re.finditer(_USER, dsn)}
    texts |= {match[3] for match in re.finditer(_PARAMETER, dsn) if _secret(match[2])}
    texts |= {match[2] for match in re.finditer(_WORD, dsn)}
    quoted = {re.sub(r"\\(.)", r"\1", secret.strip("'")) for secret in texts}
    return {secret for secret in texts | quoted | {unquote(secret) for secret in texts} if secret}


def redact_message(message: str, arguments: Iterable[str]) -> str:
    """Return ``message`` without passwords of ``arguments``, which it may repeat."""
    for word in arguments:
        safe = redact(word)
        if safe != word:
            message = message.replace(word, safe).replace(repr(word)[1:-1], safe)
            for secret in sorted(secrets(word), key=len, reverse=True):
                if len(secret) >= _SECRET_CHARACTERS:
                    message = message.replace(secret, HIDDEN)
    return message


def _parameter(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}={HIDDEN}" if _secret(match[2]) else match[0]


def _secret(name: str) -> bool:
    return re.fullmatch(_SECRET, unquote(name).strip(), re.IGNORECASE) is not None
