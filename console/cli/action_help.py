"""``help do ACTION``: what an action does in each engine, and its arguments."""

from __future__ import annotations

from collections.abc import Iterator

from console.cli.arguments import unknown_action
from console.cli.options import CliOptions
from console.cli.target import resolve
from console.text.arguments import arguments, by_action
from queries.text.safe_text import safe_text


def lines(options: CliOptions, name: str) -> Iterator[str]:
    """Yield the lines of help about an action. Raises UsageError for an unknown one."""
    actions = by_action((engine.name, engine.spec.actions) for engine in resolve(options).engines)
    if name not in actions:
        raise unknown_action(name, actions)
    yield f'unstick do {name} ID... --reason "..."'
    for engine, action in actions[name]:
        yield f"\n{safe_text(engine)}, {'/'.join(map(safe_text, action.kinds))}: {safe_text(action.effect)}"
        yield from (f"  {safe_text(word)}: {safe_text(meaning)}" for word, meaning in arguments(action))
