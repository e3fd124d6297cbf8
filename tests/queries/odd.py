"""Odd content of stored records: every field of an entry x odd values.

The values have other types, are nested deeply, are huge or unknown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import asyncpg

DEEP = 5000
VALUES = {
    "null": "null",
    "true": "true",
    "number": "5",
    "float": "-1e-7",
    "large": "1" + "0" * 400,
    "huge": "9" * 5000,
    "text": '"x"',
    "empty": '""',
    "long": '"' + "x" * 100_000 + '"',
    "lines": r'"a\nb\u001b[31m\u202e"',
    "list": "[1, 2, null]",
    "lists": "[[[]], {}]",
    "object": '{"a": {"b": [1]}}',
    "deep": "[" * DEEP + "]" * DEEP,
    "deep_object": '{"a":' * 900 + "1" + "}" * 900,
    "below_the_limit": "[" * 190 + "]" * 190,
}
JSON_ONLY = {"nul": r'"\u0000"', "surrogate": r'"\ud800"', "out_of_range": "1e999999"}  # not in jsonb
NODE = "eternaltwin/task:00000000-0000-4000-8000-000000000001"
RESULT = {
    "id": f'"{NODE}"',
    "outcome": '"changed"',
    "why": '""',
    "detail": '"x"',
    "title": '"SendEmail v1"',
    "owner": '{"verdict": "dead", "summary": "1 of 1", "witnesses": []}',
    "commands": '{"shell": "ls"}',
}
CHANGE = {"id": f'"{NODE}"', "table": '"task"', "key": '"1"', "before": '{"a": 1}', "after": '{"a": 2}'}
RUN = {
    "id": '"1"',
    "event": '"begin"',
    "kind": '"bulk"',
    "action": '"wake"',
    "nodes": "1",
    "arguments": "{}",
    "selection": '""',
    "groups": "[]",
    "settings": "null",
    "digest": '"x"',
    "process": '"x"',
    "cohort": "0",
    "changed": "1",
    "reason": '"done"',
}
EVENTS = ("begin", "end", "judged", "extended", "resume", "skipped", "another")
TEXTS = ("", "x", "a\nb\t\x1b[31m\u202e", "'; --", "%s{0}", "eternaltwin/task:1", "9" * 100_000, "🂡 é")
TIMES = ("infinity", "-infinity", "294276-12-31", "4713-01-01 BC")
COLUMNS = {"os_user", "host", "application", "engine", "schema", "action", "reason"}


class Forged(NamedTuple):
    """An entry that unstick did not write.

    ``columns``: those that differ from a genuine one.
    """

    name: str
    columns: dict[str, str]


def _object(fields: dict[str, str], without: str = "", **more: str) -> str:
    members = {name: value for name, value in {**fields, **more}.items() if name != without}
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in members.items()) + "}"


def _of_results(kind: str, value: str) -> Iterator[Forged]:
    for column in ("arguments", "results", "changes"):
        yield Forged(f"{column}={kind}", {column: value})
    yield Forged(f"results[0]={kind}", {"results": f"[{value}]"})
    for name in (*RESULT, "other"):
        yield Forged(f"result.{name}={kind}", {"results": f"[{_object(RESULT, **{name: value})}]"})


def _of_runs(kind: str, value: str) -> Iterator[Forged]:
    yield Forged(f"run={kind}", {"arguments": f'{{"run": {value}, "other_rows": {value}}}'})
    for name in RUN:
        for event in EVENTS if name in ("cohort", "nodes", "changed", "reason") else ("begin",):
            named = "id" if event == "begin" and name != "id" else ""  # the beginning of a run names no id
            run = _object(RUN, named, **{"event": json.dumps(event), name: value})
            yield Forged(f"run.{event}.{name}={kind}", {"arguments": f'{{"run": {run}}}'})


def forged() -> Iterator[Forged]:
    """Yield entries with one odd value, for every field of every part."""
    for kind, value in VALUES.items():
        yield from _of_results(kind, value)
        yield from _of_runs(kind, value)
    for kind, value in {**VALUES, **JSON_ONLY}.items():
        for name in CHANGE:
            yield Forged(f"change.{name}={kind}", {"changes": f"[{_object(CHANGE, **{name: value})}]"})
        yield Forged(f"change.before.a={kind}", {"changes": f'[{_object(CHANGE, before=f"""{{"a": {value}}}""")}]'})
    for name in RESULT:
        yield Forged(f"result without {name}", {"results": f"[{_object(RESULT, name)}]"})
    for name in CHANGE:
        yield Forged(f"change without {name}", {"changes": f"[{_object(CHANGE, name)}]"})
    yield Forged("outcome of a later version", {"results": f"[{_object(RESULT, outcome=json.dumps('postponed'))}]"})
    for column in sorted(COLUMNS):
        for text in TEXTS[column == "reason" :]:
            yield Forged(f"{column}={text[:20]!r}", {column: text})
    for at in TIMES:  # of the table's owner
        yield Forged(f"at={at}", {"at": at, "role": "a\nb"})


GENUINE = {"os_user": "anna", "host": "laptop", "application": "unstick", "engine": "eternaltwin", "schema": "public"}
GENUINE |= {"action": "wake", "reason": "forged", "arguments": "{}", "changes": f"[{_object(CHANGE)}]"}
GENUINE |= {"results": f"[{_object(RESULT)}]"}


async def store(connection: asyncpg.Connection[Any], each: Forged, node: str = NODE) -> str:
    """Write an entry as a role with INSERT alone can, and return its id."""
    columns = {**GENUINE, **each.columns}
    casts = {"arguments": "::json", "results": "::json", "changes": "::json", "at": "::timestamptz"}
    values = [f"${n}::text{casts.get(name, '')}" for n, name in enumerate(columns, 1)]
    sql = f"INSERT INTO unstick.audit_log ({', '.join(columns)}) VALUES ({', '.join(values)}) RETURNING id::text"
    entry: str = await connection.fetchval(sql, *(value.replace(NODE, node) for value in columns.values()))
    return entry


def members() -> Iterator[tuple[str, str]]:
    """Yield lists of the nodes of a run with one odd value, each with its name."""
    for kind, value in {**VALUES, **JSON_ONLY}.items():
        yield f"members={kind}", value
        yield f"list={kind}", f'{{"members": {value}}}'
        yield f"member={kind}", f'{{"members": [{value}]}}'
        for place in range(4):
            fields = [f'"{NODE}"', '"1"', '"SendEmail"', '"more"']
            fields[place] = value
            yield f"member[{place}]={kind}", f'{{"members": [[{", ".join(fields)}]]}}'


async def store_images(connection: asyncpg.Connection[Any], content: str, **columns: str) -> str:
    """Write an entry with images and their right hash, and return its id."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    async with connection.transaction():
        entry = await store(connection, Forged("", {**columns, "images_digest": digest}))
        await connection.execute("INSERT INTO unstick.audit_images VALUES ($1, $2::text::json)", int(entry), content)
    return entry


async def begin(connection: asyncpg.Connection[Any], content: str) -> str:
    """Write the beginning of a run with a list of nodes and its right hash."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    event = {"event": "begin", "kind": "bulk", "action": "wake", "nodes": 1, "digest": digest, "process": "x"}
    return await store_images(connection, content, results="[]", arguments=json.dumps({"run": event}))
