"""Jobs of the demo: running ones, ended ones, and each way to be stuck.

The stuck tasks stay stuck while the runner works. After a lost wakeup, no timer and no child wakes the task. The
runner ignores timers that are older than itself (``Runner.blind_before``). Its code does not know the kinds or versions
of starved and outdated tasks. The phase of a spinning task never ends.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final
from uuid import UUID

from tests.simulators.engine import Connection
from tests.simulators.eternaltwin.kinds import KINDS, State, encode, new_id
from tests.simulators.eternaltwin.runner import SQL

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86400.0
SERVERS: Final = ("hammerfest.fr", "hammerfest.es", "hfest.net", "en.dinoparc.com", "dinoparc.com", "twinoid.com")


class Data:
    """Rows to insert. Every random choice uses ``rng``."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.users = [(new_id(self.rng), self.rng.uniform(30, 900) * DAY) for _ in range(8)]
        self.jobs: list[tuple[Any, ...]] = []
        self.tasks: list[tuple[Any, ...]] = []
        self.timers: list[tuple[UUID, float]] = []
        self.odd_jobs: list[tuple[UUID, str]] = []
        self.odd_tasks: list[tuple[UUID, str, str, str, str]] = []
        self.odd_timers: list[tuple[UUID, str]] = []

    def user(self) -> State:
        """Return the account that a task archives."""
        return {"server": self.rng.choice(SERVERS), "id": str(self.rng.randint(100, 999_999))}

    def job(self, age: float, initial: State | bytes) -> UUID:
        """Add a job, ``age`` seconds old."""
        job_id = new_id(self.rng)
        creator = self.rng.choice(self.users)[0] if self.rng.random() < 0.7 else None
        self.jobs.append((job_id, age, creator, initial if isinstance(initial, bytes) else encode(initial)))
        return job_id

    def task(
        self,
        job: UUID,
        kind: str,
        state: State | bytes,
        *,
        age: float,
        status: str = "Blocked",
        due: float | None = None,
        polled: float | None = -1,
        revision: int | None = None,
        spent: tuple[float, float] | None = None,
        version: int | None = None,
        output: object = None,
        task_id: UUID | None = None,
    ) -> UUID:
        """Add a task, last polled ``polled`` seconds ago (None: never; -1: random).

        ``due`` is the number of seconds until its timer fires.
        """
        task_id = task_id or new_id(self.rng)
        ago = self.rng.uniform(0.01, 0.3) * age if polled == -1 else polled
        steps = self.rng.randint(1, 40) if revision is None else revision
        cpu, poll = spent or (steps * self.rng.uniform(0.002, 0.012), steps * self.rng.uniform(0.1, 0.6))
        raw = state if isinstance(state, bytes) else encode(state)
        result = output if isinstance(output, bytes | None) else encode(output)
        number = KINDS[kind].version if version is None else version
        salt = self.rng.randrange(65536)
        self.tasks.append((task_id, job, kind, number, age, ago, salt, steps, status, cpu, max(cpu, poll), raw, result))
        if due is not None:
            self.timers.append((task_id, due))
        return task_id

    def single(self, kind: str, state: State | bytes, *, age: float, **rest: Any) -> UUID:
        """Add a job of one task."""
        return self.task(self.job(age, state), kind, state, age=age, **rest)

    def family(
        self, root: State, children: int, *, age: float, status: str, child: Callable[[UUID, UUID, int], UUID]
    ) -> UUID:
        """Add a job whose root task awaits children.

        ``child(job, parent, number)`` adds each child.
        """
        root_id = new_id(self.rng)
        job = self.job(age, {**root, "phase": "FetchProfile", "spawn": children})
        ids = [str(child(job, root_id, number)) for number in range(1, children + 1)]
        state = {**root, "phase": "AwaitChildren" if status != "Complete" else "Store", "children": ids}
        output = {"archived": 40 * children} if status == "Complete" else None
        return self.task(job, "ArchiveHammerfestUser", state, age=age, status=status, output=output, task_id=root_id)

    async def insert(self, connection: Connection) -> None:
        """Insert all rows in one transaction: all ages count from the same ``now()``."""
        async with connection.transaction():
            for name, rows in (
                ("users", self.users),
                ("jobs", self.jobs),
                ("tasks", self.tasks),
                ("timers", self.timers),
            ):
                await connection.execute(SQL[f"fill_{name}"], *(list(column) for column in zip(*rows, strict=True)))
            await connection.executemany(SQL["odd_job"], self.odd_jobs)
            await connection.executemany(SQL["odd_task"], self.odd_tasks)
            await connection.executemany(SQL["odd_timer"], self.odd_timers)


def make(seed: int) -> Data:
    """Return all rows of the demo for a seed."""
    data = Data(seed)
    for part in (_done, _working, _watching, _sleeping, _wide, _chains, _stuck, _leftovers, _odd):
        part(data)
    return data


def _done(data: Data) -> None:
    for _ in range(8):
        age = data.rng.uniform(2, 200) * HOUR

        def child(job: UUID, parent: UUID, number: int, age: float = age) -> UUID:
            state = {"phase": "Store", "retries": 0, "parent": str(parent), "user": data.user(), "part": number}
            done = {"archived": data.rng.randint(1, 90)}
            return data.task(job, "RefreshForumThread", state, age=age * 0.9, status="Complete", output=done)

        data.family(
            {"user": data.user(), "retries": 0}, data.rng.randint(2, 5), age=age, status="Complete", child=child
        )
    for _ in range(6):
        state = {"phase": "Deliver", "to": f"user{data.rng.randint(1, 99)}@example.org"}
        data.single("SendEmail", state, age=data.rng.uniform(1, 90) * HOUR, status="Complete", output={"sent": True})


def _working(data: Data) -> None:
    for _ in range(7):
        age = data.rng.uniform(1, 30) * MINUTE
        data.family(
            {"user": data.user(), "retries": 0},
            data.rng.randint(2, 4),
            age=age,
            status="Blocked",
            child=_reader(data, age),
        )
    for _ in range(5):
        age = data.rng.uniform(0.2, 5) * MINUTE
        state = {"user": data.user(), "phase": "FetchDinoz", "polls": 1, "retries": data.rng.randint(0, 2)}
        data.single("ArchiveDinoparcUser", state, age=age, status="Available", polled=2.0, revision=3)
    for _ in range(3):
        age = data.rng.uniform(1, 20) * MINUTE
        state = {"user": data.user(), "phase": "FetchAchievements", "retries": 0}
        data.single("ArchiveTwinoidUser", state, age=age, due=data.rng.uniform(5, 60))
    for _ in range(3):
        state = {"phase": "Compose", "to": f"user{data.rng.randint(1, 99)}@example.org"}
        data.single("SendEmail", state, age=data.rng.uniform(1, 5), status="Available", polled=None, revision=0)


def _reader(data: Data, age: float, *, soonest: float = 2, latest: float = 90) -> Callable[[UUID, UUID, int], UUID]:
    def child(job: UUID, parent: UUID, number: int) -> UUID:
        state = {"phase": "FetchPage", "retries": 0, "parent": str(parent), "part": number}
        return data.task(job, "RefreshForumThread", state, age=age * 0.8, due=data.rng.uniform(soonest, latest))

    return child


def _watching(data: Data) -> None:
    for thread in range(9):
        state = {"thread": 67_000 + thread, "phase": "FetchPage", "watch": True, "retries": 0}
        age = data.rng.uniform(1, 60) * DAY
        spent = (data.rng.uniform(1, 30), data.rng.uniform(60, 4000))
        data.single(
            "RefreshForumThread", state, age=age, polled=data.rng.uniform(1, 20), due=data.rng.uniform(1, 15),
            revision=data.rng.randint(100, 300), spent=spent,
        )  # fmt: skip


def _sleeping(data: Data) -> None:
    for seconds in (25 * MINUTE, 3 * HOUR, 40.0, 2 * DAY):
        state = {"phase": "Awake", "seconds": int(seconds), "why": "the archived server asks for patience"}
        data.single("Sleep", state, age=seconds / 2, due=seconds / 2, revision=1)


def _wide(data: Data) -> None:
    age = 40 * MINUTE
    read = _reader(data, age, soonest=5, latest=900)

    def child(job: UUID, parent: UUID, number: int) -> UUID:
        if number > 90:
            return read(job, parent, number)
        state = {"phase": "Store", "retries": 0, "parent": str(parent), "part": number}
        done = {"archived": data.rng.randint(1, 90)}
        return data.task(job, "RefreshForumThread", state, age=age * 0.9, status="Complete", output=done)

    data.family(
        {"user": data.user(), "retries": 0, "note": "a large forum"}, 149, age=age, status="Blocked", child=child
    )


def _chains(data: Data) -> None:
    for depth, due in ((30, 6 * HOUR), (12, 15.0)):
        age = 2 * HOUR
        ids = [new_id(data.rng) for _ in range(depth)]
        job = data.job(age, {"user": data.user(), "phase": "Authorize", "spawn": 1})
        for level, task_id in enumerate(ids):
            state: State = {"phase": "AwaitChildren", "level": level, "retries": 0}
            if level:
                state["parent"] = str(ids[level - 1])
            last = level == depth - 1
            state |= {"phase": "FetchAchievements"} if last else {"children": [str(ids[level + 1])]}
            old = age - level * MINUTE
            data.task(job, "ArchiveTwinoidUser", state, age=old, task_id=task_id, due=due if last else None)


def _stuck(data: Data) -> None:
    def complete(job: UUID, parent: UUID, number: int) -> UUID:
        state = {"phase": "Store", "retries": 0, "parent": str(parent), "part": number}
        done = {"archived": data.rng.randint(1, 90)}
        return data.task(job, "RefreshForumThread", state, age=HOUR, status="Complete", output=done)

    for children in (
        3,
        2,
        5,
    ):  # lost wakeup: no timer or child wakes the root. After the action wake, it continues and completes
        data.family(
            {"user": data.user(), "retries": 0},
            children,
            age=data.rng.uniform(3, 20) * HOUR,
            status="Blocked",
            child=complete,
        )
    for late in (20 * MINUTE, 3 * HOUR, 9 * HOUR):  # overdue timer
        state = {"user": data.user(), "phase": "Store", "retries": 3}
        data.single("ArchiveDinoparcUser", state, age=late + HOUR, polled=late + 5, due=-late)
    for hours in (2.0, 26.0):  # starved: the runner has no code for this kind and never polls it
        state = {"user": data.user(), "phase": "FetchItems", "retries": 0}
        data.single(
            "ArchivePopotamoUser", state, age=hours * HOUR, status="Available", polled=None, revision=0, version=1
        )
    for revision, age in ((412_903, 3 * DAY), (31, 20.0)):  # spinning: its revision rises, its state does not change
        state = {"thread": data.rng.randint(1, 9999), "phase": "AwaitToken", "retries": 0}
        spent = (revision * 0.0005, revision * 0.001)
        spinner = data.single(
            "RefreshForumThread", state, age=age, status="Available", polled=0.4, revision=revision, spent=spent
        )
        if revision > 1000:
            data.timers.append((spinner, 2 * HOUR))  # a timer left over on a task that is not Blocked
    state = {"user": data.user(), "phase": "Render", "polls": 5_391, "retries": 0}  # compute-bound
    spent = (5_391 * 2.4, 5_391 * 2.412)
    data.single("ArchiveTwinoidUser", state, age=DAY, status="Available", polled=0.4, revision=5_391, spent=spent)
    for days in (19, 20, 21, 40):  # an older version of the code wrote the state; the runner cannot read it
        state = {"user": {"id": data.rng.randint(1, 999)}, "step": 2}
        data.single(
            "ArchiveDinoparcUser", state, age=(days + 1) * DAY, status="Available", polled=days * DAY, version=1
        )


def _leftovers(data: Data) -> None:
    state: State = {"phase": "Deliver", "to": "user7@example.org"}
    data.single("SendEmail", state, age=5 * HOUR, status="Complete", output={"sent": True}, due=8 * HOUR)
    for children, due in ((1, 2 * DAY), (2, None)):  # the root is complete, but a child still waits

        def waiting(job: UUID, parent: UUID, number: int, due: float | None = due) -> UUID:
            state = {"phase": "FetchPage", "retries": 0, "parent": str(parent), "part": number}
            return data.task(job, "RefreshForumThread", state, age=HOUR, due=due)

        data.family({"user": data.user(), "retries": 0}, children, age=2 * HOUR, status="Complete", child=waiting)
    for age in (4 * DAY, 11 * MINUTE):
        data.job(age, {"user": data.user(), "phase": "FetchProfile", "retries": 0})


def _odd(data: Data) -> None:
    """Add invalid text, escape sequences and extreme values."""
    texts: tuple[bytes, ...] = (
        b'{"phase":"FetchBank","title":"\\u001b[31mred\\u001b[0m \\u0007 bell, \\r\\n and \\u202Ereversed"}',
        b"plain text with \x1b[2J\x1b[H\x1b]0;title\x07 raw escape sequences \x9b31m",
        b'{"phase":"FetchBank","title":"[bold red]markup[/] [link=file:///]click[/link] [/unbalanced"}',
        '{"phase":"FetchBank","title":"ハンマーフェスト 進撃 👩‍👩‍👧 e\u0301 שלום مرحبا"}'.encode(),
        b"\xff\xfe\x00\x01 invalid \xc3\x28 UTF-8 \xed\xa0\x80",
        b"",
    )
    for state in texts:
        data.single("ArchiveDinoparcUser", state, age=3 * HOUR, due=20 * HOUR)
    large = data.job(4 * HOUR, {"user": data.user(), "phase": "FetchBank", "retries": 0})
    data.task(large, "ArchiveDinoparcUser", _large(), age=4 * HOUR, due=21 * HOUR)
    undecodable = b'{"user":{"server":"dinoparc.com","id":"12\xff'
    data.single("ArchiveDinoparcUser", undecodable, age=5 * HOUR, status="Available", polled=4 * HOUR)
    result: State = {"archived": 0}
    for created, polled, cpu, poll in (
        ("-infinity", "infinity", "0", "1 mon 2 days 03:04:05.678"),
        ("4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999", "00:00:00.000001", "178000000 years"),
        ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999", "2 mons -3 days", "14 mons"),
    ):
        state = encode({"phase": "Store", "note": "times at the ends of the range"})
        task_id = data.single("ArchiveDinoparcUser", state, age=HOUR, status="Complete", output=result)
        data.odd_tasks.append((task_id, created, polled, cpu, poll))
        data.odd_jobs.append((data.jobs[-1][0], created))
    for deadline in ("infinity", "294276-12-31 23:59:59.999"):
        state = encode({"phase": "Awake", "why": "until the end of time"})
        data.odd_timers.append((data.single("Sleep", state, age=HOUR, revision=1), deadline))


def _large() -> bytes:
    """Return a state of about 10 MB."""
    pages = ",".join(f'{{"page":{n},"html":"<p>{n * 7919:0180d}</p>"}}' for n in range(48_000))
    return f'{{"phase":"FetchBank","pages":[{pages}]}}'.encode()
