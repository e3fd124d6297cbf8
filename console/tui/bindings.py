"""Textual bindings generated from the key tables of ``keymap``."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding, BindingType

from console.tui.keymap import Key


def bindings(*tables: Iterable[Key]) -> list[BindingType]:
    """Return the bindings of key tables. Keys without a handler are bound elsewhere."""
    return [
        Binding(k.keys, k.handler, k.title, id=k.id, tooltip=k.about, show=bool(k.rank), priority=k.always)
        for table in tables
        for k in table
        if k.handler
    ]
