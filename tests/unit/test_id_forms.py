"""Malformed ids, for all kinds of all engines."""

from __future__ import annotations

import re

import pytest

from queries.contract import id_forms
from queries.contract.builtin import builtin
from queries.contract.detect import DetectedEngine, Relation

KINDS = [(engine, kind) for engine in builtin() for kind in engine.spec.kinds]
LEGAL = {
    "graphile_worker/crontab",  # identifier
    "oban/queue",
    "pgqueuer/entrypoint",
    "procrastinate/queue",
    "solid_queue/queue",
    "solid_queue/recurring",
    "uni2work/bucket",
    "uni2work/group",
}
"""Kinds whose keys are names that the application chooses."""


def _relation(schema: str, name: str, columns: dict[str, str]) -> Relation:
    return Relation(
        schema=schema,
        relation=name,
        kind="r",
        locked=False,
        usable=True,
        lockable=True,
        policies=False,
        blocks=0,
        tuples=0.0,
        columns=columns,
        indexes=(),
        checks="",
        privileges=(),
    )


@pytest.mark.parametrize(("engine", "kind"), KINDS, ids=[f"{e.name}/{k.name}" for e, k in KINDS])
def test_a_made_up_key_is_malformed_or_any_text_is_a_key(engine, kind) -> None:  # type: ignore[no-untyped-def]
    """The message has an example, which is well-formed."""
    relations = {
        name: _relation("s", name, {column: types.split("|")[0] for column, types in columns.items()})
        for name, columns in engine.spec.recognise.relations.items()
    }
    found = DetectedEngine(
        label=engine.name,
        schema="s",
        engine=engine,
        relations=relations,
        met_needs=frozenset(),
        indexed=frozenset(),
    )
    assert kind.table or kind.form, "either gives the form"
    said = id_forms.why_malformed(found, kind.name, "made up text")
    assert (said == "") == (f"{engine.name}/{kind.name}" in LEGAL), said
    if said:
        example = said.rpartition(f"{engine.name}/{kind.name}:")[2]
        assert id_forms.why_malformed(found, kind.name, example) == ""


@pytest.mark.parametrize("type_", [name for name, each in id_forms.KEY_TYPES.items() if each.words])
def test_the_example_of_a_type_is_one_of_its_keys(type_: str) -> None:
    each = id_forms.KEY_TYPES[type_]
    assert re.fullmatch(each.text, each.example)
    assert re.fullmatch(each.text, each.example.upper())
    assert not re.fullmatch(each.text, f"{each.example}x")
