"""Lines of a redrive: its plan, its cohorts, its questions, its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.text import formatting
from console.text.spans import Spans
from console.text.views.action import certain
from console.text.views.lines import heading, section, stacked, table, wrapped
from console.text.views.row_diff import outcomes
from queries.change.plan import count_nodes
from queries.change.state import AskReason, Reason
from queries.records.action import Answer
from queries.records.run import RedrivePreview, RedriveReport

COLUMNS: dict[Answer, str] = {
    Answer.FINISHED: "finished",
    Answer.MOVED_ON: "moved on",
    Answer.ALIVE: "alive",
    Answer.SAME_DEATH: "same death",
    Answer.OTHER_DEATH: "other death",
    Answer.NO_ANSWER: "no answer",
    Answer.UNKNOWN: "unknown",
}
"""Heading of each answer."""
ALWAYS = (Answer.FINISHED, Answer.SAME_DEATH)
"""Answers whose number is shown even if it is 0."""

QUESTIONS: dict[str, str] = {
    AskReason.NO_ANSWER: "{n} of cohort {cohort} did not answer in time. Go on: wait as long again.",
    AskReason.UNKNOWN: "The outcome of {n} of cohort {cohort} is unknown, because they are gone or cancelled."
    " Go on: revive the next cohort all the same.",
    AskReason.OTHER_DEATHS: "{n} died of another error than before, which is more than the budget allows."
    " Go on: revive the next cohort all the same.",
}
STATES: dict[str, str] = {
    "running": "running",
    "open": "not ended",
    "asking": "waits for a decision",
    "unreadable": "cannot be read",
    Reason.DONE: "finished",
    Reason.BUDGET: "stopped: more died of the same error than the budget allows",
    Reason.STOPPED: "stopped by an operator",
}


def plan(preview: RedrivePreview, cells: int) -> list[Spans]:
    """Return the cohorts, and when the redrive stops."""
    sizes = ", ".join(map(str, preview.cohorts))
    text = (
        f"{count_nodes(preview.nodes, preview.dry_run.versions)} in cohorts of {sizes}, the oldest first. It stops if"
        f" more than {preview.budget} die of the same error, and asks if a cohort does not answer within"
        f" {formatting.age(preview.wait)}."
    )
    pace = f" At most {preview.pace} are revived." if preview.pace else ""
    return [heading("Redrive", preview.selection), *wrapped(text + pace, cells)]


def question(report: RedriveReport) -> str:
    """Return what the operator must decide; "" if nothing."""
    if not report.question:
        return ""
    cohort = sum(1 for each in report.cohorts if each.revived or each.skipped)
    nodes = count_nodes(len(report.asked_ids), report.asked_ids)
    return QUESTIONS[report.question].format(n=nodes, cohort=cohort)


def answers(counts: Mapping[Answer, int]) -> str:
    """Return answers on one line: ``3 finished, 1 same death``."""
    return ", ".join(f"{counts[answer]} {name}" for answer, name in COLUMNS.items() if counts.get(answer))


def line(report: RedriveReport) -> str:
    """Return the present cohort on one line."""
    begun = [each for each in report.cohorts if each.revived or each.skipped]
    if not begun:
        return f"Cohort 1 of {len(report.cohorts)}: none revived yet"
    last = begun[-1]
    skipped = f", {last.skipped} skipped" if last.skipped else ""
    said = answers(last.answers)
    return f"Cohort {len(begun)} of {len(report.cohorts)}: {last.revived} revived{skipped}" + (
        f": {said}" if said else ""
    )


def cohorts(report: RedriveReport, cells: int) -> list[Spans]:
    """Return the cohorts as rows, and as columns the answers that were given."""
    shown = [a for a in COLUMNS if a in ALWAYS or any(each.answers.get(a) for each in report.cohorts)]
    last = ["skipped"] if any(each.skipped for each in report.cohorts) else []
    rows: list[Sequence[object]] = []
    for number, each in enumerate(report.cohorts, 1):
        counts = [each.answers.get(answer, 0) if each.revived else "" for answer in shown]
        rows.append([number, each.size, each.revived or "", *counts, *([each.skipped or ""] if last else [])])
    return table(["cohort", "size", "revived", *(COLUMNS[answer] for answer in shown), *last], rows, cells)


def report_lines(report: RedriveReport, cells: int, *, limit: int = 20, titled: bool = True) -> list[Spans]:
    """Return the state of a redrive: cohorts, question or end, skipped nodes.

    ``titled``: with its name above.
    """
    state = wrapped(f"{STATES[report.state]}; {report.revived} of {report.nodes} revived", cells, "bold")
    asked, sure = question(report), certain(report.durability, report.durable)
    return stacked(
        section(f"Redrive {report.run}", state, f"{report.action} {report.selection}") if titled else state,
        cohorts(report, cells),
        [*(wrapped(asked, cells, "$warning") if asked else []), *(wrapped(sure, cells) if sure else [])],
        section("Skipped", outcomes(report.skipped, cells, limit=limit)),
    )
