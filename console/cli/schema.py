"""``schema``: JSON Schema of the commands' JSON output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from console.cli import (
    audit,
    dead,
    engine_new,
    engine_show,
    engines,
    grants,
    grouped,
    info,
    show,
    sql,
    tree,
    watch,
    why,
)
from console.cli.output import FORMAT
from console.model.hand_over import Shift
from queries.check.report import Report
from queries.log.chain import Verification
from queries.records.action import Change
from queries.records.attempt import Attempt
from queries.records.change import Changes
from queries.records.detail import Detail
from queries.records.lock import Blockers
from queries.records.node import Search
from queries.records.run import RedrivePreview, RedriveReport, RunDetail, Runs
from queries.records.snapshot import Stuck

ANSWERS: dict[str, tuple[type, ...]] = {
    "engines": (engines.Engines,),
    "tree": (tree.Tree, grouped.Counts),
    "stuck": (Stuck,),
    "watch": (watch.NewIncident,),
    "dead": (dead.DeadLettersByEngine, grouped.Counts),
    "show": (Detail, show.Details),
    "find": (Search,),
    "why": (why.Whys,),
    "try": (Attempt,),
    "blockers": (Blockers,),
    "do": (Change, RedriveReport),
    "undo": (Change,),
    "redrive": (RedriveReport, RedrivePreview, Runs, Change),
    "runs": (Runs, RunDetail, RedriveReport),
    "audit": (audit.Entries, Verification),
    "shift": (Shift,),
    "changed": (Changes,),
    "grants": (grants.Grants,),
    "sql": (sql.Statements,),
    "info": (info.Info,),
    "engine": (Report, engine_show.DerivedFiles, engine_new.Proposed),
}
"""Records that each command prints with ``--json``.

``do`` and ``undo`` have one, also with --dry-run; ``audit`` has two, without and with --verify; ``engine`` for
check, show and new; ``redrive`` has a third for --list, and without the audit log table that of ``do``; ``runs``
without and with a run. ``do`` and ``runs`` also have that of a redrive which they continue or end.
"""

_INFINITE = {"enum": ["infinity", "-infinity", "nan"]}  # JSON has no such numbers


def schema(commands: Iterable[str]) -> dict[str, Any]:
    """Return the schema of one answer, or line, of these commands."""
    types = [(command, each) for command in commands for each in ANSWERS[command]]
    shapes, records = msgspec.json.schema_components([each for _, each in types], ref_template="#/$defs/{name}")
    titles = (f"unstick {command} --json" for command, _ in types)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "standby": {"type": "object", "properties": {"data_of": {"type": ["number", "null"]}}},
        },
        "required": ["format"],
        "anyOf": [{"title": title, **shape} for title, shape in zip(titles, shapes, strict=True)],
        "$defs": {name: _with_infinity(record) for name, record in sorted(records.items())},
    }


def _with_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_infinity(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "number":
        return {"anyOf": [value, _INFINITE]}
    return {key: inner if key == "default" else _with_infinity(inner) for key, inner in value.items()}
