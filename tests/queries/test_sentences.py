"""Sentences of findings and errors of dead letters in engines without a demo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.text.views.findings import evidence
from queries.contract.builtin import builtin
from tests.queries.builders import opened
from tests.servers import PostgresServer
from tests.simulators.every import ENGINES

pytestmark = pytest.mark.fast

NAMES = sorted({each.name for each in builtin()} - {each.name for each in ENGINES})
# "1 job wait", "1 workers are": a number and a word that does not agree with it; "?": a value that is not there
WRONG = re.compile(r"\b1 (\w+s (are|wait|take)|\w+ that are|\w+[^s] (are|wait|take))\b|\?|\bNone\b|\\\"|\{")


@pytest.mark.parametrize("name", NAMES)
async def test_sentences_can_be_read(server: PostgresServer, tmp_path: Path, name: str) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    try:
        (reader,) = workspace.engines.values()
        found = (await reader.findings.read()).findings
        said = [finding.sentence for finding in found]
        said += [dead.error or "" for dead in (await reader.pages.dead()).dead_letters]
        assert len(said) > len(reader.engine.spec.findings)
        assert [text for text in said if WRONG.search(text)] == []
        shown = ["".join(text for text, _ in line) for finding in found for line in evidence(finding, 500)]
        assert [text for text in shown if "=None" in text] == []
    finally:
        await workspace.close()
        server.drop(dsn)


async def test_an_error_that_is_no_json_is_shown_as_it_is(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("solid_queue", filled=True)
    server.sql("UPDATE solid_queue_failed_executions SET error = 'out of memory'", dsn)
    workspace = await opened(dsn, tmp_path)
    try:
        dead = (await workspace.engines["solid_queue"].pages.dead()).dead_letters
        assert {each.error for each in dead} == {"out of memory"}
    finally:
        await workspace.close()
        server.drop(dsn)
