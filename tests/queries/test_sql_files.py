"""SQL files as a reader meets them: a statement, an action of statements, or a part: one whole table expression.

What only findings read is not judged: findings of engines, the parts that they name by `among`, and the parts that no
other file includes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import asyncpg
import msgspec
import pytest

import queries
from queries.contract import roles
from queries.contract.builtin import builtin, builtin_folder
from queries.contract.engine import in_schema
from queries.contract.folder import is_script
from queries.contract.references import names_in_sql
from queries.files.statement import Statement, expand, parse_sections, parse_statement
from queries.log import audit_log
from tests.servers import PostgresServer

# Engines with parts that begin or end in other files.
TO_DO = ("agent_jobs", "estuary", "eternaltwin", "tasker", "uni2work")

ROOT = Path(queries.__file__).parent
FOLDERS = [*(builtin_folder(e.name) for e in builtin() if e.name not in TO_DO), ROOT / "sql", ROOT / "server"]
TEXTS = {path: path.read_text("utf-8") for path in ROOT.rglob("*.sql")}
INCLUDED = {
    path: [(path.parent / name).resolve() for name in re.findall(r"(?m)^\\ir (\S+)$", text)]
    for path, text in TEXTS.items()
}
AMONG = [
    path.parent / "parts" / f"{name}.sql"
    for path in ROOT.glob("engines/*/engine.toml")
    for name in re.findall(r'(?m)^among = "(\w+)"', path.read_text("utf-8"))
]
USES = Counter([*(part for parts in INCLUDED.values() for part in parts), *AMONG])
NO_CODE = re.compile(r"--.*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$)(?s:.*?)\1")
NAMED = re.compile(r"\b(\w+)(?: ?\([^()]*\))? AS (?:NOT )?(?:MATERIALIZED )?\(")


def code(path: Path) -> str:
    """Return the text of a file without comments, and with empty strings."""
    return NO_CODE.sub(lambda match: "" if match[0].startswith("--") else "''", TEXTS[path]).strip()


def reached(paths: Iterable[Path]) -> set[Path]:
    """Return files with all that they include."""
    return {each for path in paths for each in (path, *reached(INCLUDED[path]))}


def judged(folder: Path) -> list[Path]:
    """Return the files to judge."""
    files = {path for path in TEXTS if folder in path.parents and not is_script(path.name)}
    findings = {path for path in files if path.parent.name == "findings" and folder.parent.name == "engines"}
    others = {path for path in files - findings if path.parent.name != "parts"}
    return sorted(files - (reached({*findings, *files & {*AMONG}}) - reached(others)))


def parts(folder: Path) -> dict[Path, str]:
    """Return the parts to judge, each with the name of its table expression, or "" for a fragment."""
    of_parts = [path for path in judged(folder) if path.parent.name == "parts"]
    return {path: match[1] if (match := NAMED.match(code(path))) else "" for path in of_parts}


def needed(path: Path, names: dict[Path, str]) -> list[Path]:
    """Return the parts that a part names, each after those that it names, and the part."""
    own = {match[1] for each in reached([path]) for match in NAMED.finditer(code(each))}
    used = {*re.findall(r"\b(?:FROM|JOIN|USING|TABLE) (\w+)\b(?!\.)", code(path))} - own
    every = [each for one, name in names.items() if name in used for each in needed(one, names)]
    return [*dict.fromkeys([*every, path])]


def is_whole(text: str) -> bool:
    """Return True if the bracket that begins a table expression ends with the text."""
    begin = NAMED.match(text)
    depth = 1
    for at, sign in enumerate(text[begin.end() :] if begin else "", begin.end() + 1 if begin else 0):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return at == len(text)
    return False


def faults(folder: Path) -> Iterator[str]:
    names = parts(folder)
    for path in judged(folder):
        lines = [line.strip() for line in code(path).split("\n") if line.strip()]
        for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
            if line.startswith("\\ir ") and not re.search(r"(,|\bWITH|\bWITH RECURSIVE)$", before):
                yield f"{path}: {line} follows neither WITH nor a comma"
            if line.startswith("\\ir ") and not re.match(r",|\(|(SELECT|INSERT|UPDATE|DELETE)\b", after):
                yield f"{path}: after {line} a table expression goes on"
    for path in names:
        if not is_whole(code(path)):
            yield f"{path}: it is not one whole table expression"
        if USES[path] < 2:
            yield f"{path}: it has fewer than two users"
        head = " ".join(re.findall(r"(?m)^--.*$", TEXTS[path]))
        for name in (names[each] for each in needed(path, names)[:-1]):
            if not re.search(rf"\b{name}\b", head):
                yield f"{path}: its header does not say that it reads {name}"


@pytest.mark.fast
@pytest.mark.parametrize("folder", FOLDERS, ids=[path.name for path in FOLDERS])
def test_a_part_is_one_whole_table_expression(folder: Path) -> None:
    assert list(faults(folder)) == []


def statements(folder: Path, settings: dict[str, str], arguments: dict[str, str]) -> Iterator[tuple[str, Statement]]:
    """Yield each statement, and for each part one that reads it.

    Not templates, which have places such as {table}, and not scripts of several statements.
    """
    names = parts(folder)
    reader = str(folder / "reader.sql")
    for path in judged(folder):
        if re.search(r"\{[a-z]+\}", re.sub(r"'[^'\n]*'", "", TEXTS[path])) or ";" in code(path).rstrip(";"):
            continue
        texts = {str(each): text for each, text in TEXTS.items()}
        if path in names:
            chain = needed(path, names)
            recursive = any(re.search(rf"\b(FROM|JOIN) {names[each]}\b", code(each)) for each in chain)
            included = "\n,\n".join(f"\\ir {each}" for each in chain)
            texts[reader] = f"WITH{' RECURSIVE' * recursive}\n{included}\nSELECT * FROM {names[path]}"
            yield str(path), parse_statement(expand(reader, texts.__getitem__), arguments)
        elif path.parent.name in ("actions", "undo") or path.name == "actions.sql":
            sections = parse_sections(expand(str(path), texts.__getitem__), arguments)
            yield from ((str(path), each) for run in sections.values() for each in run)
        else:
            yield str(path), parse_statement(expand(str(path), texts.__getitem__), settings)


@pytest.mark.parametrize("folder", FOLDERS, ids=[path.name for path in FOLDERS])
async def test_the_server_accepts_each_file_alone(server: PostgresServer, folder: Path) -> None:
    engine = next((each for each in builtin() if each.name == folder.name), None)
    connection = await asyncpg.connect(server.fresh(engine.name if engine else None))
    try:
        settings, arguments = (names_in_sql(engine.spec), names_in_sql(engine.spec, None)) if engine else ({}, {})
        files = [*statements(folder, settings, arguments)]
        if engine:
            tables = {row["relname"] for row in await connection.fetch("SELECT relname FROM pg_class")}
            spread = {f"{n} {path}": (each,) for n, (path, each) in enumerate(files)}
            (bound,) = roles.bound([msgspec.structs.replace(engine, statements=spread, actions={})], tables)
            files = [(path, each) for path, (each,) in in_schema(bound, "public").statements.items()]
        else:
            await connection.execute(audit_log.ddl())
        await connection.execute("SET search_path = pg_catalog, pg_temp")
        refused = []
        for path, each in files:
            try:
                await connection.prepare(each.text)
            except asyncpg.PostgresError as error:
                refused.append(f"{path}: {error}")
        assert files
        assert refused == []
    finally:
        await connection.close()
