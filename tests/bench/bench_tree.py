"""Keys on a large tree: ours against Textual's own ``Tree`` and ``DataTable``, in one process, in turns.

    python tests/bench/bench_tree.py [NODES] [ROUNDS]

A key is timed from its action to the end of painting the screen that it leaves (layout, lines, update of the
compositor), without a terminal behind it. Prints medians and how many times as long the others take. ``DataTable`` gets
a tenth of the rows: with all of them it takes too long to fill.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import DataTable, Tree

from console.forest import Forest
from console.widgets.tree_table import TreeTable
from queries.model import Node, Phase

SIZE = (140, 50)
NOW = 1_000_000_000.0
CHILDREN = 200
Key = Callable[[], object]


def node(number: int, below: str = "") -> Node:
    return Node(
        system="e",
        id=f"e/task:{below}{number:08}",
        kind="task",
        title=f"task {below}{number}",
        phase=list(Phase)[number % 9],
        version="1",
        status="Blocked",
        revision=number % 50,
        cpu=number % 7 / 100,
        poll=number % 11 / 10,
        created_at=NOW - number,
        changed_at=NOW - number % 100,
    )


class Stage(App[None]):
    def __init__(self, make: Callable[[], Widget]) -> None:
        super().__init__()
        self.make = make

    def compose(self) -> ComposeResult:
        yield self.make()


def our_tree(nodes: list[Node]) -> TreeTable:
    forest = Forest()
    forest.set_children(None, nodes, complete=True)
    middle = nodes[len(nodes) // 2].id
    forest.set_children(middle, [node(i, "child-") for i in range(CHILDREN)], complete=True)
    forest.move_to(middle)
    return TreeTable(forest)


def our_keys(table: TreeTable) -> dict[str, Key]:
    numbers = iter(range(10**9))

    def tick() -> None:
        seen = [table.forest.node(node_id) for node_id in table.visible_ids]
        fresh = [node(next(numbers), "") for _ in range(3)]
        changed = [Node(**{**_fields(old), "revision": next(numbers)}) for old in seen[:3] if old is not None]
        table.sync(table.forest.update(changed).cells, now=NOW + len(fresh))

    return {
        "down": lambda: table.action_move(1),
        "page down": lambda: table.action_page(1),
        "expand": table.action_unfold,
        "collapse": table.action_fold,
        "tick": tick,
    }


def _fields(old: Node) -> dict[str, object]:
    return {name: getattr(old, name) for name in Node.__struct_fields__}


def their_tree(nodes: list[Node]) -> Tree[Node]:
    tree: Tree[Node] = Tree("root")
    tree.show_root = False
    tree.root.expand()
    for item in nodes:
        tree.root.add(item.title, item)
    middle = tree.root.children[len(nodes) // 2]
    for i in range(CHILDREN):
        middle.add_leaf(f"child {i}", nodes[i])
    return tree


def tree_keys(tree: Tree[Node]) -> dict[str, Key]:
    return {
        "down": tree.action_cursor_down,
        "page down": tree.action_page_down,
        "expand": tree.action_toggle_node,
        "collapse": tree.action_toggle_node,
    }


def their_table(nodes: list[Node]) -> DataTable[str]:
    table: DataTable[str] = DataTable(cursor_type="row")
    table.add_columns("task", "status", "rev", "cpu", "poll")
    for item in nodes:
        table.add_row(item.title, item.status or "", str(item.revision), str(item.cpu), str(item.poll))
    table.move_cursor(row=len(nodes) // 2)
    return table


def table_keys(table: DataTable[str]) -> dict[str, Key]:
    return {"down": table.action_cursor_down, "page down": table.action_page_down}


async def settled(app: App[None], pilot: Pilot[None]) -> None:
    """Until the messages are handled and what they made dirty is painted."""
    await pilot.pause()


class Contender:
    """One widget on its own screen, with its keys."""

    def __init__(self, name: str, make: Callable[[], Widget], keys: Callable[[Widget], dict[str, Key]]) -> None:
        self.name = name
        self.make = make
        self.keys = keys
        self.times: dict[str, list[float]] = {}

    async def run(self, rounds: int) -> None:
        started = time.perf_counter()
        app = Stage(self.make)
        async with app.run_test(size=SIZE) as pilot:
            await settled(app, pilot)
            self.times.setdefault("fill and show", []).append(time.perf_counter() - started)
            widget = app.query("Tree, DataTable, TreeTable").first()
            widget.focus()
            if isinstance(widget, Tree):
                widget.move_cursor(widget.root.children[len(widget.root.children) // 2])
            if isinstance(widget, TreeTable):
                widget.go_to(widget.cursor or "")
            await settled(app, pilot)
            keys = self.keys(widget)
            for _ in range(rounds):
                for name in ("expand", "collapse", "tick"):
                    if name in keys:
                        await self.press(app, pilot, name, keys[name])
            for _ in range(rounds):
                for name in ("down", "page down"):
                    await self.press(app, pilot, name, keys[name])

    async def press(self, app: App[None], pilot: Pilot[None], name: str, key: Key) -> None:
        spent = time.perf_counter()
        key()
        widgets = app.screen._compositor
        await app._process_messages_until_idle() if hasattr(app, "_process_messages_until_idle") else None
        await asyncio.sleep(0)
        app.screen._on_timer_update()
        widgets.render_update(full=False)
        self.times.setdefault(name, []).append(time.perf_counter() - spent)
        await settled(app, pilot)
