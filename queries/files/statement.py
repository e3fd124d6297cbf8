"""Parse SQL files: headers, parameters and sections.

:class:`Statement` explains the headers.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from queries.records.fault import Fault
from queries.records.record import Record
from queries.text.psql_text import bound
from queries.text.suggest import did_you_mean

PARAMETERS = {
    **dict.fromkeys(("ids", "places", "versions", "met_needs", "queues"), "text[]"),
    **dict.fromkeys(("args", "changes", "images", "settings"), "jsonb"),
    **dict.fromkeys(("limit", "bytes"), "int"),
    **dict.fromkeys(("operator", "reason", "id", "parent", "cursor", "query", "dry_run", "schema", "action"), "text"),
    "since": "float8",
}
"""Type of each parameter that a statement may have, by name.

``ids``: local ids; NULL for all in findings and dead letters. ``versions``: of each id, as the operator saw it.
``places``: the last known ctid of each id. ``met_needs``: names of needs. ``settings``: thresholds and options.
``queues``: what a worker serves; NULL for any.
``limit``: the maximum number of rows. ``bytes``: the maximum number of bytes to return. ``since``: seconds since 1970.
``args``: values of an action's arguments. ``action``: its name. ``dry_run``: time of the dry run; NULL in it.
``changes``: rows that the action changed.
"""


class EngineFileError(Exception):
    """Files of an engine break the contract. str() has one line for each fault."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class SqlText(Record):
    """Text of a file with its parts.

    ``origins`` are file and line of each of its lines.
    """

    file: str
    text: str
    origins: tuple[tuple[str, int], ...]

    def fault(self, offset: int, message: str) -> Fault:
        """Return the fault at an offset in the text; of a derived line, at its begin."""
        before = self.text[:offset]
        file, line = self.origins[before.count("\n")]
        if not file.endswith(".sql"):
            return _derived(self.file, file, line, message)
        return Fault(file, line, offset - before.rfind("\n"), message)


class Statement(Record):
    """One SQL statement with the facts of its header comments.

    ``-- needs: ...``          needs that make it cheap; a part of an action with unmet needs is skipped
    ``-- needs of ids: ...``   its needs when it is run for given nodes only; ``none`` for no need
    ``-- kinds: ...``          kinds of nodes (of parents) that it is about
    ``-- title: ...``          title of a detail section; of changes, which ones have a recorded time
    ``-- plan: custom``        a plan for its values is better than one for any values
    ``-- drawn: ...``          drawing of a detail section; :data:`queries.records.detail.DRAWN` lists the columns
    ``-- proof: assumed``      it is inferred, not compared with the engine's source

    A file writes a parameter as psql writes a variable: ``:ids``. The text as sent has ``$1::text[]`` for it.
    ``parameters`` are names in the order of ``$1, $2 ...``. ``named`` has what the text has instead of each name.
    """

    text: str
    source: str
    parameters: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    title: str = ""
    drawn: str = ""
    custom: bool = False
    assumed: bool = False
    kinds: tuple[str, ...] = ()
    server: int = 0  # lowest major version of the server
    of_ids: frozenset[str] | None = None  # needs when it is run for given nodes only
    origins: tuple[tuple[int, str, int], ...] = ()  # runs of lines: the first one (from 0), file and line there
    schema: str = ""  # on the search_path while it runs, for functions that use unqualified names
    named: tuple[tuple[str, str], ...] = ()  # text as sent, name as written

    def is_for(self, kind: str) -> bool:
        """Return True if the statement is about nodes of this kind ("": of any kind)."""
        return not (kind and self.kinds) or kind in self.kinds

    def absent(self, restricted: Collection[str]) -> tuple[str, ...]:
        """Return the tables whose hidden rows it could take for absent.

        ``restricted``: tables with row-level security.
        """
        if not restricted or not _ABSENT.search(self.text):
            return ()
        return tuple(name for name in restricted if re.search(rf'\."?{re.escape(name)}"?(?!\w)', self.text))


# A count or the newest row of some is also about the rows that are not there.
_ABSENT = re.compile(
    r"\bNOT\s+EXISTS\b|\bNOT\s+IN\b|<>\s*ALL\b|\bLEFT\s+JOIN\b|\)\s*IS\s+NULL|\b(?:count|min|max|bool_and)\(",
    re.IGNORECASE,
)
# Each branch begins with a literal, so that the search skips to the next one: 4 times faster.
NAME = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--.*|\$(?P<number>\d+)|:(?<![:\w)\]]:)(?P<name>[a-z_]\w*)""")
_FIELD = re.compile(r"^-- (needs|needs of ids|title|drawn|kinds|plan|proof): (.*)$", re.MULTILINE)
_INCLUDED = re.compile(r" *(?:(WITH|,) )?\\ir (\S+)")
_SET = re.compile(r"\\set (\w+) (\w+)")
_COMMENT = re.compile(r"^[ \t]*--.*$", re.MULTILINE)
_VERSION = re.compile(r"@(\d+)\.sql$")
# An age or a time left. Before PostgreSQL 17, an infinite time cannot be subtracted.
_NOW, _TIME = r"(?:now\(\)(?:::timestamp)?|localtimestamp|timezone\('UTC', now\(\)\))", r"[\w.]+(?:\([\w., ]*\))?"
_AGE = re.compile(rf"date_trunc\('second', (?:{_NOW} - (?P<past>{_TIME})|(?P<next>{_TIME}) - {_NOW})\)(?:::text)?")
_PLACE = re.compile(r"\{(\w+)\}")
_FORMER = {"page": "limit"}  # parameters that older folders have under another name


def expand(file: str, read: Callable[[str], str]) -> SqlText:
    r"""Return a file's text with its parts. Raises EngineFileError.

    A line ``\ir x.sql``, also after ``WITH`` or a comma, includes that file. ``\set name word`` gives ``:name`` and
    ``:'name'`` a value in what follows. ``read`` returns the text of a file, or raises LookupError or OSError.
    """
    lines = tuple(_expanded(file, read, (), {}))
    return SqlText(file=file, text="\n".join(text for text, _ in lines), origins=tuple(origin for _, origin in lines))


def _expanded(
    file: str, read: Callable[[str], str], within: tuple[str, ...], values: dict[str, str]
) -> Iterator[tuple[str, tuple[str, int]]]:
    for number, line in enumerate(read(file).split("\n"), 1):
        if word := _SET.fullmatch(line):
            if word[1] in PARAMETERS:
                raise EngineFileError(Fault(file, number, 6, f"{word[1]!r} is a parameter; give the word another name"))
            values[word[1]] = word[2]
            continue
        included = _INCLUDED.fullmatch(line)
        if included is None:
            yield bound(line, values) if values else line, (file, number)
            continue
        if included[1]:
            yield included[1], (file, number)
        name, at = included[2], included.start(2) + 1
        part = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
        if part in (file, *within):
            raise EngineFileError(Fault(file, number, at, f"{name} includes itself"))
        try:
            yield from _expanded(part, read, (*within, file), values)
        except (LookupError, OSError):
            raise EngineFileError(Fault(file, number, at, f"{name} is not a file of this folder")) from None


def sql_text(file: Path) -> SqlText:
    """Return a file's text with its parts."""
    return expand(str(file), lambda name: Path(name).read_text("utf-8"))


def locate(statement: Statement, position: int, message: str, bound: Mapping[str, str] = {}) -> Fault:
    """Return the fault at a character of a statement's text, counted from 1.

    ``bound``: texts that have replaced others, such as ``"public"`` for ``:"schema"``.
    """
    before = statement.text[: position - 1]
    start = before[before.rfind("\n") + 1 :]
    for new, old in (*bound.items(), *statement.named):
        start = start.replace(new, old)
    number = before.count("\n")
    runs = [run for run in statement.origins if run[0] <= number]
    first, file, line = runs[-1] if runs else (0, statement.source, 1)
    if statement.source and not file.endswith(".sql"):
        return _derived(statement.source, file, line, message)
    return Fault(file, line + number - first, len(start) + 1, message)


def _derived(statement: str, file: str, line: int, message: str) -> Fault:
    """Return the fault of a statement without a file, at the table of it."""
    name = posixpath.relpath(statement, posixpath.dirname(file)).removesuffix(".sql")
    return Fault(file, line, 1, message if name in message else f"{name}: {message}")


def _runs(origins: Sequence[tuple[str, int]]) -> Iterator[tuple[int, str, int]]:
    """Yield the runs of consecutive lines, and of lines derived from one table."""
    for number, (file, line) in enumerate(origins):
        if not number or origins[number - 1] != (file, line - file.endswith(".sql")):
            yield number, file, line


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """Return a text with these parts at places such as ``{rows}``.

    Places within a part stay: it may have names from a database.
    """
    return _PLACE.sub(lambda match: parts.get(match[1], match[0]), text)


class SqlSection(NamedTuple):
    """One section: its name, what follows in that line, and the offsets of its text."""

    name: str
    options: str
    start: int
    end: int


def sections(text: str, options: str = "") -> list[SqlSection]:
    """Return the sections of a text in order. A name may occur again.

    ``options``: the pattern of what may follow a name.
    """
    marks = [*re.finditer(rf"^-- :(\w+)({options})$", text, re.MULTILINE), None]
    return [
        SqlSection(mark[1], mark[2], mark.end(), following.start() if following else len(text))
        for mark, following in pairwise(marks)
        if mark is not None
    ]


def parse_statement(sql: SqlText, names: Mapping[str, str] = {}, parameters: Sequence[str] = ()) -> Statement:
    """Parse a file of one statement. Raises EngineFileError.

    ``names``: SQL of the names that the file may use in addition to parameters, such as thresholds. ``parameters``:
    those of a statement that becomes a part of it, so that they keep their numbers.
    """
    faults: list[Fault] = []
    statement = _statement(sql, 0, len(sql.text), names, faults, parameters)
    if faults or statement is None:
        raise EngineFileError(*faults)
    return statement


def parse_sections(sql: SqlText, names: Mapping[str, str] = {}) -> dict[str, tuple[Statement, ...]]:
    """Parse a file of sections, each begun by a line ``-- :name``.

    Raises EngineFileError. A name may occur again; order is kept. ``names``: as for :func:`parse_statement`.
    """
    places = sections(sql.text)
    if not places:
        raise EngineFileError(sql.fault(0, "it has no section; a section begins with a line such as -- :lock"))
    faults: list[Fault] = []
    statements: dict[str, tuple[Statement, ...]] = {}
    for section in places:
        part = _statement(sql, section.start, section.end, names, faults)
        if part is not None:
            statements[section.name] = (*statements.get(section.name, ()), part)
    if faults:
        raise EngineFileError(*faults)
    return statements


def _statement(
    sql: SqlText, start: int, end: int, names: Mapping[str, str], faults: list[Fault], given: Sequence[str] = ()
) -> Statement | None:
    """Return the statement between two offsets, or None with faults."""
    comments = sql.text[start:end]
    blank = _COMMENT.sub(lambda match: " " * len(match[0]), comments)
    code = _COMMENT.sub("", comments).strip().removesuffix(";")
    begin = start + len(blank) - len(blank.lstrip())
    first = sql.text.count("\n", 0, begin)
    if not code:
        faults.append(sql.fault(start, "the statement is empty"))
        return None
    unknown = [sql.fault(start + at, message) for at, message in _unknown(blank, names)]
    if unknown:
        faults += unknown
        return None
    text = _as_sent(code, names, parameters := list(given))
    ages = {_safe_age(match): match[0] for match in _AGE.finditer(text)}
    text = _AGE.sub(_safe_age, text)
    used = {match["name"]: names[match["name"]] for match in NAME.finditer(code) if match["name"] in names}
    fields = {m[1]: m[2] for m in _FIELD.finditer(comments)}
    version = _VERSION.search(sql.file)
    return Statement(
        text=text,
        source=sql.file,
        parameters=tuple(parameters),
        needs=_names(fields.get("needs", "")),
        of_ids=_names(fields["needs of ids"]) - {"none"} if "needs of ids" in fields else None,
        title=fields.get("title", ""),
        drawn=fields.get("drawn", ""),
        custom=fields.get("plan") == "custom",
        assumed=fields.get("proof") == "assumed",
        kinds=tuple(fields.get("kinds", "").split()),
        server=int(version[1]) if version else 0,
        origins=tuple(_runs(sql.origins[first : first + code.count("\n") + 1])),
        named=(*ages.items(), *_written(parameters, used)),
    )


def _unknown(code: str, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the offset of each name that is not known, with a message."""
    for match in NAME.finditer(code):
        name = match["name"]
        if match["number"]:
            yield match.start(), f"{match[0]} has no name; write a parameter as :ids, without a type"
        elif name and name not in PARAMETERS and name not in names:
            near = did_you_mean(_FORMER.get(name, name), {*PARAMETERS, *names})
            yield match.start() + 1, f"{name!r} is neither a parameter nor a setting{near}"


def _as_sent(text: str, names: Mapping[str, str], parameters: list[str]) -> str:
    """Return the text with numbers and types for its parameters.

    Adds them to ``parameters``. A cast that follows a parameter is instead of its type.
    """

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        if not name:
            return match[0]
        if name not in PARAMETERS:
            return _as_sent(names[name], {}, parameters)
        if name not in parameters:
            parameters.append(name)
        number = f"${parameters.index(name) + 1}"
        return number if text.startswith("::", match.end()) else f"{number}::{PARAMETERS[name]}"

    return NAME.sub(value, text)


def _safe_age(match: re.Match[str]) -> str:
    """Return the SQL of an age as text, as PostgreSQL 17 has it for an infinite time."""
    time, (first, last) = match["past"] or match["next"], ("", "-") if match["past"] else ("-", "")
    words = f"WHEN '-infinity' THEN '{first}infinity' WHEN 'infinity' THEN '{last}infinity'"
    return f"CASE {time} {words} ELSE {match[0].removesuffix('::text')}::text END"


def _written(parameters: Sequence[str], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what a text as sent has for each name, and the name as written.

    Longer texts come first.
    """
    yield from ((_as_sent(sql, {}, list(parameters)), f":{name}") for name, sql in names.items())
    for number, name in enumerate(parameters, 1):
        yield f"${number}::{PARAMETERS[name]}", f":{name}"
        yield f"${number}", f":{name}"


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, re.split(r"[,\s]+", text)))
