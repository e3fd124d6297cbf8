"""Filter language, as typed after ``/``.

    failed mail              both words, anywhere in title, id, status, error or owner; case does not matter
    "two words"              quotes for spaces, colons and an exclamation mark; ``\\"`` and ``\\\\`` within
    status:blocked           starts with the word; ``status:=blocked`` is equal to it; ``phase:failed,held``: either
    age:>2h  idle:<30s       since created, since changed: us ms s m h d w, also 1h30m
    revision:>100            > >= < <= =
    finding:any              has a finding; ``finding:overdue`` has one whose code starts with the word
    !phase:done              negated

Terms are joined by "and". A number or time that the engine does not record matches no comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from queries import duration
from queries.model import Node, Phase, Record
from queries.suggest import suggest

Codes = Mapping[str, Collection[str]]
"""Codes of findings by node id, from the console's own samples. ``Node.findings`` has those of the database."""


class FilterError(ValueError):
    """Error in a filter: a sentence for the operator, and a position (from 0)."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class Value(Record):
    """Value that a field is compared with.

    ``number`` is its value in a comparison of numbers or times.
    """

    text: str
    op: str = ""  # "" is "starts with" for words and "equal" for numbers
    number: float = 0.0


class Term(Record):
    """A word (``field`` is empty, one value) or ``field:value,value``."""

    field: str
    values: tuple[Value, ...]
    negated: bool = False

    def __str__(self) -> str:
        values = ",".join(value.op + _quoted(value.text, bool(self.field)) for value in self.values)
        return "!" * self.negated + (f"{self.field}:" if self.field else "") + values


class Filter(Record):
    """Terms that all have to match. A filter without terms matches everything."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))


Read = Callable[[Node, float], float | None]
Test = Callable[[Node, Value, Codes], bool]


def _starts_with(get: Callable[[Node], str | None]) -> Test:
    def test(node: Node, value: Value, _: Codes) -> bool:
        found = (get(node) or "").casefold()
        wanted = value.text.casefold()
        return found == wanted if value.op == "=" else found.startswith(wanted)

    return test


def _contains(get: Callable[[Node], str | None]) -> Test:
    def test(node: Node, value: Value, _: Codes) -> bool:
        found = (get(node) or "").casefold()
        wanted = value.text.casefold()
        return found == wanted if value.op == "=" else wanted in found

    return test


def _finding(node: Node, value: Value, codes: Codes) -> bool:
    found = [*node.findings, *codes.get(node.id, ())]
    wanted = value.text.casefold()
    if not value.op and wanted in ("any", "none"):
        return bool(found) == (wanted == "any")
    return any(code == wanted if value.op == "=" else code.startswith(wanted) for code in map(str.casefold, found))


WORDS: Final[dict[str, Test]] = {
    "status": _starts_with(lambda node: node.status),
    "phase": _starts_with(lambda node: node.phase),
    "kind": _starts_with(lambda node: node.kind),
    "engine": _starts_with(lambda node: node.engine),
    "owner": _contains(lambda node: node.owner),
    "finding": _finding,
}
TIMES: Final[dict[str, Read]] = {
    "age": lambda node, now: None if node.created_at is None else now - node.created_at,
    "idle": lambda node, now: None if node.changed_at is None else now - node.changed_at,
}
NUMBERS: Final[dict[str, Read]] = {
    "revision": lambda node, _: node.revision,
    "attempts": lambda node, _: node.attempts,
}
MEASURES: Final = TIMES | NUMBERS
FIELDS: Final = tuple(sorted(WORDS | MEASURES))

_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "": lambda a, b: a == b,
    "=": lambda a, b: a == b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}

_FIELD: Final = re.compile(r"([A-Za-z_]+):")
_OP: Final = re.compile(r"[<>]=?|=|")
_BARE: Final = re.compile(r'[^\s"]+')
_ITEM: Final = re.compile(r'[^\s",]+')
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_PLAIN: Final = re.compile(r'[^\s"!:<>=,][^\s":,]*')
_PLAIN_WORD: Final = re.compile(r'[^\s"!:][^\s":]*')


def parse(text: str) -> Filter:
    """Parse a filter. Raise FilterError."""
    terms: list[Term] = []
    at = _spaces(text, 0)
    while at < len(text):
        term, at = _term(text, at)
        terms.append(term)
        if at < len(text) and not text[at].isspace():
            raise FilterError("a space is missing before this", at)
        at = _spaces(text, at)
    return Filter(terms=tuple(terms))


def matches(filter: Filter, node: Node, now: float, findings_by_id: Codes) -> bool:
    """Return True if a node matches at the server time ``now``."""
    return all(_matches(term, node, now, findings_by_id) != term.negated for term in filter.terms)


def _matches(term: Term, node: Node, now: float, codes: Codes) -> bool:
    if not term.field:
        wanted = term.values[0].text.casefold()
        texts = (node.title, node.id, node.status, node.error, node.owner)
        return any(text is not None and wanted in text.casefold() for text in texts)
    read = MEASURES.get(term.field)
    if read is None:
        return any(WORDS[term.field](node, value, codes) for value in term.values)
    number = read(node, now)
    return number is not None and any(_COMPARE[value.op](number, value.number) for value in term.values)


def _spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _term(text: str, at: int) -> tuple[Term, int]:
    start = at
    negated = text[at] == "!"
    at += negated
    head = _FIELD.match(text, at)
    if head is None:
        word, at = _value_text(text, at, _BARE)
        if not word:
            raise FilterError("a word is missing" + " after the !" * negated, start)
        return Term(field="", values=(Value(text=word),), negated=negated), at
    name = head[1].lower()
    if name not in WORDS and name not in MEASURES:
        raise FilterError(_unknown(name), at)
    at = head.end()
    values = []
    while True:
        value, at = _value(name, text, at)
        values.append(value)
        if not text.startswith(",", at):
            return Term(field=name, values=tuple(values), negated=negated), at
        at += 1


def _unknown(name: str) -> str:
    near = suggest(name, FIELDS, cutoff=0.5)
    hint = f"did you mean {near}:?" if near else f"there are {', '.join(FIELDS)}"
    return f'no field {name}: - {hint} (to search for the text, quote it: "{name}:...")'


def _value(field: str, text: str, at: int) -> tuple[Value, int]:
    op = _OP.match(text, at)
    sign = op[0] if op is not None else ""
    found, end = _value_text(text, at + len(sign), _ITEM)
    if not found:
        raise FilterError(f"{field}: needs a value, e.g. {_example(field)}", at)
    if field in WORDS:
        if sign not in ("", "="):
            raise FilterError(f"{field}: is a word and cannot be compared with {sign}", at)
        if field == "phase":
            _check_phase(found, sign, at)
        return Value(text=found, op=sign), end
    if field in TIMES and sign in ("", "="):
        raise FilterError(f"{field}: is compared with > or <, e.g. {_example(field)}", at)
    number = _seconds(found) if field in TIMES else _number(found)
    if number is None:
        raise FilterError(f"{field}: cannot read {found!r}, e.g. {_example(field)}", at + len(sign))
    return Value(text=found, op=sign, number=number), end


def _check_phase(found: str, sign: str, at: int) -> None:
    wanted = found.casefold()
    if any(phase == wanted if sign else phase.startswith(wanted) for phase in Phase):
        return
    near = suggest(wanted, Phase, cutoff=0.5)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(Phase)}"
    raise FilterError(f"no phase {found!r} - {hint}", at)


def _example(field: str) -> str:
    examples = {"phase": "phase:failed", "finding": "finding:any"}
    return examples.get(field) or (
        f"{field}:>2h" if field in TIMES else f"{field}:>3" if field in NUMBERS else f"{field}:a"
    )


def _value_text(text: str, at: int, bare: re.Pattern[str]) -> tuple[str, int]:
    """Return the quoted or bare value at this position and its end; "" if missing."""
    if text.startswith('"', at):
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise FilterError("the quote is not closed", at)
        return re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL), quoted.end()
    found = bare.match(text, at)
    return (found[0], found.end()) if found is not None else ("", at)


def _quoted(text: str, in_field: bool) -> str:
    if (_PLAIN if in_field else _PLAIN_WORD).fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _seconds(text: str) -> float | None:
    """Return the seconds of ``1h30m``, or None if it is not a duration."""
    try:
        return duration.parse(text)
    except ValueError:
        return None


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None
