"""Rules of settings in ``engine.toml`` that types cannot express: a table.

All faults are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from queries.contract.derive import keys_in_sql
from queries.contract.file_faults import NO_FILES, ParsedFiles
from queries.contract.folder import NAME, Folder
from queries.contract.id_forms import KEY_TYPES
from queries.contract.indexes import index_of
from queries.contract.phases import phases_of
from queries.contract.references import OF_KIND
from queries.contract.spec import KEYS, Action, Claim, EngineSpec, FindingSpec, Kind, Need, Option, Status, VariesSpec
from queries.files.statement import NAME as SQL_NAME
from queries.files.statement import PARAMETERS
from queries.files.strict_toml import TomlFile
from queries.files.written import Path
from queries.records.action import Undo
from queries.records.fault import Fault
from queries.records.finding import Support
from queries.text import duration
from queries.text.suggest import did_you_mean

PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "USAGE")
OF_SAMPLES = frozenset({"changes", "first", "grown", "per_minute", "span", "timeline"})  # evidence of several samples
_PLACE = re.compile(r"\{(\w+)\}")  # in a sentence or a command
_NAME = NAME.replace("{", "{{").replace("}", "}}")  # in a message
Elements = tuple[Any, ...]
Test = Callable[..., Any]


class RuleInput:
    """Folder, spec and parsed files that the rules compare.

    ``present``: names of the statements that are there; None if those that follow could not be derived.
    """

    def __init__(
        self, folder: Folder, spec: EngineSpec, files: ParsedFiles = NO_FILES, present: Collection[str] | None = None
    ) -> None:
        self.folder, self.spec, self.files, self.present = folder, spec, files, present
        self.relations = spec.recognise.relations
        self.kinds = {kind.name for kind in spec.kinds}
        self.actions = {action.name for action in spec.actions}
        self.findings = {finding.code for finding in spec.findings}
        self.symptoms = {finding.symptom for finding in spec.findings}
        self.settings = {*spec.thresholds, *spec.options}
        self.overwritten = {name for action in spec.actions for name in action.overwrites}
        self.all_are_read = all(self.is_read(action) for action in spec.actions if action.writes)
        self.statements = files.variants
        self._words: dict[str, set[str]] = {}

    def words(self, name: str) -> set[str]:
        """Return the words of a statement and its variants."""
        if name not in self._words:
            texts = (statement.text for statement in self.statements.get(name, ()))
            self._words[name] = {word for text in texts for word in re.findall(r"\w+", text)}
        return self._words[name]

    def is_read(self, action: Action) -> bool:
        """Return True if the file of an action could be parsed."""
        return f"actions/{action.script}.sql" in self.files.sections

    def texts(self, action: Action, section: str) -> list[str]:
        """Return the statements of a section of an action."""
        parts = self.files.sections.get(f"actions/{action.script}.sql", {}).get(section, ())
        return [part.text for part in parts]


class Rules(NamedTuple):
    """Rules of the settings at one path.

    The path has ``*`` for each element of a list or table. A rule has a setting below the path or "", a test, and a
    message that follows ``about``. The test takes the context and the element of each ``*``; an element of a table is a
    name and a value. It returns True or what is wrong. A message has ``{0}``, ``{1}`` ... for the elements, and
    ``{value}`` for what is wrong.
    """

    at: str
    about: str
    rules: tuple[tuple[str, Test, str], ...]


def setting_faults(toml: TomlFile, context: RuleInput, table: Iterable[Rules]) -> Iterator[Fault]:
    """Yield the faults of settings."""
    for at, about, rules in table:
        for path, elements in _elements(context.spec, at.split("."), (), ()):
            for setting, test, message in rules:
                wrong = test(context, *elements)
                for value in wrong if isinstance(wrong, (list, Iterator)) else [""] * bool(wrong):
                    text = (about + message).format(*elements, value=value)
                    yield toml.fault((*path, setting) if setting else path, text)


def _elements(value: Any, steps: list[str], path: Path, around: Elements) -> Iterator[tuple[Path, Elements]]:
    """Yield path and elements of each setting at a path."""
    if not steps:
        yield path, around or (value,)
    elif steps[0] != "*":
        yield from _elements(getattr(value, steps[0]), steps[1:], (*path, steps[0]), around)
    else:
        table = isinstance(value, dict)
        for step, each in value.items() if table else enumerate(value):
            yield from _elements(each, steps[1:], (*path, step), (*around, step, each) if table else (*around, each))


def unknown(words: Iterable[str], names: Collection[str]) -> list[str]:
    """Return the words that are no names, each with what could be meant."""
    wrong = {word for word in words if word and word not in names}
    return [f"{word!r}{did_you_mean(word, names)}" for word in sorted(wrong)]


def threshold(value: Any) -> Any:
    """Return a threshold in seconds or as a number. Raises ValueError."""
    return {k: duration.parse(v) for k, v in value.items()} if isinstance(value, Mapping) else duration.parse(value)


def evidence_names(finding: FindingSpec) -> dict[str, list[str]]:
    """Return the fields of evidence that a finding names, by its settings."""
    texts = {"sentence": [finding.sentence], "incident": [finding.incident], "arguments": finding.arguments.values()}
    texts["remedy"] = [finding.remedy]
    return {
        **{setting: [n for text in some for n in _PLACE.findall(text) if n != "n"] for setting, some in texts.items()},
        **{setting: list(getattr(finding, setting)) for setting in ("cause", "cause_text", "constant", "changes")},
        **{setting: [getattr(finding, setting) or ""] for setting in ("counter", "min_increase", "grows")},
        "explains": [name for rule in finding.explains for name in rule.matching],
    }


_EVIDENCE = tuple(evidence_names(FindingSpec(code="", sentence="")))  # settings that name fields of the evidence


def is_name(word: str) -> bool:
    """Return True if a word can be part of an id, a file's name or a setting."""
    return re.fullmatch(NAME, word) is not None


# Tests


def _no_duration(_: RuleInput, name: str, value: object) -> list[str]:
    try:
        threshold(value)
    except ValueError as error:
        return [str(error)]
    return []


def _is_privilege(text: str) -> bool:
    word, _, name = text.partition(" ")
    return word in PRIVILEGES and name != ""


def _no_privilege(c: RuleInput, privileges: Iterable[str]) -> Iterator[str]:
    for privilege in privileges:
        word, _, name = privilege.partition(" ")
        if not _is_privilege(privilege):
            yield f"{privilege!r} is not a privilege; write one of {', '.join(PRIVILEGES)} and a name"
        elif word not in ("EXECUTE", "USAGE") and name not in c.relations:
            yield f"{privilege!r}: {name} is not one of the tables in recognise.relations"


def _no_table_column(c: RuleInput, columns: Iterable[str]) -> list[str]:
    """Return the columns, as ``table.column``, of tables that are not known."""
    parts = ((column, *column.partition(".")) for column in columns)
    return [repr(column) for column, table, _, name in parts if table not in c.relations or not name]


def _no_varying(c: RuleInput, names: Iterable[str]) -> list[str]:
    """Return columns of unknown tables, but for ``schema.table.column``."""
    return _no_table_column(c, (name for name in names if name.partition(".")[0] in c.relations or name.count(".") < 2))


def _no_index(ddl: str, tables: Collection[str]) -> list[str]:
    index = index_of(ddl)
    if index is None:
        return [f"{ddl!r} is not CREATE INDEX ... ON table (columns), nor ALTER TABLE table ADD PRIMARY KEY (columns)"]
    return [] if index.table in tables else [f"there is no table {index.table!r}"]


def _no_index_of_need(c: RuleInput, name: str, need: Need) -> list[str]:
    tables = {*c.relations, *(kind.table for kind in c.spec.kinds)} - {""}
    return _no_index(need.ddl, tables) if need.ddl and need.table not in tables else []


def _no_role(c: RuleInput, role: str, pattern: str) -> bool:
    names = {*c.relations, *c.spec.recognise.enums}
    names |= {word for meaning in c.spec.own.objects for word in re.findall(r"\w+", meaning)}
    names |= {channel for worker in c.spec.workers for channel in worker.channels}
    return role not in names or role == "schema"


def _no_column_of(column: Callable[[Kind], str]) -> Test:
    """Return the test that the table of a kind has no such column."""
    return lambda c, kind: _no_column(c, kind.table, column(kind))


def _no_column(c: RuleInput, table: str, column: str) -> list[str]:
    """Return a column that a known table does not have."""
    return unknown([column], c.relations[table]) if table in c.relations else []


def _no_row_column(c: RuleInput, _: Kind, name: str) -> list[str]:
    return unknown([name], [f"{table}.{column}" for table, columns in c.relations.items() for column in columns])


def _no_column_to_set(c: RuleInput, action: Action, column: str, _: str) -> Iterator[str]:
    for table in (kind.table for kind in c.spec.kinds if kind.name in action.kinds):
        yield from (f"{table} has no column {each}" for each in _no_column(c, table, column))


def _no_status(c: RuleInput, words: Collection[str], *kinds: str) -> Iterator[str]:
    """Yield why nodes of these kinds cannot be found by statuses and phases."""
    names = [*(status.native for status in c.spec.statuses), *(status.phase.value for status in c.spec.statuses)]
    for word in words:
        if word not in names:
            yield f"{word!r} is neither a status nor a phase of one{did_you_mean(word, names)}"
    for kind in c.spec.kinds:
        if words and kind.table and kind.name in kinds and not kind.columns.get("status"):
            yield f"`columns` of the kind {kind.name} needs a status"


def _is_keys(c: RuleInput, name: str, _: object) -> bool:
    return name in keys_in_sql(c.spec)


def _is_of_kind(c: RuleInput, name: str, _: object) -> bool:
    return bool(c.spec.thresholds_by) and name.endswith(OF_KIND) and name.removesuffix(OF_KIND) in c.spec.thresholds


def _is_parameter(_: RuleInput, name: str, __: object) -> bool:
    return name in PARAMETERS


def _no_threshold(c: RuleInput, reason: str) -> list[str]:
    """Return the names in a reason that are no thresholds."""
    return unknown((name for name in _PLACE.findall(reason) if name != "status"), c.settings)


def _no_table_of(c: RuleInput, *names: str) -> bool:
    return len(names) != 1 or not any(kind.table for kind in c.spec.kinds if kind.name == names[0])


def _no_rows(c: RuleInput, claim: Claim) -> bool:
    return not claim.unfinished and not any(k.name == claim.kind and "status" in k.columns for k in c.spec.kinds)


def _other_key(c: RuleInput, kind: Kind) -> list[str]:
    types = c.relations.get(kind.table, {}).get(kind.key, "")
    return [types] if types and types.partition("|")[0] not in KEY_TYPES else []


def _no_children(c: RuleInput, kind: Kind) -> bool:
    variants = c.statements.get("children", ())
    return kind.name in c.spec.parents and bool(variants) and not any(each.is_for(kind.name) for each in variants)


def _no_phase(c: RuleInput, status: Status) -> bool:
    """Return True for a status with several phases of which no statement returns one."""
    nodes = c.statements.get("nodes", ())
    first = next(each for each in c.spec.statuses if each.native == status.native)
    several = status is first and len(phases_of(c.spec.statuses)[status.native]) > 1
    return several and bool(nodes) and not any(re.search(r"\bphase\b", each.text) for each in nodes)


def _other_view(c: RuleInput, name: str, option: Option) -> list[str]:
    views = [each for each, other in c.spec.options.items() if other.view]
    return views[:1] if option.view and name != views[0] else []


def _last_key(c: RuleInput, key: str, name: str) -> list[str]:
    keys = [each for each, other in c.spec.keys.items() if other == name]
    return keys[-1:] if key != keys[-1] else []


def _earlier(c: RuleInput, action: Action) -> Iterator[tuple[str, Action]]:
    """Yield the earlier actions in the same variant for each kind of an action."""
    before = c.spec.actions[: next(n for n, each in enumerate(c.spec.actions) if each is action)]
    for kind in action.kinds:
        yield from ((kind, each) for each in before if kind in each.kinds and each.when == action.when)


def _other_with_key(c: RuleInput, action: Action) -> list[str]:
    first: dict[str, str] = {}
    for kind, other in _earlier(c, action):
        if other.key == action.key != "":
            first.setdefault(kind, other.name)
    return [f"{name} has the key {action.key} for a {kind}" for kind, name in first.items() if name != action.name]


def _unused_argument(c: RuleInput, name: str, argument: object) -> bool:
    used = [each for action in c.spec.actions for each in action.arguments]
    return argument not in used and name not in c.settings and c.all_are_read


def _no_argument(c: RuleInput, finding: FindingSpec) -> Iterable[str]:
    names = [each.name for action in c.spec.actions if action.name == finding.action for each in action.arguments]
    return unknown(finding.arguments, names) if c.all_are_read else []


def _no_guard(c: RuleInput, *actions: Action) -> bool:
    """Return True if no section ``lock`` has the guard.

    Such actions would be refused every time.
    """
    texts = [text for action in actions for text in c.texts(action, "lock")]
    is_read = c.present is not None and any(map(c.is_read, actions))
    return is_read and not any(re.search(r"\bAS unchanged\b", text) for text in texts)


def _no_guard_of_finding(c: RuleInput, finding: FindingSpec) -> bool:
    actions = [action for action in c.spec.actions if action.name == finding.action and action.writes]
    return bool(finding.constant) and _no_guard(c, *actions)


def _no_evidence(setting: str) -> Test:
    """Return the test that the statement of a finding has no such evidence."""

    def test(c: RuleInput, finding: FindingSpec) -> Iterable[str]:
        if not getattr(finding, setting) or finding.statement not in c.statements:
            return []
        more = {"node", *(OF_SAMPLES if finding.sample else ())}
        names = (name for name in evidence_names(finding)[setting] if name not in more)
        return unknown(names, c.words(finding.statement))

    return test


# fmt: off
STATEMENT_RULES = (  # without which no statement can be derived
    Rules("kinds.*", "kind {0.name}: ", (
        ("table", lambda c, kind: unknown([kind.table], c.relations), "there is no table {value}"),
        ("key", _no_column_of(lambda kind: kind.key), "recognise.relations.{0.table} has no column {value}"),
        ("parent", _no_column_of(lambda kind: kind.parent), "recognise.relations.{0.table} has no column {value}"),
        ("dead", _no_column_of(lambda kind: kind.dead.since if kind.dead else ""),
         "recognise.relations.{0.table} has no column {value}"),
        ("key", _other_key, f"its key is {{value}}; statements are derived for {', '.join(KEY_TYPES)}"),
        ("below", lambda c, kind: unknown([kind.below] if kind.table else [], c.kinds),
         "there is no node kind {value}"),
    )),
    Rules("kinds.*.dead", "kind {0.name}: ", (
        ("from", lambda c, kind: _no_status(c, kind.dead.from_ if kind.dead else (), kind.name), "{value}"),
    )),
    Rules("kinds.*.payloads.*", "kind {0.name}: ", (
        ("", lambda c, kind, name, column: _no_column(c, kind.table, column),
         "recognise.relations.{0.table} has no column {value}"),
    )),
    Rules("kinds.*.rows.*", "kind {0.name}: ", (
        ("", _no_row_column, "recognise.relations has no column {value}"),
    )),
    Rules("statuses.*", "status {0.native}: ", (
        ("when", lambda c, status: unknown((match["name"] for match in SQL_NAME.finditer(status.when)), c.settings),
         "there is no threshold {value}"),
    )),
    Rules("findings.*", "finding {0.code}: ", (
        ("", lambda c, finding: not finding.sentence, "`sentence` is required"),
        ("", lambda c, finding: finding.since and not finding.among and _no_table_of(c, c.spec.kind_of(finding)),
         "`kind` must be a kind with a table, because it has `since`"),
        ("among", lambda c, finding: finding.among and f"parts/{finding.among}.sql" not in c.folder.files,
         "parts/{0.among}.sql is missing"),
        ("from", lambda c, finding: _no_status(c, finding.from_, c.spec.kind_of(finding)), "{value}"),
    )),
    Rules("actions.*", "action {0.name}: ", (
        ("kinds", lambda c, action: (action.set or action.delete) and action.kinds and _no_table_of(c, *action.kinds),
         "statements are derived for one kind with a table"),
        ("from", lambda c, action: _no_status(c, action.from_, *action.kinds), "{value}"),
        ("otherwise", lambda c, action: _no_threshold(c, action.otherwise), "there is no threshold {value}"),
    )),
    Rules("actions.*.refuse.*", "action {0.name}: ", (
        ("why", lambda c, action, refusal: _no_threshold(c, refusal.why), "there is no threshold {value}"),
    )),
    Rules("actions.*.set.*", "action {0.name}: ", (
        ("", _no_column_to_set, "recognise.relations: {value}"),
    )),
    Rules("claim.*", "claim.{0.kind}: ", (
        ("kind", lambda c, claim: claim.kind not in {kind.name for kind in c.spec.kinds if kind.table},
         "there is no kind with a table of this name"),
        ("conditions", lambda c, claim: not claim.conditions, "it has no condition"),
        ("unfinished", _no_rows, "it names no rows that are counted"),
        ("needs", lambda c, claim: unknown(
            sum((each.needs for each in claim.conditions), claim.needs + claim.running_needs), c.spec.needs),
         "there is no need {value}"),
        ("parts", lambda c, claim: [part for part in claim.parts if f"parts/{part}.sql" not in c.folder.files],
         "parts/{value}.sql is missing"),
        ("rows", lambda c, claim: [*claim.rows.keys() - {*claim.finders}], "`finders` does not have {value}"),
    )),
)

RULES = (
    Rules("recognise.roles.*", "recognise.roles: ", (
        ("", _no_role, "{0!r} is not one of the tables in recognise.relations, nor a name of theirs"),
        ("", lambda c, role, pattern: not re.fullmatch(r"\w*\*\w*", pattern),
         "the pattern {1!r} must be a name with one `*` in it"),
    )),
    Rules("recognise.functions.*", "recognise.functions: ", (
        ("", lambda c, function: not re.fullmatch(r"\w+\((?:\w+(?:, \w+)*)?\)", function),
         "{0!r} must be written name(type, type)"),
    )),
    Rules("needs.*", "needs.{0}: ", (("ddl", _no_index_of_need, "{value}"),)),
    Rules("thresholds.*", "thresholds.{0}: ", (
        ("", _no_duration, "{value}"),
        ("", _is_keys, "the keys of the ids of a kind have this name"),
        ("", _is_of_kind, "the threshold for a kind has this name"),
        ("", _is_parameter, "a parameter of statements has this name"),
    )),
    Rules("thresholds_by", "thresholds_by: ", (
        ("", lambda c, column: column and not re.fullmatch(r"t\.\w+(::\w+)?", column),
         "{0!r} must be a column of a row t, such as t.kind"),
    )),
    Rules("kinds.*", "kind {0.name}: ", (
        ("name", lambda c, kind: not is_name(kind.name), f"its name must match {_NAME}"),
        ("children", _no_children, "no children.sql is for it (-- kinds: {0.name})"),
    )),
    Rules("statuses.*", "status {0.native}: ", (
        ("", _no_phase, "it has several phases, so nodes.sql must return the column phase"),
    )),
    Rules("options.*", "options.{0}: ", (
        ("", _is_keys, "the keys of the ids of a kind have this name"),
        ("", _is_parameter, "a parameter of statements has this name"),
        ("view", lambda c, name, option: option.view and len(option.choices) < 2, "a view needs at least two choices"),
        ("view", _other_view, "{value} is a view already; an engine has only one"),
    )),
    Rules("keys.*", "keys.{0} ", (
        ("", lambda c, key, name: not re.fullmatch("[A-Z]", key), "is not an upper-case letter"),
        ("", lambda c, key, name: unknown([name], c.actions), "names an action that does not exist: {value}"),
        ("", lambda c, key, name: key == KEYS.get(name), "is the key of {1} without this setting"),
        ("", _last_key, "is a second key of {1}; the other one is {value}"),
    )),
    Rules("arguments.*", "arguments.{0}: ", (
        ("", lambda c, name, argument: name in c.settings, "a threshold or an option has this name"),
        ("", _is_keys, "the keys of the ids of a kind have this name"),
        ("", _is_parameter, "a parameter of statements has this name"),
        ("", _unused_argument, "no statement of an action names it"),
    )),
    Rules("actions.*", "action {0.name}: ", (
        ("name", lambda c, action: not is_name(action.name), f"its name must match {_NAME}"),
        ("name", lambda c, action: [kind for kind, other in _earlier(c, action) if other.name == action.name],
         "it is defined twice for a {value}"),
        ("key", lambda c, action: not re.fullmatch("[A-Z]?", action.key),
         "the key {0.key!r} is not an upper-case letter"),
        ("key", _other_with_key, "{value}"),
        ("", lambda c, action: not action.kinds, "`kinds` is required"),
        ("kinds", lambda c, action: unknown(action.kinds, c.kinds), "there is no node kind {value}"),
        ("needs", lambda c, action: unknown(action.needs, c.spec.needs), "there is no need {value}"),
        ("privileges", lambda c, action: _no_privilege(c, action.privileges), "{value}"),
        ("overwrites", lambda c, action: _no_table_column(c, action.overwrites),
         "{value} is no column of a known table"),
        ("", lambda c, action: not action.writes and not action.why, "it is {0.support}, so `why` is required"),
        ("", lambda c, action: action.writes and not action.effect, "`effect` is required"),
        ("command", lambda c, action: action.command and action.support is not Support.EXTERNAL,
         "only an external action has commands"),
        ("command", lambda c, action: sorted(set(_PLACE.findall(" ".join(action.command.values()))) - {"key"}),
         "{{{value}}} is not filled in; only {{key}} is"),
        ("", lambda c, action: action.writes and action.undo is None and c.is_read(action),
         "its statements overwrite nothing, so `undo_note` must say why it cannot be undone"),
        ("undo", lambda c, action: action.undo is Undo.NONE and not action.undo_note,
         "it cannot be undone, so `undo_note` is required"),
        ("arguments", lambda c, action: action.document and c.is_read(action) and not c.texts(action, "document"),
         "its file has no section :document"),
        ("arguments", lambda c, action: action.document and _no_guard(c, action),
         "its section :lock has no column `unchanged`"),
        ("", lambda c, action: action.document and c.is_read(action) and not action.compared, "`compared` is required"),
    )),
    Rules("actions.*.arguments.*", "action {0.name}: ", (
        ("", lambda c, action, argument: argument.name in PARAMETERS,
         "argument {1.name}: a parameter of statements has this name"),
    )),
    Rules("effects.*", "effects: ", (
        ("", lambda c, effect, more: _no_privilege(c, (effect, *(each for each in more if " " in each))), "{value}"),
        ("", lambda c, effect, more: _no_table_column(c, (each for each in more if " " not in each)),
         "{value} is no column of a known table"),
    )),
    Rules("undo.counters.*", "undo.counters: ", (
        ("", lambda c, name: name.partition(".")[2] not in c.relations.get(name.partition(".")[0], ()),
         "there is no column {0!r}"),
    )),
    Rules("varies", "varies: ", tuple(
        (kind, lambda c, varies, kind=kind: _no_varying(c, getattr(varies, kind)),
         "{value} is no column of a known table") for kind in VariesSpec.__struct_fields__
    )),
    Rules("undo.notes.*", "undo.notes: ", (
        ("", lambda c, name, note: unknown([name], c.overwritten) if c.all_are_read else False,
         "no action overwrites {value}"),
    )),
    Rules("redrive.revivals.*", "redrive: ", (
        ("", lambda c, revival: not any(a.name == revival.action and revival.kind in a.kinds for a in c.spec.actions),
         "{0.action!r} is not an action for a {0.kind}"),
    )),
    Rules("redrive", "redrive: ", (
        ("why", lambda c, redrive: redrive.revivals and redrive.why,
         "`why` is only for engines without an action that revives dead letters"),
    )),
    Rules("findings.*", "finding {0.code}: ", (
        ("code", lambda c, finding: not is_name(finding.code), f"its code must match {_NAME}"),
        ("code", lambda c, finding: c.present is not None and finding.statement not in c.present,
         "{0.statement}.sql is missing"),
        ("action", lambda c, finding: unknown((finding.action or "", finding.instead), c.actions),
         "there is no action {value}"),
        ("arguments", _no_argument, "{0.action} has no argument {value}"),
        ("", lambda c, finding: (finding.counter is None) != (finding.min_increase is None),
         "`counter` and `min_increase` require each other"),
        ("per_minute", lambda c, finding: finding.per_minute and not finding.grows, "`per_minute` requires `grows`"),
        *((setting, lambda c, finding, setting=setting: unknown([getattr(finding, setting) or ""], c.spec.thresholds),
           "there is no threshold {value}") for setting in ("min_changes", "seconds", "per_minute")),
        ("constant", _no_guard_of_finding, "the lock section of {0.action} has no column `unchanged`"),
        *((setting, _no_evidence(setting), "{0.statement}.sql has no evidence {value}") for setting in _EVIDENCE),
    )),
    Rules("findings.*.explains.*", "finding {0.code}: ", (
        ("findings", lambda c, _, rule: unknown(rule.findings, c.findings),
         "there is no finding {value}"),
        ("", lambda c, _, rule: unknown(rule.symptoms, c.symptoms),
         "no finding is a symptom {value}"),
    )),
    Rules("workers.*", "worker {0.title}: ", (
        ("privileges", lambda c, worker: [repr(each) for each in worker.privileges if not _is_privilege(each)],
         "{value} is not a privilege"),
    )),
    Rules("workers.*.indexes.*", "worker {0.title}: ", (
        ("", lambda c, worker, ddl: _no_index(ddl, c.relations), "{value}"),
    )),
    Rules("flow", "flow: ", (
        ("table", lambda c, flow: flow and unknown([flow.table], c.relations), "there is no table {value}"),
    )),
)
# fmt: on
