"""Suggested actions of findings, without those that refuse or do not help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from queries.claim.answers import Condition
from queries.claim.reader import ClaimReader
from queries.contract.rows import WitnessRow, json_kinds
from queries.contract.spec import HARMS, Action, FindingSpec
from queries.contract.variant import EngineVariant
from queries.db.errors import DatabaseError, attempted
from queries.db.query import Query
from queries.db.reads import IN_STEP, Reads, lockstep, value_of
from queries.files.statement import Statement
from queries.read.incidents import LEAVES, REFUSED, REFUSED_FOR_NOW, Cause, cause_of
from queries.read.nodes import NodeIds, NodeReader
from queries.read.sentence import in_text
from queries.records.action import FREEING, Proof, Risk, Verdict
from queries.records.finding import ENDS, FAILS, HELPS, IS_REFUSED, OPEN, TELLS, WAITS, Finding
from queries.records.node import Node, split_id

REFUSALS_ASKED = 20  # nodes of each cause that the actions of its finding are asked about
EXAMPLES_ASKED = 10  # causes, the gravest: of the first node of each, a worker is asked, too

_CALL = re.compile(r'"\.\w+\(')  # of an engine's function
Question = tuple[str, str]  # an action's file, and its arguments
Refusals = dict[str, tuple[str, bool]]  # by node: why, and whether for now only
Specs = Mapping[str, FindingSpec]  # by code
After = Mapping[tuple[str, str], tuple[Condition, ...] | None]  # as `ClaimReader.after` returns it


class _Said(NamedTuple):
    """Answer of an action: its first words, and a reason."""

    words: str
    why: str = ""
    fails: bool = False  # no worker would take the node then, not even when it is due


class _Asked(NamedTuple):
    """A cause of findings, which are at ``places``.

    Its actions are asked about ``ids``. Their answers, by name, are ``said``. ``whole``: if they refuse, all nodes do.
    """

    places: list[int]
    ids: list[str]
    whole: bool
    actions: list[tuple[Action, Question]]
    spec: FindingSpec
    said: dict[str, _Said]

    @property
    def best(self) -> str:
        """The action to suggest, or "" if all are refused.

        The engine prefers the first. If that is to let a worker take the node, another action may do so, too.
        """
        first, said, instead = next(iter(self.said)), self.said, self.spec.instead
        others = {*FREEING} - ({*HARMS} if self.spec.proof is Proof.ASSUMED else set())
        if not self.whole and said[first].words in (IS_REFUSED, WAITS):
            said = {first: said[first]}
        left = {name: each for name, each in said.items() if each.words != IS_REFUSED}
        for name, each in left.items():
            if name == first or (name == instead and (each.words != ENDS or first not in left)):
                if not each.fails or name not in FREEING:
                    return name
            elif each.words == HELPS and {first, name} <= others:
                return name
        return next((name for name in (first, instead) if name in left), "")

    @property
    def unhelped(self) -> bool:
        """Return True if another action may let a worker take the node."""
        fails = not self.best or self.said[self.best].fails
        return fails and self.actions[0][0].name in FREEING and (self.whole or bool(self.best))


class Offers:
    """Suggested actions of the findings of one engine."""

    def __init__(
        self, variant: EngineVariant, ids: NodeIds, nodes: NodeReader, claims: ClaimReader, specs: Specs
    ) -> None:
        self._variant, self._ids, self._nodes, self._claims, self._specs = variant, ids, nodes, claims, specs

    async def of(
        self, transaction: Reads, findings: tuple[Finding, ...], node: Node | None = None
    ) -> tuple[Finding, ...]:
        """Return the findings with the actions that may help.

        Reads alone ask a few nodes of each cause whether they refuse the finding's ``action`` and ``instead``. Of the
        gravest causes, a worker is asked about the values that these set in the first node. If it would not take that,
        the other actions after which it may are asked, too. Nothing is asked if the operator decides on the arguments.
        ``node``: only the findings of this one are asked, about each of its actions.
        """
        causes: dict[Cause, list[int]] = {}
        for place, finding in enumerate(findings):
            action = self._variant.engine.action(finding.action or "", split_id(finding.node_id)[1])
            of_node = node is None or finding.node_id == node.id
            if of_node and action and action.writes and OPEN not in finding.arguments.values():
                causes.setdefault(cause_of(self._specs[finding.code], finding), []).append(place)
        asked = []
        for places in causes.values():
            some, first = [findings[place] for place in places[:REFUSALS_ASKED]], findings[places[0]]
            ids = [self._ids.local(f.node_id) for f in some if f.arguments == first.arguments]
            actions, spec = self._possible(first, node), self._specs[first.code]
            whole = len(ids) == len(places) or bool(self._variant.unmet(actions[0][0]))
            asked.append(_Asked(places, ids, whole, actions, spec, {}))
        after = await self._ask(transaction, asked)
        if node is None and (unhelped := [each for each in asked[:EXAMPLES_ASKED] if each.unhelped]):
            read = await attempted(self._nodes.among(transaction, [each.ids[0] for each in unhelped]))
            nodes = {} if isinstance(read, DatabaseError) else {self._ids.local(n.id): n for n in read.nodes}
            more = []
            for each in (each for each in unhelped if each.ids[0] in nodes):
                actions = self._possible(findings[each.places[0]], nodes[each.ids[0]])
                freeing = [asking for asking in actions if asking[0].name in FREEING]
                more.append(each._replace(ids=each.ids[:1], actions=freeing))
            await self._ask(transaction, more, after)
        offered = list(findings)
        for each in asked:
            texts = {name: in_text(said.words + said.why) for name, said in each.said.items()} if node else {}
            for place in each.places:
                offered[place] = _offered(msgspec.structs.replace(findings[place], asked=texts), each)
        return tuple(offered)

    def _possible(self, finding: Finding, node: Node | None) -> list[tuple[Action, Question]]:
        """Return the actions of a finding with their questions, its own first.

        The others follow by risk.
        """
        kind, own = split_id(finding.node_id)[1], msgspec.json.encode(finding.arguments).decode()
        names = (finding.action or "", self._specs[finding.code].instead)
        actions = {name: each for name in names if (each := self._variant.engine.action(name, kind))}
        for each in sorted(self._variant.engine.actions_of(kind) if node else (), key=lambda a: [*Risk].index(a.risk)):
            chosen = any(a.required and not a.default for a in each.arguments)  # by the operator
            if each.writes and not chosen and (not each.phases or (node and node.phase in each.phases)):
                actions.setdefault(each.name, each)
        return [(each, (each.script, own if each.name == finding.action else "{}")) for each in actions.values()]

    async def _ask(self, transaction: Reads, asked: Sequence[_Asked], known: After | None = None) -> After:
        """Ask the actions of causes that have not said anything yet.

        Return what a worker said of their first nodes, ``known`` if it was asked before.
        """
        questions: dict[Question, dict[str, None]] = {}
        examples: dict[str, dict[str, None]] = {}
        for place, each in enumerate(asked):
            for action, question in each.actions:
                if action.name not in each.said and not self._variant.unmet(action) and self._askable(action):
                    questions.setdefault(question, {}).update(dict.fromkeys(each.ids))
            if known is None and place < EXAMPLES_ASKED:
                examples.setdefault(each.ids[0].partition(":")[0], {})[each.ids[0]] = None
        after_it = [self._claims.after([*ids]) for ids in examples.values()]
        answer, *said_after = await lockstep(transaction, [self._refused(questions), *after_it])
        refused: dict[Question, Refusals] = value_of(answer)
        after = {**(known or {})}
        for read in said_after:
            after |= {} if isinstance(read, DatabaseError) else read
        for each in asked:
            for action, question in each.actions:
                said = self._said(action, each.ids, refused.get(question), after)
                each.said.setdefault(action.name, said)
        return after

    async def _refused(self, questions: Mapping[Question, Iterable[str]]) -> dict[Question, Refusals]:
        """Read which nodes actions refuse. Questions that fail are omitted."""
        queries: list[tuple[Question, Query]] = []
        for (script, args), ids in questions.items():
            values = self._variant.parameters(ids=[*ids], args=args)
            sections = (*self._refusals(script), *self._witnesses(script))
            parts = (part for part in sections if part.needs <= self._variant.detected.met_needs)
            queries += [((script, args), Query(part, values, json=json_kinds(WitnessRow))) for part in parts]
        refused: dict[Question, Refusals] = {question: {} for question, _ in queries}
        answers = await IN_STEP.each([query for _, query in queries])
        failed = {queries[n][0] for n, rows in enumerate(answers) if isinstance(rows, DatabaseError)}
        for (question, _), rows in zip(queries, answers, strict=True):
            whys = refused[question]
            for row in () if isinstance(rows, DatabaseError) else rows:
                if row.get("verdict") == Verdict.ALIVE:
                    whys.setdefault(row["id"], (f"its owner may live: {row['detail']}", False))
                elif "why" in row:
                    why, waits = whys.get(row["id"], (row["why"], False))
                    whys[row["id"]] = why, waits or bool(row.get("for_now"))
        return {question: whys for question, whys in refused.items() if question not in failed}

    def _said(self, action: Action, ids: Sequence[str], refused: Refusals | None, after: After) -> _Said:
        """Return what an action says of nodes. A worker is asked about the first."""
        if unmet := self._variant.unmet(action):
            return _Said(IS_REFUSED, unmet)
        if refused and all(id_ in refused for id_ in ids):
            return _Said(WAITS if any(refused[id_][1] for id_ in ids) else IS_REFUSED, refused[ids[0]][0])
        if refused is None or ids[0] in refused or (ids[0], action.script) not in after:
            return _Said(TELLS)
        if (failing := after[ids[0], action.script]) is None:
            return _Said(ENDS)
        fails = {each.name for each in failing} != {"due"}
        return _Said(FAILS, ", ".join(each.said for each in failing), fails) if failing else _Said(HELPS)

    def _askable(self, action: Action) -> bool:
        parts = self._refusals(action.script)
        return action.writes and bool(parts) and all(_readable(part) and not self._scans(part) for part in parts)

    def _scans(self, part: Statement) -> bool:
        """Return True if a table beside those of the nodes has no index on their key."""
        spec, met = self._variant.engine.spec, self._variant.detected.met_needs
        own, keys = {kind.table for kind in spec.kinds}, {kind.key for kind in spec.kinds}
        missing = (need for name, need in spec.needs.items() if name not in met and need.table not in own)
        lacking = (need.table for need in missing if not keys.isdisjoint(need.columns[:1]))
        return any(re.search(rf"\b{re.escape(table)}\b", part.text) for table in lacking)

    def _refusals(self, script: str) -> tuple[Statement, ...]:
        return self._variant.engine.actions.get(script, {}).get("refused", ())

    def _witnesses(self, script: str) -> Iterable[Statement]:
        return filter(_readable, self._variant.engine.actions.get(script, {}).get("witnesses", ()))


def _offered(finding: Finding, asked: _Asked) -> Finding:
    """Return the finding with its best action, and why not the declared one."""
    (first, said), best = next(iter(asked.said.items())), asked.best
    if best != first:
        does = f"is refused: {said.why}" if said.words == IS_REFUSED else f"does not help: {said.words}{said.why}"
        evidence = {**finding.evidence, REFUSED: f"{first} {in_text(does)}"}
        finding = msgspec.structs.replace(finding, action=best or None, arguments={}, guard="", evidence=evidence)
    elif said.words == WAITS:
        finding = for_now(finding, said.why)
    if best and (left := asked.said[best]).fails:
        evidence = {**finding.evidence, LEAVES: f"after {best} no worker would take it: {in_text(left.why)}"}
        finding = msgspec.structs.replace(finding, evidence=evidence)
    return finding


def _readable(part: Statement) -> bool:
    return {"ids", "args", "met_needs", "settings"}.issuperset(part.parameters) and not _CALL.search(part.text)


def for_now(finding: Finding, why: str) -> Finding:
    """Return the finding with the reason why its action has to wait."""
    return msgspec.structs.replace(finding, evidence={**finding.evidence, REFUSED_FOR_NOW: why})
