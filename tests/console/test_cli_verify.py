"""``audit --verify``: exit codes, exported heads, and usage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from queries.log import audit_log
from queries.log.chain import heads_in
from tests.command import Answer, environment, unstick
from tests.console.test_cli_audit_file import act
from tests.proof import most_in_proof
from tests.servers import PostgresServer


def verified(dsn: str, home: Path, *more: str) -> Answer:
    return unstick("audit", "--verify", *more, dsn=dsn, home=home)


@pytest.mark.parametrize("form", most_in_proof([(), ("--json",)], unpacked=False))
def test_an_exported_head_shows_what_was_removed_later(
    server: PostgresServer, eternaltwin_demo: str, tmp_path: Path, form: tuple[str, ...]
) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    for _ in range(2):
        act(eternaltwin_demo, tmp_path)
    exported = verified(eternaltwin_demo, tmp_path, *form)
    assert (exported.code, exported.err) == (0, "")
    assert len(heads_in(exported.out)) == 1
    heads = tmp_path / "heads"
    heads.write_text(exported.out)
    act(eternaltwin_demo, tmp_path)
    again = verified(eternaltwin_demo, tmp_path, "--heads", str(heads), "--json")
    assert (again.code, again.json["known"], again.json["problems"]) == (0, 1, [])
    server.sql("DELETE FROM unstick.audit_log WHERE id > 1", eternaltwin_demo)
    assert verified(eternaltwin_demo, tmp_path).code == 1
    gone = verified(eternaltwin_demo, tmp_path, "--heads", str(heads), "--json")
    assert (gone.code, [p["code"] for p in gone.json["problems"]]) == (1, ["cut_end", "removed"])


def test_the_file_of_a_user_is_not_verified(eternaltwin_demo: str, tmp_path: Path) -> None:
    act(eternaltwin_demo, tmp_path)
    answer = verified(eternaltwin_demo, tmp_path)
    assert (answer.code, answer.out) == (1, "")
    assert "audit_log.jsonl, which is not verified: it has no hashes" in " ".join(answer.err.split())


def test_a_change_is_named_in_the_text(server: PostgresServer, eternaltwin_demo: str, tmp_path: Path) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    act(eternaltwin_demo, tmp_path)
    server.sql("UPDATE unstick.audit_log SET reason = 'another'", eternaltwin_demo)
    answer = verified(eternaltwin_demo, tmp_path)
    assert answer.code == 1
    assert any(line.startswith("changed") and "entry 1:" in line for line in answer.out.splitlines())


def test_an_empty_log_is_verified(server: PostgresServer, eternaltwin_demo: str, tmp_path: Path) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    answer = verified(eternaltwin_demo, tmp_path, "--json")
    assert (answer.code, answer.json["entries"], answer.json["heads"]) == (0, 0, [])


def test_a_table_without_hashes_is_not_verified(server: PostgresServer, eternaltwin_demo: str, tmp_path: Path) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    server.sql("DROP TRIGGER audit_log_chain ON unstick.audit_log; DROP TABLE unstick.audit_images", eternaltwin_demo)
    server.sql(
        "ALTER TABLE unstick.audit_log DROP digest, DROP previous, DROP seen, DROP images_digest", eternaltwin_demo
    )
    act(eternaltwin_demo, tmp_path)
    answer = verified(eternaltwin_demo, tmp_path)
    assert (answer.code, "unstick init" in answer.err) == (1, True)
    assert unstick("init", "--yes", dsn=eternaltwin_demo, home=tmp_path).code == 0
    before = verified(eternaltwin_demo, tmp_path, "--json")
    assert (before.code, before.json["older"]) == (1, 1), "nothing proves these entries"
    act(eternaltwin_demo, tmp_path)
    after = verified(eternaltwin_demo, tmp_path, "--json")
    assert (after.code, after.json["entries"], after.json["older"]) == (0, 2, 1)


@pytest.mark.parametrize(
    "words",
    [
        ("--verify", "--since", "1h"),
        ("--verify", "--limit", "5"),
        ("--verify", "eternaltwin/job:x"),
        ("--heads", "/dev/null"),
        ("--verify", "--heads", "/etc/hostname"),
        ("--verify", "--heads", "/no/such/file"),
    ],
)
def test_wrong_words(database: str, words: tuple[str, ...]) -> None:
    assert unstick("audit", *words, dsn=database).code == 2


@pytest.mark.parametrize("content", ["", "\n \n", "no head\n"])
def test_a_proof_without_a_head_is_an_error(eternaltwin_demo: str, tmp_path: Path, content: str) -> None:
    heads = tmp_path / "heads.txt"
    heads.write_text(content)
    answer = verified(eternaltwin_demo, tmp_path, "--heads", str(heads))
    assert (answer.code, answer.out) == (2, "")
    assert "--heads" in answer.err
    assert verified(eternaltwin_demo, tmp_path, "--heads", str(tmp_path / "missing")).code == 2


def test_a_proof_that_the_shell_has_emptied_is_no_proof(eternaltwin_demo: str, tmp_path: Path) -> None:
    """The shell empties the file of the proof before unstick starts."""
    command = f"{sys.executable} -m console.cli.main audit --verify --heads heads.txt -d {eternaltwin_demo} > heads.txt"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "write the new heads to another file" in done.stderr


def test_an_entry_without_a_hash_is_not_counted_as_hashed(
    server: PostgresServer, eternaltwin_demo: str, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), eternaltwin_demo)
    for _ in range(3):
        act(eternaltwin_demo, tmp_path)
    server.sql("UPDATE unstick.audit_log SET digest = NULL WHERE id = 2", eternaltwin_demo)
    answer = verified(eternaltwin_demo, tmp_path)
    assert answer.code == 1
    assert answer.out.startswith("2 of 3 entries have a hash.\n")
