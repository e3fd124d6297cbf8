"""Files of runs that another user may have written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from queries.db.errors import DatabaseError
from queries.records.audit import AuditLogEntry
from queries.records.run import Member
from queries.write import run_file

ENTRY = AuditLogEntry(
    id="", at=0.0, role="r", os_user="anna", host="laptop", engine="e", schema="s", action="bulk", reason="x"
)
SERVER = cast(Any, SimpleNamespace(database="d", system_identifier="1"))


def test_a_file_that_others_can_write_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "b0123abcd.jsonl"
    path.write_text("{}")
    path.chmod(0o666)
    with pytest.raises(DatabaseError, match=r"b0123abcd\.jsonl is not used: it can be written by other users"):
        run_file.load(tmp_path, "b0123abcd", cast(Any, None))


async def test_a_file_that_was_changed_is_refused_by_name(tmp_path: Path) -> None:
    """Also if another file has the line, and not if a crash cut the last line."""
    members = [Member(id="e/job:1", version="1"), Member(id="e/job:2", version="1")]
    made = [run_file.begin(tmp_path, SERVER, ENTRY, {"kind": "bulk"}, members) for _ in range(2)]
    for each in made:
        await each.record(ENTRY, {"event": "skipped"})
        each.close()
    first, second = (tmp_path / f"{each.id}.jsonl" for each in made)
    intact = first.read_bytes()
    first.write_bytes(intact + b'\n{"line":{"resul')
    again = run_file.load(tmp_path, made[0].id, SERVER)
    assert bytes(again.begun.members) == b'{"members":[["e/job:1","1",""],["e/job:2","1",""]]}'
    again.close()
    for changed in (
        intact.replace(b"e/job:2", b"e/job:3"),
        intact + second.read_bytes().splitlines()[-1] + b"\n",
        intact + b'{"results":[]}\n',
    ):
        first.write_bytes(changed)
        with pytest.raises(DatabaseError, match=f"{first.name} was changed, or an earlier version wrote it"):
            run_file.load(tmp_path, made[0].id, SERVER)
    assert [each.id for each in run_file.unfinished(tmp_path, SERVER)] == [made[1].id]
