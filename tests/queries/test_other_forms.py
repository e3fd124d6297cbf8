"""Engines of the package in the other forms that an installation may give them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from queries.check import prove
from queries.check.lab import Lab
from queries.check.prove import Loaded
from tests.proof import most_in_proof
from tests.queries.builders import opened
from tests.servers import FOLDERS, PostgresServer

# engine, form -> pattern and replacement in its schema.sql and fixture.sql, and the engine's label
FORMS = {
    ("solid_queue", "times with a zone"): (r"\btimestamp\b", "timestamptz", "solid_queue"),
    ("pgqueuer", "a prefix"): (r"\b(\w*pgqueuer\w*)", r"app_\1", "pgqueuer.app_"),
}
PARTS = (prove.COLUMNS, prove.NODES, prove.FINDINGS, prove.ACTIONS, prove.UNDO, prove.PRIVILEGES, prove.INDEXES)


def scripts(name: str, form: str) -> tuple[str, str]:
    """Return schema.sql and fixture.sql in the other form."""
    pattern, text, _ = FORMS[name, form]
    schema, fixture = [(FOLDERS / name / file).read_text("utf-8") for file in ("schema.sql", "fixture.sql")]
    assert re.search(pattern, schema)
    return re.sub(pattern, text, schema), re.sub(pattern, text, fixture)


@pytest.mark.parametrize(("name", "form"), FORMS)
async def test_another_form_is_recognised(server: PostgresServer, tmp_path: Path, name: str, form: str) -> None:
    dsn = server.fresh()
    for script in scripts(name, form):
        server.sql(script, dsn)
    workspace = await opened(dsn, tmp_path)
    try:
        assert list(workspace.engines) == [FORMS[name, form][2]]
        assert workspace.declined == ()
        assert (await workspace.engines[FORMS[name, form][2]].findings.read()).findings
    finally:
        await workspace.close()
        server.drop(dsn)


@pytest.mark.parametrize("part", most_in_proof(PARTS, 3))
@pytest.mark.parametrize(("name", "form"), most_in_proof(FORMS))
async def test_another_form_passes(server: PostgresServer, tmp_path: Path, name: str, form: str, part: str) -> None:
    loaded = Loaded(FOLDERS / name, private=False)
    assert loaded.engine is not None
    lab = Lab(server, tmp_path, *scripts(name, form))
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, (part,)):
            assert [str(fault) for fault in check.faults] == []
            assert check.number
    finally:
        await lab.close()
