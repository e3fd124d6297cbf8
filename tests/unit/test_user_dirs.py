"""The program's folders are where platformdirs has them."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from queries import user_dirs


@pytest.mark.parametrize("given", ["", " ", "/somewhere"])
def test_as_platformdirs_has_them(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, given)
    assert user_dirs.folder("config") == Path(platformdirs.user_config_dir("unstick"))
    assert user_dirs.folder("state") == Path(platformdirs.user_state_dir("unstick"))
    assert user_dirs.folder("cache") == Path(platformdirs.user_cache_dir("unstick"))
