"""Which action a key means for the selected nodes, and which of these nodes can take it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from queries.contract.spec import Action
from queries.model import Node, Outcome, Record, Result
from queries.read.reader import Reader
from queries.safe_text import safe_text


class Plan(Record):
    """An action and its nodes. ``skipped`` are the selected nodes that cannot take it, each with the reason."""

    label: str
    action: Action
    key: str
    nodes: tuple[Node, ...]
    skipped: tuple[Result, ...] = ()

    @property
    def title(self) -> str:
        """Title of the plan's dialogs: ``Wake: SendEmail v2``, ``Wake: 12 nodes``."""
        if len(self.nodes) == 1:
            return f"{self.action.title}: {self.nodes[0].title}"
        return f"{self.action.title}: {len(self.nodes)} nodes"


class ActionInput(Record):
    """Reason and arguments of an action, as the operator entered them."""

    reason: str
    arguments: dict[str, Any] = {}


def make_plan(reader: Reader | None, targets: Sequence[Node], key: str, names: set[str]) -> Plan | str:
    """Return the plan of an action key for these nodes, or the reason why there can be no plan.

    ``names`` are the actions of the key. The first target that has one of them decides which action is meant.
    """
    if reader is None or not targets:
        return f"{key} changes a node. Move the cursor to a node first."
    by_kind: dict[str, Action] = {}
    for node in targets:
        found = next((action for action in reader.actions(node.kind) if action.name in names), None)
        if found is not None:
            by_kind.setdefault(node.kind, found)
    if not by_kind:
        kinds = " or a ".join(dict.fromkeys(node.kind for node in targets))
        return f"{key} ({', '.join(sorted(names))}) is not for a {kinds}."
    first = next(by_kind[node.kind] for node in targets if node.kind in by_kind)
    eligible: list[Node] = []
    skipped: list[Result] = []
    for node in targets:
        action = by_kind.get(node.kind)
        if action is None or action.name != first.name:
            why = f"{first.title} is not for a {node.kind}"
        else:
            available = reader.availability(action, node, bulk=len(targets) > 1)
            why = "" if available.ok else available.why
        if why:
            skipped.append(Result(id=node.id, outcome=Outcome.REFUSED, why=why))
        else:
            eligible.append(node)
    if not eligible:
        why, number = Counter(result.why for result in skipped).most_common(1)[0]
        of = f" ({number} of {len(targets)} nodes)" if len(targets) > 1 else ""
        return f"{first.title}: {safe_text(why)}{of}"
    action = next(by_kind[node.kind] for node in eligible)
    return Plan(label=reader.label, action=action, key=key, nodes=tuple(eligible), skipped=tuple(skipped))
