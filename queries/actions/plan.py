"""Plan of an action: the nodes it applies to, and the nodes it cannot apply to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from queries.contract.spec import Action
from queries.errors import DatabaseError
from queries.model import Node, Outcome, Record, Result, split_id
from queries.read.reader import Reader
from queries.safe_text import safe_text
from queries.workspace import Workspace


def count_nodes(number: int, ids: Iterable[str]) -> str:
    """Return ``1 task`` or ``12 tasks``; ``12 nodes`` if the ids are of several kinds."""
    kinds = {split_id(id_)[1] for id_ in ids}
    kind = kinds.pop().replace("_", " ") if len(kinds) == 1 else "node"
    return f"{number} {kind}{'' if number == 1 else 's'}"


class Plan(Record):
    """An action of one engine and its nodes.

    ``actions`` has the action's variant for each kind of node. ``versions``: id and version of each node. ``refused``:
    results of nodes in ``versions`` that the action cannot change here. ``nodes`` and ``skipped`` are set if the
    operator selected the nodes on a screen. ``skipped``: selected nodes that are not in ``versions``, with the reason.
    ``key``: the key that was pressed. ``titles``: of the nodes, for the audit log.
    """

    label: str
    name: str
    actions: dict[str, Action]
    versions: dict[str, str]
    refused: dict[str, Result] = {}
    nodes: tuple[Node, ...] = ()
    skipped: tuple[Result, ...] = ()
    key: str = ""
    titles: dict[str, str] = {}

    @property
    def action(self) -> Action:
        """The action's variant for the first kind of node."""
        return next(iter(self.actions.values()))

    @property
    def title(self) -> str:
        """Title of the plan's dialogs: ``Wake: SendEmail v2``, ``Wake: 12 tasks``."""
        if len(self.nodes) == 1:
            return f"{self.action.title}: {self.nodes[0].title}"
        return f"{self.action.title}: {count_nodes(len(self.nodes), (node.id for node in self.nodes))}"

    def by_script(self, ids: Iterable[str]) -> list[tuple[Action, dict[str, str]]]:
        """Group the nodes of ``ids`` that are not refused by SQL script."""
        groups: dict[str, tuple[Action, dict[str, str]]] = {}
        for node_id in ids:
            if node_id not in self.refused:
                action = self.actions[split_id(node_id)[1]]
                groups.setdefault(action.script, (action, {}))[1][node_id] = self.versions[node_id]
        return list(groups.values())


class ActionInput(Record):
    """Reason and arguments of an action, as the operator entered them."""

    reason: str
    arguments: dict[str, Any] = {}


def plan_versions(
    workspace: Workspace, label: str, name: str, versions: Mapping[str, str], titles: Mapping[str, str] | None = None
) -> Plan:
    """Plan the action ``name`` for these ids and versions.

    ``titles``: of the nodes, as far as they are known. Raises DatabaseError if the label has changed.
    """
    reader = current_reader(workspace, label)
    kinds: dict[str, list[str]] = {}
    for node_id in versions:
        kinds.setdefault(split_id(node_id)[1], []).append(node_id)
    actions: dict[str, Action] = {}
    refused: dict[str, Result] = {}
    for kind, ids in kinds.items():
        action = reader.engine.action(name, kind)
        if action is None:
            why = f"{name} is not an action for a {kind}"
            refused |= {i: Result(id=i, outcome=Outcome.REFUSED, why=why) for i in ids}
            continue
        actions[kind] = action
        available = reader.availability(action, bulk=len(versions) > 1)
        if not available.ok:
            denied = action.writes and reader.found.lacks(action.privileges)
            outcome = Outcome.DENIED if denied else Outcome.REFUSED
            refused |= {i: Result(id=i, outcome=outcome, why=available.why) for i in ids}
    known = dict(titles or {})
    return Plan(label=label, name=name, actions=actions, versions=dict(versions), refused=refused, titles=known)


def plan_selection(reader: Reader | None, selected: Sequence[Node], key: str, names: set[str]) -> Plan | str:
    """Return the plan of an action key for the selected nodes, or the obstacle.

    ``names`` are the actions of the key. The first node that has one of them decides which action is meant.
    """
    if reader is None or not selected:
        return f"{key} changes a node. Move the cursor to a node first."
    by_kind: dict[str, Action] = {}
    for node in selected:
        if not node.id.startswith(f"{reader.label}/"):
            continue
        found = next((action for action in reader.actions(node.kind) if action.name in names), None)
        if found is not None:
            by_kind.setdefault(node.kind, found)
    if not by_kind:
        kinds = " or a ".join(dict.fromkeys(node.kind for node in selected))
        return f"{key} ({', '.join(sorted(names))}) is not for a {kinds}."
    first = next(by_kind[node.kind] for node in selected if node.kind in by_kind)
    eligible: list[Node] = []
    skipped: list[Result] = []
    for node in selected:
        action = by_kind.get(node.kind)
        if not node.id.startswith(f"{reader.label}/"):
            why = f"not a node of {reader.label}: act on one engine at a time"
        elif action is None or action.name != first.name:
            why = f"{first.title} is not for a {node.kind}"
        else:
            available = reader.availability(action, node, bulk=len(selected) > 1)
            why = "" if available.ok else available.why
        if why:
            skipped.append(Result(id=node.id, outcome=Outcome.REFUSED, why=why))
        else:
            eligible.append(node)
    if not eligible:
        why, number = Counter(result.why for result in skipped).most_common(1)[0]
        of = f" ({number} of {len(selected)} nodes)" if len(selected) > 1 else ""
        return f"{first.title}: {safe_text(why)}{of}"
    return Plan(
        label=reader.label,
        name=first.name,
        actions={node.kind: by_kind[node.kind] for node in eligible},
        versions={node.id: node.version for node in eligible},
        nodes=tuple(eligible),
        skipped=tuple(skipped),
        key=key,
        titles={node.id: node.title for node in eligible},
    )


def current_reader(workspace: Workspace, label: str) -> Reader:
    """Return the reader of ``label``.

    Raises DatabaseError if the engine has another label by now.
    """
    reader = workspace.named(label)
    if reader.label != label:
        raise DatabaseError(f"{label} is called {reader.label} now. Read the nodes again.", "Nothing was changed.")
    return reader
