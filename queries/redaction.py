"""Connection strings without their secrets, for every place where one is printed."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"  # always the same: a mask as long as the secret tells its length

# Up to the last "@": a password that was not percent-encoded may hold one itself, and hiding too much is no harm.
_USER = re.compile(r"^(\s*(?:[A-Za-z][\w+.-]*://)?[^:@/\s=?]*):(?!//).*@", re.DOTALL)
_PARAMETER = re.compile(r"([?&])([^=&]*)=([^&]*)")
_WORD = re.compile(
    r"\b((?:ssl)?password\s*=\s*)(?:'(?:\\.|[^'\\])*(?:'|\Z)|(?:\\.|[^\s\\])*)", re.IGNORECASE | re.DOTALL
)


def redact(dsn: str) -> str:
    """``dsn`` (a URI or ``key=value`` words, well formed or not) with its passwords replaced."""
    if "://" in dsn.partition("=")[0]:
        return _PARAMETER.sub(_parameter, _USER.sub(rf"\1:{HIDDEN}@", dsn))
    return _WORD.sub(rf"\1{HIDDEN}", _USER.sub(rf"\1:{HIDDEN}@", dsn))


def _parameter(match: re.Match[str]) -> str:
    secret = unquote(match[2]).strip().lower() in ("password", "sslpassword")
    return f"{match[1]}{match[2]}={HIDDEN}" if secret else match[0]
