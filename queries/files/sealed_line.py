"""Lines of JSON that have their own hash as the last field."""

from __future__ import annotations

import hashlib

_DIGEST = b',"digest":"'  # a text inside of a line cannot look like it: its quotation marks have backslashes
_DIGEST_BYTES = 66  # of what follows it


def sealed(line: bytes, owner: str = "") -> bytes:
    """Return a JSON object with its hash.

    ``owner``: of the line, which the hash covers too.
    """
    return line[:-1] + _DIGEST + _hash(line, owner).encode() + b'"}'


def digest_of(line: bytes, owner: str = "") -> str:
    """Return the hash that a line should have, without its line end."""
    content, separator, rest = line.rpartition(_DIGEST)
    return _hash(content + b"}" if separator and len(rest) == _DIGEST_BYTES else line, owner)


def _hash(line: bytes, owner: str) -> str:
    return hashlib.sha256(owner.encode() + line).hexdigest()
