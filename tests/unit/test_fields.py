"""Fields of record types: what is stated once is read everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from console.cli import schema, tables
from console.model.conditions import COMPARED_FIELDS
from console.model.fields import audit_entry, change, dead_letter, hit, incident, node, queue, run
from console.model.fields.engine import EngineLine
from console.model.fields.field import NOTHING, Context, Field, Form, RecordType, by, within
from console.model.filter import Fields, parse
from console.model.record_list import RecordList
from console.text import spans
from console.tui.widgets.engines_bar import EngineLines, engine_lines
from queries.contract.builtin import builtin
from queries.records.node import Count, Hit, Match, Node, Phase, Precision
from queries.records.record import Record

TYPES: dict[str, tuple[Sequence[Field[Any]], dict[str, str], str]] = {
    "node": (node.FIELDS, {"": "Node"}, "tree"),
    "entry": (audit_entry.FIELDS, {"": "AuditLogEntry"}, "audit"),
    "change": (change.FIELDS, {"": "NodeChange"}, "changed"),
    "hit": (hit.FIELDS, {"": "Hit"}, "find"),
    "dead letter": (dead_letter.FIELDS, {"dead_letter": "DeadLetter"}, "dead"),
    "incident": (incident.FIELDS, {"incident": "Incident", "finding": "Finding"}, "stuck"),
    "run": (run.FIELDS, {"": "RunSummary"}, "runs"),
}
"""Fields of each record type, the records of its JSON by their place in an item, and the command that prints them."""


@pytest.mark.parametrize("name", TYPES)
def test_a_place_in_a_record_is_one_in_its_json(name: str) -> None:
    fields, records, command = TYPES[name]
    known = schema.schema([command])["$defs"]
    for field in fields:
        if field.json:
            head, _, rest = field.json.partition(".")
            record, place = (records[head], rest) if head in records else (records[""], field.json)
            assert place in _places(known, record), f"{field.name} of {name}"


def _places(known: dict[str, Any], record: str, depth: int = 2) -> Iterator[str]:
    """Yield the places in a record of a JSON schema, ``depth`` records deep."""
    for key, shape in known[record]["properties"].items():
        yield key
        for each in [shape, *shape.get("anyOf", ())]:
            inner = each.get("$ref", "").rpartition("/")[2]
            if depth > 1 and "properties" in known.get(inner, {}):
                yield from (f"{key}.{place}" for place in _places(known, inner, depth - 1))


@pytest.mark.parametrize("name", TYPES)
def test_a_field_has_one_name_and_help(name: str) -> None:
    fields, _, _ = TYPES[name]
    names = [field.name for field in fields]
    assert len(names) == len(set(names))
    for field in fields:
        assert field.about or field.form is None, field.name


def test_what_the_page_of_a_node_has_is_filtered_by_its_name() -> None:
    task = Node(
        engine="e",
        id="e/task:1",
        kind="task",
        title="a",
        phase=Phase.RUNNING,
        version="",
        parent_id="e/job:7",
        heartbeat_at=100.0,
        attempts=2,
        max_attempts=5,
    )
    page = {name: spans.text(value) for name, value in node.facts(task, 160.0, None)}
    assert page.keys() == {field.fact for field in node.FIELDS if field.fact}, "without an engine all are recorded"
    assert (page["heartbeat"], page["attempts"]) == ("1970-01-01T00:01:40Z  1m00s ago", "2 of 5")
    assert (page["parent"], page["job"], page["owner"]) == ("e/job:7", "–", "–")
    preview = dict(node.previewed(task, 160.0, None))
    assert preview.keys() == {"heartbeat", "attempts", "parent"}
    under_its_job = msgspec.structs.replace(task, job_id="e/job:7")
    assert "job" not in dict(node.facts(under_its_job, 160.0, None)), "it is the parent"
    fields = Fields(node.FIELDS)
    for text, matches in (
        ("heartbeat:>30s", True),
        ("heartbeat:>2m", False),
        ("parent:job:7", True),
        ("job:any", False),
    ):
        assert fields.matches(parse(text, fields), Context(now=160.0))(task) == matches, text


class Thing(Record):
    color: str
    size: int | None = None


THINGS = [Thing(color="red", size=2), Thing(color="blue"), Thing(color="red", size=9)]
FIELDS: tuple[Field[Thing], ...] = (
    Field("color", "color", Form.BEGINNING, "its color", group=by("color", lambda thing: thing.color), printed="color"),
    Field("size", "size", Form.NUMBER, "its size", title="how large", printed="how large", align="right"),
)


def test_what_is_stated_is_filtered_sorted_grouped_and_printed() -> None:
    fields = Fields(FIELDS)
    rows = RecordList(RecordType("thing", lambda thing: f"{thing.color} {thing.size}", FIELDS, grouped=True))
    chosen = parse("size:>1", fields)
    rows.take(THINGS, Context(), filter=chosen)
    (row,) = rows.shown(0, 9)
    assert (row.group, row.records) == ("red", (THINGS[0], THINGS[2]))
    (size,) = fields.columns
    assert size.title == "how large"
    assert size.sorted_by(row, Context()) is None, "the sizes differ"
    assert size.shown_in(row, Context()) == []
    lines = [spans.text(line) for line in tables.listed(FIELDS, THINGS)]
    assert lines == ["color  how large", "red            2", "blue            ", "red            9"]


def test_a_field_of_an_inner_record_is_one_of_the_outer() -> None:
    found = Node(engine="e", id="e/task:1", kind="task", title="a", phase=Phase.HELD, version="", owner="worker 7")
    owner = within(node.NAMED["owner"], "node")
    assert owner.json == "node.owner"
    assert owner.value(Hit(node=found, matched=Match.ID), Context()) == "worker 7"
    nowhere: Field[Thing] = within(node.NAMED["phase"], "", lambda thing, context: context.node(thing.color))
    assert (nowhere.json, nowhere.texts(THINGS[0], Context())) == ("", [])
    assert nowhere.shown(THINGS[0], Context(node=lambda _: found))[0][0] == "◆ held"


def test_the_server_compares_what_the_fields_say() -> None:
    statements = {
        part.text
        for engine in builtin()
        for name, parts in engine.statements.items()
        if name.startswith("matching")
        for part in parts
    }
    compared = {name for text in statements for name in re.findall(r"::jsonb -> '(\w+)'", text)}
    assert compared == {field.json for field in COMPARED_FIELDS.values()}


@pytest.mark.parametrize(
    ("numbers", "said"),
    [({"waiting": 0}, "0"), ({"waiting": 12, "more": True}, "12+"), ({"unread": "locked"}, "not read"), ({}, "–")],
)
def test_the_number_of_a_queue_is_exact_or_the_least_or_not_read(numbers: dict[str, Any], said: str) -> None:
    (waiting,) = (field for field in queue.FIELDS if field.name == "waiting")
    assert waiting.shown(queue.Queue(engine="oban", of="job", name="mail", **numbers), NOTHING) == [(said, "")]


@pytest.mark.parametrize(
    ("width", "flow", "said"),
    [
        (80, "", ["○ 7 ready", "✗ 4 failed", "2 stuck"]),
        (80, "in █ 0..7 /min", ["○ 7 ready", "2 stuck"]),
        (100, "in █ 0..7 out █ 0..8 fail █ 0..1 /min", ["○ 7  ✗ 4", "fail █ 0..1 /min", "2 stuck"]),
        (160, "in █ 0..7 out █ 0..8 fail █ 0..1 /min", ["✗ 4 failed", "out █ 0..8", "other1 0"]),
    ],
)
def test_the_line_of_an_engine_has_words_or_what_came_and_went(width: int, flow: str, said: list[str]) -> None:
    counts = tuple(Count(phase=p, n=n, precision=Precision.EXACT) for p, n in ((Phase.READY, 7), (Phase.FAILED, 4)))
    front = EngineLine(label="oban", name="oban", counts=counts, stuck=(5, 5), flow=flow)
    others = tuple(EngineLine(label=f"other{n}", name=f"other{n}", stuck=()) for n in range(width // 50 * 2 - 2))
    text = engine_lines(width, EngineLines(lines=(front, *others), front=0, ascii=False)).plain
    assert len(text) <= width
    assert [each for each in said if each not in text] == [], text
