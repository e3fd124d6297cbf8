"""All simulated engines."""

from __future__ import annotations

from typing import Final

from tests.simulators.agent_jobs import AgentJobs
from tests.simulators.engine import Engine
from tests.simulators.estuary import Estuary
from tests.simulators.eternaltwin import Eternaltwin
from tests.simulators.tasker import Tasker
from tests.simulators.uni2work import Uni2work

ENGINES: Final[tuple[type[Engine], ...]] = (AgentJobs, Eternaltwin, Estuary, Tasker, Uni2work)
