"""All drills, in the order of the table."""

from __future__ import annotations

from tests.drills import (
    controls,
    drills_agent_jobs,
    drills_estuary,
    drills_eternaltwin,
    drills_locks,
    drills_server,
    drills_tasker,
    drills_uni2work,
)
from tests.drills.drill import DRILLS

__all__ = ["DRILLS", "MODULES"]

MODULES = (
    drills_eternaltwin,
    drills_estuary,
    drills_agent_jobs,
    drills_uni2work,
    drills_tasker,
    drills_locks,
    drills_server,
    controls,
)
