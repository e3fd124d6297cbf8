"""Values that follow from the rest of ``engine.toml`` and are not written there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import msgspec

from queries.contract.effects import effects_of
from queries.contract.indexes import index_of
from queries.contract.references import keys_of
from queries.contract.rows import NodeRow, required
from queries.contract.spec import GONE, Action, Argument, EngineSpec, Kind, Need, RedriveSpec, Revival, Status
from queries.contract.sql_templates import one_line
from queries.files.statement import Statement
from queries.records.action import Undo
from queries.records.node import Phase
from queries.text.psql_text import sql_name

OF_EXPRESSION = "_is_small"  # end of the name of a need: a status that is no column has no index
ENDED = (Phase.DONE, Phase.CANCELLED)
_COLUMNS = tuple(
    name for name in NodeRow.__struct_fields__ if name not in required(NodeRow) and name not in ("phase", "place")
)


def completed(spec: EngineSpec) -> EngineSpec:
    """Return the spec with what follows from it."""
    parents = {kind.below or kind.name for kind in spec.kinds if kind.parent}
    spec = msgspec.structs.replace(
        spec,
        kinds=tuple(_kind(spec, kind, parents) for kind in spec.kinds),
        needs={name: _of_ddl(need) for name, need in spec.needs.items()},
    )
    needs = {**spec.needs, **_derived_needs(spec), **spec.needs}  # a written one is not replaced
    return msgspec.structs.replace(
        spec,
        needs={name: _need(spec, need) for name, need in needs.items()},
        findings=tuple(
            msgspec.structs.replace(f, kind=f.kind or (spec.kinds[0].name if len(spec.kinds) == 1 else ""))
            for f in spec.findings
        ),
        actions=tuple(_action(spec, action) for action in spec.actions),
        redrive=_redrive(spec),
    )


def of_sections(spec: EngineSpec, sections: Mapping[str, Mapping[str, tuple[Statement, ...]]]) -> EngineSpec:
    """Return the spec with what follows from the sections of its actions, by file."""
    files = ((action, sections.get(f"actions/{action.script}.sql", {})) for action in spec.actions)
    actions = (_of_sections(spec, action, each) if action.writes else action for action, each in files)
    return msgspec.structs.replace(spec, actions=tuple(actions))


def of_statements(spec: EngineSpec, written: Collection[str], statements: Mapping[str, Statement]) -> EngineSpec:
    """Return the spec with what follows from its statements, by file.

    The columns that ``nodes`` does not have are not recorded. A need is dropped if it is not ``written`` and not used.
    """
    nodes = [statement for file, statement in statements.items() if file.startswith("nodes")]
    used = {*written, *(need for statement in statements.values() for need in statement.needs)}
    return msgspec.structs.replace(
        spec,
        kinds=tuple(_recorded(kind, nodes) for kind in spec.kinds),
        needs={name: need for name, need in spec.needs.items() if name in used},
    )


def kind_of_file(file: str, kinds: Collection[str]) -> str:
    """Return the KIND of ``nodes.KIND.sql`` and ``children.KIND.sql``, or ""."""
    name, _, rest = file.partition(".")
    variant = re.split("[.@]", rest)[0]
    return variant if name in ("nodes", "children") and variant in kinds else ""


def with_kinds(file: str, statement: Statement, kinds: Collection[str]) -> Statement:
    """Return the statement with the kinds that it is about, if its header names none.

    A file may be named after a kind. A finding or a sample is about the kinds whose ids it makes.
    """
    if statement.kinds:
        return statement
    if file.startswith(("findings/", "samples/")):
        about = [kind for kind in kinds if f"'{kind}:" in statement.text]
    else:
        about = kind_of_file(file, kinds).split()
    return msgspec.structs.replace(statement, kinds=tuple(about))


def with_needs(statement: Statement, needs: Mapping[str, Need]) -> Statement:
    """Return the statement with the needs of what its text names.

    These are functions of the engine, and tables in another schema.
    """
    named = {
        name
        for name, need in needs.items()
        if any(f':"schema".{function}(' in statement.text for function in need.functions)
        or ("." in need.relation and re.search(rf"\b{need.relation.partition('.')[0]}\.\w", statement.text))
    }
    return msgspec.structs.replace(statement, needs=statement.needs | named) if named else statement


def statuses_of(spec: EngineSpec, words: Iterable[str]) -> dict[str, tuple[Status, ...]]:
    """Return the statuses that are, or have a phase that is, one of these words."""
    found: dict[str, tuple[Status, ...]] = {}
    natives = {status.native for status in spec.statuses}
    for word in words:
        for status in spec.statuses:
            if word == (status.native if word in natives else status.phase):
                found[status.native] = (*found.get(status.native, ()), status)
    return found


def need_of(spec: EngineSpec, table: str, column: str) -> tuple[str, Need] | None:
    """Return the need of an index that begins with this column."""
    for name, need in spec.needs.items():
        if need.table == table and need.columns[:1] == (column,):
            return name, need
    return None


def status_need(spec: EngineSpec, kind: Kind) -> tuple[str, Need] | None:
    """Return the need by which the nodes of a kind are found by status."""
    status, small = kind.columns.get("status", ""), f"{kind.name}{OF_EXPRESSION}"
    if status and status not in spec.recognise.relations.get(kind.table, {}):
        return (small, spec.needs[small]) if small in spec.needs else None
    return need_of(spec, kind.table, status)


def dead_need(spec: EngineSpec, kind: Kind) -> tuple[str, Need] | None:
    """Return the need by which the dead letters of a kind are found in their order."""
    need, since = status_need(spec, kind), kind.dead.since if kind.dead else ""
    if need is None or not need[1].columns or not since or need[1].columns[1:2] == (since,):
        return need
    start = (need[1].columns[0], since)
    return next(
        ((n, each) for n, each in spec.needs.items() if (each.table, each.columns[:2]) == (kind.table, start)), need
    )


def _kind(spec: EngineSpec, kind: Kind, parents: Collection[str]) -> Kind:
    """Return the kind with columns of its table that have the name of a node's column."""
    there = spec.recognise.relations.get(kind.table, {})
    columns = {
        **{name: name for name in ("title", *_COLUMNS) if name in there and not name.endswith("_id")},
        **kind.columns,
    }
    return msgspec.structs.replace(kind, children=kind.children or kind.name in parents, columns=columns)


def _of_ddl(need: Need) -> Need:
    """Return the need with what its index has."""
    index = index_of(need.ddl)
    if index is None:
        return need
    return msgspec.structs.replace(
        need,
        table=index.table,
        columns=need.columns or index.columns,
        partial=need.partial or ((f"({index.where})",) if index.where else ()),
    )


def _need(spec: EngineSpec, need: Need) -> Need:
    """Return the need with its reason and index.

    An index of all rows has few rows to skip if it has the columns of the predicate. The server chooses the name of an
    index of a role's table.
    """
    if need.full is None:
        words = {word for predicate in need.partial for word in _words(predicate)}
        need = msgspec.structs.replace(need, full=not need.partial or not words.isdisjoint(need.columns))
    if not need.table or not need.columns:
        scan = f"this requires a full scan of the table {need.table}" if need.table and not need.column else ""
        return msgspec.structs.replace(need, why=need.why or scan)
    columns = ", ".join(map(sql_name, need.columns))
    name = sql_name("__".join((need.table, *need.columns, "idx")))
    why = f"this requires a full table scan: no index starts with {need.table}.{columns}"
    role = need.table in spec.recognise.roles
    table = f':"{need.table}"' if role else sql_name(need.table)
    ddl = one_line("index", on="ON" if role else f"{name} ON", table=table, columns=columns)
    ddl = " WHERE ".join((ddl, *need.partial[:1]))
    return msgspec.structs.replace(need, why=need.why or why, ddl=need.ddl or ddl)


def _derived_needs(spec: EngineSpec) -> dict[str, Need]:
    """Return the indexes that derived statements need and that no need has."""
    needs: dict[str, Need] = {}
    for kind in spec.kinds:
        relation = spec.recognise.relations.get(kind.table, {})
        status, due = kind.columns.get("status", ""), kind.columns.get("due_at", "")
        if kind.parent and need_of(spec, kind.table, kind.parent) is None:
            needs[f"{kind.name}_by_parent"] = Need(table=kind.table, columns=(kind.parent,))
        if status in relation and need_of(spec, kind.table, status) is None:
            columns = (status, due if due in relation else kind.key)
            needs[f"{kind.name}_by_status"] = Need(table=kind.table, columns=columns)
        elif kind.table and status and status not in relation:
            why = f"this requires a full table scan: the status of {kind.table} is no column"
            needs[f"{kind.name}{OF_EXPRESSION}"] = Need(table=kind.table, why=why)
        if kind.dead and status in relation and kind.dead.since in relation:
            there = [each.columns[:2] for each in {**spec.needs, **needs}.values() if each.table == kind.table]
            if (status, kind.dead.since) not in there:
                needs[f"{kind.name}_dead"] = Need(table=kind.table, columns=(status, kind.dead.since, kind.key))
    return needs


def _redrive(spec: EngineSpec) -> RedriveSpec:
    """Return the actions that revive dead letters: ``retry`` by default."""
    if spec.redrive.revivals or spec.redrive.why:
        return spec.redrive
    kinds = dict.fromkeys(kind for a in spec.actions if a.name == "retry" and a.writes for kind in a.kinds)
    revivals = tuple(Revival(kind=kind, action="retry") for kind in kinds)
    return msgspec.structs.replace(spec.redrive, revivals=revivals)


def _action(spec: EngineSpec, action: Action) -> Action:
    """Return the action with what its columns and statuses imply."""
    phases = {status.phase for some in statuses_of(spec, action.from_).values() for status in some}
    return msgspec.structs.replace(
        action,
        phases=action.phases or tuple(phase for phase in Phase if phase in phases),
        effect=action.effect or ("Deletes the row." if action.delete else _effect(action.set)),
    )


def _of_sections(spec: EngineSpec, action: Action, sections: Mapping[str, tuple[Statement, ...]]) -> Action:
    """Return the action with what its statements change, and what that requires."""
    effects = effects_of(part for parts in sections.values() for part in parts)
    more = [each for done in effects.done for each in spec.effects.get(done, ())]
    rows = [f"{t}.*" for t in (*effects.inserts, *effects.deletes) if t not in spec.undo.append_only]
    columns = (*action.overwrites, *rows, *effects.columns, *(each for each in more if " " not in each))
    whole = {column.removesuffix(".*") for column in columns if column.endswith(".*")}
    overwrites = dict.fromkeys(c for c in columns if c.endswith(".*") or c.partition(".")[0] not in whole)
    granted = {function for need in spec.needs.values() for function in need.functions}
    granted |= set(effects.optional) - set(effects.calls)
    privileges = [
        *(" ".join(("UPDATE", c.partition(".")[0])) for c in overwrites if not c.endswith(".*")),
        *(" ".join(("UPDATE", table)) for table in effects.locks),
        *(p for p in effects.done if p.partition(" ")[2] not in granted),
        *(each for each in more if " " in each),
        *action.privileges,
    ]
    called = {name for name, need in spec.needs.items() if not set(effects.calls).isdisjoint(need.functions)}
    called |= set(action.when.values()) & set(spec.needs)
    overwritten = () if action.undo is Undo.NONE else tuple(overwrites)
    note = next((note for column, note in spec.undo.notes.items() if column in overwritten), "")
    named = {name for parts in sections.values() for part in parts for name, _ in keys_of(part, "args")}
    named -= {argument.name for argument in action.arguments}
    return msgspec.structs.replace(
        action,
        overwrites=overwritten,
        waits=action.waits or any("for_now" in _words(part.text) for part in sections.get("refused", ())),
        privileges=tuple(dict.fromkeys(privileges)),
        needs=(*action.needs, *sorted(called - set(action.needs))),
        undo=action.undo or (_undo(spec, overwritten) if overwritten else Undo.NONE if action.undo_note else None),
        undo_note=action.undo_note or note,
        arguments=(
            *action.arguments,
            *(each for name, each in spec.arguments.items() if name in named),
            *(_gone(action) if "witnesses" in sections else ()),
        ),
    )


def _gone(action: Action) -> Iterable[Argument]:
    """Yield the argument by which the operator takes work from an owner that may live.

    An action that fences the owner needs none.
    """
    if not action.fences and all(argument.name != GONE for argument in action.arguments):
        yield Argument(name=GONE, title="I have checked that its owner is no longer running", type="flag")


def _undo(spec: EngineSpec, overwrites: Iterable[str]) -> Undo:
    """Return how the columns that an action overwrites are restored."""
    tables = {name.partition(".")[0] for name in overwrites}
    return Undo.TRANSITION if tables & set(spec.undo.append_only) else Undo.ROWS


def _effect(columns: Mapping[str, str]) -> str:
    set_ = ", ".join(f"{column} = {value}" for column, value in columns.items())
    return f"Sets {set_}." if set_ else ""


def _recorded(kind: Kind, nodes: Iterable[Statement]) -> Kind:
    words = {word for each in nodes if each.is_for(kind.name) for word in _words(each.text)}
    missing = tuple(column for column in _COLUMNS if words and column not in words)
    return msgspec.structs.replace(kind, not_recorded=tuple(dict.fromkeys((*kind.not_recorded, *missing))))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", re.sub(r"'(?:[^']|'')*'", "", text))
