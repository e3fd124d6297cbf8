"""``do edit``: a text from an editor, a file or stdin, until its undo."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import Answer, environment, fetch, unstick
from tests.servers import PostgresServer

CONTENT = "SELECT content::text FROM queued_job ORDER BY id"
Add = Callable[..., str]
EDITOR = """
import os, pathlib, signal, stat, sys, time
path = pathlib.Path(sys.argv[-1])
with open({log!r}, "a") as log:
    print(oct(stat.S_IMODE(path.stat().st_mode)), oct(stat.S_IMODE(path.parent.stat().st_mode)), path, file=log)
text = path.read_text()
{body}
"""


@pytest.fixture
def queue(server: PostgresServer) -> Iterator[str]:
    dsn = server.fresh("uni2work")
    yield dsn
    server.drop(dsn)


@pytest.fixture
def add(server: PostgresServer, queue: str) -> Add:
    """Queue a job. Returns its id."""

    def add(content: str = '{"job": "send-notification", "recipient": "x4711"}', *, cron: bool = False) -> str:
        insert = "INSERT INTO queued_job (content, creation_instance, creation_time, write_last_exec) VALUES"
        server.sql(f"{insert} ('{content}', gen_random_uuid(), now() - interval '1 min', {cron})", queue)
        ((job,),) = fetch(queue, "SELECT max(id) FROM queued_job")
        return f"uni2work/job:{job}"

    return add


class Editor:
    """A scripted editor.

    ``seen``: for each run the modes of file and folder, and the file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"

    def __call__(self, body: str) -> dict[str, str]:
        """Return an environment with an editor that executes ``body``.

        The script has ``path`` and ``text``.
        """
        script = self._folder / "editor.py"
        script.write_text(EDITOR.format(log=str(self._log), body=body))
        return {"EDITOR": f"'{sys.executable}' '{script}'", "XDG_RUNTIME_DIR": str(self._folder)}

    @property
    def seen(self) -> list[list[str]]:
        return [line.split(" ", 2) for line in self._log.read_text().splitlines()]


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    return Editor(tmp_path)


def edit(dsn: str, node: str, *words: str, **more: Any) -> Answer:
    return unstick("do", "edit", node, "--reason", "wrong recipient", *words, dsn=dsn, **more)


RIGHT = """path.write_text(text.replace('"x4711"', '12345678901234567890123'))"""


def test_the_edited_text_is_shown_and_stored(queue: str, add: Add, editor: Editor) -> None:
    node = add()
    preview = edit(queue, node, "--edit", "--dry-run", **editor(RIGHT))
    assert preview.code == 0
    lines = [line.strip() for line in preview.out.splitlines()]
    assert '-   "recipient": "x4711"' in lines
    assert '+   "recipient": 12345678901234567890123' in lines
    assert any("type change" in line and "$.recipient" in line for line in lines)
    assert fetch(queue, CONTENT) == [('{"job": "send-notification", "recipient": "x4711"}',)]
    shown = edit(queue, node, "--edit", "--dry-run", "--json", **editor(RIGHT)).json
    assert [(m["path"], m["code"]) for m in shown["edit"]["marks"]] == [("$.recipient", "type_change")]
    assert '+  "recipient": 12345678901234567890123' in shown["edit"]["diff"]
    assert (shown["edit"]["compared"], bool(shown["edit"]["scope"])) == (0, True)
    done = edit(queue, node, "--edit", "--yes", "--json", **editor(RIGHT))
    assert (done.code, done.json["results"][0]["outcome"]) == (0, "changed")
    after = '{"job": "send-notification", "recipient": 12345678901234567890123}'
    assert fetch(queue, CONTENT) == [(after,)]
    for file_mode, folder_mode, path in editor.seen:
        assert (file_mode, folder_mode) == ("0o600", "0o700")
        assert not Path(path).parent.exists()
    undone = unstick("undo", done.json["entries"][0], "--reason", "oops", "--yes", dsn=queue, home=done.home)
    assert undone.code == 0
    assert fetch(queue, CONTENT) == [('{"job": "send-notification", "recipient": "x4711"}',)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("path.write_text('{')", "not JSON"),
        ("pass", "unchanged"),
        ("path.write_text(text.replace(' ', '   '))", "unchanged"),
        ("sys.exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("path.unlink()", "could not be read"),
        ("path.write_bytes(b'\\xff')", "UTF-8"),
        ("path.write_text('[' + ' ' * (2 << 20) + ']')", "more than"),
        ("path.write_text('{\"a\": \"' + 'x' * (1 << 19) + '\"}')", "more than"),
        ("path.write_text('[' * 100_000 + ']' * 100_000)", "nested"),
        ("path.write_text('{\"a\": NaN}')", "NaN"),
        ('path.write_text(\'{"a": "\\\\u0000"}\')', "Nothing was changed"),
    ],
)
def test_an_edit_that_cannot_be_used_changes_nothing(
    queue: str, add: Add, editor: Editor, body: str, said: str
) -> None:
    before = add() and fetch(queue, CONTENT)
    ((job,),) = fetch(queue, "SELECT id FROM queued_job")
    answer = edit(queue, f"uni2work/job:{job}", "--edit", "--yes", **editor(body))
    assert answer.code in (1, 3)
    assert said in answer.err + answer.out
    assert "Nothing was changed" in answer.err or answer.code == 3
    assert fetch(queue, CONTENT) == before
    assert all(not Path(path).parent.exists() for _, _, path in editor.seen)


def test_the_text_comes_from_a_file_or_stdin(queue: str, add: Add, tmp_path: Path) -> None:
    nodes = [add(), add()]
    file = tmp_path / "new.json"
    file.write_text('{"job": "send-notification", "recipient": 1}')
    assert edit(queue, nodes[0], "--input", str(file), "--yes").code == 0
    assert edit(queue, nodes[1], "--input", "-", "--yes", piped='{"job": "x", "job": "y"}').code == 0
    assert fetch(queue, CONTENT) == [('{"job": "send-notification", "recipient": 1}',), ('{"job": "y"}',)]
    assert edit(queue, nodes[1], "--input", "-", "--yes", piped="{").code == 1


def test_wrong_usage(queue: str, add: Add, editor: Editor) -> None:
    node, other = add(), add()
    assert edit(queue, node, "--yes").code == 2  # no terminal, no text
    assert edit(queue, node, other, "--edit", "--yes", **editor(RIGHT)).code == 2
    assert edit(queue, node, "--arg", "content={}", "--yes").code == 2
    cancel = ("do", "cancel", node, "--reason", "x", "--yes")
    assert unstick(*cancel, "--edit", dsn=queue).code == 2
    assert edit(queue, node, "--edit", "--yes", EDITOR="no-such-editor").code == 1
    assert edit(queue, node, "--edit", "--yes", EDITOR="'").code == 1
    assert edit(queue, "uni2work/job:999", "--edit", "--yes", **editor(RIGHT)).code == 1
    assert edit(queue, add(cron=True), "--edit", "--yes", **editor(RIGHT)).code == 1


def test_at_a_terminal_a_wrong_text_can_be_edited_again(queue: str, add: Add, editor: Editor) -> None:
    node = add()
    body = "path.write_text(text + '}' if text.count('}') == 1 else '{\"job\": \"x\"}')"
    done = edit(queue, node, typed="y\ny\n", **editor(body))
    assert done.code == 0, done.err
    assert len(editor.seen) == 2
    assert fetch(queue, CONTENT) == [('{"job": "x"}',)]


def test_a_command_that_is_terminated_leaves_no_file(queue: str, add: Add, editor: Editor, tmp_path: Path) -> None:
    node = add()
    body = "os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)"
    words = [sys.executable, "-m", "console", "do", "edit", node, "-d", queue, "--reason", "x", "--edit", "--yes"]
    done = subprocess.run(words, env=environment(tmp_path, editor(body)), timeout=60)
    assert done.returncode == -signal.SIGTERM
    assert fetch(queue, CONTENT) == [('{"job": "send-notification", "recipient": "x4711"}',)]
    assert all(not Path(path).parent.exists() for _, _, path in editor.seen)


def test_a_row_that_was_touched_while_the_editor_was_open_is_mentioned(
    queue: str, add: Add, editor: Editor, tmp_path: Path
) -> None:
    node = add()
    touch = (
        "import asyncio, asyncpg\n"
        "async def touch():\n"
        f"    connection = await asyncpg.connect({queue!r})\n"
        "    await connection.execute(\"UPDATE queued_job SET creation_time = creation_time - interval '1 h'\")\n"
        "    await connection.close()\n"
        "asyncio.run(touch())\n"
    )
    rewrite = "path.write_text(text.replace('x4711', 'x4712'))\n"
    untouched = edit(queue, node, "--edit", "--dry-run", home=tmp_path, **editor(rewrite))
    assert "changed this job while" not in untouched.out
    touched = edit(queue, node, "--edit", "--dry-run", home=tmp_path, **editor(rewrite + touch))
    assert "changed this job while its text was edited" in " ".join(touched.out.split()), touched
