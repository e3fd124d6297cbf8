"""Files of a proposed engine: ``engine.toml``, tables and example rows."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from queries.contract.derive import text_of_key
from queries.contract.folder import FIXTURE, SCHEMA, TOML
from queries.files.state_file import make_private, open_private
from queries.files.toml_text import Inline, written
from queries.propose.catalog import Column
from queries.propose.proposal import FAILED_AT, HELD, WAITING, Proposal, ProposedAction, ProposedStatus, names, one_of
from queries.records.node import Phase
from queries.text.psql_text import bound, identifier, literal, sql_name
from queries.text.safe_text import safe_text

TEMPLATES = Path(__file__).parent / "templates"
PROPOSED = (
    "Proposed by `unstick engine new` from the catalog. Nothing of it is proved: answer the questions, correct what is"
    " wrong, and run `unstick engine check` on this folder."
)
TEXTS_SEARCHED = 8  # columns of texts
NEXT = dict.fromkeys(("wake", "retry", "release"), "The next free worker takes it.") | {"cancel": "No worker takes it."}
_NODE_COLUMNS = {f"{role}_at": role for role in ("created", "changed", "due")}
_NODE_COLUMNS |= {"owner": "owner", "attempts": "attempts", "max_attempts": "most", "error": "error"}
_COMMENT_CHARACTERS = 118
_CONSTANT = re.compile(r"E?'(?:[^']|'')*'(?=::|$)|-?[0-9.]+$|now\(\)$|CURRENT_TIMESTAMP$")
# Examples by type, for columns that must have a value
_EXAMPLES = dict.fromkeys(("float8", "int2", "int4", "int8"), "0") | dict.fromkeys(("bytea", "text", "varchar"), "''")
_EXAMPLES |= {"bool": "false", "json": "'{}'", "jsonb": "'{}'", "uuid": "'00000000-0000-4000-8000-000000000000'"}


def files(proposal: Proposal) -> dict[str, str]:
    """Return the text of each file, by its name. ``engine.toml`` is the last."""
    return {SCHEMA: _schema(proposal), FIXTURE: _fixture(proposal), **reading(proposal)}


def reading(proposal: Proposal) -> dict[str, str]:
    """Return the files that say how rows are read. ``engine.toml`` is the last."""
    texts = [f"CASE WHEN pg_column_size(t.{c.sql}) < 2000 THEN t.{c.sql}::text END" for c in _texts(proposal)]
    keys = proposal.keys or (proposal.key.name,)
    id_ = text_of_key(keys) if proposal.keys else f"t.{proposal.key.sql}"
    order = ", ".join(f"{sql_name(key)} DESC" for key in keys)
    found = f"strpos(lower(concat_ws(' ', {', '.join(texts)})), lower(:query)) > 0"
    of = {"kind": proposal.kind, "table": identifier(proposal.table.name), "id": id_, "order": order, "found": found}
    return ({"search.sql": _template("search", **of)} if texts else {}) | {TOML: toml(proposal)}


def _texts(proposal: Proposal) -> list[Column]:
    """Return the columns of texts that are searched."""
    skipped, error = {proposal.key.name, *proposal.keys, proposal.column("status")}, proposal.roles.get("error")
    texts = (c for c in proposal.table.columns if c.builtin and (c.type in ("text", "varchar") or c is error))
    return [column for column in texts if not {column.name, column.sql} & skipped][:TEXTS_SEARCHED]


def save(files: Mapping[str, str], folder: Path) -> None:
    """Write the files into a new folder that only this user can write.

    Raises OSError, also if the folder exists.
    """
    make_private(folder.parent)
    folder.mkdir(mode=0o700)
    for name, text in files.items():
        with open(folder / name, "x", encoding="utf-8", opener=open_private) as file:
            file.write(text)


# engine.toml


def toml(proposal: Proposal) -> str:
    """Return the text of ``engine.toml``."""
    lines = [*_comment(PROPOSED), "#"]
    for number, question in enumerate(proposal.questions, 1):
        lines += _comment(f"ASK {number}: {question.text}")
    lines += [line for each in proposal.missing for line in _comment(f"Not proposed: {each.name}, because {each.why}.")]
    lines += [line for each in of_statement(proposal) for line in _comment(each)]
    return "\n".join([*lines, "", *written(_settings(proposal))]) + "\n"


def of_statement(proposal: Proposal) -> Iterator[str]:
    """Yield sentences about the worker's statement."""
    if taking := proposal.taking:
        met = f"{sum(proposal.met.values()):,} of {proposal.rows:,} rows meet it"
        of = f"a statement that was found in {taking.source}" if taking.source else "the worker's statement"
        yield f"[claim] is the WHERE of {of}, with now() for a time that it is given. {met}."
        if taking.omitted:
            yield f"Omitted, because the statement is given their values: {'; '.join(taking.omitted)}."


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(safe_text(text), _COMMENT_CHARACTERS, break_long_words=False)]


def _settings(proposal: Proposal) -> dict[str, Any]:
    table, relation = proposal.table, {column.name: column.type for column in _used(proposal)}
    failed = proposal.of(Phase.FAILED)
    claims = proposal.actions or {"late", "owner_dead"} & {*proposal.findings}
    settings: dict[str, Any] = {
        "title": f"Table {safe_text(table.name)}",
        "about": f"Rows of the table {safe_text(table.name)}, as proposed from the catalog.",
        "dead": f"rows with the status {' or '.join(safe_text(s.word) for s in failed)}" if failed else "",
        "recognise": {"relations": {table.name: relation}},
        "kinds": {proposal.kind: _kind(proposal)},
        "statuses": dict(_statuses(proposal)),
        "thresholds": {"late": "5m", "stale": "15m"},
        "claim": {proposal.kind: _claim(proposal)} if claims else {},
        "findings": {  # an inferred finding suggests nothing that would run work twice
            name: {"proof": "assumed", "action": ""} for name in proposal.findings if name != "dead_letters"
        },
        "actions": {action.name: _action(proposal, action) for action in proposal.actions},
    }
    status = proposal.roles.get("status")
    due = proposal.roles.get("due")
    if status and due and not (proposal.keys or names().times[due.form].node == "{}"):
        columns = [status.name, due.name, proposal.key.name]
        settings["needs"] = {f"{proposal.kind}_by_status": {"table": table.name, "columns": columns}}
    if status and status.enum and status.schema == table.schema:
        settings["recognise"]["types"] = {status.type: status.labels}
    elif status and status.enum:  # of another schema
        relation[status.name] = f"{status.schema}.{status.type}"
    return {name: value for name, value in settings.items() if value}


def _kind(proposal: Proposal) -> dict[str, Any]:
    kind: dict[str, Any] = {"table": proposal.table.name}
    if proposal.keys:
        kind["key"] = ", ".join((*proposal.keys, *[""][len(proposal.keys) - 1 :]))  # one column ends with a comma
    elif proposal.key.name != "id":
        kind["key"] = proposal.key.name
    if "parent" in proposal.roles:
        name = proposal.roles["parent"].name
        kind["parent"] = f"{proposal.kind}.{name}" if "." in name else name  # before a dot is a kind
    title = f"coalesce({proposal.column('title')}::text, {proposal.key.sql}::text)"
    columns = {"title": title} if "title" in proposal.roles else {}
    columns["status"] = proposal.status
    for name, role in _NODE_COLUMNS.items():
        if role in proposal.roles:
            column = proposal.roles[role]
            last = f"{column.sql}[array_upper({column.sql}, 1)]"  # who took it last
            columns[name] = proposal.time(role, "node") if name.endswith("_at") else column.name
            if column.type in ("_text", "_json", "_jsonb"):
                columns[name] = f"({last})::text"
    if proposal.of(Phase.FAILED) and "error" not in columns and (said := proposal.column("outcome")):
        of_failed = f"{one_of(proposal.status, proposal.of(Phase.FAILED))} AND pg_column_size({said}) < 2000"
        columns["error"] = f"CASE WHEN {of_failed} THEN {said}::text END"
    sign = next((role for role in ("heartbeat", "taken") if role in proposal.roles), "")
    if sign:
        columns["heartbeat_at"] = proposal.time(sign, "node")
    kind["columns"] = columns
    if payloads := _payloads(proposal):
        kind["payloads"] = Inline({name: column.name for name, column in payloads.items()})
    return kind


def _payloads(proposal: Proposal) -> Mapping[str, Column]:
    """Return the columns with stored documents, by the name of their detail section."""
    names_used = {column.name for role, column in proposal.roles.items() if role not in ("payload", "outcome")}
    payloads: dict[str, Column] = {}
    for column in proposal.table.columns:
        if column.type in ("json", "jsonb", "bytea") and column.builtin and column.name not in names_used:
            name = re.sub(r"[^a-z0-9]+", "_", column.name.lower()).strip("_")[:30] or "payload"
            payloads[name if name not in payloads else f"{name}_{len(payloads)}"] = column
    return payloads


def _statuses(proposal: Proposal) -> Iterator[tuple[str, Any]]:
    running = {"phase": "running", "when": proposal.taken} if proposal.taken else {}
    later = f"{proposal.column('due')} > {proposal.stored('due', 'now()')}" if proposal.splits else ""
    scheduled = {"phase": "scheduled", "when": later} if later else {}
    for state in proposal.states:
        if state.phase is Phase.READY and (running or scheduled):
            yield state.word, [Inline(each) for each in (running, scheduled, {"phase": "ready"}) if each]
        else:
            yield state.word, str(state.phase)


def _claim(proposal: Proposal) -> dict[str, Any]:
    """Return what a worker takes, with the findings that follow from it."""
    status, roles = proposal.status, proposal.roles
    waiting, running = (one_of(status, proposal.of(*phases)) for phases in (WAITING, (Phase.RUNNING,)))
    conditions = {"status": Inline({"holds": waiting, "shows": f"({status})::text"})}
    if proposal.taken:
        conditions["free"] = Inline({"holds": f"({proposal.taken}) IS NOT TRUE"})
        running = f"{running} OR {proposal.taken}"
    if "due" in roles:
        due = f"coalesce({proposal.column('due')} <= {proposal.stored('due', 'now()')}, true)"
        conditions["due"] = Inline({"holds": due, "shows": f"date_trunc('second', {proposal.moment('due')})"})
    claim: dict[str, Any] = {"proof": "assumed", "conditions": conditions}
    if taking := proposal.taking:
        shown = {name: f"(t.{sql_name(columns[0])})::text" for name, columns in taking.columns.items() if columns}
        holds = {name: {"holds": sql, "shows": shown.get(name, sql)} for name, sql in taking.conditions.items()}
        claim = {"conditions": {name: Inline(each) for name, each in holds.items()}}
    if "owner" in roles and roles["owner"].type.startswith("_"):  # the last entry
        claim["owner"] = _kind(proposal)["columns"]["owner"]
    claim["since"] = _first_of(proposal, "due", "created")
    claim["taken"] = _first_of(proposal, "taken")
    if "owner_dead" in proposal.findings:
        sign, silent = proposal.sign_sql, proposal.stored(proposal.sign, "now() - :stale")
        claim["seen"] = names().times[roles[proposal.sign].form].moment.format(sign)
        claim["dead"] = f"({running}) AND {sign} < {silent}"
    if "failing" in proposal.findings:
        claim["failed_at"] = _first_of(proposal, *FAILED_AT)
    claim["finders"] = [name for name in proposal.findings if name in ("late", "owner_dead", "failing")]
    return {name: value for name, value in claim.items() if value}


def _first_of(proposal: Proposal, *roles: str) -> str:
    """Return the first of the times of these roles that a row has, as SQL, or ""."""
    there = [role for role in roles if role in proposal.roles]
    if len(there) == 1 or (there and proposal.roles[there[0]].required):
        return proposal.time(there[0], "moment")
    return f"coalesce({', '.join(map(proposal.moment, there))})" if there else ""


def _action(proposal: Proposal, action: ProposedAction) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "support": "emulated",
        "proof": "assumed",
        "from": proposal.words(*action.phases),
        "effect": action.effect,
        "next": NEXT[action.name],
        "set": {column.name: value for column, value in action.sets},
    }
    if action.refused:
        settings["refuse"] = [Inline({"when": action.refused, "why": action.why})]
    return settings


# Tables and rows


def _used(proposal: Proposal) -> list[Column]:
    used = {
        proposal.key.name,
        *proposal.keys,
        *(c.name for c in proposal.roles.values()),
        *proposal.learned,
        *(name for names in (proposal.taking.columns.values() if proposal.taking else ()) for name in names),
        *(c.name for c in (*_payloads(proposal).values(), *_texts(proposal))),
    }
    return [column for column in proposal.table.columns if column.name in used]


def _schema(proposal: Proposal) -> str:
    status = proposal.roles.get("status")
    labels = ", ".join(map(literal, status.labels)) if status else ""
    enum = status is not None and status.enum
    types = _template("enum", type=identifier(status.type), labels=labels) if status and enum else ""
    lines = [_definition(proposal, column) for column in _used(proposal)]
    lines += [f"PRIMARY KEY ({', '.join(map(identifier, proposal.keys))})"] if proposal.keys else []
    columns = ",\n  ".join(lines)
    made = _template("schema", types=types.strip(), table=identifier(proposal.table.name), columns=columns)
    return re.sub(r"\n\n+", "\n", made)


def _definition(proposal: Proposal, column: Column) -> str:
    parts = [identifier(column.name), identifier(column.type) if column.enum else column.type]
    constant, set_ = _CONSTANT.match(column.default), {each for action in proposal.actions for each in action.sets}
    if column.name == proposal.key.name and not proposal.keys:
        parts.append("PRIMARY KEY")
    elif column.required and (not column.default or constant or (column, "DEFAULT") not in set_):
        parts.append("NOT NULL")
    if constant:
        parts.append(f"DEFAULT {constant[0]}")
    if column is proposal.roles.get("parent"):
        parts.append(f"REFERENCES {identifier(proposal.table.name)}")
    if column is proposal.roles.get("status") and column.words and not column.enum:
        parts.append(f"CHECK ({identifier(column.name)} IN ({', '.join(map(literal, column.words))}))")
    return " ".join(parts)


def _fixture(proposal: Proposal) -> str:
    columns = _used(proposal)
    rows = []
    for number, values in enumerate(_examples(proposal), 1):
        keys = [proposal.table.column(name) for name in proposal.keys] or [proposal.key]
        texts = {c.name: literal(c.labels[0]) if c.enum else names().keys[c.type].format(number) for c in keys}
        texts |= {**proposal.typical} | {
            proposal.roles[role].name: value for role, value in values.items() if role in proposal.roles
        }
        rows.append(f"({', '.join(texts.get(column.name, _example(column)) for column in columns)})")
    all_names = ", ".join(identifier(column.name) for column in columns)
    return _template("fixture", table=identifier(proposal.table.name), columns=all_names, rows=",\n  ".join(rows))


def _example(column: Column) -> str:
    return "DEFAULT" if not column.required or _CONSTANT.match(column.default) else _EXAMPLES.get(column.type, "now()")


def _examples(proposal: Proposal) -> Iterator[dict[str, str]]:
    """Yield example rows as SQL by role: each status, and late, stale and child rows."""
    first = names().keys[proposal.key.type].format(1)
    taken = [ProposedStatus(word=proposal.ready.word, phase=Phase.RUNNING)] if proposal.ready and proposal.taken else []
    for number, state in enumerate((*proposal.states, *taken)):
        if state.phase in WAITING:
            yield _of_state(proposal, state, "1 hour") | ({"parent": first} if number else {})
            yield _of_state(proposal, state, "-1 day")
        elif state.phase is Phase.RUNNING:
            yield _of_state(proposal, state, "2 hours") | {"owner": _of_type(proposal, "owner", "worker", 1)}
            fresh = {"owner": _of_type(proposal, "owner", "worker", 2), "lease": _at(proposal, "lease", "-1 hour")}
            fresh |= {"attempts": "3", "most": "3"}  # it runs for the last time
            yield _of_state(proposal, state, "1 second") | fresh
        else:
            yield _of_state(proposal, state, "2 hours")
            yield _of_state(proposal, state, "1 hour")
    yield _of_state(proposal, proposal.states[0], "1 hour") | {"parent": first}


def _of_state(proposal: Proposal, state: ProposedStatus, age: str) -> dict[str, str]:
    row = {"status": literal(state.word), "due": _at(proposal, "due", age), "title": "'example'"}
    row |= {role: _at(proposal, role, "1 day") for role in ("created",)} | {"changed": _at(proposal, "changed", age)}
    row[{Phase.RUNNING: "is_taken", Phase.DONE: "is_over", Phase.FAILED: "is_failed"}.get(state.phase, "")] = "true"
    if state.phase is Phase.RUNNING:
        row |= {role: _at(proposal, role, age) for role in HELD if role != "owner"}
    if state.phase in (Phase.DONE, Phase.CANCELLED):
        row["finished"] = _at(proposal, "finished", age)
    if state.phase is Phase.FAILED:
        row |= {"failed": _at(proposal, "failed", age), "attempts": "3", "most": "3", "left": "0", "exit": "1"}
        row["error"] = _of_type(proposal, "error", "example")
        if "status" not in proposal.roles and {"is_over", "exit"} & proposal.roles.keys():
            row["finished"] = _at(proposal, "finished", age)
    return row


def _at(proposal: Proposal, role: str, age: str) -> str:
    return proposal.stored(role, f"now() - interval '{age}'") if role in proposal.roles else "NULL"


def _of_type(proposal: Proposal, role: str, text: str, number: int = 1) -> str:
    kind = proposal.roles[role].type if role in proposal.roles else ""
    json = f"'[\"{text}\"]'"
    lists = {"_text": f"'{{{text}-{number}}}'", "_json": f"ARRAY[{json}]::json[]", "_jsonb": f"ARRAY[{json}]::jsonb[]"}
    if kind in lists:
        return lists[kind]
    examples = {**names().keys, "text": f"'{text}-{{}}'", "varchar": f"'{text}-{{}}'"}
    return json if kind in ("json", "jsonb") else examples.get(kind, "").format(number)


def _template(name: str, **values: str) -> str:
    return bound((TEMPLATES / f"{name}.sql").read_text("utf-8"), values)
