"""A database with estuary's tables, rows to write, and a workspace on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from queries.workspace import Workspace
from tests.queries.builders import opened


@pytest.fixture
async def workspace(estuary: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    """Workspace on that database, with the audit log in a local file."""
    workspace = await opened(estuary, tmp_path)
    yield workspace
    await workspace.close()
