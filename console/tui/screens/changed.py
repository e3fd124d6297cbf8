"""List of what the engines and the operators changed in the last ten minutes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.model.fields.change import CHANGES, CHANGES_COUNTED, key
from console.model.newest import Newest
from console.text import formatting
from console.text.spans import text
from console.text.views import changes as views
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.screens.audit_entry import AuditEntryScreen
from console.tui.screens.log_screen import LogScreen
from console.tui.widgets.messages import note
from console.tui.widgets.text_bar import TextBar
from queries.changed import read_changes
from queries.records.change import Changes, NodeChange
from queries.records.node import Node, ScanRequired
from queries.workspace import Workspace

WINDOW_SECONDS = 600.0  # age of the oldest change that is shown
CHANGES_LOADED = CHANGES_COUNTED // 4  # older changes that are read at once


class ChangedScreen(LogScreen[NodeChange]):
    """Shows the newest changes first."""

    MODE = "changed"
    RECORDS = CHANGES
    DEFAULT_CSS = """
    ChangedScreen #counts, ChangedScreen #unsearched {
        height: auto; max-height: 3; text-wrap: wrap; color: $text-muted; padding: 0 1;
    }
    """
    KEYS = (*keymap.ROWS, *keymap.CHANGED)

    def __init__(self) -> None:
        super().__init__()
        self._answer: Changes | None = None  # the last one
        self._routine = False  # with changes that say only that work goes on
        self._scanned = ""  # when the operator had tables scanned, and what came of it
        self._counts_bar = TextBar(note, id="counts")
        self._unsearched_bar = TextBar(note, id="unsearched")

    def body(self) -> Iterable[object]:
        yield self._counts_bar
        yield from super().body()
        yield self._unsearched_bar

    def note(self) -> str:
        answer = self._answer
        capped = f"capped: {len(self.rows.records)} loaded" if self.more() else ""
        return "  ".join(filter(None, [*self.count(), "last 10 minutes" if answer else "", capped]))

    def node(self, record: NodeChange) -> Node | None:
        return record.node

    async def load(self) -> None:
        if self.session.workspace is not None:
            routine = self._routine
            answer = await read_changes(self.session.workspace, WINDOW_SECONDS, routine=routine)
            if routine == self._routine:
                self._answer = answer
                self.newest.refresh(answer.changes, answer.cursor, answer.since)
                self.session.state.read(answer.at)
                await self._count()

    async def _count(self) -> None:
        if len(self.newest.records) < CHANGES_COUNTED:
            await self.read_more()

    def show_body(self) -> None:
        answer = self._answer
        unsearched = " ".join([*views.notes(answer, self._scan_key, brief=True), self._scanned]) if answer else ""
        counted = [text(each) for each in views.counts(self.newest.records, capped=self.more())]
        note = views.routine(answer) if answer else ""
        more = self.host.keys.shown(keymap.BY_ID["changed.more"])
        counted += [f"not shown, of the newest: {note} ({more} shows them)"] * bool(note)
        for bar, said in ((self._counts_bar, "  ·  ".join(counted)), (self._unsearched_bar, unsearched)):
            bar.display = bool(said)
            bar.show(said)
        super().show_body()

    def nothing(self) -> tuple[str, str]:
        assert self._answer is not None
        said = "\n".join(views.notes(self._answer, self._scan_key))
        return f"{views.none(self._answer)} in the last ten minutes.", said

    @property
    def _scan_key(self) -> str:
        return self.host.keys.shown(keymap.BY_ID["changed.scan"])

    def _scans(self) -> list[ScanRequired]:
        sources = self._answer.sources if self._answer else ()
        return [source.scan_required for source in sources if source.scan_required]

    def offers(self, key: Key) -> bool:
        return super().offers(key) and (key.id != "changed.scan" or bool(self._scans()))

    def action_scan(self) -> None:
        """Scan once, if the operator confirms the cost. Refreshes never scan."""
        from console.tui.screens.confirm_scan import confirm_scan

        if scans := self._scans():
            confirm_scan(self.app, scans, lambda: self.begin(self._scan(), "more"))
        else:
            self.say("Nothing here needs a scan.", "faint")

    async def _scan(self) -> None:
        self.say("Scanning …", "faint")
        routine = self._routine
        if self.session.workspace is not None:
            answer = await read_changes(
                self.session.workspace, WINDOW_SECONDS, None, CHANGES_COUNTED, routine=routine, allow_scan=True
            )
            if routine == self._routine:
                self.newest.refresh(answer.changes, answer.cursor, answer.since)
                least = f", of the newest {CHANGES_COUNTED} changes only" if answer.capped else ""
                failed = [f"{source.name}: {source.unreadable}" for source in answer.sources if source.unreadable]
                self._scanned = " ".join([f"Last scan at {formatting.instant(answer.at)}{least}.", *failed])
                self.renew()

    async def older(self, workspace: Workspace, cursor: str) -> tuple[Sequence[NodeChange], str | None]:
        answer = await read_changes(workspace, cursor=cursor, limit=CHANGES_LOADED, routine=self._routine)
        return answer.changes, answer.cursor

    def action_more(self) -> None:
        """Show changes that say only that work goes on, or leave them out again."""
        self._routine = not self._routine
        self.newest, self._answer, self._scanned = Newest(key), None, ""
        self.say("With polls, heartbeats, locks and due times." if self._routine else "Without them.", "faint")
        self.show_body()
        self.session.run_now()

    def open(self, record: NodeChange) -> None:
        if record.entry is not None:
            self.app.push_screen(AuditEntryScreen(record.entry, self.MODE))
        elif record.node is None:
            self.say(f"{record.id} no longer exists.", "warn")
        else:
            super().open(record)
