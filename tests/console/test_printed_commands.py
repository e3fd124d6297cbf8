"""Each command that is printed runs as it is printed.

The commands of all findings of the demo's data, of each engine, are dry-run. Those that messages name are parsed.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from console.cli import suggested
from console.config import Config, Context
from console.target import Target
from queries.change import run as runs
from queries.change.run import Beginning, RunPlan
from queries.contract.builtin import builtin
from queries.log import audit_log
from queries.records.run import BULK, Member
from tests.command import Answer, fetch, unstick
from tests.proof import most_in_proof
from tests.queries.builders import dry_run_of, opened, reader
from tests.servers import PostgresServer

SOURCES = [Path(__file__).parents[2] / name for name in ("queries", "console")]
NAMED = re.compile(r"`(unstick [^`]*)`")
REFUSED = 3  # exit code if no node is changed


def message_commands() -> list[str]:
    """Return the commands that files of the program name."""
    files = [file for source in SOURCES for kind in ("py", "toml", "sql") for file in source.rglob(f"*.{kind}")]
    found = {" ".join(each.split()) for file in files for each in NAMED.findall(file.read_text())}
    return sorted({re.sub(r"\{[^}]*\}", "x", each) for each in found})


@pytest.mark.parametrize("command", message_commands())
def test_the_parser_accepts_a_command_that_a_message_names(command: str) -> None:
    words = shlex.split(command)[1:]
    if words[-1].startswith("--"):  # it may need a value, which the reader has
        words = words[:-1] if unstick(*words, "--help").code else words
    answer = unstick(*words, "--help")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("name", most_in_proof([engine.name for engine in builtin()], 1))
async def test_the_commands_of_each_finding_run(server: PostgresServer, tmp_path: Path, name: str) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    target = Target(Config(path=Path()), Context(name="", dsn=dsn))
    commands: dict[tuple[str, str], str] = {}
    for each in workspace.engines.values():
        for finding in (await each.findings.read()).findings:
            if finding.action:
                commands.setdefault((finding.code, finding.action), suggested.command(target, finding))
    await workspace.close()
    for (code, action), line in commands.items():
        answer = await asyncio.to_thread(run, line, "--dry-run", dsn=dsn)
        assert answer.code in (0, REFUSED), (code, action, line, answer.err)
    for line in printed((await asyncio.to_thread(unstick, "stuck", dsn=dsn)).out):
        answer = await asyncio.to_thread(run, line, "--dry-run", dsn=dsn)
        assert answer.code in (0, REFUSED), (line, answer.err)
    server.drop(dsn)


def test_the_command_of_an_undo_runs(eternaltwin_demo: str, tmp_path: Path) -> None:
    stuck = unstick("stuck", "--json", dsn=eternaltwin_demo, home=tmp_path)
    finding = next(each for each in stuck.findings if each["action"] == "wake")
    done = unstick("do", "wake", finding["node_id"], "-r", "x", "--yes", dsn=eternaltwin_demo, home=tmp_path)
    assert done.code == 0, done.err
    lines = printed(done.out + done.err)
    assert any(" undo " in line for line in lines), done.out + done.err
    for line in lines:
        answer = run(line, "--dry-run", dsn=eternaltwin_demo, home=tmp_path)
        assert answer.code == 0, (line, answer.err)


async def interrupted(dsn: str, home: Path) -> str:
    """Leave a run that was ended before its first transaction. Return its node."""
    workspace = await opened(dsn, home / "state/unstick")
    late = next(f for f in (await reader(workspace).findings.read()).findings if f.action == "wake")
    dry_run = await dry_run_of(workspace, "wake", [late.node_id])
    plan = RunPlan(
        label=dry_run.engine,
        schema="public",
        reason="test",
        members=tuple(Member(id=i, version=version) for i, version in dry_run.versions.items()),
        beginning=Beginning(kind=BULK, action="wake", nodes=len(dry_run.versions)),
    )
    await runs.begin(workspace, plan)
    await workspace.close()
    return late.node_id


def test_the_commands_for_an_unfinished_bulk_run(server: PostgresServer, eternaltwin_demo: str, tmp_path: Path) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    for chosen, more in (("--stop", ()), ("--resume", ("--yes",))):
        node = asyncio.run(interrupted(eternaltwin_demo, tmp_path))
        words = ("do", "wake", node, "-r", "x", "--dry-run")
        lines = printed(unstick(*words, dsn=eternaltwin_demo, home=tmp_path).err)
        assert ["-d" in shlex.split(line) for line in lines] == [True, True]
        answer = run(next(line for line in lines if chosen in line), *more, dsn=eternaltwin_demo, home=tmp_path)
        assert answer.code == 0, (lines, answer.err)
        assert printed(unstick(*words, dsn=eternaltwin_demo, home=tmp_path).err) == []


@pytest.mark.parametrize("command", ["stuck", "show"])
def test_commands_are_complete_in_the_text_of_a_context(eternaltwin_demo: str, tmp_path: Path, command: str) -> None:
    """They name the context, which holds the password."""
    file = tmp_path / "config/unstick/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[contexts.prod]\ndsn = "{eternaltwin_demo}"\n')
    finding = next(f for f in unstick("stuck", "--json", "@prod", home=tmp_path).findings if f["action"] == "wake")
    shown = unstick(command, *([finding["node_id"]] if command == "show" else []), "@prod", home=tmp_path)
    line = next(line for line in printed(shown.out) if " wake " in line)
    assert "@prod" in shlex.split(line)
    answer = unstick(*shlex.split(line)[1:], "--dry-run", home=tmp_path)
    assert answer.code == 0, (line, answer.err)


def test_a_refusal_names_the_command_that_says_what_to_do(eternaltwin_demo: str) -> None:
    ((task,),) = fetch(eternaltwin_demo, "SELECT task_id::text FROM task WHERE status = 'Complete' LIMIT 1")
    refused = unstick("do", "cancel", f"eternaltwin/task:{task}", "-r", "x", "--dry-run", dsn=eternaltwin_demo)
    assert refused.code == REFUSED
    (line,) = NAMED.findall(refused.err)
    shown = run(line, dsn=eternaltwin_demo)
    assert shown.code == 0, shown.err
    assert re.search(r"^  cancel +not available: ", shown.out, re.MULTILINE)


CHANGES = re.compile(r"\bunstick (?:do|undo|redrive|runs) [^`]*")


def printed(text: str) -> list[str]:
    """Return the commands of unstick which change something."""
    return [found.strip() for line in text.splitlines() for found in CHANGES.findall(line)]


def run(line: str, *more: str, dsn: str, home: Path | None = None) -> Answer:
    """Run a line as a shell would, with the password that no line shows."""
    _, *words = shlex.split(line)
    given = () if "-d" in words else ("-d", dsn)
    return unstick(*words, *more, *given, home=home, PGPASSWORD=unquote(urlsplit(dsn).password or ""))
