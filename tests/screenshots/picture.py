"""A screen as an SVG that needs nothing from anywhere, and is the same for the same screen."""

from __future__ import annotations

import re

from textual.app import App

FONTS = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"

_FONT_FACES = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)
_FAMILY = re.compile(r"font-family: [^;]+;")


def picture(app: App[None], name: str) -> str:
    """The screen of a running app. ``name`` tells it from others on the same page."""
    svg = app.export_screenshot(title=f"unstick · {name}", simplify=True)
    svg = _FONT_FACES.sub("\n", svg)  # they would be fetched from the network
    svg = _FAMILY.sub(f"font-family: {FONTS};", svg)
    svg = re.sub(r"terminal-\d+", f"unstick-{name}", svg)
    assert not re.search(r"url\([\"']?http|href=[\"']http|@import", svg)
    return svg
