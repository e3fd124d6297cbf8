"""All drills, in the order of the table."""

from __future__ import annotations

import importlib

from tests.drills.drill import DRILLS, UNSEEN

__all__ = ["DRILLS", "UNSEEN"]

MODULES = ("eternaltwin", "estuary", "agent_jobs", "uni2work", "tasker", "locks", "server", "failing", "throughput")

for module in MODULES:
    importlib.import_module(f"tests.drills.drills_{module}")
importlib.import_module("tests.drills.controls")
importlib.import_module("tests.drills.drills_below")
for module in ("engines", "added", "server"):
    importlib.import_module(f"tests.drills.unseen_{module}")
