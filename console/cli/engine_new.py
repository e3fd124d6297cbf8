"""``engine new``: propose an engine's folder for a table."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from console.cli.output import output_for, say
from console.target import Target
from console.text.spans import Spans
from queries.contract.builtin import builtin
from queries.contract.engine import BrokenEngineError
from queries.contract.folder import Folder
from queries.contract.loader import parsed
from queries.contract.outside import standard_place, wrong_name
from queries.db.database import Database
from queries.propose.catalog import read_statements, read_table
from queries.propose.files import files, of_statement, save
from queries.propose.guess import why_no_work
from queries.propose.proposal import Missing, engine_name, propose
from queries.propose.worker import unread
from queries.records.record import Record
from queries.text.safe_text import safe_text


class Asked(Record):
    """An open question of the proposal, ``# ASK number`` in ``engine.toml``."""

    number: int
    code: str
    text: str


class Proposed(Record):
    """A proposed engine. ``next`` are the words of the command that checks it."""

    engine: str
    folder: str
    table_schema: str
    table: str
    files: tuple[str, ...]
    findings: tuple[str, ...]
    actions: tuple[str, ...]
    not_proposed: tuple[Missing, ...]
    questions: tuple[Asked, ...]
    claim: tuple[str, ...]  # sentences about the worker's statement
    next: tuple[str, ...]


async def new(target: Target, table: str, to: Path | None, statement: str = "") -> int:
    """Propose an engine for a table, and write its folder.

    ``statement``: that by which a worker takes a row, or "". Return the exit code.
    """
    database = Database(target.context.dsn)
    try:
        described = await read_table(database, table, target.context.schema, target.context.trusted_owners)
        folder = standard_place() / _free(engine_name(described.name)) if to is None else to
        _refuse(folder)
        trusted = target.context.trusted_owners
        statements = [("", statement)] if statement else await read_statements(database, described, trusted)
        proposal = await propose(database, described, folder.name, statements=statements)
    finally:
        await database.close()
    say(*filter(None, [why_no_work(described)]))
    made = files(proposal)
    try:
        parsed(Folder(name=proposal.name, path=str(folder), files=made))
    except BrokenEngineError as error:
        raise unread(str(error.faults[0])) from error
    try:
        save(made, folder)
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be written: {error.strerror}.") from error
    proposed = Proposed(
        engine=proposal.name,
        folder=str(folder),
        table_schema=described.schema,
        table=described.name,
        files=tuple(made),
        findings=proposal.findings,
        actions=tuple(action.name for action in proposal.actions),
        not_proposed=proposal.missing,
        questions=tuple(Asked(number=n, code=q.code, text=q.text) for n, q in enumerate(proposal.questions, 1)),
        claim=tuple(map(safe_text, of_statement(proposal))),
        next=("unstick", "engine", "check", str(folder), *target.words),
    )
    output_for(target).answer(proposed, lambda: _text(proposed))
    return 0


def _free(name: str) -> str:
    """Return a name that no engine of unstick has."""
    return f"own_{name}"[:40] if name in {engine.name for engine in builtin()} else name


def _refuse(folder: Path) -> None:
    if folder.exists() or folder.is_symlink():
        raise click.UsageError(f"{folder} exists. Nothing was written: choose another folder with --to.")
    if why := wrong_name(folder):
        raise click.UsageError(why)
    if folder.name in {engine.name for engine in builtin()}:
        raise click.UsageError(f"{folder.name} is an engine of unstick: choose a folder of another name with --to.")


def _text(proposed: Proposed) -> Iterator[str | Spans]:
    yield [(proposed.engine, "bold $primary"), (f"  proposed for {proposed.table_schema}.{proposed.table}", "")]
    yield f"  {proposed.folder}: {', '.join(proposed.files)}"
    yield f"  findings: {', '.join(proposed.findings) or 'none'}"
    yield f"  actions: {', '.join(proposed.actions) or 'none'}"
    for why in dict.fromkeys(each.why for each in proposed.not_proposed):
        parts = ", ".join(each.name for each in proposed.not_proposed if each.why == why)
        yield f"  not proposed: {parts}, because {why}"
    yield from (f"  {each}" for each in proposed.claim)
    if not proposed.claim:
        yield "No worker's statement is known, so nothing can be run: give it with --claim FILE, or write [claim]."
    yield f"{len(proposed.questions)} questions, which engine.toml has as comments:"
    for each in proposed.questions:
        yield f"  {each.number}. {each.text}"
    yield "Nothing of it is proved, and its actions are off. Answer the questions in engine.toml, and then:"
    yield f"  {shlex.join(proposed.next)}"
