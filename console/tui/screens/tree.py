"""The tree of one engine's jobs and tasks, or the flat list of what is unfinished, or of what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events, on
from textual.widgets import Input

from console.model.node_list import FAR, ListKind, NodeList, RefreshResult
from console.model.session import in_front
from console.text import formatting
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.pages import empty_state
from console.tui.screens.base import bindings
from console.tui.screens.tree_paging import TreePaging
from console.tui.widgets.columns import TASKS, Column, recorded
from console.tui.widgets.placeholder import Placeholder
from console.tui.widgets.tree_table import TreeTable
from queries.contract import engine_options
from queries.errors import DatabaseError
from queries.model import Node
from queries.safe_text import safe_text

MOVING = {"age", "idle", "finding"}  # fields whose meaning changes while the node does not


class TreeScreen(TreePaging):
    """Each engine keeps its lists, so that coming back finds cursor, folds and marks as they were left."""

    MODE = "tree"
    KEYS = (*keymap.LIST[:2], *keymap.TREE)
    BINDINGS = bindings(keymap.TREE)

    def __init__(self) -> None:
        super().__init__()
        self._label: str | None = None
        self._shape = ListKind.TREE
        self._listings: dict[tuple[str, ListKind], NodeList] = {}
        self._news: RefreshResult | None = None

    @property
    def node_list(self) -> NodeList | None:
        """The list in the foreground."""
        return None if self._label is None else self._listings.get((self._label, self._shape))

    def body(self) -> Iterable[object]:
        yield Placeholder(id="notice")
        table = TreeTable(ascii=self.unstick.ascii, id="tree")
        table.display = False
        yield table

    # what the page says of itself

    def label(self) -> str | None:
        return self._label

    def crumbs(self) -> Sequence[str]:
        if self._label is None:
            return []
        node_list = self.node_list
        all_jobs = " by ".join(filter(None, ("all jobs", engine_options.view(self.engine)[1])))
        live = formatting.only(node_list.only) if node_list and node_list.only else "most urgent first"
        shape = {ListKind.TREE: all_jobs, ListKind.LIVE: f"unfinished, {live}"}.get(self._shape)
        found = f"found: {node_list.text}" if node_list else ""
        filtered = [f"filter: {self._filter}"] if self._filter else []
        return [self._label, shape or found, *filtered]

    def offers(self, key: Key) -> bool:
        idle = {"tree.view": not engine_options.view(self.engine)[0], "tree.engine": len(self.session.engines) < 2}
        return super().offers(key) and not idle.get(key.id)

    def note(self) -> str:
        node_list = self.node_list
        if node_list is None or not node_list.read:
            return ""
        forest = node_list.forest
        marked = f"{len(forest.marks)} marked  " if forest.marks else ""
        more = "+" if node_list.has_more(None) or node_list.only else ""
        if self._filter:
            return f"{marked}{forest.matched} of {forest.loaded}{more}"
        return f"{marked}{forest.loaded}{more}"

    def cursor(self) -> Node | None:
        node_list = self.node_list
        at = self.table.cursor
        return node_list.forest.node(at) if node_list is not None and at is not None else None

    def targets(self) -> list[Node]:
        node_list = self.node_list
        if node_list is None:
            return []
        forest, cursor = node_list.forest, self.cursor()
        if not forest.marks:
            return [] if cursor is None else [cursor]
        return sorted(forest.marked(), key=lambda node: cursor is None or node.id != cursor.id)

    # reading

    async def look(self) -> None:
        node_list = self._current()
        if node_list is None:
            return
        news = await node_list.refresh(self.table.visible_ids)
        self.session.read(node_list.at)
        if node_list is self.node_list:
            self._news = news

    def _current(self) -> NodeList | None:
        """The list to show; where the engines have just become known, the tree of the context's or of the first."""
        engines = self.session.engines
        if self._label not in engines:
            self._label = in_front(engines, self.unstick.context)
        if self._label is None:
            return None
        key = (self._label, self._shape)
        if key not in self._listings:
            self._put(key, "")
        return self._listings[key]

    def _put(self, key: tuple[str, ListKind], text: str) -> None:
        label = key[0]
        self._listings[key] = NodeList(lambda: self.session.engines.get(label), key[1], text)

    def show_body(self) -> None:
        node_list = self._current()
        table, codes = self.table, self.session.codes()
        if node_list is not None and table.forest is not node_list.forest:
            table.show(node_list.forest, self._columns())
            self._apply_filter()
        if node_list is not None and self._news is not None:
            if self._filter and any(term.field in MOVING for term in self._filter.terms):
                self._apply_filter()
            table.sync(self._news.cells, now=node_list.at, codes=codes)
            if self._news.vanished is not None:
                self.say(f"{self._news.vanished.kind} {self._news.vanished.title} does not exist any more.", "warn")
            self._news = None
        elif codes != self._codes:
            table.sync(codes=codes)
        self._codes = codes
        self._notice(node_list)

    _codes: dict[str, tuple[str, ...]] | None = None

    def _columns(self) -> Sequence[Column]:
        engine = self.engine
        return recorded(TASKS, engine.not_recorded, (s.native for s in engine.spec.statuses)) if engine else TASKS

    def _notice(self, node_list: NodeList | None) -> None:
        notice = self.query_one(Placeholder)
        session = self.session
        shown = node_list is not None and node_list.read and len(node_list.forest) > 0
        if shown != self.table.display:
            self.table.display = shown
            if shown and not self._filtering:
                self.table.focus()
        if shown:
            notice.hide()
        else:
            notice.show(*empty_state.why(session, node_list, filtered=bool(self._filter)))

    def renew_header(self) -> None:
        super().renew_header()
        if self._ready and self.session.workspace is None:
            self._notice(None)

    # what the tree asks for

    @on(TreeTable.Cursor)
    def _cursor(self) -> None:
        self._ending = False
        self.say("")
        self.renew_place()

    @on(TreeTable.Marked)
    def _marked(self) -> None:
        self.renew_place()

    @on(TreeTable.Open)
    def _open(self, message: TreeTable.Open) -> None:
        from console.tui.screens.detail import DetailScreen

        node = message.table.forest.node(message.id)
        if node is not None:
            self.unstick.push_screen(DetailScreen(node, self.MODE))

    # keys

    def action_next_view(self) -> None:
        reader = self.session.engines.get(self._label or "")
        option, value = engine_options.next_view(reader.engine) if reader else ("", "")
        if reader is None or not option:
            self.say("This engine has one tree only.", "faint")
            return
        reader.choose(option, value)
        self._listings.pop((reader.label, ListKind.TREE), None)
        self._shape = ListKind.TREE
        self._switched()

    def action_step_system(self, step: int) -> None:
        labels = list(self.session.engines)
        if len(labels) > 1 and self._label in labels:
            self._label = labels[(labels.index(self._label) + step) % len(labels)]
            self._switched()
        else:
            self.say("There is one engine only in this database." if labels else "No engine was found.", "faint")

    def action_live(self) -> None:
        self._shape = ListKind.TREE if self._shape is ListKind.LIVE else ListKind.LIVE
        if self._shape is ListKind.LIVE and self._label is not None:
            self._put((self._label, ListKind.LIVE), "")  # urgency has changed since it was last looked at
        self._switched()

    def action_find(self) -> None:
        self._find("")

    def on_paste(self, event: events.Paste) -> None:
        """Text pasted outside a field is something to find."""
        event.prevent_default()
        self._find(" ".join(event.text.split()))

    def _find(self, text: str) -> None:
        from console.tui.screens.prompt import PromptScreen

        question = "An id, the beginning of one, or a kind; the database is asked."
        title = f"Find in {self._label}" if self._label else "Find"
        self.unstick.push_screen(PromptScreen(title, question, text), self._found)

    def _found(self, text: str | None) -> None:
        if not text:
            return
        if self._label is None:
            self.say("There is no engine to search yet.", "warn")
            return
        label = text.partition("/")[0]
        if "/" in text and label in self.session.engines:
            self._label = label
        self._shape = ListKind.FOUND
        self._put((self._label, ListKind.FOUND), text)
        self._switched()

    def _switched(self) -> None:
        self.say("")
        self._news = None
        self.renew()
        self.session.run_now()

    def action_mark_all(self) -> None:
        node_list = self.node_list
        if node_list is None:
            return
        if node_list.forest.marks:
            self.table.mark(list(node_list.forest.marks), on=False)
            return
        self.table.mark(node_list.forest.matching())
        stale_engines = " of those read so far; more may match" if node_list.has_more(None) else ""
        self.say(f"{len(node_list.forest.marks)} marked{stale_engines}.")

    def action_back(self) -> None:
        node_list = self.node_list
        if self._filter or self._filtering:
            self._clear_filter()
        elif node_list is not None and node_list.forest.marks:
            self.table.mark(list(node_list.forest.marks), on=False)
        elif self._shape is not ListKind.TREE:
            self._shape = ListKind.TREE
            self._switched()

    # the filter: what it is, and the line it is typed in, are imported when they are first wanted

    @property
    def _filtering(self) -> bool:
        """Whether there is the line in which a filter is typed: it is made when it is first wanted."""
        return any(line.display for line in self.query("#filter"))

    async def action_filter(self) -> None:
        if not self.query("#filter"):
            from console.tui.widgets.filter_line import FilterLine

            await self.mount(FilterLine(id="filter"), after=self.table)
        line = self.query_one("#filter")
        line.display = True
        line.focus()

    @on(Input.Changed, "#filter")
    def _typed(self, message: Input.Changed) -> None:
        from console.model import filter as filters

        try:
            typed = filters.parse(message.value)
        except filters.FilterError as error:
            self.say(f"{error.message} (at character {error.position + 1})", "warn")
            return
        self._filter = typed if typed.terms else None
        self.say(empty_state.UNOPENED if self._filter and self._shape is ListKind.TREE else "", "faint")
        self._eager = 0
        self._apply_filter()
        self.table.sync()
        self._notice(self.node_list)
        self.renew_place()

    def _apply_filter(self) -> None:
        node_list = self.node_list
        if node_list is None:
            return
        chosen = self._filter
        if chosen is None:
            node_list.forest.set_filter(None)
            return
        from console.model.filter import matches

        codes, at = self.session.codes(), node_list.at
        node_list.forest.set_filter(lambda node: matches(chosen, node, at, codes))

    def on_filter_line_kept(self) -> None:
        self.query_one("#filter").display = bool(self._filter)
        self.table.focus()

    def on_filter_line_left(self) -> None:
        self._clear_filter()

    def _clear_filter(self) -> None:
        line = self.query_one("#filter", Input)
        line.value = ""
        line.display = False
        self._filter = None
        self._apply_filter()
        self.table.sync()
        self.say("")
        self._notice(self.node_list)
        self.renew_place()
        self.table.focus()

    # from elsewhere

    def acted(self) -> None:
        node_list = self.node_list
        if node_list is not None and node_list.forest.marks:
            self.table.mark(list(node_list.forest.marks), on=False)

    def reveal(self, node: Node) -> None:
        """Show a node in its engine's tree, reading what leads to it."""
        self._label, self._shape = node.engine, ListKind.TREE
        self._switched()
        node_list = self._current()
        if node_list is not None:
            self.run_worker(self._reveal(node_list, node), group="read", exit_on_error=True)

    def _on_the_way(self, levels: int) -> bool:
        if levels > FAR:
            self.say(f"Reading what leads to it: {levels:,} levels so far. An arrow key stops here.")
        return self._ending

    async def _reveal(self, node_list: NodeList, node: Node) -> None:
        try:
            if node.parent_id is None and node.job_id is not None:  # itself in no tree, as a dead letter is: its job is
                page = await self.session.engines[node.engine].nodes([node.job_id])
                node = next(iter(page.nodes), node)
            self._ending = True
            found = await node_list.reveal(node, self._on_the_way)
        except DatabaseError as error:
            self.session.failed(error)
            self.say(str(error), "bad")
            return
        if not self._ending:
            return
        self._news = RefreshResult()
        self.renew()
        if not (found and self.table.go_to(node.id)):
            name = safe_text(f"{node.kind} {node.title}")
            self.say(f"{name} is not in the tree: it is gone, or the filter hides it.", "warn")
