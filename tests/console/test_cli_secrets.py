"""Passwords are not printed; encryption and publications are reported."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.command import fetch, unstick
from tests.servers import PostgresServer

PW = "hunter2hunter2"
FORMS = [
    f"postgres//op:{PW}@127.0.0.1:1/x",
    f"postgresql:/op:{PW}@127.0.0.1:1/x",
    f"//op:{PW}@127.0.0.1:1/x",
    f"postgres:op:{PW}@127.0.0.1:1/x",
    f"postgres//op:{PW}@127.0.0.1:1/x?sslmode=disable",
    f"postgresql://op:{PW}@127.0.0.1:1/x",
    f"postgresql://op:{PW}@127.0.0.1:one/x",
    f"postgresql://127.0.0.1:1/x?user=op&passwd={PW}",
    f"postgresql://127.0.0.1:1/x?user=op&sslpassword={PW}",
    f"postgresql://127.0.0.1:1/x password={PW}",
    f"host=127.0.0.1 port=1 user=op passwd={PW}",
    f"host=127.0.0.1 port=1 user=op password = {PW}",
    f"host=127.0.0.1 port=1 user=op sslpassword='{PW}'",
    f"host=127.0.0.1 port=1 user=op PASSWORD={PW}",
    f"passwd = '{PW}",
    f"PGPASSWORD={PW}",
]


@pytest.mark.parametrize("form", FORMS)
def test_no_password_is_printed(form: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[contexts.c]\ndsn = {json.dumps(form)}\n")
    for words in (
        ["info", "-d", form],
        ["info", "--json", "-d", form],
        ["stuck", form],
        ["stuck", "-d", form],
        ["-d", form, "tree"],
        [form],
        [form, "stuck"],
        [form, form],
        ["do", "wake", form, "--reason", "x"],
        ["show", form],
        ["stuck", "--engine", form],
        ["info", "@c"],
        ["stuck", "@c"],
    ):
        answer = unstick(*words, UNSTICK_CONFIG=str(config), PGHOST="127.0.0.1", PGPORT="1")
        assert answer.code in (1, 2), words
        assert PW not in answer.out + answer.err, words


def test_a_mistyped_scheme_is_not_sent_to_the_server_as_a_database_name(server: PostgresServer) -> None:
    parts = urlsplit(server.dsn())
    env = {"PGHOST": "127.0.0.1", "PGPORT": str(parts.port), "PGUSER": "postgres", "PGPASSWORD": str(parts.password)}
    answer = unstick("stuck", "-d", FORMS[0], **env)
    assert answer.code == 1
    assert "postgresql://" in answer.err
    assert "does not exist" not in answer.err


def test_info_says_whether_the_connection_is_encrypted(server: PostgresServer, eternaltwin_demo: str) -> None:
    found = unstick("info", "--json", dsn=eternaltwin_demo).json["server"]
    assert (found["encrypted"], found["tls"], found["local"]) == (False, "", False)
    shown = unstick("info", dsn=eternaltwin_demo).out
    assert "encrypted no" in shown
    assert not re.search(r"\(\)|False|None", shown), "no value as Python has it"
    local = unstick("info", "--json", dsn=server.socket_dsn()).json["server"]
    assert (local["encrypted"], local["tls"], local["local"]) == (False, "", True)


@pytest.mark.parametrize(("made", "warned"), [("FOR ALL TABLES", True), ("FOR TABLE job", False), ("", False)])
def test_init_names_the_publications_that_would_publish_the_audit_log(
    eternaltwin_demo: str, made: str, warned: bool
) -> None:
    async def publish() -> None:
        connection = await asyncpg.connect(eternaltwin_demo)
        try:
            await connection.execute(f'CREATE PUBLICATION "every\nthing" {made}')
        finally:
            await connection.close()

    asyncio.run(publish())
    answer = unstick("init", dsn=eternaltwin_demo, typed="n\n")
    assert answer.code == 1
    assert ("every␊thing" in answer.err) is warned
    if warned:
        assert answer.err.index("every␊thing") < answer.err.index("[y/N]")
    assert fetch(eternaltwin_demo, "SELECT to_regclass('unstick.audit_log')::text") == [(None,)]
