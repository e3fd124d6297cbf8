"""Operator-facing texts of an engine's spec as one plain listing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from queries.contract.engine import Engine
from queries.contract.spec import Action

FOLDER = Path(__file__).parent / "golden"


def texts(engine: Engine) -> str:
    """Return the engine's titles, sentences, effects and reasons, in spec order."""
    return "\n".join(_lines(engine)) + "\n"


def _lines(engine: Engine) -> Iterator[str]:
    spec = engine.spec
    yield from (
        spec.title,
        f"  about: {spec.about}",
        f"  dead: {spec.dead}",
        f"  changed: {engine.changed}",
        "",
        "needs",
    )
    for name, need in spec.needs.items():
        yield f"  {name}: {need.why}"
    yield from ("", "options")
    yield from (f"  {name}" for name in spec.options)
    yield from ("", "statuses")
    for status in spec.statuses:
        yield f"  {status.native} ({status.phase}): {status.means}"
    yield from ("", "findings")
    for finding in spec.findings:
        yield f"  {finding.code}: {finding.title}"
        yield f"    {finding.one}"
    yield from ("", "actions")
    for action in spec.actions:
        yield from _action_lines(action)


def _action_lines(action: Action) -> Iterator[str]:
    variant = "".join(f", {option} {value}" for option, value in action.when.items())
    yield f"  {action.name} of {', '.join(action.kinds)}{variant}: {action.title} (confirmed by {action.confirm})"
    for name in ("effect", "next", "why"):
        if text := getattr(action, name):
            yield f"    {name}: {text}"
    yield from (f"    command, {place}: {command}" for place, command in action.command.items())
    for argument in action.arguments:
        yield f"    argument {argument.name}: {argument.title}"
