"""Begin a run, continue it, and end it."""

from __future__ import annotations

import msgspec

from queries.actions import parts
from queries.actions.plan import plan_versions
from queries.actions.storable import check_storable
from queries.contract.server_spec import LABEL
from queries.db.errors import DatabaseError, attempted
from queries.records.action import DryRun, Outcome, Outcomes
from queries.records.run import BULK, Member, RunDetail
from queries.runs import redrive_plan
from queries.runs import run as runs
from queries.runs.all_at_once import AllAtOnce
from queries.runs.cohorts import Redrive
from queries.runs.run import Beginning, Run, RunPlan
from queries.runs.runner import Decisions, Runner
from queries.runs.steps import Ask, Changed
from queries.runs.total import Total
from queries.runs.world import ChangeWorld, RedriveWorld, RunLog
from queries.workspace import Workspace
from queries.write import audit_log
from queries.write.run_log import ListedRun


async def commit(workspace: Workspace, dry_run: DryRun, operator: audit_log.Operator) -> Outcomes:
    """Commit what was dry-run, guarded by what was seen.

    Raises no error for what may have been committed.
    """
    dry_run = msgspec.structs.replace(dry_run, wait=0.0)
    _, runner = await start(workspace, dry_run, operator, Decisions())
    await runner.run()
    return runner.total.outcomes()


async def start(
    workspace: Workspace,
    dry_run: DryRun,
    operator: audit_log.Operator,
    decisions: Decisions,
    before: Outcomes | None = None,
) -> tuple[Run | None, Runner]:
    """Return the runner that commits what was dry-run, one transaction for each part.

    Nodes that the dry run skipped are skipped, because the operator did not see what would change. If the action's
    nodes are independent, two parts may run at the same time. More nodes than one transaction may have are a run: its
    beginning is written now, a lost server is waited for, and it can be continued. Nodes that an executor was running
    are waited for at the end, at most ``dry_run.wait`` seconds. ``before``: earlier outcomes, which its total has too.
    Raises DatabaseError.
    """
    check_storable(dry_run.reason, dry_run.arguments)
    versions = _wanted(dry_run)
    run = None
    if dry_run.engine != LABEL and len(versions) > parts.PART_NODES:
        plan = RunPlan(
            label=dry_run.engine,
            schema=workspace.engines[dry_run.engine].detected.schema,
            reason=dry_run.reason,
            members=tuple(Member(id=i, version=v, title=dry_run.titles.get(i, "")) for i, v in versions.items()),
            beginning=Beginning(kind=BULK, action=dry_run.action, nodes=len(versions), arguments=dry_run.arguments),
        )
        run = await runs.begin(workspace, plan, operator)
    return run, _runner(workspace, dry_run, operator, decisions, run, before)


def proceed(
    workspace: Workspace,
    run: Run,
    decisions: Decisions,
    dry_run: DryRun | None = None,
    operator: audit_log.Operator | None = None,
) -> Runner:
    """Return the runner that continues a run as its policy says.

    ``dry_run``: of the nodes of a bulk without an outcome. A redrive dry-runs each cohort itself.
    """
    plan = run.plan
    if plan.is_redrive:
        world = RedriveWorld(workspace, run, decisions)
        return Runner(world, plan.redrive, decisions, fresh=run.fresh)
    return _runner(workspace, dry_run or _unseen(workspace, plan), operator or audit_log.operator(), decisions, run)


async def stop(workspace: Workspace, run: Run) -> Runner:
    """End a run.

    Another console that continues it begins no further change. Raises DatabaseError.
    """
    decisions = Decisions()
    decisions.stop()
    ending = proceed(workspace, run, decisions)
    await ending.run()
    return ending


def _unseen(workspace: Workspace, plan: RunPlan) -> DryRun:
    """Return the nodes of a run as a dry run that was not made."""
    return DryRun(
        engine=plan.label,
        action=plan.action,
        reason=plan.reason,
        arguments=plan.beginning.arguments,
        results=(),
        changes=(),
        versions={member.id: member.version for member in plan.members},
        row_digests={},
        at=0.0,
        audit_log=workspace.audit_log.place,
        titles={member.id: member.title for member in plan.members if member.title},
    )


async def look(workspace: Workspace, run: Run, *, settled: bool = False) -> RunDetail:
    """Return a run with its outcomes so far, and of a redrive what its nodes do now.

    Continues nothing. ``settled``: once no transaction of it is running. Raises DatabaseError.
    """
    plan, reader = run.plan, workspace.named(run.plan.label)
    policy = plan.redrive() if plan.is_redrive else AllAtOnce([tuple(plan.ids)])
    total, step, unread = Total(), None, ""
    entries = await (run.log.entries(guarded=False) if settled else run.log.entries_so_far())
    for entry in entries:
        event = runs.event_of(reader, entry, workspace.audit_log.place)
        if event is not None:
            policy.apply(event)
        if isinstance(event, Changed):
            total.add(event.outcomes)
    if isinstance(policy, Redrive) and policy.ended is None:
        at = await workspace.now()
        answers = await attempted(redrive_plan.read_answers(reader, plan, set(policy.watched())))
        if isinstance(answers, DatabaseError):
            unread = answers.line
        else:
            policy.observe(answers)
            step = policy.step(at)
    row = ListedRun(
        begun=msgspec.structs.replace(run.begun, engine=plan.label),
        changed=policy.changed,
        last_at=max((entry.at for entry in entries), default=run.begun.at),
        ended=None if policy.ended is None else msgspec.to_builtins(policy.ended),
        place=run.log.place,
    )
    return RunDetail(
        run=runs.summary(row),
        results=tuple(total.results),
        pending=tuple(policy.pending()),
        # An end that a look comes to is not recorded, so it is none.
        report=redrive_plan.report(run, policy, step if isinstance(step, Ask) else None)
        if isinstance(policy, Redrive)
        else None,
        unread=unread,
    )


def _wanted(dry_run: DryRun) -> dict[str, str]:
    """Return the nodes that the dry run would change, or that the operator waits for."""
    held = dry_run.for_now if dry_run.wait > 0 else ()
    skipped = {r.id for r in dry_run.results if r.outcome is not Outcome.CHANGED}.difference(held)
    if not skipped:
        return dry_run.versions
    return {i: version for i, version in dry_run.versions.items() if i not in skipped}


def _runner(
    workspace: Workspace,
    dry_run: DryRun,
    operator: audit_log.Operator,
    decisions: Decisions,
    run: Run | None,
    before: Outcomes | None = None,
) -> Runner:
    versions = _wanted(dry_run)
    why = {r.id: r.why for r in dry_run.results}
    held = {i: why[i] for i in dry_run.for_now if i in versions} if dry_run.wait > 0 else {}
    now = {i: version for i, version in versions.items() if i not in held} if held else versions
    free = msgspec.structs.replace(dry_run, versions=now)
    independent = False
    if dry_run.engine == LABEL:
        split = [tuple(now)] if now else []
    else:
        kinds = {node_id.partition(":")[0]: node_id for node_id in versions}
        plan = plan_versions(workspace, dry_run.engine, dry_run.action, dict.fromkeys(kinds.values(), ""))
        independent = parts.are_independent(plan)
        split = list(parts.split(free))
    skipped = tuple(r for r in dry_run.results if r.id in dry_run.versions and r.id not in versions)
    before = before or Outcomes(results=())
    world = ChangeWorld(
        workspace,
        msgspec.structs.replace(dry_run, versions=versions),
        operator,
        decisions,
        None if run is None else RunLog(workspace, run, operator),
        independent=independent,
    )
    return Runner(
        world,
        lambda: AllAtOnce(split, held, dry_run.wait),
        decisions,
        fresh=run is None or run.fresh,
        before=msgspec.structs.replace(before, results=(*before.results, *skipped)),
    )
