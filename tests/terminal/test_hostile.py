"""Text from the database or the server never controls the terminal."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import asyncpg

from queries.text.safe_text import safe_text
from tests.command import hidden
from tests.proof import proof
from tests.servers import PostgresServer
from tests.simulators.every import ENGINES
from tests.terminal.driver import Terminal

ESCAPES = "\x1b]0;pwned\x07\x1b[2J\x1b[5m\x1b[?1000h\x1b]52;c;cHduZWQ=\x07\x1bP1$r\x1b\\\x9b31m"
HIDING = "\u202etxet\u202c\u2066iso\u2069\u200f\u200b\u2028\ufeff\U000e0041\u3164\ufe0f\U00013430\U0001bca0\U0001d173"
DETAIL = "esc back"  # in the footer of a page about a node
MARKUP = "[bold red]markup[/] [link=file:///x]y[/link] [@click=app.quit]z[/] [/unbalanced"
WIDE = "進撃の巨人 👩‍👩‍👧 e\u0301 שלום مرحبا"

# All that the console says to a terminal: colours, cursor positions, erasing, modes, keyboard protocol, the pointer.
HARMLESS = re.compile(
    "\x1b\\[(?:[0-9;]*m|[0-9;]*[ABCDHJK]|\\?(?:7|25|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048)[hl]"
    "|\\?(?:2026|2048)\\$p|>[0-9]*u|<u|\\?u|[0-9] q|2[23];2t)|\x1b\\]22;[a-z-]*\x07"
)
TITLE = re.compile("\x1b\\]2;(unstick [^\x07\x1b]*)\x07")  # its text is judged like all other text


@proof
async def test_what_is_stored_is_shown_and_never_sent(server: PostgresServer, eternaltwin: str, tmp_path: Path) -> None:
    await fill(eternaltwin)
    role = f'evil\x1b[31m\x07\x9b31m"\u202e[b]{server.unique()}'
    quoted = role.replace('"', '""')
    server.sql(f"CREATE ROLE \"{quoted}\" SUPERUSER LOGIN PASSWORD 'x'")
    database = server.dsn(eternaltwin.rsplit("/", 1)[-1], user=role, password="x")
    try:
        with Terminal(database, home=tmp_path, size=(140, 60)) as terminal:
            look_at_everything(terminal)
            assert terminal.leave("q") == 0
    finally:
        server.sql(f'REASSIGN OWNED BY "{quoted}" TO postgres; DROP OWNED BY "{quoted}"', eternaltwin)
        server.sql(f'DROP ROLE "{quoted}"')
    never_sent(terminal)
    assert f" as {safe_text(role)}" in TITLE.findall(terminal.raw.decode())[-1]


def look_at_everything(terminal: Terminal) -> None:
    terminal.wait_for("● live", "SendEmail", "6 stuck", lambda: terminal.at > 0)
    for _ in range(6):  # the tree is unfolded to what is stuck
        terminal.wait_for(lambda: "▾" in terminal.under).press("enter").wait_for(DETAIL, "Initial state")
        terminal.press("end").settled().press("escape").without(DETAIL)
        terminal.press("down").wait_for(lambda: "└" in terminal.under).press("enter").wait_for(
            DETAIL, "State  ", "Output  "
        )
        terminal.press("end").settled().press("escape").without(DETAIL)
        terminal.press("down").settled()
    terminal.press("2").wait_for("lost wakeup", "6 tasks", "W Wake").press("right", "down").settled()
    terminal.press("enter").wait_for(DETAIL)
    terminal.press("escape").without(DETAIL).press("1").wait_for("all jobs").press("/").wait_for("words, field:value")
    terminal.paste(f"{MARKUP} {WIDE}").wait_for("unbalanced").settled().press("escape").without("filter:")
    terminal.press("home").wait_for("C Cancel").press("C").wait_for("Reason, for the audit log")
    terminal.type(f"{MARKUP} {WIDE}").wait_for("unbalanced").settled().press("enter").wait_for("C apply to 1")
    terminal.press("end").settled().press("C").wait_for("1 changed", "transaction").press("end").settled()
    terminal.press("escape").without("transaction").press("4").wait_for("cancel", "markup").press("enter")
    terminal.wait_for("reason").press("end").settled().press("escape").settled()


async def fill(dsn: str) -> None:
    """Jobs, a task in each, with every kind of text in every column that takes it."""
    connection = await asyncpg.connect(dsn)
    try:
        for text in (ESCAPES, HIDING, MARKUP, WIDE, '{"a": "' + MARKUP + HIDING + '"}', '{"b": "\\u001b[2J\\u202e"}'):
            job, state = uuid.uuid4(), text.encode()
            await connection.execute("INSERT INTO job VALUES ($1, now() - interval '9 hours', NULL, $2)", job, state)
            await connection.execute(
                "INSERT INTO task VALUES ($1, $2, 'SendEmail', 1, now() - interval '9 hours',"
                " (now() - interval '8 hours', 1), 3, 'Blocked', '1 s', '2 s', $3, $3)",
                *(uuid.uuid4(), job, state),
            )
    finally:
        await connection.close()


async def test_names_of_schemas_are_shown_and_never_sent(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    engine = next(engine for engine in ENGINES if engine.name == "eternaltwin")()
    for name in (f"a\n{ESCAPES[:20]}", f"b{HIDING}[b]"):
        await fill(eternaltwin)
        quoted = '"' + name.replace('"', '""') + '"'
        server.sql(f"ALTER SCHEMA public RENAME TO {quoted}; CREATE SCHEMA public", eternaltwin)
        connection = await asyncpg.connect(eternaltwin)
        await engine.install(connection)
        await connection.close()
    with Terminal(eternaltwin, home=tmp_path, size=(140, 60)) as terminal:
        terminal.wait_for("● live", "eternaltwin@").press("tab").settled().press(*">>>").settled()
        terminal.press("enter").settled()
        terminal.press("2").settled().press("3").settled().press("4").settled().press("?").settled()
        terminal.press("escape").settled()
        assert terminal.leave("q") == 0
    never_sent(terminal)


def test_what_a_server_says_in_an_error_is_shown_and_never_sent(
    server: PostgresServer, eternaltwin_demo: str, tmp_path: Path
) -> None:
    server.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$f$ BEGIN RAISE EXCEPTION USING MESSAGE = $m${ESCAPES}{HIDING}{MARKUP}$m$, DETAIL = $m${ESCAPES}$m$; END $f$;"
        "CREATE TRIGGER refuse BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION refuse()",
        eternaltwin_demo,
    )
    with Terminal(eternaltwin_demo, home=tmp_path) as terminal:
        terminal.wait_for("● live", lambda: terminal.at > 0).press("C").wait_for("Reason, for the audit log")
        terminal.type("why").wait_for("why").press("enter").wait_for("pwned")
        terminal.press("escape").settled()
        assert terminal.leave("q") == 0
    never_sent(terminal)


def test_the_parts_of_a_connection_string_are_shown_and_never_sent(tmp_path: Path) -> None:
    dsn = f"host=127.0.0.1 port=1 dbname='{MARKUP}\x1b[2J\x9b31m\u202e{WIDE}' connect_timeout=2"
    with Terminal("-d", dsn, home=tmp_path) as terminal:
        terminal.wait_for("no connection")
        terminal.ended() if not terminal.modes else terminal.leave("q")
    never_sent(terminal)


def never_sent(terminal: Terminal) -> None:
    sent = terminal.raw.decode()
    assert ("\x1b[22;2t" in sent) == bool(TITLE.search(sent)) == ("\x1b[23;2t" in sent)  # kept, and given back
    rest = HARMLESS.sub("", TITLE.sub(r"\1", sent))
    found = {char for char in set(rest) if hidden(char)} - {"\r", "\n", "\b", "\u200d"}  # a field echoes a joiner
    assert not found, [rest[max(0, rest.index(c) - 40) : rest.index(c) + 20] for c in found]
    assert not {5, 6, 8} & terminal.attributes  # neither blinking nor concealed
    assert terminal.modes == set()
