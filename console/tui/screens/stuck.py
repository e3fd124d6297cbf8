"""List of the incidents of all engines and of the server, worst first."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.content import Content

from console.model.incident_list import Row, Trend, foldable, rows
from console.text import formatting
from console.text.pages import incidents as pages
from console.text.pages.findings import reason, severity_ink
from console.text.pages.lines import plain, wrapped
from console.text.spans import Spans
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.base import PageScreen
from console.tui.screens.detail import DetailScreen
from console.tui.widgets.placeholder import Placeholder
from console.tui.widgets.preview import Preview
from console.tui.widgets.table import Column, Table
from queries.errors import DatabaseError
from queries.model import Incident, Node, Proof, split_id
from queries.safe_text import safe_text

ASSUMED = "Behaviour inferred: this engine does not document how its runner works."
MOST = 500  # nodes of an incident that are read for an action
TRENDS = {Trend.NEW: ("", ""), Trend.STEADY: ("", ""), Trend.GROWING: ("↑", "+"), Trend.SHRINKING: ("↓", "-")}


class StuckScreen(PageScreen):
    """Shows the session's incidents. Reads the nodes of the rows near the cursor."""

    MODE = "stuck"
    KEYS = keymap.STUCK
    BINDINGS = bindings(keymap.STUCK)

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Node] = {}
        self._gone: set[str] = set()
        self._requested = ""  # row for which the last early refresh was requested
        self._unfolded: set[str] = set()

    @property
    def table(self) -> Table[Row]:
        return self.query_one("#findings", Table)

    def body(self) -> Iterable[object]:
        yield Placeholder(id="notice")
        yield Table[Row](self._columns(), lambda row: row.key, id="findings", ascii=self.host.ascii)
        yield Preview(id="preview")

    def _columns(self) -> list[Column[Row]]:
        return [
            Column("incident", 26, self._title),
            Column("nodes", 24, self._named, spare=True),
            Column("", 11, self._phase, 90),
            Column("since", 6, self._since, right=True),
            Column("action", 10, self._action, 56),
            Column("why", 0, lambda row: Content.styled(safe_text(_sentence(row)), "$faint"), 104),
        ]

    def on_mount(self) -> None:
        self.table.focus()

    def label(self) -> str | None:
        row = self.table.current if self._ready else None
        label = row.incident.engine if row else None
        return label if label in self.session.engines else None

    def note(self) -> str:
        left, cut = len(self.session.skipped_findings), sum(map(len, self.session.capped.values()))
        number, resolved = len(self.session.incidents), len(self.session.history.resolved)
        notes = [f"{number} incident{'' if number == 1 else 's'}"] * bool(number)
        notes += [f"{resolved} resolved"] * bool(resolved)
        more = [f"{left} not checked"] * bool(left) + [f"more of {cut} kind{'s' * (cut > 1)}"] * bool(cut)
        return ", ".join(notes + more) + (", see help" if more else "")

    def targets(self) -> list[Node]:
        row = self.table.current
        return [self._known[id_] for id_ in row.node_ids[:MOST] if id_ in self._known] if row else []

    async def load(self) -> None:
        near = [id_ for row in self.table.around() for id_ in row.node_ids[:1]]
        row = self.table.current
        wanted: dict[str, list[str]] = {}
        for node_id in dict.fromkeys([*near, *(row.node_ids[:MOST] if row else ())]):
            wanted.setdefault(node_id.partition("/")[0], []).append(node_id)
        nodes: dict[str, Node] = {}
        for label, ids in wanted.items():
            reader = self.session.engines.get(label)
            if reader is not None:
                page = await reader.nodes(ids)
                nodes |= {node.id: node for node in page.nodes}
                self._gone |= set(ids) - set(nodes)
        self._known |= nodes
        self._gone -= set(nodes)

    def show_body(self) -> None:
        found = rows(self.session.incidents, self._unfolded)
        self.table.put(found)
        self.table.show_rows()
        self._notice(bool(found))
        self.table.repaint()
        self._preview()
        self._read_unknown()

    def _notice(self, any_: bool) -> None:
        notice = self.query_one(Placeholder)
        if any_:
            notice.hide()
        elif not self.session.findings_loaded:
            notice.show("Reading findings …", self.session.error_text)
        else:
            left = "\n".join(f"Not checked: {part.code}: {part.why}" for part in self.session.skipped_findings)
            sure = "Nothing is stuck, as far as the database shows."
            notice.show("No problems found in the parts that could be checked." if self.session.more else sure, left)

    def _read_unknown(self) -> None:
        """Refresh early if nodes of the cursor's row were not read yet.

        This happens once per row, because the read may fail.
        """
        row = self.table.current
        if row is None or row.key == self._requested:
            return
        if any(id_ not in self._known and id_ not in self._gone for id_ in row.node_ids[:MOST]):
            self._requested = row.key
            self.session.run_now()

    @on(Table.Highlighted)
    def _stale(self) -> None:
        self._preview()
        self._read_unknown()
        self.renew_place()

    @on(Table.Chosen)
    def _chosen(self) -> None:
        self.action_open()

    def _preview(self) -> None:
        row = self.table.current
        self.query_one(Preview).put(None if row is None else lambda width: self._lines(row, width))

    def _lines(self, row: Row, width: int) -> list[Spans]:
        finding = row.only
        lines = reason(finding, width) if finding is not None else wrapped(row.incident.sentence, width, "", 0)
        if row.finding is None:
            lines += pages.explanation(row.incident, width, 0) + self._history(row.incident)
        inferred = row.incident.proof is Proof.ASSUMED
        return lines + (wrapped(ASSUMED, width, "italic $faint", 0) if inferred else [])

    def _history(self, incident: Incident) -> list[Spans]:
        """Return since when this console sees the incident, and how it develops."""
        first = self.session.history.first_seen(incident.key)
        trend = self.session.history.trend(incident.key)
        if first is None or trend is Trend.NEW:
            return []
        return [plain(f"Seen for {formatting.age(self.session.at - first)}, {trend}", "$faint", 0)]

    # cells

    def _title(self, row: Row) -> Content:
        incident = row.incident
        if row.finding is not None:
            return Content.assemble("    ", (safe_text(row.finding.title), severity_ink(row.finding.severity)))
        fold = "  "
        if foldable(incident):
            fold = ("v " if row.open else "> ") if self.host.ascii else ("▾ " if row.open else "▸ ")
        ink = f"bold {severity_ink(incident.severity)}"
        return Content.assemble((fold, "$faint"), (f"{incident.severity} ", ink), (safe_text(incident.title), ink))

    def _named(self, row: Row) -> Content:
        finding = row.only
        if finding is None:
            trend = TRENDS[self.session.history.trend(row.incident.key)][self.host.ascii]
            return Content.assemble((pages.size(row.incident), "bold"), " ", (trend, "bold $warning"))
        node = self._known.get(finding.node_id)
        if node is not None:
            return Content(safe_text(node.title))
        _, kind, key = split_id(finding.node_id)
        return Content.styled(safe_text(f"{kind} {key}"), "$faint")

    def _phase(self, row: Row) -> Content:
        finding = row.only
        node = self._known.get(finding.node_id) if finding else None
        if node is None:
            return Content.styled("gone" if finding and finding.node_id in self._gone else "", "$faint")
        ink = f"$phase-{node.phase}"
        return Content.assemble((formatting.glyph(node.phase, self.host.ascii), ink), " ", (node.phase.value, ink))

    def _since(self, row: Row) -> Content:
        since = row.incident.since if row.finding is None else row.finding.since
        return Content(formatting.age(self.session.at - since) if since is not None else formatting.NONE)

    def _action(self, row: Row) -> Content:
        if row.finding is not None and row.finding not in row.incident.findings:
            return Content("")  # its cause is to be removed instead
        action = row.incident.action if row.finding is None else row.finding.action
        if action is None:
            return Content.styled(formatting.NONE, "$faint")
        key = next((key for key, names in self.host.action_keys.items() if action in names), "")
        return Content.assemble((key, "bold $accent"), " ", action)

    # keys

    def action_open(self) -> None:
        row = self.table.current
        if row is None:
            return
        finding = row.only
        if finding is None:
            self._fold(row, open=not row.open)
            return
        node = self._known.get(finding.node_id)
        if node is not None:
            self.app.push_screen(DetailScreen(node, self.MODE))
        elif finding.node_id in self._gone:
            self.say("It no longer exists.", "warn")
        elif finding.engine in self.session.engines or not finding.affects:
            self.say("Reading …", "faint")
            self.run_worker(self._open_unread(finding.node_id), group="open", exclusive=True, exit_on_error=True)

    async def _open_unread(self, node_id: str) -> None:
        """Read and open the node under the cursor.

        Enter then works before the next refresh.
        """
        reader = self.session.reader(node_id)
        try:
            nodes = (await reader.nodes([node_id])).nodes if reader else ()
        except DatabaseError as error:
            self.session.failed(error)
            self.say(str(error), "bad")
            return
        row = self.table.current
        if row is None or row.only is None or row.only.node_id != node_id or not self.is_current:
            return
        self.say("" if nodes else "It no longer exists.", "warn")
        self._known |= {node.id: node for node in nodes}
        if nodes:
            self.app.push_screen(DetailScreen(nodes[0], self.MODE))

    def action_unfold(self) -> None:
        row = self.table.current
        if row is not None and not row.open and foldable(row.incident):
            self._fold(row, open=True)

    def action_fold(self) -> None:
        row = self.table.current
        if row is not None and row.incident.key in self._unfolded:
            self._fold(row, open=False)

    def _fold(self, row: Row, *, open: bool) -> None:
        (self._unfolded.add if open else self._unfolded.discard)(row.incident.key)
        self.show_body()
        if not open:
            self.table.select(row.incident.key)
        self.renew_place()

    def action_reveal(self) -> None:
        node = self.cursor()
        if node is not None:
            self.host.reveal(node)


def _sentence(row: Row) -> str:
    return row.incident.sentence if row.finding is None else row.finding.sentence
