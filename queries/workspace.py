"""One open database with the engines found in it and its audit log."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queries.contract import id_forms, roles
from queries.contract.builtin import builtin
from queries.contract.detect import Declined, detect, detection_queries, expected
from queries.contract.engine import Engine, merged
from queries.contract.outside import EMPTY, NONE, PROPOSE, OutsideEngines
from queries.contract.server_spec import LABEL
from queries.contract.trust import Trust
from queries.db.database import Database, Server
from queries.db.errors import DatabaseError, LockedError, LostError, UnknownIdError, attempted
from queries.db.query import Query, Rows, statement
from queries.db.reads import value_of
from queries.db.servers import KnownServer, KnownServers, OtherHosts, Rules
from queries.files import user_dirs
from queries.files.hidden_guesses import HiddenGuesses
from queries.read.reader import Reader
from queries.read.server_findings import ServerFindings
from queries.records.finding import Finding, SkippedFinding
from queries.records.node import split_id
from queries.text.suggest import did_you_mean

if TYPE_CHECKING:
    from queries.log.choice import AuditLog

DETECTION_KEPT_SECONDS = 45.0  # after which the engines are detected again; 20,000 tables take 0.4 s
GUESS_PAUSE = 20.0  # times the duration of a guess: the least pause before the next one
READ_ONLY = "this console is read-only"
SCHEMAS_NAMED = 3  # schemas that a reason names
IDS_SUGGESTED = 8  # ids that are suggested for an incomplete one


def _few(schemas: Sequence[str]) -> str:
    """Return the names of some schemas, and the number of the others."""
    more = len(schemas) - SCHEMAS_NAMED
    return f"schema {', '.join(schemas[:SCHEMAS_NAMED])}" + (f" and {more} more" if more > 0 else "")


class Workspace:
    """Database with its engines. Begin with `open`, end with `close`.

    ``database``: it, or the connection string that names it.
    ``overrides``: thresholds and options by engine (``uni2work``) or by schema (``uni2work@archive``), which wins.
    ``schema``: the schema to use if several hold the same engine; "" uses all.
    ``context``: name that the local audit file and the file of known servers record.
    ``trusted``: roles whose objects may run code, in addition to the current role, superusers and the owner of the
    database.
    ``images``: keep images of changed rows, which an undo needs.
    ``local_log``: allow changes although the audit log table cannot be used; the local file gets the entries.
    ``outside``: engines outside of the package, in addition to its own. ``guess``: read tables that look like work as
    engines, too, without those that ``not_work`` names with their schemas.
    ``rules``: finds the rules of the opened server.
    """

    def __init__(
        self,
        database: Database | str,
        overrides: Mapping[str, Mapping[str, object]] | None = None,
        *,
        schema: str = "",
        context: str = "",
        trusted: Sequence[str] = (),
        read_only: bool = False,
        images: bool = True,
        file: Path | None = None,
        local_log: bool = False,
        outside: OutsideEngines = NONE,
        guess: bool = False,
        not_work: Sequence[str] = (),
        rules: Callable[[Server, Sequence[KnownServer]], Rules] = lambda *_: Rules(),
    ) -> None:
        self.database = Database(database) if isinstance(database, str) else database
        self.detected = 0.0  # monotonic time of the last detection
        self.rules = Rules()
        self.read_only = READ_ONLY if read_only else ""  # why this console changes nothing
        self._find_rules = rules
        self.engines: dict[str, Reader] = {}
        self.declined: tuple[Declined, ...] = ()
        self.tables: int | None = None  # of a database without engines, None if they could not be counted
        self._others = ""  # databases of its server
        self.broken = self._broken = outside.broken
        self._all_engines = (*builtin(), *outside.engines)
        self._state = file.parent if file else user_dirs.folder("state")
        self.servers = KnownServers(self._state)
        self.tried: dict[str, tuple[str, Finding]] = {}  # by node: its version, and what the server refused in a try
        self.awaited_standbys = ""  # synchronous_standby_names while a COMMIT is sent that waits for one
        self.locked: frozenset[str] = frozenset()  # tables read only in part: another session locks them
        self._context = context
        self._recording: dict[str, Any] = {"path": file, "context": context, "images": images, "local_log": local_log}
        self._recorded: tuple[Mapping[str, Any], Rows] | None = None  # state and trust of the table of entries
        self._overrides, self._schema, self._trusted = overrides or {}, schema, trusted
        self._guess, self.not_work, self._guesses = guess, {*not_work}, tuple[Engine, ...]()
        self._guess_after = -math.inf  # monotonic time from which tables are looked at again
        self._hidden: HiddenGuesses | None = None
        self._later = False

    async def open(self, *, later: bool = False) -> Workspace:
        """Connect to the database, detect its engines, and return this workspace.

        ``later``: recognise the variant of an engine at its first read, not now. Raises DatabaseError. A database
        without engines is no error; ``declined`` and ``expected`` give the reasons.
        """
        self._later = later
        try:
            await self.detect()
        except BaseException:
            await self.close()
            raise
        return self

    async def detect(self, *, renew: bool = False) -> None:
        """Detect engines, privileges and the audit log, also again later.

        Raises DatabaseError. ``renew`` keeps the readers of engines that still exist, with their samples. If
        ``locked`` is not empty afterwards, a later call may find more.
        """
        began = time.monotonic()
        guessing = self._guess and began >= self._guess_after
        (rows,) = await self.database.together(self._detect(renew or bool(self._guesses), guessing=guessing))
        unknown = any(not {f"{row['schema']}.{row['name']}", f"{row['schema']}.*"} & self._known() for row in rows)
        if guessing and (unknown or self._guesses):
            from queries.propose import guess  # slow to import, and a console without guesses does without

            self._hidden = self._hidden or HiddenGuesses(self._state)
            self.not_work |= self._hidden.of(self._where)
            names = {engine.name for engine in self._all_engines}
            found, broken = await guess.guesses(self.database, rows, self._known(), names, self._trusted, self._guesses)
            self.broken = (*self._broken, *broken)
            if found != self._guesses:
                self._guesses = found
                await self.database.together(self._detect(True))
        if guessing:
            self._guess_after = time.monotonic() + GUESS_PAUSE * (time.monotonic() - began)
        if not self.engines:
            from queries.propose import guess

            read = await attempted(guess.tables(self.database))
            self.tables, self._others = (None, "") if isinstance(read, DatabaseError) else read

    def hide(self, guess: Reader) -> None:
        """Read the table of a guess no more, from the next detection on.

        It stays hidden in this context.
        """
        if self._hidden is not None:
            self._hidden.hide(self._where, guess.engine.of_table)
        self.not_work.add(guess.engine.of_table)
        self.detected = -math.inf  # so that the next read detects again; one that is under way keeps its engines

    @property
    def _where(self) -> str:
        return self._context or f"@{self.server.system_identifier}/{self.server.database}"

    def _known(self) -> set[str]:
        """Return tables, with their schemas, that are not guessed to hold work.

        ``schema.*`` is all of a schema.
        """
        here = [(r.detected.schema, r.engine) for r in self.engines.values() if not r.engine.guess]
        here += [(each.schema, engine) for each in self.declined for engine in builtin() if engine.name == each.engine]
        own = {f"{schema}.{name}" for schema, e in here for name in (*e.spec.recognise.relations, *e.spec.own.columns)}
        used = (need.relation for _, engine in here for need in engine.spec.needs.values())
        return own | self.not_work | {f"{name.partition('.')[0]}.*" for name in used if "." in name}

    async def _detect(self, renew: bool, *, guessing: bool = False) -> Rows:
        """Detect engines. Return tables that may hold work, with ``guessing``."""
        self.detected = time.monotonic()
        try:
            engines, (catalog, types, doubts, (there,)), tables = await self._catalog(guessing)
        except LockedError:  # a session locked a table after the statement had read the locks
            engines, (catalog, types, doubts, (there,)), tables = await self._catalog(guessing)
        self._note_server()
        labels = {reader.detected.full: label for label, reader in self.engines.items()} if renew else {}
        detection = detect(engines, catalog, types, doubts, self._schema, labels)
        self.declined, self.locked = detection.declined, detection.locked
        before = {reader.detected.full: reader for reader in self.engines.values()}
        self.engines = {}
        for detected in detection.engines:
            kept = before.get(detected.full)
            same = kept is not None and (not kept.engine.guess or kept.engine.spec == detected.engine.spec)
            if renew and kept is not None and same and kept.label == detected.label:
                kept.variant.detected = detected
                self.engines[detected.label] = kept
                continue
            settings = merged(
                self._overrides.get(detected.engine.unbound or detected.engine.name, {}),
                self._overrides.get(detected.full, {}),
            )
            reader = Reader(self.database, detected, settings, read_only=self.read_only)
            for option, value in kept.variant.session_options.items() if kept is not None else ():
                reader.variant.set_option(option, value)
            self.engines[detected.label] = reader
        if findings := self.__dict__.get("server_findings"):
            findings.engines = tuple(reader.detected for reader in self.engines.values())
        if not self._later:
            await self.database.together(*(reader.variant.recognise() for reader in self.engines.values()))
        self._recorded = there, doubts
        if log := self.__dict__.get("audit_log"):
            log.choose(there, Trust(doubts))
        return tables

    def _note_server(self) -> None:
        """Apply the rules of the contexts that name the server."""
        self.rules = self._find_rules(self.server, self.servers.all())
        self.servers.note(self.server, self._context)
        if self.read_only != READ_ONLY:
            name, production = self.rules.read_only, self.rules.production
            open_as = f": open it as @{production} to change it" if production else ""
            self.read_only = f"the context {name} names this server, and is read-only{open_as}" if name else ""
        for reader in self.engines.values():
            reader.read_only = self.read_only

    async def detect_again(self) -> None:
        """Detect again if the last detection is old, or found a locked table.

        An engine appears, moves, or loses the trust in its owner while a console runs. Raises DatabaseError.
        """
        if self.locked or time.monotonic() - self.detected >= DETECTION_KEPT_SECONDS:
            await self.detect(renew=True)

    @property
    def declined_alike(self) -> tuple[Declined, ...]:
        """Declined schemas, one record for each engine and reason.

        Its ``schema`` names some of them.
        """
        schemas: dict[tuple[str, str], list[str]] = {}
        for each in self.declined:
            schemas.setdefault((each.engine, each.why), []).append(each.schema)
        return tuple(Declined(engine=name, schema=_few(few), why=why) for (name, why), few in schemas.items())

    @property
    def not_checked(self) -> tuple[SkippedFinding, ...]:
        """Engines that no check reads, with the reason, as skipped findings."""
        schemas: dict[tuple[str, str, bool], list[str]] = {}
        for each in self.declined:
            chosen = bool(self._schema) and each.schema != self._schema
            schemas.setdefault((each.engine, each.why, not chosen), []).append(each.schema)
        if not (self.engines or schemas):
            why = f"the database {self.server.database} holds no task engine that unstick supports"
            return (SkippedFinding(engine=LABEL, code="anything", why=why, failed=True),)
        return tuple(
            SkippedFinding(engine=engine, code="anything", why=f"declined in {_few(names)}: {why}", failed=failed)
            for (engine, why, failed), names in schemas.items()
        )

    async def _catalog(self, guessing: bool) -> tuple[tuple[Engine, ...], list[Rows], Rows]:
        """Return the engines, what the catalog has, and tables that may hold work.

        Engines with roles are there once for each set of their tables.
        """
        state = Query(statement("audit_log_state"), json={})
        engines = (*self._all_engines, *(guess for guess in self._guesses if guess.of_table not in self.not_work))
        queries = [*detection_queries(engines, self._trusted), state]
        work = [Query(statement("work_tables"), {"schema": self._schema}, json={})] if guessing else []
        async with self.database.reading() as transaction:
            answers = await transaction.each([*queries, *work])
        catalog = [value_of(each) for each in answers[: len(queries)]]
        tables = next((each for each in answers[len(queries) :] if not isinstance(each, DatabaseError)), ())
        return roles.bound(engines, {row["relation"] for row in catalog[0]}), catalog, tables

    @property
    def nothing(self) -> tuple[str, ...]:
        """Sentences: there is no engine, which ones are known, and the next step."""
        name, known = self.server.database, ", ".join(line.partition(":")[0] for line in self.expected)
        more = [f"unstick knows {known}.", *[f"Other databases of its server: {self._others}."] * bool(self._others)]
        if self.tables == 0:
            return f"The database {name} holds no tables.", *more, EMPTY
        holds = f"The database {name} holds no task engine that unstick supports"
        if self.tables is None or not self._guess:
            return f"{holds}.", *more, PROPOSE
        none = "its one table does not look" if self.tables == 1 else f"none of its {self.tables:,} tables looks"
        return f"{holds}, and {none} like work.", *more, PROPOSE

    @cached_property
    def expected(self) -> tuple[str, ...]:
        """A line for each known engine: the relations that identify it."""
        return expected(self._all_engines)

    @cached_property
    def other_hosts(self) -> OtherHosts:
        """The other hosts of the connection string."""
        return OtherHosts(self.database)

    @cached_property
    def server_findings(self) -> ServerFindings:
        """Reader of the findings about the server."""
        return ServerFindings(self.database, (reader.detected for reader in self.engines.values()))

    @cached_property
    def audit_log(self) -> AuditLog:
        """The audit log of the database. Reading nodes and findings needs none."""
        from queries.log.choice import AuditLog

        log = AuditLog(
            self.database, server=lambda: self.server, reader=self.reader, trusted=self._trusted, **self._recording
        )
        if self._recorded is not None:
            there, doubts = self._recorded
            log.choose(there, Trust(doubts))
        return log

    @property
    def has_entries(self) -> bool:
        """Return True if there is a table of entries, or a local file.

        Otherwise a command that only reads does without the audit log.
        """
        file = self._recording["path"] or user_dirs.audit_log()
        return bool(self._recorded and self._recorded[0]["exists"]) or file.exists()

    @property
    def server(self) -> Server:
        """Facts about the server, as of the last connection."""
        if self.database.server is None:
            raise LostError("There is no connection yet.")
        return self.database.server

    def named(self, label: str, local: str = "") -> Reader:
        """Return the reader for a label.

        Raises UnknownIdError, also for an ambiguous label. ``uni2work@archive`` is always unique; ``uni2work`` is if
        only one schema holds the engine. ``local`` is the rest of the id, used in the message.
        """
        every = self.engines.values()
        readers = [r for r in every if r.label == label]
        readers = readers or [r for r in every if label in (r.detected.full, r.engine.name)]
        if not readers:
            raise UnknownIdError(
                f"There is no engine {label!r} here{did_you_mean(label, self.engines)};"
                f" there is {', '.join(self.engines) or 'none'}."
            )
        if len(readers) > 1:
            forms = " or ".join(f"{reader.label}/{local}" if local else reader.label for reader in readers)
            raise UnknownIdError(f"{label!r} is ambiguous: {len(readers)} schemas hold this engine. Write {forms}.")
        return readers[0]

    def recorded(self, label: str, schema: str) -> Reader | None:
        """Return the reader of the engine that a record of the audit log is about.

        None if there is none here.
        """
        return next((reader for reader in self.engines.values() if reader.is_of(label, schema)), None)

    def reader(self, node_id: str) -> Reader:
        """Return the reader of the engine of ``node_id``.

        Raises UnknownIdError.
        """
        try:
            label, kind, key = split_id(node_id)
        except ValueError as error:
            near = self._ids_like(node_id)
            raise UnknownIdError(f"{error}{f'. Write {near}' if near else ''}") from None
        reader = self.named(label, f"{kind}:{key}")
        if reader.engine.kind(kind) is None:
            kinds = ", ".join(k.name for k in reader.engine.spec.kinds)
            raise UnknownIdError(f"{label} has no nodes of kind {kind!r}; its kinds are {kinds}.")
        if form := id_forms.why_malformed(reader.detected, kind, key):
            raise UnknownIdError(f"{node_id} is no id: {form}")
        return reader

    def _ids_like(self, text: str) -> str:
        """Return the ids that an incomplete one may mean, or "".

        ``text`` names an engine or a kind, and a key: ``queue:1``, ``queue/1``, ``job:1``. Or it is a key: rather of a
        kind whose keys have a form.
        """
        name, *rest = re.split(r"[/:]", text, maxsplit=1)
        forms: dict[int, list[str]] = {}
        for reader in self.engines.values():
            for kind in reader.engine.spec.kinds:
                named = rest if name in (reader.label, reader.engine.name, kind.name) else []
                key, wrong = "".join(named or text), partial(id_forms.why_malformed, reader.detected, kind.name)
                if key and (named or not wrong(key)):
                    rank = 0 if named else 1 if wrong("") else 2
                    forms.setdefault(rank, []).append(f"{reader.label}/{kind.name}:{key}")
        return " or ".join(forms[min(forms)][:IDS_SUGGESTED]) if forms else ""

    async def now(self) -> float:
        """Return the server's time in seconds since 1970. Raises DatabaseError."""
        async with self.database.reading() as transaction:
            return await transaction.now()

    async def close(self) -> None:
        """Close all connections."""
        await self.database.close()
