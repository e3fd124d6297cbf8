"""Builder of rows for estuary's tables."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from tests.simulators.engine import Connection
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import SQL

DAY: Final = 86400.0
TENANTS: Final = ("acmeCo", "wileyCo", "birdsEye", "harborLight", "northPole")
COLLECTIONS: Final = ("orders", "customers", "events", "invoices", "sessions", "shipments", "to-snowflake")


class Data:
    """Rows to insert. Random choices use ``rng``; ids contain their creation time."""

    def __init__(self, seed: int, now: float) -> None:
        self.rng = Random(seed)
        self._now = now
        self.tasks: list[tuple[Any, ...]] = []
        self.specs: list[tuple[str, str, str]] = []
        self.planes: list[tuple[str, str, str]] = []

    def id(self, age: float, shard: int = 1) -> str:
        """Return an id as of ``age`` seconds ago."""
        millis = round((self._now - age - 1_600_000_000) * 1000)
        digits = f"{millis << 23 | self.rng.randrange(8192) << 10 | shard:016x}"
        return ":".join(digits[i : i + 2] for i in range(0, 16, 2))

    def task(
        self,
        type_: int,
        state: Any = None,
        *,
        age: float,
        parent: str | None = None,
        due: float | None = None,
        beat: float | None = None,
        inbox: list[Any] | None = None,
        inbox_next: list[Any] | None = None,
    ) -> str:
        """Add a task.

        ``due`` is seconds from now (None: suspended), ``beat`` the age of the heartbeat (None: idle).
        """
        task_id = self.id(age)
        boxes = (json.dumps(box) if box else None for box in (inbox, inbox_next))
        raw = json.dumps(state) if state is not None else None
        self.tasks.append((task_id, type_, parent, raw, due, beat, *boxes))
        return task_id

    def controller(self, *, age: float | None = None, **columns: Any) -> str:
        """Add a LIVE_SPEC_CONTROLLER with its spec.

        The engine writes a random id as its parent.
        """
        made = age or self.rng.uniform(1, 400) * DAY
        done = self.rng.randint(1, 4000)
        counts = {
            "messages_processed": done + self.rng.randint(0, 900),
            "total_failures": self.rng.randint(0, 9),
            "total_successes": done,
        }
        state = columns.pop("state", counts)
        task = self.task(kinds.LIVE_SPEC, state, age=made, parent=self.id(made, shard=0), **columns)
        name = f"{self.rng.choice(TENANTS)}/{self.rng.choice(COLLECTIONS)}-{len(self.specs)}"
        self.specs.append((self.id(made), name, task))
        return task

    async def insert(self, connection: Connection) -> None:
        """Insert all rows in one transaction: all ages count from the same ``now()``."""
        async with connection.transaction():
            for name, rows in (("tasks", self.tasks), ("specs", self.specs), ("planes", self.planes)):
                await connection.execute(SQL[f"fill_{name}"], *(list(column) for column in zip(*rows, strict=True)))
