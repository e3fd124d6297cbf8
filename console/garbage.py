"""Garbage collection: off during imports, on while a command or the console runs.

Imported modules are never garbage. Scanning them takes a tenth of the time of a short command.
"""

from __future__ import annotations

import gc

NEW_OBJECTS = 20_000  # that are scanned together: a refresh makes more than Python's 700, and leaves few behind


def pause() -> None:
    """Stop automatic collection until `resume`."""
    gc.disable()


def resume() -> None:
    """Start automatic collection. Objects that exist now are never scanned again."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    gc.enable()
