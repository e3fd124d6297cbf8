"""The nodes of one transaction, and the results of those that it skips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import msgspec

from queries.contract.rows import SHAPES, verify
from queries.db.query import Query, Rows
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.read import guard_token
from queries.read.question import Question
from queries.records.action import Outcome, Owner, Result, titled
from queries.write.request import Request

Lists = Mapping[str, list[str]]  # ids and versions of the nodes, as parameters
AskRows = Callable[[Statement, Mapping[str, Any], Lists], Question[Rows]]


BETWEEN = "\x1f"  # between the items of a list


def ask(part: Statement, values: Mapping[str, Any], lists: Lists) -> Question[Rows]:
    """Ask a statement with its parameters, if possible with each list as one text.

    The driver takes ten times as long to encode a list.
    """
    texts = {name: BETWEEN.join(items) for name, items in lists.items()}
    fits = all(all(items) and texts[name].split(BETWEEN) == items for name, items in lists.items())
    joined = with_texts(part, *lists) if fits else None
    sent, arguments = (part, {**values, **lists}) if joined is None else (joined, {**values, **texts})
    return Question([Query(sent, {name: arguments[name] for name in sent.parameters})], lambda answers: answers[0])


@lru_cache(maxsize=256)
def with_texts(part: Statement, *lists: str) -> Statement | None:
    """Return the statement with one text for each of its parameters ``lists``.

    The server makes a list of it before it plans. None if the statement casts a list to another type.
    """
    text = part.text
    for name in set(lists).intersection(part.parameters):
        parameter = f"${part.parameters.index(name) + 1}::"
        if text.count(parameter) > text.count(f"{parameter}text[]"):
            return None
        text = text.replace(f"{parameter}text[]", f"string_to_array({parameter}text, E'\\x1f')")
    return msgspec.structs.replace(part, text=text)


class Nodes:
    """The nodes of one transaction, and the parameters of its statements.

    ``remaining``: those that it still changes. ``skipped``: the results of the others. ``versions``: what the change
    compares. ``guarded``: nodes with a guard token instead of a version.
    """

    def __init__(self, request: Request, ask: AskRows = ask) -> None:
        """``ask`` is for the statements of the action's sections."""
        self.reader = request.reader
        self.versions = dict(request.versions)  # a node that the operator waited for gets its current version
        self.guarded = {i for i, version in self.versions.items() if guard_token.is_token(version)}
        self.remaining = sorted(self.versions)
        self.skipped: dict[str, Result] = {}
        self.owners: dict[str, Owner] = {}
        self.for_now: list[str] = []  # nodes refused because an executor is running them
        self.steady: dict[str, str | None] = {}  # by node: text that must not change during a wait
        self.notes: dict[str, tuple[str, str]] = {}  # reason and detail by changed node
        self.policies = request.reader.detected.policies  # tables whose row-level security restricts this role
        self.parameters = _parameters(request)
        self._titles = request.titles
        self._ask = ask
        self._lists: Lists = {}  # {}: build again

    def skip(self, node_id: str, outcome: Outcome, why: str, detail: str = "") -> None:
        """Skip a node, with its result."""
        self.skipped[node_id] = Result(id=node_id, outcome=outcome, why=why, detail=detail or msgspec.UNSET)
        self.remaining.remove(node_id)
        self._lists = {}

    def skip_all(self, outcome: Outcome, why: str) -> None:
        """Skip all remaining nodes, with the same result."""
        for node_id in list(self.remaining):
            self.skip(node_id, outcome, why)

    def expect(self, versions: Mapping[str, str]) -> None:
        """Set the versions that ``change`` compares."""
        self.versions |= versions
        self._lists = {}

    @contextmanager
    def only(self, ids: Iterable[str]) -> Iterator[None]:
        """Ask statements about these nodes instead of the remaining ones."""
        remaining, self.remaining, self._lists = self.remaining, list(ids), {}
        try:
            yield
        finally:
            self.remaining, self._lists = remaining, {}

    def full(self, local: str) -> str:
        """Return the id of a node with the label of its engine."""
        return f"{self.reader.label}/{local}"

    def question(self, part: Statement, shape: str = "", **more: Any) -> Question[Rows]:
        """Ask for the rows of a section for the remaining nodes.

        ``shape`` names the columns that they must have. ``more``: parameters of this statement alone.
        """
        if not self.remaining or not part.needs <= self.reader.detected.met_needs:
            return Question([], lambda _: [])
        self._lists = self._lists or {
            "ids": [self.reader.ids.local(i) for i in self.remaining],
            "versions": [self.versions[i] for i in self.remaining],
        }
        question = self._ask(part, {**self.parameters, **more}, self._lists)

        def read(answers: Sequence[Rows]) -> Rows:
            rows = question.read(answers)
            if shape:
                verify(rows, SHAPES[shape], part.source)
            return rows

        return Question(question.queries, read)

    async def rows(self, transaction: Transaction, part: Statement, **more: Any) -> Rows:
        """Return the rows that `asked` asks for. Raises DatabaseError."""
        return await self.question(part, **more).answer(transaction)

    def results(self, why: str = "") -> tuple[Result, ...]:
        """Return a result for each node, ordered by id.

        Nodes that were not skipped count as changed. ``why``: what is noted with each of them, instead of ``notes``.
        """
        notes = {} if why else self.notes
        done = (self.skipped.get(i) or _changed(i, *notes.get(i, (why, ""))) for i in sorted(self.versions))
        if self.owners:
            owners = self.owners
            done = (msgspec.structs.replace(r, owner=owners[r.id]) if r.id in owners else r for r in done)
        return titled(done, self._titles)


def _parameters(request: Request) -> dict[str, Any]:
    reader, seen = request.reader, request.seen
    return {
        "action": request.action.name,
        "operator": request.operator.name,
        "reason": request.reason,
        "args": dict(request.arguments),
        "met_needs": sorted(reader.detected.met_needs),
        "places": [],
        "settings": reader.engine.settings,
        "dry_run": None if seen is None else str(seen.at),
    }


def _changed(node_id: str, why: str, detail: str) -> Result:
    return Result(id=node_id, outcome=Outcome.CHANGED, why=why, detail=detail or msgspec.UNSET)
