"""List of the incidents of all engines and of the server, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING

import msgspec
from textual import on

from console.model.fields.field import Bundle, Context, Field
from console.model.fields.incident import (
    INCIDENTS,
    IncidentFinding,
    action_of,
    engine_of,
    incident_findings,
    sentence_of,
    severity_of,
)
from console.model.fields.node import previewed
from console.model.incident_list import Trend
from console.model.now import CHANGED, DEAD, Now
from console.model.session import ConnectionState
from console.text import formatting, timeline
from console.text.formatting import by_reason
from console.text.severity import BANDS, band, marked
from console.text.spans import Spans, crop, wrap
from console.text.views import incidents as views
from console.text.views.detail import in_a_line, in_a_row
from console.text.views.findings import evidence
from console.text.views.lines import plain, wrapped
from console.text.views.news import is_news, is_unchanged, news, unchanged
from console.tui import keymap
from console.tui.guide import FIRST
from console.tui.keymap import Key
from console.tui.screens.list_screen import ListScreen
from console.tui.views import empty_state
from console.tui.widgets.list_table import NEAR_ROWS, ListTable
from console.tui.widgets.text_bar import TextBar, spread
from queries.change import signals
from queries.change.plan import UNDO, count_nodes
from queries.db.errors import LOCKED, DatabaseError, attempting
from queries.read import details
from queries.read.incidents import by_schemas, ordered
from queries.read.nodes import NODES_AT_ONCE
from queries.read.reader import Reader
from queries.records.action import Proof
from queries.records.finding import Incident
from queries.records.node import Node, split_id
from queries.text.safe_text import safe_text

if TYPE_CHECKING:  # imported at first use, so that the app starts sooner
    from console.tui.screens.copy import CopyChoice

ASSUMED = "Behaviour inferred: this engine does not document how its runner works."
FOLDED_INCIDENTS = 10  # incidents unchanged for an hour from which on they are folded
WATCHED_SECONDS = 60.0  # from which on a trend says something
TITLES = {DEAD: "dead letter group", CHANGED: "change"}
TRENDS = {Trend.NEW: ("", ""), Trend.STEADY: ("", ""), Trend.GROWING: ("↑", "+"), Trend.SHRINKING: ("↓", "-")}


class StuckScreen(ListScreen[IncidentFinding]):
    """Shows the session's incidents, groups of dead letters, and changes that matter.

    Reads the nodes of the rows near the cursor; for a filter, all nodes.
    """

    MODE = "stuck"
    RECORDS = INCIDENTS
    READING = "Reading what is stuck …"
    DEFAULT_CSS = "StuckScreen #news { padding: 0 2; }"
    KEYS = (*keymap.ROWS, *keymap.STUCK)

    def __init__(self) -> None:
        self._incidents: Sequence[Incident] = ()  # as they are painted: one for a cause in many schemas
        self._growth: dict[str, int] = {}  # of the incidents, by key
        self._now_read = 0.0  # time of the findings beside which the other rows were read
        self._folded: frozenset[str] | None = None  # keys of old incidents that are not listed; None: not chosen yet
        self._node_of: dict[str, Node] = {}
        self._gone: set[str] = set()
        self._events: dict[str, Sequence[timeline.Change]] = {}  # of the first node of rows that the cursor was on
        self._requested = ""  # row for which the last early refresh was requested
        self._news_bar = TextBar[Spans, Spans](lambda n, new, old: spread(new, old, n), id="news", classes="around")
        super().__init__()

    @cached_property
    def _now(self) -> Now:
        return Now(self.session.dead_letters)

    def columns(self) -> Sequence[Field[IncidentFinding]]:
        several = len(self.session.engines) > 1
        return [column for column in super().columns() if several or column.name != "engine"]

    def context(self) -> Context:
        hidden = {label for label, reader in self.session.engines.items() if reader.detected.policies}
        gone = {id_ for id_ in self._gone if id_.partition("/")[0] not in hidden} if hidden else self._gone
        return msgspec.structs.replace(
            super().context(), node=self._node_of.get, gone=gone, trend=self._trend, key=self._key_of
        )

    def _key_of(self, action: str) -> str:
        return UNDO.key if action == UNDO.name else self.host.keys.of_action(action)

    def _trend(self, incident: Incident) -> str:
        return TRENDS[self.session.state.incident_history.trend(incident)][self.host.ascii]

    def body(self) -> Iterable[object]:
        yield self._news_bar
        yield from super().body()

    # description of the screen

    def label(self) -> str | None:
        row = self.row
        label = engine_of(row) if row else None
        return label if label in self.session.engines else None

    def note(self) -> str:
        state = self.session.state
        if not state.findings_loaded or not self.session.engines:
            return f"reading {', '.join(self.session.engines)} …" if self.session.engines else ""
        others = Counter(each.code for each in self._incidents if each.code in (DEAD, CHANGED))
        checks, cut = len(state.shown.skipped_findings), len(state.shown.capped)
        ages = {each.key: age for each in self._incidents if (age := self._unread_for(each)) is not None}
        number, resolved = len(self._incidents) - len(ages) - others.total(), len(state.incident_history.resolved)
        matching = {item.incident.key: item.incident for item in self.listed.matching_records}
        listed = sum(each.code not in others for key, each in matching.items() if key not in ages)
        some = f"{listed} of " if self.filter or self._hidden else ""
        notes = self.marked() + [f"{some}{number} incident{'' if number == 1 else 's'}"] * bool(number)
        notes += [f"{n} {TITLES[code]}{'s' * (n > 1)}" for code, n in sorted(others.items(), reverse=True)]
        if ages:
            notes.append(f"{len(ages)} not read for {formatting.age(max(ages.values()))} ({self._why_unread()})")
        notes += [f"{resolved} resolved"] * bool(resolved)
        unread = len(self._unread()) if self.filter else 0
        notes += [f"{count_nodes(unread, ())} not read yet"] * bool(unread)
        more = [f"{checks} not checked"] * bool(checks) + [f"more of {cut} kind{'s' * (cut > 1)}"] * bool(cut)
        return ", ".join(notes + more) + (", see help" if more else "")

    def _unread_for(self, incident: Incident) -> float | None:
        """Return the seconds since an incident was read; None if the last refresh did."""
        state, read_at = self.session.state, incident.read_at
        if self.session.link is not ConnectionState.LIVE:
            read_at = state.shown.at if read_at is None else read_at
        return None if read_at is None else max(state.at + (state.age or 0.0) - read_at, 0.0)

    def _why_unread(self) -> str:
        if self.session.link is not ConnectionState.LIVE:
            return "connection lost"
        failed = [each.why for each in self.session.state.shown.skipped_findings if each.failed]
        return "table locked" if any(LOCKED in why for why in failed) else "see help"

    def cell(self, field: Field[IncidentFinding], row: Bundle[IncidentFinding]) -> Spans:
        """Return the text of a cell: grey and dated if it is older than the last refresh."""
        line, unread = super().cell(field, row), self._unread_for(row.records[0].incident)
        if unread is None:
            return line
        dated = [(f"  not read for {formatting.age(unread)}", "")] if field.name == "incident" else []
        return [(text, "$faint") for text, _ in (*line[:1], *dated, *line[1:])]

    def more(self) -> bool:
        return bool(self.session.state.more)

    def node(self, record: IncidentFinding) -> Node | None:
        return self._node_of.get(record.finding.node_id)

    def records(self) -> Sequence[IncidentFinding]:
        growing = {key for key, more in self._growth.items() if more > 0}
        hidden = self._hidden  # which looks through all rows
        shown = [each for each in self._incidents if each.key not in hidden]
        return incident_findings(ordered(shown, self.session.state.at, growing))

    @property
    def _hidden(self) -> frozenset[str]:
        """Keys of the incidents that are not listed; a filter or a grouping looks at all."""
        if not self._folded or not self.listed.is_natural or self.filter:
            return frozenset()
        return self._folded - {record.incident.key for record in self.rows.marked()}  # a mark stays in view

    def _fold(self) -> None:
        """Choose what is folded, once: a row never vanishes under the reader."""
        old = [e for e in self._incidents if is_unchanged(e, self.session.state.at, self._growth)]
        less = frozenset(each.key for each in old if band(each.severity) is not BANDS[0])
        if self._folded is not None:
            self._folded &= less
        elif self.session.state.findings_loaded:
            self._folded = less if len(less) >= FOLDED_INCIDENTS and len(less) < len(self._incidents) else frozenset()

    def action_more(self) -> None:
        """List the incidents that are unchanged for an hour, or fold them."""
        folded, self._folded = self._folded, None
        self._fold()
        self._folded = frozenset() if folded else self._folded
        self.say("" if folded or self._folded else "There are too few old ones to fold them.", "faint")
        self.renew_rows()

    def action_next_news(self) -> None:
        """Move the cursor to the next new or growing incident.

        From the last one, and from one that is neither, it goes to the first.
        """
        at, rows = self.session.state.at, [row for row in self.rows.shown(0, len(self.rows)) if not row.above]
        ids = [row.id for row in rows if any(is_news(each.incident, at, self._growth) for each in row.records)]
        next_ = ids.index(self.row.id) + 1 if self.row is not None and self.row.id in ids else 0
        if ids:
            self.table.go_to(ids[next_ % len(ids)])
        self.say("" if ids else "Nothing here is new or grows.", "faint")

    # reading

    def _near(self) -> list[str]:
        records = self.rows.chosen()[:NODES_AT_ONCE] + [row.records[0] for row in self.table.around]
        return list(dict.fromkeys(id_ for record in records if (id_ := record.node_id)))

    def _unread(self) -> list[str]:
        ids = (item.node_id for item in self.rows.records)
        return list(dict.fromkeys(id_ for id_ in ids if id_ and id_ not in self._node_of and id_ not in self._gone))

    @property
    def data_age(self) -> float | None:
        return self.session.state.findings_age or super().data_age

    async def load(self) -> None:
        state, workspace = self.session.state, self.session.workspace
        shown = self.rows.records or not state.shown.incidents  # the incidents are the first thing to read and to show
        if workspace is not None and shown and self._now_read != state.findings_at:
            self._now_read = state.findings_at
            await self._now.read(workspace, state.shown.unread)
        first: list[str] = []
        if not self.rows.records:  # none is shown yet
            self._take()
            first = [id_ for item in self.records()[:NEAR_ROWS] if (id_ := item.node_id)]
        more = self._unread()[:NODES_AT_ONCE] if self.filter else []
        await self._read(dict.fromkeys([*self._near(), *first, *more]))
        if self.has_class("-broad") and self.row is not None and self.row.records:
            await self._read_events(self.row.records[0].node_id)

    async def _read_events(self, node_id: str | None) -> None:
        reader = self.session.reader(node_id) if node_id and node_id not in self._events else None
        if reader is None or node_id is None:
            return
        self._events[node_id] = ()
        with attempting(lambda error: self.say(f"The history was not read: {error}", "warn")):
            node = await details.read(reader, node_id)
            drawn = [each for each in node.sections if each.drawn == "timeline"] if node else []
            self._events[node_id] = [change for each in drawn for change in timeline.changes(each.columns, each.rows)]

    async def read_targets(self) -> None:
        await super().read_targets()
        ids = dict.fromkeys(id_ for record in self.rows.chosen() if (id_ := record.node_id))
        unread = [id_ for id_ in ids if id_ not in self._node_of]
        for start in range(0, len(unread), NODES_AT_ONCE):
            await self._read(unread[start : start + NODES_AT_ONCE])

    async def _read(self, node_ids: Iterable[str]) -> None:
        ids: dict[str, list[str]] = {}
        for node_id in node_ids:
            ids.setdefault(node_id.partition("/")[0], []).append(node_id)
        readers = {label: reader for label, reader in self.session.engines.items() if label in ids}
        if not readers:
            return
        failed: list[DatabaseError] = []

        async def read(label: str, reader: Reader) -> None:
            with attempting(failed.append):
                nodes = {node.id: node for node in (await reader.nodes.read(ids[label])).nodes}
                self._node_of.update(nodes)
                self._gone = {*self._gone, *ids[label]}.difference(nodes)

        await next(iter(readers.values())).database.together(*starmap(read, readers.items()))
        if failed:  # the nodes of other engines were read
            raise failed[0]

    @property
    def rows_age(self) -> float:
        return max((self._unread_for(each) or 0.0 for each in self._incidents), default=0.0)

    @property
    def loaded(self) -> bool:
        return self.session.state.findings_loaded

    def _take(self) -> None:
        state = self.session.state
        self._incidents = self._now.rows(by_schemas(state.shown.incidents), state.at)
        self._growth = state.incident_history.growth(self._incidents) | self._now.growth
        self._node_of = self._now.nodes | self._node_of
        self._fold()

    def show_body(self) -> None:
        self._take()
        more = self.host.keys.shown(keymap.BY_ID["stuck.more"])
        key = self.host.keys.shown(keymap.BY_ID["stuck.news"])
        fresh = news(self._incidents, self.session.state.at, self._growth, key)
        folded = f"{len(self._hidden)} folded ({more}): unchanged for 1h"
        old = "" if self.filter else unchanged(self._incidents, self.session.state.at, self._growth)
        old = folded if self._hidden else old
        self._news_bar.display = bool(fresh or old) and not self.has_class("-low")
        self._news_bar.show(fresh, [(f"  {old}", "$faint")] if old else [])
        super().show_body()
        self._read_unknown()

    def notice(self) -> tuple[str, str]:
        if self.filter and (resolved := self._resolved_match()):
            return resolved
        return super().notice()

    def nothing(self) -> tuple[str, str]:
        if not self.session.engines:
            return empty_state.why(self.session, None)
        notes = "\n".join(f"Not checked: {text}" for _, text in by_reason(self.session.state.shown.skipped_findings))
        if self.session.state.more or not self.session.state.shown.is_complete:
            return "No problems found in the parts that could be checked.", notes
        return "Nothing is stuck, as far as the database shows.", notes

    def _resolved_match(self) -> tuple[str, str] | None:
        """Return what is said of an incident with the filter's words, resolved lately."""
        word, state = self._word().casefold(), self.session.state
        ended = [
            (at, title) for title, at in state.incident_history.resolved.values() if word and word in title.casefold()
        ]
        if not ended:
            return None
        at, title = max(ended)
        ago = formatting.age(max(state.at - at, 0))
        return f"{safe_text(title)} is resolved since {ago}: nothing matches the filter.", "esc shows all that is stuck"

    def _read_unknown(self) -> None:
        """Refresh early if nodes of the cursor's row were not read yet.

        This happens once per row and filter, because the read may fail.
        """
        row = self.row
        request = f"{row.id if row else ''} {self.filter}"
        if request == self._requested:
            return
        ids = self._unread() if self.filter else self._near()[:NODES_AT_ONCE]
        if any(id_ not in self._node_of and id_ not in self._gone for id_ in ids):
            self._requested = request
            self.session.run_now()

    @on(ListTable.Cursor)
    @on(ListTable.Renewed)
    def _looked_at(self) -> None:
        self._read_unknown()

    def guided(self) -> bool:
        typing = any(line.has_focus for line in self.query("#filter"))
        return self.row is not None and not typing and self.row.records[0].incident.title == FIRST

    def suggested(self) -> str | None:
        if self.rows.marks:
            return super().suggested()
        row = self.row
        return None if row is None or not row.records or row.records[0].explained else action_of(row)

    def cause_session(self) -> tuple[str, float] | None:
        row = self.row
        return signals.named(row.records[0].finding.evidence) if row and row.records else None

    def offers(self, key: Key) -> bool:
        return super().offers(key) and (key.id != "stuck.end" or self.cause_session() is not None)

    def action_undo(self) -> None:
        """Undo the change of the row; without one, the operator's last."""
        from console.tui.screens.action import undo

        incident = self.row.records[0].incident if self.row and self.row.records else None
        if incident is not None and incident.action == UNDO.name:
            self.host.act(undo(self, incident.key))
        else:
            super().action_undo()

    def action_end_session(self) -> None:
        """End the session that is the cause; without one, do what the key does elsewhere."""
        from console.tui.screens.action import perform, perform_key

        if self.row is None or (session := self.cause_session()) is None:
            self.host.act(perform_key(self, self.host.keys.names(keymap.BY_ID["stuck.end"])[0]))
            return
        evidence = self.row.records[0].finding.evidence
        title = str(evidence.get("root") or evidence.get("waiter") or evidence.get("holder") or session[0])
        self.host.act(perform(self, signals.plan_session("end_session", session[0], title, session[1])))

    # the lines below

    def lines(self, row: Bundle[IncidentFinding], width: int) -> list[Spans]:
        incident = row.group if isinstance(row.group, Incident) else None
        head: Spans = [*marked(severity_of(row))[:1], ("  ", "")]
        lines = self._to_do(row, width) + wrap([*head, (safe_text(sentence_of(row)), "")], width)
        if incident is not None:
            lines += wrapped(views.symptoms(incident), width, "$faint", 0) if incident.symptoms else []
            lines += self._members(incident, width)
        if row.record is not None and not (incident and incident.symptoms):
            lines += evidence(row.record.finding, width)
        if incident is not None:
            lines += self._history(incident)
        inferred = any(record.incident.proof is Proof.ASSUMED for record in row.records)
        return lines + (wrapped(ASSUMED, width, "italic $faint", 0) if inferred else [])

    def _to_do(self, row: Bundle[IncidentFinding], width: int) -> list[Spans]:
        incident, action = row.records[0].incident, action_of(row)
        if action is not None and not row.records[0].explained:
            finding = row.records[0].finding
            reader = self.session.engines.get(finding.engine)
            spec = reader.engine.action(action, split_id(finding.node_id)[1]) if reader else None
            spec, why = (UNDO, "To take it back: ") if action == UNDO.name else (spec, "To do: ")
            about, key = f": {spec.effect}" if spec else "", self._key_of(action)
            return wrap([(why, "bold"), (f"{key} {action}", "bold $accent"), (safe_text(about), "")], width)
        if incident.remedy and incident.action is None:
            return wrapped(f"To do: {incident.remedy}", width, "bold", 0)
        if row.records[0].explained:
            return wrapped(f"To do: remove the cause first: {incident.title} {incident.about}", width, "bold", 0)
        return wrapped(f"To do: look at it, or copy with y: {self._command(row)}", width, "bold", 0)

    def _command(self, row: Bundle[IncidentFinding]) -> str:
        """Return the command that says everything about the first node of a row.

        Without a node, as for a cause in the server, it lists all incidents.
        """
        node_id = row.records[0].node_id
        return self.session.command("show", node_id) if node_id else self.session.command("stuck")

    def copies(self) -> list[CopyChoice]:
        """Return what can be copied, first what to do about a row without an action."""
        from console.tui.screens.copy import CopyChoice

        row, choices = self.row, super().copies()
        if row is None or not row.records or action_of(row) is not None:
            return choices
        texts = {"what to do": row.records[0].incident.remedy, "command": self._command(row)}
        return [*(CopyChoice(title=title, text=text) for title, text in texts.items() if text), *choices]

    def _members(self, incident: Incident, width: int) -> list[Spans]:
        ids, broad = incident.node_ids, self.has_class("-broad")
        if len(ids) < 2 and not broad:
            return []
        lines: list[Spans] = []
        for node_id in ids[: views.ITEMS_SHOWN]:
            node = self._node_of.get(node_id)
            line = [*([*in_a_line(node), ("  ", "")] if node else []), (safe_text(node_id), "$faint")]
            lines += wrap(line, width) if broad else [crop([("  ", ""), *line], width)]
        if len(ids) > views.ITEMS_SHOWN:
            lines.append(
                plain(f"and {len(ids) - views.ITEMS_SHOWN}{'+' * incident.capped} more: → shows them", "$faint", 2)
            )
        return lines + (self._of_first(ids[0], width) if broad and ids else [])

    def _of_first(self, node_id: str, width: int) -> list[Spans]:
        node, reader = self._node_of.get(node_id), self.session.reader(node_id)
        facts = in_a_row(previewed(node, self.session.state.at, reader.engine), width) if node and reader else []
        events = timeline.newest(self._events.get(node_id, ()), width)
        return [*([[], *facts] if facts else []), *([[], *events] if events else [])]

    def _history(self, incident: Incident) -> list[Spans]:
        state = self.session.state
        first, trend = state.incident_history.first_seen(incident), state.incident_history.trend(incident)
        if first is None or trend is Trend.NEW or (watched := state.at - first) < WATCHED_SECONDS:
            return []
        return [plain(f"In the {formatting.age(watched)} that this console has watched it: {trend}", "$faint", 0)]

    # keys

    def open(self, record: IncidentFinding) -> None:
        finding = record.finding
        if finding.node_id in self._node_of or finding.node_id in self._gone:
            super().open(record)
        elif record.node_id is not None and (finding.engine in self.session.engines or not finding.affects):
            self.say("Reading …", "faint")
            self.run_worker(self._open_unread(finding.node_id), group="open", exclusive=True)

    async def _open_unread(self, node_id: str) -> None:
        """Read and open the node under the cursor.

        Enter then works before the next refresh.
        """
        if not await self.succeeds(self._read([node_id])):
            return
        row = self.row
        if row is None or row.record is None or row.record.finding.node_id != node_id or not self.is_current:
            return
        self.say("")
        super().open(row.record)
