"""Short forms of ``engine.toml``, written out.

Tables of named entries become lists, and entries in ``each`` share the settings around them. Columns may be one text,
and privileges are written as in GRANT. A value that is no form stays as it is: its type is
checked afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from queries.contract.spec import Action, Argument, Claim, Condition, EngineSpec, FindingSpec, Kind, Status, Worker
from queries.files.toml_file import SettingError
from queries.records.record import Record

_NAMED: dict[str, type[Record]] = {
    "kinds": Kind,
    "statuses": Status,
    "findings": FindingSpec,
    "actions": Action,
    "workers": Worker,
    "claim": Claim,
}  # tables of named entries
_SHARING = ("findings", "actions", "workers")  # tables whose entries may have ``each``


def in_full(document: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of ``engine.toml`` without short forms. Raises SettingError."""
    full = {**document, **{name: _entries(document.get(name), name) for name in _NAMED}}
    _refuse_derived(document, EngineSpec)
    if isinstance(recognise := full.get("recognise"), dict) and "relations" in recognise:
        full["recognise"] = {**recognise, "relations": _of_table(recognise["relations"], _columns)}
    full["arguments"] = _of_table(full.get("arguments"), lambda name, each: _entry(name, each, Argument, "arguments"))
    for name, form in (("workers", _worker), ("claim", _claim)):
        if isinstance(full[name], list):
            full[name] = [form(dict(entry)) if isinstance(entry, dict) else entry for entry in full[name]]
    return {name: value for name, value in full.items() if value is not None}


def _entries(written: Any, table: str) -> Any:
    """Return the entries of a table by name as a list, with those that share settings."""
    record = _NAMED[table]
    for around in (each for each in written if isinstance(each, dict)) if isinstance(written, list) else ():
        _refuse_derived(around, record, table)
    full = _named(written, record, table, form=_status if table == "statuses" else None)
    if table in _SHARING and isinstance(full, list):
        full = [one for entry in full for one in _each(entry, record, table)]
    if isinstance(full, list) and not all(record.DERIVED[0] in each for each in full if isinstance(each, dict)):
        raise SettingError(f"has an entry without a name; write [{table}.NAME]", table)
    return full


def _refuse_derived(written: dict[str, Any], record: type[Record], *path: str) -> None:
    """Refuse names that follow from others. Raises SettingError."""
    for name in (name for name in record.DERIVED if name in written):
        raise SettingError("is not a setting: it follows from others", *path, name)


def _of_table(written: Any, form: Callable[[str, Any], Any]) -> Any:
    """Return a table with this form of each value."""
    return {name: form(name, value) for name, value in written.items()} if isinstance(written, dict) else written


def _entry(name: str, written: Any, record: type[Record], *path: str) -> Any:
    """Return an entry with its name."""
    if not isinstance(written, dict):
        return written
    _refuse_derived(written, record, *path, name)
    return {record.DERIVED[0]: name, **written}


def _named(written: Any, record: type[Record], *path: str, form: Callable[[Any], Any] | None = None) -> Any:
    """Return the entries of a table by name as a list.

    A name may have several entries. ``form``: of an entry that is one text.
    """
    if not isinstance(written, dict):
        return written
    several = ((name, value if isinstance(value, list) else [value]) for name, value in written.items())
    return [
        _entry(name, form(entry) if form else entry, record, *path) for name, entries in several for entry in entries
    ]


def _each(entry: Any, record: type[Record], table: str) -> Iterator[Any]:
    """Yield an entry, or those of its ``each`` with the settings around them.

    Privileges, the evidence, and what a finding explains, are added to those around it.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("each"), dict):
        yield entry
        return
    around = {name: value for name, value in entry.items() if name != "each"}
    for own in _named(entry["each"], record, table):
        yield (
            {**around, **own, **_added(own, around, "explains", "privileges", "evidence")}
            if isinstance(own, dict)
            else own
        )


def _added(own: dict[str, Any], around: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return lists that both have, the own one first, and tables of them."""
    added: dict[str, Any] = {}
    for name in own.keys() & around.keys() & set(names):
        lists, tables = (all(isinstance(each[name], kind) for each in (own, around)) for kind in (list, dict))
        if lists:
            added[name] = [*own[name], *around[name]]
        elif tables:
            added[name] = {**around[name], **own[name], **_added(own[name], around[name], *own[name])}
    return added


def _columns(table: str, written: Any) -> Any:
    """Return columns that are one text, as in ``CREATE TABLE``, as a table."""
    if not isinstance(written, str):
        return written
    parts = [part.strip() for part in written.split(",")]
    if wrong := [part for part in parts if not re.fullmatch(r"\w+\s+[\w|*]+", part)]:
        raise SettingError(f"has {wrong[0]!r}, which is not a name and a type", "recognise", "relations", table)
    return dict(part.split() for part in parts)


def _status(written: Any) -> Any:
    """Return a status that is one text: ``phase: what it means``."""
    if not isinstance(written, str):
        return written
    phase, _, means = written.partition(":")
    return {"phase": phase.strip(), "means": means.strip()}


def _worker(worker: dict[str, Any]) -> dict[str, Any]:
    """Return a worker whose privileges are each by itself."""
    if isinstance(written := worker.get("privileges"), list):
        worker["privileges"] = [one for text in written for one in _privileges(text)]
    return worker


def _privileges(text: Any) -> list[Any]:
    match = re.fullmatch(r"([A-Z]+(?:, *[A-Z]+)*) +([^ ,]+(?:, *[^ ,]+)*)", text) if isinstance(text, str) else None
    if match is None:
        return [text]
    privileges, names = (re.split(r",\s*", part) for part in match.groups())
    return [f"{privilege} {name}" for name in names for privilege in privileges]


def _claim(claim: dict[str, Any]) -> dict[str, Any]:
    """Return a claim with a list of conditions. A text is the SQL that ``holds``."""
    if "conditions" not in claim:
        return claim
    path = ("claim", claim["kind"], "conditions")
    conditions = _named(claim["conditions"], Condition, *path, form=_holds)
    return {**claim, "conditions": conditions}


def _holds(text: Any) -> Any:
    return {"holds": text} if isinstance(text, str) else text
