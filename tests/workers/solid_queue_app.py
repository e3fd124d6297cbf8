"""Genuine worker and dispatcher on Solid Queue's tables, and their jobs.

``python -m tests.workers.solid_queue_app worker dispatcher`` starts both, in the database ``WORKER_DSN``. ``install``
and ``enqueue JOB GATE [option=value]`` call the engine's own tools. Only processes of their own import this module,
because the code of the engine is compiled and keeps threads.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import quebec

# No notification, so that a worker sees a job only if it polls, as those of Rails do. It removes no other process.
app = quebec.Quebec(
    os.environ["WORKER_DSN"],
    process_heartbeat_interval=0.5,
    process_alive_threshold=86400.0,
    worker_polling_interval=0.1,
    dispatcher_polling_interval=0.1,
    use_listen_notify=False,
)


@app.register_job
class Hold(quebec.BaseClass):  # type: ignore[misc]
    """Wait until the file exists."""

    def perform(self, gate: str) -> None:
        while not Path(gate).exists():
            time.sleep(0.05)


@app.register_job
class Alone(Hold):
    """Do the same, one job at a time."""

    concurrency_limit = 1
    concurrency_duration = 3600

    def concurrency_key(self, gate: str) -> str:
        return "one"


@app.register_job
class Fail(quebec.BaseClass):  # type: ignore[misc]
    """Fail, unless the file exists."""

    def perform(self, gate: str) -> None:
        if not Path(gate).exists():
            raise ValueError("no such mailbox")


JOBS = {job.__name__: job for job in (Hold, Alone, Fail)}

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["install"]:
            app.create_tables()
        case ["enqueue", name, gate, *options]:
            given = dict(option.split("=", 1) for option in options)
            job = JOBS[name].set(**{"wait": float(given["wait"])} if "wait" in given else {}, queue=given.get("queue"))
            job.perform_later(app, gate)
        case components:
            app.run(spawn=components)
