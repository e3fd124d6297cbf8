"""Plan of an action, or of an undo: the nodes it applies to, and the others."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from queries.contract.engine import Engine
from queries.contract.spec import TITLE_END, Action, Argument
from queries.db.errors import DatabaseError, UnknownIdError
from queries.db.query import statement
from queries.read.reader import Reader
from queries.records.action import Change, Edit, Outcome, Result, Risk, Undo
from queries.records.audit import OTHERS, RUN, AuditLogEntry
from queries.records.finding import Support
from queries.records.node import Availability, Node, a_kind, split_id
from queries.records.record import Record
from queries.text.counted import noun_of, plural
from queries.text.safe_text import safe_text
from queries.workspace import Workspace

PART_NODES = 500  # nodes of one transaction

UNDO = Action(
    name="undo",
    key="U",
    title="Undo",
    kinds=(),
    support=Support.NATIVE,
    effect="Rows that are still as the action left them get their earlier values. Other nodes are skipped by name.",
    risk=Risk.MEDIUM,
    undo=Undo.ROWS,
)


def count_nodes(number: int, ids: Iterable[str]) -> str:
    """Return ``1 task`` or ``12 tasks``; ``12 nodes`` if the ids are of several kinds."""
    kinds = {split_id(id_)[1] for id_ in ids}
    kind = noun_of(kinds.pop()) if len(kinds) == 1 else "node"
    return f"{number} {kind if number == 1 else plural(kind)}"


class Plan(Record):
    """An action of one engine and its nodes.

    ``actions`` has the action's variant for each kind of node. ``versions``: id and version of each node. ``refused``:
    results of nodes in ``versions`` that the action cannot change here. ``nodes`` and ``skipped`` are set if the
    operator selected the nodes on a screen. ``skipped``: selected nodes that are not in ``versions``, with the reason.
    ``key``: the key that was pressed. ``titles``: of the nodes, for the audit log. ``arguments``: fixed, without
    those that the operator enters. ``edit``: of an action with an edited text.
    ``undoes``: of an undo, the action that it undoes and the roles that did it.
    ``unseen``: number of nodes that are marked, but not in view on the screen.
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
    arguments: dict[str, Any] = {}
    edit: Edit | None = None
    undoes: str = ""
    unseen: int = 0

    @property
    def action(self) -> Action:
        """The action's variant for the first kind of node."""
        return next(iter(self.actions.values()))

    @property
    def asked(self) -> tuple[Argument, ...]:
        """Arguments that the operator enters."""
        return tuple(argument for argument in self.action.typed if argument.name not in self.arguments)

    @property
    def title(self) -> str:
        """Title of the plan's dialogs: ``Wake: 12 tasks (3 not in view)``."""
        unseen = f" ({self.unseen} not in view)" if self.unseen else ""
        if len(self.nodes) == 1:
            return f"{self.action.title}: {self.nodes[0].title}{unseen}"
        ids = [node.id for node in self.nodes] or list(self.versions)
        return f"{self.action.title}: {count_nodes(len(ids), ids)}{unseen}"

    def by_script(self, ids: Iterable[str]) -> list[tuple[Action, dict[str, str]]]:
        """Group the nodes of ``ids`` that are not refused by SQL script.

        The nodes of an undo are grouped by the entry that is undone, which is their version.
        """
        if len(self.actions) == 1 and not self.refused and self.name != UNDO.name:  # as in most bulks
            versions = {node_id: self.versions[node_id] for node_id in ids}
            return [(self.action, versions)] if versions else []
        groups: dict[tuple[str, str], tuple[Action, dict[str, str]]] = {}
        for node_id in ids:
            if node_id not in self.refused:
                action, version = self.actions[node_id.partition("/")[2].partition(":")[0]], self.versions[node_id]
                key = action.script, version if self.name == UNDO.name else ""
                groups.setdefault(key, (action, {}))[1][node_id] = version
        return list(groups.values())


def statements(engine: Engine, action: Action) -> str:
    """Return the action's SQL in execution order, to show or copy."""
    if action.name == UNDO.name:
        names = ("images_find", "undo_delete", "undo_insert", "undo_update")
        return "\n\n".join(f"-- {name}\n{statement(name).text};" for name in names)
    parts = [f"-- {name}\n{part.text};" for name, run in engine.actions[action.script].items() for part in run]
    return "\n\n".join(parts)


def recorded(action: Action, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as they are shown and recorded.

    An edited text is replaced by its size and digest. The text itself is in the rows and their images, as far as
    these are kept.
    """
    document = action.document
    if document is None or not isinstance(arguments.get(document.name), dict):
        return dict(arguments)
    text = str(arguments[document.name].get("text", "")).encode(errors="surrogatepass")
    return {**arguments, document.name: f"{len(text)} bytes, sha256 {hashlib.sha256(text).hexdigest()}"}


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
        action = UNDO if name == UNDO.name else reader.engine.action(name, kind)
        if action is None:
            right = _kinds(each for one in reader.engine.spec.actions if one.name == name for each in one.kinds)
            why = f"{name} is not an action for {a_kind(kind)}" + f", but for {right}" * bool(right)
            refused |= {i: Result(id=i, outcome=Outcome.REFUSED, why=why) for i in ids}
            continue
        actions[kind] = action
        available = reader.availability(action, bulk=len(versions) > 1)
        if not available.ok:
            denied = action.writes and reader.detected.lacks(action.privileges)
            outcome = Outcome.DENIED if denied else Outcome.REFUSED
            refused |= {i: _refused(i, available.why, action.commands(i), outcome) for i in ids}
    return Plan(
        label=label, name=name, actions=actions, versions=dict(versions), refused=refused, titles=dict(titles or {})
    )


def plan_selection(reader: Reader | None, selected: Sequence[Node], key: str, names: set[str]) -> Plan | Availability:
    """Return the plan of an action key for the selected nodes, or the obstacle.

    ``names`` are the actions of the key. The first node that has one of them decides which action is meant.
    """
    if reader is None or not selected:
        return Availability(ok=False, why=f"{key} changes a node. Move the cursor to a node first.")
    by_kind: dict[str, Action] = {}
    for node in selected:
        if not node.id.startswith(f"{reader.label}/"):
            continue
        action = next((action for action in reader.engine.actions_of(node.kind) if action.name in names), None)
        if action is not None:
            by_kind.setdefault(node.kind, action)
    if not by_kind:
        here = [action for action in reader.engine.actions_here if action.name in names]
        if not here:
            return Availability(ok=False, why=f"{key} does nothing in {reader.label}. ? lists the keys.")
        wrong, right = _kinds(node.kind for node in selected), _kinds(kind for each in here for kind in each.kinds)
        return Availability(ok=False, why=f"{key} ({here[0].name}) is not for {wrong}, but for {right}.")
    first = next(by_kind[node.kind] for node in selected if node.kind in by_kind)
    eligible: list[Node] = []
    skipped: list[Result] = []
    for node in selected:
        action = by_kind.get(node.kind)
        commands: dict[str, str] = {}
        if not node.id.startswith(f"{reader.label}/"):
            why = f"not a node of {reader.label}: act on one engine at a time"
        elif action is None or action.name != first.name:
            why = f"{first.title} is not for {a_kind(node.kind)}"
        else:
            available = reader.availability(action, node, bulk=len(selected) > 1)
            why, commands = ("", {}) if available.ok else (available.why, available.commands)
        if why:
            skipped.append(_refused(node.id, why, commands))
        else:
            eligible.append(node)
    if not eligible:
        why, number = Counter(result.why for result in skipped).most_common(1)[0]
        of = f" ({number} of {len(selected)} nodes)" if len(selected) > 1 else ""
        return Availability(ok=False, why=f"{first.title}: {safe_text(why)}{of}", commands=_commands(skipped))
    return Plan(
        label=reader.label,
        name=first.name,
        actions={node.kind: by_kind[node.kind] for node in eligible},
        versions={node.id: node.version for node in eligible},
        nodes=tuple(eligible),
        skipped=tuple(skipped),
        key=key,
        titles={node.id: node.title for node in eligible},
        arguments=_from_title(first, eligible),
    )


def _kinds(kinds: Iterable[str]) -> str:
    """Return kinds with their article, each once: ``a job or a task``."""
    return " or ".join(dict.fromkeys(map(a_kind, kinds)))


def _from_title(action: Action, nodes: Sequence[Node]) -> dict[str, Any]:
    """Return the arguments that repeat what the titles of all nodes begin with."""
    names = {node.title.rpartition(TITLE_END)[0] for node in nodes}
    name = names.pop() if len(names) == 1 else ""
    return {argument.name: name for argument in action.typed if argument.type == "title" and name}


def _commands(results: Iterable[Result]) -> dict[str, str]:
    """Return the commands of all results, one on each line, by their places."""
    lines: dict[str, dict[str, None]] = {}
    for result in results:
        for place, command in (result.commands or {}).items():
            lines.setdefault(place, {})[command] = None
    return {place: "\n".join(commands) for place, commands in lines.items()}


def _refused(node_id: str, why: str, commands: Mapping[str, str] = {}, outcome: Outcome = Outcome.REFUSED) -> Result:
    return Result(id=node_id, outcome=outcome, why=why, commands=dict(commands) or msgspec.UNSET)


def current_reader(workspace: Workspace, label: str) -> Reader:
    """Return the reader of ``label``.

    Raises DatabaseError if the engine has another label by now.
    """
    reader = workspace.named(label)
    if reader.label != label:
        raise DatabaseError(f"{label} is called {reader.label} now. Read the nodes again.", "Nothing was changed.")
    return reader


async def plan_entry(workspace: Workspace, name: str, ids: Collection[str] = ()) -> Plan:
    """Plan the undo of an entry or a run, or of ``ids`` of its nodes only.

    ``name``: id of the entry, or of the run. Raises DatabaseError, UnknownIdError.
    """
    return plan_undo(workspace, await workspace.audit_log.find(name), ids)


def plan_undo(workspace: Workspace, entries: Sequence[AuditLogEntry], ids: Collection[str] = ()) -> Plan:
    """Plan the undo of ``entries``: one, or those of a run, newest first.

    Raises DatabaseError, UnknownIdError.
    """
    entries = [entry for entry in entries if undoable(entry.results)] or entries[:1]  # without events of a run
    reader = workspace.recorded(entries[0].engine, entries[0].schema)
    if reader is None:
        raise DatabaseError(f"The entry {entries[0].id} is about {entries[0].engine}, which cannot be changed here.")
    changes: dict[str, tuple[str, str]] = {}  # by node: its entry and title
    for entry in entries:
        for node_id, title in undoable(entry.results).items():
            if reader.ids.owns(node_id):
                changes.setdefault(reader.ids.present(node_id), (entry.id, title))
    what = f"entry {entries[0].id}" if len(entries) == 1 else f"run {entries[0].run}"
    targets = [reader.ids.present(i) for i in ids] or list(changes)
    unknown = [i for i in targets if i not in changes]
    if unknown:
        raise UnknownIdError(f"The {what} did not change {unknown[0]}.")
    if not targets and entries[0].unreadable:
        raise DatabaseError(f"The {what} cannot be read: {entries[0].unreadable}.", "Nothing was changed.")
    if not targets:
        raise DatabaseError(f"The {what} changed no node of {reader.label}, so there is nothing to undo.")
    versions, titles = {i: changes[i][0] for i in targets}, {i: changes[i][1] for i in targets if changes[i][1]}
    plan = plan_versions(workspace, reader.label, UNDO.name, versions, titles)
    named = {"entry": entries[0].id} if len(entries) == 1 else {RUN: entries[0].run}
    roles = sorted({f"{entry.role} ({entry.os_user}@{entry.host})" for entry in entries})
    undoes = f"{entries[0].action} of the {what}, by the role {', '.join(roles)}"
    stays = dict.fromkeys(str(entry.arguments[OTHERS]) for entry in entries if OTHERS in entry.arguments)
    if stays:
        undoes += f". Rows of other tables do not come back: it has {'; '.join(stays)}"
    return msgspec.structs.replace(plan, key=UNDO.key, arguments=named, undoes=undoes)


def undoable(results: Iterable[Result]) -> dict[str, str]:
    """Return the nodes of an entry that can be undone, with their titles."""
    return {r.id: r.name for r in results if r.outcome in (Outcome.CHANGED, Outcome.UNKNOWN)}


def split(dry_run: Change) -> Iterator[tuple[str, ...]]:
    """Yield the nodes of each transaction: at most 500, in an undo of one entry."""
    versions = dry_run.versions
    entry = versions.get if dry_run.action == UNDO.name else lambda _: ""
    for _, group in groupby(versions, key=entry):
        ids, start = list(group), 0
        while start < len(ids):
            yield tuple(ids[start : start + PART_NODES])
            start += PART_NODES


def check_storable(reason: str, arguments: Mapping[str, Any]) -> None:
    """Raise DatabaseError if the audit log cannot store reason and arguments."""
    if not reason.strip():
        raise DatabaseError("A reason is required. It is written to the audit log.", "Nothing was changed.")
    if not all(_storable(value) for value in (reason, *arguments.values())):
        raise DatabaseError("The reason or an argument is not valid text, or contains NUL.", "Nothing was changed.")


def _storable(value: object) -> bool:
    """Return True if the audit log can store the value.

    Arguments may contain any bytes, and jsonb cannot contain NUL.
    """
    try:
        return b"\0" not in str(value).encode()
    except UnicodeEncodeError:
        return False
