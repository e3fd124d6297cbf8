"""Copies of the home-made engine outside of the package, as an operator has it."""

from __future__ import annotations

import shutil
from pathlib import Path

HOMEMADE = Path(__file__).parent / "engines" / "homemade"
MORE = HOMEMADE.with_name("more")  # files of further actions
IN_FULL = HOMEMADE.with_name("homemade_in_full")  # with every statement in a file


def copied(place: Path, name: str = "homemade", source: Path = IN_FULL) -> Path:
    """Copy an engine's folder into ``place``. Only this user can write it."""
    folder = place / name
    shutil.copytree(source, folder)
    for path in (place, folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


def change(folder: Path, file: str, old: str, new: str) -> None:
    """Replace a text in a file of a folder."""
    path = folder / file
    text = path.read_text()
    assert old in text, f"{file} has no {old!r}"
    path.write_text(text.replace(old, new, 1))


def schema(folder: Path = IN_FULL) -> str:
    """Return the statements that make the tables and their rows."""
    return f"{(folder / 'schema.sql').read_text()}\n{(folder / 'fixture.sql').read_text()}"
