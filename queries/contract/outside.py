"""Engines in folders outside of the package.

Each folder loads by itself. A broken one is reported, and the others are used.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from queries.contract.builtin import builtin
from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.folder import TOML, read
from queries.contract.server_spec import LABEL
from queries.contract.spec import A_NAME
from queries.files import user_dirs
from queries.files.state_file import open_private
from queries.records.action import Proof
from queries.records.record import Record
from queries.text.safe_text import safe_text

UNPROVEN = "the engine is not of unstick, and has not passed `unstick engine check {path}` as it is now"
OPEN = (
    "{n} of the questions in {path}/engine.toml (# ASK) are open: answer them, and then `unstick engine check {path}`"
)
GUESSED = (
    "the claim of {kind} in {path}/engine.toml is a guess from rows, which proves no action: write the WHERE of your"
    " worker's statement there, and delete its `proof`. `unstick engine new TABLE --claim FILE` reads such a statement"
)
PROPOSE = "For a table of your own: `unstick engine new TABLE` proposes an engine."

EMPTY = "Is it the right one? `unstick demo` shows what unstick does with one that has work."


class BrokenFolder(Record):
    """A folder that is not used.

    ``why`` is one line for each fault: ``file:line: what is wrong``.
    """

    name: str
    why: str

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each fault."""
        return tuple(f"The engine {self.name} is not used: {line}" for line in self.why.splitlines())


class OutsideEngines(Record):
    """Engines outside of the package, and folders that are not used."""

    engines: tuple[Engine, ...] = ()
    broken: tuple[BrokenFolder, ...] = ()


NONE = OutsideEngines()


def standard_place() -> Path:
    """Return the folder ``engines`` among the user's settings."""
    return user_dirs.folder("config") / "engines"


def folders(place: Path) -> tuple[Path, ...]:
    """Return the engines' folders in ``place``, which may be one itself.

    Raises OSError.
    """
    if _is_folder(place):
        return (place,)
    of_engines = place == Path(
        os.path.realpath(standard_place())
    )  # whatever else is in it is an engine whose file is missing
    every = (path for path in place.iterdir() if _is_folder(path) or (of_engines and _is_visible(path)))
    return tuple(sorted(every))


def _is_folder(path: Path) -> bool:
    """Return True if a folder has an ``engine.toml``.

    Also if that cannot be known: reading it then says why.
    """
    try:
        (path / TOML).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_visible(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith((".", "_"))


def outside_engines(places: Sequence[Path], trusted: Collection[str] = ()) -> OutsideEngines:
    """Load the engines of `standard_place` and of these places, in order.

    ``trusted``: names of engines whose actions need no check.
    """
    owners = {engine.name: "unstick itself" for engine in builtin()}
    engines: list[Engine] = []
    broken: list[BrokenFolder] = []
    for path, why in _found((standard_place(), *places)):
        name = path.name
        if why or name in owners:
            why = why or f"{path}: the name {name} is taken by {owners[name]}; rename this folder"
            broken.append(BrokenFolder(name=safe_text(name), why=safe_text(why)))
            continue
        try:
            engines.append(load(path, trusted=name in trusted))
            owners[name] = str(path)
        except BrokenEngineError as error:
            broken.append(BrokenFolder(name=name, why="\n".join(safe_text(str(fault)) for fault in error.faults)))
    return OutsideEngines(engines=tuple(engines), broken=tuple(broken))


def wrong_name(path: Path) -> str:
    """Return why a folder cannot be an engine of its name, or ""."""
    good = re.fullmatch(A_NAME, path.name) and path.name != LABEL
    return "" if good else f"{path}: its name is not possible; it must match {A_NAME}"


def load(path: Path, *, trusted: bool = False) -> Engine:
    """Load an engine's folder that only this user can write. Raises BrokenEngineError."""
    from queries.contract.loader import parsed  # slow to import, and most users have no such folder
    from queries.contract.sql_calls import engine_faults

    folder = read(path, private=True)
    engine = parsed(folder)
    proven = trusted or passed(folder.digest)
    if not proven and (faults := engine_faults(engine)):
        raise BrokenEngineError(path.name, *faults)
    unproven = "" if proven else UNPROVEN.format(path=path)
    if folder.questions:  # also of a trusted folder: what is not answered cannot be trusted
        unproven = OPEN.format(n=len(folder.questions), path=path)
    elif guessed := next((claim.kind for claim in engine.spec.claim if claim.proof is Proof.ASSUMED), ""):
        unproven = GUESSED.format(kind=guessed, path=path)
    return msgspec.structs.replace(engine, origin=str(path), unproven=unproven)


def names(places: Iterable[Path]) -> set[str]:
    """Return the names of the folders in these places. Nothing is loaded."""
    return {path.name for path, _ in _found(places)}


def _found(places: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each folder once, with the reason if it cannot be used."""
    paths = set()
    for place in places:
        try:
            real = Path(os.path.realpath(user_dirs.expanded(place), strict=True))  # a loop of links is an OSError
            inside = folders(real)
        except OSError as error:
            if place != standard_place() or os.path.lexists(place):
                yield place, f"{place}: {error.strerror}"
            continue
        if not inside and place != standard_place():
            yield real, f"{real}: neither it nor a folder in it has an {TOML}"
        for path in inside:
            if path in paths:
                continue
            paths.add(path)
            yield path, wrong_name(path)


def passed_file() -> Path:
    """Return the path of the file."""
    return user_dirs.folder("state") / "checked_engines"


def passed(digest: str) -> bool:
    """Return True if a folder of this digest has passed."""
    with contextlib.suppress(OSError), open(passed_file(), errors="replace", opener=open_private) as file:
        return any(line.partition(" ")[0] == digest for line in file)
    return False


def note(digest: str, name: str) -> None:
    """Record that a folder has passed. Raises OSError."""
    if passed(digest):
        return
    with open(passed_file(), "a", opener=open_private) as file:
        file.write(f"{digest} {name} {int(time.time())}\n")
