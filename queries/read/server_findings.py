"""Findings about the server: causes outside of the engines' tables.

They are read once for all engines. Each part is one statement on the catalog and the statistics views. No statement
reads an engine's tables, so the cost does not depend on their size.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import msgspec

from queries.contract.detect import Declined, DetectedEngine
from queries.contract.server_spec import LABEL, server_spec, server_statement
from queries.contract.spec import Worker, index_of
from queries.db.connecting import APPLICATION
from queries.db.database import Database
from queries.db.errors import DatabaseError, readable
from queries.db.query import Query
from queries.db.reads import NOW, value_of
from queries.files.statement import Statement
from queries.read.counters import CounterHistory, Counters
from queries.read.findings import finding_of
from queries.read.incidents import rank
from queries.records.finding import Finding, Findings, SkippedFinding
from queries.records.node import ScanRequired
from queries.records.record import Record
from queries.text.duration import spelled
from queries.text.json_text import decoded

# Columns of a part whose values differ in JSON.
JSON = {"since": "float", "evidence": "json"}

# Seconds for which the findings of a part are kept.
KEPT_SECONDS = {"catalog": 5.0}

# Suspected findings that failing transactions confirm.
CONFIRMED = ("foreign_objects", "writes_refused")

# Seconds within which an idle session reports its counters.
COUNTER_DELAY_SECONDS = 12.0

# Seconds in which starts of sessions are counted, and the number of ended ones that is said.
STARTS_SECONDS, RESTARTS = 60.0, 3

# What to do if an engine is not read: the server is slow or a table is locked, or it refuses the statements.
UNREAD = (
    "End the transaction that locks its tables if one is named. If not, look for what slows the server down.",
    "Compare what the error names with the engine's migrations. Workers use it, too: make it again as they do.",
)

# Application names, as patterns for LIKE, of sessions that are no workers.
TOOLS = (APPLICATION, "psql", "pgadmin%", "dbeaver%", "datagrip%", "pgcli", "pg_dump%", "pg_basebackup", "pg_activity")


class WorkerSessions(Record):
    """Sessions of one role and application that may be workers of ``engines``.

    ``state``, ``since`` and ``wait`` are those of the session whose state changed last; None if hidden. ``began``: when
    the newest one began.
    """

    role: str
    application: str
    n: int
    engines: tuple[str, ...]
    state: str | None = None
    since: float | None = None
    wait: str | None = None
    began: float | None = None

    @property
    def who(self) -> str:
        """Role and application name."""
        return f"role {self.role}" + (f" ({self.application})" if self.application else "")

    def doing(self, at: float) -> str:
        """Return the state of the newest session at a time, as the end of a sentence."""
        if self.state is None or self.since is None:
            return "does something hidden (GRANT pg_monitor shows it)"
        wait = f", waiting for {self.wait}" if self.wait else ""
        return f"is {self.state} for {spelled(max(at - self.since, 0))}{wait}"


class ServerPart(Record):
    """Content of one part. ``read_at`` is monotonic time."""

    read_at: float
    findings: tuple[Finding, ...] = ()
    skipped: tuple[SkippedFinding, ...] = ()
    sessions: tuple[WorkerSessions, ...] = ()
    row_waits: int = 0


class ServerFindings:
    """Reader of the findings about one server.

    ``engines`` are the engines of the database; assign it after they were detected again. ``settings`` are the
    thresholds, in seconds or as numbers.
    """

    def __init__(self, database: Database, engines: Iterable[DetectedEngine]) -> None:
        self.database = database
        self.engines: Sequence[DetectedEngine] = tuple(engines)
        self._spec = server_spec()
        self.settings = dict(self._spec.settings)
        self._read = 0.0  # time of the last read by the server's clock
        self._asked: dict[str, Any] = {}
        self._values: dict[str, dict[str, Any]] = {}  # of the parameters of each part
        self._kept: dict[str, ServerPart] = {}
        self._starts: set[tuple[str, float]] = set()  # of sessions, by role and application, in the last minute
        self.counters = CounterHistory()
        self._server = database.server
        self._replaced: tuple[float, str] | None = None
        self._codes = self._spec.codes

    async def findings(self) -> Findings:
        """Read the findings of all parts; a part that fails is in ``skipped_findings``.

        The catalog is read every few seconds only; its findings are kept in between.
        """
        asked = {
            "args": {"engines": [*map(_declared, self.engines)], "tools": TOOLS},
            "settings": dict(self.settings),
        }
        if asked != self._asked:
            self._asked, self._kept = asked, {}
            self._values = {part: _values(server_statement(part), asked) for part in self._spec.parts}

        async with self.database.reading() as transaction:
            stale_parts = [part for part in self._spec.parts if self.engines and not self._is_fresh(part)]
            queries = (Query(server_statement(part), self._values[part], json=JSON) for part in stale_parts)
            now, *answers = await transaction.each([NOW, *queries])
        at = float(value_of(now)[0]["now"])
        for part, rows in zip(stale_parts, answers, strict=True):
            try:
                with readable(f"{part}.sql"):
                    self._kept[part] = self._part(value_of(rows), at)
            except DatabaseError as error:
                codes = self._spec.parts[part]
                skipped = (SkippedFinding(engine=LABEL, code=code, why=error.line, failed=True) for code in codes)
                self._kept[part] = ServerPart(read_at=-inf, skipped=tuple(skipped))
        self._read = at
        self._starts = {start for start in self._starts if start[1] >= at - STARTS_SECONDS}
        self._compare(at)
        parts = self._kept.values()
        findings = [finding for part in parts for finding in part.findings]
        findings += self._rolled_back()
        findings = list(_confirmed(findings))
        if not any(finding.code == "promoted" for finding in findings):
            findings += self._changed(at)
        return Findings(
            findings=tuple(sorted(findings, key=rank)),
            at=at,
            skipped_findings=tuple(each for part in parts for each in part.skipped),
        )

    def _is_fresh(self, part: str) -> bool:
        return part in self._kept and time.monotonic() - self._kept[part].read_at < KEPT_SECONDS.get(part, 0.0)

    @property
    def row_waits(self) -> int:
        """Number of sessions of the engines' tables that waited long for a row."""
        return sum(part.row_waits for part in self._kept.values())

    def sessions(self, label: str) -> tuple[WorkerSessions, ...]:
        """Return the sessions that may be workers of an engine, as of the last read."""
        return tuple(each for part in self._kept.values() for each in part.sessions if label in each.engines)

    def may_work(self, label: str, role: str, application: str) -> bool:
        """Return True if a session with this role and application may be a worker."""
        return any((s.role, s.application) == (role, application) for s in self.sessions(label))

    def working(self, label: str, role: str, application: str) -> bool:
        """Return True if another session is connected that may be a worker of an engine."""
        others = (s for s in self.sessions(label) if s.n > 1 or (s.role, s.application) != (role, application))
        return any(others) or label.partition("@")[0] in application.lower()

    def doing(self, label: str) -> str:
        """Return a sentence about these sessions, or "" before the first read."""
        if not self._read:
            return ""
        sessions = self.sessions(label)
        if not sessions:
            return "No session that may be a worker is connected."
        n = sum(each.n for each in sessions)
        newest = max(sessions, key=lambda each: each.since or 0.0)
        names: dict[str, dict[str, None]] = {}
        for each in sessions:
            names.setdefault(f"role {each.role}", {}).update({each.application: None} if each.application else {})
        roles = " and ".join(f"{role} ({', '.join(some)})" if some else role for role, some in names.items())
        connected = f"{n} sessions of {roles} are connected" if n > 1 else f"A session of {roles} is connected"
        does = newest.doing(self._read) + self._restarts(newest)
        return f"{connected}; {'the newest' if n > 1 else 'it'} {does} (inferred)."

    def _restarts(self, sessions: WorkerSessions) -> str:
        """Return how often sessions began and ended lately, as the end of a sentence."""
        starts = [began for who, began in self._starts if who == sessions.who]
        if len(starts) - sessions.n < RESTARTS:
            return ""
        seconds = self._read - min(starts)
        return f", and began {len(starts)} times in the last {spelled(seconds)}: it may restart again and again"

    def not_read(self, unread: Mapping[str, str]) -> tuple[Finding, ...]:
        """Return a finding for each engine that could not be read, with the reason."""
        spec, refused = self._codes["not_read"], "The server reports"
        found = ((label, {"label": label, "why": why, "todo": UNREAD[refused in why]}) for label, why in unread.items())
        return tuple(
            finding_of(spec, f"{LABEL}/engine:{label}", None, evidence, affects=[label]) for label, evidence in found
        )

    def failures_not_read(self, scans: Mapping[str, ScanRequired]) -> tuple[Finding, ...]:
        """Return a finding for each engine whose newest failures only a scan would read."""
        spec = self._codes["failures_not_read"]
        return tuple(
            finding_of(
                spec,
                f"{LABEL}/failures:{label}",
                None,
                {"label": label, "why": scan.why, "size": f"{scan.blocks / 128:.1f} MB", "index": scan.ddl},
                affects=[label],
            )
            for label, scan in scans.items()
        )

    def changed(self, declined: Iterable[Declined]) -> tuple[Finding, ...]:
        """Return a finding for each engine declined only for the type of columns."""
        spec, some = self._codes["schema_changed"], [(each, each.changed) for each in declined if each.changed]
        return tuple(
            finding_of(
                spec,
                f"{LABEL}/table:{each.engine}@{each.schema}.{table}",
                None,
                {"label": f"{each.engine} in the schema {each.schema}", "table": table, "what": what},
                affects=[each.engine],
            )
            for each, (table, what) in some
        )

    def _part(self, rows: Iterable[Mapping[str, Any]], at: float) -> ServerPart:
        findings, skipped, sessions, row_waits = [], [], [], 0
        for row in rows:
            evidence = decoded(row["evidence"])
            if row["code"] == "worker_session":
                sessions.append(each := WorkerSessions(**evidence, engines=tuple(row["affects"])))
                if each.began is not None:
                    self._starts.add((each.who, each.began))
            elif row["code"] == "row_waits":
                row_waits = evidence["n"]
            elif row["code"] == "counters":
                self.counters.add(at, self._counters(row, evidence))
            elif row["id"] is None:
                skipped.append(SkippedFinding(engine=LABEL, code=row["code"], why=evidence["unread"]))
            else:
                spec, node_id, affects = self._codes[row["code"]], f"{LABEL}/{row['id']}", sorted(row["affects"])
                suspected: bool = row["suspected"]
                findings.append(finding_of(spec, node_id, row["since"], evidence, affects=affects, suspected=suspected))
        return ServerPart(
            read_at=time.monotonic(),
            findings=tuple(findings),
            skipped=tuple(skipped),
            sessions=tuple(sessions),
            row_waits=row_waits,
        )

    def _compare(self, at: float) -> None:
        """Note that the console's server was promoted, or that another one answers."""
        before, now = self._server, self.database.server
        self._server = now
        if before is None or now is None or now.standby or before.history == now.history:
            return
        if before.system_identifier != now.system_identifier:
            what = "Another server answers now, with other data."
        elif before.standby:
            what = "This server was a standby and is the primary now."
        else:
            what = f"Another server took over: timeline {now.timeline} instead of {before.timeline}."
        self._replaced = at, what

    def _changed(self, at: float) -> list[Finding]:
        if self._replaced is None or at - self._replaced[0] > self.settings["promoted"]:
            return []
        since, what = self._replaced
        spec, affects = self._codes["promoted"], sorted(engine.label for engine in self.engines)
        return [finding_of(spec, f"{LABEL}/server:promotion", since, {"what": what}, affects=affects)]

    def counts_once(self, standing: Iterable[str]) -> bool:
        """Return True if a second read could tell more: counters were read once.

        It confirms a suspicion, or shows that transactions fail of the sessions of ``standing``, the labels of engines
        that do no work.
        """
        findings = (finding for part in self._kept.values() for finding in part.findings)
        suspected = any(f.suspected and f.code in CONFIRMED for f in findings)
        return len(self.counters.read) == 1 and (suspected or any(map(self.sessions, standing)))

    def _rolled_back(self) -> Iterable[Finding]:
        """Compare the rollbacks of others with those at the begin of the window.

        Reads of consoles end with COMMIT. What this one rolls back is reported up to some seconds late, so the newest
        own ones before the window may be among them. The commits of other consoles are estimated from the own ones.
        """
        history = self.counters.read
        if not history:
            return
        at, now = history[-1]
        recent = at - self.settings["rollback_window"]
        since, first = next((each for each in reversed(history) if each[0] <= recent), history[0])
        own = next((each.own for then, each in reversed(history) if then <= since - COUNTER_DELAY_SECONDS), 0)
        n = now.rollbacks - first.rollbacks - (now.own - own)
        looked = (now.own_commits - first.own_commits) * max(now.consoles / max(self.database.sessions, 1), 1)
        of = n + max(round(now.commits - first.commits - looked), 0)
        share = n / max(of, 1)
        labels = [label for label in now.labels if self.sessions(label)]
        if not labels or n < self.settings["rollbacks"]:
            return
        code = next((c for c in ("transactions_fail", "rollbacks") if share >= self.settings[f"{c}_share"]), None)
        if code is not None:
            ended = now.deadlocks - first.deadlocks
            evidence = {
                "n": n,
                "of": of,
                "window": spelled(at - since),
                "deadlocks": f", {ended} of them by deadlocks" if ended else "",
                "by": "deadlocks" if ended * 2 >= n else "errors",
            }
            node_id, affects = f"{LABEL}/server:rollbacks", sorted(labels)
            yield finding_of(self._codes[code], node_id, None, evidence, affects=affects, suspected=True)

    def _counters(self, row: Mapping[str, Any], evidence: Mapping[str, Any]) -> Counters:
        load = self.database.load
        counters = {**evidence, "labels": row["affects"] or (), "own": load.rollbacks, "own_commits": load.commits}
        counters["wrote"] = load.wrote if time.monotonic() - load.wrote > COUNTER_DELAY_SECONDS else None
        return msgspec.convert(counters, Counters)


def _confirmed(findings: Sequence[Finding]) -> Iterable[Finding]:
    """Yield the findings; failing transactions confirm a suspected cause."""
    failing = {label for finding in findings if finding.code == "transactions_fail" for label in finding.affects}
    for finding in findings:
        sure = finding.code in CONFIRMED and failing.intersection(finding.affects)
        yield msgspec.structs.replace(finding, suspected=False) if sure else finding


def _values(part: Statement, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the values for a part: of each engine only the facts that its text names."""
    args = asked["args"]
    engines = [{name: each[name] for name in each if f"'{name}'" in part.text} for each in args["engines"]]
    return {**asked, "args": {**args, "engines": engines}}


def _declared(engine: DetectedEngine) -> dict[str, Any]:
    spec = engine.engine.spec
    return {
        "label": engine.label,
        "schema": engine.schema,
        "tables": sorted(engine.relations),
        "columns": {name: sorted(columns) for name, columns in spec.recognise.relations.items()},
        "workers": [{**_worker(each), "path": spec.unqualified != "nothing"} for each in spec.workers],
        "operator": sorted({p for a in engine.engine.actions_here for p in (*a.privileges, *a.undo_privileges)}),
        "own": msgspec.to_builtins(spec.own),
        "flow": next(iter(spec.flow), None),
    }


def _worker(worker: Worker) -> dict[str, Any]:
    made = ((ddl, index_of(ddl)) for ddl in worker.indexes)
    return {
        "title": worker.title,
        "channels": worker.channels,
        "privileges": [each for each in worker.privileges if each[-1] != "*"],
        "queues": [each[:-1] for each in worker.privileges if each[-1] == "*"],
        "indexes": [{"table": of.table, "columns": of.columns, "ddl": ddl} for ddl, of in made if of is not None],
    }
