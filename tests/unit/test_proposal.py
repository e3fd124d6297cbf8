"""Proposals for random tables: they load, and name only what the table has."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queries.contract.engine import Engine
from queries.contract.folder import Folder
from queries.contract.loader import parsed
from queries.propose.catalog import Column, Table, Trigger
from queries.propose.files import files
from queries.propose.proposal import Proposal, engine_name, names, proposal_of
from queries.records.node import Phase

HOSTILE = [
    '"',
    "'",
    "\\",
    "a b",
    "$1",
    ":stale",
    ":'x'",
    "{a.ge}",
    "-- :change",
    "--",
    "/*",
    "]",
    "#",
    "%s",
    "ü🐘",
    "now()",
]
ODD = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=12)
LIKE = [
    "send_after",
    "not_before_utc",
    "next_try_at",
    "mail_state",
    "lock_expires_at",
    "sent_at",
    "num_retries",
    "subject",
]
COLUMNS = st.sampled_from([*(name for role in names().roles for name in role.names), *LIKE, *HOSTILE]) | ODD
WORDS = st.sampled_from(
    [
        *(word for words in names().phases.values() for word in words),
        *Phase,
        *("sending", "sent", "bounced", "to_do", "awaiting_x", "Retry 2", "x"),
        *HOSTILE,
    ]
)
TYPES = st.sampled_from(
    [*{kind for role in names().roles for kind in role.types} - {"enum"}, *names().keys, "bool", "inet"]
)
DEFAULTS = st.sampled_from(
    ["", "", "now()", "'queued'::text", "0", "'{}'::jsonb", "f(x)", "'it''s'::text", "E'a\\\\b'::text"]
)
some = settings(max_examples=min(settings.default.max_examples, 200), suppress_health_check=[HealthCheck.too_slow])


@st.composite
def column_of(draw: st.DrawFn, name: str) -> Column:
    enum = draw(st.booleans()) and draw(st.booleans())
    words = tuple(draw(st.lists(WORDS | ODD, max_size=5, unique=True)))
    listed = ", ".join(f"'{word.replace(chr(39), chr(39) * 2)}'::text" for word in words)
    return Column(
        name=name,
        type=draw(st.sampled_from(["job_state", *HOSTILE]) if enum else TYPES),
        schema=draw(st.sampled_from(["public", "other"])) if enum else "pg_catalog",
        enum=enum,
        labels=words if enum else (),
        required=draw(st.booleans()),
        default=draw(DEFAULTS),
        refers=not draw(st.integers(0, 9)),
        generated=not draw(st.integers(0, 9)),
        checks=(f"CHECK ((x = ANY (ARRAY[{listed}])))",) if words and not enum and "\\" not in listed else (),
    )


@st.composite
def tables(draw: st.DrawFn) -> Table:
    usual = draw(st.lists(st.sampled_from(["status", "due_at", "locked_by", "locked_at"]), unique=True))
    named = dict.fromkeys([*draw(st.lists(COLUMNS, max_size=10)), *usual])
    columns = [draw(column_of(name)) for name in named]
    key = draw(st.sampled_from(["id", "job id", 'i"d', "status", "due"]))
    columns = [each for each in columns if each.name != key]
    columns.insert(
        0,
        Column(
            name=key,
            type=draw(st.sampled_from(list(names().keys))),
            schema="pg_catalog",
            enum=False,
            labels=(),
            required=True,
            default="",
            refers=False,
            generated=False,
            checks=(),
        ),
    )
    parents = [(each.name, key) for each in columns[1:] if each.type == columns[0].type][: draw(st.integers(0, 1))]
    return Table(
        schema="public",
        name=draw(st.sampled_from(["jobs", "mail_queue", *HOSTILE]) | ODD).replace(".", "_"),
        kind="r",
        readable=True,
        policies=False,
        columns=tuple(columns),
        keys=((key,),),
        parents=tuple(parents),
        triggers=draw(st.sampled_from([(), (Trigger(name='t"r', function="f\n", notifies=True),)])),
    )


def engine_of(proposal: Proposal) -> Engine:
    """Load a proposal. Raises BrokenEngineError."""
    return parsed(Folder(name=proposal.name, path="/nowhere", files=files(proposal)))


@some
@given(tables(), st.lists(WORDS | ODD, max_size=6, unique=True))
def test_a_proposal_for_any_table_loads(table: Table, words: list[str]) -> None:
    columns = [column for column in table.columns if column.words]
    for sampled, given_words in ((False, columns[0].words if columns else ()), (True, tuple(words))):
        proposal = proposal_of(table, engine_name(table.name), given_words, sampled=sampled)
        spec = engine_of(proposal).spec
        assert {each.name for each in spec.actions} == {proposed.name for proposed in proposal.actions}
        assert {each.code for each in spec.findings} == {*proposal.findings} - {"dead_letters"}
        assert bool(spec.kinds[0].dead) == ("dead_letters" in proposal.findings)
        there = {*proposal.findings, *(proposed.name for proposed in proposal.actions)}
        missing = {each.name for each in proposal.missing}
        assert there | missing == names().parts.keys()
        assert not there & missing
        for action in spec.actions:  # of a phase, they are for every status
            found = spec.statuses_of(action.from_)
            for phase in next(proposed.phases for proposed in proposal.actions if proposed.name == action.name):
                natives = {status.native for status in spec.statuses if status.phase == phase}
                assert natives <= found.keys()
