"""Findings from repeated samples of the same nodes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from queries.contract.spec import FindingSpec
from queries.read.samples import SAMPLES_MISSED, FindingSamples
from queries.records.action import Proof

SETTINGS = {"polls": 3, "silence": 10.0}


def samples(kind_field: str = "", **columns: object) -> FindingSamples:
    return FindingSamples(
        FindingSpec(code="c", title="t", severity=1, sentence="s", proof=Proof.ASSUMED, sample="x", **columns),  # type: ignore[arg-type]
        kind_field,
    )


def shown(samples: FindingSamples, settings: dict[str, object] | None = None) -> list[str]:
    return [node for node, _ in samples.shown(settings or SETTINGS)]


def spinning(kind_field: str = "") -> FindingSamples:
    return samples(kind_field, constant=("state",), changes=("revision",), least={"changes": "polls"})


def test_many_changes_while_the_other_fields_stay_the_same() -> None:
    spins = spinning()
    for look in range(4):
        assert shown(spins) == []
        spins.add(look, [("a", {"state": "x", "revision": look}), ("b", {"state": look, "revision": look})])
    assert shown(spins) == ["a"]
    (node,) = [node for _, node in spins.shown(SETTINGS)]
    assert (node.since, node.until, node.changes) == (0, 3, 3)
    assert node.evidence["timeline"] == "00:00:01Z 00:00:02Z 00:00:03Z"
    spins.add(4, [("a", {"state": "x", "revision": 4})])
    ((_, node),) = spins.shown(SETTINGS)
    assert (node.changes, node.evidence["timeline"]) == (4, "… 00:00:02Z 00:00:03Z 00:00:04Z")


def test_looks_without_a_change_count_for_nothing() -> None:
    spins = spinning()
    for look in range(50):
        spins.add(look, [("a", {"state": "x", "revision": look // 20})])
    assert shown(spins) == []


def test_a_node_that_goes_away_is_forgotten() -> None:
    spins = spinning()
    for look in range(6):
        spins.add(look, [("a", {"state": "x", "revision": look})] if look not in (3, 4) else [])
    assert shown(spins) == []


def test_one_sample_that_lacks_a_node_forgets_nothing() -> None:
    spins = spinning()
    for look in range(45):
        spins.add(look, [("a", {"state": "x", "revision": look})] if look != 40 else [])
        assert shown(spins) == ["a"] * (look >= 3), look
    assert [node.changes for _, node in spins.shown(SETTINGS)] == [43]


def test_a_node_that_every_other_sample_lacks_is_seen() -> None:
    spins = spinning()
    for look in range(9):
        spins.add(look, [("a", {"state": "x", "revision": look})] if look % 2 == 0 else [])
    assert shown(spins) == ["a"]


def test_so_long_the_same() -> None:
    stalled = samples(constant=("newest",), least={"seconds": "silence"})
    for at, newest, found in ((0, 1, []), (9.9, 1, []), (10, 1, ["r"]), (11, 2, []), (20, 2, []), (21, 2, ["r"])):
        stalled.add(at, [("r", {"newest": newest})])
        assert shown(stalled) == found, at


def test_one_sample_shows_nothing_at_any_threshold() -> None:
    stalled = samples(constant=("newest",), least={"seconds": "silence"})
    stalled.add(5, [("r", {"newest": None})])
    assert shown(stalled, {"silence": 0}) == []


def test_thresholds_by_kind() -> None:
    spins = spinning("queue")
    for look in range(3):
        kinds = ("Touchy", "Usual", "polls")
        spins.add(look, [(q, {"queue": q, "kind": "Other", "state": 0, "revision": look}) for q in kinds])
    assert shown(spins, {**SETTINGS, "Touchy": {"polls": 2}}) == ["Touchy"]
    assert shown(spins, {**SETTINGS, "polls": 2, "Usual": {"polls": 9}}) == ["Touchy", "polls"]
    assert shown(spins, {**SETTINGS, "Touchy": {"silence": 2}}) == []
    assert shown(spins, {**SETTINGS, "Other": {"polls": 2}}) == []


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(0, 2), st.integers(0, 2))), max_size=12))
def test_it_is_what_counting_backwards_gives(looks: list[dict[str, tuple[int, int]]]) -> None:
    spins = spinning()
    for at, look in enumerate(looks):
        spins.add(at, [(node, {"state": state, "revision": revision}) for node, (state, revision) in look.items()])
    expected = set()
    for node in "abc":
        run: list[tuple[int, int]] = []
        missed = 0
        for look in reversed(looks):
            missed = 0 if node in look else missed + 1
            if missed > SAMPLES_MISSED or (node in look and run and look[node][0] != run[0][0]):
                break
            run += [look[node]] if node in look else []
        if sum(a != b for (_, a), (_, b) in pairwise(run)) >= 3:
            expected.add(node)
    assert set(shown(spins)) == expected
