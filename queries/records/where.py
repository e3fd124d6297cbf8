"""A database as the operator named it, and as its server names itself."""

from __future__ import annotations

import re

from queries.records.record import Record


class Where(Record):
    """A database, and how it was typed.

    The server's own address may be that of a tunnel.
    """

    typed: str  # context, service and hosts
    cluster_name: str  # the setting of the server; "" if it has none
    database: str
    role: str

    @property
    def text(self) -> str:
        """All of it in one line."""
        return "  ".join(filter(None, (self.typed, self.cluster_name, f"{self.database} as {self.role}")))

    @property
    def file_name(self) -> str:
        """The part of a file's name that tells databases apart."""
        return re.sub(r"[^\w.@-]+", "-", "-".join(filter(None, (self.typed, self.cluster_name, self.database))))[:120]
