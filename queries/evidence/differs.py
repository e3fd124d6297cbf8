"""Values that separate late, failed or often tried nodes from others."""

from __future__ import annotations

import base64
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from queries.contract.server_spec import server_spec
from queries.contract.spec import FindingSpec, Kind
from queries.db.errors import DatabaseError, attempted
from queries.db.query import Query, Rows, statement
from queries.files.statement import with_parts
from queries.read.findings import finding_of
from queries.read.incidents import DIFFERS, cause_of
from queries.read.reader import Reader
from queries.records.finding import Finding
from queries.records.node import Node, Phase, split_id
from queries.records.snapshot import Part
from queries.text.counted import noun_of, plural
from queries.text.psql_text import quoted_name
from queries.workspace import Workspace

KEPT_SECONDS, FORGOTTEN_SECONDS = 30.0, 300.0  # after which a group is read again; others, columns
LEAST_NODES, SHARE = 5, 0.9  # of a group, that have a value
LEAST_LIKE, SHARE_OF_LIKE = 10, 0.1  # nodes that are like a group; at most that share has the value
GROUPS, GROUP_NODES = 12, 100  # groups that are compared, and nodes of each
LIKE_NODES = 50  # that are read before and after a group; twice as many are the newest
WATCHED_NODES = 100  # unfinished nodes, and dead letters, that may be a group without a finding
LATE_SECONDS = 300.0  # for which a node of a queue is due
LATELY_SECONDS, MINOR = 86400.0, 3  # in which dead letters may have one cause; severity of few of them
FEW_TRIES, MANY_TRIES = 5, 10  # of a node that waits
DOCUMENT_BYTES, VALUE_CHARACTERS, SHOWN_CHARACTERS = 4000, 200, 60
KEYS, ITEMS, LEVELS = 40, 5, 2  # of a document, that are compared; of tables that a row refers to

# Names of what workers write while they work, of counters and of times: their values follow from where a node is.
_FOLLOWS = re.compile(
    r"(?:^|_)(?:at|on|time|date|start|end|since|until|lock(?!$)|lease|claim|owner|worker|executor|beat|heartbeat|seen|attempt|try|trie"
    r"|retry|retrie|execution|revision|process|progress|complete|done|finish|result|output|error|return|message|count|number"
    r"|total|failure|offset|seq|cursor|position|size|length|duration|second|ms)(?:ed|s|ing)?(?:_|$)"
)
_TRIES = re.compile(r"(?:^|_)(?:retry|retries|tries|attempts?|failures?|errors)(?:_count)?$")
_TELLS = re.compile(r"kind|queue|version|server|host|phase|step|name|type|class|priority|tenant|entrypoint|identifier")
_NO_VALUE = re.compile(r"\d{4}-\d\d-\d\d[T ]|\d+\.\d{3,}$|\d{7,}$|$")  # times and sizes
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{2}:[0-9a-f]{2}:")
_COUNTER, _PHASE = "#", "#"  # the name of a counter begins so; the phase has no other

TOGETHER, TRIED_OFTEN = "failing_together", "tried_often"

Row = dict[str, str]  # values of a node by their names
Group = tuple[FindingSpec, Kind | None, tuple[str, ...]]  # nodes that may have one cause; None: a queue with such nodes
Differences = tuple[dict[tuple[str, str], str], list[Finding]]  # texts by code and node; findings of other nodes
Kept = dict[Any, tuple[float, Any]]  # when something was read, by the monotonic clock, and what
_kept: WeakKeyDictionary[Workspace, Kept] = WeakKeyDictionary()


async def differences(workspace: Workspace, parts: Sequence[Part]) -> list[Differences]:
    """Return what differs in the nodes of engines' parts.

    Raises an error of NO_CONNECTION only.
    """
    old = time.monotonic() - FORGOTTEN_SECONDS
    kept = _kept[workspace] = {place: each for place, each in _kept.get(workspace, {}).items() if each[0] > old}
    return list(await workspace.database.together(*(_of_part(workspace.engines[p.label], p, kept) for p in parts)))


def joined(part: Part, differences: Differences) -> Part:
    """Return a part with what differs in its nodes."""
    texts, more = differences
    findings = (_saying(each, texts.get((each.code, each.node_id), "")) for each in part.findings.findings)
    return part.with_findings((*findings, *more))


async def _of_part(reader: Reader, part: Part, kept: Kept) -> Differences:
    groups, watched, old = _groups(reader, part), (reader.label, ""), time.monotonic() - KEPT_SECONDS
    if part.unread:  # its tables are not asked again
        before: Sequence[Finding] = kept.get(watched, (0.0, ()))[1] or ()
        return {}, [msgspec.structs.replace(each, read_at=part.findings.at) for each in before]
    if new := [each for each in (*groups, watched) if each not in kept or kept[each][0] < old]:
        answer = await attempted(compare(reader, part, {each: groups.get(each) for each in new}, kept))
        said: dict[Any, Any] = {} if isinstance(answer, DatabaseError) else answer
        kept |= {each: (time.monotonic(), said.get(each, "")) for each in new}
    texts, more = dict[tuple[str, str], str](), [*kept[watched][1]]
    for cause, (spec, kind, nodes) in groups.items():
        if not (text := kept[cause][1]):
            continue
        texts |= {(spec.code, node): text for node in nodes}
        rules = (rule for other, *_ in groups.values() if other is not spec for rule in other.rules)
        alone = spec.symptom == "failing" and not any(rule.names(spec.code, spec.symptom) for rule in rules)
        more += [_found(TOGETHER, kind, node, text) for node in nodes if kind and alone and cause[2] is None]
    return texts, more


def _saying(finding: Finding, text: str) -> Finding:
    return msgspec.structs.replace(finding, evidence={**finding.evidence, DIFFERS: text}) if text else finding


def _found(code: str, kind: Kind, node: str, text: str, since: float | None = None, more: Any = None) -> Finding:
    spec, evidence = server_spec().codes[code], {**(more or {}), "nouns": plural(noun_of(kind.name))}
    return _saying(finding_of(spec, node, since, evidence, engine=split_id(node)[0]), text)


def _groups(reader: Reader, part: Part) -> dict[tuple[Any, ...], Group]:
    causes, specs = dict[tuple[Any, ...], list[str]](), reader.findings.specs
    standing = {code for name in ("standstill", "not_moving") for code in server_spec().groups[name]}
    kinds = {kind.name: kind for kind in reader.engine.spec.kinds if kind.table in reader.detected.relations}
    for each in part.findings.findings:
        if (kind := split_id(each.node_id)[1]) in kinds and each.read_at is None:
            causes.setdefault((*cause_of(specs[each.code], each), kind), []).append(each.node_id)
    for cause in [cause for cause, nodes in causes.items() if len(nodes) < LEAST_NODES]:
        causes.setdefault((*cause[:2], None, cause[-1]), []).extend(causes.pop(cause))
    number, groups = Counter(each.code for each in part.findings.findings), dict[tuple[Any, ...], Group]()
    for each in part.findings.findings:
        spec = specs[each.code]
        if (spec.symptom == "late" or each.code in standing) and number[each.code] < LEAST_NODES:
            groups[part.label, each.code, each.node_id] = spec, None, (each.node_id,)
    for cause, nodes in causes.items():
        if len(unique := tuple(dict.fromkeys(nodes))) >= LEAST_NODES:
            groups[cause] = specs[cause[1]], kinds[cause[-1]], unique
    return groups


async def compare(reader: Reader, part: Part, groups: Mapping[Any, Group | None], kept: Kept) -> dict[Any, Any]:
    """Return what differs by group; for None, findings of nodes without a finding.

    These are unfinished nodes and dead letters. Raises DatabaseError.
    """
    at, watched, pages = part.findings.at, (reader.label, ""), (reader.label, "pages")
    if watched in groups or pages not in kept:
        asked = reader.pages.live(limit=WATCHED_NODES), reader.pages.dead(limit=WATCHED_NODES), _columns(reader, kept)
        kept[pages] = time.monotonic(), await reader.database.together(*map(attempted, asked))
    live, ended = getattr(kept[pages][1][0], "nodes", ()), getattr(kept[pages][1][1], "dead_letters", ())
    nodes = {node.id: node for node in live if node.phase not in (Phase.RUNNING, Phase.UNKNOWN)}
    ready = (node for node in nodes.values() if node.phase is Phase.READY)
    late = {node.id for node in ready if at - (node.due_at or node.created_at or at) > LATE_SECONDS}
    failing = {each.node_id for each in part.findings.findings if reader.findings.specs[each.code].symptom == "failing"}
    failed = (each for each in ended if each.node.phase is Phase.FAILED and (each.since or 0) > at - LATELY_SECONDS)
    times = {each.node.id: each.since for each in failed}
    queues = sum(group[1] is None for group in groups.values() if group)
    said: dict[Any, Any] = {watched: []}

    async def of_kind(kind: Kind) -> None:
        mine = {each: group for each, group in [*groups.items()][:GROUPS] if group and group[1] in (kind, None)}
        claimed = kind.name in reader.claims.kinds
        waiting, died = (
            [i for i in some if claimed and split_id(i)[1] == kind.name] for some in (nodes, times.keys() - failing)
        )
        asked = {i for _, its, some in mine.values() if its for i in some[:GROUP_NODES]}
        if not asked and len(waiting) < LEAST_NODES + LEAST_LIKE and len(died) < LEAST_NODES:
            return
        rows, sample = await rows_of(reader, kind, sorted({*asked, *waiting, *died}), kept)
        for node in live:
            rows.get(node.id, {})[_PHASE] = node.phase
        for each, (spec, its, some) in mine.items():
            findings = [f for f in part.findings.findings if f.code == spec.code]
            known = {str(value) for f in findings if f.node_id == some[0] for value in f.evidence.values()}
            without = {f.node_id for f in findings}
            if its is None:  # the late nodes of a queue, which may have a name
                without = late & rows.keys()
                named = [i for i in without if {each for each in known if len(each) > 2} & {*rows[i].values()}]
                some = tuple(named or ([] if queues > 1 else without))
            like = sample - without
            if its and spec.code in part.findings.capped:
                async with reader.database.reading() as source:
                    like -= {*(await reader.findings.nodes_of(source, spec, sorted(like)))[0]}
            text = difference(rows, some, like, known | ({"error"} if spec.symptom == "failing" else set()))
            said[each] = said.get(each) or text
        alike, text = most_alike(rows, died, sample - {*times} - failing)
        for found in (_found(TOGETHER, kind, node, text, times[node]) for node in alike):
            few = len(alike) < 2 * LEAST_NODES
            said[watched].append(msgspec.structs.replace(found, severity=MINOR) if few else found)
        said[watched] += _tried_often(kind, rows, [nodes[i] for i in waiting])

    kinds = (kind for kind in reader.engine.spec.kinds if kind.table in reader.detected.relations)
    await reader.database.together(*map(of_kind, kinds))
    return said


def _tried_often(kind: Kind, rows: Mapping[str, Row], waiting: Iterable[Node]) -> Iterator[Finding]:
    tried: dict[str, dict[str, int]] = {}
    for node in waiting:
        counters = {name[1:]: int(value) for name, value in rows.get(node.id, {}).items() if name[0] == _COUNTER < name}
        for name, value in (counters | ({} if node.attempts is None else {"attempts": node.attempts})).items():
            tried.setdefault(name, {})[node.id] = value
    for name, tries in tried.items():
        many = {node: n for node, n in tries.items() if n >= MANY_TRIES}
        few = [node for node, n in tries.items() if n < FEW_TRIES]
        if len(many) >= LEAST_NODES and len(few) >= max(LEAST_LIKE, SHARE * (len(tries) - len(many))):
            of = " to ".join(map(str, sorted({min(many.values()), max(many.values())})))
            text = difference(rows, many, few)
            evidence = {"counter": name, "range": of, "few": str(FEW_TRIES)}
            yield from (_found(TRIED_OFTEN, kind, node, text, more=evidence) for node in many)


def difference(
    rows: Mapping[str, Row], nodes: Collection[str], like: Iterable[str], known: Set[str] = frozenset()
) -> str:
    """Return the value that separates nodes from those like them as a sentence, or "".

    ``known``: values and names that are no difference.
    """
    group, others = [rows[node] for node in nodes if node in rows], [rows[node] for node in like]
    if len(group) < LEAST_NODES or len(others) < LEAST_LIKE:
        return ""
    of_others = Counter(item for row in others for item in row.items())
    phase = Counter(row.get(_PHASE) for row in group).most_common(1)[0][0]
    same = [row for row in others if phase and row.get(_PHASE) == phase]  # of which the value is no mark of the phase
    of_same = Counter(item for row in same for item in row.items() if len(same) >= LEAST_NODES)
    found = [
        (of_others[item] / len(others) - n / len(group), *_simple(*item), n)
        for item, n in Counter(item for row in group for item in row.items()).items()
        if n >= max(LEAST_NODES, SHARE * len(group)) and of_others[item] <= SHARE_OF_LIKE * len(others)
        if item[0][0] != _COUNTER and known.isdisjoint(item) and of_same[item] <= SHARE_OF_LIKE * len(same)
    ]
    if not found:
        return ""
    *_, name, value, n = min(found)
    shown = value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…"
    return f"{n} of {len(group)} have {name} = {shown}, {of_others[name, value]} of {len(others)} others."


def most_alike(rows: Mapping[str, Row], nodes: Collection[str], like: Set[str]) -> tuple[list[str], str]:
    """Return at least half of some nodes that a value separates from others."""
    items = Counter(item for node in nodes for item in rows.get(node, {}).items())
    for (name, value), n in items.most_common():
        if n < len(nodes) * (SHARE if n < 2 * LEAST_NODES else 0.5):
            break
        some = [node for node in nodes if rows.get(node, {}).get(name) == value]
        if text := difference(rows, some, like, {"error"}):
            return some, text
    return [], ""


def _simple(name: str, value: str) -> tuple[bool, bool, int, int, str, str]:
    # no ids, telling names, then the simplest
    telling = _TELLS.search(name.rpartition(".")[2]) is not None
    return _ID.match(value) is not None, not telling, name.count("."), len(name), name, value


async def rows_of(reader: Reader, kind: Kind, ids: Sequence[str], kept: Kept) -> tuple[dict[str, Row], set[str]]:
    """Read values of nodes of a kind, and of others; return which are others.

    Others that are gone since the last read went on. Raises DatabaseError.
    """
    before = reader.label, "others", kind.name
    names, query = _query(reader, kind, await _columns(reader, kept), [split_id(i)[2] for i in ids])
    async with reader.variant.reading() as source:
        (read,) = await source.batch([query])
    rows, sample = dict[str, Row](), dict[str, Row]()
    for each in read:
        node = reader.ids.full(f"{kind.name}:{each['key']}")
        rows[node] = dict(_values(names, each["values"]))
        sample |= {node: rows[node]} if each["sampled"] else {}
    gone = {node: row for node, row in kept.get(before, (0, {}))[1].items() if node not in rows}
    kept[before] = time.monotonic(), dict([*sample.items(), *gone.items()][: 4 * LIKE_NODES])
    return gone | rows, {*kept[before][1]}


async def _columns(reader: Reader, kept: Kept) -> Rows:
    if (place := (reader.label, "columns")) not in kept:
        asked = {"ids": sorted(reader.detected.relations), "schema": reader.detected.schema, "bytes": DOCUMENT_BYTES}
        async with reader.variant.reading() as source:
            (rows,) = await source.batch([Query(statement("telling_columns"), asked, json={})])
        kept[place] = time.monotonic(), rows
    columns: Rows = kept[place][1]
    return columns


def _query(reader: Reader, kind: Kind, known: Rows, keys: Sequence[str]) -> tuple[list[tuple[str, str]], Query]:
    """Return names and types of the values of a kind, and the query of them."""
    schema, error = quoted_name(reader.detected.schema), kind.columns.get("error")
    skipped = {kind.key, *(text for name, text in kind.columns.items() if name not in ("title", "error"))}
    skipped |= {column for action in reader.engine.spec.actions for column in action.set}
    columns, texts, joins, paths = list[tuple[str, str]](), list[str](), list[str](), [("t", kind.table, "")]
    of_table = [row for row in known if row["relation"] == kind.table]
    for alias, table, path in paths:
        for row in (row for row in known if row["relation"] == table):
            name, type_ = row["column"], row["type"]
            if row["refers"] not in (None, table) and path.count(".") < LEVELS:
                joins.append(row["joined"].replace("{row}", alias).replace("{to}", to := f"r{len(joins)}"))
                paths.append((to, row["refers"], f"{path}{row['refers']}."))
            document = type_ in ("json", "jsonb", "bytea")
            plain = type_ in ("text", "varchar", "enum") if path else document or name not in skipped
            plain = plain and not name.endswith("status")
            if (name == error and not path) or (plain and not _FOLLOWS.search(name)):
                columns.append(("error" if name == error and not path else f"{path}{name}", type_))
                texts.append(row["text"].replace("{row}", alias))
    template = statement("alike")
    parts = {
        "table": f"{schema}.{quoted_name(kind.table)}",
        "columns": ", ".join(f"t.{quoted_name(row['column'])}" for row in of_table),
        "key": quoted_name(kind.key),
        "type": next((row["type"] for row in of_table if row["column"] == kind.key), "text"),
        "values": ", ".join(texts),
        "joins": " ".join(joins),
    }
    made = msgspec.structs.replace(template, text=with_parts(template.text, parts))
    return columns, Query(made, {"ids": keys, "limit": LIKE_NODES}, json={})


def _values(columns: Iterable[tuple[str, str]], texts: Iterable[str | None]) -> Iterator[tuple[str, str]]:
    from queries.read.dead_letters import fold  # its pattern takes long to compile

    for (name, type_), text in zip(columns, texts, strict=True):
        if text is None:
            continue
        data = base64.b64decode(text) if type_ == "bytea" else text
        if type_ in ("json", "jsonb", "bytea") or text[:1] in '{["':
            try:
                yield from _leaves(msgspec.json.decode(data), name, 0)
            except (msgspec.DecodeError, UnicodeDecodeError):  # no JSON, or cut
                continue
        elif not _NO_VALUE.match(text):
            yield name, fold(text) if name == "error" else text[:VALUE_CHARACTERS]


def _leaves(value: Any, name: str, level: int) -> Iterator[tuple[str, str]]:
    """Yield names and values in a document. A key alone is a value, too."""
    if isinstance(value, dict) and level < LEVELS:
        if len(value) == 1 and not (_FOLLOWS.search(key := next(iter(value))) or _TRIES.search(key)):
            yield name, key
        for key, item in [*value.items()][:KEYS]:
            if _TRIES.search(key) and "total" not in key:
                yield from ((f"{_COUNTER}{name}.{key}", str(item)) for _ in "1" if type(item) is int)
            elif not _FOLLOWS.search(key):
                yield from _leaves(item, f"{name}.{key}", level + 1)
    elif isinstance(value, list):
        for item in value[:ITEMS]:
            yield from _leaves(item, f"{name}[]", level)
    elif isinstance(value, str | int):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield from [] if _NO_VALUE.match(text) else [(name, text[:VALUE_CHARACTERS])]
