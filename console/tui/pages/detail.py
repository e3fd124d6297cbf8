"""Lines of a node's page: findings, recorded fields, stored values, audit log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from console.text import drawings, formatting, payload
from console.tui.pages.lines import BLANK, Line, heading, pairs, plain, table, wrapped
from queries.contract.spec import Kind, Status
from queries.model import AuditLogEntry, Detail, Finding, Node, Proof, ScanRequired, Section
from queries.safe_text import safe_text

MOST = 4 * 1024 * 1024  # most bytes of a stored value to load; laying out more would delay keys
SEVERITIES = ((8, "$phase-failed"), (5, "$phase-blocked"), (0, "$phase-scheduled"))


def severity_ink(severity: int) -> str:
    """Return the colour of a finding."""
    return next(ink for least, ink in SEVERITIES if severity >= least)


def detail(
    page: Detail,
    width: int,
    *,
    now: float,
    kind: Kind | None,
    status: Status | None,
    helps: dict[str, str],
    entries: Sequence[AuditLogEntry],
    why_unread: str = "",
    ascii: bool = False,
) -> list[Line]:
    """Return the lines of a detail page.

    ``helps``: key and title of each action, by action name.
    """
    lines = [*_title(page.node, status, width, ascii), BLANK]
    if page.findings:
        lines += [heading("Why it is stuck"), *findings(page.findings, width, now=now, helps=helps), BLANK]
    else:
        lines += [plain("No problems detected.", "$faint", 0), BLANK]
    for section in filter(_graph, page.sections):
        lines += [*_section(section, width, now, ascii), BLANK]
    lines += [heading("Recorded"), *pairs(_columns(page.node, now, kind, ascii), width), BLANK]
    for section in (s for s in page.sections if not _graph(s)):
        lines += [*_section(section, width, now, ascii), BLANK]
    lines.append(heading("Audit log", why_unread or ("" if entries else "no changes made with unstick")))
    for entry in entries:
        when = f"{formatting.instant(entry.at)}  {entry.action} by {entry.role} ({entry.os_user}@{entry.host})"
        result = next((r for r in entry.results if r.id == page.node.id), None)
        lines.append(plain(f"{when}: {result.outcome if result else '?'}"))
        lines += wrapped(entry.reason, width, "$faint", 4)
    return lines


def _title(node: Node, status: Status | None, width: int, ascii: bool) -> list[Line]:
    ink = f"$phase-{node.phase}"
    native = f"  {node.status}" if node.status else ""
    first = Content.assemble(
        (formatting.glyph(node.phase, ascii), ink),
        " ",
        (safe_text(node.title), "bold"),
        "  ",
        (node.phase.value, f"bold {ink}"),
        (safe_text(native), "$faint"),
    )
    lines = [first, Content.styled(safe_text(node.id), "$faint")]
    if status is not None and status.means:
        lines += wrapped(f"{status.native}: {status.means}", width, "$faint", 0)
    return lines


def findings(found: Iterable[Finding], width: int, *, now: float, helps: dict[str, str]) -> list[Line]:
    """Return each finding with its age, sentence, suggested action and evidence."""
    lines: list[Line] = []
    for finding in found:
        if lines:
            lines.append(BLANK)
        since = f"for {formatting.age(now - finding.since)}" if finding.since is not None else "start not recorded"
        lines.append(
            Content.assemble(
                "  ",
                (safe_text(finding.title), f"bold {severity_ink(finding.severity)}"),
                (f"  {since}", ""),
                ("  behaviour inferred" if finding.proof is Proof.ASSUMED else "", "italic $faint"),
            )
        )
        lines += wrapped(finding.sentence, width, "", 4)
        if finding.action is not None:
            help_ = helps.get(finding.action, finding.action)
            lines.append(Content.assemble("    ", ("suggested action: ", "$faint"), (safe_text(help_), "bold $accent")))
        if finding.evidence:
            evidence = "  ".join(f"{key}={safe_text(str(value))}" for key, value in finding.evidence.items())
            lines += wrapped(evidence, width, "$faint", 4)
    return lines


NAMES = {
    "kind": "kind",
    "status": "status",
    "revision": "revision",
    "cpu": "CPU time",
    "poll": "poll time",
    "created_at": "created",
    "changed_at": "last changed",
    "due_at": "due",
    "owner": "owner",
    "heartbeat_at": "heartbeat",
    "attempts": "attempts",
    "error": "error",
    "parent_id": "parent",
    "job_id": "job",
}


def _columns(node: Node, now: float, kind: Kind | None, ascii: bool) -> Iterable[tuple[str, str | Content]]:
    missing = set(kind.not_recorded) if kind else set()
    for field, name in NAMES.items():
        if field in missing and field != "kind":
            continue
        value = _value(node, field, now, ascii)
        yield name, value if value is not None else Content.styled(formatting.NONE, "$faint")
    if missing:
        names = ", ".join(NAMES[field] for field in NAMES if field in missing)
        yield "not recorded", Content.styled(f"{names}: not kept by this engine", "$faint")


def _value(node: Node, field: str, now: float, ascii: bool) -> str | Content | None:
    value = getattr(node, field)
    if value is None:
        return None
    if field in ("created_at", "changed_at", "heartbeat_at"):
        return Content.assemble(formatting.instant(value), (f"  {formatting.age(now - value)} ago", "$faint"))
    if field == "due_at":
        return Content.assemble(formatting.instant(value), (f"  {formatting.due(value - now)}", "$faint"))
    if field == "poll":
        return formatting.duration(value)
    if field == "cpu":
        note = f"  {value / node.poll:.0%} of its poll time" if node.poll else ""
        return Content.assemble(formatting.duration(value), (note, "$faint"))
    if field == "attempts" and node.max_attempts is not None:
        return f"{value} of {node.max_attempts}"
    return safe_text(str(value))


def _graph(section: Section) -> bool:
    return section.drawn == "graph"


def _section(section: Section, width: int, now: float, ascii: bool) -> list[Line]:
    if section.scan_required is not None:
        return [heading(section.title), *scan_required(section.scan_required, width)]
    if section.payload is not None:
        room = max(width - 2, 8)
        body = payload.render(section.payload, room)
        more = len(section.payload.head) < min(section.payload.size, MOST)
        note = payload.describe(section.payload, room) + ("; m loads more" if more else "")
        return [heading(section.title, note), *(plain(line) for line in body)]
    if section.drawn:
        note, drawn = drawings.draw(section, width, now, ascii=ascii)
        return [heading(section.title, note), *(Content.assemble(*line) for line in drawn)]
    return [heading(section.title), *table(section.columns, section.rows, width)]


def scan_required(need: ScanRequired, width: int) -> list[Line]:
    """Return why something was not read and what a scan would cost.

    Names the index that would avoid the scan.
    """
    size = payload.size(need.pages * 8192)
    lines = wrapped(f"Not read: {need.why}.", width, "$warning")
    lines += wrapped(
        f"A scan would read about {size}. This index would avoid the scan. The console never creates an index:", width
    )
    return [*lines, *wrapped(need.ddl, width, "bold", 4)] if need.ddl else lines[:1]
