"""Lines of an action: effect, dry run, result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from console.text.spans import Spans, wrap
from console.text.views.blast_radius import blast_radius
from console.text.views.edit import edit
from console.text.views.lines import BLANK, head, heading, pairs, plain, section, stacked, titles, wrapped
from console.text.views.owners import owners
from console.text.views.row_diff import ROWS_SHOWN, differences, outcomes
from queries.change.plan import count_nodes, recorded
from queries.contract.spec import Action
from queries.db.database import WRITE_SECONDS
from queries.records.action import (
    Change,
    Durability,
    Outcome,
    Owner,
    Proof,
    Result,
    Risk,
    RowChange,
    Verdict,
    titles_of,
)
from queries.records.node import Node
from queries.text.counted import counted
from queries.text.duration import measured

RISKS = {Risk.LOW: ("·", "$success"), Risk.MEDIUM: ("!", "$warning"), Risk.HIGH: ("‼", "bold $error")}
"""Sign and colour of each risk, with the signs of the severities."""


def effect(action: Action, cells: int) -> list[Spans]:
    """Return the action's effect, its risk, and whether its behaviour was verified."""
    sure = "behaviour inferred" if action.proof is Proof.ASSUMED else "behaviour verified"
    sign, ink = RISKS[action.risk]
    marks: Spans = [(f"{sign} risk: {action.risk.value}", ink), (f"  ·  {action.support.value}  ·  ", "")]
    return [*wrapped(action.effect, cells, "", 0), [*marks, (sure, "italic $faint")]]


def then(action: Action, cells: int) -> list[Spans]:
    """Return what the engine will do next, and why the action has this implementation."""
    lines = wrapped(f"Then: {action.next}", cells, "", 0) if action.next else []
    return lines + (wrapped(f"{action.support.value}: {action.why}", cells, "$faint", 0) if action.why else [])


def about(action: Action, nodes: Sequence[Node], skipped: Sequence[Result], cells: int) -> list[Spans]:
    """Return the effect of an action, and which of the selected nodes can take it."""
    lines = [*effect(action, cells), *then(action, cells), BLANK]
    if not nodes and not skipped:  # the nodes of an undo are read in the dry run
        return lines[:-1]
    if len(nodes) == 1 and not skipped:
        return [*lines, plain(nodes[0].id, "$faint", 0)]
    total = len(nodes) + len(skipped)
    by_kind: dict[str, list[str]] = {}
    for node in nodes:
        by_kind.setdefault(node.kind, []).append(node.id)
    kinds = ", ".join(count_nodes(len(ids), ids) for ids in by_kind.values())
    eligible: Spans = [(f"{len(nodes)} of {total} eligible", "bold"), (f"  {kinds}", "$faint")]
    by_id = {node.id: node.title for node in nodes}
    lines.append(head(eligible, titles(by_id, by_id), [], cells))
    for why, number in Counter(result.why for result in skipped).most_common(5):
        lines += wrapped(f"{number} skipped: {why}", cells, "$warning", 2)
    return lines


def dry_run_lines(
    dry_run: Change,
    actions: Sequence[Action],
    skipped: Sequence[Result],
    cells: int,
    *,
    limit: int = ROWS_SHOWN,
    skipped_limit: int = 20,
    rows_key: str = "",
) -> list[Spans]:
    """Return what follows the `summary` of a dry run.

    That is the effect, the owners, and an edited text. With ``limit`` also the rows before and after, the
    blast radius, ids of what is skipped, and the audit log entry. ``actions``: the action for each kind of the nodes.
    ``skipped``: nodes that were not in the dry run. ``rows_key``: shows the rows if ``limit`` is 0.
    """
    took = f"The dry run took {measured(dry_run.held)} of the {measured(WRITE_SECONDS)} that a transaction may take."
    slow = f"{took} The commit may be refused: select fewer nodes at a time."
    owned = owners(dry_run.results, cells, limit=skipped_limit or 3)
    owned = section("Owner, dead or alive", owned, "read again at the commit")
    lives = any(isinstance(r.owner, Owner) and r.owner.verdict is Verdict.ALIVE for r in dry_run.results)
    out = [*(r for r in dry_run.results if r.outcome is not Outcome.CHANGED), *skipped] if limit else []
    return stacked(
        [line for action in actions for line in (*effect(action, cells), *then(action, cells))],
        owned if lives else [],
        edit(dry_run.edit, cells) if dry_run.edit is not None else [],
        wrapped(slow, cells, "$warning", 0) if dry_run.held > WRITE_SECONDS / 2 else [],
        _rows(dry_run, cells, limit, rows_key),
        [] if lives else owned,
        reached(dry_run, cells) if limit else [],
        section("Skipped", outcomes(out, cells, limit=skipped_limit)),
        _audit_log(dry_run, actions, cells) if limit or dry_run.audit_log != "table" else [],
    )


def reached(dry_run: Change, cells: int) -> list[Spans]:
    """Return the blast radius of a dry run, as far as it was measured."""
    radius = dry_run.blast_radius
    if radius is None:
        return []
    held = f"measured in the dry run, {measured(radius.seconds)} with rows locked"
    return section("Blast radius", blast_radius(radius, cells), held)


def _rows(dry_run: Change, cells: int, limit: int, key: str) -> list[Spans]:
    """Return the rows before and after, or how many there are and how to see them."""
    number = len(dry_run.changes)
    if not number or not limit:
        note = f"{key} shows {counted(number, 'row')}; nothing is changed yet" if number else "none"
        return wrap(heading("Rows before and after", note), cells)
    rows = differences(dry_run.changes, cells, limit=limit, titles=dry_run.titles)
    return section("Rows before and after", rows, "rolled back, nothing is changed yet")


def _audit_log(dry_run: Change, actions: Sequence[Action], cells: int) -> list[Spans]:
    missing = "" if dry_run.audit_log == "table" else " (`unstick init` creates a table for it)"
    values = recorded(actions[0], dry_run.arguments) if actions else dry_run.arguments
    arguments = [(name, str(value)) for name, value in values.items()]
    facts = [("reason", dry_run.reason), *arguments]
    facts += [("undo", note) for note in dict.fromkeys(action.undo_note for action in actions) if note]
    facts.append(("written to", f"{audit_log_place(dry_run.audit_log)}{missing}"))
    return [heading("Audit log entry"), *pairs(facts, cells)]


_CERTAIN = {
    Durability.LOCAL: "Certain on this server, which has no standby",
    Durability.SYNCHRONOUS: "Committed, and confirmed by a synchronous standby",
    Durability.ASYNCHRONOUS: "Committed on this server. Standbys receive the change after COMMIT: a failover before"
    " that loses it. `unstick audit` on this machine then says so",
    Durability.DETACHED: "Committed on this server, which has or had standbys, but none receives the change now. If"
    " another server was promoted, the change is lost. `unstick audit` on this machine then says so",
    Durability.UNCONFIRMED: "Committed on this server, but no synchronous standby has confirmed it: a failover may lose"
    " it. `unstick audit` on this machine then says so",
}


def certain(durability: Durability | None, nodes: Mapping[Durability, int] | None = None) -> str:
    """Return how certain a change is, of how many ``nodes``; "" without a commit."""
    if nodes is not None and len(nodes) > 1:
        return " ".join(f"{counted(number, 'node')}: {_CERTAIN[each]}." for each, number in nodes.items())
    return "" if durability is None else f"{_CERTAIN[durability]}."


STANDBY_WAIT = "COMMIT waits for a synchronous standby (synchronous_standby_names: {standbys})"


def audit_log_place(place: str | None) -> str:
    """Return where an entry is written; None if nothing was changed."""
    if place is None:
        return "none, nothing was changed"
    return "the table in this database" if place == "table" else f"the file {place}"


TABLE_ADDS = (
    "Colleagues see your changes, and can undo them.",
    "A change of many nodes is continued from any machine.",
    "Dead letters are revived in cohorts, each watched before the next.",
    "A change that a failover has lost is named, and so is an entry that was removed or changed.",
)


def table_offer(place: str, statements: Sequence[str], command: str, cells: int) -> list[Spans]:
    """Return where a change is recorded, and what the audit log table would add.

    ``statements``: none if the role may not create it; then the owner runs ``command``.
    """
    now = (
        f"Each change is a line of the file {place}, on disk before COMMIT, with the rows that an undo restores."
        " Only you can list and undo it, on this machine."
    )
    owner = "This role has no CREATE on the database, or the server is a standby. The owner of the database runs:"
    if statements:
        how = section("Statements that create it", [plain(line) for line in statements])
    else:
        how = section("How it is created", [*wrapped(owner, cells), plain(command, "bold")])
    adds = (line for each in TABLE_ADDS for line in wrapped(each, cells))
    return stacked(section("Without the table", wrapped(now, cells)), section("The table unstick.audit_log", adds), how)


UNKNOWN_ADVICE = (
    "The connection broke during COMMIT, and the server cannot say whether the transaction was committed. The console "
    "did not try again. Look at the nodes: if they are unchanged, nothing was committed and you can repeat the action; "
    "if they are changed, the commit succeeded. The audit log shows the outcome as unknown."
)


def result_lines(
    results: Sequence[Result],
    cells: int,
    *,
    changes: Sequence[RowChange] = (),
    facts: Sequence[tuple[str, str]] = (),
    limit: int = ROWS_SHOWN,
    logged: int = 0,
) -> list[Spans]:
    """Return the outcome of each node, the changed rows, and the audit log entry.

    The ids of nodes whose rows are shown are there. ``logged``: number of changed nodes whose rows are not in
    ``changes``.
    """
    names = titles_of(results)
    below = {change.id for change in changes[:ROWS_SHOWN]}
    rows = differences(changes, cells, titles=names)
    rows += wrapped(f"The audit log has the rows of {logged} more nodes.", cells, "$faint") if logged else []
    return stacked(
        outcomes(results, cells, limit=limit, below=below),
        section("Unknown outcome: what to do", wrapped(UNKNOWN_ADVICE, cells))
        if any(each.outcome is Outcome.UNKNOWN for each in results)
        else [],
        section("Rows before and after", rows),
        section("Audit log entry", pairs(facts, cells)),
    )
