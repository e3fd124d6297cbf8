"""Commands and the console with odd entries in the audit log."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from console.tui.screens.audit import AuditLogScreen
from console.tui.screens.audit_entry import AuditEntryScreen
from queries.log import audit_log
from queries.log.log_file import LogFile
from queries.records.audit import Origin
from tests.command import Answer, unstick
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.outside import copied
from tests.queries import odd
from tests.servers import PostgresServer

KINDS = (
    "results=number",
    "results=object",
    "results=list",
    "results=deep",
    "result.id=text",
    "outcome of a later version",
    "changes=text",
    "change.before=number",
    "arguments=list",
    "run.begin.nodes=deep_object",
)


async def run(*words: str, dsn: str) -> Answer:
    return await asyncio.to_thread(unstick, *words, dsn=dsn)


@pytest.fixture
async def node(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, audit_log_table: None, tmp_path: Path
) -> str:
    """Task with a genuine entry and odd ones of a role with INSERT alone."""
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=30))
    assert (await run("do", "wake", node, "-r", "genuine", "-y", "--arg", "untimed=true", dsn=eternaltwin)).code == 0
    role = server.unique("mallory")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; {audit_log.grants(role)}", eternaltwin)
    connection = await asyncpg.connect(server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x"))
    for each in odd.forged():
        if each.name in KINDS or each.columns.keys() & odd.COLUMNS:
            await odd.store(connection, each, node)
    await connection.close()
    return node


async def test_commands_list_every_entry(node: str, eternaltwin: str, eternaltwin_db: EternaltwinDb) -> None:
    number = await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log")
    listed = await run("audit", "--limit", "5000", dsn=eternaltwin)
    assert listed.code == 0
    lines = listed.out.splitlines()
    assert len(lines) == number + 1
    assert sorted(map(len, lines))[len(lines) // 2] < 2_000, "one long value does not make every line as long"
    assert any("cannot be read" in line and "results: Expected `array`, got `int`" in line for line in lines)
    entries = (await run("audit", "--json", "--limit", "5000", dsn=eternaltwin)).json["entries"]
    assert len(entries) == number
    assert [entry["unreadable"] for entry in entries if entry["reason"] == "genuine"] == [""]
    verified = await run("audit", "--verify", dsn=eternaltwin)
    assert verified.code == 1
    assert f"{number} of {number} entries have a hash" in verified.out
    for entry in entries:
        assert (f"unreadable  entry {entry['id']}:" in verified.out) is bool(entry["unreadable"])
    rows = await run("audit", "--format", "csv", dsn=eternaltwin)
    assert rows.code == 0
    assert rows.out.count("cannot be read") >= sum(bool(e["unreadable"] and not e["results"]) for e in entries)
    all_ = ["--limit", "5000"]
    some = (["--outcome", "changed", *all_], ["--target", node, *all_], [node, *all_], ["--format", "markdown"])
    for words in (*some, ["--action", "wake", *all_]):
        answer = await run("audit", *words, dsn=eternaltwin)
        assert (answer.code, "genuine" in answer.out) == (0, True), (words, answer.err)
    for words in (
        ["runs"],
        ["redrive", "--list"],
        ["show", node],
        ["stuck"],
        ["changed"],
        ["tree"],
        ["runs", "--json"],
    ):
        assert (await run(*words, dsn=eternaltwin)).code in (0, 1), words


async def test_commands_about_one_entry(node: str, eternaltwin: str, eternaltwin_db: EternaltwinDb) -> None:
    for each in odd.forged():
        if each.name in KINDS:
            entry = await odd.store(eternaltwin_db.connection, each, node)
            shown = await run("audit", entry, dsn=eternaltwin)
            assert (shown.code, "mallory" in shown.out or "anna@laptop" in shown.out) == (0, True)
            undone = await run("undo", entry, "-r", "x", "-y", dsn=eternaltwin)
            assert undone.code in (1, 3), each.name
            said = ("Nothing was changed.", "changed no node of eternaltwin, so there is nothing to undo.")
            assert any(words in undone.out + undone.err for words in said)
            assert (await run("runs", entry, dsn=eternaltwin)).code in (1, 3)
            assert (await run("do", "--resume", entry, "-y", dsn=eternaltwin)).code in (1, 3)


async def test_the_console_stays(node: str, eternaltwin: str, tmp_path: Path, eternaltwin_db: EternaltwinDb) -> None:
    """Open each of the ten kinds, undo it, copy it, and go on."""
    for each in odd.forged():
        if each.name in KINDS:
            await odd.store(eternaltwin_db.connection, each, node)
    async with run_tui(eternaltwin, tmp_path, size=(140, 40)) as tui:
        await tui.press("4")
        await tui.wait_for("cannot be read", "results: Expected `array`")
        page = tui.app.screen
        assert isinstance(page, AuditLogScreen)
        for _ in range(len(KINDS)):
            await tui.press("enter")
            await tui.wait_for(lambda: isinstance(tui.app.screen, AuditEntryScreen))
            await tui.press("U")
            await tui.handled()
            await tui.press("escape", "escape")
            await tui.wait_for(lambda: not isinstance(tui.app.screen, AuditEntryScreen))
            while tui.app.screen is not page:
                await tui.press("escape")
            await tui.press("U")
            await tui.handled()
            while tui.app.screen is not page:
                await tui.press("escape")
            await tui.press("j")
        for key in ("1", "2", "3", "4", "5", "1"):
            await tui.press(key)
            await tui.handled()
        await tui.press("4", "end", "end", "end", "end", "end", "end")
        await tui.wait_for("genuine")


def test_lines_of_the_local_file(tmp_path: Path) -> None:
    """Each odd line is an entry that cannot be read, and the genuine ones are as ever."""
    here = Origin(database="d", host="h", port=1)
    file = LogFile(tmp_path / "audit_log.jsonl", lambda: here)
    fixed = {"at": 0.0, "role": "r", "origin": {"database": "d", "host": "h", "port": 1}, "intended": False}
    lines = []
    for number, each in enumerate(odd.forged()):
        fields = {name: json.dumps(value) for name, value in {**fixed, "id": str(number)}.items()}
        columns = {**odd.GENUINE, **{k: v for k, v in each.columns.items() if k not in ("at", "role")}}
        fields |= {k: json.dumps(v) if k in odd.COLUMNS else v for k, v in columns.items()}
        lines.append("{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}")
    file.path.write_text("\n".join(lines) + "\n")
    file.path.chmod(0o600)
    entries = [line.entry for line in file.lines()]
    no_json = ("deep", "huge")  # no parser reads the line at all
    whole = {str(n) for n, each in enumerate(odd.forged()) if not any(word in each.name for word in no_json)}
    assert {entry.id for entry in entries} >= whole
    assert len([entry for entry in entries if entry.unreadable]) > 100


ODD = {
    "bytes": b"\xff\xfe\0\n" * 99 + b'{"context": "\xff"}\n{"context": "\\ud800"}\n' + b"9" * 5000,
    "types": b'null\n1\n[]\n{"mark": 7}\n{"key": {}}\n{"id": "a", "at": 1e999}\n\0half a {',
    "depth": b'{"context":' * 99_999 + b"x" * (2 << 20),
}


@pytest.mark.parametrize("kind", [*ODD, "time", "folder", "link"])
def test_odd_files_of_the_state_end_no_command(
    server: PostgresServer, eternaltwin_demo: str, tmp_path: Path, kind: str
) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    answers = partial(unstick, dsn=eternaltwin_demo, home=tmp_path)
    copied(tmp_path / "config" / "unstick" / "engines")  # it is looked for among the checked engines
    node = next(f["node_id"] for f in answers("stuck", "--json").findings if f["action"] == "wake")
    answers("do", "wake", node, "-r", "x", "-y")
    folder = tmp_path / "state" / "unstick"
    far = re.sub(rb'"at":[^,}]+', b'"at":1e300', (folder / "commits.jsonl").read_bytes())
    for name in ("servers.jsonl", "commits.jsonl", "checked_engines", "audit_log.jsonl", "runs"):
        (folder / name).unlink(missing_ok=True)
        if kind == "folder":
            (folder / name).mkdir()
        elif kind == "link":
            (folder / name).symlink_to("/etc/passwd")
        else:
            (folder / name).write_bytes(ODD.get(kind, far))
            (folder / name).chmod(0o600)
    server.sql("DELETE FROM unstick.audit_log", eternaltwin_demo)
    assert answers("show", node).code == 0
    assert ("was committed" in answers("audit").err) == (kind == "time")
    assert {answers("runs").code, answers("do", "wake", node, "-r", "x", "-y").code} <= {0, 1, 3}
    assert not [*folder.glob("crash-*")]
