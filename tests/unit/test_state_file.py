from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from queries.files.state_file import open_private

WRITE = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
FLAGS = [os.O_RDONLY, WRITE, os.O_APPEND | os.O_CREAT | os.O_RDWR]


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize(
    "what", ["link", "dangling", "folder link", "writable", "writable folder", "pipe", "folder", "name"]
)
def test_what_another_user_may_have_put_there_is_refused(tmp_path: Path, what: str, flags: int) -> None:
    folder, other = tmp_path / "state", tmp_path / "other"
    folder.mkdir(mode=0o700)
    other.write_text("precious")
    path = folder / "file"
    if what == "link":
        path.symlink_to(other)
    elif what == "dangling":
        path.symlink_to(tmp_path / "nothing")
    elif what == "folder link":
        (folder / "file").write_text("precious")
        folder.rename(tmp_path / "real")
        folder.symlink_to(tmp_path / "real")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "name":
        path.hardlink_to(other)
    elif what == "folder":
        path.mkdir()
    else:
        path.write_text("precious")
        (path if what == "writable" else folder).chmod(0o777)
    with pytest.raises(OSError, match="Errno"):
        os.close(open_private(path, flags))
    assert other.read_text() == "precious"
    assert not (tmp_path / "nothing").exists()
    if path.is_file() and what != "dangling":
        assert path.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_of_another_user_is_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "state" / "file"
    os.close(open_private(path, WRITE))
    os.chown(path if what == "file" else path.parent, 65534, 65534)
    for flags in FLAGS:
        with pytest.raises(OSError, match="another user"):
            os.close(open_private(path, flags))


def test_a_new_file_and_its_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    """A bulk makes the state folder and its own in one step."""
    before = os.umask(0o002)
    try:
        os.close(open_private(tmp_path / "state" / "unstick" / "runs" / "file", WRITE))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state" / "unstick" / "runs" / "file").stat().st_mode) == 0o600
    for folder in ("state", "state/unstick", "state/unstick/runs"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
