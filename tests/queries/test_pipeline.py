"""Statements that travel together, and reads side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from queries.db import pipeline as module
from queries.db.asyncpg_compat import Wire
from queries.db.database import Database
from queries.db.errors import ConflictError, DatabaseError, LostError, OutdatedError, SlowError
from queries.db.pipeline import Execute, Fetch, Parse, Pipeline, RepeatError
from queries.db.query import Query
from queries.files.statement import Statement
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer, both_versions

SILENT_SECONDS = 30.0  # seconds without an answer; a busy machine takes its time
LOCKS = "SELECT mode FROM pg_locks WHERE relation = to_regclass('public.t') AND pid = pg_backend_pid()"
NAMES = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'unstick%'"


def asked(text: str, *parameters: str, **values: object) -> Query:
    return Query(Statement(text=text, source="", parameters=parameters), values)


@pytest.fixture(autouse=True, params=[False, True], ids=["at once", "gathered"])
def gathers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run each test with answers of reads that are gathered, too."""
    if request.param:
        monkeypatch.setattr(module, "START_SECONDS", -1.0)
        monkeypatch.setattr(module, "MANY_COMMANDS", 1)
    return bool(request.param)


@pytest.fixture
async def pipeline(server: PostgresServer, eternaltwin: str) -> AsyncIterator[Pipeline]:
    connection = await asyncpg.connect(eternaltwin, statement_cache_size=0)
    pipeline = Pipeline(connection)
    pipeline.keeps = True
    yield pipeline
    connection.terminate()


@pytest.fixture
async def db(eternaltwin: str) -> AsyncIterator[Database]:
    db = Database(eternaltwin)
    yield db
    await db.close()


@both_versions
@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
async def test_a_statement_that_is_only_parsed_locks_its_tables_and_runs_nothing(
    server: PostgresServer, eternaltwin: str, pipeline: Pipeline, known: bool
) -> None:
    role = server.unique("reader")
    server.sql(f"CREATE TABLE t (n int8); CREATE ROLE {role}", eternaltwin)
    append = "INSERT INTO public.t (n) VALUES ($1::int8)"
    if known:
        for number in range(2):
            await pipeline.run([Fetch(append, (number,))], SILENT_SECONDS, reads=False)
    steps = [Execute(f"BEGIN; SET LOCAL ROLE {role}"), Parse(append), Fetch(LOCKS), Execute("ROLLBACK"), Fetch(LOCKS)]
    *_, parsed, locks, _, locks_after = await pipeline.run(steps, SILENT_SECONDS, reads=False)
    assert parsed == []
    assert [row["mode"] for row in locks] == ["RowExclusiveLock"]
    assert locks_after == []
    error = (await pipeline.run([Parse("INSERT INTO missing VALUES (1)")], SILENT_SECONDS, reads=False))[-1]
    assert isinstance(error, asyncpg.UndefinedTableError)
    await pipeline.run([Fetch(append, (7,))], SILENT_SECONDS, reads=False)
    (rows,) = await pipeline.run([Fetch("SELECT n FROM public.t")], SILENT_SECONDS, reads=False)
    assert [row["n"] for row in rows] == ([0, 1, 7] if known else [7])


@both_versions
async def test_each_statement_has_its_own_answer(pipeline: Pipeline) -> None:
    for names in (0, 3, 3):  # a read gets a name when it is run again
        begin, words, number, many, end = await pipeline.run(
            [
                Execute("BEGIN READ ONLY"),
                Fetch("SELECT $1::text AS a, $2::text[] AS b", ("it's", ["x", None])),
                Fetch("SELECT $1::int8 + 1 AS n", (2**40,)),
                Fetch("SELECT generate_series(1, 50000) AS n"),
                Execute("COMMIT"),
            ],
            SILENT_SECONDS,
            reads=True,
        )
        assert (begin, end) == ("BEGIN", "COMMIT")
        assert [tuple(row) for row in words] == [("it's", ["x", None])]
        assert [row["n"] for row in number] == [2**40 + 1]
        assert len(many) == 50_000
        assert not pipeline.connection.is_in_transaction()
        assert await pipeline.connection.fetchval(NAMES) == names


@pytest.mark.parametrize("text", ["SELECT $1::int8 + 1 AS n", "SELECT $1 || 'x' AS n"])
async def test_a_statement_on_a_lost_connection_has_an_error_of_the_driver(pipeline: Pipeline, text: str) -> None:
    """Its types are guessed, or read first."""
    pipeline.connection.terminate()
    with pytest.raises((asyncpg.InterfaceError, asyncpg.InternalClientError)):
        await pipeline.run([Fetch(text, (1,))], SILENT_SECONDS, reads=True)


async def test_answers_of_many_reads_are_gathered(
    pipeline: Pipeline, gathers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, rests = Wire.rest, []

    def rest(wire: Wire, seconds: float) -> None:
        rests.append(seconds)
        real(wire, seconds)

    monkeypatch.setattr(Wire, "rest", rest)
    steps = [Fetch(f"SELECT {n} AS n, pg_sleep(0.002)") for n in range(40)]
    for _ in range(2):  # new ones are prepared one by one
        rests.clear()
        answers = await pipeline.run(steps, SILENT_SECONDS, reads=True)
        assert [rows[0]["n"] for rows in answers] == list(range(40))
    assert (0 < len(rests) < 30) if gathers else not rests
    text = "SELECT string_agg(md5(i::text), '') AS long FROM generate_series(1, 100000) AS i"
    ((row,),) = await pipeline.run([Fetch(text)], SILENT_SECONDS, reads=True)
    assert len(row["long"]) == 3_200_000


async def test_an_error_is_the_last_answer(pipeline: Pipeline) -> None:
    steps = [Execute("BEGIN"), Fetch("SELECT 1 AS one"), Fetch("SELECT 1 / $1::int4", (0,)), Fetch("SELECT 2 AS two")]
    *_, rows, error = await pipeline.run(steps, SILENT_SECONDS, reads=True)
    assert rows[0]["one"] == 1
    assert isinstance(error, asyncpg.DivisionByZeroError)
    assert pipeline.connection.is_in_transaction()
    tag, rows = await pipeline.run([Execute("ROLLBACK"), Fetch("SELECT 2 AS two")], SILENT_SECONDS, reads=True)
    assert (tag, rows[0]["two"]) == ("ROLLBACK", 2)


async def test_a_value_that_its_type_does_not_allow_stops_there(pipeline: Pipeline) -> None:
    steps = [Fetch("SELECT 1 AS one"), Fetch("SELECT $1::int4 AS n", ("no number",)), Fetch("SELECT 2 AS two")]
    rows, error = await pipeline.run(steps, SILENT_SECONDS, reads=True)
    assert rows[0]["one"] == 1
    assert isinstance(error, asyncpg.DataError)


async def test_a_wrong_guess_of_a_type_is_not_an_answer(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its transaction has to end, because a change may have been made."""
    monkeypatch.setitem(module.TYPES, "int4", module.TYPES["int8"])
    module.types_of.cache_clear()
    for reads in (True, False):
        pipeline.forget()
        (error,) = await pipeline.run([Fetch("SELECT $1::int4 AS n", (7,))], SILENT_SECONDS, reads=reads)
        assert isinstance(error, RepeatError)
        (rows,) = await pipeline.run([Fetch("SELECT $1::int4 AS n", (7,))], SILENT_SECONDS, reads=reads)
        assert rows[0]["n"] == 7, "its types are known now"
    module.types_of.cache_clear()


async def test_a_pipeline_that_is_given_up_leaves_the_connection_usable(pipeline: Pipeline) -> None:
    slow = [Execute("BEGIN"), Fetch("SELECT pg_sleep(600)"), Fetch("SELECT 1 AS one")]
    for _ in range(3):
        task = asyncio.create_task(pipeline.run(slow, SILENT_SECONDS * 100, reads=True))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        tag, rows = await pipeline.run([Execute("ROLLBACK"), Fetch("SELECT 2 AS two")], SILENT_SECONDS, reads=True)
        assert (tag, rows[0]["two"]) == ("ROLLBACK", 2)


async def test_a_connection_that_ends_in_a_pipeline_says_why(pipeline: Pipeline) -> None:
    steps = [Fetch("SELECT 1 AS one"), Fetch("SELECT pg_terminate_backend(pg_backend_pid())"), Fetch("SELECT 2")]
    with pytest.raises(asyncpg.ConnectionDoesNotExistError, match="administrator command"):
        await pipeline.run(steps, SILENT_SECONDS, reads=True)
    assert pipeline.connection.is_closed()


# Transactions


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


async def test_a_read_with_wrongly_guessed_types_is_sent_again(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.TYPES, "int4", module.TYPES["int8"])
    module.types_of.cache_clear()
    queries = [asked("SELECT 1 AS n"), asked("SELECT $1::int4 AS n", "limit", limit=7), asked("SELECT 3 AS n")]
    assert [rows[0]["n"] for rows in await db.batch(queries)] == [1, 7, 3]
    module.types_of.cache_clear()


async def test_a_change_with_wrongly_guessed_types_is_rolled_back(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module.TYPES, "int4", module.TYPES["int8"])
    module.types_of.cache_clear()
    add = "INSERT INTO public.users SELECT gen_random_uuid(), now() FROM generate_series(1, $1::int4)"
    with pytest.raises(OutdatedError, match="Nothing was changed"):
        async with db.writing() as transaction:
            await transaction.rows(Statement(text=add, source="", parameters=("limit",)), {"limit": 1})
    module.types_of.cache_clear()
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
                    rows = await transaction.rows(asked("SELECT $1::int4 AS n", "limit").statement, {"limit": number})
                    found.append(rows[0]["n"])
            return found

        await db.batch([asked("SELECT 1")])
        far.trips = 0
        results = await db.together(*(read(times, number) for number, times in enumerate((1, 3, 2, 3))))
        assert results == [[0], [1] * 3, [2] * 2, [3] * 3]
        assert far.trips == 3
        await db.close()


async def test_a_member_that_waits_for_something_else_holds_up_no_other(db: Database) -> None:
    """Also for another member."""
    done = asyncio.Event()

    async def patient() -> int:
        await done.wait()
        return 1

    async def reads() -> int:
        async with db.reading() as transaction:
            number: int = (await transaction.rows(asked("SELECT 2 AS n").statement, {}))[0]["n"]
        done.set()
        return number

    async with asyncio.timeout(60):
        assert await db.together(patient(), reads(), db.together(reads(), reads())) == [1, 2, [2, 2]]


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


async def test_what_outlives_a_group_reads_alone(db: Database) -> None:
    """A task that a member began has its context."""
    tasks = []
    ended = asyncio.Event()

    async def later() -> int:
        await ended.wait()
        async with db.reading() as transaction:
            number: int = (await transaction.rows(asked("SELECT 3 AS n").statement, {}))[0]["n"]
        return number

    async def begins() -> None:
        tasks.append(asyncio.create_task(later()))

    await db.together(begins())
    ended.set()
    async with asyncio.timeout(60):
        assert await tasks[0] == 3


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
    taken: list[object] = []
    queries = [asked("SELECT 1 AS n"), asked("SELECT pg_terminate_backend(pg_backend_pid())")]
    async with db.reading_alone() as transaction:
        with pytest.raises(LostError):
            await transaction.each(queries, taken.append)
    assert len(taken) == 1


async def test_a_commit_is_not_called_late_after_its_answer(db: Database) -> None:
    """Its transaction has no time left then, and was not rolled back."""
    async with db.writing() as transaction:
        transaction.limit_time(0.3)
        assert await transaction.control("COMMIT; SELECT pg_sleep(0.5)") == "SELECT 1"


async def test_a_transaction_that_has_waited_lasts_no_longer(db: Database) -> None:
    """Also if the statements travel together."""
    async with db.writing(seconds=0.5, waits=5.0) as transaction:
        await transaction.batch([Query(asked("SELECT pg_sleep(0.6)::text").statement, {}, seconds=2.0)])
        transaction.limit_time()
        await transaction.batch([asked("SELECT 1 AS n")])
        with pytest.raises(SlowError):
            await transaction.batch([asked("SELECT pg_sleep(0.4)::text")] * 3)
