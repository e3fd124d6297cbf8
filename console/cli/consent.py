"""Options with which an operator agrees to a change."""

from __future__ import annotations

import click

from queries.records.record import Record


class Consent(Record):
    """Agreement to a change, as typed.

    ``preview``: only a dry run. ``confirm``: the name of a production context, or of tables that lose rows.
    """

    reason: str | None = None
    preview: bool = False
    yes: bool = False
    confirm: str | None = None

    @property
    def given(self) -> bool:
        """True if the operator has agreed with an option, and is not asked."""
        return self.yes or self.confirm is not None

    @property
    def said(self) -> str:
        """The reason for the audit log. Raises UsageError without one."""
        if not (self.reason or "").strip():
            raise click.UsageError("--reason is required (audit log).")
        return str(self.reason)
