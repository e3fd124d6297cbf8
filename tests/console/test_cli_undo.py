"""``undo``: undo an entry of the audit log from the command line."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from queries.log import audit_log
from tests.command import fetch, unstick
from tests.servers import PostgresServer

STATUS = "SELECT status::text FROM task ORDER BY task_id"
INSERT = """
INSERT INTO job VALUES ('{job}', now() - interval '1 day', NULL, '{{}}');
INSERT INTO task VALUES ('{task}', '{job}', 'SendEmail', 1, now() - interval '1 day', NULL, 3, 'Blocked', '1 s', '2 s', '{{}}', NULL);
INSERT INTO task_timer VALUES (now() - interval '1 hour', '{task}');
"""  # noqa: E501

Add = Callable[[], str]


@pytest.fixture
def add(server: PostgresServer, eternaltwin: str) -> Add:
    """Add a task with a timer. Returns its id, greater than those before."""
    server.sql(audit_log.ddl(), eternaltwin)
    number = iter(range(10))

    def add() -> str:
        task = f"00000000-0000-4000-8000-{next(number):012}"
        server.sql(INSERT.format(job=uuid.uuid4(), task=task), eternaltwin)
        return f"eternaltwin/task:{task}"

    return add


def test_an_entry_is_undone_after_a_dry_run(eternaltwin: str, add: Add) -> None:
    ids = [add(), add()]
    done = unstick("do", "cancel", *ids, "--reason", "wrong", "--yes", "--json", dsn=eternaltwin)
    (entry,) = done.json["entries"]
    assert f"unstick undo {entry}" in done.err

    assert unstick("undo", entry, "--reason", "oops", dsn=eternaltwin).code != 0  # no terminal, no --yes
    preview = unstick("undo", entry, "--reason", "oops", "--dry-run", "--json", dsn=eternaltwin)
    assert {r["outcome"] for r in preview.json["results"]} == {"changed"}
    text = unstick("undo", entry, "--reason", "oops", "--dry-run", dsn=eternaltwin).out
    assert text.splitlines()[1].startswith(f"Undoes: cancel of the entry {entry}, by the role postgres (")
    reached = preview.json["blast_radius"]["reached"]
    assert any((r["code"], r["what"]) == ("becomes", "scheduled") and set(ids) <= set(r["ids"]) for r in reached)
    assert fetch(eternaltwin, STATUS) == [("Complete",), ("Complete",)]

    some = unstick("undo", entry, ids[0], "--reason", "oops", "--yes", "--json", dsn=eternaltwin)
    assert (some.code, [r["id"] for r in some.json["results"]]) == (0, ids[:1])
    assert fetch(eternaltwin, STATUS) == [("Blocked",), ("Complete",)]

    rest = unstick("undo", entry, "--reason", "oops", "--yes", "--json", dsn=eternaltwin)
    assert rest.code == 3
    assert {r["id"]: r["outcome"] for r in rest.json["results"]} == {ids[0]: "stale", ids[1]: "changed"}
    log = unstick("audit", "--action", "undo", "--json", dsn=eternaltwin).json["entries"]
    assert [e["arguments"]["entry"] for e in log] == [entry, entry]


def test_wrong_entries_and_nodes_are_refused(eternaltwin: str, add: Add) -> None:
    task, other = add(), add()
    done = unstick("do", "cancel", task, "--reason", "wrong", "--yes", "--json", dsn=eternaltwin)
    (entry,) = done.json["entries"]
    for words, code in ((["99"], 3), (["no"], 2), ([entry, other], 2)):
        assert unstick("undo", *words, "--reason", "oops", "--yes", dsn=eternaltwin).code == code
    assert unstick("undo", entry, "--yes", dsn=eternaltwin).code == 2
    assert fetch(eternaltwin, STATUS) == [("Complete",), ("Blocked",)]


def test_a_dry_run_says_what_cannot_be_undone(eternaltwin: str, add: Add, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'[contexts.secret]\ndsn = "{eternaltwin}"\nimages = false\n')
    words = ("do", "cancel", add(), "--reason", "wrong", "--dry-run")
    assert "can be undone" in unstick(*words, dsn=eternaltwin).out
    assert "cannot be undone" in unstick(*words, "@secret", "--config", str(settings)).out
