"""Lines of the dialogs of an action: effect, dry run, result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content

from console.tui.pages.lines import BLANK, Line, heading, pairs, plain, wrapped
from console.tui.pages.row_diff import differences, outcomes, tally
from queries.actions.plan import count_nodes
from queries.contract.spec import Action
from queries.model import DryRun, Node, Proof, Result, Risk, RowChange

INK = {Risk.LOW: "$success", Risk.MEDIUM: "$warning", Risk.HIGH: "bold $error"}


def effect(action: Action, width: int) -> list[Line]:
    """Return the action's effect, its risk, and whether its behaviour was verified."""
    marks = [(f"risk: {action.risk.value}", INK[action.risk]), (action.support.value, "$foreground")]
    sure = "behaviour inferred" if action.proof is Proof.ASSUMED else "behaviour verified"
    line = Content("  ·  ").join([Content.styled(word, ink) for word, ink in [*marks, (sure, "italic $faint")]])
    return [*wrapped(action.effect, width, "", 0), line]


def then(action: Action, width: int) -> list[Line]:
    """Return what the engine will do next, and why the action has this implementation."""
    lines = wrapped(f"Then: {action.next}", width, "", 0) if action.next else []
    return lines + (wrapped(f"{action.support.value}: {action.why}", width, "$faint", 0) if action.why else [])


def about(action: Action, nodes: Sequence[Node], skipped: Sequence[Result], width: int) -> list[Line]:
    """Return the effect of an action, and which of the selected nodes can take it."""
    lines = [*effect(action, width), *then(action, width), BLANK]
    if len(nodes) == 1 and not skipped:
        return [*lines, plain(nodes[0].id, "$faint", 0)]
    total = len(nodes) + len(skipped)
    kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(node.kind for node in nodes).items())
    head = Content.assemble((f"{len(nodes)} of {total} eligible", "bold"), (f"  {kinds}", "$faint"))
    lines.append(head)
    for why, number in Counter(result.why for result in skipped).most_common(5):
        lines += wrapped(f"{number} skipped: {why}", width, "$warning", 2)
    return lines


def dry_run_lines(dry_run: DryRun, action: Action, skipped: Sequence[Result], width: int) -> list[Line]:
    """Return the result of a dry run as lines.

    They show what changes, what is skipped and why, and every row before and after.
    """
    others = [result for result in dry_run.results if result.outcome != "changed"]
    total, seen = len(dry_run.versions), len(dry_run.results)
    lines = [_verdict(dry_run), *effect(action, width), BLANK]
    if seen < total:
        lines += [
            *wrapped(f"The dry run covers the first {seen} of {total} nodes. The commit checks each of them.", width),
            BLANK,
        ]
    if others or skipped:
        lines += [heading("Skipped"), *outcomes([*others, *skipped], width, limit=20), BLANK]
    lines.append(heading("Rows before and after", "rolled back, nothing is changed yet"))
    lines += differences(dry_run.changes, width) or [plain("none", "$faint")]
    lines += [BLANK, *then(action, width), BLANK, *_audit_log(dry_run, width)]
    return lines


def _verdict(dry_run: DryRun) -> Line:
    changed = sum(result.outcome == "changed" for result in dry_run.results)
    others = [result for result in dry_run.results if result.outcome != "changed"]
    ink = "bold $success" if changed else "bold $warning"
    nodes = count_nodes(changed, dry_run.versions)
    rest = Content.assemble("  ·  skipped: ", tally(others)) if others else Content("")
    return Content.assemble((f"Will change {nodes}", ink), rest)


def _audit_log(dry_run: DryRun, width: int) -> list[Line]:
    place = "the table in this database" if dry_run.audit_log == "table" else f"the file {dry_run.audit_log}"
    missing = "" if dry_run.audit_log == "table" else " (`unstick init` creates a table for it)"
    arguments = [(name, str(value)) for name, value in dry_run.arguments.items()]
    facts = [("reason", dry_run.reason), *arguments, ("written to", f"{place}{missing}")]
    return [heading("Audit log entry"), *pairs(facts, width)]


UNKNOWN = (
    "The connection broke during COMMIT, and the server cannot say whether the transaction was committed. The console "
    "did not try again. Look at the nodes: if they are unchanged, nothing was committed and you can repeat the action; "
    "if they are changed, the commit succeeded. The audit log shows the outcome as unknown."
)


def result(
    results: Sequence[Result], width: int, changes: Sequence[RowChange], facts: list[tuple[str, str]]
) -> list[Line]:
    """Return the outcome of each node, the changed rows, and the audit log entry."""
    lines = [*outcomes(results, width), BLANK]
    if any(each.outcome == "unknown" for each in results):
        lines += [heading("Unknown outcome: what to do"), *wrapped(UNKNOWN, width), BLANK]
    if changes:
        lines += [heading("Rows before and after"), *differences(changes, width), BLANK]
    return [*lines, heading("Audit log entry"), *pairs(facts, width)]
