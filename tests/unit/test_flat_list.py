"""Flat list: its rows are those of a plain model; cursor and marks follow ids."""

from __future__ import annotations

from collections.abc import Iterable
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from console.model import flat_list
from console.model.flat_list import EdgeRow, FlatList, Order, tail_id
from queries.records.node import Node, Phase
from tests.profiles import stateful


def node(key: str, phase: Phase = Phase.READY, **fields: object) -> Node:
    return Node(engine="s", id=f"s/t:{key}", kind="t", title=key, phase=phase, version="1", **fields)  # type: ignore[arg-type]


def nodes(keys: Iterable[object], phase: Phase = Phase.READY) -> list[Node]:
    return [node(str(key), phase) for key in keys]


def ids(keys: Iterable[object]) -> list[str]:
    return [f"s/t:{key}" for key in keys]


def shown(rows: FlatList[Node]) -> list[str]:
    """Return the rows as a reader sees them.

    Two spaces per level, the key, and the kind of an edge row in brackets.
    """
    return [
        "  " * row.depth + (f"[{row.edge}]" if row.record is None else row.record.title + ("~" if row.dimmed else ""))
        for row in rows.between(0, len(rows))
    ]


def failed(item: Node) -> bool:
    return item.phase is Phase.FAILED


def family() -> FlatList[Node]:
    rows = FlatList[Node]()
    rows.put(None, nodes("abc"))
    rows.put("s/t:b", nodes(["b1", "b2"]))
    return rows


def test_a_cursor_on_the_loading_row_goes_to_the_first_child() -> None:
    rows = family()
    rows.expand("s/t:a")
    rows.move_to(tail_id("s/t:a"))
    rows.put("s/t:a", nodes(["a1", "a2"]), complete=False)
    assert rows.cursor == "s/t:a1"
    rows.move_to(tail_id("s/t:a"))
    rows.append("s/t:a", nodes(["a3"]))
    assert rows.cursor == "s/t:a3"


@pytest.mark.parametrize(
    ("cursor", "gone", "heir"),
    [("b", "b", "c"), ("c", "c", "b"), ("a", "ab", "c"), ("a", "ba", "c"), ("c", "bc", "a"), ("c", "cba", None)],
)
def test_a_cursor_on_a_removed_node_goes_next_else_previous(cursor: str, gone: str, heir: str | None) -> None:
    rows = family()
    rows.move_to(f"s/t:{cursor}")
    rows.remove(ids(gone))
    assert not any(id_ in rows for id_ in ids(gone))
    assert rows.cursor == (heir and f"s/t:{heir}")


def test_a_cursor_below_a_removed_node_leaves_with_it() -> None:
    rows = family()
    rows.expand("s/t:b")
    rows.move_to("s/t:b1")
    rows.remove(["s/t:b"])
    assert not any(id_ in rows for id_ in ids(["b", "b1", "b2"]))
    assert rows.cursor == "s/t:c"


def test_collapsing_takes_the_cursor_up() -> None:
    rows = family()
    for fold in (lambda: rows.collapse("s/t:b"), rows.collapse_all):
        rows.expand("s/t:b")
        rows.move_to("s/t:b2")
        fold()
        assert rows.cursor == "s/t:b"


def test_put_again_drops_moves_and_keeps() -> None:
    rows = family()
    rows.expand("s/t:b")
    rows.move_to("s/t:b1")
    rows.mark(ids(["a", "b1"]))
    rows.put(None, nodes("cbd"))
    assert shown(rows) == ["c", "b", "  b1", "  b2", "d"]
    assert (rows.cursor, rows.marks) == ("s/t:b1", {"s/t:b1"})
    assert ("s/t:a" in rows, "s/t:d" in rows) == (False, True)


def test_a_page_that_is_read_again_removes_nothing() -> None:
    rows = family()
    rows.append(None, nodes("defg"), complete=False)
    rows.mark(ids("ag"))
    rows.merge(None, nodes(["new", "a", "c"]))
    assert shown(rows) == ["new", *"abcdefg", "[more]"]
    assert rows.marks == set(ids("ag"))


def test_a_node_read_under_another_parent_moves_there() -> None:
    rows = family()
    rows.expand("s/t:b")
    rows.expand("s/t:a")
    rows.mark(["s/t:b1"])
    rows.move_to("s/t:b1")
    rows.put("s/t:a", nodes(["b1"]))
    assert shown(rows) == ["a", "  b1", "b", "  b2", "c"]
    assert (rows.cursor, rows.marks) == ("s/t:b1", {"s/t:b1"})


def test_an_update_names_the_cells_that_changed() -> None:
    rows = family()
    cells = rows.update([node("a"), node("b", Phase.FAILED, attempts=2), node("stranger")])
    assert cells == {"s/t:b": frozenset({"phase", "attempts"})}
    assert rows.record("s/t:b") == node("b", Phase.FAILED, attempts=2)


def test_filtering_moves_the_cursor_to_the_next_row_that_stays() -> None:
    rows = FlatList[Node]()
    rows.put(None, [*nodes("abc"), *nodes("x", Phase.FAILED), *nodes("d")])
    rows.move_to("s/t:b")
    rows.sift(failed)
    assert rows.cursor == "s/t:x"


def test_marks_that_a_filter_hides_stay_and_are_counted() -> None:
    rows = family()
    rows.mark(ids("ab"))
    rows.sift(lambda item: item.title == "b")
    assert (rows.marks, rows.unseen(), rows.markable()) == (set(ids("ab")), 1, ids("b"))
    assert [item.title for item in rows.chosen()] == ["b", "a"]


def test_siblings_are_sorted_and_return_to_the_order_in_which_they_were_read() -> None:
    rows = family()
    rows.expand("s/t:b")
    rows.move_to("s/t:b2")
    rows.sort(Order("title", lambda item: item.title, reverse=True))
    assert shown(rows) == ["c", "b", "  b2", "  b1", "a"]
    assert rows.cursor == "s/t:b2"
    rows.append(None, nodes(["bb"]))
    assert shown(rows) == ["c", "bb", "b", "  b2", "  b1", "a"]
    rows.update([node("a", attempts=3)])
    rows.sort(Order("attempts", lambda item: item.attempts))
    assert shown(rows) == ["a", "b", "  b1", "  b2", "c", "bb"], "nodes without a value are last"
    rows.sort(None)
    assert shown(rows) == ["a", "b", "  b1", "  b2", "c", "bb"]


def test_moving_stops_at_the_ends() -> None:
    rows = family()
    assert not rows.move(-1)
    assert rows.move(99)
    assert rows.cursor == "s/t:c"
    assert not rows.move(1)
    rows = FlatList[Node]()
    assert (len(rows), rows.loaded, rows.shown(0, 1), rows.children(None)) == (0, 0, [], None)
    assert not rows.move(1)


def test_a_node_whose_key_looks_like_an_edge_row_is_a_node() -> None:
    rows = FlatList[Node]()
    rows.put(None, nodes(["a", "a#more"]), complete=False)
    assert rows.expand("s/t:a")
    assert shown(rows) == ["a", "  [loading]", "a#more", "[more]"]
    assert rows.move_to("s/t:a#more")
    assert [item.title for item in rows.shown(2, 99)] == ["a#more"]


class Plain:
    """A list with dicts and recursion."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.kids: dict[str | None, list[str]] = {}
        self.open: set[str] = set()
        self.marks: set[str] = set()
        self.tails: dict[str | None, EdgeRow] = {}
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

    def below(self, node_id: str) -> set[str]:
        return {node_id}.union(*map(self.below, self.kids.get(node_id, ())))

    def drop(self, node_id: str) -> None:
        for kid in self.kids.pop(node_id, []):
            self.drop(kid)
        for kids in self.kids.values():
            if node_id in kids:
                kids.remove(node_id)
        del self.nodes[node_id]
        self.open.discard(node_id)
        self.marks.discard(node_id)
        self.tails.pop(node_id, None)

    def read(self, parent: str | None, page: list[Node]) -> list[str]:
        """Take the nodes in; the ids that may be children of this parent."""
        latest = {item.id: item for item in page if item.id not in self.above(parent)}
        for kids in (kids for above, kids in self.kids.items() if above != parent):
            kids[:] = [kid for kid in kids if kid not in latest]
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
MOST = 6  # loaded nodes beyond which children are unloaded, in this test


@stateful(examples=200, steps=30)
class LikeAPlainList(RuleBasedStateMachine):
    """Rows, marks and cursor after any sequence of operations."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = FlatList[Node]()
        self.plain = Plain()

    def parents(self) -> st.SearchStrategy[str | None]:
        return st.sampled_from([None, *sorted(self.plain.nodes)])

    @rule(data=st.data(), page=PAGE, complete=st.booleans())
    def put(self, data: st.DataObject, page: list[Node], complete: bool) -> None:
        parent = data.draw(self.parents())
        self.rows.put(parent, page, complete=complete)
        read = self.plain.read(parent, page)
        for kid in [kid for kid in self.plain.kids.get(parent, []) if kid not in read]:
            self.plain.drop(kid)
        self.plain.kids[parent] = read
        self.tail(parent, None if complete else EdgeRow.MORE)

    @rule(data=st.data(), page=PAGE, complete=st.booleans())
    def append(self, data: st.DataObject, page: list[Node], complete: bool) -> None:
        parent = data.draw(self.parents())
        self.rows.append(parent, page, complete=complete)
        read = self.plain.read(parent, page)
        kids = self.plain.kids.setdefault(parent, [])
        kids += [kid for kid in read if kid not in kids]
        self.tail(parent, None if complete else EdgeRow.MORE)

    @rule(data=st.data(), page=PAGE)
    def merge(self, data: st.DataObject, page: list[Node]) -> None:
        parent = data.draw(self.parents())
        before = set(self.plain.kids.get(parent, ()))
        self.rows.merge(parent, page)
        assert before <= set(self.rows.children(parent) or ()), "what was not read stays"
        unread = parent not in self.plain.kids
        read = self.plain.read(parent, page)
        kids = self.plain.kids.setdefault(parent, [])
        first = next((kid for kid in read if kid in kids), None)
        lead = read[: read.index(first)] if first else read
        at = kids.index(first) if first else 0
        kids[at:at] = lead
        for before_, kid in zip(read[len(lead) :], read[len(lead) + 1 :], strict=False):
            if kid not in kids:
                kids.insert(kids.index(before_) + 1, kid)
        if unread:
            self.tail(parent, EdgeRow.MORE)

    @rule()
    def shrink(self) -> None:
        with mock.patch.object(flat_list, "MAX_ROWS", MOST):
            assert self.rows.shrink() == (self.rows.loaded < len(self.plain.nodes))
        unloaded = {each for each in self.plain.kids if each in self.rows and self.rows.children(each) is None}
        folded = {node_id for node_id in self.plain.nodes if node_id not in self.plain.open}
        free = {each for each in folded if self.plain.kids.get(each) and not self.plain.below(each) & self.plain.marks}
        assert unloaded <= free, "never the children of unfolded nodes, nor marked ones"
        for node_id in unloaded:
            for kid in list(self.plain.kids[node_id]):
                self.plain.drop(kid)
            del self.plain.kids[node_id]
            self.tail(node_id, None)
        assert len(self.plain.nodes) <= MOST or not free & set(self.plain.kids)

    def tail(self, parent: str | None, kind: EdgeRow | None) -> None:
        if kind is None:
            self.plain.tails.pop(parent, None)
        else:
            self.plain.tails[parent] = kind

    @rule(data=st.data(), kind=st.sampled_from([None, *EdgeRow]))
    def edge(self, data: st.DataObject, kind: EdgeRow | None) -> None:
        parent = data.draw(self.parents())
        self.rows.edge(parent, kind)
        self.tail(parent, kind)

    @precondition(lambda self: self.plain.nodes)
    @rule(data=st.data())
    def expand(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.plain.nodes)))
        unread = chosen not in self.plain.kids
        if chosen in self.plain.open or (self.plain.kids.get(chosen) == [] and chosen not in self.plain.tails):
            assert not self.rows.expand(chosen)
            return
        assert bool(self.rows.expand(chosen)) == unread
        self.plain.open.add(chosen)
        if unread:
            self.plain.tails.setdefault(chosen, EdgeRow.LOADING)

    @precondition(lambda self: self.plain.nodes)
    @rule(data=st.data())
    def collapse(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.plain.nodes)))
        assert self.rows.collapse(chosen) == (chosen in self.plain.open)
        self.plain.open.discard(chosen)

    @precondition(lambda self: self.plain.nodes)
    @rule(data=st.data())
    def reveal(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.plain.nodes)))
        assert self.rows.reveal(chosen) == self.plain.hits(chosen)
        if self.plain.hits(chosen):
            self.plain.open |= self.plain.above(self.plain.parent(chosen))
            assert self.rows.cursor == chosen

    @rule(page=PAGE)
    def update(self, page: list[Node]) -> None:
        self.rows.update(page)
        self.plain.nodes.update({item.id: item for item in page if item.id in self.plain.nodes})

    @rule(keys=st.lists(st.sampled_from(KEYS), max_size=4))
    def remove(self, keys: list[str]) -> None:
        self.rows.remove(ids(keys))
        for node_id in ids(keys):
            if node_id in self.plain.nodes:
                self.plain.drop(node_id)

    @rule(on=st.booleans())
    def sift(self, on: bool) -> None:
        self.rows.sift(failed if on else None)
        self.plain.filtering = on

    @rule(order=st.sampled_from([None, *ORDERS]))
    def sort(self, order: Order[Node] | None) -> None:
        self.rows.sort(order)
        self.plain.order = order

    @rule(data=st.data())
    def arrange(self, data: st.DataObject) -> None:
        parent = data.draw(self.parents())
        self.rows.arrange(parent, lambda item: item.title)
        self.plain.kids.get(parent, []).sort(key=lambda node_id: self.plain.nodes[node_id].title)

    @rule()
    def expand_all(self) -> None:
        self.rows.expand_loaded()
        kids, tails = self.plain.kids, self.plain.tails
        self.plain.open |= {x for x in self.plain.nodes if kids.get(x) or (x in kids and x in tails)}

    @rule()
    def collapse_all(self) -> None:
        self.rows.collapse_all()
        self.plain.open.clear()

    @rule(rows=st.integers(-20, 20))
    def move(self, rows: int) -> None:
        at = self.rows.cursor_row
        self.rows.move(rows)
        assert self.rows.cursor_row == min(max(at + rows, 0), max(len(self.rows) - 1, 0))

    @rule(keys=st.lists(st.sampled_from(KEYS), max_size=4), on=st.booleans())
    def mark(self, keys: list[str], on: bool) -> None:
        self.rows.mark(ids(keys), on)
        known = set(ids(keys)) & set(self.plain.nodes)
        self.plain.marks = self.plain.marks | known if on else self.plain.marks - known

    @invariant()
    def same_rows(self) -> None:
        rows = self.rows.between(0, len(self.rows))
        assert [(row.id, row.depth, row.last, row.dimmed) for row in rows] == self.plain.rows()
        assert [self.rows.index(row.id) for row in rows] == list(range(len(rows)))
        assert [row.record for row in rows] == [self.plain.nodes.get(row.id) for row in rows]
        for row in rows:
            above = [each for each in rows if each.id in self.plain.above(row.parent_id) and each.depth]
            assert row.guides == tuple(not each.last for each in above)

    @invariant()
    def cursor_has_a_row(self) -> None:
        assert (self.rows.cursor is None) == (not len(self.rows))
        assert self.rows.index(self.rows.cursor or "") == (self.rows.cursor_row if len(self.rows) else None)

    @invariant()
    def counts(self) -> None:
        assert {each.id for each in self.rows.records} == set(self.plain.nodes)
        assert self.rows.matched == sum(map(self.plain.matches, self.plain.nodes))
        assert self.rows.marks == self.plain.marks


TestLikeAPlainList = LikeAPlainList.TestCase
