"""Lines about what workers would take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from console.text import formatting
from console.text.spans import Spans
from console.text.views.lines import Cell, aligned, heading, plain, stacked, wrapped
from queries.claim.answers import Condition, Funnel, QueueFunnel, Why
from queries.read.holders import Holder
from queries.read.sentence import in_text
from queries.text.duration import spelled

STYLES = {True: "$success", False: "$error", None: "$warning"}  # of a condition that holds, fails, is not known


def lines(
    nodes: Sequence[Why], behind: Sequence[Holder], engines: Mapping[str, Sequence[Funnel]], cells: int, at: float
) -> list[Spans]:
    """Return the conditions of nodes, their holders, and the funnels of engines.

    ``at``: the server's time.
    """
    funnels = [list(_funnel(label, each, at)) for label, some in engines.items() for each in some]
    return stacked(*(list(_why(each, cells, at)) for each in nodes), list(_holders(behind, cells)), *funnels)


def _why(why: Why, cells: int, at: float) -> Iterator[Spans]:
    yield heading(why.node_id)
    yield from aligned([["", *_condition(each)] for each in why.conditions])
    yield from wrapped(_verdict(why, at), cells)


def _holders(behind: Sequence[Holder], cells: int) -> Iterator[Spans]:
    for each in behind:
        yield heading(f"{each.node_id} keeps {each.waiter} waiting: {each.condition}")
        for text in (f"{found.title}: {found.sentence}" for found in each.findings):
            yield from wrapped(text, cells)
        if not each.findings:
            yield plain(f"No problem of it was found{' by the checks that ran' if each.skipped_findings else ''}.")
        for _, text in formatting.by_reason(each.skipped_findings):
            yield from wrapped(f"Not checked: {text}", cells, "$warning")


def _condition(each: Condition) -> list[Cell]:
    return [[(each.mark, STYLES[each.holds])], [(each.words, "")], [(in_text(each.shows), "$faint")]]


def _verdict(why: Why, at: float) -> str:
    if why.failing and (why.owner is not None or why.taken is not None):
        since = "" if why.taken is None else f" since {formatting.instant(why.taken)}"
        until = "" if why.held is None else f", until {formatting.instant(why.held)}"
        return f"It is taken{f' by {why.owner}' if why.owner else ''}{since}{until}."
    if why.failing:
        return f"No worker takes it: {', '.join(each.words for each in why.failing)}."
    if why.before is None:
        return "Whether a worker takes it is not known: see the conditions with a question mark."
    least, of = "at least " if why.at_least else "", " of its queue" if why.queue is not None else ""
    since = "" if why.since is None else f" It could be taken for {spelled(max(at - why.since, 0))}."
    would = "A worker would take it" if why.conditions[-1].holds else "A worker would take it, if one serves it"
    return f"{would}: {least}{why.before:,}{of} come first.{_when(why)}{since}"


def _when(why: Why) -> str:
    if why.measured is None:
        return ""
    measured, (soonest, latest) = spelled(round(why.measured)), why.next_in
    if soonest is None:
        return f" In the last {measured} their number did not fall."
    until = "or later" if latest is None else f"to {spelled(latest + 1)}"
    return f" At the rates measured in the last {measured}, it is next in {spelled(soonest)} {until}."


def _funnel(label: str, funnel: Funnel, at: float) -> Iterator[Spans]:
    yield heading(f"{label}: {funnel.kind}")
    if funnel.unread:
        yield plain(f"not read: {funnel.unread}", "$warning")
        return
    names = [name.replace("_", " ") for name in funnel.conditions]
    head: list[Cell] = ["", *([(each, "$faint")] for each in ("queue", "unfinished", *names, "first", "worker"))]
    yield from aligned([head, *_queues(funnel.queues, at)])
    if funnel.more:
        yield plain("There are more nodes or queues: each number is the least.", "$warning")


def _queues(queues: Iterable[QueueFunnel], at: float) -> Iterator[Sequence[Cell]]:
    for each in queues:
        age = "" if each.since is None else spelled(max(at - each.since, 0))
        counts = ([(f"{number:,}", "" if number else "$error")] for number in (each.n, *each.passed))
        yield [
            "",
            [(each.queue or "", "bold")],
            *counts,
            [(age, "")],
            [(f"{each.worker.mark} ", STYLES[each.worker.holds]), (each.worker.shows, "$faint")],
        ]
