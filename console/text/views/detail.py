"""Lines of a node's screen: findings, fields, stored values, actions, audit log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from console.text import formatting, graph, payload, timeline
from console.text.formatting import by_reason
from console.text.severity import band
from console.text.spans import UNLIMITED, Link, Spans, wrap
from console.text.views.audit_entry import summary
from console.text.views.findings import findings
from console.text.views.lines import heading, pairs, plain, safe, section, stacked, table, wrapped
from queries.contract.engine import Engine
from queries.read.sentence import written
from queries.records.audit import AuditLogEntry
from queries.records.detail import Detail, Section
from queries.records.finding import Finding
from queries.records.node import Node, Page, Phase, ScanRequired
from queries.text.safe_text import safe_text

PAYLOAD_BYTES = 4 * 1024 * 1024  # most bytes of a stored value to load; laying out more would delay keys
VALUE_CELLS = 100  # cells of drawings and stored values where lines have no limit


def detail(
    node_detail: Detail,
    cells: int,
    *,
    now: float,
    engine: Engine | None,
    helps: Callable[[Finding], str],
    facts: Iterable[tuple[str, Spans]],
    others: Sequence[Finding] = (),
    problem_ids: Collection[str] = (),
    entries: Sequence[AuditLogEntry],
    why_unread: str = "",
    actions: Sequence[tuple[str, str]] = (),
    more: str = "",
) -> list[Spans]:
    """Return the lines of a node's detail.

    ``facts``: names and values of what is recorded. ``actions``: names, and effects or why they are not available.
    ``more``: how to load more of a stored value.
    ``others``: findings of the server about the node. ``problem_ids``: nodes that are known to have findings. Ids that
    can be opened are links.
    """
    problems, skipped = (*node_detail.findings, *others), _not_checked(node_detail, cells)
    ran = " by the checks that ran" if skipped else ""
    none = f"No problems detected{ran}."
    if node_detail.children is not None and node_detail.children.nodes:
        none = f"No problem of its own was detected{ran}. {_below(node_detail.children, problem_ids)}"
    if node_detail.node.phase is Phase.BLOCKED:
        none = f"No problem of its own was detected{ran}. It waits for another node, which may be stuck."
    done = (line for entry in entries for line in wrap(summary(entry, node_detail.node.id), cells - 2))
    unread = wrapped(why_unread, cells, "$warning") if why_unread else []
    unchanged = "" if entries else "no changes made with unstick"
    graphs = (_section(each, cells, now, more) for each in node_detail.sections if _graph(each))
    tables = (_section(each, cells, now, more) for each in node_detail.sections if not _graph(each))
    return stacked(
        _title(node_detail.node, engine, cells),
        section("Why it is stuck", findings(problems, cells, now=now, helps=helps)) or [plain(none, "$faint", 0)],
        skipped,
        *graphs,
        section("Recorded", pairs(facts, cells)),
        [] if node_detail.children is None else _children(node_detail.children, cells),
        *tables,
        section("Actions", pairs(actions, cells)),
        [heading("Audit log", "" if why_unread else unchanged), *unread, *([("  ", ""), *line] for line in done)],
    )


def _below(children: Page, problem_ids: Collection[str]) -> str:
    number = sum(child.phase is Phase.FAILED or child.id in problem_ids for child in children.nodes)
    least = "at least " * (children.cursor is not None)
    return f"Of those below it {least}{number} failed or stuck." if number else "Nodes below it may have some."


def preview(
    node: Node,
    cells: int,
    *,
    now: float,
    helps: Callable[[Finding], str],
    facts: Iterable[tuple[str, Spans]],
    problems: Sequence[Finding] = (),
    children: Sequence[Node] = (),
) -> list[Spans]:
    """Return the lines about a node in a tree: what to do, why, and what is known.

    ``facts``: names and values. ``problems``: its findings, the worst first. ``children``: those that are loaded.
    """
    lines: list[Spans] = []
    if problems and problems[0].action is not None:
        lines += wrap([("To do: ", "bold"), (safe_text(helps(problems[0])), "bold $accent")], cells)
    lines += wrap(_name(node), cells)
    for finding in problems:
        since = f" for {formatting.age(now - finding.since)}" if finding.since is not None else ""
        title = (safe_text(finding.title), f"bold {band(finding.severity).ink}")
        lines += wrap([title, (f"{since}: {safe_text(finding.sentence)}", "")], cells)
    lines += wrapped(node.error, cells, "", 0) if node.error else []
    lines += in_a_row(facts, cells)
    lines += [line for child in children for line in wrap(in_a_line(child), cells)]
    return [*lines, *wrap([(safe_text(node.id), "$faint")], cells)]


def in_a_row(facts: Iterable[tuple[str, Spans]], cells: int) -> list[Spans]:
    """Return names and values one after another."""
    return wrap([part for name, value in facts for part in ((f"{name} ", "$faint"), *safe(value), ("  ", ""))], cells)


def _not_checked(node_detail: Detail, cells: int) -> list[Spans]:
    """Return the findings that could not be looked for, grouped by the reason."""
    texts = (text for _, text in by_reason(node_detail.skipped_findings))
    return [line for text in texts for line in wrapped(f"Not checked: {text}", cells, "$warning", 0)]


def _title(node: Node, engine: Engine | None, cells: int) -> list[Spans]:
    lines = [_name(node), plain(node.id, "$faint", 0)]
    statuses = engine.spec.statuses if engine else ()
    status = next((s for s in statuses if s.native == node.status and s.phase == node.phase), None)
    if status is not None and status.means:
        lines += wrapped(f"{status.native}: {status.means}", cells, "$faint", 0)
    return lines


def _name(node: Node) -> Spans:
    phase = ("  ", ""), (node.phase.value, f"bold $phase-{node.phase}")
    return [*_titled(node, "bold"), *phase, (f"  {safe_text(node.status)}" if node.status else "", "$faint")]


def _titled(node: Node, style: str = "") -> Spans:
    return [(formatting.GLYPHS[node.phase], f"$phase-{node.phase}"), (f" {safe_text(node.title)}", style)]


def _codes(node: Node) -> Spans:
    return [(f"  {safe_text(code.replace('_', ' '))}", "$warning") for code in node.findings]


def in_a_line(node: Node) -> Spans:
    """Return a node with its problems and its error."""
    return [*_titled(node), *_codes(node), (f"  {safe_text(node.error)}" if node.error else "", "$faint")]


def _children(children: Page, cells: int) -> list[Spans]:
    if children.scan_required is not None:
        return [heading("Children"), *scan_required(children.scan_required, cells)]
    note = (
        f"the first {len(children.nodes)}; the tree shows more" if children.cursor else "" if children.nodes else "none"
    )
    lines = [heading("Children", note)]
    for node in children.nodes:
        line = [*_titled(node), ("  ", ""), (node.phase.value, f"$phase-{node.phase}"), ("  ", "")]
        line += [(safe_text(node.id), Link(node.id)), *_codes(node)]
        lines += [[("  ", ""), *part] for part in wrap(line, max(cells - 2, 8))]
    return lines


def _graph(section: Section) -> bool:
    return section.drawn == "graph"


def _section(section: Section, cells: int, now: float, more: str) -> list[Spans]:
    if section.scan_required is not None:
        return [heading(section.title), *scan_required(section.scan_required, cells)]
    room = cells if cells < UNLIMITED else VALUE_CELLS
    if section.payload is not None:
        stored, room = section.payload, max(room - 2, 8)
        body = payload.render(stored, room)
        cut = more and len(stored.head) < min(stored.size, PAYLOAD_BYTES)
        note = payload.describe(stored, room) + (f"; {more}" if cut else "")
        return [heading(section.title, note), *(plain(line) for line in body)]
    if section.drawn == "graph":
        steps = graph.steps(section.columns, section.rows)
        return [heading(section.title, graph.summary(steps)), *graph.draw(steps, room)]
    if section.drawn:
        changes = timeline.changes(section.columns, section.rows)
        return [heading(section.title), *timeline.draw(changes, room, now)]
    rows = [[written(value) if isinstance(value, str) else value for value in row] for row in section.rows]
    return [heading(section.title), *table(section.columns, rows, cells)]


def scan_required(need: ScanRequired, cells: int) -> list[Spans]:
    """Return why something was not read and what a scan would cost.

    Names the index that would avoid the scan.
    """
    size = formatting.size(need.blocks * 8192)
    lines = wrapped(f"Not read: {need.why}.", cells, "$warning")
    if not need.ddl:
        return lines
    cost = f"A scan would read about {size}. This index would avoid the scan. The console never creates an index:"
    return [*lines, *wrapped(cost, cells), *wrapped(need.ddl, cells, "bold", 4)]
