"""Hash chain of the audit log table, verified from its oldest entry to its newest.

Each entry has a hash over its content and over the hashes of its predecessors: the heads, which are the entries that no
other entry followed when it was written. Writers that do not see each other follow the same heads; the next entry
follows them all. So the chain is a graph, and every entry except the present heads has a successor. The server checks
each entry against those around it (``audit_log_verify.sql``). Decision 6 states what this proves and what it cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from queries.records.record import Record

CRASH_IDS = 32  # ids that a sequence may skip at a crash or a failover: it writes them to the WAL in advance
HEAD = re.compile(r"([0-9a-f-]{1,40}(?:\.intent)?):([0-9a-f]{64})\b")
LINKS = {  # by code: why; it is about the entry that is followed, or else about the one that follows
    "removed": "entry {id} follows it; older ones may be missing, too",
    "changed": "entry {id} follows it with another hash",
    "backdated": "its time is before that of entry {before}, which it follows",
}


class Problem(Record):
    """Sign of tampering at the entry ``id``.

    ``code``: changed, removed, inserted, no_hash, backdated, cut_end, sequence or unreadable.
    """

    code: str
    id: str
    why: str


class Verification(Record):
    """Result of a verification.

    ``entries``: in the table; ``hashed``: of them those with a hash; ``older``: those from before the first hash.
    ``heads``: the entries that no other follows, each as id:hash. They prove all entries before them. ``known``: number
    of given heads that were found. ``unreadable``: 0; format 1 of the JSON has the field.
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


class Chain:
    """The result so far. ``heads``: those that were exported earlier."""

    def __init__(self, heads: Iterable[str]) -> None:
        self._exported = dict.fromkeys(heads, False)  # True: found
        self._ids = {head.partition(":")[0]: False for head in self._exported}  # True: the entry exists
        self._heads: list[str] = []
        self._problems: dict[tuple[str, str], Problem] = {}
        self._entries = self._older = self._hashed = 0
        self._last = 0

    def add(self, row: Mapping[str, Any], unreadable: str) -> None:
        """Add an entry as the server checked it.

        ``unreadable``: why its content cannot be read.
        """
        name, head = row["id"], f"{row['id']}:{row['recorded']}"
        self._entries, self._last = self._entries + 1, int(name)
        if name in self._ids:
            self._ids[name] = True
        if head in self._exported:
            self._exported[head] = True
        if unreadable:
            self._report("unreadable", name, f"its content cannot be read ({unreadable})")
        if row["recorded"] is not None:
            self._hashed += 1
        elif self._hashed:
            self._report("no_hash", name, "it has no hash, but an older entry has one")
        else:
            self._older += 1
        if row["intact"] is False:
            self._report("changed", name, "its content does not match its hash")
        for link in row["links"]:
            before, _, code = link.rpartition(" ")
            why = LINKS[code].format(id=name, before=before)
            self._report(code, name if code == "backdated" else before, why)
        if row["next"] == "head":
            self._heads.append(head)
        elif row["next"]:
            self._report("inserted", name, f"entry {row['next']} was written later and does not follow it")

    def compare(self, last: int, writers: int, *, exact: bool) -> None:
        """Compare the newest id with the ``last`` one that the sequence gave.

        It was read before the entries. ``exact`` False: it may have skipped ids at a crash or a failover. ``writers``:
        transactions that may have written an entry and have not ended.
        """
        missing = last - self._last
        if missing < 0:
            why = f"the next id is {last + 1}, so it was set back: `unstick init` sets it to the newest entry"
            self._report("sequence", str(self._last), why)
        elif missing > writers and (exact or missing > CRASH_IDS):
            first = self._last + 1
            ids = f"{first}, and no entry has it" if missing == 1 else f"{first} to {last}, and no entry has them"
            why = f"the server gave the ids {ids}: the newest were removed, or were rolled back"
            self._report("cut_end", str(first), why)

    def result(self, place: str) -> Verification:
        """Check the heads that were exported earlier; return all that was found."""
        for head in [head for head, there in self._exported.items() if not there]:
            entry = head.partition(":")[0]
            if self._ids[entry]:
                self._report("changed", entry, "an exported head has another hash of it")
            else:
                self._report("removed", entry, "an exported head names it; a failover may also have lost it")
        return Verification(
            place=place,
            entries=self._entries,
            hashed=self._hashed,
            older=self._older,
            heads=tuple(self._heads),
            known=sum(self._exported.values()),
            problems=tuple(self._problems.values()),
        )

    def _report(self, code: str, entry: str, why: str) -> None:
        self._problems.setdefault((code, entry), Problem(code=code, id=entry, why=why))
