"""The settings file as a file: its owner, its mode, and things that are no file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console import config, editor
from console.config import ConfigError

TRUSTING = {
    "trusted_owners": '[contexts.prod]\ntrusted_owners = ["mallory"]\n',
    "engines": '[contexts.prod]\nengines = ["/tmp/hers"]\n',
    "trust": "[engines.hers]\ntrust = true\n",
}
HARMLESS = 'theme = "night"\n[contexts.prod]\ncolor = "red"\n[engines.hers]\ntrust = false\n'


@pytest.mark.parametrize("setting", TRUSTING)
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_can_write_is_not_obeyed(tmp_path: Path, setting: str, mode: int) -> None:
    path = tmp_path / "config.toml"
    path.write_text(TRUSTING[setting])
    path.chmod(0o644)
    config.load(str(path))
    path.chmod(mode)
    with pytest.raises(ConfigError) as error:
        config.load(str(path))
    assert setting in str(error.value)
    assert ":2: " in str(error.value)
    assert "can be written by other users" in str(error.value)
    path.write_text(HARMLESS)
    assert config.load(str(path)).theme == "night"


DATABASE = '[contexts.prod]\ndsn = "host=db"\n'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("text", [TRUSTING["trust"], DATABASE])
def test_a_file_of_another_user_is_not_obeyed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    os.chown(path, 65534, 65534)
    with pytest.raises(ConfigError, match="another user"):
        config.load(str(path))


def test_a_group_may_choose_the_database_but_not_everyone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(DATABASE)
    path.chmod(0o664)
    assert config.load(str(path)).contexts["prod"].dsn == "host=db"
    path.chmod(0o666)
    with pytest.raises(ConfigError, match=r":2: contexts\.prod\.dsn is not obeyed"):
        config.load(str(path))


def test_a_settings_file_that_is_a_pipe_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigError, match="named pipe"):
        config.load(str(tmp_path / "config.toml"))


def test_an_edited_file_that_became_a_pipe_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nrm "$1"\nmkfifo "$1"\n')
    script.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(script))
    with pytest.raises(editor.EditorError, match="not a file"):
        editor.edited("{}", 100)
