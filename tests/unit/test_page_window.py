"""Windows of a long list: the loaded rows stay contiguous while the table changes."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from console.model import node_pages
from console.model.fields.field import NOTHING
from console.model.filter import NODES, parse
from console.model.forest import EdgeRow, tail_id
from console.model.list_model import Arrangement
from console.model.node_list import NodeList
from console.model.node_pages import ListKind
from console.model.order import Order
from console.model.page_window import MAX_PAGES, UNREAD
from queries.records.node import Node, Page, Phase
from tests.profiles import stateful

SIZE = 3  # rows a page
SOME = MAX_PAGES + 3  # pages held with a filter, in this test
NUMBERS = st.integers(0, 400)


def node(number: int) -> Node:
    return Node(engine="s", id=f"s/t:{number:04}", kind="t", title=str(number), phase=Phase.READY, version="1")


class Table:
    """A table in order of its key, read by keyset, as a reader gives it."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.pages = self.nodes = self

    async def roots(self, cursor: str | None, limit: int) -> Page:
        start = 0 if cursor is None else bisect_right(self.keys, int(cursor))
        keys = self.keys[start : start + SIZE]
        after = str(keys[-1]) if len(keys) == SIZE else None
        return Page(nodes=tuple(node(key) for key in keys), at=1.0, cursor=after)

    async def read(self, ids: list[str]) -> Page:
        return Page(nodes=tuple(node(key) for key in self.keys if node(key).id in ids), at=1.0)

    class engine:  # noqa: N801
        class spec:  # noqa: N801
            parents = frozenset[str]()


@stateful(examples=50, steps=60)
class ReadingUpAndDown(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = Table()
        self.node_list = NodeList(lambda: self.table, ListKind.TREE)  # type: ignore[arg-type, return-value]
        self.forest = self.node_list.forest
        self.table.keys = list(range(0, 400, 4))
        self.late: set[int] = set()
        self.marked: set[int] = set()
        self.sifted = mock.patch.object(node_pages, "MAX_FILTERED_PAGES", SOME)
        self.sifted.start()
        asyncio.run(self.node_list.pages.first())

    @property
    def held(self) -> list[int]:
        return [int(id_[-4:]) for id_ in self.forest.children(None) or ()]

    @rule(pages=st.integers(1, 2 * MAX_PAGES))
    def down(self, pages: int) -> None:
        for _ in range(pages):
            if self.node_list.pages.window(None).after is not None:
                last, gone = self.held[-1:], [key for key in self.table.keys if self.held[-1:] < [key]]
                asyncio.run(self.node_list.pages.more(None))
                assert self.held[-1:] >= last
                assert not gone or self.held[-1] > last[0], "the next page is read"
                self.forest.move(1000)

    @rule(pages=st.integers(1, 2 * MAX_PAGES))
    def up(self, pages: int) -> None:
        for _ in range(pages):
            if self.forest.index("\0before") is not None:
                self.forest.move(-1000)
                asyncio.run(self.node_list.pages.before(None))
                assert self.forest.cursor != "\0before" or self.forest.index("\0before") is not None

    @rule()
    def home(self) -> None:
        asyncio.run(self.node_list.pages.first())
        assert self.held == self.table.keys[:SIZE]

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
            self.forest.mark([node(key).id], on)
            (self.marked.add if on and key in self.table.keys else self.marked.discard)(key)

    @rule(divisor=st.sampled_from((1, 8, 40)))
    def sift(self, divisor: int) -> None:
        self.forest.set_filter(None if divisor == 1 else lambda n: int(n.title) % divisor == 0)

    @rule()
    def tick(self) -> None:
        asyncio.run(self.node_list.refresh([node.id for node in self.forest.shown(0, 1000)]))

    @invariant()
    def a_run_in_order_and_no_more_than_may_be(self) -> None:
        """Check the order of the nodes that exist or are shown.

        A node that is gone while the filter hides it is not read again, so one that comes may be on either side of it.
        """
        held = self.held
        known = [key for key in held if key in self.table.keys or self.forest.index(node(key).id) is not None]
        assert known == sorted(known)
        assert len(held) <= (SOME + 6) * SIZE, "flat, but for what came in between"

    @invariant()
    def marks_stay(self) -> None:
        """Check that nodes keep their marks, loaded or not.

        The list may not know yet that a marked node is gone from the table.
        """
        marked = {int(each.title) for each in self.node_list.chosen()} if self.forest.marks else set()
        assert {f"s/t:{key:04}" for key in marked} == self.forest.marks
        assert self.marked <= marked
        assert not (marked - self.marked) & set(self.table.keys) - self.late

    @invariant()
    def every_gap_is_marked(self) -> None:
        """Check that only new nodes are missing between the first and the last loaded row.

        Edge rows represent the nodes before and after them.
        """
        held, keys = self.held, self.table.keys
        between = {key for key in keys if held and held[0] < key < held[-1]}
        assert between - set(held) <= self.late
        window = self.node_list.pages.window(None)
        assert (self.forest.index("\0before") is not None) == (window.low > 0)
        assert (self.forest.index(tail_id(None)) is not None) == (window.after is not None)

    @invariant()
    def the_cursor_has_a_row(self) -> None:
        if len(self.forest):
            assert self.forest.index(self.forest.cursor or "") is not None

    def teardown(self) -> None:
        """Reading all the way up and down again finds every row of the table once."""
        while self.forest.index("\0before") is not None:
            asyncio.run(self.node_list.pages.before(None))
        asyncio.run(self.node_list.pages.first())
        seen = self.held
        while self.node_list.pages.window(None).after is not None:
            asyncio.run(self.node_list.pages.more(None))
            seen += [key for key in self.held if key > (seen[-1] if seen else -1)]
        assert seen == self.table.keys
        self.sifted.stop()


TestReadingUpAndDown = ReadingUpAndDown.TestCase


def test_a_window_holds_a_limited_number_of_pages_and_their_cursors() -> None:
    window = UNREAD.append(["0"], "a")
    for number in range(1, MAX_PAGES + 3):
        window = window.append([str(number)], f"k{number}")
    children = [str(number) for number in range(MAX_PAGES + 3)]
    window, gone = window.evict(children, MAX_PAGES, top=True)
    assert gone == ["0", "1", "2"]
    assert (window.low, window.start, window.after) == (3, "k1", f"k{MAX_PAGES + 2}")
    assert window.start_of(["5"]) == "k4"
    window, gone = window.prepend(["2"]).evict(children[2:], MAX_PAGES, top=False)
    assert gone == [str(MAX_PAGES + 2)]
    assert window.after == f"k{MAX_PAGES + 1}"
    assert EdgeRow.BEFORE == "before"


def test_nothing_can_be_added_to_pages_that_were_not_read() -> None:
    pages = NodeList(lambda: None, ListKind.TREE).pages
    assert not pages.window(None).read
    with pytest.raises(AttributeError):
        setattr(pages.window(None), "pages", (("0",),))  # noqa: B010
    assert pages.window(None).append(["0"], "a").read
    assert (pages.window(None), UNREAD.after, UNREAD.partial) == (UNREAD, None, False)


async def test_a_page_is_not_added_to_those_that_were_read_again_meanwhile() -> None:
    table = Table()
    table.keys = list(range(0, 400, 4))
    node_list = NodeList(lambda: table, ListKind.TREE)  # type: ignore[arg-type, return-value]
    await node_list.pages.first()
    await node_list.pages.more(None)
    page, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(cursor: str | None, limit: int) -> Page:
        read = await Table.roots(table, cursor, limit)
        page.set()
        await go_on.wait()
        return read

    with mock.patch.object(table, "roots", slowly):
        more = asyncio.ensure_future(node_list.pages.more(None))
        await page.wait()
    await node_list.pages.first()
    go_on.set()
    assert await more is None
    assert node_list.forest.children(None) == tuple(node(key).id for key in table.keys[:SIZE])
    await node_list.pages.more(None)
    assert node_list.forest.children(None) == tuple(node(key).id for key in table.keys[: 2 * SIZE])


def test_lists_that_share_an_arrangement_follow_it_when_they_are_shown() -> None:
    shared = Arrangement(filter=parse("1", NODES), order=Order("title", lambda each: each.title, reverse=True))
    one, other = lists = [NodeList(lambda: None, ListKind.TREE, shared) for _ in range(2)]
    for each in lists:
        each.forest.set_children(None, map(node, (1, 2, 10)), complete=True)
        assert each.applied.arrange(NOTHING, ["title"])
        assert not each.applied.arrange(NOTHING, ["title"]), "what has not changed is not applied again"
        assert [each.forest.id_at(row) for row in range(len(each.forest))] == [node(10).id, node(1).id]
    shared.filter = None
    assert one.applied.arrange(NOTHING, ["title"])
    assert (len(one.forest), len(other.forest)) == (3, 2)
    assert other.applied.arrange(NOTHING, ["status"])
    assert (len(other.forest), other.forest.order, one.forest.order) == (3, None, shared.order)
