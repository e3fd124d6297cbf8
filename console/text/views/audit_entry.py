"""Lines of one audit log entry."""

from __future__ import annotations

from console.text import formatting
from console.text.spans import UNLIMITED, Spans
from console.text.views.lines import heading, pairs, plain, section, stacked, wrapped
from console.text.views.owners import owners
from console.text.views.row_diff import ROWS_SHOWN, STYLES, differences, outcomes, stored, tally
from console.text.views.summary import IDS_SHOWN, Steps
from queries.contract.spec import EngineSpec
from queries.records.audit import RUN, AuditLogEntry
from queries.text.safe_text import safe_text


def summary(entry: AuditLogEntry, node_id: str = "") -> Spans:
    """Return an entry on one line, with its id, and the outcome of one node or of all."""
    result = next((each for each in entry.results if each.id == node_id), None)
    arguments = "".join(f" {name}={formatting.scalar(value)}" for name, value in given(entry).items())
    return [
        (formatting.instant(entry.at), "$faint"),
        (f"  {safe_text(entry.id)}", "$faint"),
        (f"  {safe_text(entry.engine)}  ", ""),
        (safe_text(entry.action), "bold $accent"),
        (safe_text(f"{arguments}{f'  {target(entry)}' if result is None else ''}: "), ""),
        *(outcome(entry) if result is None else [(result.outcome.value, f"bold {STYLES[result.outcome]}")]),
        (safe_text(f"  by {who(entry)}: {entry.reason}"), "$faint"),
        (f"  on {safe_text(formatting.place(entry.origin))}" if entry.origin else "", "$faint"),
    ]


def entry_lines(
    entry: AuditLogEntry, cells: int, *, node_id: str = "", engine: EngineSpec | None = None, rows: bool | None = None
) -> list[Spans]:
    """Return who, when, why, the outcomes, and the rows before and after.

    ``node_id`` leaves only one node's outcome and rows. ``rows``: None shows how the rows differ, True their whole
    values, False a summary of them. ``engine`` names the statuses of the summary.
    """
    facts = [
        ("entry", entry.id),
        ("when", formatting.instant(entry.at)),
        ("who", who(entry)),
        ("target", target(entry)),
        *((("database", formatting.place(entry.origin)),) if entry.origin else ()),
        ("engine", f"{entry.engine} in schema {entry.schema}"),
        ("reason", entry.reason),
        *(((UNREADABLE, entry.unreadable),) if entry.unreadable else ()),
        *((name, formatting.scalar(value)) for name, value in given(entry).items()),
        ("transaction", entry.xid or formatting.NONE),
    ]
    results = [result for result in entry.results if node_id in ("", result.id)]
    changes = [change for change in entry.changes if node_id in ("", change.id)]
    limit = {None: ROWS_SHOWN, True: UNLIMITED, False: IDS_SHOWN}[rows]
    if rows is False:
        what = ", ".join(Steps(entry.engine, engine, changes).parts())
        body = [*wrapped(what, cells), plain("--rows shows the stored values", "$faint")] if changes else []
    else:
        body = stored(changes, cells, entry.titles) if rows else differences(changes, cells, limit=limit)
    owned = owners(results, cells, limit=limit) if rows is not False else []
    return stacked(
        section(entry.action, pairs(facts, cells)),
        [heading("Outcome"), *outcomes(results, cells, limit=limit)],
        section("Owner, dead or alive", owned, "read before the change"),
        section("Rows before and after", body or [plain("none", "$faint")]),
    )


UNREADABLE = "cannot be read"
EVENTS = {
    "begin": "begun, {nodes} nodes",
    "resume": "continued",
    "judged": "cohort {cohort} judged",
    "go_on": "answered: go on",
    "end": "ended: {reason}",
}
"""Events of a run, with fields of the argument that describes it."""


def given(entry: AuditLogEntry) -> dict[str, object]:
    """Return the arguments, with a run by its id."""
    return {name: entry.run if name == RUN and entry.run else value for name, value in entry.arguments.items()}


def outcome(entry: AuditLogEntry) -> Spans:
    """Return the number of nodes by outcome, or what happened to a run."""
    if entry.unreadable:
        return [(UNREADABLE, "$warning")]
    run = entry.event
    kind = str(run.get("event"))
    if entry.results or kind not in EVENTS:
        return tally(entry.results)
    number = run["cohort"] + 1 if isinstance(run.get("cohort"), int) else ""
    shown = EVENTS[kind].format(nodes=run.get("nodes"), reason=run.get("reason"), cohort=number)
    return [(safe_text(shown), "")]


def target(entry: AuditLogEntry) -> str:
    """Return the title and id of the first node, and the number of the others.

    Without nodes: why they cannot be read.
    """
    return (entry.named() if entry.target else entry.unreadable or entry.named()) or formatting.NONE


def who(entry: AuditLogEntry) -> str:
    """Return the role, and the operating system's user and host."""
    return f"{entry.role} ({entry.os_user}@{entry.host})"
