"""Engines whose rows the demo shows, without a worker: nothing in them moves."""

from __future__ import annotations

from importlib.resources import files

from console.demo.engine import Connection, Rows


def still_engines() -> list[str]:
    """Return the names of the engines that have a ``fixture.sql``."""
    folders = files("queries").joinpath("engines").iterdir()
    return sorted(folder.name for folder in folders if folder.joinpath("fixture.sql").is_file())


class Still(Rows):
    """An engine with the rows of its ``fixture.sql``, and without a worker."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def fill(self, connection: Connection, seed: int) -> None:
        await connection.execute(files("queries").joinpath("engines", self.name, "fixture.sql").read_text("utf-8"))
