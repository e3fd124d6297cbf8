"""Faults of an engine's SQL files: their names, sections and headers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from queries.contract.folder import TRY, Folder
from queries.contract.rows import SHAPES, required
from queries.contract.spec import EngineSpec
from queries.files.statement import Statement, locate
from queries.records.detail import DRAWN
from queries.records.fault import Fault
from queries.records.record import Record

REQUIRED = ("nodes", "roots", "children", "live", "find", "counts")
SECTIONS = (*(name[1:] for name in SHAPES if name.startswith(":")), "successes")
SHARED = "actions.sql"  # sections for all actions on nodes of their kinds
UNDO_SECTIONS = ("refused", "change", "added")
TRY_SECTIONS = ("claim", "progress", "finish", "fail")

Sections = Mapping[str, tuple[Statement, ...]]


class ParsedFiles(Record):
    """The SQL files of a folder, by their names."""

    statements: dict[str, Statement]
    sections: dict[str, dict[str, tuple[Statement, ...]]]

    @property
    def variants(self) -> dict[str, tuple[Statement, ...]]:
        """The variants of each statement, by its name."""
        variants: dict[str, tuple[Statement, ...]] = {}
        for file, statement in self.statements.items():
            variants[key_of(file)] = (*variants.get(key_of(file), ()), statement)
        return variants


NO_FILES = ParsedFiles(statements={}, sections={})


def key_of(file: str) -> str:
    """Return the name of a file's statement without its variant.

    ``children.leaf.sql`` and ``children@16.sql`` are variants of ``children``.
    """
    subfolder, slash, name = file.rpartition("/")
    return subfolder + slash + re.split(r"[.@]", name, maxsplit=1)[0]


def names_of(folder: Folder, derived: Iterable[str]) -> frozenset[str]:
    """Return the names of all statements, such as ``findings/overdue``.

    ``derived``: names of the files that follow. Those that could not be parsed are among them.
    """
    return frozenset(map(key_of, (*derived, *folder.files)))


def file_faults(
    folder: Folder, spec: EngineSpec, files: ParsedFiles, present: Collection[str] | None
) -> Iterator[Fault]:
    """Yield the faults of files: missing and unused ones, their sections and headers.

    ``present``: names of the statements; None if those that follow from ``engine.toml`` could not be derived.
    """
    if present is not None:
        yield from _missing_files(folder, spec, present)
        for file, sections in files.sections.items():
            if file != TRY:
                yield from _missing_sections(folder, file, sections)
    yield from _unused_files(folder, spec)
    for file, statement in files.statements.items():
        yield from _header_faults(folder, spec, file, statement)
    for file, sections in files.sections.items():
        yield from _section_faults(folder, file, sections)
    for part in (part for parts in files.sections.get(TRY, {}).values() for part in parts):
        for kind in sorted({*part.kinds} - {each.name for each in spec.kinds}):
            yield locate(part, 1, f"there is no node kind {kind!r}")


def _missing_files(folder: Folder, spec: EngineSpec, present: Collection[str]) -> Iterator[Fault]:
    for name in REQUIRED:
        if name not in present and (name != "children" or spec.parents):
            yield folder.fault(f"{name}.sql", "the file is missing")
    scripts = {action.script for action in spec.actions if action.writes}
    if scripts and not {"images", "rows"} & set(present):
        yield folder.fault("images.sql", "the file is missing: actions have rows to show, and no kind has a `table`")
    for name in (*(f"actions/{s}" for s in sorted(scripts)), *(f"undo/{t}" for t in spec.undo.append_only)):
        if name not in present:
            yield folder.fault(f"{name}.sql", "the file is missing")


def _missing_sections(folder: Folder, file: str, sections: Sections) -> Iterator[Fault]:
    for section in ("change", "added") if file.startswith("undo/") else ("lock", "change"):
        if section not in sections:
            yield folder.fault(file, f"the section :{section} is missing")


def _unused_files(folder: Folder, spec: EngineSpec) -> Iterator[Fault]:
    """Yield files that nothing uses, which are usually misspelt."""
    used = {
        *(f"findings/{finding.code}" for finding in spec.findings if not finding.sample),
        *(f"samples/{finding.sample}" for finding in spec.findings if finding.sample),
        *(f"samples/{finding.renewed.sample}" for finding in spec.findings if finding.renewed),
        *(f"actions/{action.script}" for action in spec.actions),
        *(f"undo/{table}" for table in spec.undo.append_only if table in spec.recognise.relations),
        *SHAPES.keys() - {"findings", "samples"},
        key_of(SHARED),
    }
    for file in folder.statements("", "findings", "samples", "actions", "undo"):
        if key_of(file) not in used:
            message = "its name is not one of the tables in recognise.relations" if file.startswith("undo/") else ""
            yield folder.fault(file, message or "nothing uses this file")


def _section_faults(folder: Folder, file: str, sections: Sections) -> Iterator[Fault]:
    of_undo = file.startswith("undo/")
    names = UNDO_SECTIONS if of_undo else TRY_SECTIONS if file == TRY else SECTIONS
    for section in sections:
        if section not in names:
            message = f"section {section!r} is not one of {', '.join(names)}"
            yield folder.fault(file, message, f"-- :{section}")
    for name in ("witnesses", "document"):
        for part in sections.get(name, ()):
            for column in required(SHAPES[f":{name}"]):
                if not re.search(rf"\bAS {column}\b", part.text):
                    yield folder.fault(file, f"the section {name!r} has no column `{column}`", f"-- :{name}")


def _header_faults(folder: Folder, spec: EngineSpec, file: str, statement: Statement) -> Iterator[Fault]:
    """Yield names in the header of a statement that are not defined."""
    for need in sorted((statement.needs | (statement.of_ids or set())) - set(spec.needs)):
        yield folder.fault(file, f"needs {need!r}, which engine.toml does not define", "-- needs")
    if file.startswith("detail/"):
        if not statement.title or not statement.kinds:
            yield folder.fault(file, "a detail section needs the lines -- title: and -- kinds:")
        if statement.drawn and statement.drawn not in DRAWN:
            drawings = " or ".join(DRAWN)
            yield folder.fault(file, f"there is no drawing {statement.drawn!r}; use {drawings}", "-- drawn:")
    for kind in sorted(set(statement.kinds) - {k.name for k in spec.kinds}):
        yield folder.fault(file, f"there is no node kind {kind!r}", "-- kinds:")
