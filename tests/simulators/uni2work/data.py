"""Queue of the demo: jobs that will be executed, and each way to be stuck.

The stuck jobs stay stuck while the instances work: no instance takes over a lock of another one, every instance
ignores jobs of an unknown kind, and a job that always fails stays in the queue.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final
from uuid import UUID

import msgspec

from tests.simulators.engine import Connection
from tests.simulators.uni2work.executor import SQL

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86400.0
NOTIFICATIONS: Final = (
    "submission-rated",
    "sheet-active",
    "sheet-inactive",
    "corrections-assigned",
    "exam-registration-active",
)
ENTRIES: Final = 3000  # of cron_last_exec, which nothing ever prunes

Content = dict[str, Any]


class Data:
    """Rows to insert. Every random choice uses ``rng``."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.alive, self.slow, self.gone = (UUID(int=self.rng.getrandbits(128), version=4) for _ in range(3))
        self.jobs: list[tuple[Any, ...]] = []
        self.cron: list[tuple[Any, ...]] = []
        self.buckets: list[tuple[str, int, float]] = []

    def job(
        self, content: object, age: float, *, holder: UUID | None = None, held: float | None = None, cron: bool = False
    ) -> None:
        """Add a queued job, ``age`` seconds old, locked for ``held`` seconds."""
        creator = self.rng.choice((self.alive, self.gone)) if age > HOUR else self.alive
        self.jobs.append((_text(content), creator, age, holder, held, cron))

    def executed(self, content: object, age: float, instance: UUID) -> None:
        """Add the record of a last execution, ``age`` seconds ago."""
        self.cron.append((_text(content), age, instance))

    async def insert(self, connection: Connection) -> None:
        """Insert all rows in one transaction: all ages count from the same ``now()``."""
        self.jobs.sort(key=lambda row: -row[2])  # ids are given in the order of creation
        async with connection.transaction():
            for name, rows in (("jobs", self.jobs), ("cron", self.cron), ("buckets", self.buckets)):
                await connection.execute(SQL[f"fill_{name}"], *(list(column) for column in zip(*rows, strict=True)))
            for content, created in ODD:
                await connection.execute(SQL["odd_times"], _text(content), created)


# Times that a column holds and most programs cannot.
ODD: Final = (
    ({"job": "send-password-reset", "recipient": 1}, "0001-01-01 00:00:00+00"),
    ({"job": "send-password-reset", "recipient": 2}, "infinity"),
)
FAILING: Final = "Hilfe: Abgabe nicht möglich"


def make(seed: int) -> Data:
    """Return all rows of the demo for a seed."""
    data = Data(seed)
    for part in (_flowing, _orphaned, _slow, _stuck, _cron, _buckets):
        part(data)
    return data


def notification(rng: Random) -> Content:
    """Return a job that sends a mail to one person."""
    inner = {"notification": rng.choice(NOTIFICATIONS), "submission": rng.randint(80_000, 99_999)}
    return {"job": "send-notification", "recipient": rng.randint(1, 9_000), "notification": inner}


def usual(rng: Random) -> Content:
    """Return a job as users and cron create it."""
    some: tuple[Content, ...] = (
        {"job": "queue-notification", "notification": {"notification": "sheet-active", "sheet": rng.randint(1, 2_000)}},
        {"job": "send-course-communication", "course": rng.randint(1, 300), "sender": rng.randint(1, 9_000)},
        {"job": "synchronise-ldap-user", "user": rng.randint(1, 9_000)},
        {"job": "send-test-email", "email": f"test{rng.randint(1, 99)}@example.org", "mail-context": {}},
        {"job": "send-password-reset", "recipient": rng.randint(10, 9_000)},
    )
    return rng.choice(some) if rng.random() < 0.3 else notification(rng)


def _flowing(data: Data) -> None:
    for number in range(40):
        data.job(usual(data.rng), (40 - number) * 1.5)


def _orphaned(data: Data) -> None:
    for number in range(6):
        content = {"job": "distribute-corrections", "sheet": 410 + number} if number < 2 else notification(data.rng)
        data.job(content, 9 * HOUR + 20 + number, holder=data.gone, held=9 * HOUR + number)


def _slow(data: Data) -> None:
    ldap = {"job": "synchronise-ldap", "num-iterations": 7, "epoch": 3, "iteration": 4}
    data.job(ldap, 25 * MINUTE, holder=data.slow, held=22 * MINUTE, cron=True)
    data.job({"job": "detect-missing-files"}, 3 * MINUTE, holder=data.slow, held=40)
    data.executed({"job": "truncate-transaction-log"}, 30, data.slow)


def _stuck(data: Data) -> None:
    data.job({"job": "help-request", "subject": FAILING, "referer": "https://uni2work.example/course/42"}, 50 * MINUTE)
    data.job({"job": "send-lecturer-digest", "lecturer": 17, "week": 34}, 3 * DAY)
    data.job(["not", "a", "job"], 2 * DAY)
    data.job({"job": "send-course-communication", "course": 7, "half": True}, 2 * HOUR, holder=data.gone)
    for _ in range(2):
        data.job({"job": "send-invitation-reminder", "course": 12}, 26 * MINUTE)
    data.job({"job": "prune-old-sent-mails", "keep-days": 90}, 35 * MINUTE, cron=True)
    for content, _ in ODD:
        data.job(content, DAY)


def _cron(data: Data) -> None:
    data.executed({"job": "prune-old-sent-mails", "keep-days": 90}, 25 * HOUR, data.gone)
    for kind, age in (("prune-invitations", 5 * MINUTE), ("prune-session-files", 2 * HOUR), ("inject-files", 90 * DAY)):
        data.executed({"job": kind}, age, data.alive)
    for sheet in range(1, ENTRIES + 1):
        instance = data.rng.choice((data.alive, data.gone))
        age = 10 * HOUR + (ENTRIES - sheet) * DAY / 2
        data.executed({"job": "distribute-corrections", "sheet": sheet}, age, instance)


def _buckets(data: Data) -> None:
    data.buckets += [("inject-files", 20_971_520, 70.0), ("prune-files", 1_411_000_000, 4 * HOUR)]
    data.buckets.append(("rechunk-files", -5_000_000, 95.0))


def _text(content: object) -> str:
    return msgspec.json.encode(content).decode()
