"""Redrives are recorded in the audit log table only."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.actions.redrive_plan import redrives
from queries.db.errors import DatabaseError
from queries.workspace import NO_REDRIVE
from tests.queries.builders import opened


async def test_redrives_are_not_listed_without_the_table(eternaltwin: str, tmp_path: Path) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    with pytest.raises(DatabaseError, match=NO_REDRIVE):
        await redrives(workspace, 5)
    await workspace.close()
