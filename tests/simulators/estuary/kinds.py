"""Task types of the demo: pure functions that compute the outcome of a poll.

Types, messages and states are the engine's. A FIBONACCI task spawns two smaller tasks, adds up the values that they
send, counts their ends, and sends the sum to its parent. It is the only type that builds trees.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from queries.records.record import Record

ZERO: Final = "00:00:00:00:00:00:00:00"
DATA_PLANE, LIVE_SPEC, PUBLICATIONS, DISCOVERS, EVOLUTIONS = 1, 2, 3, 4, 5
MIGRATION, NOTIFICATIONS, TENANT_ALERTS, MOVEMENT_ALERTS, TENANT, FIBONACCI = 8, 9, 10, 11, 12, 32767

Messages = list[tuple[str, Any]]  # sender and message; None is an EOF


class CannotPoll(Exception):
    """The poll fails and writes nothing.

    The engine polls the task again after its heartbeat times out.
    """


class Spawn(Record):
    """A new child of the polled task, with its first message."""

    type: int
    message: Any


class Outcome(Record):
    """Outcome of a poll.

    ``sleep`` None suspends the task, ``done`` ends it, ``rest`` are the unread messages.
    """

    state: Any
    sleep: float | None = None
    rest: Messages = []
    spawn: Spawn | None = None
    yields: Any = None  # a message for the parent
    done: bool = False


Poll = Callable[[Any, Messages, Random], Outcome]


def decode(inbox: list[str | None] | None, type_: int) -> Messages:
    """Return the messages of an inbox.

    Raises CannotPoll if a message is malformed or of another type.
    """
    messages: Messages = []
    for element in inbox or []:
        parts = json.loads(element) if element is not None else None
        if not (isinstance(parts, list) and len(parts) == 2 and isinstance(parts[0], str)):
            raise CannotPoll(f"not a message: {element}")
        if parts[1] is not None and not TAKES[type_](parts[1]):
            raise CannotPoll(f"a message of another type: {element}")
        messages.append((parts[0], parts[1]))
    return messages


def _controller(state: Any, messages: Messages, rng: Random) -> Outcome:
    counts = state or {"messages_processed": 0, "total_failures": 0, "total_successes": 0}
    new = {
        **counts,
        "messages_processed": counts["messages_processed"] + len(messages),
        "total_successes": counts["total_successes"] + 1,
    }
    if state and state.get("next_at") == "now":
        return Outcome(state=new, sleep=0.0)  # a deliberate fault: the task asks for an immediate poll each time
    return Outcome(state=new, sleep=rng.uniform(10, 600) if rng.random() < 0.8 else None)


def _handler(state: Any, messages: Messages, rng: Random) -> Outcome:
    return Outcome(state=None, done=True)


def _data_plane(state: Any, messages: Messages, rng: Random) -> Outcome:
    if state is None:
        if not messages or not isinstance(messages[0][1], dict) or "start" not in messages[0][1]:
            raise CannotPoll("expected 'start' message")
        made = {"data_plane_id": messages[0][1]["start"], "status": "Idle", "disabled": True, "stack": {"config": {}}}
        return Outcome(state=made, rest=messages[1:], sleep=0.0 if messages[1:] else None)
    if not (state.get("stack") or {}).get("config") and state.get("deploy_branch"):
        raise CannotPoll("the stack has no configuration")
    steps = {"Idle": "PulumiPreview", "PulumiPreview": "PulumiUp1", "PulumiUp1": "Ansible", "Ansible": "Idle"}
    wanted = messages and not state.get("disabled")
    status = steps.get(state["status"], "Idle") if wanted or state["status"] != "Idle" else "Idle"
    switch = {"disable": True, "enable": False}
    disabled = next(
        (switch[m] for _, m in reversed(messages) if isinstance(m, str) and m in switch), state.get("disabled")
    )
    return Outcome(state={**state, "status": status, "disabled": disabled}, sleep=3.0 if status != "Idle" else 3600.0)


def _migration(state: Any, messages: Messages, rng: Random) -> Outcome:
    """Read one message while the state has no migration. Later messages stay unread."""
    if not (state or {}).get("migration_id"):
        if not messages or messages[0][1] is None:
            return Outcome(state=state, rest=messages[1:])
        state, messages = {"migration_id": messages[0][1]["initialize"]["migration_id"]}, messages[1:]
    return Outcome(state=state, rest=messages, sleep=3600.0)


def _notification(state: Any, messages: Messages, rng: Random) -> Outcome:
    """Mail that an alert fired; end when it is resolved. In between, read no messages."""
    fired = (state or {}).get("fired_completed")
    if any(message == {"event": "resolved"} for _, message in messages):
        return Outcome(state=None, done=True)
    if fired:
        return Outcome(state=state, rest=messages)
    return Outcome(state={"fired_completed": "2026-11-22T00:00:00Z", "failures": 0})


def _every(seconds: float) -> Poll:
    def evaluate(state: Any, messages: Messages, rng: Random) -> Outcome:
        return Outcome(state={"evaluations": (state or {"evaluations": 0})["evaluations"] + 1}, sleep=seconds)

    return evaluate


def _fibonacci(state: Any, messages: Messages, rng: Random) -> Outcome:
    if state is None or state == "Init":
        if not messages or messages[0][1] is None:
            raise CannotPoll("expected a value")
        value = messages[0][1]["value"]
        if value <= 2:
            return Outcome(state="Finished", yields={"value": 1}, rest=messages[1:])
        return Outcome(state={"SpawnOne": value}, spawn=_smaller(value - 1), rest=messages[1:])
    if state == "Finished":
        return Outcome(state=None, done=True)
    if "SpawnOne" in state:
        waiting = {"Waiting": {"partial": 0, "pending": 2}}
        return Outcome(state=waiting, spawn=_smaller(state["SpawnOne"] - 2), rest=messages)
    partial, pending = state["Waiting"]["partial"], state["Waiting"]["pending"]
    partial += sum(message["value"] for _, message in messages if message is not None)
    pending -= sum(message is None for _, message in messages)
    if pending <= 0:
        return Outcome(state="Finished", yields={"value": partial})
    return Outcome(state={"Waiting": {"partial": partial, "pending": pending}})


def _smaller(value: int) -> Spawn:
    return Spawn(type=FIBONACCI, message={"value": value})


def _tagged(*types: str) -> Callable[[Any], bool]:
    return lambda message: isinstance(message, dict) and message.get("type") in types


TAKES: Final[Mapping[int, Callable[[Any], bool]]] = {
    DATA_PLANE: lambda m: (
        m in ("disable", "enable", "refresh", "converge")
        or (isinstance(m, dict) and not {"start", "preview"}.isdisjoint(m))
    ),
    LIVE_SPEC: _tagged(
        *(
            "dependency_updated",
            "spec_published",
            "republish",
            "inferred_schema_updated",
            "manual_trigger",
            "shard_failed",
        ),
        "config_updated",
    ),
    PUBLICATIONS: lambda m: True,
    DISCOVERS: lambda m: True,
    MIGRATION: lambda m: isinstance(m, dict) and "initialize" in m,
    NOTIFICATIONS: lambda m: isinstance(m, dict) and m.get("event") in ("fired", "resolved", "manualTrigger"),
    TENANT_ALERTS: lambda m: m in ("ManualTrigger", "Pause", "Resume"),
    MOVEMENT_ALERTS: lambda m: m in ("ManualTrigger", "Pause", "Resume"),
    FIBONACCI: lambda m: isinstance(m, dict) and "value" in m,
}

POLLS: Final[Mapping[int, Poll]] = {
    DATA_PLANE: _data_plane,
    LIVE_SPEC: _controller,
    PUBLICATIONS: _handler,
    DISCOVERS: _handler,
    MIGRATION: _migration,
    NOTIFICATIONS: _notification,
    TENANT_ALERTS: _every(3600),
    MOVEMENT_ALERTS: _every(600),
    FIBONACCI: _fibonacci,
}
