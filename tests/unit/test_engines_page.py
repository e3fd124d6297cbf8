"""docs/engines.md: the contract and the example as the code has them."""

from __future__ import annotations

import re

from queries.contract.rows import SHAPES, columns, required
from queries.files.statement import PARAMETERS
from queries.propose.proposal import names
from queries.records.node import Phase
from tests.command import ROOT
from tests.generated import is_as_made
from tests.outside import HOMEMADE

PAGE = ROOT / "docs" / "engines.md"
FOLDERS = {"findings": "findings/*.sql", "samples": "samples/*.sql"}


def test_the_columns_are_those_of_the_contract() -> None:
    lines = ["| statement | columns |", "|---|---|"]
    for name, shape in SHAPES.items():
        must = required(shape)
        of = sorted(columns(shape).items(), key=lambda each: each[0] not in must)
        said = ", ".join(
            f"**{column}** {types[0]}" if column in must else f"{column} {types[0]}" for column, types in of
        )
        lines.append(f"| `{FOLDERS.get(name) or (f'-- {name}' if name.startswith(':') else f'{name}.sql')}` | {said} |")
    is_as_made(PAGE, "statements", "\n".join(lines) + "\n")


def test_the_parameters_are_those_of_the_contract() -> None:
    by_type: dict[str, list[str]] = {}
    for name, type_ in PARAMETERS.items():
        by_type.setdefault(type_, []).append(f"`{name}`")
    lines = [f"- {type_}: {', '.join(names)}" for type_, names in by_type.items()]
    is_as_made(PAGE, "parameters", "\n".join(lines) + "\n")


def test_the_example_is_the_file_that_the_tests_check() -> None:
    for name in ("homemade", "outbox"):
        toml = (HOMEMADE.with_name(name) / "engine.toml").read_text("utf-8")
        is_as_made(PAGE, name, f"```toml\n{toml}```\n")


def test_the_questions_are_those_of_a_proposal() -> None:
    lines = [f"   - {question.replace('{}', '…')}" for question in names().questions.values()]
    is_as_made(PAGE, "questions", "\n".join(lines) + "\n")


def test_every_phase_is_named() -> None:
    (phases,) = re.findall(r"(?s)The phases are the same for all engines: (.*?)\.", PAGE.read_text("utf-8"))
    assert set(re.findall(r"\w+", phases)) == set(Phase)
