"""The statements of ``unstick try``, on the rows of the fixture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from queries.change.trial import attempt
from queries.check.report import Notebook
from queries.contract.folder import TRY
from queries.evidence.attempt import parts_of, prepare
from queries.read.reader import Reader
from queries.records.node import Node
from queries.workspace import Workspace

NODES_TRIED = 20  # of a kind, a phase and a status


async def check_trials(workspace: Workspace, reader: Reader, nodes: Iterable[Node], notes: Notebook) -> None:
    """Try each section: the server accepts it, and it reaches a node.

    Raises DatabaseError.
    """
    reached, asked, tried = set[tuple[str, str]](), set[tuple[str, str]](), Counter[tuple[str, ...]]()
    for node in nodes:
        parts = parts_of(reader, node.kind, node.phase)
        asked.update((name, node.kind) for name in parts)
        tried[alike := (node.kind, node.phase, node.status or "")] += bool(parts)
        if not parts or tried[alike] > NODES_TRIED:
            continue
        trial = await prepare(workspace, node.id, workspace.server.role)
        for step in (await attempt(workspace, trial)).steps if trial else ():
            reached |= {(step.statement, node.kind)} if step.rows else set()
            if step.error:
                where = f"{step.statement} of {reader.ids.local(node.id)}"
                notes.fault(parts[step.statement][-1], f"try: {where}: {step.error['message']}")
    for name, sections in reader.engine.actions.get(TRY, {}).items():
        for part in sections:
            about = {(name, kind.name) for kind in reader.engine.spec.kinds if part.is_for(kind.name)}
            if about.isdisjoint(asked):
                notes.note(f"try: no node of the fixture is in a phase for {name}")
            elif about.isdisjoint(reached):
                notes.fault(part, f"try: no node of the fixture is reached by {name}")
