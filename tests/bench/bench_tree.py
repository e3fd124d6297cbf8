"""Compare the cost of keys on a large tree with ``Tree`` and ``DataTable``.

    python -m tests.bench.bench_tree [NODES] [ROUNDS]

The cost of a key is the processor time from its action until the app is idle: messages, layout, and the bytes for the
terminal. Processor time does not depend on other load. The cost of waiting without a key is subtracted.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from rich.console import RenderableType
from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import DataTable, Tree

from console.model.fields.field import Context
from console.model.fields.node import COLUMNS
from console.model.forest import Forest
from console.tui import theme
from console.tui.widgets.list_table import ListTable
from console.tui.widgets.look import Look
from queries.records.node import Node, Phase

SIZE = (140, 50)
NOW = 1_000_000_000.0
CHILDREN = 200
NODES, ROUNDS = 100_000, 15
SWAP_GOAL = 50.0  # milliseconds
OURS = "ours"
GOALS = {"down": 0.8, "page down": 0.2, "unfold": 0.05}  # of what the others take
Key = Callable[[], object]


def node(number: int, below: str = "") -> Node:
    return Node(
        engine="e",
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


class BenchApp(App[None]):
    def __init__(self, make: Callable[[], Widget]) -> None:
        super().__init__()
        self.make = make

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.defaults(dark=True)

    def compose(self) -> ComposeResult:
        yield self.make()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Make what a terminal would be sent: without one, that is not done."""
        if isinstance(renderable, CompositorUpdate):
            renderable.render_segments(self.console)
        super()._display(screen, renderable)


def make_forest(nodes: list[Node]) -> Forest[Node]:
    forest = Forest[Node]()
    forest.set_children(None, nodes, complete=True)
    middle = nodes[len(nodes) // 2].id
    forest.set_children(middle, [node(i, "child-") for i in range(CHILDREN)], complete=True)
    forest.move_to(middle)
    return forest


def tree_table(nodes: list[Node]) -> ListTable[Node]:
    return ListTable(make_forest(nodes), Look(COLUMNS, tree=True))


def tree_table_keys(table: ListTable[Node], nodes: list[Node]) -> dict[str, Key]:
    forests = [table.forest, make_forest(nodes)]
    revisions = iter(range(100, 10**9))

    def tick() -> None:
        seen = [table.forest.record(node_id) for node_id in table.visible_ids[:3]]
        fresh = [msgspec.structs.replace(old, revision=next(revisions)) for old in seen if old is not None]
        table.sync(table.forest.update(fresh).cells, context=Context(now=NOW + next(revisions)))

    def swap() -> None:
        forests.reverse()
        table.show(forests[0])

    return {
        "down": lambda: table.action_move(1),
        "page down": lambda: table.action_screenful(1),
        "unfold": table.action_unfold,
        "fold": table.action_fold,
        "tick": tick,
        "another model": swap,
    }


def textual_tree(nodes: list[Node]) -> Tree[Node]:
    tree: Tree[Node] = Tree("root")
    tree.show_root = False
    tree.root.expand()
    for item in nodes:
        tree.root.add(item.title, item)
    middle = tree.root.children[len(nodes) // 2]
    for i in range(CHILDREN):
        middle.add_leaf(f"child {i}", nodes[i])
    return tree


def tree_keys(tree: Tree[Node], nodes: list[Node]) -> dict[str, Key]:
    return {
        "down": tree.action_cursor_down,
        "page down": tree.action_page_down,
        "unfold": tree.action_toggle_node,
        "fold": tree.action_toggle_node,
    }


def textual_table(nodes: list[Node]) -> DataTable[str]:
    table: DataTable[str] = DataTable(cursor_type="row")
    table.add_columns("task", "status", "rev", "cpu", "poll")
    for item in nodes:
        table.add_row(item.title, item.status or "", str(item.revision), str(item.cpu), str(item.poll))
    return table


def table_keys(table: DataTable[str], nodes: list[Node]) -> dict[str, Key]:
    return {"down": table.action_cursor_down, "page down": table.action_page_down}


class Contender(NamedTuple):
    """Widget, how to fill it, and what its keys do.

    All three types are the widget's own.
    """

    make: Callable[[list[Node]], Any]
    keys: Callable[[Any, list[Node]], dict[str, Key]]


CONTENDERS = {
    OURS: Contender(tree_table, tree_table_keys),
    "Textual's Tree": Contender(textual_tree, tree_keys),
    "Textual's DataTable": Contender(textual_table, table_keys),
}


async def contend(contender: Contender, nodes: list[Node], rounds: int) -> dict[str, float]:
    """Milliseconds a key, the median of the rounds; and to fill and show the widget."""
    began = time.thread_time()
    app = BenchApp(lambda: contender.make(nodes))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        times = {"fill and show": [time.thread_time() - began]}
        widget = app.query("Tree, DataTable, ListTable").first()
        widget.focus()
        keys = contender.keys(widget, nodes)
        await back(widget, nodes, pilot)
        gc.collect()
        gc.freeze()  # existing objects are not scanned again within a key
        waiting = min([await cost(pilot, lambda: None) for _ in range(rounds)])
        for _ in range(rounds):
            for name, key in keys.items():
                times.setdefault(name, []).append(await cost(pilot, key) - waiting)
                if name in ("page down", "another model"):
                    await back(widget, nodes, pilot)
        gc.unfreeze()
    return {name: 1000 * statistics.median(taken) for name, taken in times.items()}


async def cost(pilot: Pilot[None], key: Key) -> float:
    """Seconds of processor time until all that a key sets going is done."""
    await pilot.pause()
    began = time.thread_time()
    key()
    await pilot.pause()
    await pilot.pause()
    return time.thread_time() - began


async def back(widget: Widget, nodes: list[Node], pilot: Pilot[None]) -> None:
    """Put the cursor on the node that unfolds, some lines below the top of the screen."""
    middle = len(nodes) // 2
    if isinstance(widget, ListTable):
        widget.go_to(nodes[middle].id)
    elif isinstance(widget, Tree):
        widget.move_cursor(widget.root.children[middle])
    elif isinstance(widget, DataTable):
        widget.move_cursor(row=middle)
    await pilot.pause()
    widget.scroll_to(y=middle - 10, animate=False)
    await pilot.pause()


def compare(count: int = NODES, rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Milliseconds by key, by contender."""
    nodes = [node(number) for number in range(count)]
    return {name: asyncio.run(contend(contender, nodes, rounds)) for name, contender in CONTENDERS.items()}


def report(times: Mapping[str, Mapping[str, float]], count: int = NODES) -> list[str]:
    """A line a key."""
    lines = [f"a key at {count:,} nodes, ms{'':9}" + "".join(f"{name:>22}" for name in times)]
    for key in times[OURS]:
        cells = (f"{of[key]:22.1f}" if key in of else f"{'-':>22}" for of in times.values())
        lines.append(f"  {key:30}" + "".join(cells))
    return lines


def ratios(times: Mapping[str, Mapping[str, float]]) -> list[tuple[str, float, float]]:
    """Return the name, the ratio and the goal of each comparison."""
    return [
        (f"{key} at 100,000 nodes, times {name}", times[OURS][key] / of[key], goal)
        for key, goal in GOALS.items()
        for name, of in times.items()
        if name != OURS and key in of
    ] + [("another model of 100,000 nodes, ms", times[OURS]["another model"], SWAP_GOAL)]


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    count, rounds = (int(word) for word in (*arguments, *(str(n) for n in (NODES, ROUNDS)[len(arguments) :])))
    times = compare(count, rounds)
    print(
        *report(times, count),
        *(f"  {name:50}{ratio:7.2f} (goal: {goal})" for name, ratio, goal in ratios(times)),
        sep="\n",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
