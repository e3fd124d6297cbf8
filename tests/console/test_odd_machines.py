"""Commands without a home, without an entry in passwd, and with closed streams."""

from __future__ import annotations

import asyncio
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from queries.files import user_dirs
from tests.command import ROOT, environment, unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof


@pytest.fixture
def unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the user id have no entry in passwd, as with runAsUser in a pod."""

    def missing(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", missing)


HOMELESS = {"HOME": "", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "USER": "", "LOGNAME": ""}


@pytest.mark.parametrize("home", ["", "/proc/self", "/nowhere"])
def test_commands_run_without_a_home(
    eternaltwin_demo: str, unknown_user: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
) -> None:
    """An empty HOME is none.

    /proc/self is a folder in which even root cannot create anything.
    """
    monkeypatch.chdir(tmp_path)
    env = {**HOMELESS, "HOME": home}
    found = unstick("stuck", "--json", dsn=eternaltwin_demo, **env)
    assert found.code == 0, found.err
    assert found.findings
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    node = next(each["node_id"] for each in found.findings if each["node_id"].startswith("eternaltwin/task"))
    words = ("do", "wake", node, "--reason", "it was stuck", "--dry-run")
    answer = unstick(*words, dsn=eternaltwin_demo, **env)
    assert "bug" not in answer.err, answer.err
    assert not [*tmp_path.iterdir()]  # no folder with the name ~


def test_no_home_is_one_line_where_a_file_is_named(unknown_user: None, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = unstick("stuck", "--config", "~/x.toml", dsn="postgresql://127.0.0.1:1/x", **HOMELESS)
    assert (answer.code, "no home folder" in answer.err) == (2, True), answer


def test_an_unknown_user_has_a_number(unknown_user: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    assert user_dirs.user() == f"uid {os.getuid()}"


SUDO = {"SUDO_USER": "carol\n99  cancel  forged@vm"}
WHO = [({}, {}), (SUDO, {"via": "sudo from carol\n99  cancel  forged@vm (not verified)"})]
WHO += [({"SUDO_USER": "\udcff" * 2}, {"via": "sudo from ?? (not verified)"})]


@pytest.mark.parametrize(("env", "hint"), WHO, ids=["plain", "sudo", "bytes"])
async def test_who_is_the_real_user_whatever_the_environment_says(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    audit_log_table: None,
    env: dict[str, str],
    hint: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    login = tmp_path / "loginuid"
    monkeypatch.setattr(user_dirs, "LOGIN_UID", login)
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=30))
    claims = dict.fromkeys(("USER", "LOGNAME", "LNAME", "USERNAME"), "alice.boss")
    words = ("do", "cancel", node, "-r", "x", "-y")
    assert (await asyncio.to_thread(unstick, *words, dsn=eternaltwin, **claims, **env)).code == 0
    (entry,) = (await asyncio.to_thread(unstick, "audit", "--json", dsn=eternaltwin)).json["entries"]
    assert entry["os_user"] == pwd.getpwuid(os.getuid()).pw_name != "alice.boss"
    assert entry["arguments"] == hint
    login.write_text("4242")
    monkeypatch.setenv("SUDO_USER", user_dirs.user())
    assert user_dirs.came_from() == "login of uid 4242", "su removes SUDO_USER"
    login.write_text(str(user_dirs.NO_LOGIN))
    assert user_dirs.came_from() == ""


CLOSED = ["stuck >&-", "stuck 2>&-", "stuck <&-", "stuck <&- >&- 2>&-", "metrics 2>&-", "info >&-", "stuck --json >&-"]


@pytest.mark.parametrize("words", most_in_proof(CLOSED, 4))
def test_a_closed_stream_is_the_null_device(eternaltwin: str, tmp_path: Path, words: str) -> None:
    command, _, closed = words.partition(" ")
    script = f'exec "{sys.executable}" -m console {command} -d "{eternaltwin}" {closed}'
    done = subprocess.run(
        ["sh", "-c", script], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done
    assert done.stderr == ""
    assert bool(done.stdout) != (">&-" in closed.replace("2>&-", ""))
