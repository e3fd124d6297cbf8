"""All drills, in the order of the table."""

from __future__ import annotations

import importlib

from tests.drills.drill import DRILLS

__all__ = ["DRILLS"]

MODULES = ("eternaltwin", "estuary", "agent_jobs", "uni2work", "tasker", "locks", "server", "failing")

for module in MODULES:
    importlib.import_module(f"tests.drills.drills_{module}")
importlib.import_module("tests.drills.controls")
importlib.import_module("tests.drills.drills_below")
