"""Healthy data of each engine, and its executors from the demo."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from console.demo.engine import Worker
from tests.db.agent_jobs import AgentJobsDb
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import EternaltwinDb
from tests.db.uni2work import Uni2workDb
from tests.simulators.agent_jobs import AgentJobs
from tests.simulators.agent_jobs.data import Data as AgentJobsData
from tests.simulators.agent_jobs.executor import Poller
from tests.simulators.estuary import Estuary, kinds
from tests.simulators.estuary.data import Data as EstuaryData
from tests.simulators.eternaltwin import Eternaltwin
from tests.simulators.eternaltwin.data import Data as EternaltwinData
from tests.simulators.tasker import Tasker
from tests.simulators.tasker.data import Data as TaskerData
from tests.simulators.tasker.step_history import complete, enqueued, pending, waiting
from tests.simulators.uni2work import Uni2work
from tests.simulators.uni2work.data import Data as Uni2workData
from tests.simulators.uni2work.data import usual
from tests.simulators.uni2work.executor import SQL as UNI2WORK

if TYPE_CHECKING:
    from uuid import UUID

    from tests.drills.scene import Connection, Scene

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


class EternaltwinAtWork:
    """Archives of users: some done, some in progress, some asleep."""

    name = "eternaltwin"

    def __init__(self) -> None:
        self._engine = Eternaltwin()

    def executor(self, connection: Connection) -> Worker:
        return self._engine.worker(connection, 1)

    async def fill(self, scene: Scene) -> None:
        scene.rows = EternaltwinDb(scene.admin)
        data = EternaltwinData(1)
        for _ in range(12):
            age = data.rng.uniform(2, 90) * MINUTE

            def child(job: UUID, parent: UUID, part: int, age: float = age) -> UUID:
                state = {"phase": "FetchPage", "retries": 0, "parent": str(parent), "part": part}
                return data.task(job, "RefreshForumThread", state, age=age / 2, due=data.rng.uniform(5, 90))

            data.family({"user": data.user(), "retries": 0}, 3, age=age, status="Blocked", child=child)
        for _ in range(20):
            state = {"phase": "Deliver", "to": f"user{data.rng.randint(1, 99)}@example.org"}
            data.single("SendEmail", state, age=data.rng.uniform(1, 90) * HOUR, status="Complete", output={"sent": 1})
        for seconds in (25 * MINUTE, 3 * HOUR, 2 * DAY):
            data.single("Sleep", {"phase": "Awake"}, age=seconds / 2, due=seconds / 2, revision=1)
        await data.insert(scene.admin)


class EstuaryAtWork:
    """Controllers that wait for their next poll, alerts, and sums in progress."""

    name = "estuary"

    def __init__(self) -> None:
        self._engine = Estuary()

    def executor(self, connection: Connection) -> Worker:
        return self._engine.worker(connection, 1)

    async def fill(self, scene: Scene) -> None:
        scene.rows = EstuaryDb(scene.admin)
        data = EstuaryData(1, await scene.value("SELECT extract(epoch FROM now())::float8"))
        for _ in range(60):
            data.controller(due=data.rng.uniform(5 * MINUTE, 5 * HOUR) if data.rng.random() < 0.7 else None)
        plane = data.id(300 * DAY)
        state = {"data_plane_id": plane, "status": "Idle", "disabled": False, "stack": {"config": {"model": {}}}}
        task = data.task(kinds.DATA_PLANE, state, age=300 * DAY, parent=kinds.ZERO, due=40 * MINUTE)
        data.planes.append((plane, "ops/dp/public/aws-eu-west-1-c1", task))
        data.task(kinds.TENANT_ALERTS, {"evaluations": 4103}, age=200 * DAY, parent=kinds.ZERO, due=31 * MINUTE)
        data.task(kinds.FIBONACCI, "Init", age=30, due=-1, inbox=[[kinds.ZERO, {"value": 5}]])
        await data.insert(scene.admin)


class AgentJobsAtWork:
    """Jobs of six agents, mirrored from a queue in Redis."""

    name = "agent_jobs"

    def __init__(self) -> None:
        self._engine = AgentJobs()

    def executor(self, connection: Connection) -> Worker:
        return self._engine.worker(connection, 1)

    async def fill(self, scene: Scene) -> None:
        scene.rows = AgentJobsDb(scene.admin, scene.dsn)
        data = AgentJobsData(0)  # the seed whose agents the demo's queue uses
        data.next -= 60
        for number in range(60):
            data.job("completed", (61 - number) * 10 * MINUTE, took=data.rng.uniform(4, 45))
        await data.insert(scene.admin)
        self.agents = data.agents


class PolledAgentJobs(AgentJobsAtWork):
    """Jobs of six agents that an executor takes from the table."""

    overrides = {"agent_jobs": {"profile": "table"}}

    def executor(self, connection: Connection) -> Worker:
        return _Polling(connection, self.agents)


class _Polling:
    """Application that adds a job each tick, and an executor that runs one."""

    def __init__(self, connection: Connection, agents: list[Any]) -> None:
        self._connection, self._agents = connection, agents
        self._poller = Poller(connection)
        self._rng = Random(1)

    async def tick(self) -> int:
        agent, user, _ = self._rng.choice(self._agents)
        number = "(SELECT (max(job_id::int) + 1)::text FROM jobs)"
        insert = f"INSERT INTO jobs (job_id, agent_id, user_id) VALUES ({number}, $1, $2)"
        await self._connection.execute(insert, agent, user)
        claim = await self._poller.claim()
        return int(claim is not None and await self._poller.finish(claim))


class Uni2workAtWork:
    """A queue of mails and cron jobs."""

    name = "uni2work"

    def __init__(self) -> None:
        self._engine = Uni2work()

    def executor(self, connection: Connection) -> Worker:
        return self._engine.worker(connection, 1)

    async def fill(self, scene: Scene) -> None:
        scene.rows = Uni2workDb(scene.admin)
        data = Uni2workData(0)  # the seed of the demo's instance
        self.instance = data.alive
        for number in range(12):
            data.job(usual(data.rng), (12 - number) * 1.5)
        for kind, age in (("prune-invitations", 5 * MINUTE), ("prune-session-files", 20 * MINUTE)):
            data.executed({"job": kind}, age, data.alive)
        data.buckets.append(("prune-files", 1_411_000_000, HOUR))
        for name, rows in (("jobs", data.jobs), ("cron", data.cron), ("buckets", data.buckets)):
            await scene.admin.execute(UNI2WORK[f"fill_{name}"], *(list(c) for c in zip(*rows, strict=True)))


class TaskerAtWork:
    """Orders: done, running, and waiting for their next attempt."""

    name = "tasker"

    def __init__(self) -> None:
        self._engine = Tasker()

    def executor(self, connection: Connection) -> Worker:
        return self._engine.worker(connection, 1)

    async def fill(self, scene: Scene) -> None:
        scene.rows = data = TaskerRows(1)
        for name in ("fulfil_order", "refund", "newsletter"):
            for _ in range(8):
                ago = data.rng.uniform(0.2, 90) * HOUR
                data.task(name, state="complete", ago=ago, rest=complete(ago + 5, data.rng.randint(300, 4000)))
        for _ in range(4):
            data.task("fulfil_order", state="pending", ago=data.rng.uniform(1, 9))
            steps = {"validate_cart": complete(20), "reserve_stock": enqueued(3), "charge_card": enqueued(3)}
            made = data.task("fulfil_order", ago=4, age=3 * MINUTE, rest=pending(3 * MINUTE), steps=steps)
            data.message(made, "reserve_stock", age=3)
            data.message(made, "charge_card", age=3)
        steps = {"select_readers": complete(90), "render": waiting(15, backoff=300)}
        data.task("newsletter", state="waiting_for_dependencies", ago=20, age=10 * MINUTE, steps=steps)
        await data.write(scene.admin)


class TaskerRows(TaskerData):
    """Builder of rows that can insert several times."""

    async def write(self, connection: Connection) -> None:
        """Insert the rows that were added since the last call."""
        await self.insert(connection)
        for rows in self.rows.values():
            rows.clear()
        self.messages.clear()


ENGINES: dict[str, type[Any]] = {
    "eternaltwin": EternaltwinAtWork,
    "estuary": EstuaryAtWork,
    "agent_jobs": AgentJobsAtWork,
    "agent_jobs table": PolledAgentJobs,
    "uni2work": Uni2workAtWork,
    "tasker": TaskerAtWork,
}


class PlainTables:
    """An added engine: empty tables, and statements that run in each tick."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.statements: tuple[str, ...] = ()

    def executor(self, connection: Connection) -> Worker:
        return _Statements(connection, self.statements)

    async def fill(self, scene: Scene) -> None:
        pass


class _Statements:
    def __init__(self, connection: Connection, statements: tuple[str, ...]) -> None:
        self._connection, self._statements = connection, statements

    async def tick(self) -> int:
        for statement in self._statements:
            await self._connection.execute(statement)
        return len(self._statements)


def at_work(engine: str) -> Any:
    """Return the surroundings of an engine."""
    return ENGINES[engine]() if engine in ENGINES else PlainTables(engine)
