"""Parse SQL files: headers, parameters and sections.

:class:`Statement` explains the headers.
"""

import re

from queries.model import Record

_PARAMETERS = (
    "ids places versions args changes copied operator reason id parent cursor page query bytes met_needs settings"
    " dry_run since"
)
PARAMETERS = frozenset(_PARAMETERS.split())


class EngineFileError(Exception):
    """A file of an engine breaks the contract. str() names file and line."""


class Statement(Record):
    """One SQL statement with the facts of its header comments.

    ``-- $1 ids text[]: ...``  a parameter
    ``-- needs: ...``          needs that make it cheap; a part of an action with unmet needs is skipped
    ``-- needs of ids: ...``   its needs when it is run for given nodes only; ``none`` for no need
    ``-- kinds: ...``          kinds of nodes (of parents) that it is about
    ``-- title: ...``          title of a detail section
    ``-- drawn: ...``          drawing of a detail section; :data:`queries.model.DRAWN` lists the columns

    ``parameters`` are names in the order of the statement's ``$1, $2 ...`` as sent. Parameters that a section does not
    use are removed and the others renumbered, because the server cannot infer the type of an unused parameter.
    """

    text: str
    source: str
    parameters: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    title: str = ""
    drawn: str = ""
    kinds: tuple[str, ...] = ()
    server: int = 0  # lowest major version of the server
    of_ids: frozenset[str] | None = None  # needs when it is run for given nodes only
    schema: str = ""  # on the search_path while it runs, for functions that use unqualified names

    def is_for(self, kind: str) -> bool:
        """Return True if the statement is about nodes of this kind ("": of any kind)."""
        return not (kind and self.kinds) or kind in self.kinds


_PARAMETER = re.compile(r"^-- \$(\d+) (\w+)", re.MULTILINE)
_FIELD = re.compile(r"^-- (needs|needs of ids|title|drawn|kinds): (.*)$", re.MULTILINE)
_SECTION = re.compile(r"^-- :(\w+)$", re.MULTILINE)
_VERSION = re.compile(r"@(\d+)\.sql$")


def parse_statement(text: str, source: str, known: frozenset[str]) -> Statement:
    """Parse a file of one statement. Raises EngineFileError."""
    header = _header(text, source, known)
    return _statement(text, source, header, text)


def parse_sections(text: str, source: str, known: frozenset[str]) -> dict[str, tuple[Statement, ...]]:
    """Parse a file of sections, each begun by a line ``-- :name``.

    A name may occur again; order is kept.
    """
    marks = list(_SECTION.finditer(text))
    if not marks:
        raise EngineFileError(f"{source}:1: it has no section; a section begins with a line such as -- :lock")
    header = _header(text[: marks[0].start()], source, known)
    sections: dict[str, tuple[Statement, ...]] = {}
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = text[mark.end() : following.start() if following else None]
        line = text.count("\n", 0, mark.end()) + 1
        part = _statement(body, source, header, body, line)
        sections[mark[1]] = (*sections.get(mark[1], ()), part)
    return sections


def _header(text: str, source: str, known: frozenset[str]) -> dict[int, str]:
    parameters: dict[int, str] = {}
    for match in _PARAMETER.finditer(text):
        if match[2] not in known:
            line = text.count("\n", 0, match.start()) + 1
            names = ", ".join(sorted(known))
            raise EngineFileError(f"{source}:{line}: {match[2]!r} is not a parameter; there are {names}")
        parameters[int(match[1])] = match[2]
    return parameters


def _statement(body: str, source: str, header: dict[int, str], comments: str, line: int = 1) -> Statement:
    bare = re.sub(r"^[ \t]*--.*$", "", body, flags=re.MULTILINE)
    code = bare.strip().removesuffix(";")
    if not code:
        raise EngineFileError(f"{source}:{line}: the statement is empty")
    used = sorted({int(n) for n in re.findall(r"\$(\d+)", code)})
    for number in used:
        if number not in header:
            line += bare.count("\n", 0, bare.index(f"${number}"))
            raise EngineFileError(
                f"{source}:{line}: ${number} is missing in the header (-- ${number} name type: what it is)"
            )
    place = {number: index for index, number in enumerate(used, 1)}
    fields = {m[1]: m[2] for m in _FIELD.finditer(comments)}
    version = _VERSION.search(source)
    return Statement(
        text=re.sub(r"\$(\d+)", lambda m: f"${place[int(m[1])]}", code),
        source=source,
        parameters=tuple(header[n] for n in used),
        needs=_names(fields.get("needs", "")),
        of_ids=_names(fields["needs of ids"]) - {"none"} if "needs of ids" in fields else None,
        title=fields.get("title", ""),
        drawn=fields.get("drawn", ""),
        kinds=tuple(fields.get("kinds", "").split()),
        server=int(version[1]) if version else 0,
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, re.split(r"[,\s]+", text)))
