"""``engine check``: proof of an engine's folder."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from console.cli.output import output_for, say
from console.cli.target import opened
from console.target import Target
from console.text.spans import Spans
from queries.check.lab import Lab
from queries.check.prove import Loaded, prove, prove_on
from queries.check.report import Check, Report
from queries.contract.folder import FIXTURE, SCHEMA
from queries.contract.outside import OutsideEngines, note, passed_file
from queries.db.errors import DatabaseError
from queries.records.fault import Fault

SUPERUSER = (
    "{folder}: schema.sql and fixture.sql run as superuser of a server of their own, so they can run programs and read"
    " files as you. Check only folders that you trust."
)


async def check(target: Target, folder: Path, *, here: bool) -> int:
    """Check a folder, and record that it has passed.

    ``here``: also check it on the target. Return the exit code.
    """
    loaded = Loaded(folder)
    checks = [loaded.check]
    output = output_for(target)
    if not output.json:
        output.rows(lines(loaded.check))
    async for each in _checks(target, loaded, here=here):
        checks.append(each)
        if not output.json:
            output.rows(lines(each))
    passed = not any(each.faults for each in checks)
    digest = loaded.folder.digest if loaded.folder else ""
    name = loaded.folder.name if loaded.folder else folder.name
    verdict = f"{name} has passed" if passed else f"{name}: faults"
    if passed and not loaded.packaged:
        try:
            note(digest, name)
        except OSError as error:
            raise DatabaseError(f"{verdict}, but {passed_file()} cannot be written: {error.strerror}.") from error
        verdict += ": its actions are available until the folder changes."
    report = Report(engine=name, digest=digest, passed=passed, checks=tuple(checks))
    output.answer(report, lambda: [verdict])
    return 0 if passed else 1


async def _checks(target: Target, loaded: Loaded, *, here: bool) -> AsyncIterator[Check]:
    from console.demo.server import Server

    if loaded.engine is None or loaded.check.faults:
        return
    if loaded.questions.faults:
        yield loaded.questions
    missing = [file for file in (SCHEMA, FIXTURE) if not loaded.script(file)]
    if missing:
        at = loaded.toml.name.replace("engine.toml", missing[0])
        why = "the file is missing: without schema.sql and fixture.sql nothing can be proved"
        yield Check(name="schema and fixture", faults=(Fault(at, 1, 1, why),))
        return
    if not loaded.packaged:
        say(SUPERUSER.format(folder=loaded.folder.name if loaded.folder else ""))
    with Server() as server, tempfile.TemporaryDirectory() as files:
        lab = Lab(server, Path(files), loaded.schema, loaded.script(FIXTURE))
        async for each in prove(loaded.engine, loaded.toml, lab):
            yield each
    if here:
        outside = OutsideEngines(engines=() if loaded.packaged else (loaded.engine,))
        context = msgspec.structs.replace(target.context, read_only=True)
        async with opened(msgspec.structs.replace(target, context=context, outside=outside), empty=True) as workspace:
            async for each in prove_on(workspace, loaded.engine, loaded.toml):
                yield each


def lines(check: Check) -> Iterator[str | Spans]:
    """Yield a check as text: its verdict, faults and notes."""
    word, style = ("faults", "bold $error") if check.faults else ("ok", "$success")
    where = f" in the database, {check.engine}" if check.engine else ""
    yield [(f"{word:7}", style), (f"{check.name}{where}", "bold"), (f"  {check.number} looked at", "$faint")]
    yield from (f"  {fault}" for fault in check.faults)
    yield from ([(f"  note: {note}", "$faint")] for note in check.notes)
