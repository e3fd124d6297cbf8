"""Screen as a self-contained SVG, the same for the same screen."""

from __future__ import annotations

import html
import re

from rich.cells import cell_len
from textual.app import App

FONTS = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
BLANK = "\N{NO-BREAK SPACE}"
CELL = 12.2  # the width of a cell in the SVGs that rich writes

_FONT_FACES = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)
_FAMILY = re.compile(r"font-family: [^;]+;")
_TEXT = re.compile(r'<text class="([^"]+)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+" [^>]*>([^<]*)</text>')
_CLIP = re.compile(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*', re.DOTALL)
_WORDS = re.compile(f"[^{BLANK}]+(?:{BLANK}[^{BLANK}]+)*")


def picture(app: App[None], name: str) -> str:
    """Return the screen of a running app as SVG. ``name`` is unique on a page."""
    svg = app.export_screenshot(title=f"unstick · {name}", simplify=True)
    svg = _FONT_FACES.sub("\n", svg)  # they would be fetched from the network
    svg = _FAMILY.sub(f"font-family: {FONTS};", svg)
    svg = _TEXT.sub(_placed, _CLIP.sub("", svg))
    svg = re.sub(r"terminal-\d+", f"unstick-{name}", svg)
    assert not re.search(r"url\([\"']?http|href=|@import", svg)
    return svg


def _placed(match: re.Match[str]) -> str:
    """Place each word by itself: some viewers drop spaces or ignore textLength."""
    style, x, y, escaped = match.groups()
    text = html.unescape(escaped)
    return "".join(
        f'<text class="{style}" x="{float(x) + CELL * cell_len(text[: words.start()]):.6g}" y="{y}"'
        f' textLength="{CELL * cell_len(words[0]):.6g}">{html.escape(words[0], quote=False)}</text>'
        for words in _WORDS.finditer(text)
    )
