"""An engine in this database, with one reader for each of its jobs.

`details`, `documents`, `changes`, `search` and `blockers` read more with a `Reader`.
"""

from __future__ import annotations

from collections.abc import Mapping

from queries.claim.answers import Look
from queries.claim.reader import ClaimReader
from queries.contract.detect import DetectedEngine
from queries.contract.engine import Engine
from queries.contract.spec import Action
from queries.contract.variant import EngineVariant
from queries.db.database import Database
from queries.read.findings import FindingReader
from queries.read.nodes import NodeIds, NodeReader
from queries.read.pages import PageReader
from queries.read.samples import SampleReader
from queries.records.node import Availability, Node, Phase, a_kind


class Reader:
    """Reader of one engine.

    ``label`` is its name in this database, with which the ids of its nodes begin. ``read_only``: why nothing may be
    changed, or "".
    """

    def __init__(
        self,
        database: Database,
        detected: DetectedEngine,
        settings: Mapping[str, object] | None = None,
        *,
        read_only: str = "",
    ) -> None:
        self.database = database
        self.variant = EngineVariant(database, detected, settings or {})
        self.read_only = read_only
        self.ids = NodeIds(detected)
        self.nodes = NodeReader(self.variant, self.ids)
        self.pages = PageReader(self.variant, self.ids, self.nodes)
        self.samples = SampleReader(self.variant, self.ids)
        self.claims = ClaimReader(self.variant, self.ids.full, self.ids.local)
        self.looks: dict[str, list[Look]] = {}  # of the last minute, by kind
        self.findings = FindingReader(self.variant, self.ids, self.nodes, self.samples, self.claims)

    @property
    def label(self) -> str:
        """Name of the engine in this database."""
        return self.variant.label

    @property
    def detected(self) -> DetectedEngine:
        """Detected tables, privileges and needs."""
        return self.variant.detected

    @property
    def engine(self) -> Engine:
        """The engine with the option values of its variant."""
        return self.variant.engine

    def availability(self, action: Action, node: Node | None = None, *, bulk: bool = False) -> Availability:
        """Return availability of the action now (for ``node``), with the reason if not.

        ``bulk``: for many nodes.
        """
        if not action.writes:
            commands = action.commands(node.id) if node else {}
            return Availability(ok=False, why=f"{action.support}: {action.why}", commands=commands)
        if self.engine.unproven:
            return Availability(ok=False, why=self.engine.unproven)
        if action.when and (why := self.variant.unrecognised):
            return Availability(ok=False, why=f"the variant of the engine could not be determined: {why}")
        if bulk and action.document is not None:
            return Availability(ok=False, why="a text is edited for one node at a time")
        server = self.database.server
        if why := self.read_only or self.database.why_read_only():
            return Availability(ok=False, why=why)
        lacking = self.detected.lacks(action.privileges)
        if lacking:
            return Availability(ok=False, why=f"the role {server.role if server else ''} lacks {', '.join(lacking)}")
        if unsafe := self.detected.why_unsafe(action.privileges):
            return Availability(ok=False, why=unsafe)
        why = self.variant.unmet(action) or (self._why_not_for(action, node) if node else "")
        return Availability(ok=not why, why=why)

    def _why_not_for(self, action: Action, node: Node) -> str:
        if node.kind not in action.kinds:
            return f"not for {a_kind(node.kind)}"
        if self.detected.newer and node.phase not in self.nodes.phases.get(node.status or "", ()):
            return f"{self.detected.newer}; only nodes with a status that it knows are changed"
        waits = action.waits and node.phase is Phase.RUNNING  # an executor ends that soon
        outside = action.phases and node.phase not in action.phases and not waits
        return f"not while it is {node.phase}" if outside else ""

    def is_of(self, label: str, schema: str) -> bool:
        """Return True for the label and the schema that a record of this engine has."""
        return (label.partition("@")[0], schema) == (self.engine.name, self.detected.schema)
