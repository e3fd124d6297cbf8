"""The one read path: a *which* file gives ids in order, ``nodes.sql`` gives those nodes, here they become records."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.detect import Found
from queries.contract.spec import Action, FindingSpec
from queries.contract.variant import Rows, Variant
from queries.db.batched_query import BatchedQuery
from queries.db.database import ASKED_TIMEOUT, READ_TIMEOUT, Database, Transaction
from queries.db.in_turn import in_turn
from queries.db.shared_sql import statement
from queries.errors import DatabaseError, LostError, UnreachableError, UnreadableError, readable
from queries.model import (
    OPEN,
    Availability,
    Count,
    DeadLetters,
    Detail,
    Finding,
    Findings,
    Node,
    Page,
    Phase,
    Precision,
    ScanRequired,
    Section,
    SkippedFinding,
    split_id,
)
from queries.read import dead_letters, detail_section, guard_token, sentence
from queries.read.ctid_cache import CtidCache
from queries.read.samples import History, Watcher, timeline
from queries.statement import Statement

PAGE = 100
FINDINGS = 200
HIDDEN = "hidden rows"  # code of what is not looked for where row-level security hides rows
TIMES = ("cpu", "poll", "created_at", "changed_at", "due_at", "heartbeat_at")
HEAD = 65536  # bytes of a payload that are sent unless more is asked for


class Reader(Variant):
    """Reads one engine. ``label`` is its name in this database and the beginning of its nodes' ids."""

    def __init__(
        self, database: Database, found: Found, settings: Mapping[str, object] | None = None, *, read_only: bool = False
    ) -> None:
        super().__init__(database, found, settings or {})
        self.read_only = read_only
        self._ahead: Page | None = None
        self._labels = frozenset((found.label, found.full, found.engine.name))
        self._places = CtidCache()
        spec = self.engine.spec
        self._watchers = {f.code: Watcher(f) for f in spec.findings if f.sample}
        self._codes = {f.code: f for f in spec.findings}
        samples = {f.sample: self.engine.statements[f"samples/{f.sample}"][0] for f in spec.findings if f.sample}
        self._histories = [History(name, s.title, s.kinds) for name, s in samples.items() if s.title]

    # Pages of nodes

    async def read_ahead(self) -> None:
        """Read the first page of roots now; it is given to who asks for it first. Raises DatabaseError."""
        self._ahead = await self.roots()

    async def roots(self, cursor: str | None = None, page: int = PAGE) -> Page:
        """The nodes at the top of the tree, from ``cursor`` on. Raises DatabaseError."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and (cursor, page) == (None, PAGE):
            return ahead
        which = self._choose("roots")
        if which is not None and cursor is None and not self._recognised:
            try:
                return await self._first(which, page)
            except (LostError, UnreachableError):
                raise
            except DatabaseError:
                pass  # what cannot be read all at once is read one by one, which tells what is wrong
        return await self._page("roots", cursor, page)

    async def children(
        self, parent_id: str, cursor: str | None = None, page: int = PAGE, *, asked: bool = False
    ) -> Page:
        """The nodes below one. Where that would scan a large table, ``Page.costly`` says so unless it was asked for."""
        return await self._page("children", cursor, page, parent=self.local(parent_id), asked=asked)

    async def live(self, cursor: str | None = None, page: int = PAGE) -> Page:
        """Everything unfinished, most urgent first."""
        return await self._page("live", cursor, page)

    async def find(self, text: str, page: int = 50) -> Page:
        """Nodes by id, by the beginning of one, or by text where that is cheap."""
        kind, colon, key = self.local(text).partition(":")
        named = colon and self.engine.kind(kind)  # a key may have colons of its own
        return await self._page("find", None, page, query=key if named else text)

    async def dead(self, cursor: str | None = None, page: int = PAGE, ids: Iterable[str] | None = None) -> DeadLetters:
        """Dead letters, worst and oldest first, or those of these ids that are still there."""
        local = None if ids is None else [self.local(i) for i in ids]
        chosen = self._choose("dead")
        async with self._reading() as transaction:
            if chosen is None:
                scan_required = self._scan_required("dead") if "dead" in self.engine.statements else None
                return DeadLetters(dead_letters=(), at=await _now(transaction), scan_required=scan_required)
            rows = await transaction.rows(chosen, self._values(cursor=cursor, page=page, ids=local))
            read = await self._told(transaction, rows, page)
        with readable("dead.sql"):
            return dead_letters.page(read, {self._full(row["id"]): row for row in rows if row["id"] is not None})

    async def nodes(self, ids: Iterable[str]) -> Page:
        """These nodes as they are now, in this order; those that are gone are left out."""
        local = [self.local(i) for i in ids]
        async with self._reading() as transaction:
            return await self._nodes(transaction, local)

    async def above(self, node: Node, known: Container[str] = (), most: int = PAGE) -> tuple[Node, ...]:
        """What is above a node, from its parent up: so many levels, not beyond one whose id is ``known``."""
        found: list[Node] = []
        async with self._reading() as transaction:
            while (parent := (found or [node])[-1].parent_id) is not None and len(found) < most:
                nodes = (await self._nodes(transaction, [self.local(parent)])).nodes
                found += nodes
                if not nodes or parent in known:
                    break
        return tuple(found)

    async def counts(self) -> tuple[Count, ...]:
        """How many nodes there are in each phase."""
        await self.recognise(again=True)
        async with self._reading() as transaction:
            rows = await transaction.rows(self._need("counts"), self._values())
        with readable("counts.sql"):
            counts = [msgspec.convert(dict(row), Count) for row in rows]
        if self.found.policies:  # there are at least so many
            least = Precision.CAPPED
            counts = [
                msgspec.structs.replace(c, precision=least) if c.precision is Precision.EXACT else c for c in counts
            ]
        return tuple(counts)

    # Findings

    async def findings(self, ids: Iterable[str] | None = None, page: int = FINDINGS) -> Findings:
        """What one look can tell to be stuck, over all nodes or only these."""
        local = None if ids is None else [self.local(i) for i in ids]
        async with self._reading() as transaction:
            at = await _now(transaction)
        found, skipped_findings, capped = await self._findings(local, page)
        if self.found.policies:
            skipped_findings.append(SkippedFinding(engine=self.label, code=HIDDEN, why=self.policies))
        found.sort(key=lambda f: (-f.severity, f.since if f.since is not None else float("inf"), f.node_id))
        return Findings(found=tuple(found), at=at, skipped_findings=tuple(skipped_findings), capped=tuple(capped))

    async def sample(self) -> None:
        """Take one look for the findings that need several."""
        wanted = {w.spec.sample for w in self._watchers.values()}
        if not wanted:
            return
        async with self._reading() as transaction:
            at = await _now(transaction)
            seen = {}
            for name in filter(None, wanted):
                chosen = self._choose(f"samples/{name}")
                rows = await transaction.rows(chosen, self._values()) if chosen else []
                with readable(f"samples/{name}.sql"):
                    seen[name] = [(self._full(row["id"]), msgspec.json.decode(row["seen"])) for row in rows]
        with readable("a sample"):
            for watcher in self._watchers.values():
                watcher.look(at, seen.get(watcher.spec.sample or "", ()))
            for history in self._histories:
                history.look(at, seen.get(history.name, ()))

    def watched(self) -> tuple[Finding, ...]:
        """The findings that the looks so far add up to."""
        found = []
        for code, watcher in self._watchers.items():
            for node_id, watch in watcher.shown(self.engine.limits):
                found.append(self._finding(self._codes[code], node_id, watch.since, watch.evidence))
        return tuple(found)

    # One node whole

    async def detail(self, node_id: str, size: int = HEAD) -> Detail | None:
        """One node with its sections and findings; None where it does not exist. ``size`` caps payloads, in bytes."""
        local = self.local(node_id)
        kind = split_id(node_id)[1]
        left = [key for key, s in self.engine.statements.items() if key.startswith("detail/") and kind in s[0].kinds]
        sections: list[Section | None] = []

        async def read(transaction: Transaction, key: str) -> None:
            sections.append(await self._section(transaction, key, local, size))

        def failed(key: str, why: str) -> None:
            sections.append(detail_section.stale_engines(key, self.engine.statements[key][0].title, why))

        async with self._reading() as transaction:
            page = await self._nodes(transaction, [local])
            if not page.nodes:
                return None
            node_id = page.nodes[0].id
            local = self.local(node_id)
            await in_turn(transaction, left, read, failed)
        while left:
            async with self._reading() as transaction:
                await in_turn(transaction, left, read, failed)
        sections.append(timeline(self._watchers.values(), node_id, self.engine.limits))
        sections += [h.section(node_id) for h in self._histories if kind in h.kinds]
        found, _, _ = await self._findings([local], FINDINGS)
        found += [f for f in self.watched() if f.node_id == node_id]
        node = msgspec.structs.replace(page.nodes[0], findings=tuple(f.code for f in found))
        return Detail(node=node, at=page.at, sections=tuple(s for s in sections if s), findings=tuple(found))

    # Actions

    def actions(self, kind: str) -> tuple[Action, ...]:
        """All actions for nodes of this kind, also those that cannot be done here."""
        return self.engine.actions_of(kind)

    def availability(self, action: Action, node: Node | None = None, *, bulk: bool = False) -> Availability:
        """Whether the action can be done here and now (to this node), and the reason if not."""
        if not action.writes:
            return Availability(ok=False, why=f"{action.support}: {action.why}")
        if action.when and self.unrecognised:
            return Availability(ok=False, why=f"which variant of the engine this is is not known: {self.unrecognised}")
        server = self.database.server
        if why := "this console is read-only" if self.read_only else self.database.why_read_only():
            return Availability(ok=False, why=why)
        lacking = self.found.lacks(action.privileges)
        if lacking:
            return Availability(ok=False, why=f"the role {server.role if server else ''} lacks {', '.join(lacking)}")
        if unsafe := self.found.why_unsafe(action.privileges):
            return Availability(ok=False, why=unsafe)
        needs = self.engine.spec.needs
        for name in action.needs:
            if name not in (self.found.indexed if bulk and action.bulk_needs_index else self.found.have):
                return Availability(
                    ok=False, why=needs[name].why + (f" ({needs[name].ddl})" if needs[name].ddl else "")
                )
        if node and node.kind not in action.kinds:
            return Availability(ok=False, why=f"not for a {node.kind}")
        if node and action.phases and node.phase not in action.phases:
            return Availability(ok=False, why=f"not while it is {node.phase}")
        return Availability(ok=True)

    async def existing(self, transaction: Transaction, ids: Iterable[str]) -> tuple[Node, ...]:
        """Those of these nodes that are there, within a transaction that is under way."""
        return (await self._nodes(transaction, [self.local(i) for i in ids])).nodes

    def local(self, node_id: str) -> str:
        """``kind:key`` of one of this engine's ids, whichever form of the label it has."""
        label, _, local = node_id.partition("/")
        return local if label in self._labels else node_id

    # How it is done

    def _full(self, local: str) -> str:
        return f"{self.label}/{local}"

    @contextlib.asynccontextmanager
    async def _reading(self, limit: float = READ_TIMEOUT, *, in_order: bool = True) -> AsyncIterator[Transaction]:
        await self.recognise()
        async with self.database.reading(limit, in_order=in_order) as transaction:
            yield transaction

    def _need(self, name: str) -> Statement:
        chosen = self._choose(name)
        if chosen is None:
            raise DatabaseError(f"{self.label}: {name} cannot be read here.", self._scan_required(name).why)
        return chosen

    def _scan_required(self, name: str, kind: str = "") -> ScanRequired:
        """The first unmet need of a statement, with what a scan would cost."""
        variants = (s for s in self.engine.statements[name] if s.is_for(kind))
        unmet = next((n for s in variants for n in sorted(s.needs - self.found.have)), "")
        need = self.engine.spec.needs[unmet]
        relation = self.found.relations.get(need.table)
        return ScanRequired(need=unmet, why=need.why, pages=relation.pages if relation else 0, ddl=need.ddl)

    async def _page(self, which: str, cursor: str | None, page: int, *, asked: bool = False, **values: Any) -> Page:
        kind = values.get("parent", "").partition(":")[0]
        chosen = self._choose(which, asked=asked, kind=kind)
        if chosen is None:
            async with self._reading() as transaction:
                return Page(nodes=(), at=await _now(transaction), scan_required=self._scan_required(which, kind))
        # An index on words or tags, which finding may use, can be read as a bitmap alone.
        in_order = not asked and which != "find"
        async with self._reading(ASKED_TIMEOUT if asked else READ_TIMEOUT, in_order=in_order) as transaction:
            rows = await transaction.rows(chosen, self._values(cursor=cursor, page=page, **values))
            return await self._told(transaction, rows, page)

    async def _told(self, transaction: Transaction, rows: Rows, page: int) -> Page:
        """The nodes of a *which* file's rows. One without an id says, as its cursor, what alone was looked at.

        One that has a ``node``, a row of ``nodes.sql`` as jsonb, is not looked up again.
        """
        named = [row for row in rows if row["id"] is not None]
        with readable("its rows"):
            given = [msgspec.json.decode(row["node"]) for row in named if row.get("node") is not None]
        read = await self._nodes(transaction, list(dict.fromkeys(row["id"] for row in named)), given)
        only = "".join(row["cursor"] for row in rows if row["id"] is None) or self._only
        return msgspec.structs.replace(read, cursor=named[-1].get("cursor") if len(named) == page else None, only=only)

    async def _first(self, which: Statement, page: int) -> Page:
        """The first roots, with which variant this is, in two or three round trips."""
        options = self._choose("options")
        if options is not None and "limits" in which.parameters:
            self._recognise(*await self.database.batch([BatchedQuery(options, self._values())]))
            options = None
        values = self._values(cursor=None, page=page)
        asked = [BatchedQuery(s, values) for s in (options, which) if s is not None]
        now, *told, rows = await self.database.batch([BatchedQuery(statement("now")), *asked])
        if not self._recognised:
            self._recognise(told[0] if told else ())
        local = [row["id"] for row in rows]
        parts = [BatchedQuery(*part) for part in self._parts(local)]
        answers = await self.database.batch(parts) if parts else []
        read = self._read([row for answer in answers for row in answer], local, now[0]["now"])
        cursor = rows[-1]["cursor"] if len(rows) == page else None
        return msgspec.structs.replace(read, cursor=cursor, only=self._only)

    @property
    def _only(self) -> str:
        return "rows that policies show" if self.found.policies else ""

    async def _nodes(self, transaction: Transaction, local: Sequence[str], given: Rows = ()) -> Page:
        rows, told = [*given], {row["id"] for row in given}
        for chosen, values in self._parts([i for i in local if i not in told]):
            rows += await transaction.rows(chosen, values)
        return self._read(rows, local, rows[0]["now"] if rows else await _now(transaction))

    def _parts(self, local: Sequence[str]) -> Sequence[tuple[Statement, dict[str, Any]]]:
        """What is to be asked about these nodes: a statement for those of each sort, and with what values."""
        parts: dict[str, tuple[Statement, list[str]]] = {}
        for id_ in local:
            chosen = self._choose("nodes", kind=id_.partition(":")[0])
            if chosen is not None:  # else what nodes of this kind are made of is not there
                parts.setdefault(chosen.source, (chosen, []))[1].append(id_)
        return [(chosen, self._values(ids=ids, places=self._places.of(ids))) for chosen, ids in parts.values()]

    def _read(self, rows: Rows, local: Sequence[str], at: float) -> Page:
        # A key that was typed may be spelled otherwise than the server does: such a node comes last, and once.
        found = {row["id"]: row for row in rows if isinstance(row["id"], str)}
        order = {id_: place for place, id_ in enumerate(dict.fromkeys([*local, *found]))}
        return Page(nodes=tuple(self._node(found[id_]) for id_ in sorted(found, key=order.__getitem__)), at=at)

    def _node(self, row: Mapping[str, Any]) -> Node:
        """A row as a node. One with a bad value is shown by its id, in an unknown phase, with what is wrong with it."""
        self._places.note(row["id"], row.get("place"))
        try:
            with readable("its row"):
                return self._whole(row)
        except UnreadableError as error:
            return Node(
                engine=self.label,
                id=self._full(row["id"]),
                kind=row["id"].partition(":")[0],
                title=row["id"],
                phase=Phase.UNKNOWN,
                version="",
                error=error.line,
            )

    def _whole(self, row: Mapping[str, Any]) -> Node:
        values = {key: value for key, value in row.items() if key not in ("now", "place")}
        for key in ("id", "parent_id", "job_id"):
            values[key] = self._full(values[key]) if values[key] is not None else None
        times = {key: None if row[key] is None else float(row[key]) for key in TIMES}  # JSON has no infinity
        return msgspec.convert({**values, **times, "engine": self.label}, Node)

    async def _findings(
        self, ids: Sequence[str] | None, page: int
    ) -> tuple[list[Finding], list[SkippedFinding], list[str]]:
        found: list[Finding] = []
        skipped_findings: list[SkippedFinding] = []
        capped: list[str] = []
        left = [f for f in self.engine.spec.findings if not f.sample]

        async def look(transaction: Transaction, spec: FindingSpec) -> None:
            found.extend(await self._expected(transaction, spec, ids, page, skipped_findings, capped))

        def failed(spec: FindingSpec, why: str) -> None:
            skipped_findings.append(SkippedFinding(engine=self.label, code=spec.code, why=why, failed=True))

        while left:
            async with self._reading() as transaction:
                await in_turn(transaction, left, look, failed)
        return found, skipped_findings, capped

    async def _expected(
        self,
        transaction: Transaction,
        spec: FindingSpec,
        ids: Sequence[str] | None,
        page: int,
        skipped_findings: list[SkippedFinding],
        capped: list[str],
    ) -> list[Finding]:
        key = f"findings/{spec.code}"
        variants = self.engine.statements[key]
        if ids is not None and not any(s.is_for(i.partition(":")[0]) for s in variants for i in ids):
            return []
        chosen = self._choose(key)
        if chosen is None and ids is not None:
            chosen = next((s for s in variants if s.of_ids is not None and s.of_ids <= self.found.have), None)
        if chosen is None:
            scan_required = self._scan_required(key)
            skipped_findings.append(
                SkippedFinding(engine=self.label, code=spec.code, why=scan_required.why, ddl=scan_required.ddl or None)
            )
            return []
        findings_loaded = await transaction.rows(chosen, self._values(ids=ids, page=page + 1))
        rows = [
            row for row in findings_loaded if row["id"] is not None
        ]  # a row without id: not everything was looked at
        for row in findings_loaded:
            if row["id"] is None and row["evidence"] is not None:  # a part that could not be read, and why
                why = msgspec.json.decode(row["evidence"])["unread"]
                skipped_findings.append(SkippedFinding(engine=self.label, code=spec.code, why=f"not in {why}"))
        if len(rows) > page or any(row["id"] is None and row["evidence"] is None for row in findings_loaded):
            capped.append(spec.code)
        with readable(f"{key}.sql"):
            return [
                self._finding(spec, self._full(row["id"]), row["since"], msgspec.json.decode(row["evidence"]), row)
                for row in rows[:page]
            ]

    def _finding(
        self,
        spec: FindingSpec,
        node_id: str,
        since: float | None,
        evidence: dict[str, Any],
        row: Mapping[str, Any] | None = None,
    ) -> Finding:
        """A finding. Its ``row`` may have a ``severity`` of its own, and say that nothing is to ``suggest`` here."""
        row = {} if row is None else row
        suggested = spec.action if spec.action and row.get("suggest", True) else None
        action = self.engine.action(suggested, split_id(node_id)[1]) if suggested else None
        given = {a.name: OPEN for a in action.arguments if a.required and not a.default} if action else {}
        return Finding(
            engine=self.label,
            node_id=node_id,
            code=spec.code,
            title=spec.title,
            sentence=sentence.fill(spec.sentence, evidence),
            severity=row.get("severity", spec.severity),
            proof=spec.proof,
            since=None if since is None else float(since),
            action=action.name if action else None,
            arguments=given | {k: sentence.fill(text, evidence) for k, text in spec.arguments.items()}
            if action
            else {},
            guard=guard_token.token(spec.same, evidence) if action else "",
            evidence=evidence,
        )

    async def _section(self, transaction: Transaction, key: str, local: str, size: int) -> Section | None:
        chosen, title = self._choose(key), self.engine.statements[key][0].title
        if chosen is None:
            return detail_section.stale_engines(key, title, self._scan_required(key))
        rows = await transaction.rows(chosen, self._values(id=local, bytes=size))
        with readable(f"{key}.sql"):
            return detail_section.read(key, title, rows, chosen.drawn) if rows else None


async def _now(transaction: Transaction) -> float:
    rows = await transaction.rows(statement("now"), {})
    return float(rows[0]["now"])
