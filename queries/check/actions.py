"""Each action on each node, on a database that may be changed."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from queries.change import edit, gate, perform
from queries.change.admit import lock
from queries.change.plan import Plan
from queries.change.script import Nodes, Request
from queries.change.transaction import ActionScript, Made, make
from queries.check.locking import check_locking
from queries.check.report import Notebook, first
from queries.check.scripts import script
from queries.check.trials import check_trials
from queries.contract.rows import phases_of
from queries.contract.spec import Action
from queries.db.errors import DatabaseError, attempted, attempting
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.log import audit_log
from queries.read import documents
from queries.read.reader import Reader
from queries.records.action import Change, Outcome, Result, RowChange
from queries.records.finding import OPEN
from queries.records.node import Node, Phase
from queries.text.psql_text import array
from queries.workspace import Workspace

REASON = "unstick engine check"
ACTION_NODES = 5  # nodes of an action that is committed, or tried as another role
NODES_ALONE = 3  # nodes of an action that are changed one by one
NODES_EDITED = 3  # nodes of a kind and a status whose texts are edited
FAILED = (Outcome.STALE, Outcome.GONE, Outcome.DENIED, Outcome.CONFLICT, Outcome.UNKNOWN)


Crowd = Callable[[str, str], Awaitable[None]]  # makes all rows refer to the row of a table at a place


class Tried(msgspec.Struct):
    """An action, the nodes that it changes, and the arguments with which it does."""

    action: Action
    changed: dict[str, str]
    arguments: dict[str, Any]

    def of(self, node_id: str, version: str = "") -> Tried:
        """Return the action on one of the nodes."""
        changed = {node_id: version or self.changed[node_id]}
        return Tried(action=self.action, changed=changed, arguments=self.arguments)

    def request(self, reader: Reader) -> Request:
        """Return the request of a transaction that is rolled back."""
        return Request(
            reader=reader,
            action=self.action,
            reason=REASON,
            arguments=self.arguments,
            operator=audit_log.operator(),
            versions=self.changed,
            no_images=REASON,
        )


class Trial:
    """An action on nodes, step by step, in a transaction that is rolled back."""

    def __init__(self, request: Request) -> None:
        self.nodes = Nodes(request)
        self.script = ActionScript(request, self.nodes)
        self._request = request

    async def lock(self, transaction: Transaction) -> None:
        """Lock the nodes."""
        await lock(transaction, self._request, self.nodes)

    async def places(self, transaction: Transaction) -> dict[tuple[str, str], str]:
        """Lock the nodes. Return the ctid of each row that is shown, by table and key."""
        await self.lock(transaction)
        await self.script.images.learn(transaction)
        read = await self.script.rows(transaction, await transaction.batch(self.script.row_queries()))
        return {place: row.place for place, row in read.rows.items()}

    async def run(self, transaction: Transaction) -> Made:
        """Run all steps before the rollback."""
        detected = self.nodes.reader.detected
        (rows,) = await transaction.batch([gate.written(detected.schema, detected.relations)])
        await self.script.images.learn(transaction)
        at = await transaction.now()
        return await make(transaction, self._request, self.script, gate.written_rows(rows), at)


class ActionCheck:
    """Check of the actions of one engine.

    ``other`` is a second view of the same database.
    """

    def __init__(
        self, workspace: Workspace, other: Workspace, reader: Reader, nodes: Mapping[str, Node], notes: Notebook
    ):
        self.workspace, self.other, self.reader, self.nodes, self.notes = workspace, other, reader, nodes, notes
        self.tried: list[Tried] = []
        self.excess: dict[str, dict[str, int]] = {}  # by action: see `_rows`
        self._suggestions: dict[str, list[tuple[str, dict[str, str]]]] = {}

    async def run(self) -> None:
        """Try every action. Raises DatabaseError."""
        check_locking(self.reader.engine, self.notes)
        await self._read_suggestions()
        for action in self.reader.engine.actions_here:
            if action.writes:
                with self.notes.errors(self._at(action), f"{action.name}: "):
                    await self._try(action)
        await check_trials(self.workspace, self.reader, self.nodes.values(), self.notes)

    async def _try(self, action: Action) -> None:
        available = self.reader.availability(msgspec.structs.replace(action, needs=()))
        if not available.ok:
            self.notes.fault(self._at(action), f"{action.name}: {available.why}")
            return
        of_kind = [node for node in self.nodes.values() if node.kind in action.kinds]
        of_kind.sort(key=lambda node: node.id not in self._suggestions)  # findings suggest arguments
        within = [node for node in of_kind if not action.phases or node.phase in action.phases]
        text = action.document is not None
        tried = await (self._edit(action, within) if text else self._within(action, within))
        if tried.changed:
            self.tried.append(tried)
            self.excess[tried.action.name] = excess = await self._rows(tried)
            for node_id in [*tried.changed][:NODES_ALONE] if len(tried.changed) > 1 else ():
                await self._rows(tried.of(node_id), " for one node", excess)
            await self._locks(tried)
            await self._guard(tried)
            one = tried.of(next(iter(tried.changed)))
            await self._version(one)
            await self._only_asked(one)
        else:
            self.notes.fault(self._at(action), f"{action.name}: no node of the fixture is changed by it")
        others = [node for node in of_kind if node not in within]
        await (self._edit_outside(action, others) if text else self._outside(action, others, tried.arguments))

    @property
    def _located(self) -> Statement | None:
        """The statement that returns the places of the nodes' rows."""
        return self.reader.variant.select("images") or self.reader.variant.select("rows")

    def _at(self, action: Action, section: str = "lock") -> Statement | None:
        return first(self.reader.engine.actions.get(action.script, {}).get(section, ()))

    # In phase it changes, out of phase it is refused

    async def _within(self, action: Action, nodes: Collection[Node]) -> Tried:
        """Dry-run an action on nodes for which it is."""
        tried = Tried(action=action, changed={}, arguments={})
        for some, arguments in self._attempts(action, nodes):
            dry_run = await self._dry_run(self.workspace, action, some, arguments)
            for result in dry_run.results:
                self._judge(action, result)
            changed = [r.id for r in dry_run.results if r.outcome is Outcome.CHANGED]
            self.notes.number += len(changed)
            if changed and {*changed} <= dry_run.unmet.keys():
                said = f"{action.name}: after it no worker takes a node of the fixture: {dry_run.unmet[changed[0]]}"
                if action.set:
                    self.notes.setting(("actions", action.name), said)
                else:  # a dispatcher of the engine may come before its worker
                    self.notes.note(said)
            if changed and len(changed) > len(tried.changed):
                tried.changed, tried.arguments = {i: some[i] for i in changed}, arguments
        return tried

    def _judge(self, action: Action, result: Result) -> None:
        """Note a result that no node at rest may have."""
        local = self.reader.ids.local(result.id)
        if result.outcome is Outcome.STALE:
            message = f"{local}: the version in nodes.sql and in this section differ, or change does not return its id"
            self.notes.fault(self._at(action), f"{action.name}: {message}")
        elif result.outcome in FAILED:
            self.notes.fault(self._at(action), f"{action.name}: {local} is {result.outcome}: {result.why}")
        elif result.outcome is Outcome.LOCKED:
            self.notes.fault(self._at(action), f"{action.name}: {local} is not returned, so it counts as locked")
        elif result.outcome is Outcome.REFUSED and not result.why:
            self.notes.fault(self._at(action, "refused"), f"{action.name}: {local} is refused without a reason")

    async def _outside(self, action: Action, nodes: Collection[Node], arguments: Mapping[str, Any]) -> None:
        """Dry-run an action on nodes of other phases: its SQL alone must refuse them."""
        if not nodes:
            return
        versions = {node.id: node.version for node in nodes}
        self._none_changed(action, await self._dry_run(self.workspace, action, versions, arguments))
        await self._state_guard(Tried(action=action, changed=versions, arguments=dict(arguments)))

    async def _state_guard(self, tried: Tried) -> None:
        """Run the change on nodes of other phases: its own WHERE must not let them pass.

        A node can change between the sections where the version does not cover its status.
        """
        now, changed = dict[str, Phase](), set[str]()
        async with self._open(tried) as (transaction, running):
            with attempting():  # after an error nothing was changed
                await running.places(transaction)
                now = {
                    node.id: node.phase
                    for node in await self.reader.nodes.existing(transaction, running.nodes.remaining)
                }
                if running.nodes.remaining:
                    changed, _ = await running.script.change(transaction)
        same = (
            each for each in sorted(changed) if now.get(each) == self.nodes[each].phase
        )  # a phase may end with time
        for node_id in islice(same, 1):
            message = (
                f"change itself does not compare the status: it changes {self.reader.ids.local(node_id)}, which is"
            )
            at = self._at(tried.action, "change")
            self.notes.fault(at, f"{tried.action.name}: {message} {self.nodes[node_id].phase}")

    def _none_changed(self, action: Action, dry_run: Change) -> None:
        """Note nodes that an action changes although it is not for their phase."""
        for result in dry_run.results:
            if result.outcome is Outcome.CHANGED:
                local, phase = self.reader.ids.local(result.id), self.nodes[result.id].phase
                message = f"{local} is {phase}, for which the action is not, and its SQL does not refuse it"
                self.notes.fault(self._at(action, "refused") or self._at(action), f"{action.name}: {message}")

    # An action that stores an edited text is for one node at a time

    async def _edit(self, action: Action, nodes: Collection[Node]) -> Tried:
        """Dry-run an edit of the texts of some nodes.

        It is tried with a text that has changed meanwhile, too.
        """
        tried = Tried(action=action, changed={}, arguments={})
        flags = {a.name: True for a in action.arguments if a.type == "flag"}
        for node in _alike(nodes):
            plan = await edit_plan(self.workspace, self.reader, action, node)
            for more in ({}, flags) if flags else ({},):
                if plan is None:
                    break
                arguments = {**more, **plan.arguments}
                (result,) = (await perform.dry_run(self.workspace, plan, REASON, arguments)).results
                self._judge(action, result)
                if result.outcome is Outcome.CHANGED:
                    self.notes.number += 1
                    if not tried.changed:
                        tried.changed, tried.arguments = dict(plan.versions), arguments
                        await self._seen(action, plan, arguments)
                    break
        return tried

    async def _seen(self, action: Action, plan: Plan, arguments: Mapping[str, Any]) -> None:
        """Dry-run an edit of another text than the one that is stored."""
        other = {name: {**value, "seen": f"{value['seen']}x"} for name, value in plan.arguments.items()}
        other = {**arguments, **other}
        for result in (await perform.dry_run(self.workspace, plan, REASON, other)).results:
            if result.outcome is Outcome.CHANGED:
                message = "it replaces another text than the one that was edited: compare its digest with 'seen'"
                self.notes.fault(self._at(action, "change"), f"{action.name}: {message}")

    async def _edit_outside(self, action: Action, nodes: Collection[Node]) -> None:
        for node in _alike(nodes):
            plan = await edit_plan(self.workspace, self.reader, action, node)
            if plan is not None:
                self._none_changed(action, await perform.dry_run(self.workspace, plan, REASON, plan.arguments))

    def _attempts(self, action: Action, nodes: Collection[Node]) -> Iterable[tuple[dict[str, str], dict[str, Any]]]:
        """Yield versions and arguments to try.

        They are all nodes together, one alone, and what findings suggest.
        """
        versions = {node.id: node.version for node in nodes}
        if not versions:
            return
        title = next(iter(nodes)).title.partition(" - ")[0]
        flags = {a.name: True for a in action.arguments if a.type == "flag"}
        needed = {a.name: _value(a.type, a.choices, a.default, title) for a in action.arguments if a.required}
        yield versions, needed
        if flags:
            yield versions, {**needed, **flags}
        if len(versions) > 1:
            one = next(iter(versions.items()))
            yield dict([one]), {**needed, **flags}
        for node in nodes:
            for name, arguments in self._suggestions.get(node.id, ()):
                if name == action.name and arguments:
                    kinds = {a.name: a.type for a in action.arguments}
                    yield (
                        {node.id: node.version},
                        {**flags, **{k: int(v) if kinds.get(k) == "int" else v for k, v in arguments.items()}},
                    )

    async def _read_suggestions(self) -> None:
        """Read the arguments that findings suggest. Raises DatabaseError."""
        suggestions: dict[str, list[tuple[str, dict[str, str]]]] = {}
        for finding in (await self.reader.findings.read()).findings:
            if finding.action and OPEN not in finding.arguments.values():
                suggestions.setdefault(finding.node_id, []).append((finding.action, finding.arguments))
        self._suggestions = suggestions

    async def _dry_run(
        self, workspace: Workspace, action: Action, versions: Mapping[str, str], arguments: Mapping[str, Any]
    ) -> Change:
        reader = workspace.engines[self.reader.label]
        plan = Plan(
            label=reader.label,
            name=action.name,
            actions=dict.fromkeys(action.kinds, action),
            versions=dict(versions),
        )
        return await perform.dry_run(workspace, plan, REASON, arguments)

    # One transaction, step by step

    @contextlib.asynccontextmanager
    async def _open(self, tried: Tried) -> AsyncIterator[tuple[Transaction, Trial]]:
        """Begin a transaction of the action, which is rolled back."""
        request = tried.request(self.reader)
        async with self.workspace.database.writing(self.reader.detected.action_schema) as transaction:
            yield transaction, Trial(request)

    async def _rows(self, tried: Tried, about: str = "", excess: Mapping[str, int] | None = None) -> dict[str, int]:
        """Compare the rows that are shown with those that the server has written.

        The latter include what triggers wrote, and a row counts for each time that it is written. Return by table and
        word how many more were written than are shown. ``excess``: the same of all nodes together, which one node
        alone must not exceed. ``about``: what is special about the rows.
        """
        more: dict[str, int] = {}
        async with self._open(tried) as (transaction, running):
            made = await running.run(transaction)
            after = await self.reader.nodes.existing(transaction, running.nodes.remaining)
            self._check_status(tried.action, after)
            self._check_left(tried.action, after, (change.read() for change in made.change.changes))
        images = gate.imaged(made.pairs, self.reader.detected.schema)
        at, name = self._located, tried.action.name
        for other in made.change.others:
            where, _, table = other.table.rpartition(".")
            if where != self.reader.detected.schema:
                continue
            for word, number, seen in zip(gate.WORDS, other.counts, images.get((where, table), gate.NONE), strict=True):
                more[f"{word} {table}"] = number
                beyond = excess is not None and number > excess.get(f"{word} {table}", 0)
                if (number and not seen) or beyond:  # else a row was written twice
                    message = f"{name}: the server {word} {number + seen} rows of {table}, and {seen} are shown"
                    self.notes.fault(at, message + about)
        return more

    def _check_status(self, action: Action, nodes: Iterable[Node]) -> None:
        """Note a status that an action has written and that is not declared."""
        phases = phases_of(self.reader.engine.spec.statuses)
        for node in nodes:
            if phases and node.status is not None and node.status not in phases:
                message = f"it writes the status {node.status!r}, which is not declared"
                self.notes.fault(self._at(action, "change"), f"{action.name}: {message}")

    def _check_left(self, action: Action, nodes: Iterable[Node], changes: Iterable[RowChange]) -> None:
        """Note used-up attempts and an error of a node that runs again."""
        at, rows = self._at(action, "change"), tuple(changes)
        for node in nodes:
            was = self.nodes.get(node.id)
            if was is None or was.phase is not Phase.FAILED or node.phase not in (Phase.READY, Phase.SCHEDULED):
                continue
            if node.max_attempts and node.attempts is not None and node.attempts >= node.max_attempts:
                used = f"{node.attempts} of {node.max_attempts}"
                self.notes.fault(at, f"{action.name}: a node runs again with {used} attempts: no worker may take it")
            for column in self._unchanged(action, rows, node):
                self.notes.fault(at, f"{action.name}: it leaves the error in {column}, which it sets")

    @staticmethod
    def _unchanged(action: Action, rows: Iterable[RowChange], node: Node) -> Iterable[str]:
        """Return the columns that the action sets and that still hold the error of a node."""
        for row in rows:
            if row.id == node.id and node.error and row.before and row.after:
                names = (name for name, value in row.after.items() if value == row.before.get(name) == node.error)
                yield from (f"{row.table}.{name}" for name in names if f"{row.table}.{name}" in action.overwrites)

    async def crowded(self, crowd: Crowd) -> None:
        """Try each action on one node to which all other rows refer.

        A fixture seldom has rows below a node that an action can change. Raises an error of NO_CONNECTION only.
        """
        for tried in self.tried:
            if tried.action.document is None:
                with self.notes.skipped(f"{tried.action.name} was not tried with rows that refer to its node"):
                    await self._crowded(tried, crowd)

    async def _crowded(self, tried: Tried, crowd: Crowd) -> None:
        node_id = next(iter(tried.changed))
        nodes = (await self.reader.nodes.read([node_id])).nodes
        for node in nodes:
            async with self._open(tried.of(node_id, node.version)) as (transaction, running):
                places = await running.places(transaction)
            for (table, _), place in places.items():
                await crowd(table, place)
        for node in (await self.reader.nodes.read([node_id])).nodes if nodes else ():
            excess = self.excess.get(tried.action.name, {})
            await self._rows(tried.of(node_id, node.version), " if other rows refer to it", excess)

    async def _version(self, tried: Tried) -> None:
        """Change the columns of a node but its status: its version must be another one.

        Else a node that a worker has taken and given back since is changed as if it were the one that was seen.
        """
        reader, (node_id,) = self.reader, tried.changed
        async with self._open(tried) as (transaction, running):
            places = await running.places(transaction)
            for (table, _), place in places.items():
                values = {
                    "schema": reader.detected.schema,
                    "table": table,
                    "place": place,
                    "columns": array(reader.engine.spec.recognise.relations.get(table, ())),
                    "statuses": array(status.native for status in reader.engine.spec.statuses),
                }
                await transaction.control(script("alter_row", **values))
            now = [node.version for node in await reader.nodes.existing(transaction, [node_id])]
        states = {word for status in reader.engine.spec.statuses for word in (status.native, str(status.phase))}
        # A node may have no row, such as a queue that is not paused; and the version may be of a row of another table.
        if places and now == [tried.changed[node_id]] and now[0] in states:
            message = "a row whose other columns have changed has the same version: add a counter, or use xmin"
            self.notes.fault(self._at(tried.action), f"{tried.action.name}: {message}")

    async def _only_asked(self, tried: Tried) -> None:
        """Ask about one node: no section may return another, or lock its rows."""
        reader, (node_id,) = self.reader, tried.changed
        async with self._open(tried) as (transaction, running):
            sections = tried.request(reader).sections
            parts = [(f"`:{name}`", part) for name in ("lock", "refused") for part in sections.get(name, ())]
            located = self._located
            for name, part in [*parts, *([("it", located)] if located is not None else [])]:
                rows = await running.nodes.rows(transaction, [part])
                for other in sorted({row["id"] for row in rows} - {reader.ids.local(node_id)})[:1]:
                    message = f"asked about {reader.ids.local(node_id)}, {name} returns {other}"
                    self.notes.fault(part, f"{tried.action.name}: {message}")

    async def _locks(self, tried: Tried) -> None:
        """Lock nodes, and try to lock them over a second connection."""
        async with self._open(tried) as (transaction, running):
            await running.lock(transaction)
            taken = dict.fromkeys(running.nodes.remaining, "")
            dry_run = await self._dry_run(
                self.other, tried.action, {i: tried.changed[i] for i in taken}, tried.arguments
            )
        for result in dry_run.results:
            if result.outcome is not Outcome.LOCKED:
                local = self.reader.ids.local(result.id)
                message = f"a second session is not kept from {local}: it is {result.outcome}, not locked (FOR UPDATE)"
                self.notes.fault(self._at(tried.action), f"{tried.action.name}: {message}")

    async def _guard(self, tried: Tried) -> None:
        """Run the change with versions that no row has: it must change nothing."""
        async with self._open(tried) as (transaction, running):
            await running.lock(transaction)
            running.nodes.versions |= {i: _other(version) for i, version in tried.changed.items()}
            changed = await attempted(running.script.change(transaction))
        # After an error, such as of a version that is not a number, nothing was changed either.
        if not isinstance(changed, DatabaseError) and changed[0]:
            message = "it changes a node of another version than the one that was seen: the guard is missing"
            self.notes.fault(self._at(tried.action, "change"), f"{tried.action.name}: {message}")


def _alike(nodes: Iterable[Node]) -> Iterable[Node]:
    """Yield a few nodes of each kind and status."""
    counts = Counter[tuple[str, str | None]]()
    for node in nodes:
        counts[node.kind, node.status] += 1
        if counts[node.kind, node.status] <= NODES_EDITED:
            yield node


async def edit_plan(workspace: Workspace, reader: Reader, action: Action, node: Node) -> Plan | None:
    """Return the plan of an edit of a node's text.

    Return None if the text cannot be edited. Raises DatabaseError.
    """
    try:
        document = await documents.read(reader, action, node.id)
        return edit.planned(workspace, reader, action.name, node, document, _edited(document.text))
    except (documents.NotEditableError, edit.TextError):
        return None


def _edited(text: str) -> str:
    """Return another JSON text of the same kind."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = {}
    return msgspec.json.encode(_changed(value)).decode()


def _changed(value: Any) -> Any:
    """Return a JSON value with one more member, or with another last part."""
    if isinstance(value, dict):
        return {**value, REASON: True}
    if isinstance(value, list):
        return [*value[:-1], _changed(value[-1])] if value else [REASON]
    return value + 1 if type(value) in (int, float) else f"{value} "


def _other(version: str) -> str:
    """Return a version that the row does not have."""
    return str(int(version) + 1) if version.isdecimal() else f"{version}x"


def _value(kind: str, choices: tuple[str, ...], default: str, title: str) -> Any:
    """Return a value that an operator could give."""
    simple = {"flag": True, "int": 1, "json": "{}", "choice": (*choices, "")[0], "text": title, "title": title}
    return default or simple[kind]
