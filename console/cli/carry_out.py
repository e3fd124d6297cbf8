"""Carry out a change: show its dry run, ask, do it, report the outcomes.

All commands that change rows do this, with the same write path as the console. A `Course` has what differs between a
plain change (`plain_change.py`) and a redrive (`redrive.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Concatenate, ParamSpec

import click

from console.cli import prompts
from console.cli.exit_codes import EMPTY, FAILED, INTERRUPTED, SKIPPED, UNKNOWN
from console.cli.output import output_for, say
from console.interrupts import signals_call
from console.target import Target
from console.text.spans import UNLIMITED, Make, Spans
from console.text.views.action import STANDBY_WAIT, dry_run_lines
from console.text.views.lines import stacked
from console.text.views.summary import summary
from queries.change.loop import Loop
from queries.change.plan import Plan
from queries.change.state import Do
from queries.contract.server_spec import LABEL
from queries.contract.spec import Action
from queries.db.connecting import OUTAGE_SECONDS
from queries.db.database import FORBIDDEN
from queries.db.errors import BALANCED, NO_CONNECTION, STANDBY, UNCHANGED, DatabaseError
from queries.log.audit_log import InDoubtError
from queries.records.action import Change, Outcome, Result, Risk
from queries.records.record import Record
from queries.text.duration import spelled
from queries.workspace import Workspace

WAITING = "Interrupted: waiting for the outcome of what is under way ..."
STANDBY_POLL_SECONDS = 0.5  # between two polls of a COMMIT that may wait for a standby
P = ParamSpec("P")
Changing = Callable[Concatenate[Target, P], Coroutine[Any, Any, int]]
"""A command that changes rows."""
Begin = Callable[[], Awaitable[Loop]]
BEGUN: ContextVar[bool] = ContextVar("BEGUN", default=False)
"""True once something may be committed, which the command itself reports."""


class Consent(Record):
    """Options with which the operator agrees to a change.

    ``preview``: only a dry run. ``rows``: show it whole, not only its summary. ``confirm``: the name of a production
    context, or of tables that lose rows.
    """

    reason: str | None = None
    preview: bool = False
    rows: bool = False
    yes: bool = False
    confirm: str | None = None

    @classmethod
    def taken(cls, settings: dict[str, Any]) -> Consent:
        """Return the consent among the options of a command, without which they remain."""
        return cls(**{name: settings.pop(name) for name in cls.__struct_fields__})

    @property
    def given(self) -> bool:
        """True if the operator has agreed with an option, and is not asked."""
        return self.yes or self.confirm is not None

    @property
    def measures(self) -> bool:
        """True if the dry run is for the operator, and measures the blast radius."""
        return self.preview or not self.yes

    @property
    def said(self) -> str:
        """The reason for the audit log. Raises UsageError without one."""
        if not (self.reason or "").strip():
            raise click.UsageError("--reason is required (audit log).")
        return str(self.reason)


class Report(Record):
    """A dry run, or the outcomes of a change so far.

    ``record``: as JSON. ``lines``: as text. ``results``: of the nodes, or of those that were skipped. ``question``:
    what only the operator can decide. ``notes``: how it can be undone or continued. ``open``: other nodes follow if it
    is continued. ``code`` None: that of the results.
    """

    record: Record
    lines: Make
    results: Sequence[Result]
    question: str = ""
    notes: Sequence[str] = ()
    open: bool = False
    code: int | None = None


class Course(Record):
    """Difference between a plain change and a redrive.

    ``actions``: the action for each kind of the nodes. ``dry_run``: of what is changed first, and ``preview``: the same
    as it is printed; None: it was confirmed when the run began. ``more``: what the confirmation is also about.
    ``possible`` False: no node can be changed. ``line``: the step on one line, or "". ``report``: the
    outcomes; its last argument is True if the server did not return in time.
    """

    actions: Sequence[Action]
    begin: Begin
    line: Callable[[Loop], str]
    report: Callable[[Loop, bool], Report]
    dry_run: Change | None = None
    preview: Report | None = None
    more: str = ""
    possible: bool = True


class EmptyError(click.ClickException):
    """A selection without nodes."""

    exit_code = EMPTY


def changing(command: Changing[P]) -> Changing[P]:
    """Say that nothing was changed after a failure, or Ctrl-C before a change.

    `carry_out` reports what was.
    """

    @functools.wraps(command)
    async def saying(target: Target, /, *words: P.args, **options: P.kwargs) -> int:
        try:
            return await command(target, *words, **options)
        except EmptyError as error:
            _answer_unchanged(target, error.message.replace("\n", " "))
            raise
        except InDoubtError as error:
            say(*str(error).splitlines())
            return UNKNOWN
        except DatabaseError as error:
            _answer_unchanged(target, error.unchanged_line)
            if UNCHANGED not in str(error):
                first, _, help_ = str(error).partition("\n")
                error.args = ("\n".join((first, f"{help_} {UNCHANGED}".strip())),)
            raise
        except (asyncio.CancelledError, KeyboardInterrupt):
            if BEGUN.get():
                raise
            _answer_unchanged(target, f"Interrupted. {UNCHANGED}")
            say(f"Interrupted. {UNCHANGED}")
            return INTERRUPTED

    return saying


def _answer_unchanged(target: Target, why: str) -> None:
    if target.json:
        output_for(target).answer(Change(results=(), error=why), tuple)


async def carry_out(target: Target, workspace: Workspace, course: Course, consent: Consent) -> int:
    """Show a dry run, ask, do the change, and report. Return the exit code."""
    if consent.preview:
        assert course.preview is not None, "a run that goes on has none"
        return printed(target, course.preview)
    if course.possible and not _confirmed(target, workspace, course, consent):
        _answer_unchanged(target, f"You did not agree. {UNCHANGED}")
        say(UNCHANGED)
        return FAILED
    loop = await _begun(course)
    standby, given_up, failed = asyncio.ensure_future(_standby_wait(workspace)), False, False
    try:
        await _follow(course, loop, consent)
    except NO_CONNECTION as error:
        waited = "" if loop.run is None or loop.stopped else f" for {spelled(OUTAGE_SECONDS)}"
        say(f"The server was unreachable{waited}. {error.line}")
        given_up = True
    except DatabaseError as error:  # another console continues the run, for example
        results = (*loop.state.results.values(), *loop.unfinished())
        if not any(result.outcome in (Outcome.CHANGED, Outcome.UNKNOWN) for result in results):
            raise
        say(str(error).partition("\n")[0])  # the rest says that nothing was changed
        failed = True
    finally:
        standby.cancel()
    report = course.report(loop, given_up)
    code = printed(target, report)
    return FAILED if failed else INTERRUPTED if report.open and loop.left else code


def printed(target: Target, report: Report) -> int:
    """Print a report, and what to do next. Return its exit code."""
    output_for(target).text(report.record, report.lines)
    say(*filter(None, [report.question]), *report.notes, *_instead(target, report.results))
    return exit_code(report.results) if report.code is None else report.code


def dry_run_text(
    target: Target, workspace: Workspace, dry_run: Change, plan: Plan, cells: int, *, rows: bool
) -> list[Spans]:
    """Return the summary of a dry run and its rest. ``rows``: with all of them."""
    reader, production = workspace.engines.get(plan.label), target.production(workspace)
    spec = reader.engine.spec if reader else None
    first = summary(
        dry_run,
        plan,
        spec,
        cells,
        where=target.where(workspace.server).text,
        production=production,
        skipped=plan.skipped,
    )
    most, actions = UNLIMITED if rows else 0, list(plan.actions.values())
    rest = dry_run_lines(dry_run, actions, plan.skipped, cells, limit=most, skipped_limit=most, rows_key="--rows")
    return stacked(first, rest)


def _instead(target: Target, results: Sequence[Result]) -> Iterator[str]:
    """Say where the operator finds what to do with a node that is refused itself."""
    own = (r for r in results if r.outcome is Outcome.REFUSED and r.why not in (STANDBY, BALANCED, FORBIDDEN))
    refused = next((r.id for r in own if not r.id.startswith(f"{LABEL}/")), None)
    if refused is not None:
        yield f"Refused: `{target.command('show', refused)}` says what can be done instead, if anything must be."


def _confirmed(target: Target, workspace: Workspace, course: Course, consent: Consent) -> bool:
    """Show the dry run and ask for a confirmation that fits the risk.

    Raises UsageError.
    """
    dry_run = course.dry_run
    if dry_run is None:
        return _accepted_risk(target, workspace, course.actions, course.more, consent)
    if not target.json and course.preview is not None:
        output_for(target).show(course.preview.lines)
    say(*filter(None, [workspace.other_hosts.warning]))
    place = target.where(workspace.server).text
    if (production := target.production(workspace)) not in ("", target.name):
        place += f", which is the production server of the context {production}"
    later = len(dry_run.versions.keys() - {result.id for result in dry_run.results})  # not in the dry run
    number = sum(result.outcome is Outcome.CHANGED for result in dry_run.results) + later
    total = len(dry_run.results) + later
    question = f"{course.actions[0].title}: {number} of {total} nodes in {place}.{course.more}"
    tables = ",".join(other.table for other in dry_run.removed)
    if tables:
        lost = "; ".join(f"{other.words} of {other.table}" for other in dry_run.removed)
        question += f" It would also have {lost}, which do not come back."
    return _accepted_risk(target, workspace, course.actions, question, consent, tables)


def _accepted_risk(
    target: Target, workspace: Workspace, actions: Sequence[Action], question: str, consent: Consent, tables: str = ""
) -> bool:
    """Ask for what the risk of the actions requires, unless it was given.

    ``tables``: those that lose rows. Raises UsageError.
    """
    destroys = any(action.risk is Risk.HIGH or action.confirm == "typed" for action in actions)
    context = target.production(workspace) if tables or destroys else ""
    expected = ",".join(filter(None, (context, tables)))
    if not expected:
        return consent.given or prompts.agreed(f"{question} Continue?")
    if consent.confirm == expected:
        return True
    if consent.confirm is not None or (tables and consent.yes) or not prompts.possible():
        raise click.UsageError(f"{question} Give --confirm {expected}. Nothing was changed.")
    return prompts.typed(question, expected, f"--confirm {expected}")


@contextlib.contextmanager
def to_the_outcome() -> Iterator[asyncio.Event]:
    """Let Ctrl-C wait for the outcome of what may be committed. Yield whether it came."""
    BEGUN.set(True)
    interrupted = asyncio.Event()

    def wait() -> None:
        interrupted.set()
        say(WAITING)

    with signals_call(wait):
        yield interrupted


async def _begun(course: Course) -> Loop:
    with to_the_outcome() as interrupted:
        loop = await course.begin()
    if interrupted.is_set():
        loop.leave()
    return loop


async def _follow(course: Course, loop: Loop, consent: Consent) -> None:
    """Do the steps and say each.

    It ends with the change, at a question without a terminal, or with Ctrl-C. Ctrl-C and SIGTERM leave the run open,
    once the outcome of what is under way is known. Raises DatabaseError.
    """
    said, agreed = "", consent.yes and course.dry_run is None  # the first question is answered with "go on"

    def interrupted() -> None:
        loop.leave()
        say(WAITING)

    with signals_call(interrupted):
        async with contextlib.aclosing(loop.steps()) as steps:
            async for step in steps:
                if step.do is Do.PAUSE:
                    so_far = sum(result.outcome is Outcome.CHANGED for result in loop.state.results.values())
                    text = f"Server lost, retrying in {spelled(step.seconds)}. Changed so far: {so_far}. Ctrl-C stops."
                    text = f"{text} {loop.error_text}"
                else:
                    text = course.line(loop)
                if text and text != said:
                    say(said := text)
                if step.do is not Do.ASK or loop.left:
                    continue
                if not agreed and (consent.yes or not prompts.possible()):
                    break
                question = course.report(loop, False).question
                try:
                    agreed = agreed or prompts.agreed(f"{question} Go on? Otherwise the redrive ends.")
                except KeyboardInterrupt:
                    loop.leave()
                    break
                if agreed:
                    loop.agree(step)
                else:
                    loop.stop()
                agreed = False


async def _standby_wait(workspace: Workspace) -> None:
    """Say once for which standby a COMMIT waits."""
    standbys = ""
    while not standbys or standbys != workspace.awaited_standbys:
        standbys = workspace.awaited_standbys
        await asyncio.sleep(STANDBY_POLL_SECONDS)
    say(f"{STANDBY_WAIT.format(standbys=standbys)}. If unstick is ended now, `unstick audit` settles the outcome.")


def exit_code(results: Sequence[Result]) -> int:
    """Return the exit code for the worst outcome."""
    outcomes = {result.outcome for result in results}
    if Outcome.UNKNOWN in outcomes:
        return UNKNOWN
    return SKIPPED if outcomes - {Outcome.CHANGED} else 0
