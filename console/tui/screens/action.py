"""The way of an action across the screen: plan, ask, dry-run, confirm, carry out, tell. Read it from top to bottom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from console.tui.screens.ask import ActionInput, AskScreen
from console.tui.screens.base import PageScreen
from console.tui.screens.dry_run import Back, DryRunScreen
from console.tui.screens.result import ResultScreen
from queries.contract.spec import Action
from queries.errors import DatabaseError
from queries.model import OPEN, DryRun, Node, Outcome, Record, Result
from queries.read.reader import Reader
from queries.safe_text import safe_text

if TYPE_CHECKING:
    from console.tui.everywhere import Everywhere


class Plan(Record):
    """An action and the nodes it is for; ``skipped`` are those that it cannot be for, each with the reason."""

    label: str
    action: Action
    key: str
    nodes: tuple[Node, ...]
    skipped: tuple[Result, ...] = ()

    @property
    def what(self) -> str:
        """``Wake SendEmail v2``, ``Wake 12 nodes``."""
        if len(self.nodes) == 1:
            return f"{self.action.title}: {self.nodes[0].title}"
        return f"{self.action.title}: {len(self.nodes)} nodes"


async def change(app: Everywhere, frame: PageScreen, plan: Plan) -> None:
    """Everything from the plan to the result sheet."""
    dry_run = await _agreed(app, plan)
    if dry_run is None:
        frame.say("Nothing was changed.", "faint")
        return
    try:
        work = app.session.carry_out(dry_run, app.renew)
    except DatabaseError as error:
        frame.say(str(error), "bad")
        return
    await app.push_screen_wait(ResultScreen(plan, work))
    frame.say(f"{plan.what}: {work.told}", "good" if set(work.counted()) == {Outcome.CHANGED} else "warn")
    frame.acted()
    app.session.refresh()


async def _agreed(app: Everywhere, plan: Plan) -> DryRun | None:
    """Ask and dry-run, as often as the operator goes back; what was agreed to in the end, None for nothing."""
    asked = await app.push_screen_wait(AskScreen(plan, _suggested(app, plan)))
    while asked is not None:
        answer = await app.push_screen_wait(DryRunScreen(plan, asked))
        if not isinstance(answer, Back):
            return answer
        asked = await app.push_screen_wait(AskScreen(plan, asked))
    return None


def _suggested(app: Everywhere, plan: Plan) -> ActionInput | None:
    """Return the arguments that a finding of the node gives for this action; None if it gives none."""
    if len(plan.nodes) != 1:
        return None
    found = app.session.findings_of(plan.nodes[0].id)
    given = next((f.arguments for f in found if f.action == plan.action.name and f.arguments), None)
    known = {name: value for name, value in (given or {}).items() if value != OPEN}
    return ActionInput(reason="", arguments=known) if known else None


def make_plan(reader: Reader | None, targets: Sequence[Node], key: str, names: set[str]) -> Plan | str:
    """What pressing an action's key means for these nodes; or, in a sentence, why it means nothing."""
    if reader is None or not targets:
        return f"{key} changes a node, and there is none under the cursor."
    by_kind: dict[str, Action] = {}
    for node in targets:
        found = next((v for v in reader.actions(node.kind) if v.name in names), None)
        if found is not None:
            by_kind.setdefault(node.kind, found)
    if not by_kind:
        kinds = " or a ".join(dict.fromkeys(node.kind for node in targets))
        return f"{key} ({', '.join(sorted(names))}) is not for a {kinds}."
    first = next(by_kind[node.kind] for node in targets if node.kind in by_kind)
    eligible: list[Node] = []
    skipped: list[Result] = []
    for node in targets:
        action = by_kind.get(node.kind)
        if action is None or action.name != first.name:
            why = f"{first.title} is not for a {node.kind}"
        else:
            available = reader.availability(action, node, bulk=len(targets) > 1)
            why = "" if available.ok else available.why
        if why:
            skipped.append(Result(id=node.id, outcome=Outcome.REFUSED, why=why))
        else:
            eligible.append(node)
    if not eligible:
        why, number = Counter(result.why for result in skipped).most_common(1)[0]
        of = f" ({number} of {len(targets)} nodes)" if len(targets) > 1 else ""
        return f"{first.title}: {safe_text(why)}{of}"
    kept = next(by_kind[node.kind] for node in eligible)
    return Plan(label=reader.label, action=kept, key=key, nodes=tuple(eligible), skipped=tuple(skipped))
