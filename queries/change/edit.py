"""Edit a stored text: the difference, what is unusual about it, and the plan.

The text is compared with those of successful nodes of the same kind. Without any, it is compared with the stored text.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import unified_diff
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from queries.change.plan import Plan, plan_versions
from queries.db.errors import UNCHANGED, DatabaseError
from queries.read import documents, guard_token
from queries.read.documents import Document
from queries.read.reader import Reader
from queries.records.action import Edit, Mark
from queries.records.node import Node
from queries.text.counted import counted
from queries.text.json_text import PAIRS_ALIGNED, NotJson, Number, below, equal_ends, parse, pretty, respelled
from queries.workspace import Workspace

PLACES_LEARNED = 20_000  # places of the successes that are learned
MARKS_SHOWN = 200
DIFF_LINES = 1000  # lines of the difference that are shown


class TextError(DatabaseError):
    """An edited text cannot be written. ``again``: another edit may repair it."""

    def __init__(self, line: str, *, again: bool = False) -> None:
        super().__init__(line, UNCHANGED)
        self.again = again


def shown(text: str) -> str:
    """Return a stored text as the operator edits it: indented if it is JSON."""
    try:
        return "\n".join(pretty(text)) + "\n"
    except NotJson:
        return text


def edited(document: Document, text: str) -> tuple[str, Edit]:
    """Return the text to store, and the edit. Raises TextError if it cannot be stored."""
    try:
        parsed = parse(text)
    except NotJson as error:
        raise TextError(f"The text is not JSON: {error}.", again=True) from error
    before = None
    try:
        before = parse(document.text)
        stored = respelled(document.text, text)
        unchanged = document.stored == "jsonb" and before.value == parsed.value
    except NotJson:  # the stored text may be what is wrong
        unchanged, stored = False, text.strip()
    if unchanged or stored == document.text:
        raise TextError("The text is unchanged.")
    if len(stored.encode(errors="surrogatepass")) > documents.DOCUMENT_BYTES:
        raise TextError(f"The text has more than {documents.DOCUMENT_BYTES} bytes.", again=True)
    values = list(_values(document.successes))
    was = None if before is None else before.value
    learned = Learned(values or ([] if before is None else [was]), of_successes=bool(values))
    marks = learned.marks(parsed.value, was)
    edit = Edit(
        diff=tuple(_diff(document.text, stored)),
        marks=tuple(marks[:MARKS_SHOWN]),
        compared=len(values),
        scope=document.scope,
        notes=tuple(_notes(document, parsed.repeated, len(marks))),
    )
    return stored, edit


def planned(workspace: Workspace, reader: Reader, name: str, node: Node, document: Document, text: str) -> Plan:
    """Return the plan that stores an edited text. Raises TextError.

    The stored text guards it, not the node's version, which may change all the time. The change compares both.
    """
    stored, edit = edited(document, text)
    action = reader.engine.action(name, node.kind)
    argument = action.document if action is not None else None
    if argument is None:
        raise TextError(f"{name} does not edit a text.")
    guard = guard_token.token(["document"], {"document": document.digest})
    plan = plan_versions(workspace, reader.label, name, {node.id: guard}, {node.id: node.title})
    return msgspec.structs.replace(
        plan,
        nodes=(node,),
        arguments={argument.name: {"text": stored, "seen": document.digest}},
        edit=edit,
    )


async def checked(reader: Reader, node: Node, plan: Plan) -> Plan:
    """Add a note to the plan if the node changed during the edit.

    The text guards an edit, so a change of the rest does not stop it. Raises DatabaseError.
    """
    now = next(iter((await reader.nodes.read([node.id])).nodes), None)
    if plan.edit is None or now is None or now.version == node.version:
        return plan
    states = f": it was {node.status}, it is {now.status}" if now.status != node.status else ""
    note = f"Another session changed this {node.kind} while its text was edited{states}. The dry run shows the row now."
    return msgspec.structs.replace(plan, edit=msgspec.structs.replace(plan.edit, notes=(note, *plan.edit.notes)))


def _values(texts: Iterable[str]) -> Iterator[Any]:
    """Yield the values of the texts that are JSON."""
    for text in texts:
        with contextlib.suppress(NotJson):
            yield parse(text).value


def _notes(document: Document, repeated: Sequence[str], marks: int) -> Iterator[str]:
    if document.stored == "jsonb":
        yield (
            "The column is jsonb: the server stores the text in its own form, with keys in its own order and without "
            "repeated keys. Numbers keep their digits."
        )
    if repeated:
        kept = " jsonb keeps the last value." if document.stored == "jsonb" else ""
        yield f"A key occurs twice in an object: {', '.join(map(json.dumps, repeated[:5]))}.{kept}"
    if marks > MARKS_SHOWN:
        yield f"{marks - MARKS_SHOWN} more marks are not listed."


def _diff(before: str, after: str) -> Iterator[str]:
    """Yield the lines that differ in two indented texts, with two lines of context."""
    left, right = shown(before).splitlines(), shown(after).splitlines()
    start, end = equal_ends(left, right)
    from_, to = max(start - 2, 0), max(end - 2, 0)
    left, right = left[from_ : len(left) - to], right[from_ : len(right) - to]
    if len(left) * len(right) > PAIRS_ALIGNED:
        lines: Iterable[str] = (*(f"-{line}" for line in left), *(f"+{line}" for line in right))
    else:
        hunks = list(unified_diff(left, right, n=2, lineterm=""))[2:]
        lines = ("@@" if line.startswith("@@") else line for line in hunks[1:])
    for number, line in enumerate(lines):
        if number == DIFF_LINES:
            yield "@@"
            return
        yield line


class DocumentPart(NamedTuple):
    """A part of a value.

    ``place``: its path without positions in arrays. ``owner``: place of the object that it is in.
    """

    path: str
    place: str
    owner: str
    value: Any


class Learned:
    """Shape of JSON values.

    Types of each place, keys of each object, range of each number. The elements of an array are one place.
    """

    def __init__(self, values: Sequence[Any], *, of_successes: bool) -> None:
        self._of_successes = of_successes
        self._who = counted(len(values), "success") if of_successes else "the text before"
        self._types: dict[str, Counter[str]] = {}
        self._keys: dict[str, Counter[str]] = {}
        self._ranges: dict[str, list[tuple[Decimal, str]]] = {}  # lowest and highest
        for part in islice((part for value in values for part in _parts(value)), PLACES_LEARNED):
            self._learn(part.place, part.value)

    def _learn(self, place: str, value: Any) -> None:
        kind = _type(value)
        self._types.setdefault(place, Counter())[kind] += 1
        if isinstance(value, dict):
            self._keys.setdefault(place, Counter()).update(value.keys())
        if number := _decimal(value):
            ends = [*self._ranges.get(place, ()), number]
            self._ranges[place] = [min(ends), max(ends)]

    def marks(self, value: Any, before: Any) -> list[Mark]:
        """Return what is unusual about a value, first what the edit causes.

        ``before``: the value before the edit.
        """
        was = {part.path: part.value for part in _parts(before)}
        marks = [mark for part in _parts(value) for mark in self._marks(part, was)]
        return sorted(marks, key=lambda mark: not mark.new)

    def _marks(self, part: DocumentPart, was: Mapping[str, Any]) -> Iterator[Mark]:
        path, place, owner, value = part
        types, kind = self._types.get(place), _type(value)
        if types is None:
            if self._types.get(owner, Counter())["object"]:
                yield Mark(path=path, code="unknown_key", what=f"not a key in {self._who}", new=path not in was)
            return
        if kind not in types:
            what = f"{kind}, but {' or '.join(sorted(types))} in {self._who}"
            yield Mark(path=path, code="type_change", what=what, new=path not in was or _type(was[path]) != kind)
        number, ends = _decimal(value), self._ranges.get(place)
        if self._of_successes and number and ends and not ends[0][0] <= number[0] <= ends[1][0]:
            what = f"{number[1]} is not in {ends[0][1]} to {ends[1][1]}, the range in {self._who}"
            yield Mark(path=path, code="out_of_range", what=what, new=was.get(path) != value)
        if isinstance(value, dict):
            before = was.get(path)
            for key, number_of in self._keys.get(place, Counter()).items():
                if number_of == types["object"] and key not in value:
                    new = isinstance(before, dict) and key in before
                    yield Mark(path=below(path, key), code="missing_key", what=f"a key in {self._who}", new=new)


def _parts(value: Any) -> Iterator[DocumentPart]:
    """Yield a value and everything in it."""
    parts = [DocumentPart("$", "$", "", value)]
    while parts:
        part = parts.pop()
        yield part
        path, place, _, inner = part
        if isinstance(inner, dict):
            parts += [DocumentPart(below(path, k), below(place, k), place, v) for k, v in reversed(inner.items())]
        elif isinstance(inner, list):
            parts += [DocumentPart(f"{path}[{n}]", f"{place}[]", "", v) for n, v in reversed([*enumerate(inner)])]


def _type(value: Any) -> str:
    if isinstance(value, Number):
        return "number"
    return "null" if value is None else {dict: "object", list: "array", str: "string", bool: "boolean"}[type(value)]


def _decimal(value: Any) -> tuple[Decimal, str] | None:
    """Return a number with its spelling.

    None for other values, and for an exponent of 19 digits.
    """
    try:
        return (Decimal(value.text), value.text) if isinstance(value, Number) else None
    except InvalidOperation:
        return None
