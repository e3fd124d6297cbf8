"""Filter language, as typed after ``/``.

    failed mail              both words, anywhere in title, id, status, error or owner; case does not matter
    "two words"              quotes for spaces, colons and an exclamation mark; ``\\"`` and ``\\\\`` within
    status:blocked           starts with the word; ``status:=blocked`` is equal to it; ``phase:failed,held``: either
    age:>2h  idle:<30s       since created, since changed: us ms s m h d w, also 1h30m
    revision:>100            > >= < <= =
    cpu:>2s  poll:>1m        time measured by the engine
    payload.customer.id:42   value in a stored JSON text; a key with a blank in quotes: payload."a b":42
    finding:overdue          has a finding whose code starts with the word
    finding:any  owner:none  has one, has none
    !phase:done              negated

    @nightly                 the saved filter of this name

Terms are joined by "and". A number or time that the engine does not record matches no comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Generic, TypeVar

from console.model.fields.field import DURATIONS, NOTHING, WORDS, Context, Field, Form, texts_of
from console.model.fields.node import FIELDS as NODE_FIELDS
from console.model.fields.payload import PREFIX, payload_field
from queries.records.record import Record
from queries.text import duration
from queries.text.suggest import suggest

T = TypeVar("T")


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


def word_of(filter: Filter) -> str:
    """Return the longest word of a filter that a search of the database takes, or ""."""
    names = {"", *(field.name for field in NODE_FIELDS if field.searched)}
    terms = (term for term in filter.terms if term.field in names and not term.negated)
    words = [value.text for term in terms for value in term.values if value.text not in (ANY, NONE)]
    return max(words, key=len, default="")


_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "": lambda a, b: a == b,
    "=": lambda a, b: a == b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}

_FIELD: Final = re.compile(r'([A-Za-z_](?:[\w.-]|(?<=\.)"[^"]+")*):')
_SAVED: Final = re.compile(r"@([\w-]+)(?=\s|$)")
_OP: Final = re.compile(r"[<>]=?|=|")
_BARE: Final = re.compile(r'[^\s"]+')
_ITEM: Final = re.compile(r'[^\s",]+')
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_PLAIN: Final = re.compile(r'[^\s"!:<>=,][^\s":,]*')
_PLAIN_WORD: Final = re.compile(r'[^\s"!:][^\s":]*')

ANY, NONE = "any", "none"
"""Values of each word field: the item has a value, it has none."""


NO_SAVED: Final[Mapping[str, str]] = {}


def _no_field(_: str) -> None:
    return None


class Fields(Generic[T]):
    """Fields of the items of a list: its columns, and what it can be filtered by."""

    def __init__(self, fields: Sequence[Field[T]], more: Callable[[str], Field[T] | None] = _no_field) -> None:
        """Take the fields.

        ``more`` returns those whose names are not known before.
        """
        self.columns: Final = tuple(field for field in fields if field.title)
        self._fields = {field.name: field for field in fields if field.form is not None}
        self._more = more
        self._searched = [field for field in fields if field.searched]
        self.names: Final = tuple(sorted(self._fields))

    def named(self, name: str) -> Field[T] | None:
        """Return the field of this name."""
        return self._fields.get(name) or self._more(name)

    def matches(self, filter: Filter, context: Context) -> Callable[[T], bool]:
        """Return a test, made once for all items, at the server time ``context.now``."""
        tests = [self._test(term, context) for term in filter.terms]
        return tests[0] if len(tests) == 1 else lambda item: all(test(item) for test in tests)

    def values(self, name: str, items: Iterable[T], context: Context = NOTHING) -> list[str]:
        """Return the values of a word field that occur in these items, sorted."""
        field = self.named(name)
        if field is None or field.form not in WORDS:
            return []
        return sorted({text for item in items for text in field.texts(item, context)})

    def _test(self, term: Term, context: Context) -> Callable[[T], bool]:
        field = self.named(term.field) if term.field else None
        if field is not None:
            test, is_read = _field_test(field, term.values, context), field.is_read
        elif term.field:
            return lambda item: term.negated
        else:
            test, is_read = _word_test([each.read(context) for each in self._searched], term.values[0].text), None
        if is_read is not None:
            return lambda item: is_read(item, context) and test(item) != term.negated
        return (lambda item: not test(item)) if term.negated else test


def _word_test(reads: Sequence[Callable[[T], Any]], text: str) -> Callable[[T], bool]:
    word = text.casefold()

    def test(item: T) -> bool:
        for read in reads:
            value = read(item)
            if value and word in (value if isinstance(value, str) else "\0".join(filter(None, value))).casefold():
                return True
        return False

    return test


def _field_test(field: Field[T], values: Sequence[Value], context: Context) -> Callable[[T], bool]:
    read = field.read(context)
    if field.form in WORDS:
        tests = [_text_test(value, part=field.form is Form.PART) for value in values]

        def fits(item: T) -> bool:
            texts = [each.casefold() for each in texts_of(read(item))]
            return any(test(texts) for test in tests)

        return fits
    compared = [(_COMPARE[value.op], value.number) for value in values]

    def compares(item: T) -> bool:
        number = read(item)
        if number is not None and field.form is Form.AGE:
            number = context.now - number
        return number is not None and any(compare(number, other) for compare, other in compared)

    return compares


def allows(term: Term, word: str) -> bool:
    """Return True if a word that an item always has, such as its kind, matches a term."""
    return any(_text_test(value, part=False)([word.casefold()]) for value in term.values) != term.negated


def _text_test(value: Value, *, part: bool) -> Callable[[Sequence[str]], bool]:
    word = value.text.casefold()
    if value.op == "=":
        return lambda texts: word in texts
    if word in (ANY, NONE):
        return lambda texts: bool(texts) == (word == ANY)
    return lambda texts: any(word in each if part else each.startswith(word) for each in texts)


NODES: Final = Fields(NODE_FIELDS, payload_field)


@cache
def lists() -> dict[str, Fields[Any]]:
    """Return the fields of each list, by its mode; "": of all nodes."""
    from console.model.fields import audit_entry, change, dead_letter, incident  # which the start does not need

    others = {"dead": dead_letter, "audit": audit_entry, "stuck": incident, "changed": change}
    return {"": NODES} | {mode: Fields(of.FIELDS) for mode, of in others.items()}


def parse(text: str, fields: Fields[Any] = NODES, saved: Mapping[str, str] = NO_SAVED) -> Filter:
    """Parse a filter for items with these fields. Raise FilterError.

    ``@name`` is replaced by the saved filter of this name; a name that is not saved is a word.
    """
    terms: list[Term] = []
    at = _spaces(text, 0)
    while at < len(text):
        name = _SAVED.match(text, at)
        if name is not None and name[1] in saved:
            terms += parse(saved[name[1]], fields).terms
            at = name.end()
        else:
            term, at = _term(text, at, fields)
            terms.append(term)
        if at < len(text) and not text[at].isspace():
            raise FilterError("a space is missing before this", at)
        at = _spaces(text, at)
    return Filter(terms=tuple(terms))


def completion(text: str, fields: Fields[Any], values: Callable[[str], Iterable[str]], saved: Iterable[str]) -> str:
    """Return the text with its last term completed, or "" if nothing fits.

    Args:
        text: a filter that is being typed, the cursor at its end.
        fields: the fields of the list.
        values: returns the values of a field that occur in the list.
        saved: names of saved filters.
    """
    last = text[max(text.rfind(" "), text.rfind("!")) + 1 :]
    head = _FIELD.match(last)
    if head is not None:
        typed = last[head.end() :].rpartition(",")[2].removeprefix("=").casefold()
        name = head[1].lower()
        field = fields.named(name)
        words = (field.words if field is not None else ()) or values(name)
        candidates = [word for word in words if _PLAIN.fullmatch(word)]
    else:
        typed = last.casefold()
        candidates = [*(f"{name}:" for name in fields.names), *(f"@{name}" for name in saved)]
    fit = next((word for word in candidates if word.casefold().startswith(typed) and word.casefold() != typed), "")
    return text + fit[len(typed) :] if typed and fit else ""


def names_fields(filter: Filter, fields: Fields[Any]) -> bool:
    """Return True if the filter names fields, and only fields of these."""
    names = [term.field for term in filter.terms if term.field]
    return bool(names) and all(fields.named(name) for name in names)


def uses_payloads(filter: Filter) -> bool:
    """Return True if the filter compares stored texts."""
    return any(term.field.startswith(PREFIX) for term in filter.terms)


def _spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _term(text: str, at: int, fields: Fields[Any]) -> tuple[Term, int]:
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
    field = fields.named(name)
    if field is None:
        raise FilterError(_unknown(name, fields), at)
    at = head.end()
    values = []
    while True:
        value, at = _value(field, text, at)
        values.append(value)
        if not text.startswith(",", at):
            return Term(field=name, values=tuple(values), negated=negated), at
        at += 1


def _unknown(name: str, fields: Fields[Any]) -> str:
    near = suggest(name, fields.names, cutoff=0.5)
    hint = f"did you mean {near}:?" if near else f"there are {', '.join(fields.names)}"
    return f'no field {name}: - {hint} (to search for the text, quote it: "{name}:...")'


def _value(field: Field[Any], text: str, at: int) -> tuple[Value, int]:
    name, timed = field.name, field.form in DURATIONS
    op = _OP.match(text, at)
    sign = op[0] if op is not None else ""
    content, end = _value_text(text, at + len(sign), _ITEM)
    if not content:
        raise FilterError(f"{name}: needs a value, e.g. {_example(field)}", at)
    if field.form in WORDS:
        if sign not in ("", "="):
            raise FilterError(f"{name}: is a word and cannot be compared with {sign}", at)
        _check_word(field, content, sign, at)
        return Value(text=content, op=sign), end
    if timed and sign in ("", "="):
        raise FilterError(f"{name}: is compared with > or <, e.g. {_example(field)}", at)
    number = _seconds(content) if timed else _number(content)
    if number is None:
        raise FilterError(f"{name}: cannot read {content!r}, e.g. {_example(field)}", at + len(sign))
    return Value(text=content, op=sign, number=number), end


def _check_word(field: Field[Any], content: str, sign: str, at: int) -> None:
    lower, words = content.casefold(), field.words
    if not words or any(word == lower if sign else word.startswith(lower) for word in words):
        return
    near = suggest(lower, words, cutoff=0.5)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(words)}"
    raise FilterError(f"no {field.name} {content!r} - {hint}", at)


def _example(field: Field[Any]) -> str:
    if field.form in WORDS:
        return f"{field.name}:{next(iter(field.words), ANY)}"
    return f"{field.name}:>{'2h' if field.form in DURATIONS else 3}"


def _value_text(text: str, at: int, bare: re.Pattern[str]) -> tuple[str, int]:
    """Return the quoted or bare value at this position and its end; "" if missing."""
    if text.startswith('"', at):
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise FilterError("the quote is not closed", at)
        return re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL), quoted.end()
    match = bare.match(text, at)
    return (match[0], match.end()) if match is not None else ("", at)


def _quoted(text: str, in_field: bool) -> str:
    if (_PLAIN if in_field else _PLAIN_WORD).fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _seconds(text: str) -> float | None:
    try:
        return duration.parse(text)
    except ValueError:
        return None


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None
