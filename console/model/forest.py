"""The live tree as pure data: which nodes are loaded, which rows are visible, where the cursor and the marks are.

The visible rows are one flat sequence that is spliced where something changes, so a key costs the rows it shows or
hides; nothing recurses, so depth has no limit. Cursor and marks are node ids. Rows that stand for unread nodes
("more…") have ids that no node can have (they hold a NUL, which PostgreSQL cannot store in text).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator

from console.model.entry import EdgeRow, Entry, Row, append, common, count, edge_entry, merge, place, prepend, tail_id
from console.model.held import Held, Predicate
from queries.model import Node, Record

__all__ = ["Change", "EdgeRow", "Forest", "Row", "tail_id"]

FIELDS = Node.__struct_fields__


class Change(Record):
    """What an operation did. ``cells``: the fields that differ now, by node. ``lost``: the node that was under the
    cursor and has no row any more; the cursor is on its neighbour."""

    cells: dict[str, frozenset[str]] = {}
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    lost: Node | None = None


class Forest(Held):
    """Loaded nodes, their order, and the rows a screen shows of them. Ids it does not know are passed over."""

    # cursor and marks

    def move(self, rows: int) -> bool:
        """Move the cursor down (up, where negative), as far as there are rows. False where it stays."""
        before = self._display.cursor
        if before is None:
            return False
        index = self._rows.index(before) + rows
        self._display.cursor = self._rows[min(max(index, 0), len(self._rows) - 1)]
        return self._display.cursor is not before

    def move_to(self, row_id: str) -> bool:
        """Put the cursor on a visible row. False where there is no such row."""
        entry = self._find(row_id)
        if entry is None or entry.block is None:
            return False
        self._display.cursor = entry
        return True

    def reveal(self, node_id: str) -> bool:
        """Unfold the ancestors of a loaded node and put the cursor on it. False: not loaded, or the filter hides it."""
        entry = self._entries.get(node_id)
        if entry is None or not entry.shown:
            return False
        for ancestor in list(entry.ancestors()):
            self.expand(ancestor.id)
        return self.move_to(node_id)

    def mark(self, node_ids: Iterable[str], on: bool = True) -> None:
        """Mark loaded nodes, or take marks away."""
        ids = set(node_ids)
        self.marks = self.marks | (ids & self._entries.keys()) if on else self.marks - ids
        self._away = {node_id: node for node_id, node in self._away.items() if node_id in self.marks}

    # unfolding

    def expand(self, node_id: str) -> bool:
        """Show a node's children. True where they were never read: the caller should, a "loading" row says so."""
        entry = self._entries.get(node_id)
        if entry is None or entry.expanded or not entry.expandable:
            return False
        unread = entry.children is None
        entry.expanded = True
        if unread and entry.tail is None:
            entry.tail = edge_entry(entry, EdgeRow.LOADING, "")
        if entry.block is not None:
            self._display.unfold(entry)
        return unread

    def collapse(self, node_id: str) -> bool:
        """Hide a node's children; a cursor below comes up to the node. False where they were not shown."""
        entry = self._entries.get(node_id)
        if entry is None or not entry.expanded:
            return False
        entry.expanded = False
        if entry.block is not None:
            self._display.rise(entry)
            self._display.fold(entry)
        return True

    def expand_loaded(self, node_id: str) -> None:
        """Show everything loaded below a node; reads nothing."""
        entry = self._entries.get(node_id)
        if entry is None or entry.children is None:
            return
        self._display.begin()
        if entry.block is not None:
            self._display.fold(entry)
        for below in entry.loaded():
            below.expanded = below.expanded or (below.children is not None and below.expandable)
        if entry.block is not None and entry.expanded:
            self._display.unfold(entry)
        self._display.settle(self._entries)

    # what the database says

    _parting = False

    @contextlib.contextmanager
    def evicting(self) -> Iterator[None]:
        """What goes meanwhile is still there in the database: only not held any more. Its marks stay."""
        self._parting = True
        try:
            yield
        finally:
            self._parting = False

    def set_children(self, parent_id: str | None, nodes: Iterable[Node], complete: bool) -> Change:
        """These are the children (for None: the roots), in this order; others are dropped. Not ``complete``: there
        is a next page, and a "more" row says so."""
        self.set_head(parent_id, None)
        return self._children(parent_id, nodes, lambda old, read, new: read, complete)

    def append_children(self, parent_id: str | None, nodes: Iterable[Node], complete: bool) -> Change:
        """The next page of children. Those already there keep their place."""
        return self._children(parent_id, nodes, append, complete)

    def prepend_children(self, parent_id: str | None, nodes: Iterable[Node], complete: bool) -> Change:
        """The page before those that are there. Not ``complete``: there are more before it, and a row says so."""
        change = self._children(parent_id, nodes, prepend, None)
        self.set_head(parent_id, None if complete else EdgeRow.BEFORE)
        return change

    def merge_children(self, parent_id: str | None, nodes: Iterable[Node]) -> Change:
        """A page read again: new nodes go after the one they follow in it (else before the first one known, else to
        the top); nobody is dropped or moved. The "more" row stays as it is."""
        return self._children(parent_id, nodes, merge, None)

    def set_tail(self, parent_id: str | None, kind: EdgeRow | None, note: str = "") -> Change:
        """Say what a parent's row for unread children means; None takes the row away."""
        parent = self._find(parent_id or "")
        self._display.begin()
        if parent is not None:
            self._set_tail(parent, kind, note)
        return self._finish()

    def set_head(self, parent_id: str | None, kind: EdgeRow | None, note: str = "") -> Change:
        """Say that children before the loaded ones were let go; None takes the row away."""
        parent = self._find(parent_id or "")
        self._display.begin()
        if parent is not None and parent.head is not None:
            self._display.hide([parent.head])
            parent.head = None
        if parent is not None and kind is not None:
            parent.head = edge_entry(parent, kind, note)
            if self._display.is_open(parent):
                self._display.show(0 if parent is self._root else self._rows.index(parent) + 1, [parent.head])
        return self._finish()

    def forget_children(self, node_id: str) -> None:
        """Let go of what is loaded below a folded node, as if it had never been read."""
        entry = self._entries.get(node_id)
        if entry is not None and not entry.expanded and entry.children:
            self._display.begin()
            self._replace(entry, [], [])
            entry.children = entry.tail = entry.head = None
            self._finish()

    def update(self, nodes: Iterable[Node]) -> Change:
        """The same nodes, read again. No row moves; with a filter, rows come and go as they match."""
        self._display.begin()
        cells: dict[str, frozenset[str]] = {}
        for node in nodes:
            entry = self._entries.get(node.id)
            if entry is not None:
                self._renew(entry, node, cells)
        return self._finish(cells)

    def remove(self, node_ids: Collection[str]) -> Change:
        """These nodes are gone, with what is loaded below them. A cursor among them goes to the next row that stays,
        else to the previous one."""
        self._display.begin()
        removed: list[str] = []
        self._drop((self._entries[node_id] for node_id in node_ids if node_id in self._entries), removed)
        return self._finish(removed=removed)

    def clear(self) -> None:
        """Forget everything but the filter."""
        self.marks, self._away, self.matched, self._entries = set(), {}, 0, {}
        self._plant()

    def set_filter(self, predicate: Predicate | None) -> Change:
        """Show only nodes that match, and their ancestors; None shows all. Also the way to test all nodes again."""
        self._display.begin()
        self._display.fold(self._root)
        self._predicate = predicate
        self._root.live = self.matched = 0
        self._root.final = False
        for entry in self._entries.values():
            entry.matched, entry.live, entry.final = False, 0, False
        for entry in self._entries.values():
            entry.matched = predicate is None or (entry.node is not None and predicate(entry.node))
            self.matched += entry.matched
            if entry.matched and not entry.live:
                count(entry, 1)
        self._display.unfold(self._root)
        return self._finish()

    # how it is done

    def _children(
        self,
        parent_id: str | None,
        nodes: Iterable[Node],
        arrange: Callable[[list[Entry], list[Entry], set[Entry]], list[Entry]],
        complete: bool | None,
    ) -> Change:
        """``arrange`` orders the old children and those read, some of them new. ``complete`` None: leave the tail."""
        parent = self._find(parent_id or "")
        self._display.begin()
        if parent is None or parent.kind is not None:
            return self._finish()
        cells: dict[str, frozenset[str]] = {}
        removed: list[str] = []
        marks, unread = set(self.marks), parent.children is None
        read = self._adopt(parent, nodes, cells, removed)
        new = {entry: entry.id for entry in read if entry.id not in self._entries}
        self._entries.update((entry.id, entry) for entry in new)
        at, first = self._display.cursor, next(iter(parent.children or ()), None)
        waiting, above = parent.tail is not None and parent.tail is at, parent.head is not None and parent.head is at
        arrivals = self._replace(parent, arrange(parent.children or [], read, set(new)), removed)
        self.marks |= marks & set(new.values())
        for node_id in self._away.keys() & new.values():
            del self._away[node_id]
        if waiting and arrivals is not None:
            self._display.cursor = arrivals
        elif above and first is not None and first.block is not None:
            self._display.cursor = first
        if complete is not None or unread:
            self._set_tail(parent, None if complete else EdgeRow.MORE, "")
        return self._finish(cells, new.values(), removed)

    def _adopt(
        self, parent: Entry, nodes: Iterable[Node], cells: dict[str, frozenset[str]], removed: list[str]
    ) -> list[Entry]:
        """Entries for the nodes read, old or new, without doubles and without ancestors of the parent (a loop in the
        data). One that was under another parent begins anew here."""
        latest = {node.id: node for node in nodes}
        known = {self._entries[node_id] for node_id in latest if node_id in self._entries}
        for above in (parent, *parent.ancestors()) if known else ():
            if above in known:
                known.remove(above)
                del latest[above.id]
        self._drop((entry for entry in known if entry.parent is not parent), removed)
        found: list[Entry] = []
        for node in latest.values():
            entry = self._entries.get(node.id)
            if entry is None:
                entry = Entry(node.id, node, parent)
                entry.matched = self._predicate is None or self._predicate(node)
                self.matched += entry.matched
            else:
                self._renew(entry, node, cells)
            found.append(entry)
        return found

    def _renew(self, entry: Entry, node: Node, cells: dict[str, frozenset[str]]) -> None:
        old = entry.node
        if old != node:
            cells[node.id] = frozenset(name for name in FIELDS if getattr(old, name) != getattr(node, name))
            entry.node = node
        matched = self._predicate is None or self._predicate(node)
        if matched != entry.matched:
            shown = entry.shown
            entry.matched = matched
            self.matched += 1 if matched else -1
            if entry.shown != shown:
                self._flip(entry)

    def _drop(self, entries: Iterable[Entry], removed: list[str]) -> None:
        groups: dict[Entry, set[Entry]] = {}
        for entry in entries:
            if entry.parent is not None:
                groups.setdefault(entry.parent, set()).add(entry)
        for parent, gone in groups.items():
            if parent is self._root or parent.id in self._entries:
                self._replace(parent, [child for child in parent.children or () if child not in gone], removed)

    def _replace(self, parent: Entry, fresh: list[Entry], removed: list[str]) -> Entry | None:
        """Make ``fresh`` the children, splicing the rows that differ. The first new entry that got a row, if any."""
        old = parent.children or []
        head, tail = common(old, fresh)
        out, into = old[head : len(old) - tail], fresh[head : len(fresh) - tail]
        self._display.hide(out)
        parent.children, parent.final = fresh, False
        for position, entry in enumerate(into, head):
            entry.place = position
        kept = set(into)
        for entry in out:
            if entry not in kept:
                self._forget(entry, removed)
        shown = parent.shown
        parent.live += sum(entry.shown for entry in into) - sum(entry.shown for entry in out)
        if parent.shown != shown and parent is not self._root:
            self._flip(parent)
        elif self._display.is_open(parent):
            self._display.show(self._display.slot(parent, head), into)
        return next((entry for entry in into if entry.block is not None), None)

    def _flip(self, entry: Entry) -> None:
        """The filter has just begun, or ceased, to show ``entry``: tell its ancestors, show or hide the rows."""
        top, parent = count(entry, 1 if entry.shown else -1)
        if not entry.shown:
            self._display.hide([top])
        elif self._display.is_open(parent):
            self._display.show(self._display.slot(parent, place(parent.children or [], top)), [top])

    def _set_tail(self, parent: Entry, kind: EdgeRow | None, note: str) -> None:
        if parent.tail is not None and kind is not None:
            parent.tail.kind, parent.tail.note = kind, note
            return
        if parent.tail is not None:
            self._display.hide([parent.tail])
            parent.tail = None
        elif kind is not None:
            end = self._display.end(parent) if self._display.is_open(parent) else None
            parent.tail = edge_entry(parent, kind, note)
            if end is not None:
                self._display.show(end, [parent.tail])

    def _forget(self, entry: Entry, removed: list[str]) -> None:
        for below in entry.loaded():
            removed.append(below.id)
            del self._entries[below.id]
            self.matched -= below.matched
            if below.id in self.marks and self._parting and below.node is not None:
                self._away[below.id] = below.node
            else:
                self.marks.discard(below.id)

    def _finish(
        self,
        cells: dict[str, frozenset[str]] | None = None,
        added: Collection[str] = (),
        removed: Collection[str] = (),
    ) -> Change:
        lost = self._display.settle(self._entries)
        gone = tuple(node_id for node_id in removed if node_id not in self._entries)
        return Change(cells=cells or {}, added=tuple(added), removed=gone, lost=lost)
