"""List of nodes: pages of a table that changes, limits, filter and order."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterator
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from console.model import flat_list, node_list
from console.model.fields.field import NOTHING
from console.model.filter import NODES, parse
from console.model.flat_list import EdgeRow, Order, tail_id
from console.model.node_list import ListKind, NodeList
from queries.records.node import Node, Page, Phase
from tests.profiles import stateful

SIZE = 3  # rows a page
MOST = 30  # children of a parent, in these tests
NUMBERS = st.integers(0, 400)


def node(number: int, parent: str | None = None) -> Node:
    kind = "t" if parent is None else "c"
    id_ = f"s/{kind}:{number:04}" + (f".{parent}" if parent else "")
    return Node(engine="s", id=id_, kind=kind, title=str(number), phase=Phase.READY, version="1", parent_id=parent)


class Table:
    """Table in order of its key, read by keyset. Each node has the same children."""

    def __init__(self) -> None:
        self.keys: list[int] = list(range(0, 400, 4))
        self.pages = self.nodes = self
        self.asked: list[str] = []

    def page(self, cursor: str | None, parent: str | None) -> Page:
        start = 0 if cursor is None else bisect_right(self.keys, int(cursor))
        keys = self.keys[start : start + SIZE]
        after = str(keys[-1]) if len(keys) == SIZE else None
        return Page(nodes=tuple(node(key, parent) for key in keys), at=1.0, cursor=after)

    async def roots(self, cursor: str | None, limit: int) -> Page:
        return self.page(cursor, None)

    async def children(self, parent: str, cursor: str | None, limit: int, *, allow_scan: bool) -> Page:
        return self.page(cursor, parent)

    async def read(self, ids: list[str]) -> Page:
        self.asked = list(ids)
        return Page(nodes=tuple(node(key) for key in self.keys if node(key).id in ids), at=1.0)

    class engine:  # noqa: N801
        class spec:  # noqa: N801
            parents = frozenset({"t"})


def listed(table: Table) -> NodeList:
    return NodeList(lambda: table, ListKind.TREE)  # type: ignore[arg-type, return-value]


@pytest.fixture(autouse=True)
def _small() -> Iterator[None]:
    with mock.patch.object(node_list, "MAX_CHILDREN", MOST):
        yield


@stateful(examples=50, steps=60)
class ReadingOn(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = Table()
        self.rows = listed(self.table)
        self.late: set[int] = set()
        self.marked: set[int] = set()
        asyncio.run(self.rows.first())

    @property
    def held(self) -> list[int]:
        return [int(id_[-4:]) for id_ in self.rows.children(None) or ()]

    @rule(pages=st.integers(1, 5))
    def down(self, pages: int) -> None:
        for _ in range(pages):
            before, last = self.held, self.held[-1:]
            more = self.rows.more() and not self.rows.full(None)
            gone = [key for key in self.table.keys if last < [key]]
            asyncio.run(self.rows.next(None))
            assert self.held[: len(before)] == before
            assert not (gone and more) or self.held[-1] > last[0], "the next page is read"

    @rule(key=NUMBERS)
    def comes(self, key: int) -> None:
        if key not in self.table.keys:
            self.table.keys.insert(bisect_right(self.table.keys, key), key)
            self.late.add(key)

    @rule(data=st.data())
    def goes(self, data: st.DataObject) -> None:
        if self.table.keys:
            key = data.draw(st.sampled_from(self.table.keys))
            self.table.keys.remove(key)
            self.marked.discard(key)

    @rule(data=st.data(), on=st.booleans())
    def mark(self, data: st.DataObject, on: bool) -> None:
        if self.held:
            key = data.draw(st.sampled_from(self.held))
            self.rows.mark([node(key).id], on)
            (self.marked.add if on and key in self.table.keys else self.marked.discard)(key)

    @rule(divisor=st.sampled_from((1, 8, 40)))
    def sift(self, divisor: int) -> None:
        self.rows.sift(None if divisor == 1 else lambda n: int(n.title) % divisor == 0)

    @rule(start=st.integers(0, MOST))
    def tick(self, start: int) -> None:
        """Read again what is on the screen. All else stays."""
        before, self.table.asked = set(self.held), []
        asyncio.run(self.rows.refresh([node.id for node in self.rows.shown(start, start + 4)]))
        asked = {int(id_[-4:]) for id_ in self.table.asked}
        assert before - set(self.held) == asked - set(self.table.keys)

    @invariant()
    def in_order_and_no_more_than_may_be(self) -> None:
        """Check the order of the nodes that exist.

        A node that is gone is not read again, so one that comes may be on either side of it.
        """
        known = [key for key in self.held if key in self.table.keys]
        assert known == sorted(known)
        assert len(self.held) <= MOST + SIZE + len(self.late)

    @invariant()
    def marks_stay(self) -> None:
        """Check that nodes keep their marks. A marked node may be gone unnoticed."""
        marked = {int(each.title) for each in self.rows.chosen()} if self.rows.marks else set()
        assert {node(key).id for key in marked} == self.rows.marks
        assert self.marked <= marked

    @invariant()
    def what_is_missing_is_new_or_after_the_last(self) -> None:
        held, keys = self.held, self.table.keys
        assert {key for key in keys if held and key < held[-1]} - set(held) <= self.late
        assert (self.rows.index(tail_id(None)) is not None) == self.rows.more()


TestReadingOn = ReadingOn.TestCase


async def until_full(rows: NodeList, parent_id: str | None) -> None:
    while rows.more(parent_id) and not rows.full(parent_id):
        await rows.next(parent_id)


async def test_a_parent_has_a_limited_number_of_children_and_says_so() -> None:
    rows = listed(Table())
    await rows.first()
    await until_full(rows, None)
    tail = rows.row(len(rows) - 1)
    assert (rows.loaded, tail.edge, tail.note) == (MOST, EdgeRow.MORE, "30 are loaded; Enter searches all of them")
    await rows.next(None)
    assert rows.loaded == MOST


async def test_at_the_limit_the_children_of_folded_nodes_go_and_marked_ones_stay() -> None:
    rows = listed(Table())
    with mock.patch.object(flat_list, "MAX_ROWS", 100), mock.patch.object(node_list, "MAX_ROWS", 100):
        await rows.first()
        await until_full(rows, None)
        one, two, three, four = (rows.ids[n] for n in range(4))
        for each in (one, two):
            rows.expand(each)
            await rows.first(each)
            await until_full(rows, each)
        rows.mark([(rows.children(one) or ())[5]])
        for each in (one, two, three):
            rows.collapse(each)
        rows.expand(three)
        await rows.first(three)
        await until_full(rows, three)
        assert (rows.children(two), len(rows.children(one) or ())) == (None, MOST)
        assert len(rows.marks) == 1
        rows.expand(two)
        await rows.first(two)
        await until_full(rows, two)
        rows.expand(four)
        await rows.first(four)
        assert rows.full(four)
        assert rows.loaded <= 100 + SIZE
        assert rows.row(rows.index(tail_id(four)) or 0).note == "100 are loaded; Enter searches all of them"


async def test_a_page_that_came_too_late_is_not_added_twice() -> None:
    table = Table()
    rows = listed(table)
    await rows.first()
    page, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(cursor: str | None, limit: int) -> Page:
        read = await Table.roots(table, cursor, limit)
        page.set()
        await go_on.wait()
        return read

    with mock.patch.object(table, "roots", slowly):
        more = asyncio.ensure_future(rows.next(None))
        await page.wait()
    await rows.next(None)
    go_on.set()
    await more
    assert rows.children(None) == tuple(node(key).id for key in table.keys[: 2 * SIZE])
    await rows.next(None)
    assert rows.children(None) == tuple(node(key).id for key in table.keys[: 3 * SIZE])


async def test_a_node_that_comes_back_has_its_children_read_from_the_first_page() -> None:
    table = Table()
    rows = listed(table)
    await rows.first()
    first, key = rows.ids[0], table.keys[0]
    await rows.first(first)
    await rows.next(first)
    table.keys.remove(key)
    await rows.refresh(rows.ids[:1])
    assert first not in rows
    table.keys.insert(0, key)
    await rows.refresh(rows.ids[:1])
    await rows.first(first)
    await rows.next(first)
    assert rows.children(first) == tuple(node(each, first).id for each in table.keys[: 2 * SIZE])


def test_the_chosen_filter_and_order_are_applied_once() -> None:
    chosen, order = parse("1", NODES), Order[Node]("title", lambda each: each.title, reverse=True)
    rows = NodeList(lambda: None, ListKind.TREE)
    rows.put(None, map(node, (1, 2, 10)))
    assert rows.arrange_as(chosen, order, NOTHING, ["title"])
    assert not rows.arrange_as(chosen, order, NOTHING, ["title"]), "what has not changed is not applied again"
    assert rows.ids == [node(10).id, node(1).id]
    assert rows.arrange_as(None, order, NOTHING, ["status"])
    assert (rows.order, len(rows)) == (None, 3), "no order by a column that the engine does not have"
