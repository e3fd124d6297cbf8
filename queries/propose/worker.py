"""Statement by which a worker takes rows of a table, as conditions of a claim.

Its text is only cut: the WHERE of the query that takes rows, at each AND. What cannot be cut is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from queries.contract.sql_calls import Token, call_faults, tokens_of
from queries.files.statement import EngineFileError, SqlText, parse_statement, sql_text
from queries.propose.catalog import FOLDER, NoProposalError, Table
from queries.records.record import Record
from queries.text.psql_text import bound, sql_name

_PARTS = re.compile(  # texts and names stay, comments go, and a parameter is one token
    r"""'\d{4}-\d\d-\d\d[ T]\d\d:[^']*'|\b1\d{9}(?:\d{3}){0,2}\b|"""  # a time, as a parameter
    r"""(?P<stays>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<comment>--[^\n]*|/\*.*?\*/)"""
    r"|\$\d+|\$\{[^}]*\}|(?<![:\w]):[A-Za-z_]\w*|%\(\w+\)s|%s|@\w+|\?(?![|&])|\{\w*\}",
    re.DOTALL,
)
_COMPARED = re.compile(r't\.(?P<to>(?P<name>"[^"]+"|\w+)\s*[<>!=]+\s*)\$\d+(?P<cast>(?:\s*::\s*(?::"schema"\.)?\w+)?)')
_DEPTH = {"(": 1, "[": 1, "case": 1, ")": -1, "]": -1, "end": -1}
_SETS = {"union", "intersect", "except"}
_ENDS = {"group", "having", "window", "order", "limit", "offset", "fetch", "for", "returning", ";"}
_HINT = "Give the statement by which a worker takes a row, with its WHERE; or write [claim] by hand."


class Taking(Record):
    """Conditions of a worker's statement by name, as SQL of the row ``t``.

    ``columns``: of each condition. ``omitted``: conditions on values that the statement is given, such as a queue.
    """

    conditions: dict[str, str]
    columns: dict[str, tuple[str, ...]]
    omitted: tuple[str, ...] = ()
    source: str = ""  # where the statement was found; "": the author gave it
    text: str = ""

    @property
    def whole(self) -> str:
        """All conditions as SQL."""
        return " AND ".join(f"({each})" for each in self.conditions.values())


def unread(why: str) -> NoProposalError:
    """Return the error that a worker's statement is not read."""
    return NoProposalError(f"The worker's statement is not read: {why}.", _HINT)


def _judge(conditions: Mapping[str, str], types: Collection[str]) -> None:
    """Refuse what no folder may call. Raises NoProposalError."""
    text = bound(sql_text(FOLDER / "judged.sql").text, {"conditions": ", ".join(conditions.values())})
    try:
        statement = parse_statement(SqlText(file="the statement", text=text, origins=(("the statement", 1),) * 3))
    except EngineFileError as error:
        raise unread(error.faults[0].message) from error
    for fault in call_faults(statement, types):
        raise unread(fault.message)


class WorkerStatement:
    """A statement that takes rows of a table, at its tokens. Raises NoProposalError."""

    def __init__(self, sql: str, table: Table) -> None:
        self.table = table
        self._given: list[str] = []  # parameters as they are written
        self.text = _PARTS.sub(self._marked, sql)
        self.tokens = tokens_of(self.text)
        self.names = {(table.name,), (table.schema, table.name)}  # of the table in the statement
        self._columns = {column.name for column in table.columns}
        self._enums = {column.type for column in table.columns if column.enum}
        self._depths = [0]
        for token in self.tokens:
            self._depths.append(self._depths[-1] + _DEPTH.get(token.text.lower(), 0))

    def _marked(self, match: re.Match[str]) -> str:
        if match["stays"] or match["comment"]:
            return match["stays"] or " "
        self._given.append(match[0])
        return f"${len(self._given)}"

    def taking(self, changed: Collection[str], values: Mapping[str, str], *, found: bool = False) -> Taking:
        """Return the conditions. Raises NoProposalError.

        ``changed``: columns that actions change. ``values``: of columns, in place of parameters; "": not known, so that
        the other side of an OR counts. ``found``: no author can be asked for others.
        """
        conditions, columns, omitted = dict[str, str](), dict[str, tuple[str, ...]](), list[str]()
        for tokens in _split(self._where()):
            condition, names = self._rewritten(tokens)
            condition = self._valued(condition, values, omitted)
            shown = self._as_given(self.text[tokens[0].at : tokens[-1].at + len(tokens[-1].text)])
            left = ", ".join(map(self._as_given, re.findall(r"\$\d+", condition)))
            if left and names and all(values.get(each) for each in names):
                condition = re.sub(r"\$\d+", values[names[0]].replace("\\", r"\\"), condition)
            elif left and {*names} & {*changed} and not found:
                raise unread(f"{shown}: write a value in place of {left}, because an action sets {names[0]}")
            elif left:
                omitted.append(shown)
                continue
            name = re.sub(r"[^a-z0-9]+", "_", (names or ("row",))[0].lower()).strip("_0123456789")[:36] or "row"
            name = name if name not in columns else f"{name}_{len(conditions)}"
            conditions[name], columns[name] = condition, names
        if not conditions:
            raise unread(f"no condition on a row of {self.table.name} is left")
        _judge(conditions, self._enums)
        return Taking(conditions=conditions, columns=columns, omitted=tuple(omitted))

    def _as_given(self, text: str) -> str:
        return re.sub(r"\$(\d+)", lambda match: self._given[int(match[1]) - 1], text)

    def _valued(self, condition: str, values: Mapping[str, str], omitted: list[str]) -> str:
        """Return a condition with values in place of parameters."""
        either = re.search(r"(?i)\bor\b", condition) and not re.search(r"(?i)\b(?:not(?! null)|case)\b", condition)

        def valued(match: re.Match[str]) -> str:
            value = values.get(match["name"].strip('"'))
            if value or value is None or not either:
                return f"t.{match['to']}{value}{match['cast']}" if value else match[0]
            omitted.append(self._as_given(match[0]).removeprefix("t."))
            return "false"

        return _COMPARED.sub(valued, condition)

    def _where(self) -> list[Token]:
        """Return the WHERE of the query that locks rows, else of the innermost one."""
        found = max(self._queries(), default=None, key=lambda each: each[:2])
        if found is None:
            raise unread(f"no query in it has the table {self.table.name} and a WHERE")
        *_, others, where = found
        if others:
            raise unread("it reads other tables, too: delete them if no action changes what they say")
        return where

    def _queries(self) -> Iterator[tuple[bool, int, bool, list[Token]]]:
        """Yield queries of the table: do they lock rows, depth, are there others, WHERE."""
        tokens, depths = self.tokens, self._depths
        for n, token in enumerate(tokens):
            first = n - 2 if n > 1 and tokens[n - 1].text == "." else n
            named = token.kind == "name" and token.word == self.table.name and first > 0
            if not named or tokens[first - 1].word not in ("from", "update", "only", "join", ","):
                continue
            end = next((m for m in range(n, len(tokens)) if depths[m + 1] < depths[n]), len(tokens))
            level = [m for m in range(end) if depths[m] == depths[n]]
            start = max((m for m in level if m < n and tokens[m].word in ("from", "update")), default=n)
            after = [m for m in level if m > n]
            self.names |= {(tokens[m].word,) for m in after[:2] if tokens[m].kind == "name"}  # an alias
            where = next((m for m in after if tokens[m].word == "where"), None)
            if where is not None:
                words = [tokens[m].word for m in after]
                beside = {tokens[m].word for m in level if start < m < where}
                others = beside & {"join", "from" if tokens[start].word == "update" else ","} or _SETS & {*words}
                stop = next((m for m in after if m > where and tokens[m].word in _ENDS | _SETS), end)
                locks = re.search(r"\bfor (update|no)\b", " ".join(words)) is not None
                yield locks, depths[n], bool(others), tokens[where + 1 : stop]

    def _rewritten(self, tokens: Sequence[Token]) -> tuple[str, tuple[str, ...]]:
        """Return a condition as SQL of the row ``t``, and the columns that it names."""
        parts, names = list[str](), list[str]()
        n, stop = 0, tokens[0].at
        while n < len(tokens):
            token, start = tokens[n], n
            while token.kind == "name" and n + 2 < len(tokens) and tokens[n + 1].text == ".":
                n += 2
            chain = tuple(each.word for each in tokens[start : n + 1 : 2])
            written = self.text[token.at : tokens[n].at + len(tokens[n].text)]
            calls = n + 1 < len(tokens) and tokens[n + 1].text == "("
            if token.kind == "comment" or (token.kind == "name" and token.word in ("select", "exists")):
                raise unread(f"{token.text} within a condition: delete it if no action changes what it says")
            if start and tokens[start - 1].kind == "cast":
                written = f' :"schema".{sql_name(chain[-1])}' if chain[-1] in self._enums else written
            elif token.kind == "name" and chain[-1] in self._columns and not calls and chain[:-1] in {(), *self.names}:
                names.append(chain[-1])
                written = f"t.{sql_name(chain[-1])}"
            elif len(chain) > 1 and not calls:
                raise unread(f"{'.'.join(chain)} is no column of {self.table.name}")
            elif chain in {("now",), ("current_timestamp",)}:
                written = "now" if calls else "now()"
            parts.append(" " * (token.at > stop) + written)
            stop = tokens[n].at + len(tokens[n].text)
            n += 1
        return "".join(parts), tuple(dict.fromkeys(names))


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the conditions that AND connects."""
    depths = [*accumulate(_DEPTH.get(token.text.lower(), 0) for token in tokens)]
    level = [n for n, token in enumerate(tokens) if depths[n] == 0 and token.word in ("and", "or", "between")]
    words = [tokens[n].word for n in level]
    cuts = [n for at, n in enumerate(level) if words[at] == "and" and words[at - 1 : at] != ["between"]]
    if cuts and "or" not in words:
        for start, end in pairwise([-1, *cuts, len(tokens)]):
            yield from _split(tokens[start + 1 : end])
    elif tokens and tokens[0].text == "(" and depths.index(0) == len(tokens) - 1:
        yield from _split(tokens[1:-1])
    elif tokens:
        yield tokens
