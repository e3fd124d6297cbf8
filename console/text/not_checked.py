"""Checks and reads that were not made, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console.text import formatting
from queries.records.finding import SkippedFinding
from queries.records.node import ScanRequired


def by_reason(skipped: Iterable[SkippedFinding]) -> Iterator[tuple[str, str]]:
    """Yield engine and text for each reason.

    The text has the codes of the checks, the reason, and the DDL that would allow them.
    """
    reasons: dict[tuple[str, str, str | None], list[str]] = {}
    for each in skipped:
        reasons.setdefault((each.engine, each.why, each.ddl), []).append(each.code)
    for (engine, why, ddl), codes in reasons.items():
        yield engine, f"{', '.join(codes)}: {why}" + (f" ({ddl})" if ddl else "")


def scan_offer(need: ScanRequired, scan: str) -> str:
    """Return the option or key ``scan``, and what it costs."""
    return f"{scan} reads it with a scan of about {formatting.size(need.blocks * 8192)}."
