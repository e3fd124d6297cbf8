"""Each command and the console on machines that lack something."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread

import pytest

from tests.command import ROOT, environment, unstick
from tests.proof import most_in_proof, proof
from tests.servers import PostgresServer
from tests.terminal.driver import Terminal

UNNAMED = (  # a user id without an entry in passwd; it may read this checkout
    *("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
OLD = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
GONE = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "USER", "LOGNAME"), "")
MACHINES: dict[str, tuple[Sequence[str], Mapping[str, str], str]] = {  # words before the command, variables, streams
    "user without passwd": (UNNAMED, GONE, ""),
    "read-only HOME": ((), {**GONE, "HOME": "/proc/self"}, ""),
    "LC_ALL=C": ((), {**OLD, "LC_ALL": "C"}, ""),
    "ISO 8859-1": ((), {**OLD, "PYTHONIOENCODING": "iso8859-1", "LC_ALL": "de_DE.iso88591"}, ""),
    "closed streams": ((), {}, "<&- >&- 2>&-"),
    "cron": (("env", "-i", "PATH=/usr/bin:/bin", f"PYTHONPATH={ROOT}"), {}, "</dev/null"),
    "no HOME": ((), GONE, ""),
    "EUC-JP": ((), {**OLD, "PYTHONIOENCODING": "euc_jp"}, ""),
    "closed stdin": ((), {}, "<&-"),
    "closed stderr": ((), {}, "2>&-"),
}
CASES = [*itertools.product(MACHINES, ["stuck", "do", "watch"])]
FIRST = [(machine, command) for machine, command in CASES if (machine, command) in (
    ("user without passwd", "stuck"), ("LC_ALL=C", "stuck"), ("closed streams", "watch"),
)]  # fmt: skip


def skip_without_root(machine: str) -> None:
    if machine == "user without passwd" and os.geteuid() != 0:
        pytest.skip("only root can be another user")


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that other users can reach, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="unstick-hook-") as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("machine", "command"), most_in_proof([*FIRST, *(case for case in CASES if case not in FIRST)], len(FIRST))
)
def test_a_command_runs(eternaltwin_demo: str, tmp_path: Path, open_to_all: Path, machine: str, command: str) -> None:
    skip_without_root(machine)
    before, variables, streams = MACHINES[machine]
    words = [command]
    if command == "do":
        found = unstick("stuck", "--json", dsn=eternaltwin_demo).findings
        node = next(each["node_id"] for each in found if each["action"] == "wake")
        words = ["do", "wake", node, "--reason", "it was stuck", "--dry-run"]
    elif command == "watch":
        open_to_all.chmod(0o777)
        hook = open_to_all / "hook"
        kills = "kill -INT $(ps -o ppid= -p $$)\n" * 5  # Ctrl-C several times, also before the command has ended
        hook.write_text(f'#!/bin/sh\ncat > "$(mktemp {open_to_all}/seen-XXXXXX)"\n{kills}')
        hook.chmod(0o755)
        words = ["watch", "--existing", "--on-new", str(hook)]
    script = f'exec "$@" {streams}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *before, sys.executable, "-m", "console", *words, "-d", eternaltwin_demo],
        cwd=ROOT,
        env={**environment(tmp_path), **variables},
        capture_output=True,
        timeout=120,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert b"bug" not in done.stderr, done.stderr
    if command == "watch":
        assert done.returncode in (0, 130, -signal.SIGINT), done
        assert any(file.stat().st_size for file in open_to_all.glob("seen-*")), done
    else:
        assert done.returncode == 0, done
        assert bool(done.stdout) == (">&-" not in streams.replace("2>&-", "")), done


CONSOLES = sorted((name for name in MACHINES if not MACHINES[name][2]), key=lambda name: name != "LC_ALL=C")


@pytest.mark.parametrize("machine", most_in_proof(CONSOLES))
def test_the_console_runs(eternaltwin_demo: str, tmp_path: Path, machine: str) -> None:
    skip_without_root(machine)
    before, variables, _ = MACHINES[machine]
    command = (*before, sys.executable, "-m", "console")
    with Terminal(eternaltwin_demo, home=tmp_path, command=command, start="", **variables) as terminal:
        terminal.wait_for("live", "overdue timer").press("?").wait_for("/ search")
        assert "\\u" not in terminal.text, "a sign that the terminal cannot show"
        assert terminal.leave("q") == 0


@proof
@pytest.mark.parametrize("words", [["stuck", "--engine"], ["find"], ["show"], ["do", "wake"]], ids=" ".join)
def test_words_that_are_no_text(eternaltwin_demo: str, tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "console", *words, b"\xff\xe9", "-d", eternaltwin_demo],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        timeout=120,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert b"bug" not in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) <= 2


PIPES = ["config", "password", "service", "device", "input"]


@pytest.mark.parametrize("what", most_in_proof(PIPES))
def test_a_named_pipe_in_place_of_a_file_is_no_reason_to_wait(
    server: PostgresServer, eternaltwin_demo: str, tmp_path: Path, what: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    dsn, words, env = eternaltwin_demo, ["stuck"], environment(tmp_path)
    if what == "config":
        words += ["--config", str(pipe)]
    elif what == "password":
        dsn, env = f"host=127.0.0.1 port={server.port} user=postgres dbname=x passfile={pipe}", env
    elif what in ("service", "device"):
        dsn, env = "service=x", {**env, "PGSERVICEFILE": str(pipe) if what == "service" else "/dev/zero"}
    else:
        words = ["do", "edit", "eternaltwin/task:1", "--input", str(pipe), "--reason", "x", "--yes"]
        Thread(target=pipe.write_text, args=("{}",), daemon=True).start()  # `--input` is read to its end, as by `cat`
    done = subprocess.run(
        [sys.executable, "-m", "console", *words, "-d", dsn], cwd=ROOT, env=env, capture_output=True, timeout=60
    )
    assert done.returncode in (1, 2), done
    assert 1 <= len(done.stderr.splitlines()) <= 2, done.stderr
    assert b"bug" not in done.stderr
