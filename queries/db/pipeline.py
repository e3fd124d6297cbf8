"""Several commands in one message to the server.

The driver sends a command only after the answer to the one before, which on a distant server costs a round trip each.
A pipeline lets the driver write each command first, without sending it, and sends all of them together. When the
answers are there, the driver runs each command once more, and reads its own answer. So its encoding, decoding and
errors are the same as ever.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import struct
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping, Sequence
from functools import cache
from typing import Any

import asyncpg

from queries.db.asyncpg_compat import HEAD_BYTES, DriverProtocol, Expected
from queries.records.record import Record

_SYNC = b"S\0\0\0\4"
# What a server would answer, so that the driver goes on while it only writes.
_ENDED = b"C\0\0\0\rSELECT 0\0" + b"Z\0\0\0\5T"
_PARSED, _NO_ROWS, _BOUND = b"1\0\0\0\4", b"n\0\0\0\4", b"2\0\0\0\4"
TYPES = {  # of a parameter, as the statement casts it -> its object id, the same on every server
    "bool": 16,
    "int8": 20,
    "int": 23,
    "int4": 23,
    "text": 25,
    "float8": 701,
    "text[]": 1009,
    "jsonb": 3802,
}
_PARAMETER = re.compile(r"\$(\d+)(?:::([a-z0-9]+(?:\[\])?))?")
START_SECONDS = 3.0  # of a connection, in which each answer is read when it comes
MANY_COMMANDS = 8  # reads that are more than a key asks for: their answers are gathered
_ERROR, _DESCRIPTION, _NO_DESCRIPTION = ord("E"), ord("T"), ord("n")

State = Any  # the driver's record of a prepared statement
Start = Callable[[], Coroutine[Any, Any, Any]]


class Execute(Record, kw_only=False):
    """Commands without parameters and rows, separated by ``;``.

    The answer is the last tag.
    """

    text: str


class Fetch(Record, kw_only=False):
    """A statement with the values of its parameters. Its answer is a list of rows.

    ``settings``: whatever its plan depends on. A statement is prepared once for each value.
    """

    text: str
    arguments: tuple[Any, ...] = ()
    settings: Hashable = None
    name: str = ""  # to prepare it under, whether or not later transactions know it


class Parse(Record, kw_only=False):
    """A statement that is parsed and not run. Its answer is a list without rows."""

    text: str


Step = Execute | Fetch | Parse


class RepeatError(Exception):
    """A statement was sent with wrong types.

    The transaction has to begin again.
    """


class _Command(Record, kw_only=False):
    """Bytes of a command, and what reads its answer.

    That returns ``_AGAIN`` if the command must be sent once more, or ``_Unread``.
    """

    sent: bytes
    read: Callable[[bytes], Any]


class _Unread(Record, kw_only=False):
    """The driver does not know all types of a prepared statement yet."""

    state: State
    missing: set[int]


_AGAIN = object()


class Pipeline:
    """Pipeline over a connection, with the statements that are prepared there.

    ``answered``: time of the last answer. ``keeps``: later transactions know them, too; None before `meet`. Behind some
    poolers they have another backend, so there the server parses a statement at each run. A read gets a name when it is
    run again: a command runs most of its reads once, and to keep them cost the server 8 % of its time.
    """

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.connection = connection
        self.keeps: bool | None = None  # None: not known yet
        self._prefix = f"unstick_{secrets.token_hex(4)}"
        self._protocol: DriverProtocol = connection._protocol
        self._states: dict[tuple[Hashable, str], State] = {}
        self._made = 0  # names are used once
        self._since = self.answered = time.monotonic()
        self._leftover: Expected | None = None  # answers that no run waits for any more
        self._cancelled: asyncio.Future[None] | None = None  # ends when the server has the request to cancel

    def meet(self, facts: Mapping[str, Any], name: str) -> None:
        """Find out whether later transactions know prepared statements.

        A pooler that keeps them gives them other names. ``facts``: ``pid`` and ``named`` of the statement `server`,
        which was prepared under ``name``. Its transaction has not ended.
        """
        self.keeps = facts["pid"] == self.connection.get_server_pid() or not facts["named"]
        if not self.keeps:
            self.send_last(f"DEALLOCATE {name}")
            self.forget()

    @property
    def _has_begun(self) -> bool:
        """True if the first list is there, or is late anyway."""
        return time.monotonic() - self._since > START_SECONDS

    @property
    def may_be_in_transaction(self) -> bool:
        """True also if the answer to what was sent last was given up."""
        return self._leftover is not None or bool(self.connection.is_in_transaction())

    def new_name(self) -> str:
        """Return a name for a statement that no other session uses."""
        self._made += 1
        return f"{self._prefix}_{self._made}"

    def forget(self) -> None:
        """Prepare all statements again, because a table has changed."""
        self._states.clear()

    async def run(
        self,
        steps: Sequence[Step],
        seconds: float,
        *,
        reads: bool,
        take: Callable[[int, Any], None] = lambda *_: None,
    ) -> list[Any]:
        """Execute the steps in order, and return their answers until the first error.

        The error is the last answer.

        Errors are the driver's, or `RepeatError`. A new statement is prepared and run in one round trip; ``reads``: the
        transaction is READ ONLY, so it may be run again. ``seconds``: longest wait for an answer. ``take`` is called
        for each answer when it comes, with the number of the step. Raises errors of the driver if the connection is
        lost, and TimeoutError.
        """
        answers: list[Any] = []
        while len(answers) < len(steps) and not (answers and isinstance(answers[-1], Exception)):
            commands: list[_Command] = []
            for step in steps[len(answers) :]:
                try:
                    command, ends = self._command(step, reads)
                except (asyncpg.DataError, ValueError) as error:  # a value that its type does not allow
                    if not commands:  # else those before it are sent first
                        return [*answers, error]
                    break
                commands.append(command)
                if ends:
                    break
            reading = True
            async for command, answer in self._sent(commands, seconds, gathered=reads and self._has_begun):
                result = command.read(answer) if reading else None
                if isinstance(result, _Unread):
                    await self._introspect(result)
                    result = _AGAIN
                reading = reading and not (result is _AGAIN or isinstance(result, Exception))
                if reading or isinstance(result, Exception):
                    take(len(answers), result)
                    answers.append(result)
        return answers

    async def describe(self, text: str, seconds: float) -> asyncpg.prepared_stmt.PreparedStatement[Any]:
        """Prepare a statement without running it. Raises errors of the driver."""
        step = Fetch(text, settings=object())
        command = self._parsed(step)
        ((_, answer),) = [each async for each in self._sent([command], seconds)]
        result = command.read(answer)
        if isinstance(result, _Unread):
            await self._introspect(result)
            state = result.state
        elif result is _AGAIN:
            state = self._states.pop((step.settings, text))
        else:
            raise result
        return asyncpg.prepared_stmt.PreparedStatement(self.connection, text, state)

    def send_last(self, text: str) -> None:
        """Send a command without waiting for its answer.

        A connection that the server is ending is closed instead.
        """
        try:
            command, _ = self._command(Execute(text), reads=False)
        except (asyncpg.InterfaceError, asyncpg.InternalClientError):
            self.connection.terminate()
        else:
            self._protocol.expect(1)
            self._protocol.wire.write(command.sent)

    # Commands

    def _command(self, step: Step, reads: bool) -> tuple[_Command, bool]:
        """Return a command, and True if no other may follow it before its answer is known.

        Raises errors of the driver for values.
        """
        if isinstance(step, Execute):
            start = self._query(step.text)
            return _Command(self._written(start, _ENDED), lambda answer: self._driven(start, answer)[1]), False
        if isinstance(step, Parse):
            return self._only_parsed(step), False
        state = self._states.get((step.settings, step.text))
        if state is not None and (state.name or not self.keeps):
            start = self._execution(state, step.arguments)
            return _Command(self._written(start, _BOUND + _ENDED), lambda answer: self._driven(start, answer)[1]), False
        types = types_of(step.text) if state is None else tuple(each.oid for each in state._get_parameters())
        if types is None:
            return self._parsed(step), True
        return self._guessed(step, types, reads, named=state is not None or not reads), False

    def _parsed(self, step: Fetch) -> _Command:
        """Return the command that only prepares a statement."""
        start = self._preparation(step, named=True)

        def read(answer: bytes) -> Any:
            state, rest = self._described(start, answer)
            if rest is None:
                return state
            self._known(step, state)
            return _AGAIN

        return _Command(self._written(start, _PARSED + _NO_ROWS) + _SYNC, read)

    def _only_parsed(self, step: Parse) -> _Command:
        """Return the command that prepares a statement for no run."""
        start = self._preparation(Fetch(step.text), named=False)

        def read(answer: bytes) -> Any:
            state, _ = self._described(start, answer)
            return state if isinstance(state, Exception) else []

        return _Command(self._written(start, _PARSED + _NO_ROWS) + _SYNC, read)

    def _guessed(self, step: Fetch, types: tuple[int, ...], reads: bool, *, named: bool) -> _Command:
        """Return the command that prepares a statement and runs it with these types.

        What was written with wrong types may not be written again, so that ends the transaction.
        """
        start = self._preparation(step, named=named)
        content = struct.pack(f">h{len(types)}I", len(types), *types)
        parameters = b"t" + struct.pack(">i", len(content) + 4) + content
        written, guess = self._ended(start, _PARSED + parameters + _NO_ROWS)
        guess._init_codecs()
        bound = self._written(self._execution(guess, step.arguments), _BOUND + _ENDED)

        def read(answer: bytes) -> Any:
            state, rest = self._described(start, answer)
            if rest is None:
                return state
            state._init_codecs()
            sent, rows = self._driven(self._execution(state, step.arguments), rest)
            self._known(step, state)
            if sent == bound:
                return rows
            return RepeatError() if isinstance(rows, Exception) or not reads else _AGAIN

        return _Command(written + bound, read)

    def _described(self, start: Start, answer: bytes) -> tuple[Any, bytes | None]:
        """Return the state of a prepared statement, and the answers after it.

        If it could not be prepared: what that means, and None.
        """
        end = _end_of_description(answer)
        state = self._driven(start, answer[:end] if end else answer)[1]
        if not end or isinstance(state, Exception):
            return state, None
        unread = self._unread(state)
        return (unread, None) if unread else (state, answer[end:])

    def _known(self, step: Fetch, state: State) -> None:
        """Keep a prepared statement. One without a name is parsed again at its next run."""
        state._init_codecs()
        if not state.name:
            state.mark_unprepared()
        self._states[step.settings, step.text] = state

    def _unread(self, state: State) -> _Unread | None:
        missing = state._init_types()
        return _Unread(state, missing) if missing else None

    async def _introspect(self, unread: _Unread) -> None:
        """Read the types that the driver does not know."""
        types, _ = await self.connection._introspect_types(unread.missing, None)
        self._protocol.get_settings().register_data_types(types)

    # The driver

    def _query(self, text: str) -> Start:
        return lambda: self._protocol.query(text, None)

    def _preparation(self, step: Fetch, *, named: bool) -> Start:
        name = step.name or (self.new_name() if self.keeps and named else "")
        return lambda: self._protocol.prepare(name, step.text, None, record_class=asyncpg.Record)

    def _execution(self, state: State, arguments: Sequence[Any]) -> Start:
        return lambda: self._protocol.bind_execute(state, arguments, "", 0, False, None)

    def _written(self, start: Start, answer: bytes) -> bytes:
        """Return what the driver writes for a command.

        ``answer`` ends it. Raises errors of the driver: for values, and if the connection is lost.
        """
        return self._ended(start, answer)[0]

    def _ended(self, start: Start, answer: bytes) -> tuple[bytes, Any]:
        written, result = self._driven(start, answer)
        if isinstance(result, Exception):
            raise result
        return written, result

    def _driven(self, start: Start, answer: bytes) -> tuple[bytes, Any]:
        """Let the driver write a command and read an answer.

        Return what it wrote, and its result or its error. Nothing is sent.
        """
        kept = self._protocol.wire.kept = bytearray()
        try:
            running = start()
            running.send(None)
            self._protocol.feed(answer)
            running.send(None)
        except StopIteration as ended:
            return bytes(kept), ended.value
        except Exception as error:
            return bytes(kept), error
        finally:
            self._protocol.wire.kept = None
        raise asyncpg.InternalClientError("the answer to a command did not end it")

    async def _sent(
        self, commands: Sequence[_Command], seconds: float, *, gathered: bool = False
    ) -> AsyncIterator[tuple[_Command, bytes]]:
        """Send commands, and yield each with its answer when that comes."""
        await self._settle(seconds)
        if self.connection.is_closed():
            raise asyncpg.InterfaceError("connection is closed")
        expected = self._protocol.expect(len(commands), gathered=gathered and len(commands) >= MANY_COMMANDS)
        self._protocol.wire.write(b"".join(command.sent for command in commands))
        for command in commands:
            try:
                async with asyncio.timeout(None if expected.is_there else seconds):
                    answer = await expected.next()
            except (asyncio.CancelledError, TimeoutError):
                self._leftover, self._cancelled = expected, asyncio.get_running_loop().create_future()
                self.connection._cancel_current_command(self._cancelled)
                raise
            self.answered = time.monotonic()
            yield command, answer

    async def _settle(self, seconds: float) -> None:
        """Wait until nothing is left of a pipeline that was given up."""
        leftover, cancelled, self._leftover, self._cancelled = self._leftover, self._cancelled, None, None
        if leftover is not None and cancelled is not None:
            try:
                async with asyncio.timeout(seconds):
                    await cancelled
                    await leftover.end()
            except TimeoutError:
                self.connection.terminate()
            except asyncio.CancelledError:
                self._leftover, self._cancelled = leftover, cancelled
                raise


def _end_of_description(answer: bytes) -> int:
    """Return where the description of a prepared statement ends in an answer, or 0."""
    start = 0
    while start < len(answer):
        end = start + 1 + int.from_bytes(answer[start + 1 : start + HEAD_BYTES], "big")
        if answer[start] in (_DESCRIPTION, _NO_DESCRIPTION):
            return end
        if answer[start] == _ERROR:
            return 0
        start = end
    return 0


@cache
def types_of(text: str) -> tuple[int, ...] | None:
    """Return the types of the parameters, as they are cast.

    None if the casts do not tell them.
    """
    types: dict[int, str] = {}
    for number, type_ in _PARAMETER.findall(text):
        if types.setdefault(int(number), type_) != type_ or type_ not in TYPES:
            return None
    return tuple(TYPES[types[number]] for number in range(1, len(types) + 1))
