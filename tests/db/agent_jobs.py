"""Write rows of agent_jobs, each with one readable call.

job = await agent_jobs_db.job("pending", age=900)                      # times are ages in seconds
outcomes = await do(workspace, "mark_failed", [agent_jobs_db.id(job)], {}, LABEL)
"""

from __future__ import annotations

import itertools
from typing import Any
from uuid import UUID, uuid4

import asyncpg

LABEL = "agent_jobs"
ANNA, BERT = (UUID(f"{n}0000000-0000-4000-8000-00000000000{n}") for n in (1, 2))
STATUSES = ("pending", "active", "completed", "failed", "delayed", "paused")


class AgentJobsDb:
    """Writer of rows over its own connection, as the engine or another client."""

    def __init__(self, connection: asyncpg.Connection[Any], dsn: str) -> None:
        self.connection = connection
        self.dsn = dsn
        self.sql = connection.execute
        self.value = connection.fetchval
        self._numbers = itertools.count(1)
        self._agents: dict[UUID, UUID] = {}

    @classmethod
    async def open(cls, dsn: str) -> AgentJobsDb:
        return cls(await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"}), dsn)

    async def agent(self, user: UUID = ANNA, name: str = "clerk") -> UUID:
        """Insert an agent with a profile."""
        profile = "ROW($2::text, 'g', 'd', '{}')::agent_profile"
        insert = f"INSERT INTO agents (user_id, profile) VALUES ($1, {profile}) RETURNING id"
        return UUID(str(await self.value(insert, user, name)))

    async def job(
        self,
        status: str = "pending",
        *,
        age: float = 60,
        user: UUID = ANNA,
        agent: UUID | None = None,
        started: float | None = None,
        ended: float | None = None,
        changed: float | None = None,
        error: str | None = None,
        number: object = None,
    ) -> UUID:
        """Insert a job. All times are ages. Default: an agent of that user."""
        if agent is None:
            if user not in self._agents:
                self._agents[user] = await self.agent(user)
            agent = self._agents[user]
        job_id = str(next(self._numbers) if number is None else number)
        times = [float(t) if t is not None else None for t in (age, started, ended, changed or age)]
        insert = (
            "INSERT INTO jobs (id, job_id, agent_id, user_id, status, error, created_at, started_at, completed_at,"
            " updated_at) SELECT $1, $2, $3, $4, $5, $6, now() - make_interval(secs => $7),"
            " now() - make_interval(secs => $8), now() - make_interval(secs => $9), now() - make_interval(secs => $10)"
            " ON CONFLICT (job_id) DO NOTHING RETURNING id"
        )
        while (job := await self.value(insert, uuid4(), job_id, agent, user, status, error, *times)) is None:
            job_id = str(int(job_id) + 1)  # an executor has taken the number
        assert isinstance(job, UUID)
        return job

    @staticmethod
    def id(key: object, kind: str = "job") -> str:
        return f"{LABEL}/{kind}:{key}"

    async def row(self, job: UUID) -> Any:
        """Read a job with its ``xmin``; None if it is gone."""
        return await self.connection.fetchrow("SELECT j.*, j.xmin::text AS xmin FROM jobs j WHERE id = $1", job)

    async def everything(self) -> list[str]:
        """Return all jobs as text, each with its xmin."""
        return [r[0] for r in await self.connection.fetch("SELECT j.xmin || ' ' || j::text FROM jobs j ORDER BY 1")]
