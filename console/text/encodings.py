"""Encoding of a stream that something is drawn on."""

from __future__ import annotations

from typing import TextIO


def takes_unicode(stream: TextIO | None) -> bool:
    """Return True if a stream can show what unstick draws."""
    try:
        "■▸–…".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
