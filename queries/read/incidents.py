"""Group findings by cause into incidents, with the symptoms of each cause. No I/O."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf

from queries.contract.server_spec import LABEL, server_spec
from queries.contract.spec import Explains, FindingSpec
from queries.read import sentence
from queries.records.finding import Finding, Incident, ManySchemas, Symptom
from queries.records.node import split_id
from queries.records.record import Record
from queries.text.counted import noun_of, plural
from queries.text.instant import unknown_last

REFUSED = "refused"  # in the evidence: why the finding's action is not suggested
LOCKED_BY = "locked_by"  # in the evidence: who locks the row of the node whose action is suggested
DIFFERS = "differs"  # in the evidence: the values that separate its group from others
TRIED = "tried"  # in the evidence: what was done lately, as advised, and has not helped
LEAVES = "leaves"  # in the evidence: why no worker takes a node after any action that is asked
REFUSED_FOR_NOW = "refused_for_now"  # in the evidence: why the finding's action is not possible yet

# Number of schemas from which on their incidents with one cause are shown as one.
LEAST_SCHEMAS_JOINED = 3
# Evidence that distinguishes incidents without a cause of their own.
TELLING = ("error", "message", "reason", "steps", "queue", "entrypoint", "worker", "holder", "type", "kind")
SENTENCE_WORDS = 3  # plain words that make a text a sentence
IN_SENTENCES = ("A ", "The ", "of ")  # beginnings of a part of one
WORDS_OF_JSON = re.compile(r'"([^"\\]*[A-Za-z][^"\\]*)"')
LEAST_OWNERS_JOINED = 3  # dead owners of one engine that are one incident
OLDER_SECONDS = 600.0  # by which a symptom may be older than the server's cause that explains it

# Number of nodes from which on an incident is graver than each of them, and by how much.
SEVERITY_BY_NODES = ((1_000, 3), (100, 1))
LEAST_RAISED_SEVERITY = 5  # a long queue that is worked off is not graver for its length
NEW_SECONDS = 900.0  # for which an incident is new
GRAVEST_SEVERITY = 9

Specs = Mapping[str, Mapping[str, FindingSpec]]  # by engine label and code
Cause = tuple[str, str, tuple[str, ...]]  # engine label, code, values of the cause fields


class CauseGroup(Record, eq=False):
    """Findings of one code with one cause."""

    cause: Cause
    spec: FindingSpec
    findings: tuple[Finding, ...]

    @property
    def engines(self) -> frozenset[str]:
        """Labels of the engines whose findings it may explain."""
        return frozenset(label for f in self.findings for label in (f.engine, *f.affects))

    @property
    def hidden(self) -> bool:
        """Return True if it is shown only as the cause of symptoms."""
        return all(f.suspected for f in self.findings)

    @property
    def certain(self) -> bool:
        """Return True if it certainly refuses, whether it is shown or not."""
        return self.cause[1] in server_spec().groups["certain"]


def incidents(
    findings: Iterable[Finding],
    specs: Specs,
    capped: Collection[tuple[str, str]] = (),
    at: float | None = None,
) -> tuple[Incident, ...]:
    """Return the incidents, in the order of `ordered` at the server time ``at``.

    ``capped``: engine label and code of the findings of which more exist than were read.
    """
    groups = _groups(findings, specs)
    owners = _absorbed(groups, at)
    explained: dict[int, list[Finding]] = {}
    unexplained: dict[int, list[Finding]] = {}
    for place, group in enumerate(groups):
        for finding in group.findings:
            root = _root(owners, place, finding)
            (unexplained if root == place else explained).setdefault(root, []).append(finding)
    places = [p for p, group in enumerate(groups) if p in unexplained and (p in explained or not group.hidden)]
    shown = (
        _incident(
            groups[same[0]],
            [finding for place in same for finding in unexplained[place]],
            [finding for place in same for finding in explained.get(place, [])],
            capped,
            len(same),
        )
        for same in _of_many_owners(groups, places)
    )
    return ordered(shown, at)


def ordered(
    incidents: Iterable[Incident], at: float | None = None, growing: Collection[str] = frozenset()
) -> tuple[Incident, ...]:
    """Return incidents in the order of every list.

    The order is severity, then facts of the server, then new or growing, then size, then the oldest. ``at``: server
    time; without it none is new.
    ``growing``: keys of those that have more nodes than before.
    """

    def place(incident: Incident) -> tuple[int, bool, bool, int, float, str]:
        news = incident.key in growing or is_new(incident, at)
        of_server, since = incident.engine == LABEL, unknown_last(incident.since)
        return -incident.severity, not of_server, not news, -incident.n, since, incident.key

    return tuple(sorted(incidents, key=place))


def is_new(incident: Incident, at: float | None) -> bool:
    """Return True if its cause began in the last quarter of an hour."""
    return at is not None and incident.since is not None and 0 <= at - incident.since < NEW_SECONDS


def _graver(severity: int, n: int, capped: bool) -> int:
    """Return the severity of an incident with this number of nodes.

    ``capped``: it has more.
    """
    more = next(
        (more for least, more in SEVERITY_BY_NODES if n >= least or (capped and n >= SEVERITY_BY_NODES[-1][0])), 0
    )
    return severity if severity < LEAST_RAISED_SEVERITY else max(severity, min(severity + more, GRAVEST_SEVERITY))


def by_schemas(incidents: Iterable[Incident]) -> tuple[Incident, ...]:
    """Join the incidents that have one cause in many schemas.

    An action is for one schema, so it stays with the incidents that are joined.
    """
    alike: dict[tuple[str, str], list[Incident]] = {}
    for incident in incidents:
        label, _, cause = incident.key.partition("/")
        alike.setdefault((label.partition("@")[0], cause), []).append(incident)
    joined = (
        (_joined(engine, cause, each),) if len(each) >= LEAST_SCHEMAS_JOINED else each
        for (engine, cause), each in alike.items()
    )
    return tuple(incident for each in joined for incident in each)


def _joined(engine: str, cause: str, incidents: list[Incident]) -> ManySchemas:
    first, explained = incidents[0], [finding for each in incidents for finding in each.explained]
    capped = {(s.engine, s.code) for each in incidents for s in each.symptoms if s.capped}
    shared = {(each.action, tuple(sorted(each.arguments.items()))) for each in incidents}
    numbers = Counter((finding.code, finding.title) for finding in explained)
    label = f"{engine}@*"
    return ManySchemas(
        key=f"{label}/{cause}",
        engine=label,
        code=first.code,
        title=first.title,
        sentence=f"In {len(incidents)} schemas; {first.engine}: {first.sentence}",
        severity=max(each.severity for each in incidents),
        proof=first.proof,
        n=sum(each.n for each in incidents),
        capped=any(each.capped for each in incidents),
        since=min((each.since for each in incidents if each.since is not None), default=None),
        action=first.action if len(shared) == 1 else None,
        arguments=first.arguments if len(shared) == 1 else {},
        remedy=first.remedy,
        about=first.about,
        symptoms=tuple(
            Symptom(engine=label, code=code, title=title, n=n, capped=any(c == code for _, c in capped))
            for (code, title), n in numbers.most_common()
        ),
        findings=tuple(finding for each in incidents for finding in each.findings),
        explained=tuple(explained),
        labels=tuple(each.engine for each in incidents),
    )


def rank(finding: Finding) -> tuple[int, float, str]:
    """Return the sort key of findings: worst first, then oldest."""
    return -finding.severity, unknown_last(finding.since), finding.node_id


def cause_of(spec: FindingSpec, finding: Finding) -> Cause:
    """Return what identifies the finding's cause."""
    values = [str(finding.evidence.get(field, "")) for field in spec.cause]
    if spec.cause_text:
        from queries.read.dead_letters import fold  # its pattern takes long to compile

        values += [fold(str(finding.evidence.get(field, ""))) for field in spec.cause_text]
    return finding.engine, finding.code, tuple(values)


def _groups(findings: Iterable[Finding], specs: Specs) -> list[CauseGroup]:
    """Return findings grouped by cause.

    Findings about the server come first, because they may explain any other. Suspected ones come last.
    """

    def place(finding: Finding) -> tuple[bool, bool, int, float, str]:
        certain = server_spec().groups["certain"]
        return finding.suspected and finding.code not in certain, not finding.affects, *rank(finding)

    groups: dict[Cause, list[Finding]] = {}
    for finding in sorted(findings, key=place):
        groups.setdefault(cause_of(specs[finding.engine][finding.code], finding), []).append(finding)
    return [CauseGroup(cause=c, spec=specs[c[0]][c[1]], findings=tuple(members)) for c, members in groups.items()]


Owners = dict[tuple[int, str], tuple[int, list[Finding]]]
"""The group and the findings that explain a finding, by its own group and node."""


def _absorbed(groups: list[CauseGroup], at: float | None) -> Owners:
    """Return what explains each finding.

    The first group that explains a finding keeps it.
    """
    owners: Owners = {}
    parents: dict[int, set[int]] = {}
    for place, group in enumerate(groups):
        engines, suspected = group.engines, group.hidden and not group.certain
        for rule in group.spec.rules:
            causes: dict[tuple[str, ...], list[Finding]] = {}
            for finding in group.findings:
                causes.setdefault(values_of(rule, finding), []).append(finding)
            for other, symptoms in enumerate(groups):
                if other == place or symptoms.cause[0] not in engines:
                    continue
                named = rule.names(symptoms.spec.code, symptoms.spec.symptom, suspected=suspected)
                if not named or other in _ancestors(parents, place):
                    continue
                for finding in symptoms.findings:
                    if finding.affects and not engines.intersection(finding.affects):
                        continue
                    alike = causes.get(values_of(rule, finding), ())
                    explanations = [each for each in alike if not _is_older(finding, each, at)]
                    if explanations and (other, finding.node_id) not in owners:
                        owners[other, finding.node_id] = place, explanations
                        parents.setdefault(other, set()).add(place)
    return owners


def _is_older(symptom: Finding, cause: Finding, at: float | None) -> bool:
    """Return True if a symptom began long before the server's cause.

    A lock of a second does not explain a wait of an hour; one that was there for half of that time may.
    """
    if at is None or not cause.affects or cause.code == "standby":
        return False
    hidden = cause.since is None and cause.evidence.get("hidden")
    if symptom.read_at is not None and (hidden or (cause.since is not None and symptom.read_at < cause.since)):
        return True  # such as a table lock, for which it cannot be read again
    if cause.since is None or symptom.since is None:
        return False
    return cause.since - symptom.since > max(OLDER_SECONDS, at - cause.since)


def values_of(rule: Explains, finding: Finding) -> tuple[str, ...]:
    """Return the values of a rule's matching fields.

    A field that is missing or NULL matches nothing.
    """
    known = {name: value for name, value in finding.evidence.items() if value is not None} | {"node": finding.node_id}
    return tuple(str(known.get(field, f"no {field} of {finding.node_id} {finding.code}")) for field in rule.matching)


def _ancestors(parents: Mapping[int, set[int]], place: int) -> set[int]:
    ancestors: set[int] = set()
    places = [place]
    while places:
        for parent in parents.get(places.pop(), set()) - ancestors:
            ancestors.add(parent)
            places.append(parent)
    return ancestors


def _of_many_owners(groups: list[CauseGroup], places: Iterable[int]) -> Iterable[list[int]]:
    """Yield the groups of each incident: one, or those of many dead owners.

    What ended several owners may be one thing, such as a job that each of them took.
    """
    alike: dict[tuple[str, str], list[int]] = {}
    for place in places:
        alike.setdefault(groups[place].cause[:2], []).append(place)
    for same in alike.values():
        many = bool(groups[same[0]].spec.several) and len(same) >= LEAST_OWNERS_JOINED
        yield from [same] if many else ([place] for place in same)


def _root(owners: Owners, place: int, finding: Finding) -> int:
    """Return the group that a finding is shown in.

    That is the group that explains it and that nothing else explains.
    """
    while (place, finding.node_id) in owners:
        place, causes = owners[place, finding.node_id]
        finding = next((f for f in causes if (place, f.node_id) not in owners), causes[0])
    return place


def _incident(
    group: CauseGroup,
    findings: list[Finding],
    explained: list[Finding],
    capped: Collection[tuple[str, str]],
    owners: int = 1,
) -> Incident:
    label, code, values = group.cause
    spec, first = group.spec, findings[0]
    if owners > 1:
        values = (spec.several,)
    explained.sort(key=rank)
    everything = [*findings, *explained]
    n = len({f.node_id for f in everything if not f.node_id.startswith(f"{LABEL}/")})
    # Nodes that refuse an action are skipped by name, and their rows have the other one.
    offered = [f for f in findings if f.action is None or f.action != spec.instead] or findings
    actions = {(f.action, tuple(sorted(f.arguments.items()))) for f in offered}
    elsewhere = spec.sampled and spec.symptom == "failing" and len(findings) > 1  # several that fail again and again
    same = len(actions) == 1 and offered[0].action is not None and not elsewhere
    example = max(findings, key=lambda f: -inf if f.since is None else f.since) if spec.newest_first else first
    part = (label, code) in capped
    at_least = any((f.engine, f.code) in capped for f in everything)
    if owners > 1:
        text = _sentence_of_owners(spec, findings, owners, part)
    else:
        text = first.sentence if len(findings) == 1 else _sentence(spec, values, example, len(findings), part)
    if differs := next((f.evidence[DIFFERS] for f in findings if DIFFERS in f.evidence), ""):
        text += f" {differs}"
    if leaves := next((f.evidence[LEAVES] for f in findings if LEAVES in f.evidence), ""):
        text += f" No action is known to help alone: {leaves}."
    if len(findings) > 1 and (tried := [f.evidence[TRIED] for f in findings if TRIED in f.evidence]):
        text += f" {len(tried)} of them: {tried[0]}"
    return Incident(
        key=_key(label, code, values),
        engine=label,
        code=code,
        title=spec.title,
        sentence=text,
        severity=_graver(max(f.severity for f in everything), n, at_least),
        proof=spec.proof,
        n=n,
        capped=at_least,
        since=min((f.since for f in findings if f.since is not None), default=None),
        action=offered[0].action if same else None,
        arguments=offered[0].arguments if same else {},
        remedy=_remedy(spec, findings),
        about=f"{owners} {spec.several}" if owners > 1 else _about(spec, example),
        symptoms=tuple(_symptoms(explained, capped)),
        findings=tuple(findings),
        explained=tuple(explained),
    )


def _about(spec: FindingSpec, first: Finding) -> str:
    """Return the text that distinguishes an incident from others with its title.

    That is an error, or the cause: a name, not a part of the sentence. Of JSON it is the words.
    """
    fields = (*spec.cause_text, *spec.cause, *(name for name in TELLING if name in first.evidence))
    texts = {field: str(text) for field in fields if (text := first.evidence.get(field)) not in (None, "")}
    errors = (*spec.cause_text, "error", "message")
    about = next((text for field, text in texts.items() if field in errors or _is_name(text)), "")
    return " ".join(WORDS_OF_JSON.findall(about)) or about if about[:1] in "[{" else about


def _is_name(text: str) -> bool:
    """Return True for text of few words, which is not only a number."""
    plain = sum(word.isalpha() and word.islower() for word in text.split())
    return plain < SENTENCE_WORDS and not text.isdecimal() and not text.startswith(IN_SENTENCES)


def _remedy(spec: FindingSpec, findings: Sequence[Finding]) -> str:
    first, locked = findings[0], next((why for each in findings if (why := each.evidence.get(LOCKED_BY))), None)
    refused = locked if first.action else first.evidence.get(REFUSED, locked)  # else another action is suggested
    remedy = sentence.fill(spec.remedy, first.evidence)
    return " ".join(filter(None, (remedy, refused and f"{refused[:1].upper()}{refused[1:]}.")))


def _sentence_of_owners(spec: FindingSpec, findings: list[Finding], owners: int, capped: bool) -> str:
    first = findings[0]
    last = max(findings, key=lambda f: (f.since if f.since is not None else -inf, f.node_id))
    kind = noun_of(split_id(first.node_id)[1])
    n = f"At least {len(findings)}" if capped else str(len(findings))
    return (
        f"{n} {plural(kind)} of {owners} {spec.several}, which may have ended for one reason. "
        f"If one {kind} ends each that runs it, it may be the newest, {last.node_id.partition('/')[2]}: "
        f"look at it first, and release it last. The oldest: {first.sentence}"
    )


def _sentence(spec: FindingSpec, values: tuple[str, ...], first: Finding, number: int, capped: bool) -> str:
    n = f"at least {number}" if capped else str(number)
    if spec.incident:
        text = sentence.fill(spec.incident, {**first.evidence, "n": n})
        return text[:1].upper() + text[1:] if spec.incident.startswith("{n}") else text
    n = n[:1].upper() + n[1:]
    kinds = plural(noun_of(split_id(first.node_id)[1]))
    named = ", ".join(filter(None, values))
    return f"{n} {kinds}" + (f", {spec.title}: {named}." if named else f". The first: {first.sentence}")


def _symptoms(explained: list[Finding], capped: Collection[tuple[str, str]]) -> Iterator[Symptom]:
    counts = Counter((f.engine, f.code, f.title) for f in explained)
    for (engine, code, title), n in counts.most_common():
        yield Symptom(engine=engine, code=code, title=title, n=n, capped=(engine, code) in capped)


def _key(label: str, code: str, values: tuple[str, ...]) -> str:
    """Return ``engine/code``, with a digest of the cause's values if it has any."""
    if not values:
        return f"{label}/{code}"
    return f"{label}/{code}:{hashlib.sha256(chr(0).join(values).encode()).hexdigest()[:6]}"
