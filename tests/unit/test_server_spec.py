"""The findings about the server."""

from __future__ import annotations

import pytest

from queries.contract.builtin import builtin
from queries.contract.server_spec import server_spec, server_statement

SPEC = server_spec()
CODES = [spec.code for spec in SPEC.findings]
REPORTED = [code for codes in SPEC.parts.values() for code in codes]


def test_each_finding_has_one_name() -> None:
    titles = {spec.code: spec.title.lower().replace(" ", "_").replace("-", "_") for spec in SPEC.findings}
    assert {code: titles[code] for code in REPORTED} == {code: code for code in REPORTED}


def test_a_finding_is_reported_by_one_part() -> None:
    """queries.read.blockers reads those about rows; rollbacks are counted."""
    assert len(REPORTED) == len(set(REPORTED))
    assert set(REPORTED) <= set(CODES)


@pytest.mark.parametrize("part", SPEC.parts)
def test_a_part_reports_its_findings(part: str) -> None:
    text = server_statement(part).text
    assert [code for code in SPEC.parts[part] if f"'{code}'" not in text] == []


def test_rules_name_findings_of_the_engines() -> None:
    known = {finding.code for engine in builtin() for finding in engine.spec.findings} | set(CODES)
    assert {code for codes in SPEC.groups.values() for code in codes} - known == set()
    assert {
        code for spec in SPEC.findings for rule in spec.rules for code in rule.findings if code[0] != "*"
    } - known == set()
