"""Lists of bulks that another user may have written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from queries.db.errors import DatabaseError
from queries.records.action import DryRun, Outcome, Result
from queries.write import bulk_list


def test_a_list_that_others_can_write_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "b0123abcd.jsonl"
    path.write_text("{}")
    path.chmod(0o666)
    with pytest.raises(DatabaseError, match=r"b0123abcd\.jsonl is not used: it can be written by other users"):
        bulk_list.load(tmp_path, "b0123abcd", cast(Any, None))


def test_a_list_that_was_changed_is_refused_by_name(tmp_path: Path) -> None:
    """Also if another list has the line, and not if a crash cut the last line."""
    server = cast(Any, SimpleNamespace(database="d", system_identifier="1"))
    dry_run = DryRun(
        engine="e",
        action="a",
        reason="r",
        arguments={},
        results=(),
        versions={"e/job:1": "1", "e/job:2": "1"},
        row_digests={},
        changes=(),
        at=0.0,
        audit_log="table",
    )
    made = [bulk_list.create(tmp_path, server, "s", dry_run) for _ in range(2)]
    for each in made:
        each.add_results((Result(id="e/job:1", outcome=Outcome.CHANGED),))
        each.close()
    first, second = (tmp_path / f"{each.head.id}.jsonl" for each in made)
    intact = first.read_bytes()
    first.write_bytes(intact + b'\n{"line":{"resul')
    again = bulk_list.load(tmp_path, made[0].head.id, server)
    assert list(again.left) == ["e/job:2"]
    again.close()
    for changed in (
        intact.replace(b"e/job:2", b"e/job:3"),
        intact + second.read_bytes().splitlines()[-1] + b"\n",
        intact + b'{"results":[]}\n',
    ):
        first.write_bytes(changed)
        with pytest.raises(DatabaseError, match=f"{first.name} was changed, or an earlier version wrote it"):
            bulk_list.load(tmp_path, made[0].head.id, server)
    assert [each.head.id for each in bulk_list.unfinished(tmp_path, server)] == [made[1].head.id]
