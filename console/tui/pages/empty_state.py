"""Why there is nothing to show where a list would be: a headline, and what to know or do about it."""

from __future__ import annotations

from console.model.node_list import Listing, Shape
from console.model.session import Session
from console.text import formatting
from queries.workspace import Workspace

UNOPENED = "What was not unfolded is not searched: l lists everything unfinished, f asks the database."


def why(session: Session, listing: Listing | None, *, filtered: bool) -> tuple[str, str]:
    """For the tree and the lists beside it."""
    if session.workspace is None:
        return _unconnected(session)
    if listing is None:
        headline = "No task engine that this console knows lives in this database."
        return headline, _looked_for(session.workspace)
    if not listing.read:
        return "Reading …", session.trouble
    if filtered and listing.forest.loaded:
        more = f"\n{UNOPENED}" if listing.shape is Shape.TREE else ""
        return "The filter hides everything that was read.", f"{listing.forest.loaded} nodes · esc clears it{more}"
    if listing.only:
        return "Nothing to show.", f"{formatting.only(listing.only)[:1].upper()}{formatting.only(listing.only)[1:]}."
    found = {Shape.TREE: ("There are no jobs.", ""), Shape.LIVE: ("Nothing is unfinished.", "esc goes back")}
    return found.get(listing.shape, (f"Nothing was found for {listing.text!r}.", "esc goes back"))


def _unconnected(session: Session) -> tuple[str, str]:
    if not session.trouble:
        return "Connecting …", ""
    again = f"trying again in {session.retry_in:.0f} s" if session.retry_in >= 1 else "trying again"
    return "There is no connection yet.", f"{session.trouble}\n\n{again} · r tries now · q leaves"


def _looked_for(workspace: Workspace) -> str:
    lines = [f"Looked for {line}" for line in workspace.looked_for]
    lines += [f"Declined: {d.engine} in schema {d.schema}: {d.why}" for d in workspace.declined]
    return "\n".join(lines)
