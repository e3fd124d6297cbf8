"""Runs in a local audit file, also one that another user may have written."""

from __future__ import annotations

import asyncio
import errno
import fcntl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from queries.db.database import Database
from queries.db.errors import DatabaseError, LockedError, OvertakenError
from queries.records.audit import AuditLogEntry, Origin
from queries.records.run import Member
from queries.write import run_file
from queries.write.log_file import LogFile
from queries.write.run_file import FileRun, Local
from queries.write.run_log import locked

ENTRY = AuditLogEntry(
    id="", at=0.0, role="r", os_user="anna", host="laptop", engine="e", schema="s", action="bulk", reason="x"
)
MEMBERS = [Member(id="e/job:1", version="1"), Member(id="e/job:2", version="1")]


@pytest.fixture
async def database(eternaltwin: str) -> AsyncIterator[Database]:
    one = Database(eternaltwin)
    yield one
    await one.close()


def local(folder: Path, database: Database | None = None) -> Local:
    origin = Origin(database="d", host="h", port=1, system_identifier="1")
    file = LogFile(folder / "audit_log.jsonl", lambda: origin)
    return Local(database=database or Database(), file=file, log=file)


async def test_a_file_that_others_can_write_is_refused_by_name(tmp_path: Path) -> None:
    begun = run_file.begin(local(tmp_path), ENTRY, {"kind": "bulk"}, MEMBERS)
    begun.close()
    (tmp_path / "audit_log.jsonl").chmod(0o666)
    with pytest.raises(DatabaseError, match=r"audit_log\.jsonl cannot be read: it can be written by other users"):
        run_file.load(local(tmp_path), begun.id)
    (tmp_path / "audit_log.jsonl").chmod(0o600)
    (tmp_path / "runs" / begun.id).chmod(0o666)
    with pytest.raises(DatabaseError, match=f"{begun.id} is not used: it can be written by other users"):
        await loaded(local(tmp_path), begun.id).take_over(ENTRY)


def test_the_file_of_an_earlier_version_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/b0123abcd.jsonl").write_text("{}")
    with pytest.raises(DatabaseError, match=r"b0123abcd\.jsonl is of version 0\.2\.0"):
        run_file.load(local(tmp_path), "b0123abcd")
    assert run_file.load(local(tmp_path), "b0000abcd") is None


def loaded(place: Local, name: str) -> FileRun:
    run = run_file.load(place, name)
    assert run is not None
    return run


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    place = local(tmp_path)
    assert run_file.unfinished(place) == ([], []), "no folder"
    run = run_file.begin(place, ENTRY, {"kind": "bulk"}, MEMBERS)
    run.close()
    (tmp_path / "runs/b0123abcd.jsonl").write_text("{}")
    (tmp_path / "runs/another file").write_text("")
    listed, unread = run_file.unfinished(place)
    assert [each.begun.id for each in listed] == [run.id]
    assert ["0.2.0" in why for why in unread] == [True]
    place.file.path.chmod(0o666)
    listed, unread = run_file.unfinished(place)
    assert (listed, ["can be written by other users" in why for why in unread]) == ([], [True])
    place.file.path.unlink()
    listed, unread = run_file.unfinished(place)
    assert (listed, ["has lost the beginning" in why for why in unread]) == ([], [True, False])


async def test_a_run_that_has_ended_can_be_read_but_is_listed_no_more(tmp_path: Path, database: Database) -> None:
    place = local(tmp_path, database)
    run = run_file.begin(place, ENTRY, {"kind": "bulk"}, MEMBERS)
    assert [each.begun.id for each in run_file.unfinished(place)[0]] == [run.id]
    assert run_file.unfinished(place, idle=True) == ([], []), "this process continues it"
    with pytest.raises(LockedError, match="is running in another console"):
        loaded(place, run.id).lock()
    await run.record(ENTRY, {"event": "end", "reason": "done"})
    run.close()
    assert list((tmp_path / "runs").iterdir()) == []
    again = loaded(place, run.id)
    ended = again.listed().ended
    again.close()
    assert list((tmp_path / "runs").iterdir()) == [], "also after it was read"
    assert ended is not None
    assert ended["reason"] == "done"
    assert run_file.unfinished(place) == ([], [])


async def test_a_console_that_was_overtaken_records_nothing(tmp_path: Path, database: Database) -> None:
    place = local(tmp_path, database)
    run = run_file.begin(place, ENTRY, {"kind": "bulk"}, MEMBERS)
    other = loaded(place, run.id)
    with pytest.raises(OvertakenError):
        await other.record(ENTRY, {"event": "end", "reason": "stopped"})
    assert await other.take_over(ENTRY)
    with pytest.raises(OvertakenError, match="continues the run"):
        await run.record(ENTRY, {"event": "end", "reason": "done"})
    run.close()
    await other.record(ENTRY, {"event": "end", "reason": "stopped"})
    other.close()
    ended = loaded(place, run.id).listed().ended
    assert ended is not None
    assert ended["reason"] == "stopped"
    assert list((tmp_path / "runs").iterdir()) == []


async def test_an_event_is_not_recorded_after_a_take_over(tmp_path: Path, database: Database) -> None:
    """It waits for the console that reads the entries, and has then lost the run."""
    place = local(tmp_path, database)
    run = run_file.begin(place, ENTRY, {"kind": "bulk"}, MEMBERS)
    other = loaded(place, run.id)
    another = Database(database.text)
    async with locked(another, run.id):
        recording = asyncio.create_task(run.record(ENTRY, {"event": "end", "reason": "done"}))
        done, _ = await asyncio.wait([recording], timeout=0.3)
        assert not done
        await other.take_over(ENTRY)
    with pytest.raises(OvertakenError):
        await recording
    assert other.listed().ended is None
    await another.close()


async def test_a_run_that_ends_leaves_the_lock_of_another_console(tmp_path: Path, database: Database) -> None:
    place = local(tmp_path, database)
    run = run_file.begin(place, ENTRY, {"kind": "bulk"}, MEMBERS)
    await run.record(ENTRY, {"event": "end", "reason": "done"})
    other = loaded(place, run.id)
    assert await other.take_over(ENTRY)
    run.close()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [run.id]
    with pytest.raises(LockedError):
        loaded(place, run.id).lock()
    other.close()


async def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for a lock of another console, whose file would be replaced."""
    place = local(tmp_path)
    run = run_file.begin(place, ENTRY, {"kind": "bulk"}, MEMBERS)

    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        with pytest.raises(DatabaseError, match="is not used: No locks available"):
            await loaded(place, run.id).take_over(ENTRY)
    with pytest.raises(LockedError):
        loaded(place, run.id).lock()
    run.close()
