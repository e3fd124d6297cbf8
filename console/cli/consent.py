"""Options with which an operator agrees to a change."""

from __future__ import annotations

from typing import Any

import click

from queries.records.record import Record


class Consent(Record):
    """Agreement to a change, as typed.

    ``preview``: only a dry run. ``rows``: show it whole, not only its summary. ``confirm``: the name of a production
    context, or of tables that lose rows.
    """

    reason: str | None = None
    preview: bool = False
    rows: bool = False
    yes: bool = False
    confirm: str | None = None

    @classmethod
    def taken(cls, settings: dict[str, Any]) -> Consent:
        """Return the consent among the options of a command, without which they remain."""
        return cls(**{name: settings.pop(name) for name in cls.__struct_fields__})

    @property
    def given(self) -> bool:
        """True if the operator has agreed with an option, and is not asked."""
        return self.yes or self.confirm is not None

    @property
    def measures(self) -> bool:
        """True if the dry run is for the operator, and measures the blast radius."""
        return self.preview or not self.yes

    @property
    def said(self) -> str:
        """The reason for the audit log. Raises UsageError without one."""
        if not (self.reason or "").strip():
            raise click.UsageError("--reason is required (audit log).")
        return str(self.reason)
