"""Dead letters of all engines as last read, grouped by error. UI-free.

Each poll reads the next page of each engine, and starts again after the last page. A dead letter missing from a full
pass is removed. The dead letters on the screen are also read by their ids at each poll.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from itertools import islice

from console.model.fields.dead_letter import GroupedDeadLetter
from queries.db.errors import attempted
from queries.read import dead_letters
from queries.read.reader import Reader
from queries.records.dead_letter import DeadLetter, DeadLetterReport, Group
from queries.records.node import ScanRequired
from queries.text.instant import newest_first

DEAD_LETTERS_AT_ONCE = 200  # dead letters per statement
DEAD_LETTERS_READ = 2000  # dead letters of an engine that are read automatically, and then at once
DEAD_LETTERS_COUNTED = 10_000  # of an engine, where none is listed
FIRST_PAGES = 15  # statements per poll, at least, until all engines were read once


class EngineDeadLetters:
    """One engine's dead letters and the pass that reads them.

    ``cap``: most dead letters of a pass.
    """

    def __init__(self, cap: int) -> None:
        self.dead_letters: dict[str, DeadLetter] = {}
        self.at = 0.0  # server time of the last read
        self.oldest = self._began = 0.0  # begin of the last pass that has ended, and of the one under way
        self.scan_required: ScanRequired | None = None
        self.error_text = ""  # error of the last read
        self.due = True  # True if a pass should start soon
        self.read = False  # whether a pass has ended
        self.after: str | None = None  # key of the page after it
        self.scope = ""  # the part that was read, if not all
        self._cap = cap
        self._met: set[str] = set()  # by the one that is under way; another set for each
        self._next: str | None = None  # key of its next page
        self._groups: dict[Group, list[DeadLetter]] | None = None

    @property
    def groups(self) -> dict[Group, list[DeadLetter]]:
        """The dead letters grouped by error, most severe and newest first."""
        if self._groups is None:
            self._groups = dead_letters.grouped(self.dead_letters.values(), capped=not self.whole)
        return self._groups

    @property
    def whole(self) -> bool:
        """True if all dead letters of the engine are loaded."""
        return self.read and not (self.after or self.scope)

    async def step(self, reader: Reader, *, allow_scan: bool = False) -> None:
        """Read the next page.

        At the end of a pass remove dead letters that it did not contain. Raise DatabaseError.
        """
        met = self._met
        most = min(DEAD_LETTERS_AT_ONCE, self._cap - len(met))
        page = await reader.pages.dead(self._next, most, allow_scan=allow_scan)
        if met is not self._met:  # another pass was started meanwhile
            return
        self.at, self.scan_required, self.error_text, self.scope = page.at, page.scan_required, "", page.scope
        read = {dead_letter.node.id: dead_letter for dead_letter in page.dead_letters}
        self.dead_letters |= read
        self._began = self._began if met else page.at
        met.update(read)
        self._next = page.cursor
        if page.cursor is None or len(met) >= self._cap:
            self.dead_letters = {key: each for key, each in self.dead_letters.items() if key in met}
            self.oldest = self._began
            self.read, self.after, self._met, self._next, self.due = True, page.cursor, set(), None, False
        self._groups = None

    async def renew(self, reader: Reader, ids: Iterable[str]) -> None:
        """Read these dead letters again and remove resolved ones. Raise DatabaseError."""
        keys = [key for key in ids if key in self.dead_letters]
        if not keys:
            return
        page = await reader.pages.dead(limit=len(keys), ids=keys)
        self.at, self._groups = page.at, None
        for key in keys:
            del self.dead_letters[key]
        self.dead_letters |= {dead_letter.node.id: dead_letter for dead_letter in page.dead_letters}

    def again(self) -> None:
        """Start a new pass soon."""
        self._met, self._next, self.due = set(), None, True  # a page under way belongs to the pass before

    def go_on(self) -> None:
        """Raise the cap, and read up to it soon, from where the last pass has ended.

        In the middle of a pass there may be more dead letters than the cap: of the pass before, too.
        """
        self._cap = max(self._cap, len(self.dead_letters)) + DEAD_LETTERS_READ
        self._met, self._next, self.due = set(self.dead_letters), self.after, True


async def read_dead_letters(reader: Reader, limit: int, *, allow_scan: bool = False) -> DeadLetterReport:
    """Read at most ``limit`` dead letters of an engine, grouped."""
    meaning = reader.engine.spec.dead
    part = EngineDeadLetters(limit + 1)  # one more says that there are more
    while part.due:
        if (error := await attempted(part.step(reader, allow_scan=allow_scan))) is not None:
            return DeadLetterReport(engine=reader.label, meaning=meaning, unreadable=error.line)
    capped = len(part.dead_letters) > limit or bool(part.scope)
    groups = dead_letters.grouped(islice(part.dead_letters.values(), limit), capped=capped)
    return DeadLetterReport(
        engine=reader.label,
        meaning=meaning,
        at=part.at,
        dead_letters=tuple(dead_letter for dead_letters_of in groups.values() for dead_letter in dead_letters_of),
        groups=tuple(groups),
        capped=capped,
        scope=part.scope,
        scan_required=part.scan_required,
    )


class DeadLetterBoard:
    """Dead letters of all engines."""

    def __init__(self) -> None:
        self.parts: dict[str, EngineDeadLetters] = {}

    async def look(
        self,
        readers: Mapping[str, Reader],
        seen: Iterable[str],
        changed: Callable[[], None],
        skipped: Collection[str] = (),
    ) -> float | None:
        """Read the dead letters ``seen`` again, and the next page of each engine.

        Return the server's time, or None if nothing was read.

        ``changed`` is called after each round. ``skipped``: engines that are not read now. An engine that cannot be
        read stores the error in its part. Raise DatabaseError if the connection is lost.
        """
        self.parts = {label: self.parts.get(label) or EngineDeadLetters(DEAD_LETTERS_READ) for label in readers}
        ids, before, pages = list(seen), self._at, 0
        for label, part in self.parts.items():
            await _collect_error(part, part.renew(readers[label], (i for i in ids if i.startswith(f"{label}/"))))
        next_ = [label for label in self.parts if label not in skipped]
        while next_ and pages < FIRST_PAGES:
            steps = (_collect_error(self.parts[label], self.parts[label].step(readers[label])) for label in next_)
            await readers[next_[0]].database.together(*steps)
            changed()
            pages, next_ = pages + len(next_), [label for label in next_ if self.parts[label].due]
        return self._at if self._at > before else None  # an earlier time would date the failure

    @property
    def _at(self) -> float:
        return max((part.at for part in self.parts.values()), default=0.0)

    # what is on the screen

    @property
    def read(self) -> bool:
        """True if each engine was read once, or failed."""
        return bool(self.parts) and all(part.read or part.error_text for part in self.parts.values())

    def items(self) -> list[GroupedDeadLetter]:
        """Return the dead letters: the engine with the most severe and newest ones first."""
        return [
            GroupedDeadLetter(dead_letter=dead_letter, group=group)
            for label in self.labels()
            for group, dead_letters_of in self.parts[label].groups.items()
            for dead_letter in dead_letters_of
        ]

    def labels(self) -> list[str]:
        """Return the engines, that with the most severe and newest dead letters first."""
        return sorted(self.parts, key=self._worst)

    def _worst(self, label: str) -> tuple[int, float]:
        group = next(iter(self.parts[label].groups), None)
        if group is None:
            return 1, 0.0
        return -group.severity, newest_first(group.last)

    # what the operator does

    def again(self) -> None:
        """Read all engines again, after a change by the operator."""
        for part in self.parts.values():
            part.again()


def fate(was: str | None, is_now: str | None) -> str:
    """Return a text such as ``was waiting, now error`` from the recorded statuses."""
    now = f"now {is_now}" if is_now is not None else ""
    return f"was {was}, {now}" if was is not None and now else now


async def _collect_error(part: EngineDeadLetters, reading: Awaitable[None]) -> None:
    error = await attempted(reading)
    if error is not None:
        part.error_text, part.due = error.line, False
