"""Builder of rows for uni2work's tables, and the jobs that users and cron create."""

from __future__ import annotations

from random import Random
from typing import Any, Final
from uuid import UUID

import msgspec

HOUR: Final = 3600.0
NOTIFICATIONS: Final = ("submission-rated", "sheet-active", "sheet-inactive", "corrections-assigned")

Content = dict[str, Any]


class Data:
    """Rows to insert. Every random choice uses ``rng``."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.alive, self.slow, self.gone = (UUID(int=self.rng.getrandbits(128), version=4) for _ in range(3))
        self.jobs: list[tuple[Any, ...]] = []
        self.cron: list[tuple[Any, ...]] = []
        self.buckets: list[tuple[str, int, float]] = []

    def job(self, content: object, age: float) -> None:
        """Add a queued job, ``age`` seconds old."""
        creator = self.rng.choice((self.alive, self.gone)) if age > HOUR else self.alive
        self.jobs.append((_text(content), creator, age, None, None, False))

    def executed(self, content: object, age: float, instance: UUID) -> None:
        """Add the record of a last execution, ``age`` seconds ago."""
        self.cron.append((_text(content), age, instance))


FAILING: Final = "Hilfe: Abgabe geht nicht"  # of a job of the fixture


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


def _text(content: object) -> str:
    return msgspec.json.encode(content).decode()
