"""What a verb is about to do, in words: the same in every dialog on its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content

from console.tui.pages.lines import BLANK, Line, heading, pairs, plain, wrapped
from console.tui.pages.row_diff import differences, outcomes, tally
from queries.contract.spec import Verb
from queries.model import Danger, Node, Proof, Rehearsal, Result, RowChange

INK = {Danger.SAFE: "$success", Danger.CAUTION: "$warning", Danger.DESTRUCTIVE: "bold $error"}


def effect(verb: Verb, width: int) -> list[Line]:
    """What it does, and how sure that is."""
    marks = [(verb.danger.value, INK[verb.danger]), (verb.support.value, "$foreground")]
    sure = "assumed of the engine" if verb.proof is Proof.ASSUMED else "verified against the engine"
    line = Content("  ·  ").join([Content.styled(word, ink) for word, ink in [*marks, (sure, "italic $faint")]])
    return [*wrapped(verb.effect, width, "", 0), line]


def then(verb: Verb, width: int) -> list[Line]:
    """What the engine will do, and why the verb is done the way it is."""
    lines = wrapped(f"Then: {verb.next}", width, "", 0) if verb.next else []
    return lines + (wrapped(f"{verb.support.value}: {verb.why}", width, "$faint", 0) if verb.why else [])


def about(verb: Verb, nodes: Sequence[Node], left_out: Sequence[Result], width: int) -> list[Line]:
    """The effect, and which nodes it is for and which not."""
    lines = [*effect(verb, width), *then(verb, width), BLANK]
    if len(nodes) == 1 and not left_out:
        return [*lines, plain(nodes[0].id, "$faint", 0)]
    total = len(nodes) + len(left_out)
    kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(node.kind for node in nodes).items())
    head = Content.assemble((f"{len(nodes)} of {total} eligible", "bold"), (f"  {kinds}", "$faint"))
    lines.append(head)
    for why, number in Counter(result.why for result in left_out).most_common(5):
        lines += wrapped(f"{number} left out: {why}", width, "$warning", 2)
    return lines


def rehearsed(rehearsal: Rehearsal, verb: Verb, left_out: Sequence[Result], width: int) -> list[Line]:
    """What the rehearsal showed: what drops out and why, and every row before and after."""
    dropped = [result for result in rehearsal.results if result.outcome != "changed"]
    total, seen = len(rehearsal.versions), len(rehearsal.results)
    lines = [_verdict(rehearsal), *effect(verb, width), BLANK]
    if seen < total:
        lines += [
            *wrapped(f"The first {seen} of {total} nodes were rehearsed; the rest are of the same sort.", width),
            BLANK,
        ]
    if dropped or left_out:
        lines += [heading("Drops out"), *outcomes([*dropped, *left_out], width, limit=20), BLANK]
    lines.append(heading("Rows before and after", "rolled back: nothing is changed yet"))
    lines += differences(rehearsal.changes, width) or [plain("none", "$faint")]
    lines += [BLANK, *then(verb, width), BLANK, *noted(rehearsal, width)]
    return lines


def _verdict(rehearsal: Rehearsal) -> Line:
    would = sum(result.outcome == "changed" for result in rehearsal.results)
    others = [result for result in rehearsal.results if result.outcome != "changed"]
    ink = "bold $success" if would else "bold $warning"
    nodes = "1 node" if would == 1 else f"{would} nodes"
    rest = Content.assemble("  ·  drops out: ", tally(others)) if others else Content("")
    return Content.assemble((f"Would change {nodes}", ink), rest)


def noted(rehearsal: Rehearsal, width: int) -> list[Line]:
    """What goes into the ledger, and where that is."""
    place = "the table in this database" if rehearsal.ledger == "table" else f"the file {rehearsal.ledger}"
    missing = "" if rehearsal.ledger == "table" else " (`unstick init` makes a table for it)"
    arguments = [(name, str(value)) for name, value in rehearsal.arguments.items()]
    facts = [("reason", rehearsal.reason), *arguments, ("goes to", f"{place}{missing}")]
    return [heading("Ledger"), *pairs(facts, width)]


UNKNOWN = (
    "The connection broke around COMMIT and the server could not say what became of the transaction. It was not "
    "tried again. Look at the nodes as they are now: if they are as they were, nothing was committed and you can start "
    "anew; if they are changed, it was. The ledger has the same word for it: unknown."
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
