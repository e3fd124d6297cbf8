"""Dead letters with the same error are grouped; ids and numbers are ignored."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from console.model.dead_letter_board import DEAD_LETTERS_AT_ONCE, DEAD_LETTERS_READ, EngineDeadLetters
from queries.read.dead_letters import digest, exception, fold, grouped
from queries.read.reader import Reader
from queries.records.dead_letter import DeadLetter, DeadLetters, Fate
from queries.records.node import Node, Phase


@pytest.mark.parametrize(
    ("error", "folded"),
    [
        ("503 from http://10.0.0.7:8080 after 512 ms", "<n> from <address> after <n> ms"),
        ("job 1f0e2d3c-4b5a-4697-8879-0a1b2c3d4e5f is gone", "job <id> is gone"),
        ("job 1F0E2D3C-4B5A-4697-8879-0A1B2C3D4E5F is gone", "job <id> is gone"),
        ("task 14:0a:cf:37:8f:62:38:01 lapsed at 14:03:12", "task <id> lapsed at <n>:<n>:<n>"),
        ("request 00c0ffee00c0ffee reset", "request <n> reset"),
        ("at 0xDEAD", "at <n>"),
        ("request req_1eef0001x99f of pod web-7f9c4d8b5-x2x", "request <n> of pod web-<n>-x<n>x"),
        ("a facade is dead beef", "a facade is dead beef"),
        ("deadbeef", "deadbeef"),
        ("12345678901", "<n>"),
        ("v2 of b64", "v<n> of b<n>"),
        ("two\n\t lines", "two lines"),
        ("x" * 500, "x" * 200),
        ('"a text 7"', "a text <n>"),
        ("dead::beef utf8 sha256", "dead::beef utf<n> sha<n>"),
        ("\x1b[31m", "\x1b[<n>m"),
        ("", ""),
    ],
)
def test_what_varies_is_folded(error: str, folded: str) -> None:
    assert fold(error) == folded
    assert fold(folded) == folded


def texts(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text("utf-8").strip().split("\n\n")


def test_real_errors_are_one_group_each() -> None:
    alike = [{fold(error) for error in block.splitlines()} for block in texts("errors_alike.txt")]
    assert [len(folded) for folded in alike] == [1] * 41
    assert len(set.union(*alike)) == 41
    (unlike,) = texts("errors_unlike.txt")
    assert len({fold(error) for error in unlike.splitlines()}) == len(unlike.splitlines()) == 44


def test_where_an_error_is_cut_does_not_matter() -> None:
    long = "insert into events (id, body) values (%s, 'x') failed on shard %s: " + "the server closed the link " * 12
    assert len({fold((long % (key, shard))[:300]) for key, shard in [(1, 2), (10**18, 10**9)]}) == 1


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("Errno::ENOENT: No such file", "Errno::ENOENT"),
        ("** (DBConnection.ConnectionError) gone", "DBConnection.ConnectionError"),
        ("psycopg.errors.UniqueViolation: x", "psycopg.errors.UniqueViolation"),
        ("KeyError", "KeyError"),
        ("ERROR: x", ""),
        ("deadlock detected", ""),
        ("Could not connect: x", ""),
    ],
)
def test_the_class_of_an_exception(error: str, name: str) -> None:
    assert exception(error) == name


def dead_letter(key: str, cause: str, since: float | None, severity: int = 5, engine: str = "one") -> DeadLetter:
    node = Node(
        engine=engine, id=f"{engine}/dead_letter:{key}", kind="dead_letter", title="", phase=Phase.FAILED, version=""
    )
    return DeadLetter(node=node, severity=severity, fingerprint=cause, since=since, was="waiting", is_now=key[0])


def test_the_key_of_a_group_is_short() -> None:
    """It is typed and copied, and scripts have it: its length does not change."""
    assert digest("no such card <n>") == "de6b890a"


def test_groups_come_worst_then_newest_and_so_do_their_dead_letters() -> None:
    made = [
        dead_letter("a1", "timeout", 30.0),
        dead_letter("b1", "cycle", 90.0, severity=9),
        dead_letter("a2", "timeout", 10.0),
        dead_letter("c1", "refused", 20.0),
        dead_letter("b2", "timeout", None),
        dead_letter("d1", "timeout", 5.0, engine="other"),
    ]
    groups = grouped(made, capped=True)
    assert [(g.engine, g.fingerprint, g.n, g.first, g.last, g.capped) for g in groups] == [
        ("one", "cycle", 1, 90.0, 90.0, True),
        ("one", "timeout", 3, 10.0, 30.0, True),
        ("one", "refused", 1, 20.0, 20.0, True),
        ("other", "timeout", 1, 5.0, 5.0, True),
    ]
    (timeout,) = [g for g in groups if g.n == 3]
    assert [x.node.id[-2:] for x in groups[timeout]] == ["a1", "a2", "b2"]
    assert timeout.fates == (Fate(was="waiting", is_now="a", n=2), Fate(was="waiting", is_now="b", n=1))


class Shrinking:
    """Engine whose dead letters a colleague revives."""

    def __init__(self, keys: list[int]) -> None:
        self.keys = keys
        self.limits: list[int] = []
        self.pages = self

    async def dead(self, cursor: str | None, limit: int, allow_scan: bool) -> DeadLetters:
        self.limits.append(limit)
        page = [key for key in self.keys if key > int(cursor or -1)][:limit]
        more = bool(page) and page[-1] < self.keys[-1]
        read_now = tuple(dead_letter(str(key), "timeout", None) for key in page)
        return DeadLetters(dead_letters=read_now, at=1.0, cursor=str(page[-1]) if more else None)


async def test_more_dead_letters_are_asked_for_in_the_middle_of_a_pass() -> None:
    engine = Shrinking(list(range(4 * DEAD_LETTERS_READ)))
    reader = cast(Reader, engine)
    part = EngineDeadLetters(DEAD_LETTERS_READ)
    while not part.read:
        await part.step(reader)
    engine.keys = engine.keys[DEAD_LETTERS_READ:]  # the loaded ones are gone
    while len(part.dead_letters) < 2 * DEAD_LETTERS_READ - DEAD_LETTERS_AT_ONCE:
        await part.step(reader)
    part.go_on()
    while part.due:
        await part.step(reader)
    assert min(engine.limits) > 0
    assert len(part.dead_letters) > 2 * DEAD_LETTERS_READ


async def test_a_pass_that_is_started_again_during_a_read_begins_with_its_first_page() -> None:
    engine = Shrinking(list(range(3 * DEAD_LETTERS_AT_ONCE)))
    reader = cast(Reader, engine)
    part = EngineDeadLetters(DEAD_LETTERS_READ)
    await part.step(reader)
    read = engine.dead

    async def acted_meanwhile(cursor: str | None, limit: int, allow_scan: bool) -> DeadLetters:
        part.again()
        return await read(cursor, limit, allow_scan)

    engine.dead = acted_meanwhile  # type: ignore[method-assign]
    await part.step(reader)
    engine.dead = read  # type: ignore[method-assign]
    while part.due:
        await part.step(reader)
    assert len(part.dead_letters) == len(engine.keys), "none was taken for resolved"


async def test_a_pass_that_is_started_again_during_its_first_page_is_not_over() -> None:
    engine = Shrinking([1, 2, 3])
    reader = cast(Reader, engine)
    part = EngineDeadLetters(DEAD_LETTERS_READ)
    read = engine.dead

    async def acted_meanwhile(cursor: str | None, limit: int, allow_scan: bool) -> DeadLetters:
        page = await read(cursor, limit, allow_scan)
        engine.keys = [3]
        part.again()
        return page

    engine.dead = acted_meanwhile  # type: ignore[method-assign]
    await part.step(reader)
    engine.dead = read  # type: ignore[method-assign]
    while part.due:
        await part.step(reader)
    assert len(part.dead_letters) == len(engine.keys)
