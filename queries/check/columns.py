"""Columns, types and parameters of every statement, as the server describes them."""

from __future__ import annotations

from collections.abc import Iterator

from queries.check.report import Notebook
from queries.contract.rows import SHAPES, PayloadRow, columns, required
from queries.db.transaction import Description
from queries.files.statement import PARAMETERS, Statement
from queries.read.reader import Reader
from queries.records.detail import DRAWN
from queries.records.record import Record

_SAME = {"text": "text", "varchar": "text", "jsonb": "text", "json": "text", "int4": "int", "int8": "int"}
_SENT = {"text": "text", "jsonb": "text", "int": "int", "text[]": "text[]", "float8": "float8"}


class Described(Record):
    """A statement to describe, with the shape of its rows ("": no fixed shape)."""

    statement: Statement
    shape: str
    last: bool = True  # of its section


async def check_columns(reader: Reader, notes: Notebook) -> None:
    """Compare every statement of an engine with its contract.

    Raises DatabaseError.
    """
    version = reader.database.server.version if reader.database.server else 0
    for each in _statements(reader):
        if each.statement.server > version:
            notes.note(f"{each.statement.source}: for PostgreSQL {each.statement.server} and newer")
            continue
        if missing := _missing(reader, each.statement):
            notes.note(f"{each.statement.source}: {missing} is not there")
            continue
        async with reader.database.writing() as transaction:
            with notes.errors(each.statement):
                described = await transaction.describe(each.statement)
                notes.number += 1
                for message in (*_wrong_parameters(each.statement, described), *_wrong_columns(each, described)):
                    notes.fault(each.statement, message)


def _statements(reader: Reader) -> Iterator[Described]:
    for key, variants in reader.engine.statements.items():
        yield from (Described(statement=s, shape=key.partition("/")[0]) for s in variants)
    for script, sections in reader.engine.actions.items():
        for name, parts in sections.items():
            for number, part in enumerate(parts, 1):
                shape = "" if script.startswith("undo/") else f":{name}"
                yield Described(statement=part, shape=shape, last=number == len(parts))


def _missing(reader: Reader, statement: Statement) -> str:
    """Return an object that the statement needs and the schema does not have, or ""."""
    for name in sorted(statement.needs - reader.detected.met_needs):
        need = reader.engine.spec.needs[name]
        if need.functions or need.relation or need.column:
            return need.relation or need.column or ", ".join(need.functions)
        if need.table in reader.engine.spec.recognise.optional and need.table not in reader.detected.relations:
            return need.table
    return ""


def _wrong_parameters(statement: Statement, described: Description) -> Iterator[str]:
    for name, given in zip(statement.parameters, described.parameters, strict=True):
        type_ = _SENT[PARAMETERS[name]]
        if _SAME.get(given, given) not in (type_, f"_{type_.removesuffix('[]')}" if "[]" in type_ else type_):
            yield f"the parameter {name} is used as {given}; it is {PARAMETERS[name]}"


def _wrong_columns(each: Described, described: Description) -> Iterator[str]:
    given = dict(described.columns)
    if len(given) < len(described.columns):
        yield "two columns have the same name"
    if each.shape == "detail":
        yield from _wrong_details(each.statement, set(given))
    if each.shape not in SHAPES or (each.shape == ":change" and not each.last):
        return
    types = columns(SHAPES[each.shape])
    for name in sorted(required(SHAPES[each.shape]) - given.keys()):
        yield f"the column {name} ({types[name][0]}) is missing"
    if {"phase", "status"} <= types.keys() and not given.keys() & {"phase", "status"}:
        yield "the columns phase and status are missing; one of them is required"
    for name, kind in given.items():
        if name not in types:
            yield f"the column {name} is not one of {', '.join(types)}"
        elif kind not in types[name]:
            yield f"the column {name} is {kind}; it must be {types[name][0]}"


def _wrong_details(statement: Statement, given: set[str]) -> Iterator[str]:
    if "payload" in given and given != required(PayloadRow):
        yield "a payload has the columns payload and size, and no others"
    if statement.drawn and given != DRAWN[statement.drawn]:
        names = ", ".join(sorted(DRAWN[statement.drawn]))
        yield f"the drawing {statement.drawn} has the columns {names}, and no others"
