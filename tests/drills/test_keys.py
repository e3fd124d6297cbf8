"""Number of keys from start to fixed, for the ten most common incidents.

The text of the reason is not counted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.drills.catalog import DRILLS
from tests.drills.scene import Scene
from tests.proof import most_in_proof
from tests.servers import PostgresServer
from tests.terminal.driver import Terminal

MOST = 8  # keys

CHECK = ("tab", "space")  # the operator confirms that the owner is gone

# drill -> key of the suggested action, and keys in the dialog that asks for its arguments
COMMON: dict[str, tuple[str, Sequence[str]]] = {
    "eternaltwin: crash lost wakeups": ("W", ()),
    "eternaltwin: root completed by hand": ("C", ()),
    "estuary: manual update left heartbeats": ("L", ()),
    "estuary: inbox written without waking": ("W", ()),
    "agent_jobs table: executor killed by the kernel": ("L", ()),
    "uni2work: instance killed by the kernel": ("L", CHECK),
    "uni2work: lock half removed by hand": ("L", CHECK),
    "tasker: worker killed by the kernel": ("L", ()),
    "tasker: dead letters of one outage": ("V", ()),
    "tasker: orchestrator killed before the end": ("F", ()),
}


class CountedKeys:
    """Terminal that counts the keys pressed in it."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.pressed: list[str] = []

    def press(self, key: str) -> None:
        self.pressed.append(key)
        self.terminal.press(key)


def repair(terminal: Terminal, title: str, key: str, arguments: Sequence[str]) -> list[str]:
    """Repair the incident on line 1 as its row suggests. Return the keys."""
    keys = CountedKeys(terminal)
    terminal.wait_for("● live")
    keys.press("2")
    terminal.wait_for(re.compile(rf"^▌.*{title[:20]}.* {key} ", re.MULTILINE))
    keys.press(key)
    terminal.wait_for("Reason, for the audit log")
    terminal.type("as the drill says")
    for each in arguments:
        keys.press(each)
    keys.press("enter")
    terminal.wait_for(re.compile(f"{key} apply to [1-9]"))
    keys.press(key)
    terminal.wait_for(re.compile("│ +[1-9][0-9]* changed"), "Close")
    keys.press("enter")
    terminal.wait_for(lambda: "Close" not in terminal.text)
    return keys.pressed


@pytest.mark.parametrize("name", most_in_proof(COMMON))
async def test_from_start_to_fixed(name: str, server: PostgresServer, tmp_path: Path) -> None:
    drill = next(drill for drill in DRILLS if drill.key == name)
    async with Scene(server, drill.engine) as scene:
        await scene.fill()
        await drill.cause(scene)
        await scene.leave()
        with Terminal(scene.console_dsn, home=tmp_path, size=(140, 40)) as terminal:
            title = drill.line[0].replace("_", " ")
            pressed = await asyncio.to_thread(repair, terminal, title, *COMMON[name])
    assert len(pressed) <= MOST, pressed
