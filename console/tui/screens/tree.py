"""Tree of one engine's nodes, and its unfinished nodes."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from textual import on
from textual.worker import Worker, WorkerError

from console.model.attention import in_front
from console.model.fields.field import Context, Field, Form
from console.model.fields.node import COLUMNS, FIELDS, previewed
from console.model.filter import Filter, Term, Value, uses_payloads
from console.model.flat_list import NOT_READ, WITH_FILTER, Cells, EdgeRow
from console.model.node_list import FAR_LEVELS, ListKind, NodeList
from console.text import formatting
from console.text.spans import Spans
from console.text.views import detail as views
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.screens.list_screen import ListScreen
from console.tui.views import empty_state
from console.tui.widgets.columns import recorded
from console.tui.widgets.list_table import ListTable
from console.tui.widgets.look import Look
from queries.contract.engine import next_view, view
from queries.db.errors import attempting
from queries.records.node import Node
from queries.text.safe_text import safe_text

# Fields of a filter that may change while the node does not.
TIME_DEPENDENT = {field.name for field in FIELDS if field.form is Form.AGE} | {"finding"}
FILTER_PAGES = 10  # pages that a filter may load on its own; further pages need a key press
CHILDREN_SHOWN = 30  # in the preview


class TreeScreen(ListScreen[Node]):
    """Keeps one list per engine and kind, each with its own cursor, folds and marks.

    All have the same filter and order.
    """

    MODE = "tree"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-wide"), (140, "-broad")]  # its columns need less room
    DEFAULT_CSS = """
    TreeScreen #preview { display: none; }
    TreeScreen.-tall #preview, TreeScreen.-broad #preview { display: block; }
    TreeScreen.-tall #preview { min-height: 6; }
    TreeScreen.-tall.-says #preview { min-height: 5; }
    TreeScreen.-broad #split #preview { width: 36%; height: 1fr; }
    """
    KEYS = (*keymap.ROWS, *keymap.TREE)

    def __init__(self) -> None:
        super().__init__()
        self._label: str | None = None
        self._kind = ListKind.TREE
        self._lists: dict[tuple[str | None, ListKind], NodeList] = {}
        self._nothing = NodeList(lambda: None, ListKind.TREE)  # shown until there is an engine
        self.look = Look[Node](COLUMNS, tree=True)
        self._filter_pages = 0  # pages that the filter has loaded on its own
        self._revealed = False  # whether another screen has sent the operator here; escape leads back to it
        self._seeking = False  # while pages are read up to a distant row; the cursor keys stop it
        self._visit = 0  # number of times that the operator came to the screen or to another list of it
        self._fetching: dict[tuple[NodeList, str | None], Worker[None]] = {}
        self._codes: dict[str, tuple[str, ...]] | None = None

    @property
    def rows(self) -> NodeList:
        """The list in the foreground."""
        return self._lists.get((self._label, self._kind), self._nothing)

    @property
    def row(self) -> None:
        """No group is under the cursor."""

    def open_row(self, row: Node) -> None:
        self.open(row)

    @property
    def reading(self) -> bool:
        """True while children or pages are being read in the background."""
        return bool(self._fetching)

    # description of the screen

    def label(self) -> str | None:
        return self._label

    def crumbs(self) -> Sequence[str]:
        if self._label is None:
            return []
        node_list = self.rows
        all_jobs = " by ".join(filter(None, ("all jobs", view(self.engine)[1])))
        live = formatting.scope_note(node_list.scope) if node_list.scope else "most urgent first"
        arrangement = self.arrangement()
        by_page = "" if node_list.ordered or arrangement else ", attention first in each page"
        kind = all_jobs + by_page if self._kind is ListKind.TREE else f"unfinished, {live}"
        return [formatting.engine_label(self._label), kind, *arrangement]

    def offers(self, key: Key) -> bool:
        useless = {"rows.group": not view(self.engine)[0], "tree.engine": len(self.session.engines) < 2}
        return (super().offers(key) or key.id == "rows.unfold") and not useless.get(key.id)

    def note(self) -> str:
        if not self.rows.read:
            return ""
        loaded = [] if self.filter else [f"{self.rows.loaded}{'+' if self.more() else ''}"]
        return "  ".join([*self.count(), *loaded])

    def more(self) -> bool:
        return self.rows.more() or bool(self.rows.scope)

    @property
    def partial(self) -> bool:
        return self.rows.partial

    def node(self, record: Node) -> Node:
        return record

    # refresh

    def rows_at(self) -> float | None:
        return self.rows.oldest(self.table.visible_ids) if self.rows.read else None

    async def read(self) -> None:
        node_list = self._choose()
        if node_list is self._nothing:
            return
        before = node_list.current
        cells = await node_list.refresh(self.table.visible_ids)
        if before is not None and before.id not in node_list and node_list is self.rows:
            self.say(f"{before.kind} {before.title} no longer exists.", "warn")
        await self._bring(node_list)
        if why := await node_list.read_documents(self.filter):
            self.say(f"{why[:1].upper()}{why[1:]}.", "warn")
        self.session.state.read(node_list.at)
        if node_list is self.rows and self.alive:
            await self.paint(lambda: self._paint(node_list, cells))

    async def _bring(self, node_list: NodeList) -> None:
        beginning = f"{self._label}/"
        unhealthy = [id_ for id_ in self.session.state.findings.codes if id_.startswith(beginning)]
        with attempting(lambda error: self.say(f"The order was not read: {error}", "warn")):
            await node_list.bring(unhealthy, (self._visit, self.session.state.findings_loaded))

    def _choose(self) -> NodeList:
        """Return the list to show.

        As long as no engine is chosen, choose the context's engine, or that of the worst incident.
        """
        engines = self.session.engines
        if self._label not in engines:
            self._label = in_front(engines, self.host.context, self.session.state.shown.incidents)
        if self._label is not None and (self._label, self._kind) not in self._lists:
            self._put((self._label, self._kind))
        return self.rows

    def _put(self, key: tuple[str, ListKind]) -> None:
        label = key[0]
        self._lists[key] = NodeList(lambda: self.session.engines.get(label), key[1])

    def _paint(self, node_list: NodeList, cells: Cells) -> None:
        self._show(node_list)
        if self.filter and any(term.field in TIME_DEPENDENT for term in self.filter.terms):
            node_list.filter_again(self.context())
        self._sync_codes()
        self.table.sync(cells, context=self.context())
        self.show_rows()

    def show_body(self) -> None:
        self._show(self._choose())
        self._sync_codes()
        self.show_rows()
        self.show_preview()

    @property
    def empty(self) -> bool:
        return super().empty or (self.filter is not None and not self.rows.matched)

    def show_rows(self) -> None:
        super().show_rows()
        self.query_one("#split").display = not self.empty  # its place is the notice's

    def _sync_codes(self) -> None:
        codes = self.session.state.findings.codes
        if codes is not self._codes:
            self._codes = codes
            self.look.context = self.context()
            if self.order is not None:
                self.rows.sort(self.order)
            self.table.sync()

    def _show(self, node_list: NodeList) -> None:
        if self.table.rows is not node_list:
            self.look.put_columns(self._columns())
            self.table.show(node_list)
            self._codes = None
        columns = [column.title for column in self.look.columns]
        if node_list.arrange_as(self.filter, self.chosen_order, self.context(), columns):
            self.table.sync()

    def times_changed(self) -> None:
        self.look.put_columns(self._columns())
        self.table.show(self.rows)

    def _columns(self) -> Sequence[Field[Node]]:
        engine = self.engine
        return recorded(COLUMNS, engine.not_recorded, (s.native for s in engine.spec.statuses)) if engine else COLUMNS

    def notice(self) -> tuple[str, str]:
        nodes = None if self._label is None else self.rows
        return empty_state.why(self.session, nodes, self.search_hint() if self.filter else "")

    def renew_header(self) -> None:
        super().renew_header()
        if self.alive and self.session.workspace is None:
            self.show_rows()

    # requests of the table

    @on(ListTable.Cursor)
    def _cursor(self) -> None:
        self._seeking = False
        self.say("")

    def severities(self, rows: Sequence[Node]) -> list[int]:
        of = self.session.state.findings.of
        return [findings[0].severity for row in rows if (findings := of(row.id))]

    def lines(self, row: Node, width: int) -> list[Spans]:
        return views.preview(
            row,
            width,
            now=self.rows.at,
            helps=self.helps(),
            facts=previewed(row, self.rows.at, self.engine),
            problems=self.session.state.findings.of(row.id),
            children=self.rows.below(row.id)[:CHILDREN_SHOWN],
        )

    @on(ListTable.Expand)
    def _expand(self, message: ListTable.Expand) -> None:
        self._fetch(self.rows, message.id, self.rows.first(message.id))

    @on(ListTable.More)
    def _more(self, message: ListTable.More) -> None:
        node_list, parent_id = self.rows, message.parent_id
        if not node_list.read:
            return
        if message.scan_required:
            self._confirm_scan(node_list, parent_id)
            return
        if message.asked and node_list.full(parent_id):
            self._search_below(parent_id)
            return
        if self.filter and not message.asked:
            self._filter_pages += 1
            if self._filter_pages > FILTER_PAGES:
                node_list.edge(parent_id, EdgeRow.MORE, WITH_FILTER)
                self.table.sync()
                return
        self._fetch(node_list, parent_id, node_list.next(parent_id))

    def _confirm_scan(self, node_list: NodeList, parent_id: str | None) -> None:
        from console.tui.screens.confirm_scan import confirm_scan

        scan_required = node_list.scan_required.get(parent_id)
        if scan_required is not None:
            confirm_scan(self.app, [scan_required], lambda: self._scan(node_list, parent_id))

    def _scan(self, node_list: NodeList, parent_id: str | None) -> None:
        if parent_id is None:
            self.say("This list cannot be read without its index.", "warn")
        else:
            node_list.edge(parent_id, EdgeRow.LOADING)
            self.table.sync()
            self._fetch(node_list, parent_id, node_list.first(parent_id, allow_scan=True))

    def _search_below(self, parent_id: str | None) -> None:
        if not self.filter:
            key = self.host.keys.shown(keymap.BY_ID["rows.filter"])
            self.say(f"Not all can be loaded: {key} filters, and enter here then searches all of them.", "warn")
            return
        below = (Term(field="parent", values=(Value(text=parent_id, op="="),)),) if parent_id else ()
        engine = Term(field="engine", values=(Value(text=self._label or "", op="="),))
        self.host.search(Filter(terms=(*self.filter.terms, engine, *below)))

    def _fetch(self, node_list: NodeList, parent_id: str | None, read: Coroutine[Any, Any, object]) -> None:
        """Run ``read`` in the background, unless the same children are being read already."""
        if (node_list, parent_id) in self._fetching:
            read.close()
            return
        self._fetching[node_list, parent_id] = self.run_worker(self._fetched(node_list, parent_id, read), group="read")

    async def _fetched(self, node_list: NodeList, parent_id: str | None, read: Coroutine[Any, Any, object]) -> None:
        try:
            done = await self.succeeds(read)
        finally:
            self._fetching.pop((node_list, parent_id), None)
        if not done:
            node_list.edge(parent_id, EdgeRow.MORE, NOT_READ)
        if node_list is self.rows:
            self.table.expect()
            self.table.sync()
            self.renew_place()

    async def read_targets(self) -> None:
        await super().read_targets()
        if self.rows and (row := self.rows.row(self.rows.cursor_row)).edge is EdgeRow.LOADING:
            with contextlib.suppress(KeyError, WorkerError):
                await self._fetching[self.rows, row.parent_id].wait()  # the cursor then is on the first row read

    # choice of the list

    def action_group(self) -> None:
        reader = self.session.engines.get(self._label or "")
        option, value = next_view(reader.engine) if reader else ("", "")
        if reader is None or not option:
            self.say("This engine has only one grouping.", "faint")
            return
        reader.variant.set_option(option, value)
        self._lists.pop((reader.label, ListKind.TREE), None)
        self._kind = ListKind.TREE
        self._switched()

    def action_hide_guess(self) -> None:
        reader, workspace = self.session.engines.get(self._label or ""), self.session.workspace
        if reader is None or workspace is None or not reader.engine.guess:
            self.say("This is no guess: only the table of a guess can be hidden.", "faint")
            return
        workspace.hide(reader)
        self._label = next((label for label in self.session.engines if label != reader.label), reader.label)
        self._switched()
        self.session.refresh()
        self.say(f"{safe_text(reader.engine.of_table)} is hidden here: it holds no work.")

    def action_step_system(self, step: int) -> None:
        labels = list(self.session.engines)
        if len(labels) > 1 and self._label in labels:
            self._label = labels[(labels.index(self._label) + step) % len(labels)]
            self._switched()
        else:
            self.say("This database has only one engine." if labels else "No engine was found.", "faint")

    def show_engine(self, label: str) -> None:
        """Show the list of another engine."""
        if label != self._label:
            self._label = label
            self._switched()

    def action_live(self) -> None:
        self._kind = ListKind.TREE if self._kind is ListKind.LIVE else ListKind.LIVE
        if self._kind is ListKind.LIVE and self._label is not None:
            self._put((self._label, ListKind.LIVE))  # the order by urgency has changed since the last time
        self._switched()

    def on_screen_suspend(self) -> None:
        if self.app.current_mode != self.MODE:  # not for a dialog or the screen of a node
            self._visit += 1

    def _switched(self) -> None:
        self._visit += 1
        self.say("")
        self.renew()
        self.session.run_now()

    def leave(self) -> None:
        if self._kind is not ListKind.TREE:
            self._kind = ListKind.TREE
            self._switched()
        elif self._revealed:
            self._revealed = False
            self.host.action_go(-1)

    # filter and order

    def context(self) -> Context:
        return Context(
            now=self.rows.at,
            ascii=self.host.ascii,
            codes=self.session.state.findings.codes,
            below=self._below(),
            documents=self.rows.documents,
        )

    def _below(self) -> Mapping[str, int]:
        numbers, rows = Counter[str](), self.rows
        for id_ in self.session.state.findings.codes:
            above = rows.parent(id_) if id_ in rows else None
            while above is not None:
                numbers[above] += 1
                above = rows.parent(above)
        return numbers

    def set_filter(self, filter: Filter | None) -> None:
        if filter:
            self.say(empty_state.LIMITS[self._kind], "faint")
        self._filter_pages = 0
        super().set_filter(filter)
        if filter and uses_payloads(filter):
            self.session.run_now()  # they are not read yet

    # requests of the app

    def reveal(self, node: Node) -> None:
        """Move the cursor to a node in its engine's tree. Reads all its ancestors."""
        self._label, self._kind, self._revealed = node.engine, ListKind.TREE, True
        self._switched()
        node_list = self._choose()
        if node_list is not self._nothing:
            self.begin(self._reveal(node_list, node))

    def _continue(self, levels: int) -> bool:
        if levels > FAR_LEVELS:
            self.say(f"Reading the ancestors: {levels:,} levels so far. An arrow key stops it.")
        return self._seeking

    async def _reveal(self, node_list: NodeList, node: Node) -> None:
        reader = self.session.engines.get(node.engine)
        if reader and node.parent_id is None and node.job_id is not None:  # not in a tree: show its job
            page = await reader.nodes.read([node.job_id])
            node = next(iter(page.nodes), node)
        self._seeking = True
        exists = await node_list.load(node, self._continue)
        if not self._seeking:
            return
        if node_list is self.rows:
            self._paint(node_list, {})
        self.renew()
        name = safe_text(f"{node.kind} {node.title}")
        if not exists:
            self.leave()  # here the next key would act on another row
            self.host.say(f"{name} is not in the tree: it no longer exists, or its parents form a ring.", "warn")
        elif not self.table.go_to(node.id):
            self.say(f"{name} is not in the tree: the filter hides it.", "warn")
