"""Load and check an engine's folder: ``engine.toml`` and plain ``.sql`` files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from queries.contract.actions import trial_of, with_effects, with_scripts
from queries.contract.derive import derived
from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.facts import own_objects
from queries.contract.file_faults import SHARED, ParsedFiles, file_faults, key_of, names_of
from queries.contract.folder import CATALOG, TOML, TRY, Folder, read
from queries.contract.indexes import completed
from queries.contract.kinds import recorded, with_kinds
from queries.contract.needs import derived_needs, with_needs
from queries.contract.references import OF_KIND, names_in_sql, reference_faults
from queries.contract.rules import RULES, STATEMENT_RULES, RuleInput, setting_faults, threshold
from queries.contract.spec import Action, EngineSpec, Need, Own
from queries.files.statement import EngineFileError, SqlText, Statement, parse_sections, parse_statement
from queries.files.strict_toml import TomlError, TomlFile
from queries.records.fault import Fault


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
    settings: dict[str, Any] = {key: threshold(value) for key, value in spec.thresholds.items()}
    settings |= {key: option.default for key, option in spec.options.items()}
    scripts = dict.fromkeys(action.script for action in spec.actions if action.writes)
    actions = {script: files.sections[f"actions/{script}.sql"] for script in scripts}
    actions |= {f"undo/{table}": files.sections[f"undo/{table}.sql"] for table in spec.undo.append_only}
    tried = files.sections.get(TRY, {})
    return Engine(
        name=folder.name,
        spec=spec,
        settings=settings,
        statements=files.variants,
        actions={**actions, TRY: tried} if tried else actions,
        trial=trial_of(spec, tried) if tried else None,
    )


def _parse(folder: Folder) -> tuple[EngineSpec, ParsedFiles, dict[str, SqlText]]:
    """Return the content of a folder, and the statements that follow from it.

    Raises BrokenEngineError.
    """
    faults: list[Fault] = []
    toml = TomlFile(folder.shown(TOML), folder.files.get(TOML, ""))
    spec = _decoded(folder, toml, faults)
    needs: Mapping[str, Need] = {}
    more: dict[str, SqlText] = {}
    if spec is not None:
        faults += setting_faults(toml, RuleInput(folder, spec), STATEMENT_RULES)
        needs = derived_needs(spec)
    can_derive = not faults
    if spec is not None and can_derive:
        more = derived(folder, spec, toml, {**spec.needs, **needs})
    files = _parsed_files(folder, more, spec, faults)
    if spec is not None:
        spec = _with_statements(spec, needs, files)
        present = names_of(folder, more) if can_derive else None
        faults += setting_faults(toml, RuleInput(folder, spec, files, present), RULES)
        faults += file_faults(folder, spec, files, present)
        faults += reference_faults(spec, files)
    if faults or spec is None:
        raise BrokenEngineError(folder.name, *sorted(set(faults)))
    return spec, files, more


def _decoded(folder: Folder, toml: TomlFile, faults: list[Fault]) -> EngineSpec | None:
    """Return what ``engine.toml``, ``catalog.toml`` and the names of files say."""
    if TOML not in folder.files:
        faults.append(Fault(folder.shown(TOML), 1, 1, "the file is missing"))
        return None
    try:
        spec = toml.decode(EngineSpec)
        if spec.own != Own():
            faults.append(folder.fault(TOML, f"own: what belongs to the engine is recorded in {CATALOG}", "[own"))
        facts = TomlFile(folder.shown(CATALOG), folder.files.get(CATALOG, "versions = []"))
        undone = tuple(file[len("undo/") : -len(".sql")] for file in sorted(folder.files) if file.startswith("undo/"))
        return msgspec.structs.replace(
            spec,
            own=own_objects(facts),
            needs={name: completed(need, spec.recognise.roles) for name, need in spec.needs.items()},
            undo=msgspec.structs.replace(spec.undo, append_only=spec.undo.append_only or undone),
            actions=with_scripts(spec, folder.files),
        )
    except TomlError as error:
        faults += error.faults
        return None


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
        kinds=tuple(recorded(kind, nodes) for kind in spec.kinds),
        needs={**spec.needs, **{name: need for name, need in needs.items() if name in used}},
        actions=actions,
    )


def _parsed_files(
    folder: Folder, more: Mapping[str, SqlText], spec: EngineSpec | None, faults: list[Fault]
) -> ParsedFiles:
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
    words = re.findall(r"\w+", folder.files.get(TOML, ""))
    ends = ("", "_keys", OF_KIND)
    unread = dict.fromkeys((f"{word}{end}" for word in words for end in ends), "NULL")  # if the settings cannot be read
    settings = names_in_sql(spec) if spec else unread
    for file, sql in texts:
        try:
            if file.startswith("actions/"):
                names = names_in_sql(spec, key_of(file.partition("/")[2])) if spec else unread
                sections[file] = {**sections.get(file, {}), **parse_sections(sql, names)}
            elif file.startswith("undo/"):
                sections[file] = parse_sections(sql)
            elif file == TRY:
                sections[file] = parse_sections(sql, settings)
            elif file == SHARED:
                names = names_in_sql(spec, None) if spec else unread
                for script, name, parts in _shared(parse_sections(sql, names), spec.actions if spec else ()):
                    sections.setdefault(script, {})[name] = parts
            else:
                statement = parse_statement(sql, settings)
                if spec is not None:
                    statement = with_kinds(file, statement, [kind.name for kind in spec.kinds])
                    statement = with_needs(statement, spec.needs)
                statements[file] = statement
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
