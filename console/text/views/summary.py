"""First lines of a change, which decide: where, how many, what runs twice, what changes, what is skipped.

The dialog and the commands show them. Rows, SQL and blast radius are shown on request.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.text.spans import Spans
from console.text.views.change_summary import head, titles
from queries.actions.plan import Plan, count_nodes
from queries.contract.spec import EngineSpec
from queries.records.action import DryRun, Result


def summary(
    dry_run: DryRun,
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
    the database as the operator named it (`Target.where`). ``production``: the context that makes it a production
    server. ``skipped``: nodes that are not in the plan.
    """
    whom = titles(plan.versions, plan.titles)
    return [
        [(where, "bold"), *([(f"  PRODUCTION ({production})", "bold $error")] if production else [])],
        head([(count_nodes(len(plan.versions), plan.versions), "bold")], whom, [], cells),
    ]
