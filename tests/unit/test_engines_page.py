"""docs/engines.md: the contract and the example as the code has them."""

from __future__ import annotations

import ast
import enum
import json
import re
import typing
from collections.abc import Iterable, Iterator
from inspect import getsource

import msgspec

from queries.contract import spec
from queries.contract.rows import SHAPES, columns, required
from queries.files.statement import PARAMETERS
from queries.propose.proposal import names
from queries.records.node import Phase
from queries.records.record import Record
from tests.command import ROOT
from tests.generated import is_as_made
from tests.outside import HOMEMADE

PAGE = ROOT / "docs" / "engines.md"
NAMED = ("kinds", "statuses", "findings", "actions", "workers", "claim", "conditions", "arguments")
SETTINGS = 136  # of an engine's folder
Row = tuple[str, str, str, str]
OR = r"\|"  # in a table of Markdown
FOLDERS = {"findings": "findings/*.sql", "samples": "samples/*.sql"}


def test_the_columns_are_those_of_the_contract() -> None:
    lines = ["| statement | columns |", "|---|---|"]
    for name, shape in SHAPES.items():
        must = required(shape)
        of = sorted(columns(shape).items(), key=lambda each: each[0] not in must)
        said = ", ".join(
            f"**{column}** {types[0]}" if column in must else f"{column} {types[0]}" for column, types in of
        )
        lines.append(f"| `{FOLDERS.get(name) or (f'-- {name}' if name.startswith(':') else f'{name}.sql')}` | {said} |")
    is_as_made(PAGE, "statements", "\n".join(lines) + "\n")


def settings(record: type[Record], path: str, pages: dict[type, tuple[str, list[Row]]]) -> None:
    """Add the settings of a table and of those in it, with their comments."""
    fields = [field for field in msgspec.structs.fields(record) if field.name not in record.DERIVED]
    rows = [(f.encode_name, meaning(record, f.name), type_of(f.type), default(f)) for f in fields]
    pages[record] = path, rows
    for field in fields:
        for each in parts(field.type):
            if isinstance(each, type) and issubclass(each, Record) and each not in pages:
                named = field.name in NAMED or typing.get_origin(field.type) is dict
                inside = f"{path}.{field.encode_name}".removeprefix("engine.toml.")
                settings(each, inside + ".NAME" * named, pages)


def parts(kind: object) -> Iterator[object]:
    yield kind
    for part in typing.get_args(kind):
        yield from parts(part)


def meaning(record: type[msgspec.Struct], name: str) -> str:
    """Return the comment of a field: behind it, or above it."""
    source = getsource(record)
    lines = source.splitlines()
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    (at,) = [
        e for e in tree.body if isinstance(e, ast.AnnAssign) and isinstance(e.target, ast.Name) and e.target.id == name
    ]
    if behind := re.search(r"  # (.+)$", lines[(at.end_lineno or 0) - 1]):
        return behind[1].replace("``", "`")
    above: list[str] = []
    for line in reversed(lines[: at.lineno - 1]):
        if not line.startswith("    # "):
            break
        above.insert(0, line.strip("# "))
    return " ".join(above).replace("``", "`")


def type_of(kind: object) -> str:
    """Return a type in the words of TOML."""
    (of, inner) = (typing.get_origin(kind), typing.get_args(kind))
    if of is typing.Annotated:
        return type_of(inner[0])
    if of is typing.Literal or isinstance(kind, enum.EnumType):
        return ", ".join(map(str, inner or typing.cast("Iterable[object]", kind)))
    if of is dict:
        return "table of lists" if typing.get_origin(inner[1]) is tuple else "table"
    if of is tuple:
        return "table by name" if any(isinstance(e, type) and issubclass(e, msgspec.Struct) for e in inner) else "list"
    words = {str: "text", int: "number", float: "number", bool: "true or false"}
    several = [words.get(each, "table") for each in inner or (kind,) if each is not type(None)]
    return " or ".join(dict.fromkeys(several))


def default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = None if isinstance(field.default, msgspec.Struct) or field.default is msgspec.NODEFAULT else field.default
    return f"`{json.dumps(value)}`" if value not in (None, "", ()) else ""


def test_every_setting_has_a_meaning() -> None:
    pages: dict[type, tuple[str, list[Row]]] = {}
    settings(spec.EngineSpec, "engine.toml", pages)
    lines: list[str] = []
    for path, rows in pages.values():
        lines += [f"**`{path}`**", "", "| setting | meaning | type | default |", "|---|---|---|---|"]
        lines += [*(f"| `{name}` | {' | '.join(each.replace('|', OR) for each in rest)} |" for name, *rest in rows), ""]
    assert [f"{path}.{row[0]}" for path, rows in pages.values() for row in rows if not row[1]] == []
    assert sum(len(rows) for _, rows in pages.values()) <= SETTINGS
    is_as_made(PAGE, "settings", "\n".join(lines))


def test_the_parameters_are_those_of_the_contract() -> None:
    by_type: dict[str, list[str]] = {}
    for name, type_ in PARAMETERS.items():
        by_type.setdefault(type_, []).append(f"`{name}`")
    lines = [f"- {type_}: {', '.join(names)}" for type_, names in by_type.items()]
    is_as_made(PAGE, "parameters", "\n".join(lines) + "\n")


def test_the_example_is_the_file_that_the_tests_check() -> None:
    for name in ("homemade", "outbox"):
        toml = (HOMEMADE.with_name(name) / "engine.toml").read_text("utf-8")
        is_as_made(PAGE, name, f"```toml\n{toml}```\n")


def test_the_questions_are_those_of_a_proposal() -> None:
    lines = [f"   - {question.replace('{}', '…')}" for question in names().questions.values()]
    is_as_made(PAGE, "questions", "\n".join(lines) + "\n")


def test_every_phase_is_named() -> None:
    (phases,) = re.findall(r"(?s)The phases are the same for all engines: (.*?)\.", PAGE.read_text("utf-8"))
    assert set(re.findall(r"\w+", phases)) == set(Phase)
