"""What an action is about to do, in words: the same in every dialog on its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content

from console.tui.pages.lines import BLANK, Line, heading, pairs, plain, wrapped
from console.tui.pages.row_diff import differences, outcomes, tally
from queries.contract.spec import Action
from queries.model import DryRun, Node, Proof, Result, Risk, RowChange

INK = {Risk.LOW: "$success", Risk.MEDIUM: "$warning", Risk.HIGH: "bold $error"}


def effect(action: Action, width: int) -> list[Line]:
    """What it does, and how sure that is."""
    marks = [(f"risk: {action.risk.value}", INK[action.risk]), (action.support.value, "$foreground")]
    sure = "assumed of the engine" if action.proof is Proof.ASSUMED else "verified against the engine"
    line = Content("  ·  ").join([Content.styled(word, ink) for word, ink in [*marks, (sure, "italic $faint")]])
    return [*wrapped(action.effect, width, "", 0), line]


def then(action: Action, width: int) -> list[Line]:
    """What the engine will do, and why the action is done the way it is."""
    lines = wrapped(f"Then: {action.next}", width, "", 0) if action.next else []
    return lines + (wrapped(f"{action.support.value}: {action.why}", width, "$faint", 0) if action.why else [])


def about(action: Action, nodes: Sequence[Node], skipped: Sequence[Result], width: int) -> list[Line]:
    """The effect, and which nodes it is for and which not."""
    lines = [*effect(action, width), *then(action, width), BLANK]
    if len(nodes) == 1 and not skipped:
        return [*lines, plain(nodes[0].id, "$faint", 0)]
    total = len(nodes) + len(skipped)
    kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(node.kind for node in nodes).items())
    head = Content.assemble((f"{len(nodes)} of {total} eligible", "bold"), (f"  {kinds}", "$faint"))
    lines.append(head)
    for why, number in Counter(result.why for result in skipped).most_common(5):
        lines += wrapped(f"{number} left out: {why}", width, "$warning", 2)
    return lines


def dry_run_lines(dry_run: DryRun, action: Action, skipped: Sequence[Result], width: int) -> list[Line]:
    """What the dry run showed: what drops out and why, and every row before and after."""
    dropped = [result for result in dry_run.results if result.outcome != "changed"]
    total, seen = len(dry_run.versions), len(dry_run.results)
    lines = [_verdict(dry_run), *effect(action, width), BLANK]
    if seen < total:
        lines += [
            *wrapped(f"The first {seen} of {total} nodes were dry-run; the rest are of the same sort.", width),
            BLANK,
        ]
    if dropped or skipped:
        lines += [heading("Drops out"), *outcomes([*dropped, *skipped], width, limit=20), BLANK]
    lines.append(heading("Rows before and after", "rolled back: nothing is changed yet"))
    lines += differences(dry_run.changes, width) or [plain("none", "$faint")]
    lines += [BLANK, *then(action, width), BLANK, *noted(dry_run, width)]
    return lines


def _verdict(dry_run: DryRun) -> Line:
    would = sum(result.outcome == "changed" for result in dry_run.results)
    others = [result for result in dry_run.results if result.outcome != "changed"]
    ink = "bold $success" if would else "bold $warning"
    nodes = "1 node" if would == 1 else f"{would} nodes"
    rest = Content.assemble("  ·  drops out: ", tally(others)) if others else Content("")
    return Content.assemble((f"Would change {nodes}", ink), rest)


def noted(dry_run: DryRun, width: int) -> list[Line]:
    """What goes into the audit log, and where that is."""
    place = "the table in this database" if dry_run.audit_log == "table" else f"the file {dry_run.audit_log}"
    missing = "" if dry_run.audit_log == "table" else " (`unstick init` makes a table for it)"
    arguments = [(name, str(value)) for name, value in dry_run.arguments.items()]
    facts = [("reason", dry_run.reason), *arguments, ("goes to", f"{place}{missing}")]
    return [heading("AuditLog"), *pairs(facts, width)]


UNKNOWN = (
    "The connection broke around COMMIT and the server could not say what became of the transaction. It was not "
    "tried again. Look at the nodes as they are now: if they are as they were, nothing was committed and you can start "
    "anew; if they are changed, it was. The audit log has the same word for it: unknown."
)


def result(
    results: Sequence[Result], width: int, changes: Sequence[RowChange], facts: list[tuple[str, str]]
) -> list[Line]:
    """The result sheet."""
    lines = [*outcomes(results, width), BLANK]
    if any(each.outcome == "unknown" for each in results):
        lines += [heading("What to do about the unknown"), *wrapped(UNKNOWN, width), BLANK]
    if changes:
        lines += [heading("Rows before and after"), *differences(changes, width), BLANK]
    return [*lines, heading("Noted"), *pairs(facts, width)]
