"""Functions, types and operators that a statement names.

The text alone is read, before a server sees it. Every name before a parenthesis counts as a function, unless a keyword
shows that it is none. Reads run with a search_path of ``pg_catalog``, so a name without a schema is one of the server.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from queries.contract.engine import Engine
from queries.files.statement import Statement, locate
from queries.records.fault import Fault
from queries.records.record import Record
from queries.text.psql_text import named

SERVER = "pg_catalog"
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
      | (?P<comment>/\*)
      | (?P<text>[eE]'(?:[^'\\]|\\.|'')*'|(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*'|\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$)
      | (?P<bound>:"\w+"|:'\w+'|\$\d+)
      | (?P<name>(?:[uU]&)?"(?:[^"]|"")*"|[^\W\d][\w$]*)
      | (?P<number>\d[\w.]*)
      | (?P<cast>::)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_TYPES = frozenset(["bpchar", "timestamptz", "timetz", "varbit"])  # with a number of digits
_FIRST = frozenset(("select", "with", "values", "table"))
_WRITES = frozenset(("insert", "update", "delete", "merge"))


class Allowed(Record, forbid_unknown_fields=True):
    """The content of ``allowed_functions.toml``."""

    keywords: str
    reads: dict[str, tuple[str, ...]]
    actions: tuple[str, ...]


class Token(Record):
    """A part of a statement's text.

    ``word``: a name without quotes in lower case, else the name.
    """

    kind: str
    text: str
    word: str
    at: int


@cache
def allowed() -> Allowed:
    """Return the functions that a folder may call."""
    from queries.files.toml_file import TomlFile  # a command that reads no folder of its own does not need it

    path = Path(__file__).parent / "allowed_functions.toml"
    return TomlFile(str(path), path.read_text("utf-8")).decode(Allowed)


@cache
def _keywords() -> frozenset[str]:
    return frozenset(allowed().keywords.split()) | _TYPES


@cache
def functions(*, action: bool) -> frozenset[str]:
    """Return the allowed functions of a read, or of an action."""
    names = {name for group in allowed().reads.values() for name in group}
    return frozenset(names | set(allowed().actions) if action else names)


def engine_faults(engine: Engine) -> tuple[Fault, ...]:
    """Return what the statements of an engine may not call."""
    spec, columns = engine.spec, (each for table in engine.spec.recognise.relations.values() for each in table.values())
    types = {name.removeprefix("_") for each in columns for name in each.split("|")}
    types |= {*spec.recognise.types}
    calls = (*spec.recognise.functions, *(each for need in spec.needs.values() for each in need.functions))
    own = {each.partition("(")[0] for each in calls}
    reads = (each for variants in engine.statements.values() for each in variants)
    writes = (each for parts in engine.actions.values() for some in parts.values() for each in some)
    faults = [fault for each in reads for fault in call_faults(each, types, own)]
    faults += [fault for each in writes for fault in call_faults(each, types, own, action=True)]
    return tuple(sorted(set(faults)))


def call_faults(
    statement: Statement, types: Collection[str] = (), own: Collection[str] = (), *, action: bool = False
) -> Iterator[Fault]:
    """Yield what a statement may not call, each with its file and line.

    ``types``: types of the engine. ``own``: functions of the engine that it may call. ``action``: a part of an action.
    """
    for at, message in _wrong(statement.text, types, own, action=action):
        yield locate(statement, at + 1, message)


def _wrong(text: str, types: Collection[str], own: Collection[str], *, action: bool) -> Iterator[tuple[int, str]]:
    tokens = tokens_of(text)
    first = next((t for t in tokens if t.text != "("), None)
    if first is None or first.word not in (_FIRST | _WRITES if action else _FIRST):
        words = "SELECT, WITH or VALUES" + (", INSERT, UPDATE, DELETE or MERGE" if action else "")
        yield (first.at if first else 0), f"a statement begins with {words}"
    for n, token in enumerate(tokens):
        if token.kind == "comment" or token.text.lower() == "uescape":  # other names than those that are read here
            yield token.at, f"{token.text} is not possible here"
        if token.kind == "text" and re.match(r"'(?:[^']|'')*\\'", token.text):  # it ends elsewhere on some servers
            yield token.at, "write a backslash before a quote in a text of the form E'...'"
        if token.kind == "name" and not (n and tokens[n - 1].text == "."):
            message = _wrong_name(tokens, n, action=action)
            if message:
                yield token.at, message
    yield from _of_engine(tokens, types, own)


def _wrong_name(tokens: list[Token], n: int, *, action: bool) -> str:
    """Return why the name at a place may not be used, or ""."""
    chain, end = _chain(tokens, n)
    before, after = tokens[n - 1] if n else None, tokens[end] if end < len(tokens) else None
    called = after is not None and after.text == "("
    elsewhere = len(chain) > 1 and chain[0] != SERVER
    is_type = before is not None and (before.kind == "cast" or (before.word == "as" and len(chain) > 1))
    if is_type or (after is not None and after.kind == "text"):
        return f"{'.'.join(chain)} is a type of another schema" if elsewhere else ""
    if tokens[n].word == "operator" and called and tokens[n].text[-1] != '"':
        return "OPERATOR() is not possible: write the operator alone"
    if not called or _is_no_function(tokens, n, end, chain):
        return ""
    if elsewhere:
        return f"{'.'.join(chain)}() is a function of another schema"
    return "" if chain[-1] in functions(action=action) else _unknown(chain[-1], action=action)


def _unknown(name: str, *, action: bool) -> str:
    where = "an action" if action else "a statement that reads"
    return f"{name}() is not one of the functions that {where} may call (`name AS alias(columns)` for an alias)"


def _of_engine(tokens: list[Token], types: Collection[str], own: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield functions and types in the engine's own schema that are not known."""
    for n, token in enumerate(tokens):
        before = tokens[n - 1] if n else None
        start = n - 2 if n > 1 and tokens[n - 1].text == "." else n
        into = start > 0 and tokens[start - 1].word == "into"
        if not token.text.startswith(':"') or n + 1 >= len(tokens):
            continue
        if tokens[n + 1].text == "(" and not into:
            yield token.at, f"{token.text}() is not one of the functions in recognise.functions"
        if n + 2 >= len(tokens) or tokens[n + 1].text != ".":
            continue
        name = tokens[n + 2].word
        if n + 3 < len(tokens) and tokens[n + 3].text == "(" and not into and name not in own:
            yield token.at, f"{name}() is not one of the functions in recognise.functions"
        cast = before is not None and (before.kind == "cast" or before.word == "as")
        literal = n + 3 < len(tokens) and tokens[n + 3].kind == "text"
        if (cast or literal) and name not in types and name.removeprefix("_") not in types:
            yield token.at, f"{name} is not one of the types in recognise.types"


def _chain(tokens: list[Token], n: int) -> tuple[list[str], int]:
    """Return the parts of a name, and the place after it."""
    parts = [tokens[n].word]
    while n + 2 < len(tokens) and tokens[n + 1].text == "." and tokens[n + 2].kind == "name":
        n += 2
        parts.append(tokens[n].word)
    return parts, n + 1


def _is_no_function(tokens: list[Token], n: int, end: int, chain: list[str]) -> bool:
    """Return True if a name before a parenthesis is a keyword, an alias or a table."""
    plain = len(chain) == 1 and tokens[n].text[-1] != '"'
    before = tokens[n - 1].word if n and tokens[n - 1].text[-1] != '"' else ""
    if plain and tokens[n].word in _keywords():
        return True
    if before in ("as", "into", "recursive"):  # of an alias, of columns
        return True
    return before in ("with", ",") and _is_query(tokens, end)


def _is_query(tokens: list[Token], opening: int) -> bool:
    """Return True if the name is one of WITH: ``(columns) AS (SELECT`` follows."""
    depth = 0
    for n in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[n].text, 0)
        if not depth:
            rest = [token.word for token in tokens[n + 1 : n + 6]]
            rest = [word for word in rest if word not in ("not", "materialized")]
            return rest[:2] == ["as", "("] and rest[2:3] in (["select"], ["with"])
    return False


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text without spaces and line comments."""
    tokens = []
    for match in _TOKEN.finditer(text):
        kind, value = str(match.lastgroup), match[0]
        if match["text"] is not None:
            kind = "text"
        if kind == "space":
            continue
        quoted = kind == "name" and value[-1] == '"'
        word = named(f"U&{value[2:]}" if value[0] == "u" else value) if quoted else value.lower()
        tokens.append(Token(kind=kind, text=value, word=word, at=match.start()))
    return tokens
