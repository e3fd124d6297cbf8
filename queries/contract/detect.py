"""Detect engines in a database: their schemas, privileges and indexes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract import roles
from queries.contract.engine import Engine, in_schema
from queries.contract.spec import Need, Recognise
from queries.contract.trust import Trust
from queries.db.query import Query, Rows, statement
from queries.files.statement import Statement, with_parts
from queries.records.record import Record
from queries.text.json_text import decoded
from queries.text.psql_text import quoted_name
from queries.text.safe_text import percent

# Automatic reads scan a table of at most this number of 8 kB blocks (8 MB), which takes some milliseconds.
SMALL_TABLE_BLOCKS = 1024
CATALOG_JSON = {"tuples": "float", "columns": "json", "indexes": "json"}

CHANGED_COLUMNS = 2  # with another type than the engine's, of tables that may still be the engine's

CHANGES = ("INSERT", "UPDATE", "DELETE")
NO_TABLE = {
    "v": "a view",
    "m": "a materialized view",
    "f": "a foreign table",
    "S": "a sequence",
}  # by pg_class.relkind


class Relation(Record):
    """One relation as the catalog describes it.

    ``tuples`` is the server's estimate, negative if it has none. ``blocks`` is as of the last VACUUM or ANALYZE.
    ``policies``: row-level security may hide rows from this role. ``locked``: another session locks the relation
    exclusively, so the predicates of its indexes were not read. ``usable``: the role has USAGE on the schema.
    ``lockable``: it may lock the whole table for changes, which privileges on columns do not allow.
    """

    schema: str
    relation: str
    kind: str
    locked: bool
    usable: bool
    lockable: bool
    policies: bool
    blocks: int
    tuples: float
    columns: dict[str, str]
    indexes: tuple[dict[str, Any], ...]
    checks: str
    privileges: tuple[str, ...]


class DetectedEngine(Record):
    """An engine in a schema.

    ``label`` includes the schema if several schemas hold the engine. ``indexed`` are the met needs that an index or an
    object meets, rather than a small table.
    """

    label: str
    schema: str
    engine: Engine
    relations: Mapping[str, Relation]
    met_needs: frozenset[str]
    indexed: frozenset[str]
    executable: Mapping[str, bool] = {}  # function that its actions call -> True if this role may execute it
    sequences: Mapping[str, bool] = {}  # sequence that its actions use -> True if this role may use it
    unsafe: Mapping[str, str] = {}  # table, "DELETE table" or function ("": any) -> why no action may change or call it
    lacking: Mapping[str, tuple[str, ...]] = {}  # "INSERT task" -> further privileges that the role lacks for it
    newer: str = ""  # what this release of unstick does not know, such as a status
    trust: Trust = Trust()  # as of the detection

    @property
    def full(self) -> str:
        """The label with its schema, also if the schema could be left off."""
        return f"{self.engine.name}@{_plain(self.schema)}"

    @property
    def action_schema(self) -> str:
        """The schema on the search_path of actions, or "".

        Only an engine whose own code uses unqualified names needs it.
        """
        return self.schema if self.engine.spec.unqualified == "functions" else ""

    def lacks(self, privileges: Iterable[str]) -> tuple[str, ...]:
        """Return those of the privileges that are missing, and what else the role lacks.

        Both are needed to use them. A privilege reads ``"UPDATE task"`` (on at least some columns), ``"EXECUTE send"``
        or ``"USAGE task_id_seq"``.
        """
        lacks: list[str] = []
        for privilege in privileges:
            word, _, name = privilege.partition(" ")
            if word == "EXECUTE":
                held = self.executable.get(name, False)
            elif word == "USAGE":
                held = self.sequences.get(name, False)
            else:
                held = name in self.relations and word in self.relations[name].privileges
            lacks += self.lacking.get(privilege, ()) if held else (privilege,)
        return tuple(dict.fromkeys(lacks))

    def locks(self, privileges: Iterable[str], more: Mapping[str, bool] = {}) -> list[Query]:
        """Return the queries that lock an action's tables, and ``more``, as a change does.

        No other session can then create triggers, rules or indexes on them until the transaction ends.
        """
        tables = sorted({**self.locked(privileges), **more}.items())
        whole = [_lock_of("lock_table", table) for table, lockable in tables if lockable]
        text = "; ".join(lock.text for lock in whole)
        locks = [Query(msgspec.structs.replace(whole[0], text=text), command=True)] if whole else []
        parsed = (_lock_of("lock_parsed", table) for table, lockable in tables if not lockable)
        return [*locks, *(Query(lock, parsed=True) for lock in parsed)]

    def locked(self, privileges: Iterable[str]) -> dict[str, bool]:
        """Return an action's tables and the engine's tables that they reach, quoted.

        True: the role may lock the whole table.
        """
        changed = _named(privileges, *CHANGES)
        quoted = {name: f"{quoted_name(t.schema)}.{quoted_name(name)}" for name, t in self.relations.items()}
        tables = [name for name, table in self.relations.items() if name in changed and table.kind in ("r", "p")]
        own = {quoted[name]: self.relations[name].lockable for name in tables}
        reached = self.trust.reached(self.schema, privileges)
        return {**{name: reached[name] for name in quoted.values() if name in reached}, **own}

    def why_unsafe(self, privileges: Iterable[str]) -> str:
        """Return why using these privileges could run code of an untrusted role, or ""."""
        names = ["", *(name for p in privileges for name in (p.partition(" ")[2], p))]
        return next((self.unsafe[name] for name in names if name in self.unsafe), "")

    @property
    def usable(self) -> bool:
        """Return True if the role has USAGE on the schema, which every read needs."""
        return all(r.usable for r in self.relations.values())

    @property
    def readable(self) -> bool:
        """Return True if the role may read all relations."""
        return self.usable and not self.denied

    @property
    def policies(self) -> tuple[str, ...]:
        """Relations whose row-level security may restrict this role."""
        return tuple(name for name, r in self.relations.items() if r.policies)

    @property
    def denied(self) -> tuple[str, ...]:
        """Relations that the role may not read."""
        return tuple(name for name, r in self.relations.items() if "SELECT" not in r.privileges)

    def missing(self) -> tuple[Need, ...]:
        """Return the needs that only an index can meet and that no index meets."""
        needs = self.engine.spec.needs
        return tuple({n.ddl: n for name, n in needs.items() if n.ddl and name not in self.indexed}.values())


class Declined(Record):
    """A schema that resembles an engine but cannot be used as one.

    ``changed``: its table and how a column differs, if the type of one or two is all that does.
    """

    engine: str
    schema: str
    why: str
    changed: tuple[str, str] | None = None


class Detection(Record):
    """Result of :func:`detect`."""

    engines: tuple[DetectedEngine, ...]
    declined: tuple[Declined, ...]
    locked: frozenset[str] = frozenset()  # relations that were read only in part, because another session locks them


def detection_queries(engines: Sequence[Engine], trusted: Sequence[str] = ()) -> list[Query]:
    """Return the queries for `detect`, also of engines whose tables have roles.

    ``trusted`` are roles that the operator trusts.
    """
    recognised = [s.spec.recognise for s in engines]
    names = {n for s in engines for n in _relations(s)}
    names |= {name.rpartition(".")[2] for s in engines for name in sequences(s)}
    names |= {n for s in engines for lookalike in s.spec.declines.values() for n in lookalike}
    types = {n for r in recognised for n in (*r.types, *(f.partition("(")[0] for f in r.functions))}
    args = {"like": roles.like(engines)}
    return [
        Query(statement("catalog"), {"query": sorted(names), "args": args}, json=CATALOG_JSON),
        Query(statement("types"), {"query": sorted(types | _functions(engines)), "args": args}, json={}),
        trust_query(engines, trusted),
    ]


def _lock_of(name: str, table: str) -> Statement:
    lock = statement(name)
    return msgspec.structs.replace(lock, text=with_parts(lock.text, {"table": table}))


def trust_query(engines: Sequence[Engine], trusted: Sequence[str], tables: Iterable[str] = ()) -> Query:
    """Return the query for `Trust` about the tables and functions of ``engines``.

    ``tables``: names of others.
    """
    values = {"functions": sorted(_functions(engines)), "like": roles.like(engines), "trusted": list(trusted)}
    # Actions also write audit entries.
    names = {"audit_log", "audit_images", *tables, *(n for s in engines for n in _relations(s))}
    return Query(statement("code"), {"query": sorted(names), "args": values}, json={})


def _functions(engines: Iterable[Engine]) -> set[str]:
    """Return the names, without schema, of functions that engines' statements call."""
    return {name.rpartition(".")[2] for engine in engines for name in _called(engine)}


def _relations(engine: Engine) -> set[str]:
    """Return the names, without schema, of relations that an engine's statements use."""
    needed = {n.relation.rpartition(".")[2] for n in engine.spec.needs.values() if n.relation}
    return {*engine.spec.recognise.relations, *needed}


def sequences(engine: Engine) -> set[str]:
    """Return the sequences that an engine's actions need.

    Those of another schema are qualified.
    """
    return _named(engine.spec.privileges, "USAGE")


def _named(privileges: Iterable[str], *words: str) -> set[str]:
    """Return what the privileges that begin with one of these words are on."""
    return {name for word, _, name in (each.partition(" ") for each in privileges) if word in words}


def _called(engine: Engine) -> set[str]:
    """Return the functions that an engine's statements call.

    Functions of another schema are qualified.
    """
    tried = engine.trial.privileges if engine.trial else ()
    return _named((*engine.spec.privileges, *tried), "EXECUTE") | {
        name for need in engine.spec.needs.values() for name in need.functions
    }


def detect(
    engines: Sequence[Engine],
    catalog: Rows,
    made: Rows,
    doubts: Rows = (),
    chosen: str = "",
    labels: Mapping[str, str] = {},
) -> Detection:
    """Find ``engines`` in every schema by structure.

    ``rows`` come from :func:`detection_queries`. If several schemas hold the same engine, ``chosen`` is the schema to
    use, and the others are declined. ``labels``: those in use, by label with schema; they stay.
    """
    trust = Trust(doubts)
    schemas: dict[str, dict[str, Relation]] = {}
    for row in catalog:
        described = {**row, "columns": decoded(row["columns"] or "{}"), "indexes": decoded(row["indexes"])}
        relation = msgspec.convert(described, Relation)
        schemas.setdefault(relation.schema, {})[relation.relation] = relation
    parts = {(row["schema"], row["name"], row["sort"]): tuple(row["parts"]) for row in made}
    usable: dict[tuple[str, str], bool] = {}  # True if all functions of the name are: types decide
    for row in made:
        if row["sort"] == "function":
            key = (row["schema"], row["name"].partition("(")[0])
            usable[key] = usable.get(key, True) and row["usable"]
    detected, declined = [], []
    for engine in engines:
        here: list[DetectedEngine] = []
        for schema, relations in schemas.items():
            if engine.only_in not in ("", schema):
                continue
            why = _why_not(engine, schema, relations, parts)
            why = trust.unreadable(schema, engine.spec.recognise.relations) or None if why is None else why
            if why is None:
                one = _found(engine, schema, schemas, usable, trust)
                here.append(msgspec.structs.replace(one, newer=_newer(engine, schema, relations, parts)))
            elif why and not engine.guess:
                changed = _changed(engine.spec.recognise, schema, relations, parts)
                declined.append(Declined(engine=engine.name, schema=schema, why=why, changed=changed))
        # A label without schema could move to another schema when one is created.
        used = len(here) > 1 or engine.name in labels.values()
        here = [
            msgspec.structs.replace(one, label=labels.get(one.full, one.full if used else one.label)) for one in here
        ]
        if chosen in {one.schema for one in here}:
            why = f"the schema {chosen} was chosen"
            declined += [Declined(engine=o.engine.name, schema=o.schema, why=why) for o in here if o.schema != chosen]
            here = [one for one in here if one.schema == chosen]
        detected += here
    schemas_ = {(one.engine.name, one.schema) for one in detected} | {(one.engine, one.schema) for one in declined}
    locked = {
        name
        for engine in engines
        for name in engine.spec.recognise.relations
        for schema, relations in schemas.items()
        if (engine.name, schema) in schemas_ and name in relations and relations[name].locked
    }
    return Detection(engines=tuple(detected), declined=tuple(declined), locked=frozenset(locked))


def _found(
    engine: Engine,
    schema: str,
    schemas: Mapping[str, Mapping[str, Relation]],
    usable: Mapping[tuple[str, str], bool],
    trust: Trust,
) -> DetectedEngine:
    relations = schemas[schema]
    present = {name: relations[name] for name in engine.spec.recognise.relations if name in relations}
    met_needs, indexed, whys = _met(engine, schema, schemas, usable, trust)
    needs = {
        name: msgspec.structs.replace(need, **whys[name]) if name in whys else need
        for name, need in engine.spec.needs.items()
    }
    bound = in_schema(engine, schema)
    lacking = {f"{word} {name}": trust.lacking(schema, name, word) for name in present for word in ("INSERT", "UPDATE")}
    return DetectedEngine(
        label=engine.name,
        schema=schema,
        engine=msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, needs=needs)),
        relations=present,
        met_needs=met_needs,
        indexed=indexed,
        executable={name: usable.get(_qualified(name, schema), False) for name in _called(engine)},
        sequences={name: _may_use(schemas, *_qualified(name, schema)) for name in sequences(engine)},
        unsafe=unsafe(engine, schema, relations, trust),
        lacking=lacking,
        trust=trust,
    )


def _may_use(schemas: Mapping[str, Mapping[str, Relation]], schema: str, name: str) -> bool:
    relation = schemas.get(schema, {}).get(name)
    return relation is not None and "USAGE" in relation.privileges


def unsafe(engine: Engine, schema: str, relations: Mapping[str, Relation], trust: Trust) -> dict[str, str]:
    """Return why actions must not change a table or call a function, by name.

    The key "" forbids every action.
    """
    whys = {name: trust.unwritten(schema, name) for name in engine.spec.recognise.relations}
    whys |= {f"{word} {name}": trust.unwritten(schema, name, word) for name in [*whys] for word in CHANGES}
    for name in _called(engine):
        where, function = _qualified(name, schema)
        whys[name] = trust.uncalled(where, [function])
    if engine.spec.unqualified == "functions":  # the schema is on the search_path of every action
        whys[""] = trust.uncalled(schema)
    whys[""] = _more_than_known(engine, relations) or whys.get("", "")
    return {name: why for name, why in whys.items() if why}


def _more_than_known(engine: Engine, relations: Mapping[str, Relation]) -> str:
    """Return the statuses or columns of work that the engine does not know, or "".

    Its actions would leave them as they are, so the table's own workers may not find the row again.
    """
    spec = engine.spec
    for name, statuses in _more_statuses(engine, relations).items():
        return f"{name} may have the status {', '.join(statuses)}, which this engine does not have: it is only read"
    changed = _named((p for worker in spec.workers for p in worker.privileges), *CHANGES)
    for name in sorted(changed & relations.keys()):
        columns = {each.partition(" ")[0] for each in spec.own.columns.get(name, ())}
        there = relations[name].columns if columns else {}
        if more := sorted(column for column in there if column not in columns and _HELD.search(column)):
            why = "which this engine does not have: its actions would not set it, so it is only read"
            return f"{name} has {', '.join(more)}, {why}"
    return ""


def _more_statuses(engine: Engine, relations: Mapping[str, Relation]) -> dict[str, list[str]]:
    """Return by table the statuses that only its CHECK constraints name."""
    spec, statuses = engine.spec, dict[str, list[str]]()
    for name, words in spec.recognise.literals.items():
        checks = relations[name].checks.split("CHECK ") if name in relations and not relations[name].locked else []
        named = {f"'{word}'" for word in words}
        own = [each for each in spec.own.objects if each.startswith(f"check on {name}: ")]
        literals = {word for each in own for word in re.findall(_LITERAL, each)}
        for allowed in (set(re.findall(_LITERAL, check)) for check in checks if own):
            if named <= allowed and (more := sorted(allowed - literals)):
                statuses[name] = more
    return statuses


def _qualified(name: str, schema: str) -> tuple[str, str]:
    """Split ``[schema.]name`` into schema and name. ``schema`` is the default."""
    where, _, local = name.rpartition(".")
    return where or schema, local


def _plain(schema: str) -> str:
    """Return a schema's name for an id, with slashes and hidden characters encoded."""
    return percent(schema, also="/")


def expected(engines: Iterable[Engine]) -> tuple[str, ...]:
    """Return one line per engine: the relations that identify it."""
    return tuple(f"{s.name}: a schema with {', '.join(s.spec.recognise.relations)}" for s in engines)


# Names of columns for an owner, a lease, a sign of life or tries
_HELD = re.compile(
    r"(?:^|_)(?:lock(?:ed)?|leased?|claim(?:ed)?|reserved|taken|owner|worker|executor|heart_?beat|attempts?|tries|retry|retries)(?:_|$)"
)

# Types of columns -> those that hold the same values and more
_WIDER = {"int2": ("int4", "int8"), "int4": ("int8",), "varchar": ("text",), "float4": ("float8",)}

Parts = Mapping[tuple[str, str, str], tuple[str, ...]]


def _why_not(engine: Engine, schema: str, relations: Mapping[str, Relation], parts: Parts) -> str | None:
    """Return None on a match, else the reason for the mismatch.

    The reason is "" if the schema is unrelated.
    """
    recognise = engine.spec.recognise
    for why, names in engine.spec.declines.items():
        if relations.keys() >= set(names):
            return why
    missing = [n for n in recognise.relations if n not in relations and n not in recognise.optional]
    if missing and not _resembles(recognise, relations):
        return ""
    if missing:
        present = ", ".join(n for n in recognise.relations if n in relations)
        return f"it has {present}, but no {' and no '.join(missing)}"
    wrong = _wrong_columns(recognise, relations)
    if wrong == "":
        return ""
    return _not_a_table(recognise, relations) or wrong or _wrong_types(recognise, schema, parts)


def _not_a_table(recognise: Recognise, relations: Mapping[str, Relation]) -> str | None:
    """Return the reason if a relation is not a table."""
    for name in recognise.relations:
        word = NO_TABLE.get(relations[name].kind) if name in relations else None
        if word is not None:
            return f"{name} is {word}, not a table: its rows cannot be locked and have no version"
    return None


def _resembles(recognise: Recognise, relations: Mapping[str, Relation]) -> bool:
    """Return True if any relation has more than half of the expected columns."""
    for name, columns in recognise.relations.items():
        there = relations[name].columns if name in relations and name not in recognise.optional else {}
        if len(columns) > 1 and sum(c in there for c in columns) * 2 > len(columns):
            return True
    return False


def _wrong_columns(recognise: Recognise, relations: Mapping[str, Relation]) -> str | None:
    """Return the reason if a column is missing or of another type.

    A type of another schema is another type, unless it is written with that schema: the table is a copy.
    """
    for name, columns in recognise.relations.items():
        if name not in relations:
            continue
        there = relations[name]
        number = sum(c in there.columns for c in columns)
        for column, kind in columns.items():
            if f"{name}.{column}" in recognise.optional and column not in there.columns:
                continue
            is_ = there.columns.get(column)
            if kind != "*" and is_ not in _as_wide(kind.split("|")):
                if number * 2 <= len(columns) and not _resembles(recognise, relations):
                    return ""
                return f"{name}.{column} is {f'of type {is_}, not {kind}' if is_ else 'missing'}"
        for column in recognise.absent.get(name, ()):
            if column in there.columns:
                return f"{name} has a column {column}, which this engine does not have"
        for word in recognise.literals.get(name, ()):
            if f"'{word}'" not in there.checks:
                return f"no CHECK of {name} names {word!r}"
        unique = recognise.unique.get(name)
        if unique and not any(i["unique"] and not i["partial"] and i["columns"] == list(unique) for i in there.indexes):
            return f"{name} has no unique index on ({', '.join(unique)})"
    return None


def _changed(
    recognise: Recognise, schema: str, relations: Mapping[str, Relation], parts: Parts
) -> tuple[str, str] | None:
    """Return the first table with columns of another type, and these columns.

    None unless they are few and all else is the engine's.
    """
    wrong: dict[str, list[str]] = {}
    for name, columns in recognise.relations.items():
        there = relations[name].columns if name in relations else {}
        missing = {name} if name not in relations else {f"{name}.{column}" for column in columns.keys() - there.keys()}
        if missing - {*recognise.optional}:
            return None
        for column, kind in columns.items():
            if kind != "*" and there.get(column, "").rpartition(".")[2] not in ("", *_as_wide(kind.split("|"))):
                what = f"{column} has the type {there[column]}, the engine's has {kind.replace('|', ' or ')}"
                wrong.setdefault(name, []).append(what)
    if sum(map(len, wrong.values())) not in range(1, CHANGED_COLUMNS + 1) or _wrong_types(recognise, schema, parts):
        return None
    return next((name, "; ".join(what)) for name, what in wrong.items())


def _as_wide(kinds: Iterable[str]) -> set[str]:
    """Return these types, and those that a newer release may have widened them to."""
    return {wider for kind in kinds for wider in (kind, *_WIDER.get(kind, ()))}


def _newer(engine: Engine, schema: str, relations: Mapping[str, Relation], parts: Parts) -> str:
    """Return the statuses that only an enum type or a CHECK has, or ""."""
    more = {
        name: [each for each in parts.get((schema, name, "enum"), ()) if each not in labels]
        for name, labels in engine.spec.recognise.types.items()
    }
    more |= _more_statuses(engine, relations)
    named = "; ".join(f"{name} may be {', '.join(labels)}" for name, labels in more.items() if labels)
    return f"{named}: newer than this release of unstick" if named else ""


def _wrong_types(recognise: Recognise, schema: str, parts: Parts) -> str | None:
    for name, labels in recognise.types.items():
        enum, composite = (parts.get((schema, name, sort)) for sort in ("enum", "composite"))
        is_ = enum or composite
        needed = {label for label in labels if f"{name}.{label}" not in recognise.optional}
        if is_ is None or not needed <= {*is_} or (enum is None and len(is_) != len(labels)):
            says = f"has {', '.join(is_)}, not {', '.join(labels)}" if is_ else "is missing"
            sort = "enum " if enum else "composite " if composite else ""
            return f"the {sort}type {name} {says}"
    functions = {name for _, name, sort in parts if sort == "function"}
    for function in recognise.functions:
        if function not in functions:
            return f"the function {function} is missing"
    return None


_LITERAL = r"'(?:[^']|'')*'"
_CAST = r'::(?:"(?:[^"]|"")*"|\w+)\.'
_ONE_VALUE = re.compile(rf"\(?(\w+)\)?(?:::text)? = {_LITERAL}")


def bare(predicate: str, schema: str) -> str:
    """Return an index's predicate without schemas.

    The server spells the schema of a type, as in ``'failed'::public.status``, only if it is not on the search_path.
    """
    own = rf'(?<![\w".])(?:{re.escape(quoted_name(schema))}|{re.escape(schema)})\.'
    return re.sub(rf"({_LITERAL})|(?P<cast>{_CAST})|{own}", lambda m: m[1] or ("::" if m["cast"] else ""), predicate)


def plain(predicate: str, schema: str) -> str:
    """Return an index's predicate without schemas, types of literals and brackets."""
    text = re.sub(rf'({_LITERAL})::(?:"(?:[^"]|"")*"|\w+)', r"\1", bare(predicate, schema))
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _met(
    engine: Engine,
    schema: str,
    schemas: Mapping[str, Mapping[str, Relation]],
    usable: Mapping[tuple[str, str], bool],
    trust: Trust,
) -> tuple[frozenset[str], frozenset[str], dict[str, dict[str, str]]]:
    """Return met needs, firmly met needs, and local reasons for unmet needs.

    A need is met firmly if it would be met on a large table, too. A local reason holds fields of Need: a reason and a
    remedy for this schema instead of the general ones.
    """
    met_needs, indexed = set(), set()
    whys: dict[str, dict[str, str]] = {}
    for name, need in engine.spec.needs.items():
        table = schemas.get(schema, {}).get(need.table)
        where, relation = _qualified(need.relation, schema)
        if need.functions or need.relation:
            doubt = trust.uncalled(where, need.functions) or (need.relation and trust.unreadable(where, [relation]))
            if doubt:
                whys[name] = {"why": doubt, "ddl": trust.remedy(where)}
                continue
        firm = bool(
            (need.functions and all(usable.get((schema, name)) for name in need.functions))
            or (need.relation and relation in schemas.get(where, {}))
            or (table and need.column in table.columns)
            or (table and need.columns and any(_serves(index, need, schema) for index in table.indexes))
        )
        if firm:
            indexed.add(name)
        if firm or (table and need.whole and not need.column and table.blocks <= SMALL_TABLE_BLOCKS):
            met_needs.add(name)
    return frozenset(met_needs), frozenset(indexed), whys


def _serves(index: Mapping[str, Any], need: Need, schema: str) -> bool:
    """Return True if an index leads with the columns of a need and covers its rows.

    One of all rows does, too, if it begins with the column of which they have one value. The server would have to read
    any other index completely.
    """
    partial, predicates = index["partial"], {plain(each, schema) for each in need.partial}
    starts = [need.columns] * bool(need.full if partial is None else plain(partial, schema) in predicates)
    if partial is None:
        starts += [(one[1], *need.columns) for one in map(_ONE_VALUE.fullmatch, predicates) if one]
    return any(index["columns"][: len(start)] == list(start) for start in starts)
