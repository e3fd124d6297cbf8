"""Redrives are recorded in the audit log table only."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.db.errors import DatabaseError
from queries.runs import run as runs
from queries.write.audit_choice import NO_RUNS
from tests.queries.builders import opened


async def test_a_run_of_the_table_is_not_read_without_it(eternaltwin: str, tmp_path: Path) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    assert (await runs.listed(workspace, 5)).runs == ()
    with pytest.raises(DatabaseError, match=NO_RUNS):
        await runs.load(workspace, "5")
    await workspace.close()
