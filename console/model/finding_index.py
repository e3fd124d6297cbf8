"""Findings of one snapshot, by node and by engine. UI-free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from queries.read.incidents import rank
from queries.records.finding import Finding
from queries.records.node import Node
from queries.records.snapshot import Part


class FindingIndex:
    """Findings of the parts of a snapshot.

    ``ranked``: all of them, worst first, then oldest. ``codes``: by node. ``severities``: by engine's label, the worst
    one of each node. ``oldest``: by engine's label, the server time since when.
    """

    def __init__(self, parts: Sequence[Part] = ()) -> None:
        self.ranked = tuple(sorted((finding for part in parts for finding in part.findings.findings), key=rank))
        self._by_node: dict[str, list[Finding]] = {}
        for finding in self.ranked:
            self._by_node.setdefault(finding.node_id, []).append(finding)
        self.codes = {node_id: tuple(f.code for f in findings) for node_id, findings in self._by_node.items()}
        self.severities: dict[str, tuple[int, ...]] = {}
        self.oldest: dict[str, float] = {}
        for part in parts:
            worst: dict[str, int] = {}
            for finding in part.findings.findings:
                worst[finding.node_id] = max(worst.get(finding.node_id, 0), finding.severity)
                if finding.since is not None:
                    self.oldest[part.label] = min(self.oldest.get(part.label, finding.since), finding.since)
            self.severities[part.label] = tuple(worst.values())

    def of(self, node_id: str) -> list[Finding]:
        """Return the findings of one node, worst first."""
        return list(self._by_node.get(node_id, ()))

    def guards(self, action: str, nodes: Iterable[Node]) -> dict[str, str]:
        """Return the guard of ``action`` by node: the node's version or a finding's guard.

        A finding has a guard if its node changes all the time. The guard is valid only for its suggested action.
        """
        guards = {f.node_id: f.guard for f in reversed(self.ranked) if f.guard and f.action == action}
        return {node.id: guards.get(node.id, node.version) for node in nodes}
