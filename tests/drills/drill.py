"""A drill, what the console shows in it, and the verdict.

Decorators collect the drills.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import shlex
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from console.cli import suggested
from console.config import Config, Context
from console.target import Target
from queries.contract.server_spec import server_spec
from queries.db.errors import SlowError
from queries.read import incidents as grouping
from queries.read import server_findings
from queries.records.finding import Finding, Incident
from queries.workspace import Workspace
from tests.command import unstick
from tests.drills.console import shown
from tests.drills.scene import Scene
from tests.servers import PostgresServer

Cause = Callable[[Scene], Awaitable[str | tuple[str, ...] | None]]

LOW = 3  # the worst severity of a line that a healthy database may show
SLOW = 2  # times as many readings while checks fail
DRILLS: list[Drill] = []
UNSEEN: list[Drill] = []  # whose first run is in unseen.txt


@dataclass(frozen=True)
class Drill:
    """A cause, and what the console must say about it.

    ``line``: accepted codes of line 1. ``names``: texts that its sentence must contain. The cause may return
    another text, or several of which one is enough.
    ``actions``: accepted suggestions, None for none. ``most``: the largest number of incidents. A control has no
    ``line`` and no ``says``. An unseen drill has patterns: line 1 says one of ``says``, and its sentence and remedy
    say none of ``never``.
    """

    name: str
    engine: str
    cause: Cause
    line: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    actions: tuple[str | None, ...] = (None,)
    most: int = 2
    watch: float = 0.0  # seconds of samples
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)  # thresholds and options of engines
    limits: dict[str, float] = field(default_factory=dict)  # thresholds of the findings about the server
    alone: bool = False  # needs a server for itself
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.engine}: {self.name}"

    @property
    def control(self) -> bool:
        return not self.line and not self.says


@dataclass(frozen=True)
class Result:
    """Incidents that the console showed.

    ``wrong`` says what is wrong with them; it is empty if nothing is.
    """

    drill: Drill
    incidents: tuple[Incident, ...]
    wrong: tuple[str, ...]

    @property
    def first(self) -> Incident | None:
        return self.incidents[0] if self.incidents else None


def drill(engine: str, line: str | tuple[str, ...], **options: Any) -> Callable[[Cause], Cause]:
    """Register a cause as a drill. Its name is that of the function, or an option."""

    def register(cause: Cause) -> Cause:
        codes = (line,) if isinstance(line, str) else line
        name = options.pop("name", None) or cause.__name__.replace("_", " ")
        DRILLS.append(Drill(name, engine, cause, line=codes, **options))
        return cause

    return register


def control(engine: str, **options: Any) -> Callable[[Cause], Cause]:
    """Register a suspicious but healthy situation."""
    return drill(engine, (), **options)


def unseen(engine: str, *says: str, **options: Any) -> Callable[[Cause], Cause]:
    """Register a cause as an unseen drill; a control without ``says``."""

    def register(cause: Cause) -> Cause:
        UNSEEN.append(Drill(cause.__name__.replace("_", " "), engine, cause, says=says, **options))
        return cause

    return register


async def run(asked: Drill, server: PostgresServer, readings: int = 1, *, commands: bool = False) -> Result:
    """Set up the scene, add the cause, read the console, and judge.

    ``commands``: also dry-run the command that is printed for line 1.

    ``readings``: how often a cause is looked for, a second apart, as a console does that refreshes: executors that fail
    disconnect and connect again, and sessions report their counters once a second. While checks fail, because the
    server is slow under load, it is looked for more often.
    """
    # The catalog may be of a moment at which the executor was not connected, so it is read each time. A scene makes
    # rows older, but no session can be.
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(server_findings.KEPT_SECONDS, clear=True),
        patch.object(grouping, "OLDER_SECONDS", math.inf),
        patch.dict(server_spec().thresholds, asked.limits),
    ):
        async with Scene(server, asked.engine) as scene:
            await scene.fill()
            named = await asyncio.wait_for(asked.cause(scene), 120)
            if asked.control and scene.errors:
                raise RuntimeError(f"the executors are not healthy: {scene.errors[0]}")
            await scene.leave()
            overrides = asked.overrides or getattr(scene.engine, "overrides", {})
            file = Path(folder) / "audit_log.jsonl"
            workspace = await opened(scene.console_dsn, overrides, readings, file=file, **scene.console)
            one_of = named if isinstance(named, tuple) else (named or "",)
            try:
                for reading in range(SLOW * readings):
                    if reading:
                        await asyncio.sleep(1.0)
                    reads = shown(workspace, asked.watch, twice=asked.control or readings == 1)
                    incidents, failed = await asyncio.wait_for(reads, 60 + asked.watch)
                    result = Result(asked, incidents, tuple(wrong(asked, incidents, one_of)))
                    if not result.wrong or asked.control or (reading + 1 >= readings and not failed):
                        break
                if commands and result.first and result.first.action:
                    options = ["--trust", *scene.console["trusted"]] if scene.console.get("trusted") else []
                    refused = await refusal(result.first, scene.console_dsn, overrides, options)
                    result = replace(result, wrong=(*result.wrong, *refused))
            finally:
                await workspace.close()
    return result


async def refusal(incident: Incident, dsn: str, overrides: Any, options: list[str]) -> list[str]:
    """Dry-run the printed commands of an incident, and return what refuses them."""
    target = Target(Config(path=Path()), Context(name="", dsn=dsn))
    found = incident.findings[0]
    lines = [
        suggested.incident_command(target, incident),
        *([suggested.command(target, found)] if found.action else []),
    ]
    lists: dict[str, list[str]] = {}
    for engine, values in overrides.items():
        for name, value in values.items():
            one = next(iter(value.values()), 0) if isinstance(value, dict) else value
            table = "options" if isinstance(one, str) else "thresholds"
            lists.setdefault(f"[{table}.{engine}]", []).append(f"{name} = {_toml(value)}")
    settings = "\n".join(line for table, rows in lists.items() for line in (table, *rows))
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.toml"
        file.write_text(settings)
        file.chmod(0o600)
        for line in lines:
            _, *words = shlex.split(line)
            words += ["--dry-run", "--config", str(file), "--local-log", *options]
            answer = await asyncio.to_thread(unstick, *words, dsn=dsn)
            if answer.code in (1, 2):
                wrong.append(f"COMMAND {line}: {answer.err}")
    return wrong


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


async def opened(dsn: str, overrides: Any, tries: int, **options: Any) -> Workspace:
    """Open a workspace.

    Like a console, it tries again on a server that is slow under load.
    """
    for left in reversed(range(tries)):
        try:
            return await Workspace(dsn, overrides, **options).open()
        except SlowError:
            if not left:
                raise
    raise AssertionError("no try")


def wrong(asked: Drill, incidents: tuple[Incident, ...], one_of: tuple[str, ...]) -> list[str]:
    """Return what an operator would be misled by."""
    if asked.control:
        return [f"FALSE ALARM {i.code}" for i in incidents if i.severity > LOW]
    if not incidents:
        return ["FALSE ALL-CLEAR"]
    first, found = incidents[0], []
    if first.code not in asked.line:
        found.append(f"CAUSE is not {' or '.join(asked.line)}")
    elif missing := [name for name in asked.names if name not in first.sentence]:
        found.append(f"LINE does not name {', '.join(missing)}")
    elif not any(name in first.sentence for name in one_of):
        found.append(f"LINE does not name {' or '.join(one_of)}")
    if first.action not in asked.actions:
        found.append(f"ACTION {first.action}")
    if len(incidents) > asked.most:
        found.append(f"FLOOD {len(incidents)}")
    return found


def verdict(asked: Drill, incidents: tuple[Incident, ...]) -> str:
    """Return where an unseen drill's cause is named, or what is wrong with line 1."""
    if asked.control:
        return "FALSE ALARM" if any(each.severity > LOW for each in incidents) else "quiet"
    if not incidents:
        return "silent"
    first = incidents[0]
    if first.action not in asked.actions or said(asked.never, first.sentence, first.remedy):
        return "wrong"
    if said(asked.says, first.code, first.title, first.sentence, first.remedy):
        return "line 1"
    others: list[Finding | Incident] = [*(finding for each in incidents for finding in each.explained), *incidents[1:]]
    return "folded" if any(said(asked.says, each.code, each.title, each.sentence) for each in others) else "missed"


def said(patterns: tuple[str, ...], *texts: str) -> bool:
    """Return true if one of the texts matches one of the patterns."""
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns for text in texts)
