"""Short forms of settings in ``engine.toml``.

:mod:`queries.contract.spec` names them beside the types. A table of named entries may replace a list of tables with
names. Columns may be one text, a sentence has two forms, and shared settings and arguments are written once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from queries.files.written import FormError, ShortForm, TomlValue

# Patterns are texts: the program imports this module at each start, and needs them only for files outside of its cache.
_TWO_FORMS = r"\[([^][|]*)\|([^][|]*)\]"  # of a text, for one node and for several: [it|them]
_GRANT = r"([A-Z]+(?:, *[A-Z]+)*) +([^ ,]+(?:, *[^ ,]+)*)"
_COLUMN = r"(\w+)\s+([\w|*]+)"
_ADDED = ("overwrites", "privileges", "needs")  # lists of an entry of ``each`` that are added to those around it


def columns(written: TomlValue) -> TomlValue:
    """Return columns that are one text, as in ``CREATE TABLE``, as a table."""
    if not isinstance(written.value, str):
        return written
    types: dict[str, str] = {}
    for part in map(str.strip, written.value.split(",")):
        match = re.fullmatch(_COLUMN, part)
        if match is None:
            raise FormError(f"has {part!r}, which is not a name and a type")
        types[match[1]] = match[2]
    return TomlValue(types, written.at)


def named(key: str, *, text: ShortForm | None = None, each: bool = False) -> ShortForm:
    """Return the form of a list of entries that may be a table by name.

    ``key``: the setting that has the name. ``text``: the form of an entry that is not a table. ``each``: entries may
    share the settings around them.
    """

    def listed(written: TomlValue) -> TomlValue:
        if not isinstance(written.value, (dict, list)):
            return written
        entries = list(_entries(written, key, text))
        return TomlValue([one for entry in entries for one in _each(entry, key)] if each else entries, written.at)

    return listed


def _entries(written: TomlValue, key: str, text: ShortForm | None = None) -> Iterator[TomlValue]:
    """Yield the entries of a list, or of a table by name.

    A name may have several entries.
    """
    yield from written.items()
    for name, value in written.table().items():
        for entry in value.items() if isinstance(value.value, list) else [value]:
            yield _with(text(entry) if text else entry, {key: name})


def _with(written: TomlValue, settings: dict[str, Any]) -> TomlValue:
    """Return a table with these settings, if it does not have them."""
    if not isinstance(written.value, dict):
        return written
    more = {name: TomlValue(value, written.at) for name, value in settings.items()}
    return TomlValue({**more, **written.table()}, written.at)


def _each(entry: TomlValue, key: str) -> Iterator[TomlValue]:
    """Yield an entry, or those of its ``each`` with the settings around them."""
    around = entry.table()
    each = around.pop("each", None)
    if each is None or not isinstance(each.value, dict):
        yield entry
        return
    for own in _entries(each, key):
        yield _within(around, own) if isinstance(own.value, dict) else own


def _within(around: dict[str, TomlValue], entry: TomlValue) -> TomlValue:
    """Return an entry of ``each`` with the settings around it.

    Some lists, and what a finding explains, are added to those around it.
    """
    own = entry.table()
    for name in own.keys() & around.keys():
        mine, theirs = own[name], around[name]
        if name == "explains":
            own[name] = TomlValue([*_rules(mine), *_rules(theirs)], mine.at)
        elif name in _ADDED and isinstance(mine.value, list) and isinstance(theirs.value, list):
            own[name] = TomlValue([*mine.items(), *theirs.items()], mine.at)
    return TomlValue({**around, **own}, entry.at)


def words(name: str) -> str:
    """Return a name as words."""
    return name.replace("_", " ")


def status(written: TomlValue) -> TomlValue:
    """Return a status that is one text: ``phase: what it means``."""
    if not isinstance(written.value, str):
        return written
    phase, _, means = written.value.partition(":")
    return _with(TomlValue({}, written.at), {"phase": phase.strip(), "means": means.strip()})


def condition(written: TomlValue) -> TomlValue:
    """Return a condition that is one text: the SQL that ``holds``."""
    return _with(TomlValue({}, written.at), {"holds": written.value}) if isinstance(written.value, str) else written


def sentences(written: TomlValue) -> TomlValue:
    """Return a finding with the sentences for one node and for several nodes."""
    finding = written.table()
    text = finding.get("sentence")
    if text is None or not isinstance(text.value, str):
        return written
    one, several = (re.sub(_TWO_FORMS, form, text.value) for form in (r"\1", r"\2"))
    if set("[|]") & set(one):
        raise FormError("has a bracket or bar outside of [one node|several]", "sentence")
    if one == text.value:
        return written
    if "incident" in finding:
        raise FormError("is in the sentence, too, as [one node|several]", "incident")
    return TomlValue(
        {**finding, "sentence": TomlValue(one, text.at), "incident": TomlValue(several, text.at)}, written.at
    )


def explains(written: TomlValue) -> TomlValue:
    """Return rules as a list.

    They may be a table of codes, by the fields that must be equal.
    """
    return TomlValue(list(_rules(written)), written.at)


def _rules(written: TomlValue) -> Iterator[TomlValue]:
    """Yield the rules of what a finding explains."""
    if not isinstance(written.value, dict):
        yield from written.items() if isinstance(written.value, list) else [TomlValue(written.value, (*written.at, 0))]
    for fields, codes in written.table().items():
        matching = [] if fields == "engine" else re.split(r",\s*", fields)
        yield TomlValue({"findings": codes, "matching": TomlValue(matching, codes.at)}, codes.at)


def arguments(written: TomlValue) -> TomlValue:
    """Return arguments by name with their names."""
    named = {name: _with(each, {"name": name}) for name, each in written.table().items()}
    return TomlValue(named, written.at) if isinstance(written.value, dict) else written


def grants(written: TomlValue) -> TomlValue:
    """Return privileges that are written as in GRANT, each by itself."""
    if not isinstance(written.value, list):
        return written
    return TomlValue(
        [TomlValue(text, each.at) for each in written.items() for text in _privileges(each.value)], written.at
    )


def _privileges(text: Any) -> list[Any]:
    """Return each privilege of a text that is written as in GRANT."""
    match = re.fullmatch(_GRANT, text) if isinstance(text, str) else None
    if match is None:
        return [text]
    privileges, names = (re.split(r",\s*", part) for part in match.groups())
    return [f"{privilege} {name}" for name in names for privilege in privileges]
