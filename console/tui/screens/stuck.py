"""List of the findings of all engines, worst first."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.content import Content

from console.text import formatting
from console.text.pages.findings import reason, severity_ink
from console.text.pages.lines import wrapped
from console.text.spans import Spans
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.base import PageScreen
from console.tui.screens.detail import DetailScreen
from console.tui.widgets.placeholder import Placeholder
from console.tui.widgets.preview import Preview
from console.tui.widgets.table import Column, Table
from queries.errors import DatabaseError
from queries.model import Finding, Node, Proof, split_id
from queries.safe_text import safe_text

ASSUMED = "Behaviour inferred: this engine does not document how its runner works."


def row_key(finding: Finding) -> str:
    """Return a row key; a node may have several findings."""
    return f"{finding.node_id} {finding.code}"


class StuckScreen(PageScreen):
    """Shows the session's findings. Reads the nodes of the findings near the cursor."""

    MODE = "stuck"
    KEYS = keymap.STUCK
    BINDINGS = bindings(keymap.STUCK)

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Node] = {}
        self._gone: set[str] = set()
        self._requested = ""  # node for which the last early refresh was requested

    @property
    def table(self) -> Table[Finding]:
        return self.query_one("#findings", Table)

    def body(self) -> Iterable[object]:
        yield Placeholder(id="notice")
        yield Table[Finding](self._columns(), row_key, id="findings", ascii=self.host.ascii)
        yield Preview(id="preview")

    def _columns(self) -> list[Column[Finding]]:
        return [
            Column("finding", 19, self._title),
            Column("node", 24, self._named, spare=True),
            Column("", 11, self._phase, 76),
            Column("since", 6, self._since, right=True),
            Column("action", 10, self._action, 56),
            Column("why", 0, lambda finding: Content.styled(safe_text(finding.sentence), "$faint"), 90),
        ]

    def on_mount(self) -> None:
        self.table.focus()

    def label(self) -> str | None:
        finding = self.table.current if self._ready else None
        return finding.engine if finding else None

    def note(self) -> str:
        left, cut = len(self.session.skipped_findings), sum(map(len, self.session.capped.values()))
        notes = [f"{left} not checked"] * bool(left) + [f"more of {cut} kind{'s' * (cut > 1)}"] * bool(cut)
        return f"{', '.join(notes)}, see help" if notes else ""

    def targets(self) -> list[Node]:
        finding = self.table.current
        node = self._known.get(finding.node_id) if finding else None
        return [node] if node is not None else []

    async def load(self) -> None:
        wanted: dict[str, list[str]] = {}
        for node_id in dict.fromkeys(finding.node_id for finding in self.table.around()):
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
        found = self.session.findings()
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
            sure = "Nothing is stuck, as far as the database can tell."
            notice.show("No problems found in the parts that could be checked." if self.session.more else sure, left)

    def _read_unknown(self) -> None:
        """Refresh early if the cursor's node was not read yet.

        This happens once per node, because the read may fail.
        """
        finding = self.table.current
        at = finding.node_id if finding is not None else ""
        if at and at != self._requested and at not in self._known and at not in self._gone:
            self._requested = at
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
        finding = self.table.current
        self.query_one(Preview).put(None if finding is None else lambda width: self._lines(finding, width))

    def _lines(self, finding: Finding, width: int) -> list[Spans]:
        return reason(finding, width) + (
            wrapped(ASSUMED, width, "italic $faint", 0) if finding.proof is Proof.ASSUMED else []
        )

    # cells

    def _title(self, finding: Finding) -> Content:
        return Content.styled(safe_text(finding.title), f"bold {severity_ink(finding.severity)}")

    def _named(self, finding: Finding) -> Content:
        node = self._known.get(finding.node_id)
        if node is not None:
            return Content(safe_text(node.title))
        _, kind, key = split_id(finding.node_id)
        return Content.styled(safe_text(f"{kind} {key}"), "$faint")

    def _phase(self, finding: Finding) -> Content:
        node = self._known.get(finding.node_id)
        if node is None:
            return Content.styled("gone" if finding.node_id in self._gone else "", "$faint")
        ink = f"$phase-{node.phase}"
        return Content.assemble((formatting.glyph(node.phase, self.host.ascii), ink), " ", (node.phase.value, ink))

    def _since(self, finding: Finding) -> Content:
        return Content(
            formatting.age(self.session.at - finding.since) if finding.since is not None else formatting.NONE
        )

    def _action(self, finding: Finding) -> Content:
        if finding.action is None:
            return Content.styled(formatting.NONE, "$faint")
        key = next((key for key, names in self.host.action_keys.items() if finding.action in names), "")
        return Content.assemble((key, "bold $accent"), " ", finding.action)

    # keys

    def action_open(self) -> None:
        finding = self.table.current
        node = self._known.get(finding.node_id) if finding else None
        if node is not None:
            self.app.push_screen(DetailScreen(node, self.MODE))
        elif finding is not None and finding.node_id in self._gone:
            self.say("It no longer exists.", "warn")
        elif finding is not None:
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
        finding = self.table.current
        if finding is None or finding.node_id != node_id or not self.is_current:
            return
        self.say("" if nodes else "It no longer exists.", "warn")
        self._known |= {node.id: node for node in nodes}
        if nodes:
            self.app.push_screen(DetailScreen(nodes[0], self.MODE))

    def action_reveal(self) -> None:
        node = self.cursor()
        if node is not None:
            self.host.reveal(node)
