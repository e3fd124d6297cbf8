"""Connection strings without their secrets, for every place where one is printed."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"  # always the same: a mask as long as the secret tells its length

# Up to the last "@": a password that was not percent-encoded may hold one itself, and hiding too much is no harm.
_USER = r"(?s)^(\s*(?:[A-Za-z][\w+.-]*://)?[^:@/\s=?]*):(?!//).*@"
_PARAMETER = r"([?&])([^=&]*)=([^&]*)"
_WORD = r"(?is)\b((?:ssl)?password\s*=\s*)(?:'(?:\\.|[^'\\])*(?:'|\Z)|(?:\\.|[^\s\\])*)"


def redact(dsn: str) -> str:
    """``dsn`` (a URI or ``key=value`` words, well formed or not) with its passwords replaced."""
    if "://" in dsn.partition("=")[0]:
        return re.sub(_PARAMETER, _parameter, re.sub(_USER, rf"\1:{HIDDEN}@", dsn))
    return re.sub(_WORD, rf"\1{HIDDEN}", re.sub(_USER, rf"\1:{HIDDEN}@", dsn))


def _parameter(match: re.Match[str]) -> str:
    secret = unquote(match[2]).strip().lower() in ("password", "sslpassword")
    return f"{match[1]}{match[2]}={HIDDEN}" if secret else match[0]
