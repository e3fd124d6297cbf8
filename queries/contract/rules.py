"""Rules of a folder that types cannot express.

They are about names without a definition, and about settings that would make the engine do something else than its
folder says. The server checks columns and SQL when it prepares a statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from queries.contract.derive import keys_in_sql
from queries.contract.folder import TRY, Folder, ParsedFiles, key_of
from queries.contract.id_forms import KEY_TYPES
from queries.contract.needs import derived_needs
from queries.contract.rows import SHAPES, NodeRow
from queries.contract.rows import columns as columns_of_rows
from queries.contract.spec import GONE, GROUP, HARMS, Action, EngineSpec, FindingSpec, index_of
from queries.contract.sql_names import OF_KIND, keys_of
from queries.files.statement import PARAMETERS, Statement, locate
from queries.files.toml_file import Path, TomlFile
from queries.records.action import Proof, Undo
from queries.records.detail import DRAWN
from queries.records.fault import Fault
from queries.text import duration
from queries.text.suggest import did_you_mean

REQUIRED = ("nodes", "roots", "live", "find", "counts")
SECTIONS = (*(name[1:] for name in SHAPES if name.startswith(":")), "successes")
RELEASE = "release"
SHARED = "actions.sql"  # sections for all actions on nodes of their kinds
OF_SAMPLES = frozenset({"changes", "first", "grown", "per_minute", "span", "timeline"})  # evidence of several samples
_PLACE = re.compile(r"\{(\w+)\}")  # in a sentence

_TABLE, _COLUMN = "a table of recognise.relations", "a column in recognise.relations"
_STATUS, _KIND = "a status or a phase of one", "a kind of nodes"

Problem = tuple[Path, str]  # of a setting
Reference = tuple[Path, Iterable[str | None], Collection[str], str]
"""Names in a setting, those that are defined, and what they are."""


def evidence_names(finding: FindingSpec) -> set[str]:
    """Return the fields of evidence that a finding names."""
    texts = (finding.sentence, finding.remedy, *finding.arguments.values())
    of_evidence = () if finding.renewed else (finding.constant, finding.changes)
    lists = (finding.cause, finding.cause_text, *of_evidence)
    named = {name for names in (*lists, *(rule.matching for rule in finding.rules)) for name in names}
    return named | {name for text in texts for name in _PLACE.findall(text) if name != "n"}


def setting_faults(toml: TomlFile, spec: EngineSpec) -> Iterator[Fault]:
    """Yield the faults of settings, without which no statement can be derived."""
    for path, names, known, what in _references(spec):
        wrong = sorted({name for name in names if name and name not in known})
        yield from (toml.wrong(path, f"has {name!r}, which is not {what}{did_you_mean(name, known)}") for name in wrong)
    for path, problem in (*_names(spec), *_findings(spec), *_actions(spec), *_claims(spec)):
        yield toml.wrong(path, problem)


def _references(spec: EngineSpec) -> Iterator[Reference]:
    """Yield the names in each setting, and those that are defined."""
    tables = spec.recognise.relations
    columns = [f"{table}.{column}" for table, some in tables.items() for column in some]
    words = [word for status in spec.statuses for word in (status.native, status.phase)]
    actions = [action.name for action in spec.actions]
    yield from _of_kinds(spec, columns, words)
    yield from _of_findings(spec, actions)
    yield from _of_actions(spec, words)
    for effect, more in spec.effects.items():
        yield ("effects", effect), _tables((effect, *more)), tables, _TABLE
    for worker in spec.workers:
        made = ((ddl, index_of(ddl)) for ddl in worker.indexes)
        yield ("workers", worker.title, "indexes"), [of.table if of else ddl for ddl, of in made], tables, _TABLE
    own = [word for meaning in spec.own.objects for word in re.findall(r"\w+", meaning)]
    channels = [channel for worker in spec.workers for channel in worker.channels]
    roles = {*tables, *spec.recognise.types, *own, *channels} - {"schema"}
    yield ("recognise", "roles"), spec.recognise.roles, roles, f"{_TABLE}, nor a name of its parts"
    for key, name in spec.keys.items():
        yield ("keys", key), [name], actions, "an action"
    for kind, causes in spec.redrive.items():
        yield ("redrive", kind), causes.values(), actions, "an action"
    yield ("counters",), spec.counters, columns, _COLUMN
    yield ("flow",), spec.flow, tables, _TABLE


def _of_kinds(spec: EngineSpec, columns: Collection[str], words: Collection[str]) -> Iterator[Reference]:
    tables = spec.recognise.relations
    for kind in spec.kinds:
        at: Path = ("kinds", kind.name)
        yield (*at, "table"), [kind.table], tables, _TABLE
        above = [each.name for each in spec.kinds if each.table or not kind.parent]
        yield (*at, "parent"), [kind.below] if kind.table else [], above, _KIND
        yield (*at, "columns"), kind.columns, columns_of_rows(NodeRow), "a column of a node"
        if kind.table in tables:
            of_key = [("key", column) for column in kind.key_columns]
            of_table = (*of_key, ("parent", kind.parent))
            types = [of.partition("|")[0] for name, of in tables[kind.table].items() if name == kind.key]
            yield (*at, "key"), types, KEY_TYPES, "a type for which statements are derived"
            for setting, column in (*of_table, *(("payloads", column) for column in kind.payloads.values())):
                yield (*at, setting), [column], tables[kind.table], f"a column of {kind.table} in recognise.relations"


def _of_findings(spec: EngineSpec, actions: Collection[str]) -> Iterator[Reference]:
    codes = [finding.code for finding in spec.findings]
    for finding in spec.findings:
        at: Path = ("findings", finding.code)
        for setting in ("action", "instead"):
            yield (*at, setting), [getattr(finding, setting)], actions, "an action"
        yield (*at, "least"), finding.least.values(), spec.thresholds, "a threshold"
        yield (*at, "explains"), (code for each in finding.explains.values() for code in each), codes, "a finding"
        yield (*at, "arguments"), finding.arguments, [*spec.arguments, GONE], "an argument of an action"


def _of_actions(spec: EngineSpec, words: Collection[str]) -> Iterator[Reference]:
    """Yield the names in actions and claims."""
    needs = {**spec.needs, **derived_needs(spec)}
    for action in spec.actions:
        at: Path = ("actions", action.name)
        yield (*at, "from"), action.from_, words, _STATUS
        yield (*at, "kinds"), action.kinds, [kind.name for kind in spec.kinds], _KIND
    kinds = [kind.name for kind in spec.kinds if kind.table]
    for claim in spec.claim:
        yield ("claim", claim.kind), [claim.kind], kinds, "a kind with a table"
        yield ("claim", claim.kind, "needs"), [need for some in claim.needs.values() for need in some], needs, "a need"


def _tables(names: Iterable[str]) -> Iterator[str]:
    """Yield the tables of ``UPDATE table`` and ``table.column``."""
    for privilege, _, name in (each.rpartition(" ") for each in names):
        if privilege not in ("EXECUTE", "USAGE"):
            yield name.partition(".")[0]


def _names(spec: EngineSpec) -> Iterator[Problem]:
    """Yield durations that cannot be read, and names that have another value in SQL."""
    for name, value in spec.thresholds.items():
        for of_kind, each in value.items() if isinstance(value, dict) else [("", value)]:
            try:
                duration.parse(each)
            except ValueError as error:
                yield ("thresholds", name, of_kind) if of_kind else ("thresholds", name), str(error)
    for name, option in spec.options.items():
        if name == GROUP and len(option.choices) < 2:
            yield ("options", name), "needs at least two choices"
    taken = {**dict.fromkeys(PARAMETERS, "a parameter"), **dict.fromkeys(keys_in_sql(spec), "the keys of a kind")}
    own = {f"{name}{OF_KIND}": "the threshold of a kind" for name in spec.thresholds if spec.thresholds_by}
    settings = dict.fromkeys((*spec.thresholds, *spec.options), "a threshold or an option")
    every: list[tuple[Path, str, dict[str, str]]] = [
        *((("thresholds", name), name, own) for name in spec.thresholds),
        *((("options", name), name, own) for name in spec.options),
        *((("arguments", name), name, settings) for name in spec.arguments),
    ]
    for path, name, more in every:
        if what := {**taken, **more}.get(name):
            yield path, f"has the name of {what} in statements; give it another one"


def _findings(spec: EngineSpec) -> Iterator[Problem]:
    tables = {kind.name for kind in spec.kinds if kind.table}
    for finding in spec.findings:
        if not finding.sentence:
            yield ("findings", finding.code), 'needs the setting "sentence"'
        if {*"[|]"} & {*finding.one}:
            yield ("findings", finding.code, "sentence"), "has a bracket or bar outside of [one node|several]"
        for one, there in (("least", "per_minute" in finding.least), ("renewed", finding.renewed)):
            if there and len(finding.changes) != 1:
                yield ("findings", finding.code, one), "does nothing without one number in the setting 'changes'"
        if finding.renewed and not finding.sample:
            yield ("findings", finding.code, "renewed"), "does nothing without the setting 'sample'"
        if finding.since and not finding.among and spec.kind_of(finding) not in tables:
            yield ("findings", finding.code, "kind"), "must be a kind with a table, because the finding has `since`"


def _actions(spec: EngineSpec) -> Iterator[Problem]:
    tables = {kind.name for kind in spec.kinds if kind.table}
    first: dict[tuple[str, ...], Action] = {}
    for action in spec.actions:
        at: Path = ("actions", action.name)
        if not action.kinds:
            yield at, 'needs the setting "kinds"'
        elif (action.set or action.delete) and not (len(action.kinds) == 1 and tables.issuperset(action.kinds)):
            yield (*at, "kinds"), "must be one kind with a table, for which statements are derived"
        if missing := "why" * (not action.writes and not action.why) or "effect" * (
            action.writes and not action.effect
        ):
            yield at, f'needs the setting "{missing}", because it is {action.support}'
        for place, text in action.command.items():
            if wrong := set(_PLACE.findall(text)) - {"key"}:
                yield (*at, "command", place), f"has {{{min(wrong)}}}; only {{key}} is filled in"
        when = [f"{name}={value}" for name, value in sorted(action.when.items())]
        for what, name in (("action", action.name), ("key", action.key)):
            for kind in action.kinds if name else ():
                other = first.setdefault((what, name, kind, *when), action)
                if other is not action and (what == "action" or other.name != action.name):
                    message = f"has the key {name} of {other.name}" if what == "key" else "is defined twice"
                    yield at, f"{message} for nodes of the kind {kind}"


def _claims(spec: EngineSpec) -> Iterator[Problem]:
    stateless = {kind.name for kind in spec.kinds if "status" not in kind.columns}
    for claim in spec.claim:
        if not claim.unfinished and claim.kind in stateless:
            yield ("claim", claim.kind), 'needs the setting "unfinished", because its kind has no status'


def file_faults(folder: Folder, toml: TomlFile, spec: EngineSpec, files: ParsedFiles) -> Iterator[Fault]:
    """Yield the faults of files, their sections, headers and names."""
    yield from _missing_files(folder, spec, {key_of(name) for name in (*files.statements, *files.sections)})
    yield from _unused_files(folder, spec)
    yield from _section_faults(folder, spec, files)
    yield from _header_faults(folder, spec, files)
    yield from _names_in_sql(spec, files)
    for finding in spec.findings:
        texts = [statement.text for statement in files.variants.get(finding.statement, ())]
        known = {"node", *(OF_SAMPLES if finding.sampled else ()), *(w for t in texts for w in re.findall(r"\w+", t))}
        for name in sorted(evidence_names(finding) - known) if texts else ():
            problem = f"names the evidence {name!r}, which {finding.statement}.sql does not have"
            yield toml.wrong(("findings", finding.code), problem + did_you_mean(name, known))
    for path, problem in _guesses(spec, files):
        yield toml.wrong(path, problem)
    for action in spec.actions:
        if action.writes and action.undo in (Undo.NONE, None) and not action.undo_note:
            yield toml.wrong(("actions", action.name), "cannot be undone; `undo_note` must say why")


def _guesses(spec: EngineSpec, files: ParsedFiles) -> Iterator[Problem]:
    """Yield actions of inferred findings that run work twice, delete or end it.

    A release is one of them unless witnesses refuse it for an owner that lives.
    """
    scripts = ((action.name, files.sections.get(f"actions/{action.script}.sql", {})) for action in spec.actions)
    witnessed = {name for name, sections in scripts if "witnesses" in sections}
    for finding in (each for each in spec.findings if each.proof is Proof.ASSUMED):
        for setting in ("action", "instead"):
            name = getattr(finding, setting)
            harm = HARMS["retry"] if name == RELEASE and name not in witnessed else HARMS.get(name)
            if harm:
                yield ("findings", finding.code, setting), f"{name} {harm} if the finding is wrong, and it is assumed"


def _section_faults(folder: Folder, spec: EngineSpec, files: ParsedFiles) -> Iterator[Fault]:
    edited = {f"actions/{action.script}.sql" for action in spec.actions if action.document}
    for file, sections in files.sections.items():
        required, known = ("lock", "change", *(["document"] if file in edited else [])), SECTIONS
        if file.startswith("undo/"):
            required, known = ("change", "added"), ("refused", "change", "added")
        elif file == TRY:
            required, known = (), ("claim", "progress", "finish", "fail")
        for section in required:
            if section not in sections:
                yield folder.fault(file, f"the section :{section} is missing")
        for section in sections.keys() - set(known):
            message = f"the section :{section} is not one of {', '.join(known)}"
            yield folder.fault(file, message, f"-- :{section}")


def _header_faults(folder: Folder, spec: EngineSpec, files: ParsedFiles) -> Iterator[Fault]:
    kinds = {kind.name for kind in spec.kinds}
    for part in (part for parts in files.sections.get(TRY, {}).values() for part in parts):
        for kind in sorted(set(part.kinds) - kinds):
            yield locate(part, 1, f"there is no kind of nodes {kind!r}")
    for file, statement in files.statements.items():
        for need in sorted((statement.needs | (statement.of_ids or set())) - set(spec.needs)):
            yield folder.fault(file, f"it needs {need!r}, which engine.toml does not define", "-- needs")
        for kind in sorted(set(statement.kinds) - kinds):
            yield folder.fault(file, f"there is no kind of nodes {kind!r}", "-- kinds:")
        if statement.drawn and statement.drawn not in DRAWN:
            yield folder.fault(file, f"there is no drawing {statement.drawn!r}; use {' or '.join(DRAWN)}", "-- drawn:")


def _missing_files(folder: Folder, spec: EngineSpec, present: Collection[str]) -> Iterator[Fault]:
    scripts = {action.script for action in spec.actions if action.writes}
    names = [*REQUIRED, *(finding.statement for finding in spec.findings)]
    names += [*(f"actions/{script}" for script in sorted(scripts)), *(f"undo/{t}" for t in spec.append_only)]
    for name in names:
        if name not in present:
            yield folder.fault(f"{name}.sql", "the file is missing")
    if scripts and not {"images", "rows"} & set(present):
        yield folder.fault("images.sql", "the file is missing: actions have rows to show, and no kind has a `table`")


def _unused_files(folder: Folder, spec: EngineSpec) -> Iterator[Fault]:
    """Yield files that nothing uses, which are usually misspelt."""
    used = {
        *(finding.statement for finding in spec.findings),
        *(f"samples/{finding.sample}" for finding in spec.findings),
        *(f"actions/{action.script}" for action in spec.actions),
        *(f"undo/{table}" for table in spec.recognise.relations),
        *SHAPES.keys() - {"findings", "samples"},
        key_of(SHARED),
    }
    for file in folder.statements("", "findings", "samples", "actions", "undo"):
        if key_of(file) not in used:
            of_undo = "its name is not one of the tables in recognise.relations"
            yield folder.fault(file, of_undo if file.startswith("undo/") else "nothing uses this file")


def _names_in_sql(spec: EngineSpec, files: ParsedFiles) -> Iterator[Fault]:
    """Yield undefined keys of settings and arguments, which are NULL to the server."""
    settings = {*spec.thresholds, *spec.options, "moved"}
    parts = (part for sections in files.sections.values() for run in sections.values() for part in run)
    for part in (*files.statements.values(), *parts):
        yield from _unknown_needs(part, spec.needs)
        yield from _unknown_keys(part, "settings", settings, "a threshold or an option")
        yield from _unknown_keys(part, "args", {*spec.arguments, GONE}, "an argument")


def _unknown_keys(part: Statement, parameter: str, names: Collection[str], what: str) -> Iterator[Fault]:
    """Yield the keys of a parameter that are not known."""
    for name, offset in keys_of(part, parameter):
        if name not in names:
            yield locate(part, offset + 1, f"{name!r} is not {what}{did_you_mean(name, names)}")


def _unknown_needs(part: Statement, needs: Collection[str]) -> Iterator[Fault]:
    """Yield needs in ``'name' = ANY (:met_needs)``, that are not defined."""
    number = (*part.parameters, "met_needs").index("met_needs") + 1
    for match in re.finditer(rf"'(\w+)'\s*=\s*ANY\s*\(\${number}\b", part.text):
        if match[1] not in needs:
            yield locate(part, match.start(1) + 1, f"{match[1]!r} is not a need{did_you_mean(match[1], needs)}")
