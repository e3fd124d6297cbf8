"""Rows beside the incidents: groups of dead letters, and changes. UI-free.

Both come from the reads of their own screens, so that they have the same cap, order and words there. A node that an
incident is about is in no other row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from console.model.dead_letter_board import DeadLetterBoard, EngineDeadLetters
from console.model.fields.field import common
from queries.change.plan import UNDO, undoable
from queries.change.redrive import revival_of
from queries.changed import read_changes
from queries.read.incidents import NEW_SECONDS
from queries.read.reader import Reader
from queries.records.action import Proof
from queries.records.change import NodeChange
from queries.records.dead_letter import DeadLetter, Group
from queries.records.finding import Finding, Incident
from queries.records.node import Node, Phase
from queries.workspace import Workspace

WINDOW_SECONDS = 600.0  # age of the oldest change that is shown
DEAD, CHANGED = "dead letters", "changed"  # titles
LEAST, MEDIUM = 1, 4  # severities


class Now:
    """Failing groups and changes as last read. ``board`` has the dead letters."""

    def __init__(self, board: DeadLetterBoard) -> None:
        self.nodes: dict[str, Node] = {}  # of the rows
        self.growth: dict[str, int] = {}  # dead letters of the last quarter of an hour, by key of an older group
        self._board = board
        self._groups: list[tuple[Incident, Sequence[DeadLetter]]] = []
        self._changes: Sequence[NodeChange] = ()

    async def read(self, workspace: Workspace, unread: Collection[str]) -> None:
        """Read a page of each engine's dead letters, and the newest changes.

        Raises DatabaseError. ``unread``: engines that could not be read just now. They are not asked again.
        """
        readers = {**workspace.engines}  # they may be detected again meanwhile
        look = self._board.look(readers, (), lambda: None, unread)
        changes = [] if unread else [read_changes(workspace, WINDOW_SECONDS, routine=False)]
        for answer in (await workspace.database.together(look, *changes))[1:]:
            self._changes = answer.changes
        self._groups = [
            (_failing(part, group, dead, readers[label]), dead)
            for label, part in self._board.parts.items()
            for group, dead in part.groups.items()
        ]

    def rows(self, incidents: Sequence[Incident], at: float) -> list[Incident]:
        """Return the incidents, then the groups and changes that they do not cover.

        If nothing is wrong, no change matters. ``at``: server time.
        """
        known = {f.node_id for each in incidents for f in (*each.findings, *each.explained)}
        groups = [(g, dead) for g, dead in self._groups if known.isdisjoint(each.node.id for each in dead)]
        old = ((g, dead) for g, dead in groups if g.since and at - g.since >= NEW_SECONDS)
        self.growth = {g.key: sum(at - (each.since or 0.0) < NEW_SECONDS for each in dead) for g, dead in old}
        self.nodes = {each.node.id: each.node for _, dead in groups for each in dead}
        changes = self._changes if incidents or groups else ()
        return [*incidents, *(g for g, _ in groups), *_changed(changes, known | self.nodes.keys())]


def _failing(part: EngineDeadLetters, group: Group, dead: Iterable[DeadLetter], reader: Reader) -> Incident:
    text, action = group.fingerprint, common(revival_of(reader, each) for each in dead) or None
    finding = partial(
        Finding, engine=group.engine, code=DEAD, title=DEAD, proof=Proof.VERIFIED, action=action,
        read_at=part.at if part.error_text else None,
    )  # fmt: skip
    findings = tuple(
        finding(node_id=each.node.id, sentence=each.error or text, severity=each.severity, since=each.since)
        for each in dead
    )
    return Incident(
        key=group.key, engine=group.engine, code=DEAD, title=DEAD, about=text, severity=group.severity,
        sentence=f"The engine has given up on them: {text}", proof=Proof.VERIFIED, n=group.n, capped=group.capped,
        since=group.first, action=action, findings=findings,
    )  # fmt: skip


def _changed(changes: Iterable[NodeChange], known: Collection[str]) -> Iterator[Incident]:
    """Yield the changes of operators and the other nodes that failed, newest first."""
    alike: dict[str, list[NodeChange]] = {}
    for each in changes:
        if each.entry is not None and undoable(each.entry.results):
            alike.setdefault(each.entry.run or each.entry.id, []).append(each)
        elif each.node is not None and each.node.phase is Phase.FAILED and each.id not in known:
            alike.setdefault(f"{each.engine} → {each.new}", []).append(each)
    for key, some in alike.items():
        first, entry = some[0], some[0].entry
        ids = {id_: each.at for each in some for id_ in (undoable(each.entry.results) if each.entry else (each.id,))}
        text = f"{entry.action} by {entry.os_user}: {entry.reason}" if entry else f"→ {first.new}"
        severity, action = (LEAST, UNDO.name) if entry else (MEDIUM, None)
        finding = partial(
            Finding, engine=first.engine, code=CHANGED, title=CHANGED, sentence=text, severity=severity,
            proof=Proof.VERIFIED, action=action,
        )  # fmt: skip
        yield Incident(
            key=key, engine=first.engine, code=CHANGED, title=CHANGED, about=text, sentence=text, severity=severity,
            proof=Proof.VERIFIED, n=len(ids), since=first.at, action=action,
            findings=tuple(finding(node_id=id_, since=at) for id_, at in ids.items()),
        )  # fmt: skip
