"""``engine show``: print the derived statements of an engine."""

from __future__ import annotations

from pathlib import Path

from console.cli.options import CliOptions
from console.cli.output import output_for
from console.cli.target import named_engine, resolve
from console.target import Target
from queries.contract.builtin import builtin_folder
from queries.contract.folder import TOML, read
from queries.contract.loader import derived_files
from queries.records.record import Record


class DerivedFiles(Record):
    """Statements without a file, because they follow from ``engine.toml``."""

    engine: str
    files: dict[str, str]


def show(options: CliOptions, engine: str) -> int:
    """Print the derived statements of an engine or folder. Return the exit code."""
    target = resolve(options)
    folder = read((Path(engine) if (Path(engine) / TOML).is_file() else _place(target, engine)).resolve())
    files = derived_files(folder)
    answer = DerivedFiles(engine=folder.name, files=files)
    lines = [line for name, text in files.items() for line in (f"-- {name}", *text.split("\n"), "")]
    output_for(target).answer(answer, lambda: lines or [f"-- {folder.name}: each statement has a file"])
    return 0


def _place(target: Target, name: str) -> Path:
    engine = named_engine(target.engines, name, "engine and no folder")
    return Path(engine.origin) if engine.origin else builtin_folder(engine.name)
