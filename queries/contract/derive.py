"""Derive statements from ``engine.toml``.

The files in ``templates`` have their text. Its lines have the line of the table that they follow from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from queries.contract.effects import WRITTEN, set_values
from queries.contract.folder import TOML, Folder
from queries.contract.id_forms import KEY_TYPES, KeyType
from queries.contract.needs import dead_need, need_of, status_need
from queries.contract.rows import COMPARED, ENDED, NodeRow, columns
from queries.contract.spec import KEY_SEPARATOR, NO_TIME, Action, Claim, Condition, EngineSpec, FindingSpec, Kind, Need
from queries.contract.sql_templates import Filled, Lines, Values, filled, joined, one_line, repeated
from queries.files.statement import EngineFileError, SqlText, sections
from queries.files.toml_file import Path as Setting
from queries.files.toml_file import TomlFile
from queries.records.node import Phase
from queries.text.psql_text import literal, sql_name

SECTIONS = ("lock", "refused", "change")
SEARCHED_ROWS = 10_001  # of a table, among which nodes that no root reaches are searched for
STATUSES_APART = 4  # of a claim that are read apart, each in the order of its index
_SEPARATOR_IN_KEY = f"%{ord(KEY_SEPARATOR):02X}"  # the separator within a value
UNKNOWN = "NULL::bool"  # a condition of which it is not known whether it holds
OVER = (*ENDED, Phase.FAILED)  # no worker takes such a node by itself
_CALL = re.compile(r':"schema"\.\w+\(')  # of an engine's function
WAITING = (Phase.READY, Phase.SCHEDULED, Phase.BLOCKED, Phase.HELD)

# Column of a node -> SQL that converts an expression
_TYPES = {name: types[0] for name, types in columns(NodeRow).items()}  # of a node's columns, as the server names them
_NUMBERS = ("int8", "int4", "float8", "numeric")  # types of times in seconds


def keys_in_sql(spec: EngineSpec) -> dict[str, str]:
    """Return SQL for the keys of the ids of each kind, by the name that files may use."""
    types = {
        kind.name: kind.form or _first(spec.recognise.relations.get(kind.table, {}).get(kind.key, ""))
        for kind in spec.kinds
    }
    keys = {kind: KEY_TYPES[type_] for kind, type_ in types.items() if type_ in KEY_TYPES}
    return {f"{kind}_keys": _keys(kind, type_) for kind, type_ in keys.items()}


def _keys(kind: str, type_: KeyType) -> str:
    """Return SQL for the keys of the ids of one kind.

    Numbers are compared with their pattern, because digits may be too many for the type.
    """
    like = f"~ '^{kind}:{type_.text}$'" if type_.cast == "int8" else f"LIKE '{kind}:%'"
    return one_line("keys", start=str(len(kind) + 2), type=type_.cast, like=like)


def derived(folder: Folder, spec: EngineSpec, toml: TomlFile, needs: Mapping[str, Need]) -> dict[str, SqlText]:
    """Return the statements that follow from ``engine.toml`` and have no file.

    ``needs``: those that they may have.
    """
    writer = _Writer(folder, spec, toml, needs)
    writer.write()
    return writer.files


class _Asked(NamedTuple):
    """Question of a finding about a row of a claim: since when, whether, and evidence."""

    at: str
    found: str
    evidence: dict[str, str]
    cause: str = "'{}'"


class _Writer:
    """Writer of the derived files of one folder, whose settings have no faults."""

    def __init__(self, folder: Folder, spec: EngineSpec, toml: TomlFile, needs: Mapping[str, Need]) -> None:
        self.folder, self.spec, self.toml, self.needs = folder, spec, toml, needs
        self.files: dict[str, SqlText] = {}
        self.kinds = {kind.name: kind for kind in spec.kinds}
        self._written = partial(folder.written, self.kinds)
        self.tables = [kind for kind in spec.kinds if kind.table]

    def write(self) -> None:
        """Derive each file that is not there."""
        for kind in self.tables:
            self._of_kind(kind)
        leaves = [kind for kind in self.kinds if kind not in self.spec.parents]
        if leaves and (self._written("children") or any(file.startswith("children.") for file in self.files)):
            self._add("children.leaf.sql", ("kinds",), [filled("leaf", {"kinds": " ".join(leaves)})])
        for name, write in (
            ("roots", self._roots),
            ("live", self._live),
            ("counts", self._counts),
            ("find", self._find),
            ("dead", self._dead),
            ("rows", self._rows),
        ):
            if self.tables and not self._written(name):
                write()
        for finding in self.spec.findings:
            if finding.sampled or finding.finder or self._written(f"findings/{finding.code}"):
                continue
            if finding.among:
                self._finding_among(finding)
            elif finding.since:
                self._finding_of_table(finding)
        for action in self.spec.actions:
            if action.writes:
                self._action(action)
        for claim in self.spec.claim:
            self._claim(claim)

    def _of_kind(self, kind: Kind) -> None:
        """Derive the files of one kind that are not there."""
        if kind.columns and not self._written("nodes", kind.name):
            self._nodes(kind)
            self._matching(kind)
        if kind.parent and not self._written("children", kind.below):
            self._children(kind)
        for name in kind.payloads:
            if not self._written(f"detail/{name}"):
                self._payload(kind, name)

    # Files

    def _nodes(self, kind: Kind) -> None:
        columns: Lines = []
        at: Setting = ("kinds", kind.name)
        if kind.parent:
            columns.append(f"'{kind.below}:' || {_of(kind.parent)} AS parent_id,")
        columns.append(f"'{kind.name}' AS kind,")
        if "title" not in kind.columns:
            columns.append(f"{_of(kind.key)}::text AS title,")
        if "phase" not in kind.columns:
            columns.append(f"{self._column(kind, 'phase')} AS phase,")
        for name in kind.columns:
            columns.append(f"{self._column(kind, name)} AS {name},")
        values: Values = {**self._of(kind), "kind": kind.name, "columns": columns}
        self._add(f"nodes.{kind.name}.sql", at, [filled("nodes", values)])

    def _column(self, kind: Kind, name: str) -> str:
        """Return a column of a node as SQL."""
        expression = kind.columns.get(name)
        if expression is None:
            return self._phase(kind) if "status" in kind.columns else "'unknown'"
        return self._converted(kind, name, expression)

    def _matching(self, kind: Kind) -> None:
        """Derive the nodes that match conditions on the columns that a filter compares."""
        conditions: Lines = []
        for name, form in COMPARED.items():
            if name in kind.columns or name == "phase":
                column = self._column(kind, name)
                if _TYPES[name] == "float8":
                    column = f"extract(epoch FROM now())::float8 - {column}"
                asked = f"(:query::text::jsonb -> '{name}')"
                conditions.append(one_line(f"matching_{form}", asked=asked, column=column))
        type_ = self._key_type(kind).cast
        values: Values = {**self._of(kind), "kind": kind.name, "type": type_, "conditions": conditions}
        self._add(f"matching.{kind.name}.sql", ("kinds", kind.name), [filled("matching", values)])

    def _converted(self, kind: Kind, name: str, text: str) -> str:
        """Return an expression as a column of a node."""
        if name == "due_at" and "status" in kind.columns and "phase" not in kind.columns:
            phases = ", ".join(f"'{phase}'" for phase in WAITING)
            return f"CASE WHEN {self._phase(kind)} IN ({phases}) THEN {self._time(kind, text)} END"
        if _TYPES[name] == "float8":
            return self._time(kind, text)
        text = self._expression(kind, text)
        return text if name == "phase" or name.endswith("_id") else f"({text})::{_TYPES[name]}"

    def _time(self, kind: Kind, text: str) -> str:
        """Return a column or an expression for a time or a duration, in seconds."""
        number = _first(self._relation(kind).get(text, "")) in _NUMBERS
        text = self._expression(kind, text)
        return f"({text})::float8" if number else f"extract(epoch FROM {text})::float8"

    def _children(self, kind: Kind) -> None:
        parent = self.kinds[kind.below]
        type_ = self._type(parent, parent.key)
        need = need_of(self.needs, kind.table, kind.parent)
        assert need is not None
        filter_ = f"{_of(kind.parent)} = substr(:parent, {len(kind.below) + 2})::{type_}"
        filter_ += f" AND {_of(kind.key)} <> {_of(kind.parent)}" if parent is kind else ""
        header = [f"-- kinds: {kind.below}", f"-- needs: {need[0]}"]
        part = self._part(kind, 1, filter_, kind.key_columns)
        about = f"Nodes of the kind {kind.name} below a {kind.below}, in the order of their keys."
        self._page(f"children.{kind.below}.sql", about, header, [part], (*("kinds", kind.name), "parent"))

    def _payload(self, kind: Kind, name: str) -> None:
        """Derive a detail section with a stored text."""
        at: Setting = ("kinds", kind.name, "payloads", name)
        column = kind.payloads[name]
        bytea = _first(self._relation(kind)[column]) == "bytea"
        of_kind = self._of(kind)
        values: Values = {
            **of_kind,
            "one": str(of_kind["wanted"]).replace(":ids", "ARRAY[:id]"),
            "title": name.replace("_", " ").capitalize(),
            "kind": kind.name,
            "column": _of(column),
            "payload": _of(column) if bytea else f"convert_to({_of(column)}::text, 'UTF8')",
        }
        self._add(f"detail/{name}.sql", at, [filled("payload", values)])

    def _roots(self) -> None:
        """Derive the nodes without an existing parent, and a note on the unreached."""
        parts: list[Values] = []
        more: Lines = []
        for kind in self.tables:
            if not kind.parent or kind.below == kind.name:
                filter_ = f"{_of(kind.parent)} IS NULL" if kind.parent else "true"
                parts.append(self._part(kind, len(parts) + 1, filter_, kind.key_columns, "DESC"))
        for kind in self.tables if parts else ():
            if not kind.parent:
                continue
            above, of = self.kinds[kind.below], self._of(kind)
            type_ = KEY_TYPES.get(_first(self._relation(kind)[kind.parent]))
            if type_ is None or type_.find != self._key_type(above).find:  # they cannot be compared
                continue
            of_parent, parent = self._of(above), _of(kind.parent)
            few = one_line("few", table=str(of["table"]), most=str(SEARCHED_ROWS))
            same = f"{parent} = {_of(kind.key)}" if above is kind else "false"
            key, table = sql_name(above.key), str(of_parent["table"])
            filter_ = one_line("orphan", few=few, parent=parent, same=same, above=table, key=key)
            parts.append(self._part(kind, len(parts) + 1, filter_, kind.key_columns, "DESC"))
            lost = f"{kind.name} whose parent is missing" + " or in a ring" * (above is kind)
            unsearched = f"rows that a root reaches, without a search for nodes of the kind {lost} in a large table,"
            values: Values = {
                **of,
                "kind": kind.name,
                "parent": sql_name(kind.parent),
                "parent_name": str(of_parent["name"]),
                "few": few,
                "most": str(SEARCHED_ROWS),
                "unsearched": literal(unsearched),
            }
            more += filled("ring" if above is kind else "orphans", values)
        if parts:
            self._page("roots.sql", "Nodes without a parent, newest first.", [], parts, more=more)

    def _live(self) -> None:
        """Derive the unfinished nodes: by status, then in the order of the index.

        NULL comes last, in a part of its own.
        """
        parts: list[Values] = []
        more: Lines = []
        declared = ", ".join(dict.fromkeys(literal(status.native) for status in self.spec.statuses))
        for kind, need, column in self._by_status():
            type_ = self._relation(kind).get(kind.columns.get("status", ""))  # an expression has only declared ones
            known = {None, *self.spec.recognise.types, *([type_] if kind.table in self.spec.recognise.literals else [])}
            if declared and type_ not in known:
                values: Values = {**self._of(kind), "status": self._status(kind), "declared": declared}
                more += filled("undeclared", {**values, "kind": kind.name, "most": str(SEARCHED_ROWS)})
            for _, filter_ in self._each_unfinished(kind, need):
                orders: dict[str, tuple[str, ...]] = {filter_: kind.key_columns}
                if column:
                    orders = {f"{filter_} AND {_of(column)} IS NOT NULL": (column, *kind.key_columns)}
                    orders[f"{filter_} AND {_of(column)} IS NULL"] = kind.key_columns
                parts += [self._part(kind, len(parts) + m, *each) for m, each in enumerate(orders.items(), 1)]
        if parts:
            header = self._header(need for _, need, _ in self._by_status())
            about = "Unfinished nodes: by status, then in the order of the index."
            self._page("live.sql", about, header, parts, more=more)

    def _counts(self) -> None:
        parts: list[Values] = []
        unfinished = self._unfinished()
        for kind, need, column in self._by_status():
            for native, filter_ in self._each_unfinished(kind, need):
                phases = dict.fromkeys(s.phase for s in self.spec.statuses if s.native == native) or [Phase.UNKNOWN]
                values: Values = {
                    **self._of(kind),
                    "phases": ", ".join(f"'{phase}'" for phase in phases),
                    "phase": self._phase(kind, native),
                    "filter": filter_,
                    "order": _of(column or kind.key_columns[0]),
                }
                parts.append(values)
        if parts:
            open_ = {s.phase for s in self.spec.statuses if s.native in unfinished}
            ended = {s.phase for s in self.spec.statuses} - open_
            values = {
                "header": self._header(need for _, need, _ in self._by_status()),
                "unfinished": ", ".join(f"'{p}'" for p in Phase if p in open_),
                "ended": ", ".join(f"'{p}'" for p in ENDED if p in ended),
            }
            self._add("counts.sql", ("kinds",), [repeated("counts", values, parts)])

    def _find(self) -> None:
        parts: list[Lines] = []
        for kind in self.tables:
            type_ = self._key_type(kind)
            values: Values = {**self._of(kind), "digits": type_.text, "type": type_.cast}
            parts.append(repeated(f"find_{type_.find}", {}, [values]))
            parts += [repeated("find_text", {}, [{**values, "key": f"{sql_name(key)}::text"}]) for key in kind.keys]
        self._add("find.sql", ("kinds",), [filled("find", {"parts": joined(parts)})])

    def _dead(self) -> None:
        """Derive the dead letters. Those without a time come last, in parts of their own."""
        timed: list[tuple[Kind, str, str]] = []
        for kind in self.tables:
            need = dead_need(self.needs, kind, self._relation(kind))
            if kind.dead and need is not None:
                filters = self._each_from(kind, kind.dead)
                timed += [(kind, need[0], self._with_partial(f, need[0])) for f in filters]
        every = [*((each, False) for each in timed if each[0].dead_since), *((each, True) for each in timed)]
        parts = [self._dead_part(*each, number, without) for number, (each, without) in enumerate(every, 1)]
        if parts:
            header = self._header(need for _, need, _ in timed)
            self._add("dead.sql", ("kinds",), [repeated("dead", {"header": header}, parts)])

    def _dead_part(self, kind: Kind, need: str, filter_: str, number: int, without: bool) -> Values:
        cursor, key = ":cursor::text::jsonb ->> 0", _of(kind.key)
        since, due = kind.dead_since, kind.columns.get("due_at", "")
        column, type_ = (_of(since), self._type(kind, since)) if since else ("NULL", "text")
        most = "'9223372036854775807'" if _first(type_) in _NUMBERS else "'infinity'"
        most = "'2147483647'" if _first(type_) == "int4" else most
        by_key = since and self.needs[need].columns[2:3] == (kind.key,)  # the index has their order without a time, too
        return {
            **self._of(kind),
            "part": str(number),
            "column": column,
            "type": self._type(kind, kind.key),
            "since": self._time(kind, due if _names(due, since) else since) if since else "NULL::float8",
            "error": f"({self._expression(kind, kind.columns.get('error', 'NULL'))})::text",
            "filter": filter_,
            "first": f"{column} " + ("IS NULL" if without else f"<= coalesce(({cursor})::{type_}, {most}::{type_})"),
            "later": f"({cursor}) IS NOT NULL" if without else f"{column} < ({cursor})::{type_}",
            "order": f"{key} DESC" if without and not by_key else f"{column} DESC, {key} DESC",
        }

    def _rows(self) -> None:
        """Derive the rows of the nodes."""
        self._add("rows.sql", ("kinds",), [repeated("locked_rows", {}, [*map(self._of, self.tables)])])

    def _finding_of_table(self, finding: FindingSpec) -> None:
        at: Setting = ("findings", finding.code)
        kind = self.kinds[self.spec.kind_of(finding)]
        need = status_need(self.needs, kind, self._relation(kind))
        since = self._expression(kind, finding.since)
        utc = self._relation(kind).get(finding.since) == "timestamp"
        evidence: Lines = [f"{literal(name)}, {text}," for name, text in finding.evidence.items()]
        at_ = f"({since}) AT TIME ZONE 'UTC'" if utc else f"({since})"
        age = f"'age', date_trunc('second', now() - {at_})::text"
        of_each = {
            **self._of(kind),
            "since": self._time(kind, finding.since),
            "evidence": " ".join(evidence) + " " * bool(evidence) + age,
            "where": finding.where,
            "order": _of(next(iter(need[1].columns[1:]), kind.key_columns[0]) if need else kind.key_columns[0])
            + " DESC" * finding.newest_first,
        }
        values: Values = {
            "about": f"{finding.title.capitalize()}.",
            "header": [f"-- needs: {need[0]}"] if need else [],
        }
        self._add(f"findings/{finding.code}.sql", at, [filled("finding", {**of_each, **values})])

    def _finding_among(self, finding: FindingSpec) -> None:
        """Derive a finding whose rows a part selects."""
        at: Setting = ("findings", finding.code)
        among = finding.among if "\n" in finding.among else f"\\ir parts/{finding.among}.sql"
        part = re.sub(r"(?m)^(,) (?=\\ir )", r"\1\n", among.strip()).split("\n")
        since = _in_line(finding.since)
        newest = since and finding.newest_first and f"{since} DESC NULLS LAST"
        order = _in_line(finding.order) or newest or since
        compared = [
            line for rule, least in finding.pattern.items() for line in filled(rule, {"least": _in_line(least)})
        ]
        values: Values = {
            "about": f"{finding.title.capitalize()}.",
            "header": [line for line in part if line.startswith("-- needs")],
            "part": [*(line for line in part if not line.startswith("-- needs")), *compared],
            "since": f"extract(epoch FROM {since})::float8" if since else "NULL::float8",
            "evidence": _evidence(finding.evidence),
            **_judged(finding),
            "where": _in_line(finding.where),
            "order": ", ".join(filter(None, (order, "t.id"))),
        }
        files = (line.removeprefix("\\ir ") for line in part)
        text = "\n".join((among, *(self.folder.sql(file).text for file in files if file in self.folder.files)))
        ends = [name for name in ("more", "unread", "unjudged") if re.search(rf"^{name} AS", text, re.MULTILINE)]
        self._add(f"findings/{finding.code}.sql", at, [filled(name, values) for name in ("finding_among", *ends)])

    def _action(self, action: Action) -> None:
        """Derive the sections of an action's file that it does not have."""
        file = f"actions/{action.script}.sql"
        at: Setting = ("actions", action.name)
        there = {section.name for section in sections(self.folder.files.get(file, ""))}
        declared = bool(action.set or action.delete)
        missing = [s for s in SECTIONS if s not in there and (declared or s == "lock")]
        kinds = [self.kinds[name] for name in action.kinds if name in self.kinds and self.kinds[name].table]
        if not missing or len(kinds) != 1 or len(action.kinds) != 1 or file in self.files or not (declared or there):
            return
        kind = kinds[0]
        values: Filled = {**self._of(kind), "strength": "NO KEY UPDATE" if action.set else "UPDATE"}
        values["those"] = str(values["wanted"]) if kind.keys else f"{_of(kind.key)} = ANY ({values['keys']})"
        values["by_key"] = ", ".join(map(_of, kind.key_columns))
        if kind.keys:  # rows are locked in the table itself
            values["id"] = f"'{kind.name}:' || {text_of_key(kind.keys)}"
        if declared:
            from_ = self._from(kind, action.from_) if action.from_ else "true"
            last = len(action.set) - 1
            values["set"] = [
                f"{sql_name(column)} = {text}" + "," * (m < last) for m, (column, text) in enumerate(action.set.items())
            ]
            filters = [from_]
            whys: Lines = []
            if action.from_:
                why = self._sentence(kind, f"it is {{status}}, not {' or '.join(action.from_)}")
                whys.append(f"WHEN ({from_}) IS NOT TRUE THEN {why}")
            for refusal in action.refuse:
                why = self._sentence(kind, refusal.why)
                whys.append(f"WHEN {refusal.when} THEN {why}")
                filters.append(f"({refusal.when}) IS NOT TRUE")
            values["filter"] = " AND ".join(filters)
            values["whys"] = whys or ["WHEN false THEN ''"]
        about = f"{action.title} a {kind.title}."
        files = {section: section for section in SECTIONS} | ({"change": "delete"} if action.delete else {})
        parts = [filled("action", {"about": about}), *(filled(files[s], values) for s in missing)]
        self._add(file, at, parts)

    def _claim(self, claim: Claim) -> None:
        """Derive what is asked of a claim: conditions, the next nodes, counts by queue.

        Where a condition has needs, there is a variant without it.
        """
        claim = self._with_statuses(claim)
        self._claim_files(claim, "")
        if any(each.needs for each in claim.conditions):
            unknown: Any = {"holds": UNKNOWN, "shows": "NULL", "holder": "NULL", "needs": ()}
            few = [msgspec.structs.replace(each, **unknown) if each.needs else each for each in claim.conditions]
            self._claim_files(msgspec.structs.replace(claim, conditions=tuple(few)), ".few")

    def _with_statuses(self, claim: Claim) -> Claim:
        """Return a claim with the rows that the statuses of its kind lead to."""
        kind = self.kinds[claim.kind]
        if not self._status(kind):
            return claim
        relation, needs = self._relation(kind), self.needs
        by_status = status_need(needs, kind, relation)
        failed_need = dead_need(needs, kind, relation) if kind.dead else by_status
        waiting = {s.native for s in self.spec.statuses if s.phase not in (*ENDED, Phase.FAILED)}
        failed = {s.native for s in self.spec.statuses if s.phase is Phase.FAILED}
        unfinished = self._of_statuses(kind, waiting, by_status, "")
        return msgspec.structs.replace(
            claim,
            unfinished=claim.unfinished or unfinished,
            failed=claim.failed or self._of_statuses(kind, failed, failed_need, " DESC"),
            needs={**({"failed": (failed_need[0],)} if failed_need else {}), **claim.needs},
        )

    def _of_statuses(self, kind: Kind, words: set[str], need: tuple[str, Need] | None, way: str) -> dict[str, str]:
        """Return the condition of each status, with the order of its index."""
        order = "".join(f"{_of(column)}{way}" for column in need[1].columns[1:2]) if need else ""
        there = list(dict.fromkeys(s.native for s in self.spec.statuses if s.native in words))
        filters = [*self._each_from(kind, there)]
        if len(filters) > STATUSES_APART:
            order, filters = "", [self._from(kind, there)]
        return {self._with_partial(f, need[0] if need else ""): order for f in filters}

    def _claim_files(self, claim: Claim, suffix: str) -> None:
        at: Setting = ("claim", claim.kind)
        kind = self.kinds[claim.kind]
        by_status = status_need(self.needs, kind, self._relation(kind))
        needs = claim.needs.get("unfinished", by_status[:1] if by_status else ())
        running_needs = claim.needs.get("running", ())
        own = tuple(need for each in claim.conditions for need in each.needs)
        holds = [f"({each.holds})" for each in claim.conditions]
        counted = ["true" if each.holds == UNKNOWN else f"({each.holds})" for each in claim.conditions]
        upto = [" AND ".join(f"f.c{i}" for i in range(1, m + 1)) for m in range(1, len(holds) + 1)]
        of_row = not any(f"{name}." in claim.queue for name in claim.beside)
        of_rows = (claim.queue, claim.queue_id, claim.order, claim.since, *holds)
        of_node = (claim.owner, claim.taken, claim.held, *(f"{each.shows} {each.holder}" for each in claim.conditions))
        served = f"(:queues IS NULL OR ({claim.queue})::text = ANY (:queues))"
        values: Filled = {
            **self._of(kind),
            "kind": kind.name,
            "header": self._header((*needs, *own)),
            "queue": claim.queue,
            "queue_id": claim.queue_id,
            **{name: self._time(kind, getattr(claim, name)) for name in ("since", "taken", "held")},
            "owner": claim.owner,
            "each": _with_commas(holds),
            "shows": _with_commas(f"({each.shows})::text" for each in claim.conditions),
            "holders": _with_commas(f"({each.holder})::text" for each in claim.conditions),
            "holds": [f"{'AND ' * bool(m)}{text}" for m, text in enumerate(counted)],
            "columns": [f"{text} AS c{m}," for m, text in enumerate(counted, 1)],
            **self._beside(claim, *of_rows),
            "passed": ", ".join(f"count(*) FILTER (WHERE {each})" for each in upto),
            "possible": upto[-1],
            "order": claim.order,
            "inner": served if of_row else "true",
            "outer": "true" if of_row else served,
        }
        parts = _rows_of_claim(values, claim.unfinished)
        if not suffix:
            self._finders(claim, values, (*needs, *own))
        asked = {**values, "header": self._header(own), **self._beside(claim, *of_rows, *of_node)}
        self._add(f"claim.{kind.name}{suffix}.sql", at, [filled("claim", asked)])
        if after := [*self._after(claim, asked)]:  # rows beside it are read once, unless an action decides which
            same = (str(text) for each in after if not each["own"] for text in (*each["holds"], *each["shows"]))
            self._add(
                f"after.{kind.name}{suffix}.sql", at, [repeated("after", asked | self._beside(claim, *same), after)]
            )
        if not kind.keys:  # the texts of all keys would be read
            self._add(f"next.{kind.name}{suffix}.sql", at, [repeated("next", values, parts)])
        values["header"] = self._header((*needs, *running_needs, *own))
        parts = _rows_of_claim(values, {**claim.unfinished, **claim.running})
        self._add(f"funnel.{kind.name}{suffix}.sql", at, [repeated("funnel", values, parts)])
        if not suffix:
            self._flow(claim, {**values, "header": self._header((*needs, *running_needs))}, "")
            if {*running_needs} - {*needs}:
                few = msgspec.structs.replace(claim, running={})
                self._flow(few, {**values, "header": self._header(needs)}, ".few")

    def _after(self, claim: Claim, values: Filled) -> Iterator[Values]:
        """Yield what is asked of a claim after each action with known values."""
        kind = self.kinds[claim.kind]
        types = {name: type_ for name, type_ in self._relation(kind).items() if type_ != "*"}
        for script in dict.fromkeys(a.script for a in self.spec.actions if a.writes and kind.name in a.kinds):
            file = f"actions/{script}.sql"
            texts = [self.folder.sql(file).text] if file in self.folder.files else []
            texts += [self.files[file].text] if file in self.files else []
            changes = (text[s.start : s.end] for text in texts for s in sections(text) if s.name == "change")
            sql = re.sub("(?m)--.*$", "", "\n".join(changes))
            tables = [each[2] for each in WRITTEN.finditer(sql)]
            own = [each for each in WRITTEN.finditer(sql) if each[2] == kind.table]
            now, over, asked = dict[str, str](), "true", [(UNKNOWN, "NULL")] * len(claim.conditions)
            if len(own) != 1 or (own[0][1] != "DELETE" and (not own[0][3] or _CALL.search(sql))):
                continue
            if own[0][1] == "UPDATE":
                change = set_values(sql, own[0], self.spec.thresholds)
                unknown = [name for name in change if not change[name] or name not in types]
                typed = {n: f"({v or 'NULL'})::{self._type(kind, n)}" for n, v in change.items() if n in types}
                now = dict.fromkeys(change, "NULL") | typed
                asked = [self._asked_after(claim, each, now, unknown, tables) for each in claim.conditions]
                over = self._over(kind, now)
            holds, shows = zip(*asked, strict=True)
            beside = self._beside(claim, *holds, *shows)["beside"]
            apart = [_with(now, each) for each in beside]
            yield {
                **values,
                "script": literal(script),
                "over": over,
                "holds": _with_commas(holds),
                "shows": _with_commas(f"({each})::text" for each in shows),
                "own": [] if apart == beside else ["FROM (SELECT) AS one", *apart],
            }

    def _over(self, kind: Kind, now: Mapping[str, str]) -> str:
        """Return whether a node has ended after its columns are set, as SQL."""
        if self._status(kind) and not self._written("nodes", kind.name):
            return f"{_with(now, self._column(kind, 'phase'))} IN ({', '.join(map(literal, OVER))})"
        ended = [f"(SELECT {literal(status.native)} FROM" for status in self.spec.statuses if status.phase in OVER]
        return str(any(each in text for each in ended for text in now.values())).lower()

    def _flow(self, claim: Claim, values: Filled, suffix: str) -> None:
        """Derive the rows of a claim that show how work comes and goes."""
        at: Setting = ("claim", claim.kind)
        kind = self.kinds[claim.kind]
        due, created = kind.columns.get("due_at", claim.since), claim.created
        if created == NO_TIME:
            created = kind.columns.get("created_at", NO_TIME)
        texts = {
            "queue": claim.queue,
            "sort": claim.sort or claim.queue,
            "owner": claim.owner,
            "first": claim.rank[0],
            "revised": claim.revised,
            "failed": " OR ".join(claim.failed) or "NULL::bool",
            **{name: self._time(kind, getattr(claim, name)) for name in ("taken", "held", "ended")},
            "due": self._time(kind, due),
            "created": self._time(kind, created),
        }
        of_each: Filled = {**values, **texts, **self._beside(claim, *texts.values())}
        rows = {each.replace("LIMIT 10001", "LIMIT 200"): order for each, order in claim.unfinished.items()}
        sorts = _rows_of_claim(of_each, {**rows, **claim.running})
        parts: list[Values] = [{**of, "part": f"'open {m}'"} for m, of in enumerate(sorts)]
        if claim.created != NO_TIME:
            newest: Filled = {**of_each, "part": "'new'"}
            parts += _rows_of_claim(newest, {"true": _latest(kind)})
        of_each["signs"] = filled("signs", {"signs": _in_line(claim.signs)}) if claim.signs else []
        self._add(f"flow.{kind.name}{suffix}.sql", at, [repeated("flow", of_each, parts)])

    def _finders(self, claim: Claim, values: Filled, needs: tuple[str, ...]) -> None:
        """Derive the findings that follow from a claim."""
        for finding in self.spec.findings:
            if not finding.finder or finding.kind != claim.kind or self._written(finding.statement):
                continue
            if finding.code == "failing":
                rows = {_selected(each, finding): order for each, order in claim.failed.items()}
                self._looked(claim, {**values, "header": []}, finding, rows, self._failed(claim))
            elif finding.code == "late":
                rows = {each: order for each, order in claim.unfinished.items() if each not in claim.running}
                asked = {**values, "header": self._header(claim.needs.get("late", needs))}
                self._looked(claim, asked, finding, rows, self._late(claim))
            else:
                asked = {**values, "header": self._header(claim.needs.get("running", needs))}
                self._looked(claim, asked, finding, claim.running or claim.unfinished, self._owner_dead(claim))

    def _late(self, claim: Claim) -> _Asked:
        kind = self.kinds[claim.kind]
        since = self._time(kind, claim.since)
        lasting = [f"({each.holds})" for each in claim.conditions if not each.why]
        causes = " ".join(
            f"WHEN ({each.holds}) IS FALSE THEN jsonb_build_object('resource', {each.holder}, 'why', {each.why})"
            for each in claim.conditions
            if each.why
        )
        unknown = "jsonb_build_object('resource', NULL, 'why', NULL)"
        late = ":late_of_kind" if self.spec.thresholds_by else ":late"
        return _Asked(
            at=since,
            found=f"{' AND '.join(lasting)} AND {since} < extract(epoch FROM now() - {late})",
            evidence={"since": _instant("its_since"), **_of_queue(claim)},
            cause=f"CASE {causes} ELSE {unknown} END" if causes else unknown,
        )

    def _owner_dead(self, claim: Claim) -> _Asked:
        kind = self.kinds[claim.kind]
        taken, held = (self._time(kind, sql) for sql in (claim.taken, claim.held))
        resources = [each.holder for each in claim.conditions if each.why]
        return _Asked(
            at=self._time(kind, claim.seen) if claim.seen else f"coalesce({held}, {taken})",
            found=claim.dead or f"{held} < extract(epoch FROM now())",
            evidence={
                "owner": f"coalesce(({claim.owner})::text, 'A worker')",
                "seen": _instant("its_since"),
                "taken": _instant(taken),
                **({"held": _instant(held)} if claim.held != NO_TIME else {}),
                **_of_queue(claim),
                **({"resource": f"coalesce({', '.join(resources)})"} if resources else {}),
            },
        )

    def _failed(self, claim: Claim) -> _Asked:
        kind = self.kinds[claim.kind]
        at = self._time(kind, claim.failed_at)
        error = self._expression(kind, kind.columns.get("error", "NULL"))
        error = f"coalesce(left(({error})::text, 300), 'no error is recorded')"
        return _Asked(at=at, found="true", evidence={"failed": _instant(at), "error": error, **_of_queue(claim)})

    def _looked(
        self, claim: Claim, values: Filled, finding: FindingSpec, rows: Mapping[str, str], asked: _Asked
    ) -> None:
        """Derive a finding of a claim among these rows, failed ones newest first."""
        kind = self.kinds[claim.kind]
        own, more = claim.rows.get(finding.code, ""), claim.more.get(finding.code, "false")
        newest = finding.newest_first and not own
        part = f"parts/{own}.sql"
        of_ids = part in self.folder.files and re.search(rf":(ids|{kind.name}_keys)\b", self.folder.sql(part).text)
        evidence = _evidence(asked.evidence | finding.evidence)
        found = _selected(asked.found, finding)
        judged = _judged(finding)
        shown = (evidence, asked.cause, *judged.values())
        every = self._beside(claim, own, more, asked.at, found, *shown)
        sql = " ".join((asked.at, found, *shown, *every["beside"], *(rows if newest else ())))
        table, some = f':"schema".{values["table"]}', " OR ".join(rows)
        most = 1000 if newest else 5001
        of_each: Filled = {
            **values,
            "about": f"{finding.title.capitalize()}: nodes of the kind {kind.name}.",
            "parts": every["parts"],
            "narrow": _named(kind, self._relation(kind), sql),
            "rows": own or table,
            "whose": "true" if of_ids else ":ids IS NULL",
            "most": "ALL" if own else str(most),
            "at": asked.at,
            "way": "DESC NULLS LAST" if finding.newest_first else "",
            "first": self._beside(claim, asked.at, found)["beside"],
            "found": found,
            "more": more if own else f"(SELECT count(*) FROM looked) >= {most} OR {more}",
            "evidence": f"{asked.cause} || jsonb_build_object({evidence})",
            **judged,
            "beside": self._beside(claim, *shown)["beside"],
        }
        parts: list[Values] = []
        if newest:
            met = f"{literal(next(iter(claim.needs.get('failed', ())), ''))} = ANY (:met_needs)"
            last = one_line("newest", narrow=str(of_each["narrow"]), table=table, met=met, latest=_latest(kind))
            of_each |= {"parts": [*every["parts"], last, ","], "whose": f":ids IS NULL AND {met}"}
            of_each["more"] = f"{of_each['more']} OR (SELECT count(*) FROM newest) = 5000"
            parts = _rows_of_claim({**of_each, "rows": "newest", "whose": "true", "most": "ALL"}, {some: ""})
        parts += _rows_of_claim(of_each, {"true": ""} if of_ids else dict.fromkeys(rows, "") if own else rows)
        if not of_ids:
            asked_for = {"rows": table, "whose": values["wanted"], "most": "ALL"}
            parts += _rows_of_claim({**of_each, **asked_for}, {some: ""})
        self._add(f"{finding.statement}.sql", ("claim", claim.kind), [repeated("finder", of_each, parts)])

    # Pieces

    def _beside(self, claim: Claim, *texts: str) -> dict[str, Lines]:
        """Return the rows beside a node that texts lead to, and the parts that both name."""
        lines: Lines = []
        wanted = " ".join(texts)
        for name, query in reversed(claim.beside.items()):
            if re.search(rf"\b{re.escape(name)}\.", wanted):
                lines.insert(0, f"LEFT JOIN LATERAL ({query} LIMIT 1) AS {name} ON true")
                wanted += query
        named = self._parts_in((*texts, *lines), [])
        return {"beside": lines, "parts": [text for name in named for text in (f"\\ir parts/{name}.sql", ",")]}

    def _parts_in(self, texts: Iterable[str], named: Lines) -> Lines:
        """Return the names of the parts that texts read.

        Each is a whole table expression, and comes after those that it reads and does not include.
        """
        for name in (name for text in texts for name in re.findall(r"(?:\b(?:FROM|JOIN)\s+|^)(\w+)\b", text)):
            part = self.folder.files.get(f"parts/{name}.sql", "")
            if name not in named and re.search(rf"(?m)^{name} AS\b", part):
                there = [*named, name, *re.findall(r"\\ir (\w+)\.sql", part)]
                named += [each for each in self._parts_in([part], [*there]) if each not in there]
                named.append(name)
        return named

    def _asked_after(
        self, claim: Claim, each: Condition, now: Mapping[str, str], unknown: Lines, tables: Lines
    ) -> tuple[str, str]:
        """Return whether a condition holds after an action, and its value, as SQL.

        Of one that depends on other rows which the action may change, only that it holds is known.
        """
        of = self._beside(claim, each.holds)
        beside = " ".join(of["beside"])
        if any(re.search(rf"\bt\.{name}\b", f"{each.holds} {beside}") for name in unknown):
            return UNKNOWN, "NULL"
        holds = _with(now, each.holds.replace("now()", "clock_timestamp()"))  # a time that is set is past by then
        changes = bool(of["parts"]) or any(re.search(rf"\b{name}\b", beside) for name in tables)
        return f"({holds})" + f" OR {UNKNOWN}" * changes, _with(now, each.shows)

    def _header(self, names: Iterable[str]) -> Lines:
        needs = " ".join(dict.fromkeys(names))
        return [f"-- needs: {needs}"] if needs else []

    def _by_status(self) -> Iterator[tuple[Kind, str, str]]:
        """Yield the kinds with a status.

        With each come the need of it, and the next column of the index or "".
        """
        for kind in self.tables:
            need = status_need(self.needs, kind, self._relation(kind))
            if need is not None:
                column = next(iter(need[1].columns[1:]), "")
                yield kind, need[0], "" if column == kind.key else column

    def _unfinished(self) -> list[str]:
        return list(dict.fromkeys(s.native for s in self.spec.statuses if s.phase not in ENDED))

    def _each_unfinished(self, kind: Kind, need: str) -> Iterator[tuple[str, str]]:
        """Yield the unfinished statuses with their conditions.

        If there are none, no row is unfinished.
        """
        statuses = [(native, f"{self._status(kind)} = {literal(native)}") for native in self._unfinished()]
        for native, filter_ in statuses or [("", "false")]:
            yield native, self._with_partial(filter_, need)

    def _with_partial(self, filter_: str, need: str) -> str:
        """Return a filter that implies the predicate of the need's partial index."""
        partial = self.needs[need].partial[:1] if need else ()
        return " AND ".join((filter_, *partial))

    def _phase(self, kind: Kind, native: str = "") -> str:
        """Return the phase of a node, or of nodes of one status."""
        cases: dict[str, list[str]] = {}
        for status in self.spec.statuses:
            cases.setdefault(status.native, []).append(
                f"WHEN {status.when} THEN '{status.phase}'" if status.when else f"'{status.phase}'"
            )
        texts = {name: _case(parts) for name, parts in cases.items()}
        if native:
            return texts[native]
        column = self._status(kind)
        whens = " ".join(f"WHEN {literal(name)} THEN {text}" for name, text in texts.items())
        return f"CASE ({column})::text {whens} ELSE 'unknown' END" if whens else "'unknown'"

    def _from(self, kind: Kind, words: Collection[str]) -> str:
        """Return the condition that a node has one of these statuses or phases."""
        some = list(self._each_from(kind, words))
        column = self._status(kind)
        statuses = self.spec.statuses_of(words).items()
        whole = [native for native, those in statuses if len(those) == self._phases(native)]
        if len(whole) == len(some) > 1:
            return f"{column} IN ({', '.join(map(literal, whole))})"
        return some[0] if len(some) == 1 else f"({' OR '.join(some)})" if some else "false"

    def _each_from(self, kind: Kind, words: Collection[str]) -> Iterator[str]:
        """Yield the condition of each status among these statuses and phases."""
        column = self._status(kind)
        for native, those in self.spec.statuses_of(words).items():
            phases = ", ".join(f"'{s.phase}'" for s in those)
            some = len(those) < self._phases(native)
            phase = f" AND {self._phase(kind, native)} IN ({phases})" if some else ""
            yield f"{column} = {literal(native)}{phase}"

    def _phases(self, native: str) -> int:
        return sum(s.native == native for s in self.spec.statuses)

    def _sentence(self, kind: Kind, text: str) -> str:
        """Return a reason as SQL.

        ``{status}`` is the node's status, and another name in braces a threshold.
        """
        parts = re.split(r"\{(\w+)\}", text)
        status = f"coalesce(({self._status(kind)})::text, 'NULL')"
        values = [status if name == "status" else f":{name}" for name in parts[1::2]]
        texts = [literal(part) for part in parts[::2]]
        every = [texts[0], *(each for pair in zip(values, texts[1:], strict=True) for each in pair)]
        return " || ".join(each for each in every if each != "''") or "''"

    def _status(self, kind: Kind) -> str:
        """Return the status of a node as SQL, or ""."""
        return self._expression(kind, kind.columns.get("status", ""))

    def _expression(self, kind: Kind, text: str) -> str:
        """Return a column of the table, or an expression, as SQL."""
        return _of(text) if text in self._relation(kind) else text

    def _relation(self, kind: Kind) -> Mapping[str, str]:
        columns = self.spec.recognise.relations[kind.table]
        return {**columns, kind.key: "text"} if kind.keys else columns

    def _type(self, kind: Kind, column: str) -> str:
        """Return the type of a column, for a cast."""
        type_ = _first(self._relation(kind)[column])
        return f':"schema".{sql_name(type_)}' if type_ in self.spec.recognise.types else type_

    def _key_type(self, kind: Kind) -> KeyType:
        return KEY_TYPES[_first(self._relation(kind)[kind.key])]

    def _of(self, kind: Kind) -> Filled:
        """Return what every template of a kind's nodes may contain."""
        type_ = self._key_type(kind)
        start, pattern = str(len(kind.name) + 2), f"^{kind.name}:{type_.text}$"
        wanted = one_line("wanted", key=sql_name(kind.key), start=start, type=type_.cast, pattern=pattern)
        return {
            "id": f"'{kind.name}:' || {_of(kind.key)}",
            "table": f':"{kind.table}"' if kind.table in self.spec.recognise.roles else sql_name(kind.table),
            "name": f":'{kind.table}'" if kind.table in self.spec.recognise.roles else literal(kind.table),
            "key": sql_name(kind.key),
            "wanted": self._wanted(kind, start) if kind.keys else wanted,
            "keys": f":{kind.name}_keys",  # of ids that exist
            "version": "xmin::text",
        }

    def _wanted(self, kind: Kind, start: str) -> str:
        """Return the condition that a row has one of the ids, for the index of its key."""
        columns, texts, patterns = [], [], []
        for place, column in enumerate(kind.keys, 1):
            type_ = KEY_TYPES.get(_first(self._relation(kind)[column]))
            columns.append(_of(column) if type_ else f"{_of(column)}::text")
            part = f"split_part(substr(i, {start}), '{KEY_SEPARATOR}', {place})"
            texts.append(f"CAST({_unescaped(part)} AS {type_.cast if type_ else 'text'})")
            patterns.append(type_.text if type_ and type_.text != ".*" else f"[^{KEY_SEPARATOR}]*")
        pattern = f"^{kind.name}:{rf'[{KEY_SEPARATOR}]'.join(patterns)}$"
        return one_line("wanted_keys", columns=", ".join(columns), texts=", ".join(texts), pattern=pattern)

    def _with_keys(self, line: str) -> str:
        """Return a line of a statement whose rows have their keys as text."""
        for kind in self.tables:
            if kind.keys:
                table = f':"schema".{sql_name(kind.table)} AS t'
                own = one_line(
                    "with_keys", text=text_of_key(kind.keys), key=sql_name(kind.key), table=sql_name(kind.table)
                )
                line = line.replace(f"FROM {table}", own)
        return line

    def _part(
        self,
        kind: Kind,
        number: int,
        filter_: str,
        columns: tuple[str, ...],
        direction: str = "ASC",
    ) -> Values:
        """Return one part of a statement that returns pages in this order."""
        after = (f"(:cursor::text::jsonb ->> {m})::{self._type(kind, c)}" for m, c in enumerate(columns, 1))
        return {
            **self._of(kind),
            "part": str(number),
            "position": ", ".join(map(_of, columns)),
            "filter": filter_,
            "beyond": ">" if direction == "ASC" else "<",
            "after": ", ".join(after),
            "order": ", ".join(f"{_of(c)} DESC" if direction == "DESC" else _of(c) for c in columns),
        }

    def _page(
        self,
        file: str,
        about: str,
        header: Lines,
        parts: Iterable[Values],
        at: Setting = ("kinds",),
        more: Iterable[str] = (),
    ) -> None:
        self._add(file, at, [repeated("page", {"about": about, "header": header, "more": [*more]}, parts)])

    def _add(self, file: str, at: Setting, parts: Iterable[Lines]) -> None:
        origin = (self.folder.shown(TOML), self.toml.line(at))
        lines: list[tuple[str, tuple[str, int]]] = []
        for text in (line for part in parts for line in part):
            name = text.removeprefix("\\ir ")
            if name == text:
                own = file.startswith("actions/")
                lines += [(line if own else self._with_keys(line), origin) for line in text.split("\n")]
            elif name in self.folder.files:
                included = self.folder.sql(name)
                lines += zip(included.text.split("\n"), included.origins, strict=True)
            else:
                raise EngineFileError(self.toml.wrong(at, f"names the file {name}, which is missing"))
        self.files[file] = SqlText(
            file=self.folder.shown(file),
            text="\n".join(text for text, _ in lines),
            origins=tuple(origin for _, origin in lines),
        )


def _latest(kind: Kind) -> str:
    """Return the order of a kind's keys, backwards."""
    return ", ".join(f"{_of(column)} DESC" for column in kind.key_columns)


def text_of_key(columns: Iterable[str]) -> str:
    """Return the key of several columns in an id, as SQL of the row ``t``."""
    return f" || '{KEY_SEPARATOR}' || ".join(_escaped(f"{_of(column)}::text") for column in columns)


def _escaped(text: str) -> str:
    """Return a part of a key of several columns, as SQL."""
    return f"replace(replace({text}, '%', '%25'), '{KEY_SEPARATOR}', '{_SEPARATOR_IN_KEY}')"


def _unescaped(text: str) -> str:
    return f"replace(replace({text}, '{_SEPARATOR_IN_KEY}', '{KEY_SEPARATOR}'), '%25', '%')"


def _of(column: str) -> str:
    """Return a column of a node's row as SQL."""
    return f"t.{sql_name(column)}"


def _names(sql: str, column: str) -> bool:
    return re.search(rf"\b{re.escape(column)}\b", sql) is not None


def _selected(rows: str, finding: FindingSpec) -> str:
    """Return the condition of the rows that a finding selects from these."""
    return rows if finding.where == "true" else f"({rows}) AND ({_in_line(finding.where)})"


def _judged(finding: FindingSpec) -> dict[str, str]:
    """Return whether an action is suggested for a row, and its severity."""
    return {"suggest": _in_line(finding.suggest), "grade": f"({_in_line(finding.grade) or finding.severity})::int8"}


def _instant(seconds: str) -> str:
    """Return seconds since 1970 as the text of a time, as SQL."""
    return f"to_timestamp({seconds})::timestamptz(0)::text"


def _evidence(fields: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(name)}, {text}" for name, text in fields.items())


def _of_queue(claim: Claim) -> dict[str, str]:
    return {claim.noun: f"({claim.queue})::text"} if claim.queue != "NULL" else {}


def _with(now: Mapping[str, str], sql: str) -> str:
    """Return SQL of a row with other values of its columns."""
    return re.sub(r"(?<![\w.])t\.(\w+)\b", lambda of: f"({now[of[1]]})" if of[1] in now else of[0], sql)


def _named(kind: Kind, relation: Iterable[str], sql: str) -> str:
    """Return the columns of a row that an expression may name, and its key."""
    known = (_of(name) for name in relation if re.search(rf"(?<![\w.])(?:t\.)?{re.escape(sql_name(name))}(?!\w)", sql))
    return ", ".join(dict.fromkeys((_of(kind.key), *known, *re.findall(r"\bt\.\w+", sql))))


def _rows_of_claim(values: Filled, rows: Mapping[str, str]) -> list[Values]:
    """Return a part of a statement for each sort of rows."""
    return [
        {**values, "unfinished": each, "sorted": [f"ORDER BY {order}"] if order else []} for each, order in rows.items()
    ]


def _with_commas(texts: Iterable[str]) -> list[str]:
    """Return texts with a comma after each but the last."""
    *first, last = texts
    return [*(f"{text}," for text in first), last]


def _in_line(sql: str) -> str:
    """Return an expression on one line."""
    return sql.strip().replace("\n", " ")


def _case(parts: list[str]) -> str:
    """Return a CASE of these conditions, the last of which has none."""
    if len(parts) == 1 and not parts[0].startswith("WHEN"):
        return parts[0]
    last = parts[-1]
    end = "ELSE 'unknown'" if last.startswith("WHEN") else f"ELSE {last}"
    return f"CASE {' '.join(p for p in parts if p.startswith('WHEN'))} {end} END"


def _first(type_: str) -> str:
    return type_.partition("|")[0]
