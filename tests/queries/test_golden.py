"""Compare the operator-facing texts of each engine with the stored listing.

``UPDATE_GOLDEN=1`` rewrites the listings; the change of wording then shows in the diff of the commit.
"""

from __future__ import annotations

import os

import pytest

from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from tests.queries import golden

pytestmark = pytest.mark.fast

engines = pytest.mark.parametrize("engine", builtin(), ids=lambda engine: engine.name)


@engines
def test_the_texts_are_those_of_the_golden_file(engine: Engine) -> None:
    path = golden.FOLDER / f"{engine.name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(golden.texts(engine), "utf-8")
    assert golden.texts(engine) == path.read_text("utf-8")


@engines
def test_a_finding_has_one_name(engine: Engine) -> None:
    findings = engine.spec.findings
    assert [finding.code for finding in findings] == [finding.title.replace(" ", "_") for finding in findings]
