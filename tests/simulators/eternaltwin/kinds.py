"""Task kinds of the demo: pure functions that compute a poll's new state.

The engine's real kinds are not known. These ones are plausible for a project that archives old games: a task goes
through phases, sleeps between requests, spawns children and waits for them. States are JSON. Only the states contain
the tree of a job (``parent``, ``children``).
"""

from __future__ import annotations

from random import Random
from typing import Any, Final
from uuid import UUID

import msgspec

from queries.records.record import Record

State = dict[str, Any]


class CannotPoll(Exception):
    """The code does not know the kind or version, or cannot read the state."""


class Phase(Record):
    """A phase of a kind.

    ``cpu`` and ``wait`` are a poll's mean seconds of computing and of waiting.
    """

    name: str
    cpu: float = 0.004
    wait: float = 0.2
    polls: int = 1
    nap: tuple[float, float] | None = None  # range of seconds to sleep afterwards
    spawns: str | None = None  # a kind; the state's `spawn` is the number of children
    awaits: bool = False  # stays Blocked, without a timer, until every child is complete
    spins: bool = False  # a deliberate fault: the state never changes
    rare: bool = False  # only a task created in this phase is ever in it


class Kind(Record):
    """A kind that the running code knows: its version and its phases in order."""

    version: int
    phases: tuple[Phase, ...]


class Child(Record):
    """A task that a poll spawns."""

    id: UUID
    kind: str
    version: int
    state: bytes


class Step(Record):
    """Outcome of a poll.

    ``cpu`` and ``poll`` are its seconds, ``sleep`` the seconds until the timer fires.
    """

    status: str
    state: bytes
    output: bytes | None = None
    cpu: float = 0
    poll: float = 0
    sleep: float | None = None
    children: tuple[Child, ...] = ()
    parent: UUID | None = None  # the task that a completion wakes


KINDS: Final[dict[str, Kind]] = {
    "ArchiveHammerfestUser": Kind(
        version=3,
        phases=(
            Phase(name="FetchProfile", nap=(2, 9)),
            Phase(name="FetchInventory", polls=3, nap=(3, 12)),
            Phase(name="FetchForum", spawns="RefreshForumThread"),
            Phase(name="AwaitChildren", awaits=True),
            Phase(name="Store", cpu=0.03, wait=0.05),
        ),
    ),
    "ArchiveDinoparcUser": Kind(
        version=2,
        phases=(
            Phase(name="FetchBank", nap=(2, 6)),
            Phase(name="FetchDinoz", polls=6, wait=0.4, nap=(3, 15)),
            Phase(name="Store", cpu=0.02, wait=0.05),
        ),
    ),
    "ArchiveTwinoidUser": Kind(
        version=1,
        phases=(
            Phase(name="Authorize", nap=(1, 4)),
            Phase(name="FetchSites", spawns="ArchiveTwinoidUser"),
            Phase(name="AwaitChildren", awaits=True),
            Phase(name="FetchAchievements", polls=4, nap=(2, 8)),
            Phase(name="Render", cpu=2.4, wait=0.01, polls=1_000_000, rare=True),
            Phase(name="Store", cpu=0.02, wait=0.05),
        ),
    ),
    "RefreshForumThread": Kind(
        version=2,
        phases=(
            Phase(name="FetchPage", polls=2, nap=(4, 20)),
            Phase(name="AwaitToken", cpu=0.0005, wait=0.0005, spins=True, rare=True),
            Phase(name="Store", cpu=0.006, wait=0.02),
        ),
    ),
    "SendEmail": Kind(version=2, phases=(Phase(name="Compose", cpu=0.01), Phase(name="Deliver", wait=0.9))),
    "Sleep": Kind(version=1, phases=(Phase(name="Sleep", nap=(5, 40), wait=0), Phase(name="Awake", wait=0))),
}
RETRY: Final = 0.08  # share of requests that fail and are retried after a short sleep


def encode(state: object) -> bytes:
    """Encode a state or output as the engine stores it."""
    return msgspec.json.encode(state)


def decode(state: bytes) -> State:
    """Decode a state. Raises CannotPoll if it is not a JSON object."""
    try:
        value = msgspec.json.decode(state)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CannotPoll(f"state: {error}") from error
    if not isinstance(value, dict):
        raise CannotPoll("state: not an object")
    return value


def new_id(rng: Random) -> UUID:
    """Return a version 4 UUID from ``rng``."""
    return UUID(int=rng.getrandbits(128), version=4)


def phase_of(kind: str, version: int, state: State) -> Phase:
    """Return the phase of a task. Raises CannotPoll if this code does not know it."""
    known = KINDS.get(kind)
    if known is None:
        raise CannotPoll(f"no such kind: {kind}")
    if known.version != version:
        raise CannotPoll(f"{kind}: version {version} is not {known.version}")
    for phase in known.phases:
        if phase.name == state.get("phase"):
            return phase
    raise CannotPoll(f"{kind}: no such phase: {state.get('phase')!r}")


def children_of(state: State) -> list[UUID]:
    """Return the children's ids in a state. Raises CannotPoll if they are not ids."""
    try:
        return [UUID(child) for child in state.get("children", [])]
    except (TypeError, ValueError, AttributeError) as error:
        raise CannotPoll(f"state: {error}") from error


def poll(task_id: UUID, kind: str, version: int, raw: bytes, unfinished: int, rng: Random) -> Step:
    """Poll a task with ``unfinished`` incomplete children.

    Raises CannotPoll if its state is invalid.
    """
    state = decode(raw)
    phase = phase_of(kind, version, state)
    children_of(state)
    cpu = phase.cpu * rng.uniform(0.6, 1.5)
    wait = phase.wait * rng.uniform(0.4, 2.0)
    try:
        step = _step(task_id, KINDS[kind], phase, state, raw, unfinished, rng)
    except (TypeError, ValueError, AttributeError) as error:
        raise CannotPoll(f"state: {error}") from error
    return msgspec.structs.replace(step, cpu=cpu, poll=cpu + wait)


def _step(task_id: UUID, kind: Kind, phase: Phase, state: State, raw: bytes, unfinished: int, rng: Random) -> Step:
    if phase.spins:
        return Step(status="Available", state=raw)
    if phase.awaits and unfinished:
        return Step(status="Blocked", state=raw)
    if phase.nap and rng.random() < RETRY:
        state["retries"] = int(state.get("retries", 0)) + 1
        return Step(status="Blocked", state=encode(state), sleep=rng.uniform(2, 6))
    done = int(state.get("polls", 0)) + 1
    if done < phase.polls:
        return Step(status="Available", state=encode({**state, "polls": done}))
    state.pop("polls", None)
    return _go_on(task_id, kind, phase, state, rng)


def _go_on(task_id: UUID, kind: Kind, phase: Phase, state: State, rng: Random) -> Step:
    children = _spawn(task_id, phase, state, rng)
    after = kind.phases[kind.phases.index(phase) + 1 :]
    following = next((later for later in after if not later.rare), None)
    if following is None and state.get("watch"):  # a watcher restarts instead of completing
        following = kind.phases[0]
    if following is None:
        parent = state.get("parent")
        output = encode({"archived": rng.randint(1, 400)})
        return Step(status="Complete", state=encode(state), output=output, parent=UUID(parent) if parent else None)
    state["phase"] = following.name
    if children:
        state["children"] = [str(child.id) for child in children]
        return Step(status="Blocked", state=encode(state), children=children)
    if phase.nap:
        seconds = state.get("seconds") or rng.uniform(*phase.nap)
        return Step(status="Blocked", state=encode(state), sleep=float(seconds))
    return Step(status="Available", state=encode(state))


def _spawn(task_id: UUID, phase: Phase, state: State, rng: Random) -> tuple[Child, ...]:
    number = int(state.pop("spawn", 0)) if phase.spawns else 0
    if not (number and phase.spawns):
        return ()
    kind = KINDS[phase.spawns]
    born = {"phase": kind.phases[0].name, "retries": 0, "parent": str(task_id)}
    states = ({**born, "user": state.get("user"), "part": part} for part in range(1, number + 1))
    return tuple(Child(id=new_id(rng), kind=phase.spawns, version=kind.version, state=encode(one)) for one in states)
