"""Escape text that could control a terminal, reorder a line or be invisible.

The output boundary calls this: the command line for each line and each JSON document, the screen for each cell.
Escaping text twice gives the same text as escaping it once.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x1f"

# Categories Cf, Cs, Zl, Zp, Co and the rest of Cc, and every code point that Unicode marks Default_Ignorable, such as
# Hangul fillers, variation selectors and tags. Joiners are among them: two names may differ in a joiner alone.
_INVISIBLE = (
    "\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U000f0000-\U0010ffff"
)
_HIDDEN = f"[{_CONTROLS}{_INVISIBLE}]"  # compiled at first use, because most text is plain ASCII
_BYTES = "[\udc80-\udcff]"  # bytes of a database in SQL_ASCII that are no text, as lone surrogates
_IDENTIFIER = r'"(?:[^"]|"")*"'


def safe_text(text: str, ascii: bool = False) -> str:
    """Return ``text`` as one line with hidden characters as ``␛`` or ``<U+202E>``.

    ``ascii`` writes ``<U+001B>`` for controls too. Other characters are unchanged, also those outside ASCII.
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_HIDDEN, _code if ascii else _picture, text)


def safe_json(document: str) -> str:
    """Return the same JSON document with hidden characters as ``\\uXXXX`` escapes.

    Controls below U+0020 are unchanged: inside strings the encoder has escaped them, and elsewhere they are the
    document's own line breaks.
    """
    return document if document.isascii() and "\x7f" not in document else re.sub(f"[{_INVISIBLE}]", _escape, document)


def safe_sql(statement: str) -> str:
    """Return an equivalent statement on one line.

    ``"a<line break>b"`` becomes ``U&"a\\+00000Ab"``. Handles quoted identifiers only, so the statement must hold no
    string literals, comments or dollar quotes.
    """
    return re.sub(_IDENTIFIER, _identifier, statement)


def percent(text: str, also: str) -> str:
    """Percent-encode hidden characters, ``%`` and those in ``also``, for use in an id."""
    pattern = f"[%{re.escape(also)}{_CONTROLS}{_INVISIBLE}]"
    return re.sub(pattern, lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else _code(match)


def _code(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"<U+{code:04X}>"


def has_bytes(text: str) -> bool:
    """Return True if ``text`` holds bytes that are no text."""
    return not text.isascii() and re.search(_BYTES, text) is not None


def lost_bytes(text: str) -> str:
    """Return why an id may not be found although it is on the screen, or ""."""
    match = re.search(r"\\x[89a-f][0-9a-f]", text)
    reason = "is a byte that is no text, unstick cannot look the id up; psql can"
    return f"If {match[0]} in it {reason}." if match else ""


def shown_bytes(text: str) -> str:
    """Return ``text`` with bytes that are no text as ``\\xe9``."""
    return re.sub(_BYTES, _code, text)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))


def _identifier(match: re.Match[str]) -> str:
    if not re.search(_HIDDEN, match[0]):
        return match[0]
    plain = match[0].replace("\\", "\\\\")
    return "U&" + re.sub(_HIDDEN, lambda hidden: f"\\+{ord(hidden[0]):06X}", plain)
