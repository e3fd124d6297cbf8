"""Engines that come with the program."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from queries.contract.engine import Engine
from queries.contract.folder import TEMPLATES
from queries.contract.spec_cache import cached


def builtin_folder(name: str) -> Path:
    """Return the folder of an engine that comes with the program."""
    return Path(__file__).parents[1] / "engines" / name


@cache
def builtin() -> tuple[Engine, ...]:
    """Return the engines that come with the program, ordered by name."""

    def load() -> tuple[Engine, ...]:
        from queries.contract import loader  # slow to import, and the cache has most engines

        return tuple(loader.load(folder) for folder in folders)

    home = Path(__file__).parents[1] / "engines"
    folders = sorted((f for f in home.iterdir() if (f / "engine.toml").is_file()), key=lambda f: f.name)
    return cached("engines", [*folders, TEMPLATES], tuple[Engine, ...], load)
