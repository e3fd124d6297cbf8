"""Make mutations of Python and SQL files, and apply them to any checkout."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

# Area: its part of 60 mutations, and its files.
WRITE_PATH = "audit_* copies_* deleted end_session image* redrive_* run_* signal_* undo_* witness_* xact_*"
ENGINES = "agent_jobs estuary eternaltwin tasker uni2work"
AREAS = {
    "change": (30, ["queries/change/*.py", "queries/log/*.py"]),
    "incidents": (
        6,
        [
            "queries/read/incidents.py",
            "queries/read/findings.py",
            "queries/read/sentence.py",
            "queries/read/dead_letters.py",
        ],
    ),
    "contract": (12, ["queries/contract/*.py"]),
    "sql": (
        12,
        [f"queries/sql/{name}.sql" for name in WRITE_PATH.split()]
        + [f"queries/engines/{name}/actions/*.sql" for name in ENGINES.split()],
    ),
}
_PAIRS = [("==", "!="), ("<", "<="), (">", ">="), ("is", "is not"), ("in", "not in")]
COMPARISONS = dict(_PAIRS) | {new: old for old, new in _PAIRS}
OPERATOR = re.compile(r"==|!=|<=|>=|<|>|\bis\s+not\b|\bnot\s+in\b|\bis\b|\bin\b")
MESSAGES = (ast.JoinedStr, ast.Raise, ast.Assert, ast.MatchValue)
PRESENTATION = {"strict", "indent", "ensure_ascii", "sort_keys", "exc_info", "parents", "exist_ok", "missing_ok"}
_SQL_PAIRS = [(" = ", " <> "), (" < ", " <= "), (" > ", " >= "), (" IS NULL", " IS NOT NULL")]
_SQL_PAIRS += [(" IS DISTINCT FROM ", " IS NOT DISTINCT FROM ")]
SQL_SWAPS = dict(_SQL_PAIRS) | {new: old for old, new in _SQL_PAIRS}
_SQL_LINE = re.compile(r"\s*(?:AND|WHERE) (?=\S)")
_SQL_OTHER = re.compile(r"--|\b(CASE|WHEN|THEN|ELSE|BETWEEN|OR|ORDER BY|GROUP BY|LIMIT|OFFSET|RETURNING|FOR)\b")
_SQL_NEXT = re.compile(r"\s*($|AND |ORDER |GROUP |RETURNING |FOR |LIMIT |OFFSET |UNION |\)|;|--|\\ir)")


@dataclass(frozen=True)
class Mutation:
    """One change: ``old`` becomes ``new`` at a line (from 1) and column (from 0).

    ``text`` is the whole line; by it the place is found in another version of the file.
    """

    file: str
    line: int
    column: int
    old: str
    new: str
    kind: str
    text: str
    number: int = 0

    def __str__(self) -> str:
        old, new = (" ".join(part.split()) or "(nothing)" for part in (self.old, self.new))
        return f"{self.file}:{self.line}: {self.kind}: {old} -> {new}"

    def offset(self, source: str) -> int | None:
        """Return the place in a version of the file, or None if it is not there."""
        lines = source.splitlines(keepends=True)
        same = [n for n, line in enumerate(lines, 1) if line.rstrip("\n") == self.text]
        for number in sorted(same, key=lambda n: abs(n - self.line)):
            at = sum(map(len, lines[: number - 1])) + self.column
            if source.startswith(self.old, at):
                return at
        return None

    def applied(self, source: str) -> str:
        """Return the changed file. Raises ValueError if the place is not there."""
        at = self.offset(source)
        if at is None:
            raise ValueError(f"{self.file} has no line {self.text.strip()!r}")
        return source[:at] + self.new + source[at + len(self.old) :]


def choose(root: Path, seed: int, count: int, only: str = "") -> list[Mutation]:
    """Return mutations of a checkout.

    Each area has its part of them, each kind an equal chance.
    """
    chance = random.Random(seed)
    chosen: list[Mutation] = []
    for part, patterns in AREAS.values():
        files = sorted(path for pattern in patterns for path in root.glob(pattern))
        names = [name for path in files if (name := str(path.relative_to(root))).startswith(only)]
        found = [mutation for name in names for mutation in mutations(name, (root / name).read_text("utf-8"))]
        chosen += _mixed(found, count if only else round(count * part / 60), chance)
    return [replace(mutation, number=number) for number, mutation in enumerate(chosen[:count], 1)]


def _mixed(found: Iterable[Mutation], count: int, chance: random.Random) -> list[Mutation]:
    """Return ``count`` mutations, at most one per place, of each kind in turn."""
    kinds: dict[str, list[Mutation]] = {}
    for mutation in found:
        kinds.setdefault(mutation.kind, []).append(mutation)
    for each in kinds.values():
        chance.shuffle(each)
    places: dict[tuple[str, int], Mutation] = {}
    for turn in zip_longest(*kinds.values()):
        for mutation in filter(None, turn):
            places.setdefault((mutation.file, mutation.line), mutation)
    return list(places.values())[:count]


def mutations(file: str, source: str) -> Iterator[Mutation]:
    """Yield all mutations of a file."""
    changes = _sql(source) if file.endswith(".sql") else _python(source)
    for kind, start, end, new in changes:
        line = source.count("\n", 0, start)
        column = start - (source.rfind("\n", 0, start) + 1)
        yield Mutation(file, line + 1, column, source[start:end], new, kind, source.splitlines()[line])


Change = tuple[str, int, int, str]  # kind, start, end, new text


def _python(source: str) -> Iterator[Change]:
    spans = Spans(source)
    for function in ast.parse(source).body:
        yield from _definitions(function, spans)


def _definitions(node: ast.AST, spans: Spans) -> Iterator[Change]:
    """Yield the changes of functions; code that runs at import stays as it is."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.name not in ("__repr__", "__str__"):
            for statement in node.body:
                yield from _changes(statement, spans)
    elif isinstance(node, ast.ClassDef):
        for inner in node.body:
            yield from _definitions(inner, spans)


def _changes(node: ast.AST, spans: Spans) -> Iterator[Change]:
    """Yield the changes of a statement or an expression, and of its parts."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from _definitions(node, spans)
    elif isinstance(node, ast.AnnAssign):
        yield from _changes(node.value, spans) if node.value else ()
    elif not isinstance(node, MESSAGES) and not (isinstance(node, ast.keyword) and node.arg in PRESENTATION):
        yield from _own_changes(node, spans)
        for inner in ast.iter_child_nodes(node):
            yield from _changes(inner, spans)


def _own_changes(node: ast.AST, spans: Spans) -> Iterator[Change]:
    match node:
        case ast.If() | ast.IfExp():
            start, end = spans.of(node.test)
            yield "negated branch", start, end, f"(not ({spans.source[start:end]}))"
        case ast.comprehension():
            for test in node.ifs:
                yield "dropped condition", *spans.of(test), "True"
        case ast.BoolOp():
            for value in node.values:
                if not isinstance(value, ast.JoinedStr | ast.Constant):
                    yield "dropped condition", *spans.of(value), str(isinstance(node.op, ast.And))
        case ast.UnaryOp(op=ast.Not()):
            start = spans.of(node)[0]
            yield "removed not", start, start + 3 + (spans.source[start + 3] == " "), ""
        case ast.Compare(left=left, comparators=[right]):
            yield from _compared(left, right, spans)
        case ast.Constant(value=bool() as value):
            yield "constant", *spans.of(node), str(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", *spans.of(node), {0: "1", 1: "0"}.get(value) or str(value + 1)


def _compared(left: ast.expr, right: ast.expr, spans: Spans) -> Iterator[Change]:
    begin = spans.of(left)[1]
    operator = OPERATOR.search(spans.source, begin, spans.of(right)[0])
    assert operator
    yield "comparison", *operator.span(), COMPARISONS[" ".join(operator[0].split())]
    for side in (left, right):
        if isinstance(side, ast.Constant) and isinstance(side.value, str) and side.value:
            yield "constant", *spans.of(side), repr(side.value + "_")


class Spans:
    """Offsets of the nodes of a source; ``ast`` counts columns in bytes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.expr) -> tuple[int, int]:
        """Return where an expression begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def _sql(source: str) -> Iterator[Change]:
    """Yield the changes of conditions on one line after WHERE or AND."""
    start = 0
    lines = source.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        begin = _SQL_LINE.match(line)
        if begin and _SQL_NEXT.match(following):
            text = _balanced(line[begin.end() :]).rstrip(" ;")
            if text and not _SQL_OTHER.search(re.sub(r"\(.*\)", "", text)) and text.count("'") % 2 == 0:
                at = start + begin.end()
                for first, condition in _conditions(text):
                    yield from _condition(condition, at + first)
        start += len(line) + 1


def _balanced(text: str) -> str:
    """Return the text up to a ``)`` that closes nothing.

    Return "" if a ``(`` is not closed.
    """
    depth = 0
    for n, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return text[:n]
    return "" if depth else text


def _conditions(text: str) -> Iterator[tuple[int, str]]:
    """Yield the conditions between ANDs outside of brackets, each with its offset."""
    first = 0
    for found in re.finditer(" AND |$", text):
        before = text[first : found.start()]
        if before.count("(") == before.count(")") and before.count("'") % 2 == 0:
            yield first, before
            first = found.end()


def _condition(text: str, at: int) -> Iterator[Change]:
    yield "dropped condition", at, at + len(text), "true"
    if text.startswith("NOT "):
        yield "removed not", at, at + 4, ""
    for old, new in SQL_SWAPS.items():
        place = text.find(old)
        if place >= 0 and "(" not in text[:place] and not text.startswith("ANY", place + len(old)):
            yield "comparison", at + place, at + place + len(old), new
