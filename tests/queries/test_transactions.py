"""Transactions, their statements one after another, and reads side by side."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import msgspec
import pytest

from queries.db.database import Database
from queries.db.errors import ConflictError, DatabaseError, LostError, SlowError
from queries.db.query import Query
from queries.db.reads import Apart
from queries.files.statement import Statement
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer, both_versions

BEGIN_TRIPS = 3  # the begin, its settings, and which server answers
LOCKS = "SELECT mode FROM pg_locks WHERE relation = to_regclass('public.t') AND pid = pg_backend_pid()"


def asked(text: str, *parameters: str, **values: object) -> Query:
    return Query(Statement(text=text, source="", parameters=parameters), values)


@both_versions
async def test_a_statement_that_is_only_parsed_locks_its_tables_and_runs_nothing(
    server: PostgresServer, eternaltwin: str, db: Database
) -> None:
    role = server.unique("reader")
    server.sql(f"CREATE TABLE t (n int8); CREATE ROLE {role}", eternaltwin)
    append = msgspec.structs.replace(asked("INSERT INTO public.t (n) VALUES ($1::int8)", "n"), parsed=True)
    async with db.writing() as transaction:
        await transaction.control(f"SET LOCAL ROLE {role}")
        parsed, locks = await transaction.batch([append, asked(LOCKS)])
        assert parsed == []
        assert [row["mode"] for row in locks] == ["RowExclusiveLock"]
    missing = msgspec.structs.replace(asked("INSERT INTO missing VALUES (1)"), parsed=True)
    async with db.writing() as transaction:
        assert await transaction.batch([asked(LOCKS)]) == [[]]
        with pytest.raises(DatabaseError, match="does not exist"):
            await transaction.batch([missing])
    assert (await db.batch([asked("SELECT count(*) AS n FROM public.t")]))[0][0]["n"] == 0


async def test_what_is_apart_fails_alone(db: Database) -> None:
    """Neighbours share a savepoint, and one that failed takes nothing with it."""
    add = asked("INSERT INTO public.users VALUES (gen_random_uuid(), now())")
    count = asked("SELECT count(*)::int4 AS n FROM public.users")
    async with db.writing() as transaction:
        await transaction.batch([add])
        (_, *failed) = await Apart(transaction).each([add, asked("SELECT 1 / 0")])
        assert [type(each) for each in failed] == [DatabaseError]
        assert (await Apart(transaction).batch([add, count]))[1][0]["n"] == 2
        assert (await transaction.batch([count]))[0][0]["n"] == 1
        await transaction.control("COMMIT")
    assert (await db.batch([count]))[0][0]["n"] == 1


@both_versions
async def test_a_read_that_fails_costs_only_itself(db: Database) -> None:
    queries = [asked("SELECT 1 AS n"), asked("SELECT 1 / 0 AS n"), asked("SELECT nothing"), asked("SELECT 4 AS n")]
    async with db.reading() as transaction:
        first, second, third, fourth = await transaction.each(queries)
        assert not isinstance(first, DatabaseError)
        assert not isinstance(fourth, DatabaseError)
        assert (first[0]["n"], fourth[0]["n"]) == (1, 4)
        assert isinstance(second, ConflictError | DatabaseError)
        assert "does not exist" in str(third)
        assert (await transaction.rows(asked("SELECT 5 AS n").statement, {}))[0]["n"] == 5


async def test_a_change_after_a_failure_is_not_made(db: Database) -> None:
    add = asked("INSERT INTO public.users VALUES (gen_random_uuid(), now())")
    async with db.writing() as transaction:
        answers = await transaction.each([add, asked("SELECT 1 / 0"), add])
        assert len(answers) == 2
        assert isinstance(answers[1], DatabaseError)
    async with db.reading() as transaction:
        assert (await transaction.rows(asked("SELECT count(*) AS n FROM public.users").statement, {}))[0]["n"] == 0


# Reads side by side


async def test_reads_side_by_side_take_the_round_trips_of_the_longest(server: PostgresServer, eternaltwin: str) -> None:
    async with Proxy(server.port) as far:
        db = Database(far.through(eternaltwin))

        async def read(times: int, number: int) -> list[int]:
            found = []
            for _ in range(times):
                async with db.reading() as transaction:
                    query = asked("SELECT $1::int4 AS n", "limit", limit=number)
                    ((row,),) = await transaction.batch([msgspec.structs.replace(query, json={})])
                    found.append(row["n"])
            return found

        await db.together(read(1, 0))
        far.trips = 0
        results = await db.together(*(read(times, number) for number, times in enumerate((1, 3, 2, 3))))
        assert results == [[0], [1] * 3, [2] * 2, [3] * 3]
        most = 2 * 3  # a statement that is new is parsed first
        assert far.trips <= BEGIN_TRIPS + most
        await db.close()


async def test_a_read_in_lockstep_may_only_let_the_event_loop_run(db: Database) -> None:
    """It could wait for ever for another read."""

    async def reads(number: int) -> int:
        await asyncio.sleep(0)
        async with db.reading() as transaction:
            return int((await transaction.rows(asked(f"SELECT {number} AS n").statement, {}))[0]["n"])

    async with asyncio.timeout(60):
        assert await db.together(reads(1), db.together(reads(2), reads(3))) == [1, [2, 3]]
        with pytest.raises(RuntimeError, match=r"sleep .* waits for <Future"):
            await db.together(reads(1), asyncio.sleep(1))
        assert await reads(5) == 5


async def test_a_read_that_is_cancelled_ends_its_generators(db: Database) -> None:
    """At any depth of lockstep, also while they wait for rows."""
    began, ended = asyncio.Event(), []

    async def numbers() -> AsyncGenerator[int]:
        try:
            for _ in range(2):
                async with db.reading(60) as transaction:
                    began.set()
                    yield (await transaction.rows(asked("SELECT 1 AS n, pg_sleep(30)").statement, {}))[0]["n"]
        finally:
            ended.append(True)

    async def reads() -> None:
        async with contextlib.aclosing(numbers()) as found:
            async for _ in found:
                pass

    task = asyncio.create_task(db.together(reads(), db.together(reads())))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True, True]


async def test_an_error_of_one_member_is_raised_when_all_have_ended(db: Database) -> None:
    ended = []

    async def fails() -> None:
        async with db.reading() as transaction:
            await transaction.rows(asked("SELECT 1 / 0").statement, {})

    async def reads() -> None:
        for _ in range(3):
            async with db.reading() as transaction:
                await transaction.rows(asked("SELECT 1").statement, {})
        ended.append(True)

    with pytest.raises(DatabaseError, match="division by zero"):
        await db.together(fails(), reads())
    assert ended == [True]


async def test_a_lost_connection_fails_all_members(db: Database) -> None:
    async def read(text: str) -> None:
        async with db.reading() as transaction:
            await transaction.rows(asked(text).statement, {})

    await read("SELECT 1")
    reads = [read("SELECT 1"), read("SELECT pg_terminate_backend(pg_backend_pid())"), read("SELECT 2")]
    with pytest.raises(LostError):
        await db.together(*reads)
    await read("SELECT 1")


async def test_a_transaction_whose_connection_is_closed_is_lost(db: Database) -> None:
    """Close the connections while something reads, as the console does at its end."""
    async with db.reading_alone() as transaction:
        await transaction.rows(asked("SELECT 1").statement, {})
        await db.close()
        with pytest.raises(LostError):
            await transaction.rows(asked("SELECT 2").statement, {})


async def test_a_read_whose_connection_ends_afterwards_is_a_read(
    db: Database, server: PostgresServer, eternaltwin: str
) -> None:
    """The server's last words come before the end of the transaction is sent."""
    for _ in range(5):
        async with db.reading() as transaction:
            rows = await transaction.rows(asked("SELECT pg_backend_pid() AS pid").statement, {})
            server.sql(f"SELECT pg_terminate_backend({rows[0]['pid']}, 5000)")
            for _ in range(3):
                await asyncio.sleep(0)  # the words are read, the end of the connection may be
    assert (await db.batch([asked("SELECT 1 AS n")]))[0][0]["n"] == 1


async def test_a_connection_that_ends_after_an_answer_is_not_asked_again(db: Database) -> None:
    """The first answer would come twice, and be taken for the second."""
    await db.batch([asked("SELECT 1 AS n")])
    async with db.reading_alone() as transaction:
        with pytest.raises(LostError):
            await transaction.each([asked("SELECT 1 AS n"), asked("SELECT pg_terminate_backend(pg_backend_pid())")])


async def test_a_commit_is_not_called_late_after_its_answer(db: Database) -> None:
    """Its transaction has no time left then, and was not rolled back."""
    async with db.writing() as transaction:
        transaction.limit_time(0.3)
        assert await transaction.control("COMMIT; SELECT pg_sleep(0.5)") == "SELECT 1"


async def test_a_transaction_that_has_waited_lasts_no_longer(db: Database) -> None:
    async with db.writing(seconds=0.5, waits=5.0) as transaction:
        await transaction.batch([Query(asked("SELECT pg_sleep(0.6)::text").statement, {}, seconds=2.0)])
        transaction.limit_time()
        await transaction.batch([asked("SELECT 1 AS n")])
        with pytest.raises(SlowError):
            await transaction.batch([asked("SELECT pg_sleep(0.4)::text")] * 3)
