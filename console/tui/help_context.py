"""The part of a screen that help explains first."""

from __future__ import annotations

from queries.records.record import Record


class HelpContext(Record):
    """Text of a screen, and the line under its cursor.

    ``refused`` are actions that are not possible there, with the reasons; ``columns`` headings with their meanings.
    """

    text: str = ""
    line: str = ""
    engine: str = ""  # label of the engine in front
    refused: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
