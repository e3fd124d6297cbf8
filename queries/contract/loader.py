"""Load and check an engine's folder: ``engine.toml`` and plain ``.sql`` files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from queries.contract.actions import trial_of, with_effects, with_scripts
from queries.contract.derive import derived
from queries.contract.document import in_full
from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.facts import own_objects
from queries.contract.folder import CATALOG, TOML, TRY, Folder, ParsedFiles, read, with_kinds
from queries.contract.needs import completed, derived_needs, with_needs
from queries.contract.rules import SHARED, file_faults, setting_faults
from queries.contract.spec import RECORDED, Action, EngineSpec, Kind, Need
from queries.contract.sql_names import names_in_sql
from queries.files.statement import EngineFileError, SqlText, Statement, parse_sections, parse_statement
from queries.files.toml_file import TomlError, TomlFile
from queries.records.fault import Fault
from queries.records.node import Phase
from queries.text import duration
from queries.text.psql_text import sql_words


def load(path: Path) -> Engine:
    """Load and check one engine's folder. Raises BrokenEngineError."""
    return parsed(read(path))


def derived_files(folder: Folder) -> dict[str, str]:
    """Return the statements that follow from ``engine.toml``, by file.

    Raises BrokenEngineError.
    """
    return {file: sql.text for file, sql in _parse(folder)[2].items()}


def parsed(folder: Folder) -> Engine:
    """Return the engine of a folder that was read. Raises BrokenEngineError."""
    spec, files, _ = _parse(folder)
    settings: dict[str, Any] = {key: _threshold(value) for key, value in spec.thresholds.items()}
    settings |= {key: option.default for key, option in spec.options.items()}
    scripts = dict.fromkeys(action.script for action in spec.actions if action.writes)
    actions = {script: files.sections[f"actions/{script}.sql"] for script in scripts}
    actions |= {f"undo/{table}": files.sections[f"undo/{table}.sql"] for table in spec.append_only}
    tried = files.sections.get(TRY, {})
    return Engine(
        name=folder.name,
        spec=spec,
        settings=settings,
        statements=files.variants,
        actions={**actions, TRY: tried} if tried else actions,
        trial=trial_of(spec, tried) if tried else None,
    )


def _threshold(value: Any) -> Any:
    """Return a threshold in seconds or as a number, or those of one kind."""
    return {k: duration.parse(v) for k, v in value.items()} if isinstance(value, Mapping) else duration.parse(value)


def _parse(folder: Folder) -> tuple[EngineSpec, ParsedFiles, dict[str, SqlText]]:
    """Return the content of a folder, and the statements that follow from it.

    Raises BrokenEngineError. A fault of a setting hides those of the files, which would follow from it.
    """
    toml = TomlFile(folder.shown(TOML), folder.files.get(TOML, ""))
    spec = _decoded(folder, toml)
    _refuse(folder, setting_faults(toml, spec))
    needs = derived_needs(spec)
    faults: list[Fault] = []
    try:
        more = derived(folder, spec, toml, {**spec.needs, **needs})
        files = _parsed_files(folder, more, spec, faults)
    except EngineFileError as error:
        raise BrokenEngineError(folder.name, *error.faults) from None
    _refuse(folder, faults)
    spec = _with_statements(spec, needs, files)
    _refuse(folder, file_faults(folder, toml, spec, files))
    return spec, files, more


def _refuse(folder: Folder, faults: Iterable[Fault]) -> None:
    if each := sorted(set(faults)):
        raise BrokenEngineError(folder.name, *each)


def _decoded(folder: Folder, toml: TomlFile) -> EngineSpec:
    """Return what ``engine.toml``, ``catalog.toml`` and the names of files say."""
    if TOML not in folder.files:
        raise BrokenEngineError(folder.name, Fault(folder.shown(TOML), 1, 1, "the file is missing"))
    try:
        spec = toml.decode(EngineSpec, in_full)
        facts = TomlFile(folder.shown(CATALOG), folder.files.get(CATALOG, "versions = []"))
        undone = tuple(file[len("undo/") : -len(".sql")] for file in sorted(folder.files) if file.startswith("undo/"))
        return msgspec.structs.replace(
            spec,
            own=own_objects(facts),
            needs={name: completed(need, spec.recognise.roles) for name, need in spec.needs.items()},
            append_only=undone,
            actions=with_scripts(spec, folder.files),
            kinds=tuple(_with_files(kind, spec, folder) for kind in spec.kinds),
        )
    except TomlError as error:
        raise BrokenEngineError(folder.name, error.fault) from None


def _with_files(kind: Kind, spec: EngineSpec, folder: Folder) -> Kind:
    """Return the kind with what follows from the files that there are, and are not."""
    names, relation = [each.name for each in spec.kinds], spec.recognise.relations.get(kind.table, {})
    due = kind.columns.get("due_at", "")
    there = {due, due.removeprefix("to_timestamp(").split(" ")[0].strip(')"')} & relation.keys()
    listed = spec.dead and "status" in kind.columns and not folder.written(names, "dead")
    return msgspec.structs.replace(
        kind,
        children=folder.written(names, "children", kind.name),
        dead=tuple(each.native for each in spec.statuses if each.phase is Phase.FAILED) if listed else (),
        dead_since="".join(sorted(there)[:1]) if listed else "",
    )


def _with_statements(spec: EngineSpec, needs: Mapping[str, Need], files: ParsedFiles) -> EngineSpec:
    """Return the spec with what follows from its statements.

    ``needs``: derived ones, of which it has those that are used.
    """
    nodes = [statement for file, statement in files.statements.items() if file.startswith("nodes")]
    parts = [part for sections in files.sections.values() for run in sections.values() for part in run]
    actions = with_effects(spec, files.sections)
    used = {need for each in (*files.statements.values(), *parts) for need in (*each.needs, *(each.of_ids or ()))}
    used.update(*(action.needs for action in actions))
    return msgspec.structs.replace(
        spec,
        kinds=tuple(_recorded(kind, nodes) for kind in spec.kinds),
        needs={**spec.needs, **{name: need for name, need in needs.items() if name in used}},
        actions=actions,
    )


def _recorded(kind: Kind, statements: Iterable[Statement]) -> Kind:
    """Return the kind. Columns that no statement of its nodes has are not recorded."""
    words = {word for each in statements if each.is_for(kind.name) for word in sql_words(each.text)}
    missing = tuple(column for column in RECORDED if words and column not in words)
    return msgspec.structs.replace(kind, not_recorded=tuple(dict.fromkeys((*kind.not_recorded, *missing))))


def _parsed_files(folder: Folder, more: Mapping[str, SqlText], spec: EngineSpec, faults: list[Fault]) -> ParsedFiles:
    """Parse all SQL files, written and derived.

    A section of ``actions.sql`` replaces a derived one, and a section of the action's own file replaces both. Files
    with faults are missing from the result.
    """
    texts = list(more.items())
    own = folder.statements("", "findings", "samples", "detail", "actions", "undo")  # SHARED before actions/
    for file in (*own, *([TRY] if TRY in folder.files else [])):
        try:
            texts.append((file, folder.sql(file)))
        except EngineFileError as error:
            faults += error.faults
    statements: dict[str, Statement] = {}
    sections: dict[str, dict[str, tuple[Statement, ...]]] = {}
    kinds = [kind.name for kind in spec.kinds]
    settings, in_actions = names_in_sql(spec), names_in_sql(spec, action=True)
    for file, sql in texts:
        try:
            if file.startswith("actions/"):
                sections[file] = {**sections.get(file, {}), **parse_sections(sql, in_actions)}
            elif file.startswith("undo/"):
                sections[file] = parse_sections(sql)
            elif file == TRY:
                sections[file] = parse_sections(sql, settings)
            elif file == SHARED:
                for script, name, parts in _shared(parse_sections(sql, in_actions), spec.actions):
                    sections.setdefault(script, {})[name] = parts
            else:
                statement = with_kinds(file, parse_statement(sql, settings), kinds)
                statements[file] = with_needs(statement, spec.needs)
        except EngineFileError as error:
            faults += error.faults
    return ParsedFiles(statements=statements, sections=sections)


def _shared(
    sections: Mapping[str, tuple[Statement, ...]], actions: Iterable[Action]
) -> Iterator[tuple[str, str, tuple[Statement, ...]]]:
    """Yield each shared section of an action with the action's file."""
    for action in actions:
        for name, parts in sections.items():
            of_kinds = tuple(part for part in parts if any(map(part.is_for, action.kinds)))
            if action.writes and of_kinds:
                yield f"actions/{action.script}.sql", name, of_kinds
