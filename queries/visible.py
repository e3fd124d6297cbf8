"""Text that may come from anybody, made harmless for a terminal."""

from __future__ import annotations

import re

# Control, format and separator characters (categories Cc, Cf, Cs, Zl, Zp), apart from the joiners that words and
# emoji need and the number signs that are drawn. They move the cursor, reorder a line, or hide.
_HIDDEN = (  # compiled when first met: most text is harmless
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\ud800-\udfff]"
)


def visible(text: str) -> str:
    """``text`` with each character that hides or steers a terminal shown as ``␛`` or ``<U+202E>``, line breaks too."""
    return text if text.isprintable() else re.sub(_HIDDEN, _picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
