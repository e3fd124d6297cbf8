"""SQL files: a statement, an action of statements, or a part.

A part is one whole table expression; one that only findings name by `among` may be several.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import queries
from queries.contract.builtin import builtin
from queries.contract.folder import is_script
from queries.contract.sql_names import names_in_sql
from queries.db.query import statement
from queries.files.statement import NAME, PARAMETERS, expand
from queries.log import audit_log
from queries.text.psql_text import bound
from tests.servers import PostgresServer, both_versions

ROOT = Path(queries.__file__).resolve().parent
FOLDERS = [*(ROOT / "engines" / each.name for each in builtin()), ROOT / "sql", ROOT / "server"]
INLINE = re.compile(r"(?m)^( *(?:WITH|WITH RECURSIVE|,)) (?=\\ir )")
TEXTS = {path: INLINE.sub(r"\1\n", path.read_text("utf-8")) for path in ROOT.rglob("*.sql")}
INCLUDED = {
    path: [(path.parent / name).resolve() for name in re.findall(r"(?m)^\\ir (\S+)$", text)]
    for path, text in TEXTS.items()
}
AMONG = [
    path.parent / "parts" / f"{name}.sql"
    for path in ROOT.glob("engines/*/engine.toml")
    for name in re.findall(r'(?m)^among = "(\w+)"', path.read_text("utf-8"))
]
IN_TOML = [  # those that the text of a finding includes
    path.parent / name
    for path in ROOT.glob("engines/*/engine.toml")
    for name in re.findall(r"\\ir (parts/\w+\.sql)$", path.read_text("utf-8"), re.MULTILINE)
]
READS = re.compile(r"(?:\b(?:FROM|JOIN) |: ')(\w+)")
OF_CLAIMS = [  # those that a claim reads from
    part
    for path in ROOT.glob("engines/*/engine.toml")
    for name in {*READS.findall(str(tomllib.loads(path.read_text("utf-8")).get("claim")))}
    if (part := path.parent / "parts" / f"{name}.sql") in TEXTS
]
# The statements of a claim have no files of their own into which a part could be written.
OF_CLAIMS *= 2
USES = Counter([*(part for parts in INCLUDED.values() for part in parts), *AMONG, *IN_TOML, *OF_CLAIMS])
SEVERAL = {*AMONG} - {*IN_TOML, *(part for parts in INCLUDED.values() for part in parts)}
NO_CODE = re.compile(r"--.*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$)(?s:.*?)\1")
NAMED = re.compile(r"\b(\w+)(?: ?\([^()]*\))? AS (?:NOT )?(?:MATERIALIZED )?\(")


def code(path: Path) -> str:
    """Return the text of a file without comments, and with empty strings."""
    return NO_CODE.sub(lambda match: "" if match[0].startswith("--") else "''", TEXTS[path]).strip()


def reached(paths: Iterable[Path]) -> set[Path]:
    """Return files with all that they include."""
    return {each for path in paths for each in (path, *reached(INCLUDED[path]))}


def files(folder: Path) -> set[Path]:
    return {path for path in TEXTS if folder in path.parents and not is_script(path.name)}


def parts(folder: Path) -> dict[Path, str]:
    """Return the parts to judge, each with the name of its expression, or ""."""
    of_parts = [path for path in sorted(files(folder)) if path.parent.name == "parts" and path not in SEVERAL]
    return {path: match[1] if (match := NAMED.match(code(path))) else "" for path in of_parts}


def named(path: Path, names: dict[Path, str]) -> list[Path]:
    """Return the parts whose table expressions a part names and does not include."""
    own = {match[1] for each in reached([path]) for match in NAMED.finditer(code(each))}
    used = {*re.findall(r"\b(?:FROM|JOIN|USING|TABLE) (\w+)\b(?!\.)", code(path))} - own
    return [*{name: each for each, name in names.items() if name in used}.values()]


def chain(path: Path, names: dict[Path, str]) -> list[Path]:
    """Return a part after the parts that it names, each after its own."""
    return [*dict.fromkeys([*(other for each in named(path, names) for other in chain(each, names)), path])]


def expressions(path: Path) -> int:
    """Return the number of table expressions, also included ones; 0 if there is more."""
    text, brackets = code(path), 1
    while brackets:
        text, brackets = re.subn(r"\([^()]*\)", "", text)
    every = [each.strip() for each in text.split(",")]
    return len(every) if all(re.fullmatch(r"\w+ +AS( NOT)?( MATERIALIZED)?|\\ir \S+", each) for each in every) else 0


def faults(folder: Path) -> Iterator[str]:
    names = parts(folder)
    for path in sorted(files(folder)):
        lines = [line.strip() for line in code(path).split("\n") if line.strip()]
        around = "," * (path in SEVERAL)
        for before, line, after in zip([around, *lines], lines, [*lines[1:], around], strict=False):
            if line.startswith("\\ir ") and not re.search(r"(,|\bWITH|\bWITH RECURSIVE)$", before):
                yield f"{path}: {line} follows neither WITH nor a comma"
            if line.startswith("\\ir ") and not re.match(r",|\(|(SELECT|INSERT|UPDATE|DELETE)\b", after):
                yield f"{path}: after {line} a table expression goes on"
        if path in SEVERAL and not expressions(path):
            yield f"{path}: not only whole table expressions"
    for path in names:
        if expressions(path) != 1:
            yield f"{path}: it is not one whole table expression"
        if USES[path] < 2:
            yield f"{path}: it has fewer than two users"
        head = " ".join(re.findall(r"(?m)^--.*$", TEXTS[path]))
        for name in (names[each] for each in named(path, names)):
            if not re.search(rf"\b{name}\b", head):
                yield f"{path}: its header does not say that it reads {name}"


@pytest.mark.fast
@pytest.mark.parametrize("folder", FOLDERS, ids=[path.name for path in FOLDERS])
def test_a_part_is_one_whole_table_expression(folder: Path) -> None:
    assert files(folder)
    assert list(faults(folder)) == []


def texts(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each statement with its parts, and for each part one that reads it.

    Not templates, which name their places, such as {table}, and not scripts of several statements.
    """
    names = parts(folder)
    reader = str(folder / "reader.sql")
    for path in sorted(names.keys() | {path for path in files(folder) if path.parent.name != "parts"}):
        if re.search(r"\{[a-z]+\}", re.sub(r"'[^'\n]*'", "", TEXTS[path])) or ";" in code(path).rstrip(";"):
            continue
        text = f"\\ir {path}"
        if path in names:
            every = chain(path, names)
            recursive = any(re.search(rf"\b(FROM|JOIN) {names[each]}\b", code(each)) for each in every)
            text = f"WITH{' RECURSIVE' * recursive}\n" + "\n,\n".join(f"\\ir {each}" for each in every)
            text += f"\nSELECT * FROM {names[path]}"
        text = expand(reader, {reader: text, **{str(each): of_it for each, of_it in TEXTS.items()}}.__getitem__).text
        _, *sections = re.split(r"(?m)^-- :\w+$", text)
        yield from ((path, section) for section in sections or [text])


async def prepare(
    connection: asyncpg.Connection[Any], text: str, names: Mapping[str, str] = {}, roles: Iterable[str] = ()
) -> None:
    """Prepare a statement as psql does after ``\\set page NULL::int`` and so on.

    A role is set to the table of the same name.
    """

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        if not name:
            return match[0]
        if name in names:
            return NAME.sub(value, names[name])
        return "NULL" if match.string.startswith("::", match.end()) else f"NULL::{PARAMETERS[name]}"

    text = bound(text.replace(':"schema"', '"public"').replace(":'schema'", "'public'"), {role: role for role in roles})
    await connection.execute(f"PREPARE it AS {NAME.sub(value, text)}")
    await connection.execute("DEALLOCATE it")


@both_versions
@pytest.mark.parametrize("folder", FOLDERS, ids=[path.name for path in FOLDERS])
async def test_psql_can_run_each_file(server: PostgresServer, folder: Path) -> None:
    """The search path contains only the server's own schemas."""
    spec = next((each.spec for each in builtin() if each.name == folder.name), None)
    names, roles = (names_in_sql(spec, action=True), spec.recognise.roles) if spec else ({}, {})
    dsn = server.fresh(folder.name if spec else None)
    connection = await asyncpg.connect(
        dsn, statement_cache_size=0, server_settings={"search_path": "pg_catalog, pg_temp"}
    )
    if not spec:
        await connection.execute(audit_log.ddl())
    for path, text in texts(folder):
        version = re.search(r"@(\d+)\.sql$", path.name)
        if version and int(version[1]) > server.version:
            continue
        for name in re.findall(r"(?m)^-- needs: (\w+)$", text):
            need = spec.needs[name] if spec else None
            if need and need.column:  # that not every version of the engine has
                add = f"ALTER TABLE IF EXISTS public.{need.table} ADD COLUMN IF NOT EXISTS {need.column} text"
                await connection.execute(add)
        try:
            await prepare(connection, text, names, roles)
            if folder.name == "sql" and path.parent == folder:
                await connection.prepare(statement(path.stem).text)
        except asyncpg.PostgresError as error:
            of_user = re.match(r'relation "(\w+)" does not exist', str(error))  # rows that the including file has
            headers = "".join(TEXTS[each] for each in reached(chain(path, parts(folder))))
            if not (of_user and re.search(rf"(?m)^--.*\b{of_user[1]}\b", headers)):
                raise AssertionError(f"{path}: {error}") from error
    await connection.close()
    server.drop(dsn)
