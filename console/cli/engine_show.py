"""``engine show``: print the derived statements of an engine."""

from __future__ import annotations

from pathlib import Path

import click

from console.cli.options import CliOptions
from console.cli.output import Output
from console.cli.target import resolve
from queries.contract.builtin import builtin_folder
from queries.contract.folder import TOML, Folder, read
from queries.contract.loader import derived_files
from queries.records.record import Record
from queries.text.suggest import did_you_mean


class DerivedFiles(Record):
    """Statements without a file, because they follow from ``engine.toml``."""

    engine: str
    files: dict[str, str]


def show(options: CliOptions, engine: str) -> int:
    """Print the derived statements of an engine or folder. Return the exit code."""
    folder = _folder(options, engine)
    files = derived_files(folder)
    answer = DerivedFiles(engine=folder.name, files=files)
    lines = [line for name, text in files.items() for line in (f"-- {name}", *text.split("\n"), "")]
    Output(json=options.json).answer(answer, lambda: lines or [f"-- {folder.name}: each statement has a file"])
    return 0


def _folder(options: CliOptions, engine: str) -> Folder:
    """Return the folder of an engine, by name or path."""
    known = {
        each.name: Path(each.origin) if each.origin else builtin_folder(each.name) for each in resolve(options).engines
    }
    path = Path(engine) if (Path(engine) / TOML).is_file() else known.get(engine)
    if path is None:
        raise click.UsageError(
            f"There is no engine and no folder {engine!r}{did_you_mean(engine, known)}; there is {', '.join(known)}."
        )
    return read(path.resolve())
