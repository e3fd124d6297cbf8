"""First lines of a change, by which the operator decides.

They say where it is, how many nodes change, what runs twice, what changes, and what is skipped. The dialog and the
commands show them. `dry_run_lines` has the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from console.text import formatting
from console.text.spans import Spans
from console.text.views.lines import plain, titles, wrapped
from console.text.views.row_diff import outcomes
from queries.change.blast_radius import NODES_MEASURED
from queries.change.plan import UNDO, Plan, count_nodes
from queries.contract.spec import EngineSpec
from queries.records.action import Change, Outcome, Result, RowChange, Undo
from queries.records.node import Phase, Precision, split_id
from queries.text.counted import counted, noun_of

COLUMNS_SHOWN = 3  # differing columns of a table
KINDS_SHOWN = 8  # titles of nodes, equal ones counted
SKIPPED_LINES = 12  # about what is skipped
IDS_SHOWN = 3  # ids of skipped nodes
COLUMN_CELLS = 60  # of a column with the values that rows have in common
TAKEN = frozenset((Phase.READY, Phase.RUNNING, Phase.SCHEDULED))  # a worker takes the node by itself
LIVE = TAKEN | {Phase.BLOCKED, Phase.HELD}


def summary(
    dry_run: Change,
    plan: Plan,
    engine: EngineSpec | None,
    cells: int,
    *,
    where: str,
    production: str = "",
    skipped: Sequence[Result] = (),
) -> list[Spans]:
    """Return the first lines of a change.

    ``plan``: of all nodes, also of those that were not dry-run. ``engine``: None for sessions of the server. ``where``:
    the database as the operator named it. ``production``: the context that makes it a production server. ``skipped``:
    nodes that are not in the plan.
    """
    steps = Steps(plan.label, engine, dry_run.changes)
    least = steps.add_nodes(dry_run, plan)
    facts = (", ".join(steps.parts(least)), _undo(steps, dry_run, plan), _waits(dry_run))
    lines = wrapped(where, cells, "bold", 0)
    lines += wrapped(f"PRODUCTION, by the context {production}", cells, "bold $error", 0) if production else []
    lines += wrapped(f"Undoes: {dry_run.undoes}", cells, "bold", 0) if dry_run.undoes else []
    lines += wrapped(_how_many(dry_run, plan), cells, "bold", 0)
    lines += [line for text in _again(steps, dry_run, plan) for line in wrapped(text, cells, "bold $error", 0)]
    lines += [line for text in dry_run.in_runs for line in wrapped(text, cells, "bold $error", 0)]
    lines += wrapped("; ".join(filter(None, facts)), cells, "", 0) if any(facts) else []
    if out := [*(result for result in dry_run.results if result.outcome is not Outcome.CHANGED), *skipped]:
        groups = outcomes(out, cells, limit=IDS_SHOWN)
        lines += [plain(f"Skipped: {len(out)}", "$warning", 0), *groups[:SKIPPED_LINES]]
        lines += [plain("… and other reasons", "$faint")] if len(groups) > SKIPPED_LINES else []
    for other in dry_run.others:
        cause = f" ({other.cause})" if other.cause else ""
        text = f"Also {other.words} of {other.table}{cause}, which an undo does not restore"
        lines += wrapped(text, cells, "bold $error" if other.deleted else "$warning", 0)
    for names, number in Counter(dry_run.unmet.values()).most_common(SKIPPED_LINES):
        whom = "it" if number == len(dry_run.nodes) == 1 else f"{number:,} of them"
        lines += wrapped(f"Afterwards no worker takes {whom}. What still fails: {names}", cells, "$warning", 0)
    if dry_run.uncounted:
        why = "Not known: track_counts is off, so the server does not count what triggers and foreign keys write."
        lines += wrapped(why, cells, "$warning", 0)
    return lines


class Steps:
    """Nodes of a change with their status before and after, and the other rows.

    ``nodes``: the status "" is not known, or that of a deleted row. ``rest``: rows without a change of status.
    ``read``: nodes whose status the rows tell.
    """

    def __init__(self, label: str, engine: EngineSpec | None, changes: Iterable[RowChange]) -> None:
        self.nodes: dict[str, tuple[str, str]] = {}
        self.rest: list[RowChange] = []
        self.read: set[str] = set()
        self.worker = (
            "the " + " or the ".join(each.title for each in engine.workers) if engine and engine.workers else "a worker"
        )
        self._label = label
        self._phases: dict[str, set[Phase]] = {}
        for status in engine.statuses if engine else ():
            self._phases.setdefault(status.native, set()).add(status.phase)
        tables = Counter(kind.table for kind in engine.kinds) if engine else Counter[str]()
        self._kinds = {kind.table: kind for kind in engine.kinds if tables[kind.table] == 1} if engine else {}
        for change in changes:
            self._add(change.read())

    def _add(self, change: RowChange) -> None:
        kind, was, now = self._kinds.get(change.table), change.before, change.after
        if kind is None or was is None:
            self.rest.append(change)
            return
        column = kind.columns.get("status", "status")
        names = (column,) if now is None else (*change.columns, column)
        pairs = ((self._native(was, name), self._native(now, name)) for name in names)
        old, new = next((pair for pair in pairs if pair[0] and (pair[1] or now is None)), ("", ""))
        node_id = f"{self._label}/{kind.name}:{change.key}"
        if new or now is None:
            self.nodes[node_id] = old, new
            self.read |= {node_id, change.id} if new else {node_id}
        if now is not None and old == new:
            self.rest.append(change)

    def _native(self, row: dict[str, Any] | None, column: str) -> str:
        value = (row or {}).get(column)
        return value if isinstance(value, str) and value in self._phases else ""

    def add_nodes(self, dry_run: Change, plan: Plan) -> str:
        """Add nodes whose rows tell no status, with the measured phase after the change.

        Return "at least " if only some were measured.
        """
        reached = () if dry_run.blast_radius is None else dry_run.blast_radius.reached
        becomes = {i: reach.what for reach in reached if reach.code == "becomes" for i in reach.ids}
        own = [n for n in plan.nodes if n.id in dry_run.nodes and n.id not in self.read and n.id in becomes]
        self.nodes |= {n.id: (n.status or n.phase, becomes[n.id]) for n in own}
        return "at least " if own and len(dry_run.nodes) > NODES_MEASURED else ""

    def phases(self, status: str) -> set[Phase]:
        """Return the phases of a native status, or of the word for a phase."""
        return self._phases.get(status) or ({Phase(status)} if status in tuple(Phase) else set())

    def parts(self, least: str = "") -> Iterator[str]:
        """Yield how nodes and rows change: statuses, deleted nodes, other rows."""
        deleted: dict[str, Counter[str]] = {}
        counts = Counter((split_id(i)[1], was, now) for i, (was, now) in self.nodes.items() if was != now or not now)
        for (kind, was, now), number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            if now:
                yield f"{least}{counted(number, noun_of(kind))} {was} → {now}"
            else:
                deleted.setdefault(kind, Counter())[was] += number
        for kind, statuses in deleted.items():
            words = ", ".join(f"{number} {was}" for was, number in statuses.items() if was)
            yield f"{counted(statuses.total(), noun_of(kind))} deleted{f' ({words})' if words else ''}"
        alike: dict[tuple[str, str], list[RowChange]] = {}
        for row in self.rest:
            what = "inserted" if row.before is None else "deleted" if row.after is None else "changed"
            alike.setdefault((what, row.table), []).append(row)
        for (what, table), rows in sorted(alike.items()):
            of = self._kinds.get(table)
            them = counted(len(rows), noun_of(of.name)) if of else f"{counted(len(rows), 'row')} of {table}"
            yield f"{them} {what}{f' ({_columns(rows)})' if what == 'changed' else ''}"


def _how_many(dry_run: Change, plan: Plan) -> str:
    """Return the number of all nodes that a commit changes, and their kinds."""
    skipped = {result.id for result in dry_run.results if result.outcome is not Outcome.CHANGED}
    will = [id_ for id_ in plan.versions if id_ not in skipped]
    seen = _seen(dry_run, plan)
    first = f"the first {seen} {'was' if seen == 1 else 'were'} dry-run" if seen < len(plan.versions) else ""
    most, total = "up to " if first and skipped else "", len(plan.versions)
    whole = "" if len(will) == total else f" of {total}"
    kinds = titles(will, plan.titles, KINDS_SHOWN)
    text = f"Will change {most}{count_nodes(len(will), plan.versions)}{whole}{': ' if kinds else ''}{kinds}"
    return "; ".join(filter(None, (text, first)))


def _seen(dry_run: Change, plan: Plan) -> int:
    return sum(result.id in plan.versions for result in dry_run.results)


def _again(steps: Steps, dry_run: Change, plan: Plan) -> Iterator[str]:
    """Yield the work that is done and would run again, as far as that is known."""
    restarts, radius = plan.name == "restart", dry_run.blast_radius
    moved = {i: pair for i, pair in steps.nodes.items() if restarts or (pair[1] and pair[0] != pair[1])}
    again = {i: was for i, (was, now) in moved.items() if not now or steps.phases(now) & LIVE}
    done = {i: was for i, was in again.items() if steps.phases(was) == {Phase.DONE}}
    if done and plan.name != UNDO.name:  # what an undo takes back was done by an operator
        by_id = {**(radius.titles if radius is not None else {}), **plan.titles}
        who = f"{len(done)} of {count_nodes(len(again), again)}"
        if len(done) == len(again):
            who = f"{'all ' if len(done) > 1 else ''}{count_nodes(len(done), done)}"
        words, names = " or ".join(dict.fromkeys(done.values())), titles(done, by_id, KINDS_SHOWN)
        seen, are = _seen(dry_run, plan), "is" if len(done) == 1 else "are"
        text = f"of the first {seen}, {who}" if seen < len(plan.versions) else who
        yield f"{text[0].upper()}{text[1:]} {are} {words} and may run again{': ' if names else ''}{names}"
    reached = () if radius is None or not restarts else radius.reached
    below = [i for reach in reached if reach.code == "descendant" for i in reach.ids if i not in steps.nodes]
    if below:
        yield f"What {count_nodes(len(below), below)} below did may run again; how much is done is not known"


def _undo(steps: Steps, dry_run: Change, plan: Plan) -> str:
    """Return the end of the time in which an undo works, or why none does."""
    if not (changed := sorted(dry_run.nodes)):
        return ""
    whys = Counter(dry_run.irreversible[i] for i in changed if i in dry_run.irreversible)
    undoable = any(action.undo not in (Undo.NONE, None) for action in plan.actions.values())
    if not undoable or whys.total() == len(changed):
        return f"cannot be undone{''.join(f': {why}' for why, _ in whys.most_common(1))}"
    some = "".join(f"; {count_nodes(n, changed)} cannot be undone: {why}" for why, n in whys.most_common(3))
    if not any(steps.phases(now) & TAKEN for _, now in steps.nodes.values()):
        return f"can be undone{some}"
    return f"can be undone until {steps.worker} takes {'it' if len(changed) == 1 else 'them'}{some}"


def _waits(dry_run: Change) -> str:
    """Return the nodes that wait for the changed ones, as far as they were measured."""
    radius, number = dry_run.blast_radius, len(dry_run.nodes)
    if radius is None or not number:
        return ""
    whom = "it" if number == 1 else "them" if number <= NODES_MEASURED else f"the first {NODES_MEASURED}"
    reach = next((each for each in radius.reached if each.code == "waiter"), None)
    if reach is None:
        return f"nothing waits for {whom}"
    if reach.n is None:
        return f"who waits for {whom} is not known"
    least = "at least " if reach.precision is Precision.CAPPED else ""
    return f"{least}{count_nodes(reach.n, reach.ids)} {'waits' if reach.n == 1 else 'wait'} for {whom}"


def _columns(rows: Sequence[RowChange]) -> str:
    """Return the differing columns, first those that all rows change alike."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for name in row.columns:
            old, new = (formatting.scalar((side or {}).get(name)) for side in (row.before, row.after))
            values.setdefault(name, set()).add(f"{name} {old} → {new}")
    alike = {name: min(texts) for name, texts in values.items() if len(texts) == 1 and len(min(texts)) <= COLUMN_CELLS}
    shown = [*alike.values(), *(name for name in values if name not in alike)]
    more = [f"{len(shown) - COLUMNS_SHOWN} more"] if len(shown) > COLUMNS_SHOWN else []
    return ", ".join(shown[:COLUMNS_SHOWN] + more)
