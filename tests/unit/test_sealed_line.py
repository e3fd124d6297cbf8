"""Lines of local files with their own hash, and their corrections."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.files.sealed_line import digest_of, sealed
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry, Origin
from queries.write import audit_log


@pytest.mark.parametrize("owner", ["", "b0123abcd"])
@pytest.mark.parametrize("line", [b'{"a":1}', b'{"a":{"digest":"' + b"x" * 63 + b'"}}'])
def test_the_hash_covers_the_line_and_its_owner(line: bytes, owner: str) -> None:
    whole = sealed(line, owner)
    assert whole.endswith(b',"digest":"' + digest_of(whole, owner).encode() + b'"}')
    assert digest_of(whole.replace(b"a", b"b", 1), owner) != digest_of(whole, owner)
    assert digest_of(whole, "another") != digest_of(whole, owner)


async def test_a_correction_keeps_the_results_of_the_other_nodes(tmp_path: Path) -> None:
    file = audit_log.File(tmp_path / "audit_log.jsonl", lambda: Origin(database="d", host="h", port=1))
    results = (
        Result(id="e/job:1", outcome=Outcome.CHANGED, title="one"),
        Result(id="e/job:2", outcome=Outcome.STALE, why="it was changed since it was shown"),
    )
    entry = AuditLogEntry(
        id="a1",
        at=0.0,
        role="r",
        os_user="anna",
        host="laptop",
        engine="e",
        schema="s",
        action="wake",
        reason="x",
        results=results,
    )
    file.append(entry, intended=True)
    audit_log.correct(file, entry, [Result(id="e/job:1", outcome=Outcome.UNSENT, why="rolled back")])
    (now,) = [entry async for entry in file.entries()]
    assert now.results == (Result(id="e/job:1", outcome=Outcome.UNSENT, why="rolled back", title="one"), results[1])
