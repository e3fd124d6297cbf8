"""Fields of a node, and what its screen says of them. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from console.model.fields.field import ABSENT, Cell, Context, Field, Form, dated, moment
from console.text import formatting, spans
from console.text.spans import Link, Spans, link
from queries.records.node import Node, Phase, split_id

if TYPE_CHECKING:
    from queries.contract.engine import Engine

ID_LIST_CELLS = 100  # cells of a list from which titles have short ids
Facts = Iterator[tuple[str, Spans]]
"""Names and values, as a screen has them."""


def _status(node: Node, context: Context) -> Cell:
    word = node.phase if node.status is None else node.status
    return f"{formatting.GLYPHS[node.phase]} {word}", f"phase-{node.phase}"


def _phase(node: Node, context: Context) -> Spans:
    return [(f"{formatting.GLYPHS[node.phase]} {node.phase}", f"$phase-{node.phase}")]


def _number(value: int | None) -> Cell:
    if value is None:
        return formatting.NONE, "muted"
    return (str(value) if value < 100_000 else formatting.short(value)), ""


def _duration(seconds: float | None) -> Cell:
    return formatting.duration(seconds), "muted" if not seconds else ""


def _share(node: Node, context: Context) -> Cell:
    text = formatting.bar(node.cpu, node.poll, 6, context.ascii)
    return text, "muted" if text == formatting.NONE else "bar"


def _since(instant: float | None, context: Context) -> Cell:
    return (formatting.NONE, "muted") if instant is None else (moment(instant, context), "")


def _due(node: Node, context: Context) -> Cell:
    if node.due_at is None:
        return formatting.NONE, "muted"
    return formatting.until(node.due_at, context.now), "late" if node.due_at < context.now else ""


def _codes(node: Node, context: Context) -> list[str]:
    return list(dict.fromkeys((*node.findings, *context.codes.get(node.id, ()))))


def _findings(node: Node, context: Context) -> Cell:
    codes = _codes(node, context)
    if not codes:
        return (f"{context.below[node.id]} below", "finding") if node.id in context.below else ("", "")
    more = f" +{len(codes) - 1}" if len(codes) > 1 else ""
    return f"{codes[0].replace('_', ' ')}{more}", "finding"


def error_line(node: Node) -> str:
    """Return the first line of what a failed node said, or ""."""
    return (node.error or "").strip().partition("\n")[0] if node.phase is Phase.FAILED else ""


def _most_first(value: float | None) -> float | None:
    return None if value is None else -value


def _ratio(node: Node) -> float | None:
    return node.cpu / node.poll if node.cpu is not None and node.poll else None


def _cpu_fact(node: Node, context: Context) -> Spans:
    if node.cpu is None:
        return ABSENT
    note = f"  {node.cpu / node.poll:.0%} of its poll time" if node.poll else ""
    return [(formatting.duration(node.cpu), ""), (note, "$faint")]


def _due_fact(node: Node, context: Context) -> Spans:
    return ABSENT if node.due_at is None else dated(node.due_at, formatting.due(node.due_at - context.now))


def _owner_fact(node: Node, context: Context) -> Spans:
    if node.owner is None:
        return ABSENT
    owner = context.owner(node)
    return [(node.owner, Link(owner) if owner else "")]


def _attempts_fact(node: Node, context: Context) -> Spans:
    if node.attempts is None:
        return ABSENT
    return [(str(node.attempts) if node.max_attempts is None else f"{node.attempts} of {node.max_attempts}", "")]


def _job_fact(node: Node, context: Context) -> Spans:
    return [] if node.job_id == node.parent_id else _linked(node.job_id)


def _linked(node_id: str | None) -> Spans:
    return ABSENT if node_id is None else [(node_id, link(node_id))]


def _measured(
    name: str, form: Form, about: str, *, cell: Callable[[Any], Cell], title: str, **other: Any
) -> Field[Node]:
    return Field(
        name,
        name,
        form,
        about,
        title=title,
        printed=title,
        align="right",
        cell=lambda node, _: cell(getattr(node, name)),
        order=lambda node, _: _most_first(getattr(node, name)),
        **other,
    )


def _timed(name: str, place: str, about: str, *, absolute: str, fact: str, keep: int) -> Field[Node]:
    return Field(
        name,
        place,
        Form.AGE,
        about,
        title=name,
        printed=name,
        width=6,
        align="right",
        keep=keep,
        absolute=absolute,
        fact=fact,
        previewed=True,
        cell=lambda node, context: _since(getattr(node, place), context),
    )


FIELDS: Final[tuple[Field[Node], ...]] = (
    Field(
        "phase", "phase", Form.BEGINNING, "what the status means, in words of all engines", words=tuple(Phase),
        printed="phase", spans=_phase,
    ),
    Field(
        "title", "title", searched=True, title="task", about="name of the node", printed="title", width=24, flex=3,
        order=lambda node, _: node.title.casefold(),
    ),
    Field("kind", "kind", Form.BEGINNING, "kind of node, such as job or task", fact="kind"),
    Field(
        "status", "status", Form.BEGINNING, "the engine's own word for what the node does", searched=True,
        title="status", printed="status", width=14, keep=90, fact="status", cell=_status,
        parts=frozenset({"status", "phase"}), order=lambda node, _: (node.phase, node.status or ""),
    ),
    _measured(
        "revision", Form.NUMBER, "number of changes of the state", cell=_number, title="rev", width=5, keep=70,
        fact="revision",
    ),
    _measured(
        "cpu", Form.SECONDS, "CPU time", cell=_duration, title="cpu", width=6, keep=65, fact="CPU time",
        fact_spans=_cpu_fact,
    ),
    _measured(
        "poll", Form.SECONDS, "time of its polls", cell=_duration, title="poll", width=6, keep=60, fact="poll time",
    ),
    Field(
        "share", lambda node, _: _ratio(node), title="cpu %", about="CPU time, as a share of the time of its polls",
        width=6, keep=10, cell=_share, parts=frozenset({"cpu", "poll"}),
        order=lambda node, _: _most_first(_ratio(node)),
    ),
    _timed("age", "created_at", "time since it was created", absolute="created", fact="created", keep=40),
    _timed("idle", "changed_at", "time since its last change", absolute="changed", fact="last changed", keep=30),
    Field(
        "due", "due_at", about="when the engine is to continue it", title="due", printed="due", width=9, align="right",
        keep=50, absolute="due", fact="due", previewed=True, cell=_due, fact_spans=_due_fact,
    ),
    Field(
        "finding", _codes, Form.BEGINNING, "code of a problem that was found; any: has one", title="stuck",
        printed="stuck", width=15, keep=20, flex=1, style="$warning", cell=_findings, parts=frozenset({"findings"}),
        order=lambda node, context: _codes(node, context) or None,
    ),
    Field("engine", "engine", Form.BEGINNING, "label of the engine"),
    Field(
        "owner", "owner", Form.PART, "worker that has taken it; none: no worker has", searched=True, fact="owner",
        previewed=True, fact_spans=_owner_fact,
    ),
    Field(
        "heartbeat", "heartbeat_at", Form.AGE, "time since the last sign of life of its worker", fact="heartbeat",
        previewed=True,
    ),
    Field(
        "attempts", "attempts", Form.NUMBER, "number of tries", fact="attempts", previewed=True,
        fact_spans=_attempts_fact,
    ),
    Field("error", "error", searched=True, fact="error"),
    Field(
        "parent", "parent_id", Form.PART, "id of the node above it", fact="parent", previewed=True,
        fact_spans=lambda node, _: _linked(node.parent_id),
    ),
    Field("job", "job_id", Form.PART, "id of its job", fact="job", previewed=True, fact_spans=_job_fact),
    Field("id", "id", searched=True, printed="id", style="$faint"),
)  # fmt: skip
COLUMNS: Final = tuple(field for field in FIELDS if field.title)
NAMED: Final[Mapping[str, Field[Node]]] = {field.name: field for field in FIELDS}


def id_beside(node_id: str, title: str, context: Context) -> Spans:
    """Return the short id beside a title in a wide list: other rows may look alike."""
    key = split_id(node_id)[2]
    return [(f"  {formatting.short_id(key)}", "$faint")] if context.cells >= ID_LIST_CELLS and key not in title else []


def facts(node: Node, now: float, engine: Engine | None) -> Facts:
    """Yield the names and values on the screen of a node.

    The last one names what its kind does not record.
    """
    kind = engine.kind(node.kind) if engine else None
    missing = set(kind.not_recorded) if kind else set()
    on_page = [field for field in FIELDS if field.fact]
    yield from _stated((field for field in on_page if field.json not in missing), node, now, engine)
    names = ", ".join(field.fact for field in on_page if field.json in missing)
    if names:
        yield "not recorded", [(f"{names}: not kept by this engine", "$faint")]


def previewed(node: Node, now: float, engine: Engine | None) -> Facts:
    """Yield the names and values that a preview of a node has."""
    for name, value in _stated((field for field in FIELDS if field.previewed), node, now, engine):
        if spans.text(value) != formatting.NONE:
            yield name, value


def _stated(fields: Iterable[Field[Node]], node: Node, now: float, engine: Engine | None) -> Facts:
    context = Context(now=now, owner=partial(_owner_id, engine))
    for field in fields:
        if value := field.stated(node, context):
            yield field.fact, value


def _owner_id(engine: Engine | None, node: Node) -> str:
    kind = next((kind.name for kind in engine.spec.kinds if kind.owner), "") if engine else ""
    return f"{node.engine}/{kind}:{node.owner}" if kind and kind != node.kind else ""
