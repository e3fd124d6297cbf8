"""The private parts of Textual that the console depends on still exist."""

from __future__ import annotations

import inspect
from importlib import metadata

from textual._styles_cache import StylesCache
from textual.app import App
from textual.screen import Screen

from console.tui import textual_compat


def test_textual_is_the_release_that_was_checked() -> None:
    major, minor, *_ = metadata.version("textual").split(".")
    assert (int(major), int(minor)) == textual_compat.CHECKED, "check textual_compat.py on this release of Textual"


def test_the_private_parts_are_still_there() -> None:
    assert callable(Screen._on_timer_update)
    assert callable(App._close_messages_no_wait)
    assert callable(App._fatal_error)
    assert "_exception" in vars(App[None]())


def test_the_style_cache_has_the_repaired_signature() -> None:
    textual_compat.repair_style_cache()
    repaired = inspect.signature(StylesCache.get_inner_outer)
    assert list(repaired.parameters)[1:] == ["base_background", "background"]
