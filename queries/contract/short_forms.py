"""Short forms of ``engine.toml``, written out for :mod:`queries.contract.spec`.

A table of named entries may replace a list of tables with names. Columns may be one text, a sentence has two forms,
shared settings and arguments are written once, and what follows from a name is not written.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from queries.contract.folder import TOML, Folder
from queries.files.strict_toml import TomlError, TomlFile
from queries.files.toml_lines import Path
from queries.records.action import Risk
from queries.records.finding import Support
from queries.text.suggest import did_you_mean

Table = dict[str, Any]

# Keys and titles of the actions that many engines have. An action never means two things, and neither does its key.
KEYS = {
    "wake": "W",
    "release": "L",
    "retry": "T",
    "restart": "R",
    "cancel": "C",
    "pause": "P",
    "resume": "U",
    "edit": "J",
    "delete": "D",
    "send": "M",
    "skip": "K",
    "run_now": "N",
    "mark_failed": "X",
    "abort": "A",
}
TITLES = {"edit": "Edit and retry", "send": "Send message"}
_NAMED = {"kinds": "name", "statuses": "native", "findings": "code", "actions": "name", "workers": "title"}
_EACH = ("findings", "actions", "workers")
_ADDED = ("overwrites", "privileges", "needs")  # lists of ``each`` that are added to those around it
_FORMS = re.compile(r"\[([^][|]*)\|([^][|]*)\]")  # of a text, for one node and for several: [it|them]
_GRANT = re.compile(r"([A-Z]+(?:, *[A-Z]+)*) +([^ ,]+(?:, *[^ ,]+)*)")
_COLUMN = re.compile(r"(\w+)\s+([\w|*]+)")


class EngineToml(TomlFile):
    """An ``engine.toml``. Its faults have the lines of the short forms."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(folder.shown(TOML), folder.files.get(TOML, ""))
        self._files = folder.files
        self._written: dict[Path, Path] | None = None

    def table(self) -> tuple[Table, dict[Path, str]]:
        """Return the file's tables without short forms, and the faults of these forms."""
        table, faults = super().table()
        written = self._written = {}
        for field, key in _NAMED.items():
            if isinstance(table.get(field), dict):
                entries = list(_entries(table[field], field, key))
                table[field] = [entry for _, entry in entries]
                written |= {(field, n): path for n, (path, _) in enumerate(entries)}
        for field in _EACH:
            _each(table, field, written)
        keys, key_faults = _keys(table)
        faults = {**faults, **_columns(table), **_sentences(table, written), **key_faults}
        _arguments(table, written)
        _grants(table)
        _defaults(table, keys, self._files)
        return table, faults

    def source(self, path: Path) -> Path:
        """Return the path at which a setting is written."""
        if self._written is None:
            with contextlib.suppress(TomlError):
                self.table()
        return _source(self._written or {}, path)


def _entries(table: Mapping[str, Any], field: str, key: str) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the entry of each name. A name may have several entries."""
    for name, value in table.items():
        several = isinstance(value, list)
        for n, each in enumerate(value if several else [value]):
            entry = _status(each) if field == "statuses" else each
            yield (
                (field, name, n) if several else (field, name),
                {key: name, **entry} if isinstance(entry, dict) else entry,
            )


def _status(value: Any) -> Any:
    """Return a status from ``phase: what it means``."""
    if not isinstance(value, str):
        return value
    phase, _, means = value.partition(":")
    return {"phase": phase.strip(), "means": means.strip()}


def _source(written: Mapping[Path, Path], path: Path) -> Path:
    """Return the path at which a setting or a table around it is written."""
    known = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in written), ())
    return (*written.get(known, ()), *path[len(known) :])


def _each(table: Table, field: str, written: dict[Path, Path]) -> None:
    """Write out the entries of ``each`` with the settings around it.

    What these explain is added.
    """
    listed = table.get(field)
    if not isinstance(listed, list):
        return
    entries: list[Any] = []
    for at, entry, outside, around in list(_grouped(listed, field, written)):
        n = len(entries)
        written[field, n] = at
        entries.append(entry)
        if isinstance(entry, dict):
            written |= {(field, n, key): (*outside, key) for key in around.keys() - entry.keys()}
            rules = [*_rules(entry, at), *_rules(around, outside)]
            written |= {(field, n, "explains", m): place for m, (place, _) in enumerate(rules)}
            entries[n] = _within(around, entry) | ({"explains": [rule for _, rule in rules]} if rules else {})
    table[field] = entries


def _grouped(listed: list[Any], field: str, written: Mapping[Path, Path]) -> Iterator[tuple[Path, Any, Path, Table]]:
    """Yield path and value of each entry, and those of what is around it."""
    for n, entry in enumerate(listed):
        path = written.get((field, n), (field, n))
        if isinstance(entry, dict) and isinstance(entry.get("each"), dict):
            around = {key: value for key, value in entry.items() if key != "each"}
            for place, own in _entries(entry["each"], "each", _NAMED[field]):
                yield (*path, *place), own, path, around
        else:
            yield path, entry, path, {}


def _rules(entry: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the path and each rule of what a finding explains.

    It may be a table of codes, by the fields that must be equal.
    """
    rules = entry.get("explains", []) if isinstance(entry, dict) else []
    if not isinstance(rules, dict):
        listed = rules if isinstance(rules, list) else [rules]
        yield from (((*path, "explains", n), rule) for n, rule in enumerate(listed))
    else:
        for fields, codes in rules.items():
            matching = [] if fields == "engine" else re.split(r",\s*", fields)
            yield (*path, "explains", fields), {"findings": codes, "matching": matching}


def _sentences(table: Table, written: dict[Path, Path]) -> dict[Path, str]:
    """Write out the sentences of findings for one node and for several."""
    faults: dict[Path, str] = {}
    for n, finding in enumerate(_texts(table, "findings")):
        text = finding.get("sentence") if isinstance(finding, dict) else None
        if not isinstance(text, str):
            continue
        one, several = _FORMS.sub(r"\1", text), _FORMS.sub(r"\2", text)
        if set("[|]") & set(one):
            faults["findings", n, "sentence"] = "has a bracket or bar outside of [one node|several]"
        elif one != text and "incident" in finding:
            faults["findings", n, "incident"] = "is in the sentence, too, as [one node|several]"
        elif one != text:
            finding |= {"sentence": one, "incident": several}
            written["findings", n, "incident"] = _source(written, ("findings", n, "sentence"))
    return faults


def _within(around: Table, own: Table) -> Table:
    """Return the settings of an entry of ``each`` with those around it."""
    both = (key for key in _ADDED if isinstance(around.get(key), list) and isinstance(own.get(key), list))
    return {**around, **own, **{key: own[key] + around[key] for key in both}}


def _columns(table: Table) -> dict[Path, str]:
    """Write out relations whose columns are one text, as in ``CREATE TABLE``."""
    faults: dict[Path, str] = {}
    for name, columns in _tables(table, "recognise", "relations").items():
        if isinstance(columns, str):
            parts = [part.strip() for part in columns.split(",")]
            for part in parts:
                if not _COLUMN.fullmatch(part):
                    faults["recognise", "relations", name] = f"has {part!r}, which is not a name and a type"
            found = [match for part in parts if (match := _COLUMN.fullmatch(part))]
            _tables(table, "recognise", "relations")[name] = {match[1]: match[2] for match in found}
    return faults


def _keys(table: Table) -> tuple[dict[str, str], dict[Path, str]]:
    """Return the key of each action by its name, and the faults of ``keys``."""
    own, faults = table.pop("keys", {}), dict[Path, str]()
    if not _is_table_of(own, str):
        return KEYS, {("keys",): "must be a table of keys with the names of actions"}
    names = [str(action.get("name")) for action in _list(table, "actions")]
    found = {name: key for key, name in own.items()}
    for key, name in own.items():
        if not re.fullmatch("[A-Z]", key):
            faults["keys", key] = "is not an upper-case letter"
        elif name not in names:
            faults["keys", key] = f"names {name!r}, which is not an action{did_you_mean(name, names)}"
        elif key == KEYS.get(name):
            faults["keys", key] = f"is the key of {name} without this setting"
        elif key != found[name]:
            faults["keys", key] = f"is a second key of {name}; the other one is {found[name]}"
    return {**KEYS, **found}, faults


def _arguments(table: Table, written: dict[Path, Path]) -> None:
    """Write out arguments that are a table."""
    for n, action in enumerate(_list(table, "actions")):
        if isinstance(action.get("arguments"), dict):
            at = (*written.get(("actions", n), ("actions", n)), "arguments")
            written |= {("actions", n, "arguments", m): (*at, name) for m, name in enumerate(action["arguments"])}
            action["arguments"] = list(_named(action["arguments"]).values())
    if isinstance(table.get("arguments"), dict):
        table["arguments"] = _named(table["arguments"])


def _named(arguments: Mapping[str, Any]) -> Table:
    return {name: {"name": name, **each} if isinstance(each, dict) else each for name, each in arguments.items()}


def _grants(table: Table) -> None:
    """Write out privileges that are written as in GRANT."""
    for worker in _list(table, "workers"):
        for key in ("privileges", "queues"):
            if isinstance(worker.get(key), list):
                worker[key] = [part for each in worker[key] for part in _privileges(each)]


def _privileges(text: Any) -> list[Any]:
    """Return each privilege of a text that is written as in GRANT."""
    match = _GRANT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return [text]
    words, names = (re.split(r",\s*", part) for part in match.groups())
    return [f"{word} {name}" for name in names for word in words]


def _defaults(table: Table, keys: Mapping[str, str], files: Collection[str]) -> None:
    """Add titles, keys, files, types, tables and risks that follow, and kinds."""
    undone = [file[len("undo/") : -len(".sql")] for file in sorted(files) if file.startswith("undo/")]
    if undone and isinstance(table.setdefault("undo", {}), dict):
        table["undo"].setdefault("append_only", undone)
    kinds = [kind["name"] for kind in _list(table, "kinds") if isinstance(kind.get("name"), str)]
    for kind in _list(table, "kinds"):
        kind.setdefault("title", _words(kind.get("name")))
    for option in _tables(table, "options").values():
        if isinstance(option, dict) and isinstance(option.get("default"), dict):
            option.setdefault("type", "map")
    for finding in _list(table, "findings"):
        finding.setdefault("title", _words(finding.get("code")))
    for action in _list(table, "actions"):
        if len(kinds) == 1:
            action.setdefault("kinds", kinds)
        if action.get("why"):
            action.setdefault("support", Support.EMULATED.value)
        if action.get("confirm") == "typed":
            action.setdefault("risk", Risk.HIGH.value)
    for action in _list(table, "actions"):
        _named_like(action, _list(table, "actions"), keys)
        own = [f"{action.get('name')}_{kind}" for kind in kinds if kind in _texts(action, "kinds")]
        file = next((file for file in own if f"actions/{file}.sql" in files), "")
        if file:
            action.setdefault("file", file)


def _named_like(action: Table, actions: list[Table], keys: Mapping[str, str]) -> None:
    """Add title and key.

    An action that unstick cannot carry out has them, and its kinds, as the others of its name.
    """
    name = str(action.get("name"))
    does = action.get("support") in (None, Support.NATIVE, Support.EMULATED)
    same = [] if does else [each for each in actions if each.get("name") == name]
    title = TITLES.get(name, _words(name).capitalize())
    for field, default in (("title", title), ("key", keys.get(name, ""))):
        action.setdefault(field, next((each[field] for each in same if field in each), default))
    if of_same := [kind for each in same for kind in _texts(each, "kinds")]:
        action.setdefault("kinds", list(dict.fromkeys(of_same)))


def _words(name: Any) -> str:
    return name.replace("_", " ") if isinstance(name, str) else ""


def _list(table: Table, field: str) -> list[Table]:
    entries = table.get(field)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _texts(table: Table, field: str) -> list[Any]:
    texts = table.get(field)
    return texts if isinstance(texts, list) else []


def _tables(table: Table, *path: str) -> Table:
    for name in path:
        table = table.get(name, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


def _is_table_of(value: Any, kind: type) -> bool:
    return isinstance(value, dict) and all(isinstance(each, kind) for each in value.values())
