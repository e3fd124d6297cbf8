"""Tasks of the demo: suspended and running ones, and each way to be stuck.

The stuck tasks stay stuck while the executors work. No executor takes EVOLUTIONS or TENANT_CONTROLLER, like an old
version of the engine's agent. No poll can read a poison message. Tasks locked by a dead worker, with wrong heartbeats
or with unread inboxes are not due. A task that fails a poll fails the next one as well.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from tests.simulators.engine import Connection
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import SQL
from tests.simulators.estuary.kinds import ZERO

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86400.0
TENANTS: Final = ("acmeCo", "wileyCo", "birdsEye", "harborLight", "northPole")
COLLECTIONS: Final = (
    "orders",
    "customers",
    "events",
    "invoices",
    "sessions",
    "shipments",
    "source-postgres",
    "to-snowflake",
)


class Data:
    """Rows to insert. Random choices use ``rng``; ids contain their creation time."""

    def __init__(self, seed: int, now: float) -> None:
        self.rng = Random(seed)
        self._now = now
        self.tasks: list[tuple[Any, ...]] = []
        self.specs: list[tuple[str, str, str]] = []
        self.planes: list[tuple[str, str, str]] = []
        self.odd: list[tuple[str, str]] = []

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
            await connection.executemany(SQL["odd_heartbeat"], self.odd)


def make(seed: int, now: float) -> Data:
    """Return all rows of the demo for a seed. ``now`` is the server's time."""
    data = Data(seed, now)
    for part in (_controllers, _planes, _handlers, _alerts, _trees, _failing, _unserved, _by_hand, _waiting):
        part(data)
    return data


def _controllers(data: Data) -> None:
    for _ in range(220):
        data.controller(due=data.rng.uniform(5, 300 * MINUTE) if data.rng.random() < 0.7 else None)
    for _ in range(6):
        data.controller(due=-data.rng.uniform(0, 2), inbox=[[ZERO, {"type": "inferred_schema_updated"}]])


def _plane(data: Data, name: str, status: str, **more: Any) -> tuple[str, dict[str, Any]]:
    plane = data.id(300 * DAY)
    stack = {"config": {"model": {"gcp_region": "us-central1"}}, "secrets_provider": "gcpkms://x", "encrypted_key": "…"}
    state = {
        "data_plane_id": plane, "stack_name": name, "status": status, "disabled": False, "stack": stack,
        "logs_token": f"{data.rng.getrandbits(32):08x}-0000-4000-8000-000000000000", **more,
    }  # fmt: skip
    return plane, state


def _planes(data: Data) -> None:
    for number, (name, status) in enumerate(
        (("aws-eu-west-1-c1", "Idle"), ("gcp-us-central1-c2", "Idle"), ("az-eastus-c1", "Ansible"))
    ):
        plane, state = _plane(data, name, status)
        due = 3.0 if status != "Idle" else data.rng.uniform(10, 60) * MINUTE
        data.planes.append(
            (
                plane,
                f"ops/dp/public/{name}",
                data.task(kinds.DATA_PLANE, state, age=300 * DAY - number, parent=ZERO, due=due),
            )
        )


def _handlers(data: Data) -> None:
    for type_ in (kinds.PUBLICATIONS, kinds.PUBLICATIONS, kinds.DISCOVERS):
        data.task(type_, age=1, parent=data.id(1, shard=0), due=-0.5, inbox=[[ZERO, {"type": "queued"}]])


def _alerts(data: Data) -> None:
    data.task(kinds.TENANT_ALERTS, {"evaluations": 4103}, age=200 * DAY, parent=ZERO, due=31 * MINUTE)
    data.task(kinds.MOVEMENT_ALERTS, {"evaluations": 28_001}, age=200 * DAY, parent=ZERO, due=7 * MINUTE)
    fired = {"fired_completed": "2026-11-21T21:00:00Z", "max_idempotency_key": None, "last_error": None, "failures": 0}
    data.task(kinds.NOTIFICATIONS, fired, age=3 * HOUR, parent=ZERO)
    data.task(kinds.NOTIFICATIONS, age=1, parent=ZERO, due=-0.5, inbox=[[ZERO, {"event": "fired"}]])
    data.task(kinds.MIGRATION, {"migration_id": data.id(DAY)}, age=DAY, due=5 * HOUR)


def _trees(data: Data) -> None:
    for value in (6, 7):
        data.task(kinds.FIBONACCI, "Init", age=30, due=-1, inbox=[[ZERO, {"value": value}]])
    root = data.task(kinds.FIBONACCI, {"Waiting": {"partial": 3, "pending": 1}}, age=2 * HOUR)
    child = data.task(kinds.FIBONACCI, {"Waiting": {"partial": 1, "pending": 1}}, age=2 * HOUR - 5, parent=root)
    data.task(kinds.FIBONACCI, {"SpawnOne": 4}, age=2 * HOUR - 9, parent=child, due=2 * HOUR)


def _failing(data: Data) -> None:
    plane, state = _plane(data, "aws-us-east-1-c9", "PulumiUp1", deploy_branch="main")
    broken = data.task(
        kinds.DATA_PLANE, {**state, "stack": {"config": None}}, age=90 * DAY, parent=ZERO, due=-47 * MINUTE, beat=31
    )
    data.planes.append((plane, "ops/dp/private/acmeCo/aws-us-east-1-c9", broken))
    good = [ZERO, {"type": "dependency_updated"}]
    data.controller(
        due=-3 * HOUR, beat=140, inbox=[good, [ZERO, {"type": "spec_publishd", "pub_id": data.id(HOUR)}], good]
    )
    data.controller(due=-50 * MINUTE, beat=20, inbox=["inferred_schema_updated"])
    flood = [[ZERO, {"type": "shard_failed"}] for _ in range(130)]
    data.controller(due=-5 * HOUR, beat=230, inbox=[{"type": "republish"}], inbox_next=flood)
    hot = {"messages_processed": 7, "total_failures": 0, "total_successes": 51_233, "next_at": "now"}
    data.controller(due=-0.1, state=hot)


def _unserved(data: Data) -> None:
    for number in range(7):
        data.task(
            kinds.EVOLUTIONS,
            age=(25 - number) * MINUTE,
            due=-(25 - number) * MINUTE,
            inbox=[[ZERO, {"type": "queued"}]],
        )
    data.task(kinds.TENANT, {"billing_contact": {}}, age=40 * DAY, parent=ZERO, due=-3 * HOUR, beat=3 * HOUR)
    data.task(kinds.TENANT, {}, age=20 * DAY, parent=ZERO, due=-5, inbox=[[ZERO, {"type": "payment_failed"}]])
    data.task(kinds.EVOLUTIONS, age=HOUR, due=-50 * MINUTE, inbox_next=[[ZERO, {"type": "queued"}]])


def _by_hand(data: Data) -> None:
    data.controller(due=None, beat=2 * HOUR, inbox_next=[[ZERO, {"type": "config_updated"}]])
    data.controller(due=None, inbox=[[ZERO, {"type": "spec_published", "pub_id": data.id(DAY)}]])
    data.odd.append((data.controller(due=None), "-infinity"))
    data.odd.append((data.controller(due=-20 * MINUTE), "2090-01-01T00:00:00Z"))


def _waiting(data: Data) -> None:
    data.task(kinds.FIBONACCI, {"Waiting": {"partial": 8, "pending": 1}}, age=DAY)
    data.task(kinds.FIBONACCI, {"Waiting": {"partial": 2, "pending": 2}}, age=DAY, parent=data.id(DAY + 60))
