"""Rules of an engine's folder that types cannot express.

All faults are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from queries.contract.folder import NAME, Folder
from queries.contract.indexes import index_of
from queries.contract.phases import phases_of
from queries.contract.spec import KEYS, Action, EngineSpec
from queries.files.statement import Statement
from queries.files.strict_toml import TomlFile
from queries.records.action import Undo
from queries.records.detail import DRAWN
from queries.records.fault import Fault
from queries.records.finding import Support
from queries.records.record import Record
from queries.text import duration
from queries.text.suggest import did_you_mean

REQUIRED = ("nodes", "roots", "children", "live", "find", "counts")
OPTIONAL = ("matching", "dead", "changed", "options", "progress", "search", "related", "rows")
SECTIONS = ("lock", "refused", "witnesses", "rows", "change", "document", "successes")
DOCUMENT = ("id", "digest", "stored", "document", "size", "why")  # columns of the section ``document``
SHARED = "actions.sql"  # sections for all actions on nodes of their kinds
UNDO_SECTIONS = ("refused", "change", "added")
WITNESS = ("id", "witness", "verdict", "detail")  # columns of the section ``witnesses``
WORDS = ("SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "USAGE")  # of privileges

_FUNCTION = re.compile(r"\w+\((?:\w+(?:, \w+)*)?\)")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")  # in a command

Sections = Mapping[str, tuple[Statement, ...]]
SpecFault = tuple[tuple[str | int, ...], str]  # path of a setting in engine.toml, and the message


class ParsedFiles(Record):
    """The SQL files of a folder, by their names."""

    statements: dict[str, Statement]
    sections: dict[str, dict[str, tuple[Statement, ...]]]

    @property
    def keys(self) -> frozenset[str]:
        """Names of the statements without variants, such as ``findings/overdue``."""
        return frozenset(map(key_of, self.statements))


def key_of(file: str) -> str:
    """Return the name of a file's statement without its variant.

    ``children.leaf.sql`` and ``children@16.sql`` are variants of ``children``.
    """
    subfolder, slash, name = file.rpartition("/")
    return subfolder + slash + re.split(r"[.@]", name, maxsplit=1)[0]


def spec_faults(
    folder: Folder, toml: TomlFile, spec: EngineSpec, files: ParsedFiles, *, derived: bool = True
) -> Iterator[Fault]:
    """Yield the faults of a folder whose ``engine.toml`` has the right types.

    ``derived``: False if statements could not be derived, so that they are missing for this reason alone.
    """
    present = files.keys | set(map(key_of, folder.files))
    for rule in (
        _name_faults(spec),
        _key_faults(spec),
        _role_faults(spec),
        _recognise_faults(spec),
        _need_faults(spec),
        _threshold_faults(spec),
        _status_faults(spec, files),
        _option_faults(spec),
        _action_faults(spec),
        _argument_faults(spec, files),
        _effects_faults(spec),
        _undo_faults(spec, files),
        _redrive_faults(spec),
        _finding_faults(spec, files, present if derived else None),
        _worker_faults(spec),
        _guard_faults(spec, files),
        _document_faults(spec, files),
        _missing_children(spec, files),
    ):
        yield from (toml.fault(path, message) for path, message in rule)
    if derived:
        yield from _missing_files(folder, spec, files, present)
    yield from _unused_files(folder, spec)
    for file, statement in files.statements.items():
        yield from _header_faults(folder, spec, file, statement)
    for file, sections in files.sections.items():
        yield from _section_faults(folder, file, sections)


def setting(value: Any) -> Any:
    """Return a threshold in seconds or as a number. Raises ValueError."""
    return {k: duration.parse(v) for k, v in value.items()} if isinstance(value, Mapping) else duration.parse(value)


def _missing_files(folder: Folder, spec: EngineSpec, files: ParsedFiles, present: Collection[str]) -> Iterator[Fault]:
    for name in REQUIRED:
        if name not in present and (name != "children" or spec.parents):
            yield folder.fault(f"{name}.sql", "the file is missing")
    scripts = {action.script for action in spec.actions if action.writes}
    for file in (*(f"actions/{s}.sql" for s in sorted(scripts)), *(f"undo/{t}.sql" for t in spec.undo.append_only)):
        if file not in folder.files and file not in files.sections:
            yield folder.fault(file, "the file is missing")


def _missing_children(spec: EngineSpec, files: ParsedFiles) -> Iterator[SpecFault]:
    """Yield kinds with children for which no statement reads them."""
    variants = [statement for file, statement in files.statements.items() if key_of(file) == "children"]
    for n, kind in enumerate(spec.kinds):
        if kind.name in spec.parents and variants and not any(statement.is_for(kind.name) for statement in variants):
            yield ("kinds", n, "children"), f"kind {kind.name}: no children.sql is for it (-- kinds: {kind.name})"


def _unused_files(folder: Folder, spec: EngineSpec) -> Iterator[Fault]:
    """Yield files that nothing uses, which are usually misspelt."""
    used = {
        *(f"findings/{finding.code}" for finding in spec.findings if not finding.sample),
        *(f"samples/{finding.sample}" for finding in spec.findings if finding.sample),
        *(f"samples/{finding.renewed.sample}" for finding in spec.findings if finding.renewed),
        *(f"actions/{action.script}" for action in spec.actions),
        *(f"undo/{table}" for table in spec.undo.append_only if table in spec.recognise.relations),
        *REQUIRED,
        *OPTIONAL,
        key_of(SHARED),
    }
    for file in folder.statements("", "findings", "samples", "actions", "undo"):
        if key_of(file) not in used:
            message = "its name is not one of the tables in recognise.relations" if file.startswith("undo/") else ""
            yield folder.fault(file, message or "nothing uses this file")


def _section_faults(folder: Folder, file: str, sections: Sections) -> Iterator[Fault]:
    of_undo = file.startswith("undo/")
    known, required = (UNDO_SECTIONS, ("change", "added")) if of_undo else (SECTIONS, ("lock", "rows", "change"))
    for section in sections:
        if section not in known:
            message = f"section {section!r} is not one of {', '.join(known)}"
            yield folder.fault(file, message, f"-- :{section}")
    for section in required:
        if section not in sections:
            yield folder.fault(file, f"the section :{section} is missing")
    for part in () if of_undo else sections.get("rows", ()):
        if not re.search(r"\bplace\b", part.text):
            message = "the section 'rows' has no column `place`: the row's ctid as text, or NULL"
            yield folder.fault(file, message, "-- :rows")
    for name, columns in (("witnesses", WITNESS), ("document", DOCUMENT)):
        for part in sections.get(name, ()):
            for column in columns:
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
            known = " or ".join(DRAWN)
            yield folder.fault(file, f"there is no drawing {statement.drawn!r}; use {known}", "-- drawn:")
    for kind in sorted(set(statement.kinds) - {k.name for k in spec.kinds}):
        yield folder.fault(file, f"there is no node kind {kind!r}", "-- kinds:")


def _name_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield names that cannot be part of an id, a file's name or a setting."""
    named = {
        ("kinds", "name"): [kind.name for kind in spec.kinds],
        ("actions", "name"): [action.name for action in spec.actions],
        ("findings", "code"): [finding.code for finding in spec.findings],
    }
    for (field, setting), words in named.items():
        for n, word in enumerate(words):
            if not re.fullmatch(NAME, word):
                yield (field, n, setting), f"{field}: the {setting} {word!r} must match {NAME}"


def _key_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield keys that are no keys of actions, or that change nothing."""
    names, last = [action.name for action in spec.actions], {name: key for key, name in spec.keys.items()}
    for key, name in spec.keys.items():
        at = ("keys", key)
        if not re.fullmatch("[A-Z]", key):
            yield at, f"keys.{key} is not an upper-case letter"
        elif name not in names:
            yield at, f"keys.{key} names {name!r}, which is not an action{did_you_mean(name, names)}"
        elif key == KEYS.get(name):
            yield at, f"keys.{key} is the key of {name} without this setting"
        elif key != last[name]:
            yield at, f"keys.{key} is a second key of {name}; the other one is {last[name]}"


def _role_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield roles that name nothing, and patterns that name no or several places."""
    known = {*spec.recognise.relations, *spec.recognise.enums}
    known |= {word for meaning in spec.own.objects for word in re.findall(r"\w+", meaning)}
    known |= {channel for worker in spec.workers for channel in worker.channels}
    for role, pattern in spec.recognise.roles.items():
        at = ("recognise", "roles", role)
        if role not in known or role == "schema":
            yield at, f"recognise.roles: {role!r} is not one of the tables in recognise.relations, nor a name of theirs"
        if not re.fullmatch(r"\w*\*\w*", pattern):
            yield at, f"recognise.roles: the pattern {pattern!r} must be a name with one `*` in it"


def _recognise_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield functions without the types of their arguments."""
    for n, function in enumerate(spec.recognise.functions):
        if not _FUNCTION.fullmatch(function):
            yield ("recognise", "functions", n), f"recognise.functions: {function!r} must be written name(type, type)"


def _need_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield needs of an index that cannot be read, and tables that are unknown."""
    tables = {*spec.recognise.relations, *(kind.table for kind in spec.kinds)} - {""}
    for name, need in spec.needs.items():
        if need.ddl and need.table not in tables:
            yield ("needs", name, "ddl"), f"needs.{name}: {_not_an_index(need.ddl, tables)}"


def _threshold_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield thresholds that are not durations or numbers."""
    for name, value in spec.thresholds.items():
        try:
            setting(value)
        except ValueError as error:
            yield ("thresholds", name), f"thresholds.{name}: {error}"


def _status_faults(spec: EngineSpec, files: ParsedFiles) -> Iterator[SpecFault]:
    """Yield statuses with several phases of which no statement returns one."""
    nodes = [statement.text for file, statement in files.statements.items() if key_of(file) == "nodes"]
    if any(re.search(r"\bphase\b", text) for text in nodes):
        return
    for n, status in enumerate(spec.statuses):
        first = status.native not in (each.native for each in spec.statuses[:n])
        if nodes and first and len(phases_of(spec.statuses)[status.native]) > 1:
            message = f"status {status.native}: it has several phases, so nodes.sql must return the column phase"
            yield ("statuses", n), message


def _option_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield views that the key for the next view cannot handle."""
    views = [name for name, option in spec.options.items() if option.view]
    for name in views:
        if len(spec.options[name].choices) < 2:
            yield ("options", name, "view"), f"options.{name}: a view needs at least two choices"
        if name != views[0]:
            yield (
                ("options", name, "view"),
                f"options.{name}: {views[0]} is a view already; an engine has only one",
            )


def _action_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield actions with unknown names, missing texts or duplicates."""
    kinds, seen, keys = {k.name for k in spec.kinds}, set(), dict[object, str]()
    for n, action in enumerate(spec.actions):
        if not re.fullmatch(r"[A-Z]?", action.key):
            yield ("actions", n, "key"), f"action {action.name}: the key {action.key!r} is not an upper-case letter"
        if not action.kinds:
            yield ("actions", n), f"action {action.name}: `kinds` is required"
        for kind in sorted(set(action.kinds) - kinds):
            yield ("actions", n, "kinds"), f"action {action.name}: there is no node kind {kind!r}"
        for need in sorted(set(action.needs) - set(spec.needs)):
            yield ("actions", n, "needs"), f"action {action.name}: needs {need!r}, which is not defined"
        for privilege in action.privileges:
            if why := _not_a_privilege(spec, privilege):
                yield ("actions", n, "privileges"), f"action {action.name}: {why}"
        yield from ((("actions", n, *at), f"action {action.name}: {message}") for at, message in _text_faults(action))
        for kind in action.kinds:
            known = (action.name, kind, tuple(sorted(action.when.items())))
            if known in seen:
                yield ("actions", n, "name"), f"action {action.name}: it is defined twice for a {kind}"
            seen.add(known)
            first = keys.setdefault((action.key, *known[1:]), action.name)
            if action.key and first != action.name:
                yield ("actions", n, "key"), f"action {action.name}: {first} has the key {action.key} for a {kind}"


def _argument_faults(spec: EngineSpec, files: ParsedFiles) -> Iterator[SpecFault]:
    """Yield shared arguments that no action has, and those with the name of a setting."""
    used = [argument for action in spec.actions for argument in action.arguments]
    for name, argument in spec.arguments.items():
        if name in {*spec.thresholds, *spec.options}:
            yield ("arguments", name), f"arguments.{name}: a threshold or an option has this name"
        elif argument not in used and _have_sections(spec, files):
            yield ("arguments", name), f"arguments.{name}: no statement of an action names it"


def _have_sections(spec: EngineSpec, files: ParsedFiles) -> bool:
    """Return True if the files of all actions could be parsed."""
    return all(f"actions/{action.script}.sql" in files.sections for action in spec.actions if action.writes)


def _text_faults(action: Action) -> Iterator[SpecFault]:
    """Yield texts that an action lacks or may not have, by their settings."""
    if not action.writes and not action.why:
        yield (), f"it is {action.support}, so `why` is required"
    if action.writes and not action.effect:
        yield (), "`effect` is required"
    if action.command and action.support is not Support.EXTERNAL:
        yield ("command",), "only an external action has commands"
    named = {name for text in action.command.values() for name in _PLACEHOLDER.findall(text)}
    for name in sorted(named - {"key"}):
        yield ("command",), f"{{{name}}} is not filled in; only {{key}} is"


def _not_a_privilege(spec: EngineSpec, privilege: str) -> str:
    """Return why an action cannot have a privilege, or ""."""
    word, _, name = privilege.partition(" ")
    if word not in WORDS or not name:
        return f"{privilege!r} is not a privilege; write one of {', '.join(WORDS)} and a name"
    if word not in ("EXECUTE", "USAGE") and name not in spec.recognise.relations:
        return f"{privilege!r}: {name} is not one of the tables in recognise.relations"
    return ""


def _not_an_index(ddl: str, tables: Collection[str]) -> str:
    """Return why a statement does not create an index of one of these tables, or ""."""
    index = index_of(ddl)
    if index is None:
        return f"{ddl!r} is not CREATE INDEX ... ON table (columns), nor ALTER TABLE table ADD PRIMARY KEY (columns)"
    return "" if index.table in tables else f"there is no table {index.table!r}"


def _effects_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield effects that are neither privileges nor columns."""
    for effect, more in spec.effects.items():
        privileges = (effect, *(each for each in more if " " in each))
        for why in filter(None, (_not_a_privilege(spec, privilege) for privilege in privileges)):
            yield ("effects", effect), f"effects: {why}"
        for name in more:
            if " " not in name and not _is_column(spec, name):
                yield ("effects", effect), f"effects: {name!r} is no column of a known table"


def _is_column(spec: EngineSpec, name: str) -> bool:
    table, _, column = name.partition(".")
    return table in spec.recognise.relations and column != ""


def _undo_faults(spec: EngineSpec, files: ParsedFiles) -> Iterator[SpecFault]:
    """Yield actions that do not say whether they can be undone, and unknown columns."""
    for n, action in enumerate(spec.actions):
        if action.writes and action.undo is None and f"actions/{action.script}.sql" in files.sections:
            message = "its statements overwrite nothing, so `undo_note` must say why it cannot be undone"
            yield ("actions", n), f"action {action.name}: {message}"
        if action.undo is Undo.NONE and not action.undo_note:
            yield ("actions", n, "undo"), f"action {action.name}: it cannot be undone, so `undo_note` is required"
        for name in action.overwrites:
            if not _is_column(spec, name):
                yield ("actions", n, "overwrites"), f"action {action.name}: {name!r} is no column of a known table"
    for name in spec.undo.counters:
        table, _, column = name.partition(".")
        if column not in spec.recognise.relations.get(table, ()):
            yield ("undo", "counters"), f"undo.counters: there is no column {name!r}"
    overwritten = {name for action in spec.actions for name in action.overwrites}
    for name in sorted(set(spec.undo.notes) - overwritten if _have_sections(spec, files) else ()):
        yield ("undo", "notes", name), f"undo.notes: no action overwrites {name!r}{did_you_mean(name, overwritten)}"


def _redrive_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield revivals whose action does not exist, and a missing reason."""
    for n, revival in enumerate(spec.redrive.revivals):
        if not any(a.name == revival.action and revival.kind in a.kinds for a in spec.actions):
            at = ("redrive", "revivals", n)
            yield at, f"redrive: {revival.action!r} is not an action for a {revival.kind}"
    if spec.redrive.revivals and spec.redrive.why:
        yield ("redrive", "why"), "redrive: `why` is only for engines without an action that revives dead letters"


def _finding_faults(spec: EngineSpec, files: ParsedFiles, present: Collection[str] | None) -> Iterator[SpecFault]:
    """Yield findings that name an unknown action, argument, file or threshold."""
    actions = {v.name for v in spec.actions}
    codes, symptoms = {f.code for f in spec.findings}, {f.symptom for f in spec.findings} - {""}
    for n, finding in enumerate(spec.findings):
        for name in sorted({finding.action or "", finding.instead} - {"", *actions}):
            yield ("findings", n, "action"), f"finding {finding.code}: there is no action {name!r}"
        known = {a.name for v in spec.actions if v.name == finding.action for a in v.arguments}
        for name in sorted(set(finding.arguments) - known if _have_sections(spec, files) else ()):
            yield ("findings", n, "arguments"), f"finding {finding.code}: {finding.action} has no argument {name!r}"
        source = f"samples/{finding.sample}" if finding.sample else f"findings/{finding.code}"
        if present is not None and source not in present:
            yield ("findings", n, "code"), f"finding {finding.code}: {source}.sql is missing"
        for m, rule in enumerate(finding.explains):
            for code in sorted(set(rule.findings) - codes):
                yield (
                    ("findings", n, "explains", m, "findings"),
                    f"finding {finding.code}: there is no finding {code!r}",
                )
            for word in sorted(set(rule.symptoms) - symptoms):
                yield ("findings", n, "explains", m), f"finding {finding.code}: no finding is a symptom {word!r}"
        if (finding.counter is None) != (finding.min_increase is None):
            yield ("findings", n), f"finding {finding.code}: `counter` and `min_increase` require each other"
        if finding.per_minute and not finding.grows:
            yield ("findings", n, "per_minute"), f"finding {finding.code}: `per_minute` requires `grows`"
        thresholds = (
            ("min_changes", finding.min_changes),
            ("seconds", finding.seconds),
            ("per_minute", finding.per_minute),
        )
        for field, threshold in thresholds:
            if threshold and threshold not in spec.thresholds:
                yield ("findings", n, field), f"finding {finding.code}: there is no threshold {threshold!r}"


def _worker_faults(spec: EngineSpec) -> Iterator[SpecFault]:
    """Yield workers with unreadable privileges, and tables that are unknown."""
    for n, worker in enumerate(spec.workers):
        for privilege in worker.privileges:
            word, _, name = privilege.partition(" ")
            if word not in WORDS or not name:
                yield ("workers", n, "privileges"), f"worker {worker.title}: {privilege!r} is not a privilege"
        for m, ddl in enumerate(worker.indexes):
            if why := _not_an_index(ddl, spec.recognise.relations):
                yield ("workers", n, "indexes", m), f"worker {worker.title}: {why}"
    if spec.flow is not None and spec.flow.table not in spec.recognise.relations:
        yield ("flow", "table"), f"flow: there is no table {spec.flow.table!r}"


def _guard_faults(spec: EngineSpec, files: ParsedFiles) -> Iterator[SpecFault]:
    """Yield findings whose action does not return their guard.

    Such an action would be refused every time.
    """
    for n, finding in enumerate(spec.findings):
        named = [f"actions/{v.script}.sql" for v in spec.actions if v.name == finding.action and v.writes]
        scripts = [files.sections[file] for file in named if file in files.sections]
        locks = [part.text for script in scripts for part in script.get("lock", ())]
        if finding.constant and scripts and not any(re.search(r"\bAS unchanged\b", text) for text in locks):
            yield (
                ("findings", n, "constant"),
                f"finding {finding.code}: the lock section of {finding.action} has no column `unchanged`",
            )


def _document_faults(spec: EngineSpec, files: ParsedFiles) -> Iterator[SpecFault]:
    """Yield actions that edit a text and cannot read it, and the reverse."""
    for n, action in enumerate(spec.actions):
        file = f"actions/{action.script}.sql"
        if action.document is None or file not in files.sections:
            continue
        sections = files.sections[file]
        if "document" not in sections:
            yield ("actions", n, "arguments"), f"action {action.name}: its file has no section :document"
        if not any(re.search(r"\bAS unchanged\b", part.text) for part in sections.get("lock", ())):
            yield ("actions", n, "arguments"), f"action {action.name}: its section :lock has no column `unchanged`"
        if not action.compared:
            yield ("actions", n), f"action {action.name}: `compared` is required"
