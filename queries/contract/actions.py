"""Actions with what follows from files: their names, and their statements."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from queries.contract.effects import effects_of
from queries.contract.folder import TRY
from queries.contract.spec import GONE, Action, Argument, EngineSpec
from queries.contract.sql_names import keys_of
from queries.files.statement import Statement
from queries.records.action import Undo
from queries.text.psql_text import sql_words

# By it the operator takes work from an owner that may live; an action that fences the owner needs none
_GONE = Argument(name=GONE, title="I have checked that its owner is no longer running", type="flag")


def with_scripts(spec: EngineSpec, files: Collection[str]) -> tuple[Action, ...]:
    """Return the actions with the names of their files.

    It is NAME_KIND, if there is such a file.
    """
    every = [kind.name for kind in spec.kinds]
    names = ([f"{action.name}_{kind}" for kind in every if kind in action.kinds] for action in spec.actions)
    found = (next((name for name in some if f"actions/{name}.sql" in files), "") for some in names)
    return tuple(msgspec.structs.replace(action, file=name) for action, name in zip(spec.actions, found, strict=True))


def with_effects(spec: EngineSpec, sections: Mapping[str, Mapping[str, tuple[Statement, ...]]]) -> tuple[Action, ...]:
    """Return the actions with what follows from their sections, by file."""
    files = ((action, sections.get(f"actions/{action.script}.sql", {})) for action in spec.actions)
    return tuple(_with_effects(spec, action, each) if action.writes else action for action, each in files)


def trial_of(spec: EngineSpec, sections: Mapping[str, tuple[Statement, ...]]) -> Action:
    """Return what the sections of ``unstick try`` change and require, as an action."""
    parts = [part for run in sections.values() for part in run]
    kinds = dict.fromkeys(kind for part in parts for kind in (part.kinds or [kind.name for kind in spec.kinds]))
    action = Action(name="try", title="Try", key="", kinds=tuple(kinds), file=TRY)
    return _with_effects(spec, action, sections)


def _with_effects(spec: EngineSpec, action: Action, sections: Mapping[str, tuple[Statement, ...]]) -> Action:
    """Return the action with what its statements change, and what that requires."""
    effects = effects_of(part for parts in sections.values() for part in parts)
    more = [each for done in effects.done for each in spec.effects.get(done, ())]
    rows = [f"{t}.*" for t in (*effects.inserts, *effects.deletes) if t not in spec.append_only]
    columns = (*rows, *effects.columns, *(each for each in more if " " not in each))
    whole = {column.removesuffix(".*") for column in columns if column.endswith(".*")}
    overwrites = dict.fromkeys(c for c in columns if c.endswith(".*") or c.partition(".")[0] not in whole)
    granted = {function for need in spec.needs.values() for function in need.functions}
    granted |= set(effects.optional) - set(effects.calls)
    privileges = [
        *(" ".join(("UPDATE", c.partition(".")[0])) for c in overwrites if not c.endswith(".*")),
        *(" ".join(("UPDATE", table)) for table in effects.locks),
        *(p for p in effects.done if p.partition(" ")[2] not in granted),
        *(each for each in more if " " in each),
    ]
    called = {name for name, need in spec.needs.items() if not set(effects.calls).isdisjoint(need.functions)}
    called |= set(action.when.values()) & set(spec.needs)
    changes = [part.needs for part in sections.get("change", ())]
    called |= frozenset.intersection(*changes) if changes else frozenset()
    overwritten = tuple(overwrites)
    tables = {name.partition(".")[0] for name in overwrites}
    undo = Undo.TRANSITION if tables & set(spec.append_only) else Undo.ROWS
    named = {name for parts in sections.values() for part in parts for name, _ in keys_of(part, "args")}
    return msgspec.structs.replace(
        action,
        overwrites=overwritten,
        waits=any("for_now" in sql_words(part.text) for part in sections.get("refused", ())),
        privileges=tuple(dict.fromkeys(privileges)),
        needs=tuple(sorted(called)),
        undo=action.undo or (undo if overwritten else Undo.NONE if action.undo_note else None),
        arguments=(
            *(each for name, each in spec.arguments.items() if name in named),
            *(() if action.fences or GONE in named & spec.arguments.keys() or "witnesses" not in sections else [_GONE]),
        ),
    )
