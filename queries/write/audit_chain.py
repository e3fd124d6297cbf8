"""Hash chain of the audit log, verified from its oldest entry to its newest.

Each entry has a hash over its content and over the hashes of its predecessors: the heads, which are the entries that no
other entry followed when it was written. Writers that do not see each other follow the same heads; the next entry
follows them all. So the chain is a graph, and every entry except the present heads has a successor. Decision 6 states
what this proves and what it cannot.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import AsyncIterable, Iterable

import msgspec

from queries.records.record import Record

ENTRIES_FOLLOWED = 50  # newest entries that an entry must follow; the writer looks at 100
ENTRIES_KEPT = 1000  # newest entries that are kept in memory; no entry follows an older one
CRASH_IDS = 32  # ids that a sequence may skip at a crash or a failover: it writes them to the WAL in advance
CLOCK_SKEW_SECONDS = 60.0  # by which the clocks of a server and of its standby may differ

INTENT = ".intent"  # after the id of a line of the local file that was written before COMMIT
HEAD = re.compile(r"([0-9a-f-]{1,40}(?:\.intent)?):([0-9a-f]{64})\b")


class PgSnapshot(Record):
    """Transactions that the writer of an entry could see: a ``pg_snapshot``."""

    xmin: int
    xmax: int
    running: frozenset[int] = frozenset()

    @classmethod
    def parse(cls, text: str) -> PgSnapshot:
        """Return the snapshot of the server's text form, such as ``10:20:10,14``."""
        xmin, xmax, running = text.split(":")
        return cls(xmin=int(xmin), xmax=int(xmax), running=frozenset(map(int, filter(None, running.split(",")))))

    def shows(self, xid: int) -> bool:
        """Return True if the transaction had ended."""
        return xid < self.xmax and xid not in self.running


class ChainLink(Record):
    """One entry of the chain.

    ``recorded`` is its hash as written, or None; ``digest`` is that of its present content. ``xid`` and ``seen`` tell
    which earlier entries it must follow; without ``seen`` all. ``unreadable``: why its content cannot be read.
    """

    id: str
    at: float
    recorded: str | None
    digest: str
    previous: tuple[str, ...] = ()
    xid: int = 0
    seen: PgSnapshot | None = None
    unreadable: str = ""

    @property
    def head(self) -> str:
        """Id and hash, as a later entry names them."""
        return f"{self.id}:{self.recorded}"


class Sequence(Record):
    """The sequence of the table's ids, read before the entries.

    ``last``: the last id that it gave. ``exact`` is False if it may have skipped ids at a crash or a failover.
    ``writers``: transactions that may have written an entry and have not ended.
    """

    last: int
    exact: bool
    writers: int


class Problem(Record):
    """Sign of tampering at the entry ``id``.

    ``code``: changed, removed, reordered, inserted, no_hash, backdated, cut_end, sequence or unreadable.
    """

    code: str
    id: str
    why: str


class Verification(Record):
    """Result of a verification.

    ``entries``: in the log, or lines of the local file; ``hashed``: of them those with a hash; ``older``: those from
    before the first hash. ``unreadable``: lines of the local file that are no entries. ``heads``: the entries that no
    other follows, each as id:hash. They prove all entries before them. ``known``: number of given heads that were
    found.
    """

    place: str
    entries: int
    hashed: int
    older: int
    heads: tuple[str, ...]
    known: int
    problems: tuple[Problem, ...]
    unreadable: int = 0


def heads_in(text: str) -> tuple[str, ...]:
    """Return the heads in any text, such as an earlier verification."""
    return tuple(dict.fromkeys(f"{m[1]}:{m[2]}" for m in HEAD.finditer(text)))


async def verify(
    place: str, links: AsyncIterable[ChainLink | None], heads: Iterable[str] = (), sequence: Sequence | None = None
) -> Verification:
    """Verify all entries, oldest first.

    ``links``: None is a line that is no entry. ``heads``: those that were exported earlier. ``sequence``: of the ids,
    None if there is none or if this role may not read it.
    """
    chain = _Chain(heads)
    async for link in links:
        if link is None:
            chain.add_unreadable()
        else:
            chain.add(link)
    if sequence is not None:
        chain.compare(sequence)
    return chain.result(place)


class _Open(msgspec.Struct):
    """An entry that no other follows yet, with its number.

    ``running``: the last later writer knew its transaction, which had not ended.
    """

    link: ChainLink
    number: int
    running: bool = False


class _Chain:
    """The newest entries, those that no other follows, and the problems so far."""

    def __init__(self, heads: Iterable[str]) -> None:
        self._heads = dict.fromkeys(heads, False)
        self._named = {head.partition(":")[0]: False for head in self._heads}  # ids; True: the entry exists
        self._newest: OrderedDict[str, ChainLink] = OrderedDict()  # by head
        self._ids: dict[str, str] = {}  # heads of the same entries by id
        self._open: dict[str, _Open] = {}  # by head: entries that no entry follows, and that the next ones must follow
        self._late: dict[str, ChainLink] = {}  # committed after ENTRIES_FOLLOWED others, which need not follow them
        self._missing: dict[str, tuple[str, str]] = {}  # by id: head that was not found, and the entry that follows it
        self._problems: dict[tuple[str, str], Problem] = {}
        self._entries = self._older = self._hashed = 0
        self._unreadable = self._trailing = 0
        self._last = ""  # id of the last entry

    def add_unreadable(self) -> None:
        """Count a line that is no entry."""
        self._unreadable += 1
        self._trailing += 1

    def compare(self, sequence: Sequence) -> None:
        """Compare the newest id with those that the sequence gave."""
        newest = int(self._last or 0)
        missing = sequence.last - newest
        if missing < 0:
            why = f"the next id is {sequence.last + 1}, so it was set back: `unstick init` sets it to the newest entry"
            self._report("sequence", self._last, why)
        elif missing > sequence.writers and (sequence.exact or missing > CRASH_IDS):
            first = newest + 1
            ids = f"{first}" if missing == 1 else f"{first} to {sequence.last}"
            given = "no entry has it" if missing == 1 else "no entry has them"
            why = f"the server gave the ids {ids}, and {given}: the newest were removed, or were rolled back"
            self._report("cut_end", str(first), why)

    def add(self, link: ChainLink) -> None:
        """Check an entry against those before it."""
        self._entries += 1
        self._last = link.id
        if link.id in self._named:
            self._named[link.id] = True
        if link.head in self._heads:
            self._heads[link.head] = True
        if link.unreadable:
            self._report("unreadable", link.id, f"its content cannot be read ({link.unreadable})")
        self._newest[link.head], self._ids[link.id] = link, link.head
        if ("removed", link.id) in self._problems:
            del self._problems["removed", link.id]
            head, follower = self._missing[link.id]
            if head == link.head:
                self._report("reordered", link.id, f"entry {follower} follows it, but comes before it")
            else:
                self._report("changed", link.id, f"entry {follower} follows it with another hash")
        if link.recorded is None:
            if self._older + 1 == self._entries:
                self._older += 1
            else:
                self._report("no_hash", link.id, "it has no hash, but an older entry has one")
        else:
            self._hashed += 1
            self._trailing = 0  # the hash of the line before proves that no line was replaced in between
            if link.recorded != link.digest:
                self._report("changed", link.id, "its content does not match its hash")
            self._follow(link)
            self._open[link.head] = _Open(link, self._entries)
        if len(self._newest) > ENTRIES_KEPT:
            head, old = self._newest.popitem(last=False)
            if self._ids.get(old.id) == head:
                del self._ids[old.id]

    def result(self, place: str) -> Verification:
        """Check the heads that were exported earlier; return all that was found."""
        for head in [head for head, there in self._heads.items() if not there]:
            entry = head.partition(":")[0]
            if self._named[entry]:
                self._report("changed", entry, "an exported head has another hash of it")
            else:
                self._report("removed", entry, "an exported head names it; a failover may also have lost it")
        if self._trailing:
            why = (
                "the last line is no entry"
                if self._trailing == 1
                else f"the last {self._trailing} lines are no entries"
            )
            self._report("unreadable", self._last, f"{why}: an entry was overwritten, or a disk or the machine failed")
        return Verification(
            place=place,
            entries=self._entries,
            hashed=self._hashed,
            older=self._older,
            heads=(*self._late, *self._open),
            known=sum(self._heads.values()),
            problems=tuple(self._problems.values()),
            unreadable=self._unreadable,
        )

    def _follow(self, link: ChainLink) -> None:
        """Check the entries that an entry follows, and those that it should follow."""
        complete = True
        for head in link.previous:
            before = self._newest.get(head)
            if before is None:
                complete = False
                entry = head.partition(":")[0]
                if entry in self._ids:
                    self._report("changed", entry, f"entry {link.id} follows it with another hash")
                elif ("removed", entry) not in self._problems:
                    self._missing[entry] = head, link.id
                    self._report("removed", entry, f"entry {link.id} follows it; older ones may be missing, too")
                continue
            self._open.pop(head, None)
            self._late.pop(head, None)
            # Lines of the file have the times of several servers.
            if link.seen is not None and before.at > link.at + CLOCK_SKEW_SECONDS:
                self._report("backdated", link.id, f"its time is before that of entry {before.id}, which it follows")
        for head, each in list(self._open.items()):
            seen, other = link.seen, each.link
            late = self._entries - each.number > ENTRIES_FOLLOWED
            if late and each.running:
                # Its transaction ended after ENTRIES_FOLLOWED later entries, so it may be out of their sight.
                self._late[head] = self._open.pop(head).link
            elif late or seen is None or seen.shows(other.xid):
                del self._open[head]
                if complete:  # else a missing entry may have followed it
                    self._report("inserted", other.id, f"entry {link.id} was written later and does not follow it")
            else:
                each.running = other.xid in seen.running

    def _report(self, code: str, entry: str, why: str) -> None:
        self._problems.setdefault((code, entry), Problem(code=code, id=entry, why=why))
