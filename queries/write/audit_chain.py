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

from queries.model import Record

FOLLOWED = 50  # newest entries that an entry must follow; the writer looks at 100
KEPT = 1000  # newest entries that are kept in memory; no entry follows an older one
CLOCK = 60.0  # seconds that the clocks of a server and of its standby may differ

INTENT = ".intent"  # after the id of a line of the local file that was written before COMMIT
HEAD = re.compile(r"([0-9a-f-]{1,40}(?:\.intent)?):([0-9a-f]{64})\b")


class Snapshot(Record):
    """Transactions that the writer of an entry could see: a ``pg_snapshot``."""

    xmin: int
    xmax: int
    running: frozenset[int] = frozenset()

    @classmethod
    def parse(cls, text: str) -> Snapshot:
        """Return the snapshot of the server's text form, such as ``10:20:10,14``."""
        xmin, xmax, running = text.split(":")
        return cls(xmin=int(xmin), xmax=int(xmax), running=frozenset(map(int, filter(None, running.split(",")))))

    def shows(self, xid: int) -> bool:
        """Return True if the transaction had ended."""
        return xid < self.xmax and xid not in self.running


class Link(Record):
    """One entry of the chain.

    ``recorded`` is its hash as written, or None; ``digest`` is that of its present content. ``xid`` and ``seen`` tell
    which earlier entries it must follow; without ``seen`` all.
    """

    id: str
    at: float
    recorded: str | None
    digest: str
    previous: tuple[str, ...] = ()
    xid: int = 0
    seen: Snapshot | None = None

    @property
    def head(self) -> str:
        """Id and hash, as a later entry names them."""
        return f"{self.id}:{self.recorded}"


class Problem(Record):
    """Sign of tampering at the entry ``id``.

    ``code``: changed, removed, reordered, inserted, no_hash or backdated.
    """

    code: str
    id: str
    why: str


class Verification(Record):
    """Result of a verification.

    ``entries``: in the log, or lines of the local file; ``older``: of them those from before the first hash. ``heads``:
    the entries that no other follows, each as id:hash. They prove all entries before them. ``known``: number of given
    heads that were found.
    """

    place: str
    entries: int
    older: int
    heads: tuple[str, ...]
    known: int
    problems: tuple[Problem, ...]

    @property
    def hashed(self) -> int:
        """Number of entries from the first hash on."""
        return self.entries - self.older


def heads_in(text: str) -> tuple[str, ...]:
    """Return the heads in any text, such as an earlier verification."""
    return tuple(dict.fromkeys(f"{m[1]}:{m[2]}" for m in HEAD.finditer(text)))


async def verify(place: str, links: AsyncIterable[Link], known: Iterable[str] = ()) -> Verification:
    """Verify all entries, oldest first. ``known``: heads that were exported earlier."""
    chain = _Chain(known)
    async for link in links:
        chain.add(link)
    return chain.result(place)


class _Chain:
    """The newest entries, those that no other follows, and the problems so far."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = dict.fromkeys(known, False)
        self._named = {head.partition(":")[0]: False for head in self._known}  # ids; True: the entry exists
        self._newest: OrderedDict[str, Link] = OrderedDict()  # by head
        self._ids: dict[str, str] = {}  # heads of the same entries by id
        self._open: dict[str, int] = {}  # heads that no entry follows, with the number of the entry
        self._missing: dict[str, tuple[str, str]] = {}  # by id: head that was not found, and the entry that follows it
        self._problems: dict[tuple[str, str], Problem] = {}
        self._entries = self._older = 0

    def add(self, link: Link) -> None:
        """Check an entry against those before it."""
        self._entries += 1
        if link.id in self._named:
            self._named[link.id] = True
        if link.head in self._known:
            self._known[link.head] = True
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
            if link.recorded != link.digest:
                self._report("changed", link.id, "its content does not match its hash")
            self._follow(link)
            self._open[link.head] = self._entries
        if len(self._newest) > KEPT:
            head, old = self._newest.popitem(last=False)
            if self._ids.get(old.id) == head:
                del self._ids[old.id]

    def result(self, place: str) -> Verification:
        """Check the heads that were exported earlier; return all that was found."""
        for head in [head for head, found in self._known.items() if not found]:
            entry = head.partition(":")[0]
            if self._named[entry]:
                self._report("changed", entry, "an exported head has another hash of it")
            else:
                self._report("removed", entry, "an exported head names it; a failover may also have lost it")
        return Verification(
            place=place,
            entries=self._entries,
            older=self._older,
            heads=tuple(self._open),
            known=sum(self._known.values()),
            problems=tuple(self._problems.values()),
        )

    def _follow(self, link: Link) -> None:
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
            if link.seen is not None and before.at > link.at + CLOCK:  # lines of the file have several servers' times
                self._report("backdated", link.id, f"its time is before that of entry {before.id}, which it follows")
        for head, number in list(self._open.items()):
            before = self._newest.get(head)
            late = before is None or self._entries - number > FOLLOWED
            if late or before is None or link.seen is None or link.seen.shows(before.xid):
                del self._open[head]
                if complete:  # else a missing entry may have followed it
                    entry = head.partition(":")[0]
                    self._report("inserted", entry, f"entry {link.id} was written later and does not follow it")

    def _report(self, code: str, entry: str, why: str) -> None:
        self._problems.setdefault((code, entry), Problem(code=code, id=entry, why=why))
