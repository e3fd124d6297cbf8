"""The program's folders follow the platform's conventions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import pytest

from queries.files import user_dirs


@pytest.mark.skipif(sys.platform != "linux", reason="XDG base directories are for Linux")
@pytest.mark.parametrize("purpose", ["config", "state", "cache"])
def test_the_environment_chooses_the_folder(
    purpose: Literal["config", "state", "cache"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"XDG_{purpose.upper()}_HOME", str(tmp_path))
    assert user_dirs.folder(purpose) == tmp_path / "unstick"
