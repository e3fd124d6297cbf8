"""Healthy situations that look like incidents.

The console may report nothing worse than a minor line.
"""

from __future__ import annotations

from tests.drills.drill import control
from tests.drills.scene import Scene
from tests.drills.surroundings import ENGINES


async def healthy(scene: Scene) -> None:
    """Let the executors work."""
    await scene.start()


for name in ENGINES:
    control(name, watch=2.0)(healthy)
