"""Grouping of findings into incidents."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from queries.contract.spec import FindingSpec
from queries.read.incidents import by_schemas, incidents, is_new, ordered
from queries.records.action import Proof
from queries.records.finding import Finding


def spec(code: str, **fields: Any) -> FindingSpec:
    return FindingSpec(code=code, title=code, severity=5, sentence="", **fields)


SPECS = {
    "engine": {
        each.code: each
        for each in (
            spec("dead_owner", cause=("worker",), explains={"worker": ("late",)}),
            spec("late", symptom="late", explains={"node": ("blocked",)}),
            spec("blocked"),
            spec("flapping", sample="locks", symptom="failing"),
            spec("failed", cause_text=("error",)),
            spec("first", explains={"engine": ("second",)}),
            spec("second", explains={"engine": ("first",)}),
            spec("near", explains={"node": ("first",)}),
        )
    },
    "server": {
        "lock": spec("lock", cause=("pid",), explains={"engine": ("*late", "first")}),
        "standby": spec("standby", explains={"engine": ("*late",)}),
    },
}


def found(
    code: str,
    node: int,
    *,
    engine: str = "engine",
    affects: tuple[str, ...] = (),
    suspected: bool = False,
    **evidence: Any,
) -> Finding:
    return Finding(
        engine=engine,
        node_id=f"{engine}/task:{node}",
        code=code,
        title=code,
        sentence=f"sentence {node}",
        severity=5,
        proof=Proof.VERIFIED,
        evidence=evidence,
        affects=affects,
        suspected=suspected,
        since=float(node),
    )


def shown(*findings: Finding) -> list[tuple[str, int, dict[str, int]]]:
    """Return code, number of nodes, and symptoms of each incident."""
    return [(i.code, i.n, {s.code: s.n for s in i.symptoms}) for i in incidents(findings, SPECS)]


def test_findings_with_one_cause_are_one_incident() -> None:
    assert shown(found("dead_owner", 1, worker="a"), found("dead_owner", 2, worker="a")) == [("dead_owner", 2, {})]


def test_findings_with_different_causes_are_apart() -> None:
    one, other = found("dead_owner", 1, worker="a"), found("dead_owner", 2, worker="b")
    assert shown(one, other) == [("dead_owner", 1, {}), ("dead_owner", 1, {})]


def test_errors_are_compared_without_ids_and_numbers() -> None:
    findings = [found("failed", n, error=f"gateway timeout after {n} ms") for n in range(50)]
    assert shown(*findings, found("failed", 60, error="no such card")) == [("failed", 50, {}), ("failed", 1, {})]


def test_a_cause_absorbs_only_matching_symptoms() -> None:
    late = [found("late", 3, worker="a"), found("late", 4, worker="b")]
    assert shown(found("dead_owner", 1, worker="a"), *late) == [("dead_owner", 2, {"late": 1}), ("late", 1, {})]
    unknown = found("dead_owner", 1, worker=None), found("late", 3, worker=None)
    assert shown(*unknown) == [("dead_owner", 1, {}), ("late", 1, {})]


def test_a_cause_absorbs_the_symptoms_of_its_symptoms() -> None:
    chain = found("dead_owner", 1, worker="a"), found("late", 3, worker="a"), found("blocked", 3)
    assert shown(*chain, found("late", 4, worker="b")) == [
        ("dead_owner", 2, {"late": 1, "blocked": 1}),
        ("late", 1, {}),
    ]


def test_the_server_explains_symptoms_of_the_engines_it_affects() -> None:
    lock = found("lock", 0, engine="server", affects=("engine",), pid=1)
    assert shown(lock, found("late", 1), found("late", 2)) == [("lock", 2, {"late": 2})]
    elsewhere = found("lock", 0, engine="server", affects=("other",), pid=1)
    assert sorted(shown(elsewhere, found("late", 1))) == [("late", 1, {}), ("lock", 0, {})]


def test_a_young_cause_does_not_explain_an_old_symptom() -> None:
    """Compare locks of several ages with a wait of an hour."""
    wait, at = found("late", 0), 3600.0

    def codes(age: float | None) -> list[str]:
        since = None if age is None else at - age
        lock = found("lock", 1, engine="server", affects=("engine",), pid=1)
        read = [replace(lock, since=since), wait]
        return sorted(incident.code for incident in incidents(read, SPECS, at=at))

    assert codes(1) == codes(1700) == ["late", "lock"]
    assert codes(1900) == codes(None) == ["lock"]


def test_the_time_is_that_of_the_cause() -> None:
    lock = found("lock", 7, engine="server", affects=("engine",), pid=1)
    (incident,) = incidents([lock, found("late", 1)], SPECS)
    assert (incident.code, incident.since) == ("lock", 7.0)


def test_a_certain_cause_explains_first_and_is_shown_only_with_symptoms() -> None:
    """It is no problem without a late node, but it certainly refuses."""
    out = found("standby", 0, engine="server", affects=("engine",), suspected=True)
    lock = found("lock", 0, engine="server", affects=("engine",), suspected=True, pid=1)
    assert shown(out) == []
    assert shown(lock, found("late", 1), out) == [("standby", 1, {"late": 1})]


def test_a_suspected_cause_is_shown_only_with_symptoms_that_nothing_else_explains() -> None:
    suspect = found("lock", 0, engine="server", affects=("engine",), suspected=True, pid=1)
    assert shown(suspect) == []
    assert shown(suspect, found("late", 1)) == [("late", 1, {})], "not named by its code"
    assert shown(suspect, found("first", 1)) == [("lock", 1, {"first": 1})]
    owner, late = found("dead_owner", 1, worker="a"), found("late", 3, worker="a")
    assert shown(suspect, owner, late) == [("dead_owner", 2, {"late": 1})]


def test_findings_that_explain_each_other_are_shown_once() -> None:
    assert shown(found("first", 1), found("second", 2)) == [("first", 2, {"second": 1})]


def test_nodes_are_counted_once() -> None:
    assert shown(found("dead_owner", 1, worker="a"), found("late", 1, worker="a")) == [("dead_owner", 1, {"late": 1})]


def test_an_action_for_one_node_is_not_suggested_for_several() -> None:
    one, other = (replace(found("flapping", node), action="cancel") for node in (1, 2))
    assert [i.action for i in incidents([one], SPECS)] == ["cancel"]
    assert [i.action for i in incidents([one, other], SPECS)] == [None]


def test_a_partial_number_is_marked() -> None:
    (incident,) = incidents([found("blocked", 1)], SPECS, {("engine", "blocked")})
    assert incident.capped


def test_the_key_is_that_of_the_cause() -> None:
    (one,) = incidents([found("dead_owner", 1, worker="a")], SPECS)
    (same,) = incidents([found("dead_owner", 7, worker="a")], SPECS)
    (other,) = incidents([found("dead_owner", 1, worker="b")], SPECS)
    assert one.key == same.key != other.key


def test_a_symptom_stays_with_the_one_of_its_causes_that_nothing_explains() -> None:
    findings = found("near", 1), found("first", 1), found("first", 2), found("second", 3)
    assert shown(*findings) == [("first", 2, {"second": 1}), ("near", 1, {"first": 1})]


def graded(code: str, nodes: int, *, severity: int = 5, since: float = 1.0) -> list[Finding]:
    return [replace(found(code, n), severity=severity, since=since) for n in range(nodes)]


@pytest.mark.parametrize(
    ("nodes", "capped", "severity"), [(99, False, 5), (100, False, 6), (1_000, False, 8), (99, True, 5), (100, True, 8)]
)
def test_many_nodes_are_graver_than_one(nodes: int, capped: bool, severity: int) -> None:
    (incident,) = incidents(graded("flapping", nodes), SPECS, {("engine", "flapping")} if capped else ())
    assert incident.severity == severity


def test_a_minor_incident_stays_minor() -> None:
    (incident,) = incidents(graded("flapping", 2_000, severity=4), SPECS)
    assert incident.severity == 4


def test_no_number_of_nodes_is_graver_than_the_worst_or_less_grave_than_one() -> None:
    (incident,) = incidents(graded("flapping", 2_000, severity=8), SPECS)
    assert incident.severity == 9


def test_the_order_is_severity_then_news_then_size_then_age() -> None:
    grave = graded("failed", 1, severity=9, since=500.0)
    new = graded("dead_owner", 1, severity=8, since=9_500.0)
    growing = graded("flapping", 2, severity=8, since=300.0)
    large = graded("late", 3, severity=8, since=200.0)
    old = graded("near", 1, severity=8, since=100.0)
    every = incidents([*old, *large, *growing, *new, *grave], SPECS)
    keys = {incident.code: incident.key for incident in every}
    codes = [each.code for each in ordered(every, 10_000.0, {keys["flapping"]})]
    assert codes == ["failed", "flapping", "dead_owner", "late", "near"]
    assert [each.code for each in ordered(every)] == ["failed", "late", "flapping", "near", "dead_owner"]
    assert [each.code for each in every if is_new(each, 10_000.0)] == ["dead_owner"]


def test_a_cause_in_many_schemas_says_of_which_symptoms_more_may_exist() -> None:
    specs = {f"engine@{n}": SPECS["engine"] for n in range(3)}
    every = []
    for label in specs:
        every += [found("dead_owner", 1, engine=label, worker="w"), found("late", 2, engine=label, worker="w")]
        every += [found("blocked", 2, engine=label)]
    (joined,) = by_schemas(incidents(every, specs, {("engine@1", "late")}))
    assert (joined.key.partition("/")[0], joined.n) == ("engine@*", 6)
    assert {each.code: (each.n, each.capped) for each in joined.symptoms} == {"late": (3, True), "blocked": (3, False)}
    (exact,) = by_schemas(incidents(every, specs))
    assert not any(each.capped for each in exact.symptoms)
