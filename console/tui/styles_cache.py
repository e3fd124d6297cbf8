"""A repair of Textual's style cache, which keeps the painted lines of widgets that are gone (seen in Textual 8.2.8).

``StylesCache.get_inner_outer`` is a method under ``lru_cache(1024)``. So the cache holds a reference to every instance,
and each instance holds the painted lines of its widget. Opening 150 pages grew the process by 17 MB.
"""

from __future__ import annotations

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style


@lru_cache(1024)
def _inner_outer(base_background: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base_background + background), Style(background=base_background)


def _get_inner_outer(_: StylesCache, base_background: Color, background: Color) -> tuple[Style, Style]:
    return _inner_outer(base_background, background)


def repair() -> None:
    """Cache the styles by their colors alone. Calling it again changes nothing."""
    StylesCache.get_inner_outer = _get_inner_outer  # type: ignore[method-assign, assignment]
