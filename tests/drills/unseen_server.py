"""Unseen incidents outside of the engines' tables."""

from __future__ import annotations

import asyncio
import contextlib

import asyncpg

from tests.drills.drill import unseen
from tests.drills.drills_server import fail
from tests.drills.scene import Connection, Scene
from tests.drills.unseen_added import BEAT, FETCH, JOBS, LIVE, PRODUCER, START, WORKERS

DEAD = r"no (runner|instance|worker)\b|is (dead|not running)"


@unseen("uni2work", r"replica identity", r"publication", never=(DEAD, START, r"start another instance"))
async def publication_of_a_table_without_identity(scene: Scene) -> None:
    """A replication was set up for all tables."""
    # The server refuses each UPDATE and DELETE of this one.
    await scene.sql("ALTER TABLE queued_job REPLICA IDENTITY NOTHING")
    await fail(scene, "uni2work", "CREATE PUBLICATION warehouse FOR ALL TABLES")


@unseen("uni2work")
async def publication_that_does_no_harm(scene: Scene) -> None:
    """Healthy: the same publication, and each table has its primary key as identity."""
    await scene.sql("CREATE PUBLICATION warehouse FOR ALL TABLES")
    await scene.rows.jobs(8, age=30)
    await scene.start()
    await scene.sleep(1)


@unseen("eternaltwin", r"idle_in_transaction_session_timeout", never=(DEAD, r"start (a|the) runner"))
async def transactions_that_may_not_pause(scene: Scene) -> None:
    """A unit is missing."""
    # The role's limit for a pause in a transaction is 1 ms, so most polls are cut off.
    await fail(scene, "eternaltwin", f"ALTER ROLE {scene.worker} SET idle_in_transaction_session_timeout = 1")


@unseen("procrastinate", r"session_replication_role", never=(r"dead worker", START))
async def triggers_switched_off_for_the_worker(scene: Scene) -> None:
    """A setting of a data load stayed with the role."""
    # No trigger notifies the workers or writes events.
    await scene.sql(WORKERS.format(task="send", lock="a", queueing="NULL", many=0))
    await scene.sql(f"ALTER ROLE {scene.worker} SET session_replication_role = replica")
    scene.engine.statements = (
        LIVE,
        "INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('mail', 'send')",
        "UPDATE procrastinate_jobs SET status = 'succeeded', attempts = 1 WHERE status = 'doing'",
        "UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1 WHERE status = 'todo'",
    )
    await scene.start()
    await scene.sleep(1)


@unseen("oban", r"default_transaction_isolation", r"repeatable read", r"serializ", never=(START, r"paused, hang"))
async def isolation_that_makes_takers_fail(scene: Scene) -> None:
    """The role's transactions are REPEATABLE READ."""
    # Two nodes take jobs, and the server refuses the second one.
    await scene.sql(PRODUCER)
    await scene.sql(JOBS.format(state="available", attempt=0, many=40, by="{}", age="25 minutes"))
    await scene.sql(f"ALTER ROLE {scene.worker} SET default_transaction_isolation = 'repeatable read'")
    scene.engine.statements = (BEAT,)
    await scene.start()
    scene.meanwhile(two_nodes(await scene.session("app.1", scene.worker), await scene.session("app.2", scene.worker)))
    await scene.sleep(1)


async def two_nodes(one: Connection, other: Connection) -> None:
    while True:
        with contextlib.suppress(asyncpg.SerializationError):
            async with one.transaction():
                await one.fetchval("SELECT count(*) FROM oban_jobs")
                await other.execute("UPDATE oban_jobs SET meta = meta WHERE state = 'available'")
                await one.execute(FETCH)
        await asyncio.sleep(0.05)
