"""Files of an engine's folder, read into memory once.

What is parsed is then what the digest covers, even if the files change meanwhile.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from queries.contract.engine import BrokenEngineError
from queries.files.state_file import open_file, open_private
from queries.files.statement import SqlText, Statement, expand
from queries.records.fault import Fault
from queries.records.record import Record

TOML = "engine.toml"
CATALOG = "catalog.toml"
TEMPLATES = Path(__file__).parent / "templates"  # of statements that follow from it
SUBFOLDERS = ("actions", "detail", "findings", "parts", "samples", "undo")
OF_KIND = ("nodes", "children", "claim", "after", "next", "funnel", "flow")  # files whose names may have a kind
FILE_BYTES = 1 << 20  # bytes of one file
# Part of the digest: increase when `check` proves more or a derived statement changes. Folders are then checked again.
CONTRACT = "5"


class Folder(Record):
    """An engine's folder.

    ``files`` has the text of each file by its name, such as ``actions/wake.sql``.
    """

    name: str
    path: str
    files: dict[str, str]

    @property
    def digest(self) -> str:
        """Digest of all files, and of the templates of those that are derived."""
        templates = {f"{TEMPLATES.name}/{path.name}": path.read_text("utf-8") for path in TEMPLATES.glob("*.sql")}
        files = sorted({**templates, **self.files}.items())
        parts = (f"{len(name)} {len(text)} {name}{text}" for name, text in files)
        return sha256("\n".join([CONTRACT, *parts]).encode()).hexdigest()

    def shown(self, file: str) -> str:
        """Return the path of a file, for messages."""
        return f"{self.path}/{file}"

    @property
    def questions(self) -> tuple[Fault, ...]:
        """Open questions of a proposal.

        They are lines of ``engine.toml`` that begin with ``# ASK``.
        """
        rows = enumerate(self.files.get(TOML, "").splitlines(), 1)
        message = "an open question: answer it here, and remove its lines"
        return tuple(Fault(self.shown(TOML), n, 1, message) for n, row in rows if re.match(r"\s*#\s*ASK\b", row))

    def sql(self, file: str) -> SqlText:
        """Return a file's text with its parts. Raises EngineFileError."""
        start = f"{self.path}/"
        return expand(self.shown(file), lambda name: self.files[name.removeprefix(start)])

    def written(self, kinds: Collection[str], name: str, kind: str = "") -> bool:
        """Return True if the folder has a statement for nodes of this kind ("": of any)."""
        for file, text in self.files.items():
            if re.fullmatch(rf"{name}([.@].*)?\.sql", file):
                header = re.search(r"^-- kinds: (.*)$", text, re.MULTILINE)
                about = header[1] if header else kind_of_file(file, kinds)
                if not kind or not about or kind in about.split():
                    return True
        return False

    def fault(self, file: str, message: str, words: str = "") -> Fault:
        """Return the fault at the first line that starts with ``words``."""
        rows = enumerate(self.files.get(file, "").splitlines(), 1)
        return Fault(self.shown(file), next((n for n, row in rows if row.startswith(words)), 1), 1, message)

    def statements(self, *subfolders: str) -> Iterator[str]:
        """Yield the names of files with statements in these subfolders, in order."""
        for file in sorted(self.files):
            if file.rpartition("/")[0] in subfolders and file.endswith(".sql") and not is_script(file):
                yield file


class ParsedFiles(Record):
    """The SQL files of a folder, by their names."""

    statements: dict[str, Statement]
    sections: dict[str, dict[str, tuple[Statement, ...]]]

    @property
    def variants(self) -> dict[str, tuple[Statement, ...]]:
        """The variants of each statement, by its name."""
        variants: dict[str, tuple[Statement, ...]] = {}
        for file, statement in self.statements.items():
            variants[key_of(file)] = (*variants.get(key_of(file), ()), statement)
        return variants


def key_of(file: str) -> str:
    """Return the name of a file's statement without its variant.

    ``children.leaf.sql`` and ``children@16.sql`` are variants of ``children``.
    """
    subfolder, slash, name = file.rpartition("/")
    return subfolder + slash + re.split(r"[.@]", name, maxsplit=1)[0]


def kind_of_file(file: str, kinds: Collection[str]) -> str:
    """Return the KIND of a file such as ``nodes.KIND.sql``, or ""."""
    name, _, rest = file.partition(".")
    variant = re.split("[.@]", rest)[0]
    return variant if name in OF_KIND and variant in kinds else ""


def with_kinds(file: str, statement: Statement, kinds: Collection[str]) -> Statement:
    """Return the statement with the kinds that it is about, if its header names none.

    A file may be named after a kind. A finding or a sample is about the kinds whose ids it makes.
    """
    if statement.kinds:
        return statement
    if file.startswith(("findings/", "samples/")):
        about = [kind for kind in kinds if f"'{kind}:" in statement.text]
    else:
        about = kind_of_file(file, kinds).split()
    return msgspec.structs.replace(statement, kinds=tuple(about))


SCHEMA, FIXTURE = "schema.sql", "fixture.sql"
TRY = "worker.try.sql"  # what a worker runs next on one node, in sections


def schema_scripts(files: Iterable[str]) -> list[str]:
    """Return the scripts that make tables: ``schema.sql``, then ``schema.NAME.sql``.

    The others make what the engine keeps in schemas of another name: a database has it once.
    """
    return sorted(
        (f for f in files if re.fullmatch(r"schema(\.\w+)?\.sql", f)), key=lambda file: (file != SCHEMA, file)
    )


def is_script(file: str) -> bool:
    """Return True for scripts of `unstick engine check` and the demo.

    They make tables and rows, and play a worker.
    """
    return re.fullmatch(r"(schema|fixture|worker)(\.\w+)?\.sql", file) is not None


def read(path: Path, *, private: bool = False) -> Folder:
    """Read a folder. Raises BrokenEngineError.

    ``private``: only files and folders that no other user can write. Files that are too large or not UTF-8 are refused.
    """
    at, files = path, {}
    try:
        for name in list(_names(path)):
            at = path / name
            files[name] = _content(at, private=private).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BrokenEngineError(path.name, Fault(str(at), line, 1, "it is not UTF-8")) from None
    except OSError as error:
        where = error.filename if at == path else at
        raise BrokenEngineError(path.name, Fault(str(where), 1, 1, str(error.strerror))) from None
    return Folder(name=path.name, path=str(path), files=files)


def _names(path: Path) -> Iterator[str]:
    for place, prefix in ((path, ""), *((path / name, f"{name}/") for name in SUBFOLDERS)):
        if prefix and not place.is_dir():
            continue
        for entry in sorted(each.name for each in place.iterdir()):
            if entry.endswith(".sql") or prefix + entry in (TOML, CATALOG):
                yield prefix + entry


def _content(file: Path, *, private: bool) -> str:
    with os.fdopen(open_private(file, os.O_RDONLY), "rb") if private else open_file(file) as opened:
        content = opened.read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:
        raise OSError(errno.EFBIG, f"the file is larger than {FILE_BYTES >> 20} MB", str(file))
    return content.decode("utf-8")
