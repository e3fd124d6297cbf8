"""Sentences of findings and errors of dead letters in engines without a demo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.text.views.findings import evidence
from queries.contract.builtin import builtin
from queries.contract.server_spec import server_spec, server_statement
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


DECIDES = re.compile(r"\b(log|compare|check|look|read|if|keep|where|ask)\b", re.IGNORECASE)
GUESS = re.compile(r",? or (\w+ )?(has|have|hangs?|lost|died|fails?|failed|its|their|they|it|none|no|a poll)\b")


def every_text() -> list[tuple[str, str, str]]:
    """Return the name, what is said, and the remedy of each finding."""
    engines = [(each.name, each.spec.findings) for each in builtin()]
    every = [*engines, ("server", server_spec().findings)]
    return [(f"{n} {f.code}", f"{f.one} {f.incident}", f.remedy) for n, found in every for f in found]


def composed() -> dict[tuple[str, str], str]:
    """Return the remedies of findings by their engine and each text in their SQL."""
    texts: dict[tuple[str, str], str] = {}
    statements = [
        (each.name, f.remedy, one.text)
        for each in builtin()
        for f in each.spec.findings
        for one in each.statements.get(f.statement, ())
    ]
    every = " ".join(each.remedy for each in server_spec().findings)
    statements += [("server", every, server_statement(part).text) for part in server_spec().parts]
    for name, remedy, sql in statements:
        for text in re.findall(r"'((?:[^']|'')* or (?:[^']|'')*)'", re.sub(r"--.*", "", sql)):
            texts[name, text] = f"{texts.get((name, text), '')} {remedy}"
    return texts


def test_a_text_in_sql_has_one_or_at_most_and_says_what_decides() -> None:
    texts = composed()
    assert len(texts) > 10
    sentences = [(name, one) for name, text in texts for one in re.split(r"(?<=[.?]) ", text)]
    assert [(name, text) for name, text in sentences if len(re.findall(r"\bor\b", text)) > 1] == []
    guesses = [(at, f"{at[1]} {said}") for at, said in texts.items() if GUESS.search(at[1]) and "{todo}" not in said]
    assert [at for at, said in guesses if not DECIDES.search(said)] == []  # {todo} is a remedy itself


def test_a_sentence_has_one_or_at_most_and_says_what_decides() -> None:
    sentences = [(name, one) for name, *both in every_text() for text in both for one in re.split(r"(?<=[.?]) ", text)]
    assert [(name, text) for name, text in sentences if len(re.findall(r"\bor\b", text)) > 1] == []
    guesses = [(name, said) for name, said, remedy in every_text() if GUESS.search(said) and not DECIDES.search(remedy)]
    assert [(name, said) for name, said in guesses if not DECIDES.search(said)] == []
