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

from console.cli import tables
from console.config import Config
from console.target import Target
from queries.contract.builtin import builtin
from tests.command import Answer, unstick
from tests.proof import most_in_proof
from tests.queries.builders import opened
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
    target = Target(Config(path=Path()), dsn=dsn)
    commands: dict[tuple[str, str], str] = {}
    for reader in workspace.engines.values():
        for finding in (await reader.findings()).found:
            if finding.action:
                commands.setdefault((finding.code, finding.action), tables.command(target, finding))
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
    finding = next(each for each in stuck.found if each["action"] == "wake")
    done = unstick("do", "wake", finding["node_id"], "-r", "x", "--yes", dsn=eternaltwin_demo, home=tmp_path)
    assert done.code == 0, done.err
    lines = printed(done.out + done.err)
    assert any(" undo " in line for line in lines), done.out + done.err
    for line in lines:
        answer = run(line, "--dry-run", dsn=eternaltwin_demo, home=tmp_path)
        assert answer.code == 0, (line, answer.err)


def printed(text: str) -> list[str]:
    """Return the lines that are commands of unstick which change something."""
    found = (line[line.index("unstick ") :] for line in text.splitlines() if re.search(r"\bunstick (do|undo) ", line))
    return [line.strip() for line in found]


def run(line: str, *more: str, dsn: str, home: Path | None = None) -> Answer:
    """Run a line as a shell would, with the password that no line shows."""
    _, *words = shlex.split(line)
    given = () if "-d" in words else ("-d", dsn)
    return unstick(*words, *more, *given, home=home, PGPASSWORD=unquote(urlsplit(dsn).password or ""))
