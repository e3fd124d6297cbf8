"""Forest: splicing equals a rebuild; cursor and marks follow ids."""

from __future__ import annotations

from collections.abc import Iterable

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from console.model.chunked_list import CHUNK_ITEMS, ChunkedList, ListChunk
from console.model.forest import EdgeRow, Forest, tail_id
from console.model.order import Order
from queries.records.node import Node, Phase
from tests.profiles import stateful


def node(key: str, phase: Phase = Phase.READY, **fields: object) -> Node:
    return Node(engine="s", id=f"s/t:{key}", kind="t", title=key, phase=phase, version="1", **fields)  # type: ignore[arg-type]


def nodes(keys: Iterable[object], phase: Phase = Phase.READY) -> list[Node]:
    return [node(str(key), phase) for key in keys]


def ids(keys: Iterable[object]) -> list[str]:
    return [f"s/t:{key}" for key in keys]


def shown(forest: Forest) -> list[str]:
    """Return the rows as a reader sees them.

    Two spaces per level, the key, and the kind of an edge row in brackets.
    """
    return [
        "  " * row.depth + (f"[{row.edge}]" if row.record is None else row.record.title + ("~" if row.dimmed else ""))
        for row in forest.rows(0, len(forest))
    ]


def failed(item: Node) -> bool:
    return item.phase is Phase.FAILED


def family() -> Forest:
    forest = Forest()
    forest.set_children(None, nodes("abc"), complete=True)
    forest.set_children("s/t:b", nodes(["b1", "b2"]), complete=True)
    return forest


def test_a_cursor_on_the_loading_row_goes_to_the_first_child() -> None:
    forest = family()
    forest.expand("s/t:a")
    forest.move_to(tail_id("s/t:a"))
    forest.set_children("s/t:a", nodes(["a1", "a2"]), complete=False)
    assert forest.cursor == "s/t:a1"
    forest.move_to(tail_id("s/t:a"))
    forest.append_children("s/t:a", nodes(["a3"]), complete=True)
    assert forest.cursor == "s/t:a3"


@pytest.mark.parametrize(
    ("cursor", "gone", "heir"),
    [("b", "b", "c"), ("c", "c", "b"), ("a", "ab", "c"), ("a", "ba", "c"), ("c", "bc", "a"), ("c", "cba", None)],
)
def test_a_cursor_on_a_removed_node_goes_next_else_previous(cursor: str, gone: str, heir: str | None) -> None:
    forest = family()
    forest.move_to(f"s/t:{cursor}")
    change = forest.remove(ids(gone))
    assert change.vanished == node(cursor)
    assert not any(id_ in forest for id_ in ids(gone))
    assert forest.cursor == (heir and f"s/t:{heir}")


def test_a_cursor_below_a_removed_node_leaves_with_it() -> None:
    forest = family()
    forest.expand("s/t:b")
    forest.move_to("s/t:b1")
    change = forest.remove(["s/t:b"])
    assert not any(id_ in forest for id_ in ids(["b", "b1", "b2"]))
    assert forest.cursor == "s/t:c"
    assert change.vanished == node("b1")


def test_collapsing_takes_the_cursor_up() -> None:
    forest = family()
    forest.expand("s/t:b")
    forest.move_to("s/t:b2")
    forest.collapse("s/t:b")
    assert forest.cursor == "s/t:b"


def test_set_children_again_drops_moves_and_keeps() -> None:
    forest = family()
    forest.expand("s/t:b")
    forest.move_to("s/t:b1")
    forest.mark(ids(["a", "b1"]))
    change = forest.set_children(None, nodes("cbd"), complete=True)
    assert shown(forest) == ["c", "b", "  b1", "  b2", "d"]
    assert (forest.cursor, forest.marks) == ("s/t:b1", {"s/t:b1"})
    assert ("s/t:a" in forest, "s/t:d" in forest, change.vanished) == (False, True, None)


def test_a_node_read_under_another_parent_moves_there() -> None:
    forest = family()
    forest.expand("s/t:b")
    forest.expand("s/t:a")
    forest.mark(["s/t:b1"])
    forest.move_to("s/t:b1")
    change = forest.set_children("s/t:a", nodes(["b1"]), complete=True)
    assert shown(forest) == ["a", "  b1", "b", "  b2", "c"]
    assert (change.vanished, forest.cursor, forest.marks) == (None, "s/t:b1", {"s/t:b1"})


def test_an_update_names_the_cells_that_changed() -> None:
    forest = family()
    change = forest.update([node("a"), node("b", Phase.FAILED, attempts=2), node("stranger")])
    assert change.cells == {"s/t:b": frozenset({"phase", "attempts"})}
    assert forest.record("s/t:b") == node("b", Phase.FAILED, attempts=2)


def test_filtering_moves_the_cursor_to_the_next_row_that_stays() -> None:
    forest = Forest()
    forest.set_children(None, [*nodes("abc"), *nodes("x", Phase.FAILED), *nodes("d")], complete=True)
    forest.move_to("s/t:b")
    assert forest.set_filter(failed).vanished == node("b")
    assert forest.cursor == "s/t:x"


def test_siblings_are_sorted_and_return_to_the_order_of_their_pages() -> None:
    forest = family()
    forest.expand("s/t:b")
    forest.move_to("s/t:b2")
    forest.set_order(Order("title", lambda item: item.title, reverse=True))
    assert forest.order is not None
    assert shown(forest) == ["c", "b", "  b2", "  b1", "a"]
    assert forest.cursor == "s/t:b2"
    forest.append_children(None, nodes(["bb"]), complete=True)
    assert shown(forest) == ["c", "bb", "b", "  b2", "  b1", "a"]
    assert forest.children(None) == tuple(ids(["a", "b", "c", "bb"])), "pages are evicted in their own order"
    forest.update([node("a", attempts=3)])
    forest.set_order(Order("attempts", lambda item: item.attempts))
    assert shown(forest) == ["a", "b", "  b1", "  b2", "c", "bb"], "nodes without a value are last"
    forest.set_order(None)
    assert shown(forest) == ["a", "b", "  b1", "  b2", "c", "bb"]


def test_moving_stops_at_the_ends() -> None:
    forest = family()
    assert not forest.move(-1)
    assert forest.move(99)
    assert forest.cursor == "s/t:c"
    assert not forest.move(1)
    forest = Forest()
    assert (len(forest), forest.loaded) == (0, 0)
    assert not forest.shown(0, 1)
    assert forest.children(None) is None
    assert not forest.move(1)


def test_what_is_shown_excludes_tails() -> None:
    forest = Forest()
    forest.set_children(None, nodes(range(5)), complete=False)
    assert [node.id for node in forest.shown(3, 99)] == ids([3, 4])


def test_a_node_whose_key_looks_like_a_tail_is_a_node() -> None:
    forest = Forest()
    forest.set_children(None, nodes(["a", "a#more"]), complete=False)
    assert forest.expand("s/t:a")
    assert shown(forest) == ["a", "  [loading]", "a#more", "[more]"]
    assert forest.move_to("s/t:a#more")


class Item:
    def __init__(self, name: int) -> None:
        self.name = name
        self.chunk: ListChunk | None = None


def test_a_splice_leaves_all_but_the_neighbouring_chunks_alone() -> None:
    chunked: ChunkedList[Item] = ChunkedList()
    items = [Item(number) for number in range(100_000)]
    chunked.splice(0, 0, items)
    before = {item: item.chunk for item in items}
    chunked.splice(50_000, 50_000, [Item(number) for number in range(100)])
    assert sum(item.chunk is not chunk for item, chunk in before.items()) <= 2 * CHUNK_ITEMS
    assert chunked.index(items[-1]) == 100_099


@stateful(examples=60, steps=50)
class ChunkedListLikeAList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.chunked: ChunkedList[Item] = ChunkedList()
        self.list: list[Item] = []
        self.made = 0

    @rule(data=st.data(), many=st.integers(0, 3 * CHUNK_ITEMS), few=st.integers(0, 3), small=st.booleans())
    def splice(self, data: st.DataObject, many: int, few: int, small: bool) -> None:
        start = data.draw(st.integers(0, len(self.list)))
        stop = data.draw(st.integers(start, len(self.list)))
        fresh = [Item(self.made + i) for i in range(few if small else many)]
        self.made += len(fresh)
        gone = self.list[start:stop]
        self.list[start:stop] = fresh
        self.chunked.splice(start, stop, fresh)
        assert all(item.chunk is None for item in gone)

    @invariant()
    def same(self) -> None:
        assert list(self.chunked.since(0)) == self.list
        assert len(self.chunked) == len(self.list)
        for index in range(0, len(self.list), 97):
            assert self.chunked[index] is self.list[index]
            assert self.chunked.index(self.list[index]) == index


TestChunkedListLikeAList = ChunkedListLikeAList.TestCase


class Oracle:
    """Model of the tree with dicts and recursion; it rebuilds all rows each time."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.kids: dict[str | None, list[str]] = {}
        self.open: set[str] = set()
        self.tails: dict[str | None, EdgeRow] = {}
        self.heads: set[str | None] = set()
        self.filtering = False
        self.order: Order[Node] | None = None

    def parent(self, node_id: str) -> str | None:
        return next(parent for parent, kids in self.kids.items() if node_id in kids)

    def above(self, node_id: str | None) -> set[str]:
        found: set[str] = set()
        while node_id is not None:
            found.add(node_id)
            node_id = self.parent(node_id)
        return found

    def drop(self, node_id: str) -> None:
        for kid in self.kids.pop(node_id, []):
            self.drop(kid)
        for kids in self.kids.values():
            if node_id in kids:
                kids.remove(node_id)
        del self.nodes[node_id]
        self.open.discard(node_id)
        self.tails.pop(node_id, None)
        self.heads.discard(node_id)

    def read(self, parent: str | None, page: list[Node]) -> list[str]:
        """Take the nodes in; the ids that may be children of this parent."""
        latest = {item.id: item for item in page if item.id not in self.above(parent)}
        for node_id in latest:
            if node_id in self.nodes and self.parent(node_id) != parent:
                self.drop(node_id)
        self.nodes.update(latest)
        return list(latest)

    def hits(self, node_id: str) -> bool:
        return self.matches(node_id) or any(self.hits(kid) for kid in self.kids.get(node_id, ()))

    def matches(self, node_id: str) -> bool:
        return not self.filtering or failed(self.nodes[node_id])

    def rows(self, parent: str | None = None, depth: int = 0) -> list[tuple[str, int, bool, bool]]:
        """Id, depth, last of its siblings, dimmed."""
        found: list[tuple[str, int, bool, bool]] = []
        kids = [kid for kid in self.kids.get(parent, ()) if self.hits(kid)]
        if self.order is not None:
            without = [kid for kid in kids if self.order.value(self.nodes[kid]) is None]
            by_value = [kid for kid in kids if kid not in without]
            value = self.order.value
            by_value.sort(key=lambda kid: value(self.nodes[kid]), reverse=self.order.reverse)
            kids = by_value + without
        if parent in self.heads:
            found.append((f"{parent or ''}\0before", depth, False, False))
        for kid in kids:
            found.append((kid, depth, kid == kids[-1] and parent not in self.tails, not self.matches(kid)))
            if kid in self.open:
                found += self.rows(kid, depth + 1)
        if parent in self.tails:
            found.append((tail_id(parent), depth, True, False))
        return found


KEYS = [f"k{i}" for i in range(14)]
ORDERS = [  # ready nodes have no value; the phases change with an update
    Order[Node]("key", lambda item: item.title if item.phase is Phase.FAILED else None),
    Order[Node]("phase", lambda item: item.phase, reverse=True),
]
PAGE = st.lists(st.builds(node, st.sampled_from(KEYS), st.sampled_from([Phase.READY, Phase.FAILED])), max_size=8)


@stateful(examples=100, steps=25)
class ForestLikeARebuild(RuleBasedStateMachine):
    """After any sequence of operations the spliced rows are those of a rebuild."""

    def __init__(self) -> None:
        super().__init__()
        self.forest = Forest()
        self.oracle = Oracle()

    def parents(self) -> st.SearchStrategy[str | None]:
        return st.sampled_from([None, *sorted(self.oracle.nodes)])

    @rule(data=st.data(), page=PAGE, complete=st.booleans())
    def set_children(self, data: st.DataObject, page: list[Node], complete: bool) -> None:
        parent = data.draw(self.parents())
        self.forest.set_children(parent, page, complete)
        read = self.oracle.read(parent, page)
        for kid in [kid for kid in self.oracle.kids.get(parent, []) if kid not in read]:
            self.oracle.drop(kid)
        self.oracle.kids[parent] = read
        self.oracle.heads.discard(parent)
        self.tail(parent, None if complete else EdgeRow.MORE)

    @rule(data=st.data(), page=PAGE, complete=st.booleans())
    def append_children(self, data: st.DataObject, page: list[Node], complete: bool) -> None:
        parent = data.draw(self.parents())
        self.forest.append_children(parent, page, complete)
        read = self.oracle.read(parent, page)
        kids = self.oracle.kids.setdefault(parent, [])
        kids += [kid for kid in read if kid not in kids]
        self.tail(parent, None if complete else EdgeRow.MORE)

    @rule(data=st.data(), page=PAGE, complete=st.booleans())
    def prepend_children(self, data: st.DataObject, page: list[Node], complete: bool) -> None:
        parent = data.draw(self.parents())
        self.forest.prepend_children(parent, page, complete)
        unread = parent not in self.oracle.kids
        read = self.oracle.read(parent, page)
        kids = self.oracle.kids.setdefault(parent, [])
        kids[:0] = [kid for kid in read if kid not in kids]
        (self.oracle.heads.discard if complete else self.oracle.heads.add)(parent)
        if unread:
            self.tail(parent, EdgeRow.MORE)

    @precondition(lambda self: self.oracle.nodes)
    @rule(data=st.data())
    def forget_children(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.oracle.nodes)))
        self.forest.forget_children(chosen)
        if chosen not in self.oracle.open and self.oracle.kids.get(chosen):
            for kid in list(self.oracle.kids[chosen]):
                self.oracle.drop(kid)
            del self.oracle.kids[chosen]
            self.tail(chosen, None)
            self.oracle.heads.discard(chosen)

    @rule(data=st.data(), page=PAGE)
    def merge_children(self, data: st.DataObject, page: list[Node]) -> None:
        parent = data.draw(self.parents())
        self.forest.merge_children(parent, page)
        unread = parent not in self.oracle.kids
        read = self.oracle.read(parent, page)
        kids = self.oracle.kids.setdefault(parent, [])
        first = next((kid for kid in read if kid in kids), None)
        lead = read[: read.index(first)] if first else read
        at = kids.index(first) if first else 0
        kids[at:at] = lead
        for before, kid in zip(read[len(lead) :], read[len(lead) + 1 :], strict=False):
            if kid not in kids:
                kids.insert(kids.index(before) + 1, kid)
        if unread:
            self.tail(parent, EdgeRow.MORE)

    def tail(self, parent: str | None, kind: EdgeRow | None) -> None:
        if kind is None:
            self.oracle.tails.pop(parent, None)
        else:
            self.oracle.tails[parent] = kind

    @rule(data=st.data(), kind=st.sampled_from([None, EdgeRow.MORE, EdgeRow.LOADING, EdgeRow.COSTLY]))
    def set_tail(self, data: st.DataObject, kind: EdgeRow | None) -> None:
        parent = data.draw(self.parents())
        self.forest.set_tail(parent, kind)
        self.tail(parent, kind)

    @precondition(lambda self: self.oracle.nodes)
    @rule(data=st.data())
    def expand(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.oracle.nodes)))
        unread = chosen not in self.oracle.kids
        if chosen in self.oracle.open or (
            self.oracle.kids.get(chosen) == [] and chosen not in self.oracle.tails and chosen not in self.oracle.heads
        ):
            assert not self.forest.expand(chosen)
            return
        assert self.forest.expand(chosen) == unread
        self.oracle.open.add(chosen)
        if unread:
            self.oracle.tails.setdefault(chosen, EdgeRow.LOADING)

    @precondition(lambda self: self.oracle.nodes)
    @rule(data=st.data())
    def collapse(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.oracle.nodes)))
        assert self.forest.collapse(chosen) == (chosen in self.oracle.open)
        self.oracle.open.discard(chosen)

    @rule(page=PAGE)
    def update(self, page: list[Node]) -> None:
        self.forest.update(page)
        self.oracle.nodes.update({item.id: item for item in page if item.id in self.oracle.nodes})

    @rule(keys=st.lists(st.sampled_from(KEYS), max_size=4))
    def remove(self, keys: list[str]) -> None:
        self.forest.remove(ids(keys))
        for node_id in ids(keys):
            if node_id in self.oracle.nodes:
                self.oracle.drop(node_id)
        assert {each.id for each in self.forest.records()} == set(self.oracle.nodes)

    @rule(on=st.booleans())
    def set_filter(self, on: bool) -> None:
        self.forest.set_filter(failed if on else None)
        self.oracle.filtering = on

    @rule(order=st.sampled_from([None, *ORDERS]))
    def set_order(self, order: Order[Node] | None) -> None:
        self.forest.set_order(order)
        self.oracle.order = order

    @rule()
    def expand_all(self) -> None:
        self.forest.expand_loaded()
        kids, tails, heads = self.oracle.kids, self.oracle.tails, self.oracle.heads
        self.oracle.open |= {x for x in self.oracle.nodes if kids.get(x) or (x in kids and (x in tails or x in heads))}

    @rule()
    def collapse_all(self) -> None:
        self.forest.collapse_all()
        self.oracle.open.clear()

    @rule(rows=st.integers(-20, 20))
    def move(self, rows: int) -> None:
        self.forest.move(rows)

    @rule(keys=st.lists(st.sampled_from(KEYS), max_size=4), on=st.booleans())
    def mark(self, keys: list[str], on: bool) -> None:
        self.forest.mark(ids(keys), on)

    @invariant()
    def same_rows(self) -> None:
        rows = self.forest.rows(0, len(self.forest))
        assert [(row.id, row.depth, row.last, row.dimmed) for row in rows] == self.oracle.rows()
        assert [self.forest.index(row.id) for row in rows] == list(range(len(rows)))
        assert [row.record for row in rows] == [self.oracle.nodes.get(row.id) for row in rows]

    @invariant()
    def cursor_has_a_row(self) -> None:
        if len(self.forest):
            assert self.forest.cursor is not None
            assert self.forest.index(self.forest.cursor) is not None
        else:
            assert self.forest.cursor is None

    @invariant()
    def counts(self) -> None:
        assert self.forest.loaded == len(self.oracle.nodes)
        assert self.forest.matched == sum(map(self.oracle.matches, self.oracle.nodes))
        assert self.forest.marks <= set(self.oracle.nodes)


TestForestLikeARebuild = ForestLikeARebuild.TestCase
