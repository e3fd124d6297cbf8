"""Help, the manual page and shell completion."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from console.cli import commands, exit_codes
from tests.command import ROOT, environment, unstick

SHELLS = ("bash", "zsh", "fish")
SETTINGS = '[contexts.prod]\nproduction = true\n[contexts.preview]\n[contexts.lab]\n[filters]\nlate = "age:>2h"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three contexts."""
    file = tmp_path / "config" / "unstick" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(SETTINGS)
    return tmp_path


# Help


def test_short_options() -> None:
    assert unstick("-h").out == unstick("--help").out != ""
    assert unstick("stuck", "-h").out == unstick("stuck", "--help").out != ""
    assert unstick("-V").out == unstick("--version").out != ""


def test_help_is_no_database() -> None:
    answer = unstick("help")
    assert (answer.code, answer.out, answer.err) == (0, unstick("--help").out, "")


@pytest.mark.parametrize("name", commands.unstick.commands)
def test_help_of_a_command(name: str) -> None:
    answer = unstick("help", name)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == unstick(name, "--help").out


def test_each_place_lists_the_arguments_of_an_action(eternaltwin_demo: str) -> None:
    """Also their choices: the reader must guess nothing."""
    page = unstick("man").out.replace("\\-", "-")
    for action, said in (("restart", "--arg confirm=TEXT"), ("resolve", "--arg status=")):
        assert said in unstick("help", "do", action).out
        assert said in page
    choices = next(line for line in unstick("help", "do", "resolve").out.splitlines() if "--arg status=" in line)
    assert "manually_resolved" in choices
    assert "--arg confirm=TEXT" in unstick("engines", dsn=eternaltwin_demo).out
    jobs = unstick("tree", "--json", "--depth", "1", dsn=eternaltwin_demo).json["nodes"]
    job = next(node["id"] for node in jobs if node["phase"] != "unknown")
    assert "--arg confirm=TEXT" in unstick("show", job, dsn=eternaltwin_demo).out


def test_help_of_an_unknown_command() -> None:
    answer = unstick("help", "sutck")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean stuck?" in answer.err


# The manual page


def test_the_manual_page_names_every_command_and_option() -> None:
    answer = unstick("man")
    assert (answer.code, answer.err) == (0, "")
    page = answer.out.replace("\\-", "-")
    for name, command in commands.unstick.commands.items():
        assert f".SS unstick {name}" in page
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option in page, (name, option)
    for code in exit_codes.CODES:
        assert f".B {code}\n" in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_valid() -> None:
    page = unstick("man").out
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--dry-run" in re.sub(".\b", "", done.stdout)  # bold is overstruck


# Completion


def completed(home: Path, line: str) -> list[str]:
    """Return what bash is offered at the end of a line."""
    env = {"_UNSTICK_COMPLETE": "bash_complete", "COMP_WORDS": line}
    answer = unstick(home=home, **env)
    assert (answer.code, answer.err) == (0, "")
    return [item.removeprefix("plain,") for item in answer.out.splitlines() if item]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("unstick @", ["@prod", "@preview", "@lab"]),
        ("unstick @pr", ["@prod", "@preview"]),
        ("unstick -d @l", ["@lab"]),
        ("unstick stuck @l", ["@lab"]),
        ("unstick @prod stu", ["stuck"]),
        ("unstick help stu", ["stuck"]),
        ("unstick stuck --engine uni", ["uni2work"]),
        ("unstick stuck --engine=uni", ["uni2work"]),
        ("unstick do wak", ["wake"]),
        ("unstick @prod do wak", ["wake"]),
        ("unstick sql wak", ["wake"]),
        ("unstick do wake --incident eternaltwin/overd", ["eternaltwin/overdue_timer"]),
        ("unstick do wake --dry", ["--dry-run"]),
        ("unstick tree phase:b", ["blocked"]),
        ("unstick tree finding:overdue_t", ["overdue_timer"]),
        ("unstick tree !phase:do", ["done"]),
        ("unstick tree --filter @la", ["@late"]),
        ("unstick do wake --filter kind:dead", ["dead_letter"]),
        ("unstick completion z", ["zsh"]),
        ("unstick nonsense nonsense stu", ["stuck"]),
    ],
)
def test_completions(home: Path, line: str, found: list[str]) -> None:
    assert completed(home, line) == found


def test_wrong_settings_complete_nothing(home: Path) -> None:
    (home / "config" / "unstick" / "config.toml").write_text("nonsense")
    assert completed(home, "unstick @") == []
    assert completed(home, "unstick stu") == ["stuck"]


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, home: Path) -> Iterator[pexpect.spawn[str]]:
    """An interactive shell with completion of unstick."""
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    words = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    env = {**environment(home), "PATH": path, "TERM": "dumb", "PS1": "", "fish_greeting": ""}
    child = pexpect.spawn(name, words, cwd=str(ROOT), env=env, timeout=60, encoding="utf-8", dimensions=(24, 200))  # type: ignore[arg-type]
    setup = {
        "bash": 'eval "$(unstick completion bash)"',
        "zsh": 'autoload -U compinit; compinit -u; eval "$(unstick completion zsh)"',
        "fish": "unstick completion fish | source",
    }[name]
    child.sendline(setup + "; echo re'ady'")
    child.expect("ready")
    yield child
    child.close(force=True)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("stu", "stuck"),
        ("@la", "@lab"),
        ("do wak", "do wake"),
        ("tree finding:overdue_ti", "tree finding:overdue_timer"),
        ("stuck --engine uni", "stuck --engine uni2work"),
    ],
)
def test_a_shell_completes_the_line(shell: pexpect.spawn[str], typed: str, line: str) -> None:
    shell.send(f"unstick {typed}\t")
    shell.expect_exact(line)
