"""Read path of an engine.

A *which* statement gives ids in order, ``nodes.sql`` reads these nodes, and the reader makes records of the rows.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Collection, Container, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract import absence
from queries.contract.detect import DetectedEngine
from queries.contract.engine import Engine
from queries.contract.phases import counts_of, phase_of, phases_of
from queries.contract.rows import SHAPES, NodeKey, NodeRow, json_object, json_part, short, verify, why_not
from queries.contract.spec import Action, FindingSpec
from queries.contract.variant import EngineVariant
from queries.db.database import ASKED_READ_SECONDS, READ_SECONDS, Database
from queries.db.errors import DatabaseError, UnreadableError, attempted, readable
from queries.db.query import Query, Rows
from queries.db.transaction import Reads
from queries.files.statement import Statement
from queries.read import changes, dead_letters, detail_section, guard_token, sentence
from queries.read.changes import Placed
from queries.read.ctid_cache import CtidCache
from queries.read.findings import finding_of, rank
from queries.read.incidents import REFUSED, Cause, cause_of
from queries.read.question import NOW, Question, answered, together, value_of
from queries.read.samples import FindingSamples, Renewals, SampledValues, timeline
from queries.records.change import ChangeSource
from queries.records.dead_letter import DeadLetters
from queries.records.detail import Detail, Payload, Section
from queries.records.finding import HIDDEN_ROWS, OPEN, Finding, Findings, SkippedFinding
from queries.records.node import (
    Availability,
    Count,
    Hit,
    Hits,
    Match,
    Node,
    Page,
    Phase,
    Precision,
    ScanRequired,
    a_kind,
    marked,
    split_id,
)
from queries.text.json_text import decoded

PAGE_NODES = 100  # of a page of roots, children or unfinished nodes
NODES_AT_ONCE = 500  # that a caller reads or compares at once by their ids
FINDING_NODES = 200  # nodes with each finding
HITS_READ = 50  # of a search
SEARCHED_BYTES, ANY_BYTES = 65_536, 2**31 - 1  # of a value that a search reads; usually, and if it is asked to
RELATIONS = ("parent", "descendant", "waiter", "sibling")
NO_RELATED = "unstick does not know what else depends on nodes of this engine"
CHILDREN_READ = 20  # children in a node's detail
TIMES = ("cpu", "poll", "created_at", "changed_at", "due_at", "heartbeat_at")
RANKS = {matched: rank for rank, matched in enumerate(Match)}
REFUSALS_ASKED = 20  # nodes of each cause that its suggested action is asked about
PAYLOAD_HEAD_BYTES = 65536  # bytes of a payload that are read by default


_CALL = re.compile(r'"\.\w+\(')  # of an engine's function


class Reader:
    """Reader of one engine.

    ``label`` is its name in this database, with which the ids of its nodes begin.
    """

    def __init__(
        self,
        database: Database,
        detected: DetectedEngine,
        settings: Mapping[str, object] | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self.database = database
        self.variant = EngineVariant(database, detected, settings or {})
        self.read_only = read_only
        self._labels = frozenset((detected.label, detected.full, detected.engine.name))
        self._places = CtidCache()
        spec = self.engine.spec
        self._phases = phases_of(spec.statuses)
        self._finding_samples = {f.code: FindingSamples(f) for f in spec.findings if f.sample}
        self._renewals = {f.code: Renewals(f.renewed) for f in spec.findings if f.renewed}
        self.finding_specs = {f.code: f for f in spec.findings}
        samples = {f.sample: self.engine.statements[f"samples/{f.sample}"][0] for f in spec.findings if f.sample}
        self._sampled_values = [SampledValues(name, s.title, s.kinds) for name, s in samples.items() if s.title]

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

    # Pages of nodes

    async def roots(self, cursor: str | None = None, limit: int = PAGE_NODES) -> Page:
        """Read nodes at the top of the tree, after ``cursor``.

        Raises DatabaseError, like all reads here.
        """
        return await self._page("roots", cursor, limit)

    async def children(
        self, parent_id: str, cursor: str | None = None, limit: int = PAGE_NODES, *, allow_scan: bool = False
    ) -> Page:
        """Read the children of a node.

        ``Page.scan_required`` is set if that needs a scan which is not allowed.
        """
        return await self._page("children", cursor, limit, parent=self.local(parent_id), allow_scan=allow_scan)

    async def below(
        self, parent_ids: Sequence[str], limit: int = PAGE_NODES, *, allow_scan: bool = False
    ) -> list[Page]:
        """Read the first children of several nodes in one transaction.

        Return a page for each parent.
        """
        parents = [self.local(parent_id) for parent_id in parent_ids]
        async with self._reading(allow_scan=allow_scan) as source:
            questions = [self._which("children", None, limit, allow_scan, parent=parent) for parent in parents]
            return await self._pages_of(source, await together(*questions).answer(source), limit)

    async def live(self, cursor: str | None = None, limit: int = PAGE_NODES) -> Page:
        """Read unfinished nodes, the most urgent first."""
        return await self._page("live", cursor, limit)

    @property
    def matches_conditions(self) -> bool:
        """True if `matching` can read every kind of node."""
        return all(self.variant.select("matching", kind=kind.name) for kind in self.engine.spec.kinds)

    async def matching(
        self, kind: str, conditions: Mapping[str, Sequence[str]], cursor: str | None = None, limit: int = PAGE_NODES
    ) -> Page:
        """Read nodes of a kind that match conditions, by key.

        ``conditions``: by column of a node, phases, regular expressions, or the lowest and highest number or age. A
        page may have few nodes, or none, before the last one.
        """
        await self.variant.recognise()
        chosen = self.variant.select("matching", kind=kind)
        if chosen is None:
            raise DatabaseError(f"{self.label}: nodes of the kind {kind} cannot be read by conditions.")
        query = msgspec.json.encode(conditions).decode()
        async with self._reading() as transaction:
            values = self.variant.parameters(query=query, cursor=cursor, limit=limit)
            rows = await _rows(transaction, chosen, "matching", values)
            read = await self._page_of(transaction, [row for row in rows if row["id"] is not None], limit)
        following = next((row["cursor"] for row in rows if row["id"] is None), None)
        return msgspec.structs.replace(read, cursor=following)

    async def find(self, text: str, limit: int = HITS_READ) -> Hits:
        """Find nodes by id, by its beginning, or by another id that the engine records."""
        kind, colon, key = self.local(text).partition(":")
        named = colon and self.engine.kind(kind)  # a key may have colons of its own
        # A tag's index can only be read as a bitmap.
        return await self._hits("find", key if named else text, limit, in_order=False)

    async def search(self, text: str, limit: int = HITS_READ, *, large: bool = False) -> Hits:
        """Find nodes by a part of their title, error or payload.

        ``large``: also in values of more than 64 kB, within the time limit of a read. ``Hits.searched`` says how far
        the engine could search them.
        """
        if "search" not in self.engine.statements:
            return Hits(engine=self.label, unsearched="this engine has no search.sql")
        return await self._hits("search", text, limit, in_order=True, bytes=ANY_BYTES if large else SEARCHED_BYTES)

    async def _hits(self, which: str, text: str, limit: int, *, in_order: bool, bytes: int = 0) -> Hits:
        async with self._reading(in_order=in_order) as transaction:
            chosen = self._need(which)
            values = self.variant.parameters(query=text, limit=limit + 1, bytes=bytes)
            rows = await _rows(transaction, chosen, which, values)
            read = await self._page_of(transaction, rows, limit)
        with readable(f"{which}.sql"):
            matched = {self._full(row["id"]): Match(row["matched"]) for row in reversed(rows) if row["id"] is not None}
        hits = [Hit(node=node, matched=matched.get(node.id, Match.ID)) for node in read.nodes]
        hits.sort(key=lambda hit: RANKS[hit.matched])
        return Hits(
            engine=self.label, hits=tuple(hits[:limit]), at=read.at, capped=len(hits) > limit, searched=read.scope
        )

    def owns(self, node_id: str) -> bool:
        """Return True if an id begins with one of the engine's names and one of its kinds."""
        label, _, local = node_id.partition("/")
        return label in self._labels and self.engine.kind(local.partition(":")[0]) is not None

    async def dead(
        self, cursor: str | None = None, limit: int = PAGE_NODES, ids: Iterable[str] | None = None
    ) -> DeadLetters:
        """Read dead letters, worst and oldest first; with ``ids``, only these."""
        local = None if ids is None else [self.local(i) for i in ids]
        chosen = self.variant.select("dead")
        async with self._reading() as transaction:
            if chosen is None:
                scan_required = self._scan_required("dead") if "dead" in self.engine.statements else None
                return DeadLetters(dead_letters=(), at=await NOW.answer(transaction), scan_required=scan_required)
            rows = await _rows(
                transaction, chosen, "dead", self.variant.parameters(cursor=cursor, limit=limit, ids=local)
            )
            read = await self._page_of(transaction, rows, limit)
        with readable("dead.sql"):
            return dead_letters.page(read, {self._full(row["id"]): row for row in rows if row["id"] is not None})

    async def changed(
        self, since: float, places: Mapping[str, str], limit: int, *, routine: bool = True, allow_scan: bool = False
    ) -> tuple[list[Placed], ChangeSource]:
        """Read changes of nodes since a time, newest first in each part.

        A part is a column or a table of the engine that records times. ``places``: the last place of each part on the
        previous page. Each part has at most ``limit`` changes. ``routine``: with those that say only that work goes on.
        ``allow_scan`` reads them even if this needs a scan.
        """
        await self.variant.recognise()
        source = ChangeSource(name=self.label, recorded=self.engine.spec.changed)
        chosen = self.variant.select("changed", allow_scan=allow_scan)
        met = self.detected.met_needs
        scans = chosen is not None and not chosen.needs <= met
        variants = self.engine.statements.get("changed", ())
        if not scans and any(self.engine.spec.needs[n].ddl for s in variants for n in s.needs - met):
            source = msgspec.structs.replace(source, scan_required=self._scan_required("changed"))
        if chosen is None:
            return [], msgspec.structs.replace(source, scope="not searched" if source.scan_required else "")
        cursor = msgspec.json.encode(dict(places)).decode() if places else None
        async with self._reading(allow_scan=scans) as transaction:
            values = self.variant.parameters(since=since, cursor=cursor, limit=limit)
            rows = await _rows(transaction, chosen, "changed", values)
            every = [row for row in rows if row["id"] is not None]
            named = [row for row in every if routine or row["part"] not in self.engine.spec.routine]
            nodes = (await self._nodes(transaction, list(dict.fromkeys(row["id"] for row in named)))).nodes
        by_id = {node.id: node for node in nodes}
        scope = [row["what"] for row in rows if row["id"] is None]
        scope += ["only rows that policies show are searched"] if self.detected.policies else []
        with readable("changed.sql"):
            placed = [changes.placed(self.label, self._full(row["id"]), row, by_id) for row in named]
        rest = Counter(row["what"] for row in every) - Counter(row["what"] for row in named)
        return placed, msgspec.structs.replace(source, scope="; ".join(scope), routine=dict(rest))

    async def nodes(self, ids: Iterable[str]) -> Page:
        """Read the current state of these nodes, in this order.

        Nodes that do not exist are omitted.
        """
        local = [self.local(i) for i in ids]
        async with self._reading() as transaction:
            return await self._nodes(transaction, local)

    async def above(self, node: Node, tops: Container[str] = (), most: int = PAGE_NODES) -> tuple[Node, ...]:
        """Read the ancestors of a node, parent first.

        At most ``most`` ancestors, and none above an id in ``tops``.
        """
        ancestors: list[Node] = []
        async with self._reading() as transaction:
            while (parent := (ancestors or [node])[-1].parent_id) is not None and len(ancestors) < most:
                nodes = (await self._nodes(transaction, [self.local(parent)])).nodes
                ancestors += nodes
                if not nodes or parent in tops:
                    break
        return tuple(ancestors)

    async def counts(self) -> tuple[Count, ...]:
        """Count the nodes in each phase."""
        await self.variant.recognise(again=True)
        async with self._reading() as transaction:
            rows = await _rows(transaction, self._need("counts"), "counts", self.variant.parameters())
        with readable("counts.sql"):
            counts = counts_of(rows, self._phases)
        if self.detected.policies:  # policies may hide more
            least = Precision.CAPPED
            return tuple(
                msgspec.structs.replace(c, precision=least) if c.precision is Precision.EXACT else c for c in counts
            )
        return counts

    # Findings

    async def findings(
        self, ids: Iterable[str] | None = None, limit: int = FINDING_NODES, *, offer: bool = True
    ) -> Findings:
        """Run the findings that need one read, for all nodes or for ``ids``.

        ``offer``: ask whether the suggested actions are refused, as `offered` does.
        """
        local = None if ids is None else [self.local(i) for i in ids]
        async with self._reading() as transaction:
            read = await self._findings(transaction, local, limit)
            findings = await self._offered(transaction, read.findings) if offer else read.findings
        skipped, unread = read.skipped_findings, self._unread(read.skipped_findings)
        if self.detected.policies:
            skipped = (SkippedFinding(engine=self.label, code=HIDDEN_ROWS, why=self.variant.policies), *skipped)
        findings = tuple(sorted(findings, key=rank))
        return msgspec.structs.replace(read, findings=findings, skipped_findings=skipped, unread=unread)

    def finding_of(self, spec: FindingSpec, ids: Sequence[str]) -> Question[tuple[tuple[str, ...], str]]:
        """Ask which of these nodes have a finding, and why others are unknown.

        The reason is "" if all are known.
        """
        skipped: list[SkippedFinding] = []
        question = self.question(spec, [self.local(i) for i in ids], max(len(ids), FINDING_NODES), skipped, [])

        def read(answers: Sequence[Rows]) -> tuple[tuple[str, ...], str]:
            nodes = tuple(dict.fromkeys(finding.node_id for finding in question.read(answers)))
            return nodes, "; ".join(each.why for each in skipped)

        return Question(question.queries, read)

    def related_of(self, ids: Sequence[str], most: int) -> Question[Rows]:
        """Ask for related nodes, at most ``most`` for each relation.

        ``id`` is None where not all are known, and ``note`` says why.
        """
        chosen = self.variant.select("related")
        if chosen is None:
            return Question([], lambda _: [{"id": None, "relation": each, "note": NO_RELATED} for each in RELATIONS])
        question = _rows_of(chosen, "related", self.variant.parameters(ids=[self.local(i) for i in ids], limit=most))

        def read(answers: Sequence[Rows]) -> Rows:
            rows = question.read(answers)
            return [{**row, "id": None if row["id"] is None else self._full(row["id"])} for row in rows]

        return Question(question.queries, read)

    async def moved(self, ids: Sequence[str]) -> frozenset[str]:
        """Return which of these nodes are past the place where they had died.

        None in an engine without ``progress.sql``. Raises DatabaseError.
        """
        chosen = self.variant.select("progress")
        if chosen is None:
            return frozenset()
        async with self._reading() as transaction:
            values = self.parameters_of([self.local(i) for i in ids])
            rows = await _rows(transaction, chosen, "progress", values)
        return frozenset(self._full(row["id"]) for row in rows)

    def _unread(self, skipped: Iterable[SkippedFinding]) -> str:
        """Return why half of the findings or more could not be read, or "".

        Missing privileges are reported elsewhere.
        """
        failed = {each.code: each.why for each in skipped if each.failed}
        tried = {spec.code for spec in self.engine.spec.findings if not spec.sample}
        tried -= {each.code for each in skipped if not each.failed}
        if not failed or len(failed) * 2 < len(tried) or not self.detected.readable:
            return ""
        return f"{len(failed)} of {len(tried)} checks failed. {next(iter(failed.values()))}"

    async def sample(self) -> None:
        """Take one sample for the findings that compare several samples."""
        stores: tuple[FindingSamples | Renewals | SampledValues, ...]
        stores = (*self._finding_samples.values(), *self._renewals.values(), *self._sampled_values)
        if not stores:
            return
        async with self._reading() as transaction:
            names = list({samples.sample for samples in stores})
            at, *seen = await together(NOW, *map(self._sample, names)).answer(transaction)
        with readable("a sample"):
            for samples in stores:
                samples.add(at, seen[names.index(samples.sample)])

    def _sample(self, name: str) -> Question[list[tuple[str, dict[str, Any]]]]:
        chosen = self.variant.select(f"samples/{name}")
        if chosen is None:
            return Question([], lambda _: [])

        question = _rows_of(chosen, "samples", self.variant.parameters())

        def read(answers: Sequence[Rows]) -> list[tuple[str, dict[str, Any]]]:
            rows = question.read(answers)
            return [(self._full(row["id"]), json_object(row, "seen", chosen.source)) for row in rows]

        return Question(question.queries, read)

    @property
    def is_developing(self) -> bool:
        """True if more samples may soon show a finding."""
        return any(each.is_developing(self.engine.settings) for each in self._finding_samples.values())

    def sampled_findings(self) -> tuple[Finding, ...]:
        """Return the findings that the samples so far show."""
        findings = []
        for code, samples in self._finding_samples.items():
            for node_id, node in samples.shown(self.engine.settings):
                findings.append(self._finding(self.finding_specs[code], node_id, node.since, node.evidence))
        return tuple(findings)

    # One node whole

    async def detail(self, node_id: str, size: int = PAYLOAD_HEAD_BYTES) -> Detail | None:
        """Read a node with its sections and findings; None if it does not exist.

        ``size``: bytes to read of each payload.
        """
        local = self.local(node_id)
        kind = split_id(node_id)[1]
        keys = sorted(
            key for key, s in self.engine.statements.items() if key.startswith("detail/") and kind in s[0].kinds
        )
        async with self._reading() as transaction:
            page = await self._nodes(transaction, [local])
            if not page.nodes:
                return None
            node_id = page.nodes[0].id
            local = self.local(node_id)
            sections = await self._sections(transaction, keys, local, size)
        sections.append(timeline(self._finding_samples.values(), node_id, self.engine.settings))
        sections += [each.section(node_id) for each in self._sampled_values if kind in each.kinds]
        children = await self._few_children(page.nodes[0])
        below = [self.local(child.id) for child in children.nodes] if children else []
        async with self._reading() as transaction:
            read = await self._findings(transaction, [local, *below], FINDING_NODES)
            there = (*await self._offered(transaction, read.findings), *self.sampled_findings())
        codes: dict[str, list[str]] = {}
        for finding in there:
            codes.setdefault(finding.node_id, []).append(finding.code)
        own_findings = [f for f in there if f.node_id == node_id]
        (node,) = marked(page.nodes, codes)
        return Detail(
            node=node,
            at=page.at,
            sections=tuple(s for s in sections if s),
            findings=tuple(own_findings),
            children=children and msgspec.structs.replace(children, nodes=marked(children.nodes, codes)),
            skipped_findings=read.skipped_findings,
        )

    async def payloads(self, nodes: Iterable[Node], size: int) -> dict[str, list[Payload]]:
        """Read at most ``size`` bytes of each stored text of these nodes, by node id.

        Raises DatabaseError, also if a text cannot be read without a scan.
        """
        queries: list[tuple[str, Query]] = []
        payloads: dict[str, list[Payload]] = {}
        for node in nodes:
            payloads[node.id] = []
            values = self.variant.parameters(id=self.local(node.id), bytes=size)
            for key in self._payload_sections(node.kind):
                statement = self.variant.select(key)
                if statement is None:
                    raise DatabaseError(f"{self.engine.statements[key][0].title}: {self._scan_required(key).why}")
                queries.append((node.id, Query(statement, values)))
        async with self._reading() as transaction:
            answers = await transaction.batch([query for _, query in queries])
        for (node_id, _), rows in zip(queries, answers, strict=True):
            payloads[node_id] += [
                Payload(head=row["payload"], size=row["size"]) for row in rows if row["payload"] is not None
            ]
        return payloads

    def _payload_sections(self, kind: str) -> list[str]:
        """Return the statements of the detail sections of a kind that have a stored text."""
        return [
            key
            for key, (statement, *_) in self.engine.statements.items()
            if key.startswith("detail/") and kind in statement.kinds and "bytes" in statement.parameters
        ]

    async def _few_children(self, node: Node) -> Page | None:
        """Read the first children of a node, or why they cannot be read.

        None for kinds without children.
        """
        if node.kind not in self.engine.spec.parents:
            return None
        children = await attempted(self.children(node.id, limit=CHILDREN_READ))
        if isinstance(children, DatabaseError):
            return Page(nodes=(), at=0.0, scan_required=ScanRequired(need="", why=children.line, blocks=0, ddl=""))
        return children

    # Actions

    def actions(self, kind: str) -> tuple[Action, ...]:
        """Return all actions for this kind of node, available here or not."""
        return self.engine.actions_of(kind)

    def availability(self, action: Action, node: Node | None = None, *, bulk: bool = False) -> Availability:
        """Return availability of the action now (for ``node``), with the reason if not.

        ``bulk``: for many nodes, which needs an index for some actions.
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
        if why := "this console is read-only" if self.read_only else self.database.why_read_only():
            return Availability(ok=False, why=why)
        lacking = self.detected.lacks(action.privileges)
        if lacking:
            return Availability(ok=False, why=f"the role {server.role if server else ''} lacks {', '.join(lacking)}")
        if unsafe := self.detected.why_unsafe(action.privileges):
            return Availability(ok=False, why=unsafe)
        needs = self.engine.spec.needs
        for name in action.needs:
            if name not in (self.detected.indexed if bulk and action.bulk_needs_index else self.detected.met_needs):
                return Availability(
                    ok=False, why=needs[name].why + (f" ({needs[name].ddl})" if needs[name].ddl else "")
                )
        if node and node.kind not in action.kinds:
            return Availability(ok=False, why=f"not for {a_kind(node.kind)}")
        waits = action.waits and node is not None and node.phase is Phase.RUNNING  # an executor ends that soon
        if node and action.phases and node.phase not in action.phases and not waits:
            return Availability(ok=False, why=f"not while it is {node.phase}")
        return Availability(ok=True)

    async def existing(self, transaction: Reads, ids: Iterable[str]) -> tuple[Node, ...]:
        """Return the nodes of ``ids`` that exist, in a transaction that has begun."""
        return await self.existing_of(ids).answer(transaction)

    def existing_of(self, ids: Iterable[str]) -> Question[tuple[Node, ...]]:
        """Ask which of these nodes exist."""
        local = [self.local(i) for i in ids]
        queries = self._queries(local)
        return Question(queries, lambda answers: self._nodes_of(_verified(queries, answers), local))

    def local(self, node_id: str) -> str:
        """Return ``kind:key`` of an id of this engine, for each form of its label."""
        label, _, local = node_id.partition("/")
        return local if label in self._labels else node_id

    def present(self, node_id: str) -> str:
        """Return an id of this engine with the present label."""
        return self._full(self.local(node_id))

    def is_of(self, label: str, schema: str) -> bool:
        """Return True for the label and the schema that a record of this engine has."""
        return (label.partition("@")[0], schema) == (self.engine.name, self.detected.schema)

    # Statements and rows

    def _full(self, local: str) -> str:
        return f"{self.label}/{local}"

    @contextlib.asynccontextmanager
    async def _reading(self, *, in_order: bool = True, allow_scan: bool = False) -> AsyncIterator[Reads]:
        await self.variant.recognise()
        seconds = ASKED_READ_SECONDS if allow_scan else READ_SECONDS
        async with self.database.reading(seconds, in_order=in_order and not allow_scan) as transaction:
            yield transaction

    def _need(self, name: str) -> Statement:
        chosen = self.variant.select(name)
        if chosen is None:
            raise DatabaseError(f"{self.label}: {name} cannot be read here.", self._scan_required(name).why)
        return chosen

    def _scan_required(self, name: str, kind: str = "") -> ScanRequired:
        """Return the first unmet need of a statement, and the cost of a scan."""
        variants = (s for s in self.engine.statements[name] if s.is_for(kind))
        unmet = next((n for s in variants for n in sorted(s.needs - self.detected.met_needs)), "")
        need = self.engine.spec.needs[unmet]
        relation = self.detected.relations.get(need.table)
        return ScanRequired(need=unmet, why=need.why, blocks=relation.blocks if relation else 0, ddl=need.ddl)

    async def _page(
        self, which: str, cursor: str | None, limit: int, *, allow_scan: bool = False, **values: Any
    ) -> Page:
        async with self._reading(allow_scan=allow_scan) as source:
            read = await self._which(which, cursor, limit, allow_scan, **values).answer(source)
            return (await self._pages_of(source, [read], limit))[0]

    def _which(
        self, which: str, cursor: str | None, limit: int, allow_scan: bool, **values: Any
    ) -> Question[Rows | ScanRequired]:
        """Ask for the rows of a *which* statement, or for the scan that it would need."""
        kind = values.get("parent", "").partition(":")[0]
        chosen = self.variant.select(which, allow_scan=allow_scan, kind=kind)
        if chosen is None:
            return Question([], lambda _: self._scan_required(which, kind))
        question = _rows_of(chosen, which, self.variant.parameters(cursor=cursor, limit=limit, **values))
        return Question(question.queries, question.read)

    async def _page_of(self, source: Reads, rows: Rows, limit: int) -> Page:
        """Return the nodes of a *which* statement's rows.

        A row without id has, as its cursor, what was searched. A row may have ``node``, a row of ``nodes.sql`` as
        jsonb. It is not read again.
        """
        return (await self._pages_of(source, [rows], limit))[0]

    async def _pages_of(self, source: Reads, read: Sequence[Rows | ScanRequired], limit: int) -> list[Page]:
        """Return pages as `_page_of` does. The nodes of all are read together."""
        parts = [[] if isinstance(rows, ScanRequired) else rows for rows in read]
        named = [[row for row in rows if row["id"] is not None] for rows in parts]
        every = [row for rows in named for row in rows]
        with readable("its rows"):
            given = [_decoded(row["node"]) for row in every if row.get("node") is not None]
        nodes = await self._nodes(source, list(dict.fromkeys(row["id"] for row in every)), given)
        visible = "rows that policies show" if self.detected.policies else ""
        by_id = {self.local(node.id): node for node in nodes.nodes}
        return [
            Page(
                nodes=tuple(by_id[id_] for id_ in dict.fromkeys(row["id"] for row in here) if id_ in by_id),
                at=nodes.at,
                cursor=here[-1].get("cursor") if len(here) == limit else None,
                scope="" if isinstance(ids, ScanRequired) else _searched(rows) or visible,
                scan_required=ids if isinstance(ids, ScanRequired) else None,
            )
            for ids, rows, here in zip(read, parts, named, strict=True)
        ]

    async def _nodes(self, source: Reads, local: Sequence[str], given: Rows = ()) -> Page:
        given_ids = {row["id"] for row in given}
        queries = self._queries([i for i in local if i not in given_ids])
        rows = [*given, *_verified(queries, await source.batch(queries))]
        at = float(rows[0]["now"]) if rows else await NOW.answer(source)
        return Page(nodes=self._nodes_of(rows, local), at=at)

    def _nodes_of(self, rows: Rows, local: Sequence[str]) -> tuple[Node, ...]:
        """Return the nodes of rows in the order of ``local``.

        The server may spell a key differently than the operator typed it. Such a node comes last, and once.
        """
        by_id = {row["id"]: row for row in rows if isinstance(row["id"], str)}
        order = {id_: place for place, id_ in enumerate(dict.fromkeys([*local, *by_id]))}
        return tuple(self._node(by_id[id_]) for id_ in sorted(by_id, key=order.__getitem__))

    def _queries(self, local: Sequence[str]) -> list[Query]:
        """Return the statements that read these nodes, one for each sort of node.

        Kinds without tables have none.
        """
        sorts: dict[str, tuple[Statement, list[str]]] = {}
        for id_ in local:
            chosen = self.variant.select("nodes", kind=id_.partition(":")[0])
            if chosen is not None:
                sorts.setdefault(chosen.source, (chosen, []))[1].append(id_)
        return [Query(chosen, self.parameters_of(ids)) for chosen, ids in sorts.values()]

    def parameters_of(self, local: Sequence[str]) -> dict[str, Any]:
        """Return the parameters of a statement about nodes.

        ``local``: their ids without a label. The places of their rows are those that were read last.
        """
        return self.variant.parameters(ids=local, places=self._places.of(local))

    def _node(self, row: Mapping[str, Any]) -> Node:
        """Return a row as a node.

        A row with an invalid value becomes a node of unknown phase with the error.
        """
        self._places.note(row["id"], row.get("place"))
        try:
            with readable("its row"):
                return self._converted(row)
        except UnreadableError as error:
            chosen = self.variant.select("nodes", kind=row["id"].partition(":")[0])
            why = (why_not(row, NodeRow, chosen.source) or f"{short(chosen.source)}: {error.line}") if chosen else ""
            return Node(
                engine=self.label,
                id=self._full(row["id"]),
                kind=row["id"].partition(":")[0],
                title=row["id"],
                phase=Phase.UNKNOWN,
                version="",
                error=why or error.line,
            )

    def _converted(self, row: Mapping[str, Any]) -> Node:
        values = {key: value for key, value in row.items() if key not in ("now", "place")}
        for key in ("id", "parent_id", "job_id"):
            values[key] = self._full(values[key]) if values.get(key) is not None else None
        values["phase"] = phase_of(row, self._phases)
        # Times are text in JSON, which has no infinity.
        times = {key: None if row[key] is None else float(row[key]) for key in TIMES if key in row}
        return msgspec.convert({**values, **times, "engine": self.label}, Node)

    async def _findings(self, transaction: Reads, ids: Sequence[str] | None, limit: int) -> Findings:
        """Return the findings, with all suggested actions."""
        findings: list[Finding] = []
        skipped: list[SkippedFinding] = []
        capped: list[str] = []
        specs = [spec for spec in self.engine.spec.findings if not spec.sample]
        now, *answers = await answered(
            transaction, [NOW, *(self.question(s, ids, limit, skipped, capped) for s in specs)]
        )
        at = value_of(now)
        for spec, answer in zip(specs, answers, strict=True):
            if isinstance(answer, DatabaseError):
                skipped.append(SkippedFinding(engine=self.label, code=spec.code, why=answer.line, failed=True))
            else:
                findings += answer
        if ids is None and capped:
            findings += await self._causes_beyond(transaction, findings, capped)
        findings = [f for f in findings if f.code not in self._renewals or self._renewals[f.code].leaves(f.node_id)]
        return Findings(findings=tuple(findings), at=at, skipped_findings=tuple(skipped), capped=tuple(capped))

    async def _causes_beyond(
        self, transaction: Reads, findings: Iterable[Finding], capped: Collection[str]
    ) -> list[Finding]:
        """Return more of the capped findings: of the nodes whose symptoms were read.

        Otherwise a cause of which a part was read would explain a part of them.
        """
        nodes: dict[str, dict[str, None]] = {}
        for finding in findings:
            nodes.setdefault(finding.code, {})[self.local(finding.node_id)] = None
        questions: list[Question[list[Finding]]] = []
        for spec in (self.finding_specs[code] for code in capped):
            rules = [rule for rule in spec.explains if rule.matching == ("node",)]
            symptoms = [s.code for s in self.engine.spec.findings if any(r.names(s.code, s.symptom) for r in rules)]
            ids = [i for code in symptoms for i in nodes.get(code, ()) if i not in nodes.get(spec.code, {})]
            questions += [self.question(spec, ids, len(ids), [], [])] if ids else []
        answers = await answered(transaction, questions)  # that not all were read is said already
        return [each for answer in answers if not isinstance(answer, DatabaseError) for each in answer]

    async def offered(self, findings: Findings) -> Findings:
        """Return findings without suggested actions that refuse their nodes."""
        async with self._reading() as transaction:
            offers = await self._offered(transaction, findings.findings)
        return msgspec.structs.replace(findings, findings=offers)

    async def _offered(self, transaction: Reads, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Return the findings without suggested actions that refuse the nodes.

        Each action's own section is asked about a few nodes of each cause. If it refuses all of them, the finding's
        ``instead`` is suggested, if that does not refuse them.
        """
        refused = await self._refused(transaction, findings)
        if not refused:
            return findings
        others = [self._instead(f, refused[cause]) if (cause := self._cause(f)) in refused else f for f in findings]
        again = await self._refused(transaction, [f for f in others if self._cause(f) in refused])
        return tuple(_unsuggested(f) if self._cause(f) in again else f for f in others)

    async def _refused(self, transaction: Reads, candidates: Iterable[Finding]) -> dict[Cause, str]:
        """Return the causes whose action refuses all nodes asked about, with a reason.

        Nothing is asked if an action calls a function, or if the operator decides on its arguments. Flags count as set.
        A refusal that holds for now only is none.
        """
        by_cause: dict[Cause, list[Finding]] = {}
        for finding in candidates:
            if finding.action and OPEN not in finding.arguments.values():
                by_cause.setdefault(self._cause(finding), []).append(finding)
        questions: dict[tuple[str, str], list[str]] = {}
        of_cause: dict[Cause, tuple[tuple[str, str], list[str]]] = {}
        for cause, findings in by_cause.items():
            first = findings[0]
            action = self.engine.action(first.action or "", split_id(first.node_id)[1])
            if action is None or not self._askable(action):
                continue
            flags = {a.name: True for a in action.arguments if a.type == "flag"}
            refusal = action.script, msgspec.json.encode({**first.arguments, **flags}).decode()
            ids = [self.local(f.node_id) for f in findings[:REFUSALS_ASKED] if f.arguments == first.arguments]
            questions.setdefault(refusal, []).extend(ids)
            of_cause[cause] = refusal, ids
        queries: list[tuple[tuple[str, str], Query]] = []
        for (script, args), ids in questions.items():
            values = self.variant.parameters(ids=list(dict.fromkeys(ids)), args=args)
            parts = (part for part in self._refusals(script) if part.needs <= self.detected.met_needs)
            queries += [((script, args), Query(part, values)) for part in parts]
        whys: dict[tuple[str, str], dict[str, str]] = {}
        failed = set()
        answers = await transaction.each([query for _, query in queries])
        for (refusal, _), rows in zip(queries, answers, strict=True):
            if isinstance(rows, DatabaseError):
                failed.add(refusal)
            else:
                refusals = {row["id"]: row["why"] for row in rows if not row.get("for_now")}
                whys.setdefault(refusal, {}).update(refusals)
        return {
            cause: whys[refusal][ids[0]]
            for cause, (refusal, ids) in of_cause.items()
            if refusal in whys and refusal not in failed and all(i in whys[refusal] for i in ids)
        }

    def _askable(self, action: Action) -> bool:
        parts = self._refusals(action.script)
        read_names = {"ids", "args", "met_needs", "settings"}
        return (
            action.writes
            and bool(parts)
            and all(read_names.issuperset(p.parameters) and not _CALL.search(p.text) for p in parts)
        )

    def _refusals(self, script: str) -> tuple[Statement, ...]:
        return self.engine.actions.get(script, {}).get("refused", ())

    def _cause(self, finding: Finding) -> Cause:
        return cause_of(self.finding_specs[finding.code], finding)

    def _instead(self, finding: Finding, why: str) -> Finding:
        """Return the finding with another action, and with the reason in its evidence."""
        name = self.finding_specs[finding.code].instead
        action = self.engine.action(name, split_id(finding.node_id)[1]) if name else None
        evidence = {**finding.evidence, REFUSED: f"{finding.action} is refused: {why}"}
        return msgspec.structs.replace(_unsuggested(finding), action=action.name if action else None, evidence=evidence)

    def question(
        self,
        spec: FindingSpec,
        ids: Sequence[str] | None,
        limit: int,
        skipped: list[SkippedFinding],
        capped: list[str],
    ) -> Question[list[Finding]]:
        """Ask for a finding.

        Why nodes are not known is added to ``skipped``, and the code to ``capped`` if there are more.
        """
        nothing: Question[list[Finding]] = Question([], lambda _: [])
        key = f"findings/{spec.code}"
        candidates = self.engine.statements[key]
        if ids is not None and not any(s.is_for(i.partition(":")[0]) for s in candidates for i in ids):
            return nothing
        chosen = self.variant.select(key)
        if chosen is None and ids is not None:
            chosen = next((s for s in candidates if s.of_ids is not None and s.of_ids <= self.detected.met_needs), None)
        if chosen is None:
            scan = self._scan_required(key)
            skipped.append(SkippedFinding(engine=self.label, code=spec.code, why=scan.why, ddl=scan.ddl or None))
            return nothing
        if tables := absence.hidden(chosen, self.detected.policies):
            why = f"policies on {', '.join(tables)} may hide rows, which it would take for absent"
            skipped.append(SkippedFinding(engine=self.label, code=spec.code, why=why))
            return nothing
        query = Query(chosen, self.variant.parameters(ids=ids, limit=limit + 1), custom=ids is not None)
        return Question([query], lambda answers: self._findings_in(spec, chosen, answers[0], limit, skipped, capped))

    def _findings_in(
        self,
        spec: FindingSpec,
        chosen: Statement,
        every: Rows,
        limit: int,
        skipped: list[SkippedFinding],
        capped: list[str],
    ) -> list[Finding]:
        """Return the findings of a statement's rows.

        Raises UnreadableError.
        """
        verify(every, SHAPES["findings"], chosen.source)
        rows = [row for row in every if row["id"] is not None]
        partial = [row for row in every if row["id"] is None]
        for row in partial:
            if row["evidence"] is not None:
                why = json_part(row["evidence"]).unread
                skipped.append(SkippedFinding(engine=self.label, code=spec.code, why=f"not in {why}"))
        if len(rows) > limit or partial:
            capped.append(spec.code)
        with readable(f"findings/{spec.code}.sql"):
            return [
                self._finding(
                    spec, self._full(row["id"]), row["since"], json_object(row, "evidence", chosen.source), row
                )
                for row in rows[:limit]
            ]

    def _finding(
        self,
        spec: FindingSpec,
        node_id: str,
        since: float | None,
        evidence: dict[str, Any],
        row: Mapping[str, Any] | None = None,
    ) -> Finding:
        """Return a finding.

        Its ``row`` may set ``severity``, and ``suggest`` to false for no suggested action.
        """
        row = {} if row is None else row
        at = None if since is None else float(since)
        finding = finding_of(spec, node_id, at, evidence, engine=self.label, severity=row.get("severity"))
        suggested = spec.action if spec.action and row.get("suggest", True) else None
        action = self.engine.action(suggested, split_id(node_id)[1]) if suggested else None
        if action is None:
            return finding
        arguments = {a.name: OPEN for a in action.arguments if a.required and not a.default}
        arguments |= {k: sentence.fill_argument(text, evidence) for k, text in spec.arguments.items()}
        guard = guard_token.token(spec.constant, evidence)
        return msgspec.structs.replace(finding, action=action.name, arguments=arguments, guard=guard)

    async def _sections(self, transaction: Reads, keys: Sequence[str], local: str, size: int) -> list[Section | None]:
        """Read sections of a node's detail. One that cannot be read says why."""
        titles = [self.engine.statements[key][0].title for key in keys]
        questions = [self._section(key, title, local, size) for key, title in zip(keys, titles, strict=True)]
        return [
            detail_section.unread(key, title, answer.line) if isinstance(answer, DatabaseError) else answer
            for key, title, answer in zip(keys, titles, await answered(transaction, questions), strict=True)
        ]

    def _section(self, key: str, title: str, local: str, size: int) -> Question[Section | None]:
        chosen = self.variant.select(key)
        if chosen is None:
            return Question([], lambda _: detail_section.unread(key, title, self._scan_required(key)))

        def read(answers: Sequence[Rows]) -> Section | None:
            with readable(f"{key}.sql"):
                return detail_section.read(key, title, answers[0], chosen.drawn, self._phases) if answers[0] else None

        return Question([Query(chosen, self.variant.parameters(id=local, bytes=size))], read)


def _unsuggested(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, action=None, arguments={}, guard="")


def _decoded(value: Any) -> Any:
    """Return jsonb as Python values.

    A transaction reads it as text, a script as values.
    """
    return decoded(value) if isinstance(value, str) else value


def _searched(rows: Rows) -> str:
    """Return the part that was searched, which a row without id names, or ""."""
    return "".join(row["cursor"] for row in rows if row["id"] is None)


async def _rows(source: Reads, chosen: Statement, name: str, values: Mapping[str, Any]) -> Rows:
    """Return the rows of a statement.

    Raises DatabaseError, also for a value that its column does not allow.
    """
    return await _rows_of(chosen, name, values).answer(source)


def _rows_of(chosen: Statement, name: str, values: Mapping[str, Any]) -> Question[Rows]:
    """Ask for the rows of a statement. ``name``: of their shape."""

    def read(answers: Sequence[Rows]) -> Rows:
        verify(answers[0], SHAPES[name], chosen.source)
        return answers[0]

    return Question([Query(chosen, values)], read)


def _verified(queries: Sequence[Query], answers: Sequence[Rows]) -> Rows:
    """Return the rows of the answers about nodes. Raises UnreadableError."""
    for query, answer in zip(queries, answers, strict=True):
        verify(answer, NodeKey, query.statement.source)
    return [row for answer in answers for row in answer]
