"""Jobs of the demo, as a mirror of a queue in Redis shows them.

They are pending, completed or failed, and have no started_at.

The stuck jobs stay stuck because no process reads the table, and the queue in Redis does not contain these rows.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final
from uuid import UUID

from tests.simulators.agent_jobs.executor import SQL
from tests.simulators.engine import Connection

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86400.0
AGENTS: Final = ("Starknet guide", "Paper reader", "Invoice clerk", "Trail planner", "Release notes", "Café helper ☕")
USERS: Final = 4
JOBS: Final = 400
ERRORS: Final = (
    "Agent rag storage limit exceeded",
    "User rag storage limit exceeded",
    "Process rag storage limit exceeded",
    "MIME type mismatch: file content indicates 'application/zip' but 'application/pdf' was declared.",
    "Suspicious file content detected: ZIP archive. Only documents are accepted.",
    "Text file contains binary data (null bytes), which is not allowed",
    "PDF file is too small to be valid.",
    "Embeddings/chunks mismatch: 41 vs 42",
    "File ingestion failed",
)


class Data:
    """Rows to insert. Every random choice uses ``rng``."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.users = [self._id() for _ in range(USERS)]
        self.agents = [(self._id(), self.users[n % USERS], name) for n, name in enumerate(AGENTS)]
        self.gone = self._id()  # an agent that was deleted while the foreign key was missing
        self.jobs: list[tuple[Any, ...]] = []
        self.next = 3811

    def job(
        self,
        status: str,
        age: float,
        *,
        agent: tuple[UUID, UUID] | None = None,
        took: float | None = None,
        error: str | None = None,
        number: int | None = None,
    ) -> None:
        """Add a job that was created ``age`` seconds ago and ended ``took`` seconds later."""
        agent_id, user = agent or self.rng.choice(self.agents)[:2]
        if number is None:
            number, self.next = self.next, self.next + 1
        self.jobs.append((self._id(), str(number), agent_id, user, status, error, age, took))

    async def insert(self, connection: Connection) -> None:
        """Insert all rows in one transaction: all ages count from the same ``now()``."""
        async with connection.transaction():
            await connection.execute(SQL["lose_foreign_key"])
            await connection.execute(SQL["fill_agents"], *_columns(self.agents))
            await connection.execute(SQL["fill_jobs"], *_columns(self.jobs))

    def _id(self) -> UUID:
        return UUID(int=self.rng.getrandbits(128), version=4)


def make(seed: int) -> Data:
    """Return all rows of the demo for a seed."""
    data = Data(seed)
    ages = sorted((data.rng.uniform(2 * MINUTE, 20 * DAY) for _ in range(JOBS)), reverse=True)
    for age in ages:
        failed = data.rng.random() < 0.03
        error = error_of(data.rng, data.users[0]) if failed else None
        data.job("failed" if failed else "completed", age, took=data.rng.uniform(4, 45), error=error)
    for n in range(5):  # later jobs of the same agent have ended: completion not recorded
        data.job("pending", 6 * HOUR - n * 20, agent=data.agents[0][:2])
    data.job("completed", 5 * HOUR, agent=data.agents[0][:2], took=21)
    data.job("pending", 25 * MINUTE, agent=(data.agents[5][0], data.agents[5][1]))
    data.job("completed", 3 * HOUR, took=12, error="Agent rag storage limit exceeded")
    data.job("failed", 2 * HOUR)
    data.job("completed", 9 * DAY, took=6 * DAY, number=17)
    data.job("completed", 90, took=15, number=1)
    data.job("completed", 40 * DAY, agent=(data.gone, data.users[1]), took=20)
    # The job that waits for long must be the newest of its agent; a newer one would have overtaken it.
    waits = data.agents[5][0]
    data.jobs = [row for row in data.jobs if row[2] != waits or row[4] == "pending" or row[6] > HOUR]
    data.next = 2
    return data


def error_of(rng: Random, user: UUID) -> str:
    """Return an error message for a failed job."""
    mutex = f"Failed to acquire mutex for user {user} after 50 retries"
    return rng.choice((mutex, *ERRORS))


def _columns(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
