"""Text shown in place of an empty list: a headline, and details or advice."""

from __future__ import annotations

from console.model.node_list import ListKind, NodeList
from console.model.session import Session
from console.text import formatting
from queries.change.plan import count_nodes
from queries.text.duration import spelled
from queries.workspace import Workspace

KEYS = "@ opens another context · q quits"
LIMITS = {
    ListKind.TREE: "Only loaded rows are filtered. l: all unfinished, f: search the database.",
    ListKind.LIVE: "Only loaded rows are filtered, and only unfinished nodes are in this list.",
}


def why(session: Session, nodes: NodeList | None, search_hint: str = "") -> tuple[str, str]:
    """Return headline and details for an empty tree or list of nodes.

    ``search_hint``: of a filtered list, how to search the database.
    """
    if session.workspace is None:
        return _unconnected(session)
    if nodes is None:
        if session.workspace.tables == 0:
            return "This database contains no tables.", "\n".join([*session.workspace.nothing[1:], KEYS])
        engines = "task engine that can be read" if session.workspace.declined_alike else "known task engine"
        return f"This database contains no {engines}.", _expected(session.workspace)
    if not nodes.read:
        return "Reading …", session.error_text
    if search_hint and nodes.loaded:
        loaded = count_nodes(nodes.loaded, ())
        details = f"{search_hint}esc clears the filter · {loaded}\n{LIMITS[nodes.kind]}"
        return "The filter hides all loaded rows.", details
    if nodes.scope:
        note = formatting.scope_note(nodes.scope)
        return "Nothing to show.", f"{note[:1].upper()}{note[1:]}."
    return ("There are no jobs.", "") if nodes.kind is ListKind.TREE else ("Nothing is unfinished.", "esc goes back")


def _unconnected(session: Session) -> tuple[str, str]:
    if not session.error_text:
        return "Connecting …", ""
    again = f"retrying in {spelled(session.retry_in)}" if session.retry_in >= 1 else "retrying"
    return "Not connected yet.", f"{session.error_text}\n\n{again} · r retries now · q quits"


def _expected(workspace: Workspace) -> str:
    lines = [f"Declined: {d.engine} in {d.schema}: {d.why}" for d in workspace.declined_alike]
    lines += [line for folder in workspace.broken for line in folder.lines]
    return "\n".join(
        [*lines, *workspace.nothing, KEYS, *(f"Looked for {line}" for line in workspace.expected)]
    )  # the end may be cut
