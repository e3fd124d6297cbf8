"""Work per minute, from samples of counters."""

from __future__ import annotations

from console.model.flow import Flow, Rates, Sample, unfinished
from console.text import formatting
from queries.records.node import Count, Phase, Precision


def measured(*samples: tuple[float, int, int, int | None], deletes: bool = False) -> Rates | None:
    flow = Flow()
    for at, inserted, deleted, open_ in samples:
        flow.add("e", Sample(at=at, inserted=inserted, deleted=deleted, unfinished=open_))
    return flow.rates("e", deletes)


def test_finished_work_is_new_work_minus_the_growth_of_unfinished_work() -> None:
    assert measured((0, 100, 0, 10), (30, 112, 0, 16)) == Rates(inflow=24, outflow=12)


def test_deleted_rows_are_finished_work_where_the_engine_deletes_them() -> None:
    assert measured((0, 100, 50, None), (60, 103, 59, None), deletes=True) == Rates(inflow=3, outflow=9)


def test_without_exact_counts_finished_work_is_not_recorded() -> None:
    assert measured((0, 100, 0, 10), (60, 112, 0, None)) == Rates(inflow=12)


def test_nothing_is_known_before_the_second_sample_or_about_another_engine() -> None:
    assert measured((0, 100, 0, 10)) is None
    assert measured((0, 100, 0, 10), (1, 100, 0, 10)) is None, "too close to each other"
    assert Flow().rates("e", False) is None
    assert measured((0, 100, 0, 10), (60, 112, 0, 10)) is not None


def test_only_the_last_minute_counts() -> None:
    samples = [(at, 100 + (1000 if at >= 20 else 0), 0, 0) for at in range(0, 101, 10)]
    assert measured(*samples) == Rates(inflow=0, outflow=0)


def test_a_reset_of_the_counters_begins_again() -> None:
    assert measured((0, 100, 0, 0), (60, 5, 0, 0)) is None
    assert measured((0, 100, 0, 0), (60, 5, 0, 0), (120, 6, 0, 0)) == Rates(inflow=1, outflow=1)


def test_counters_that_are_no_longer_recorded_begin_again() -> None:
    flow = Flow()
    flow.add("e", Sample(at=0, inserted=1, deleted=0, unfinished=0))
    flow.add("e", None)
    flow.add("e", Sample(at=60, inserted=9, deleted=0, unfinished=0))
    assert flow.rates("e", False) is None


def test_unfinished_work_is_counted_only_if_every_count_is_exact() -> None:
    exact = [Count(phase=phase, n=2, precision=Precision.EXACT) for phase in (Phase.READY, Phase.BLOCKED, Phase.DONE)]
    assert unfinished(exact) == 4
    assert unfinished([*exact, Count(phase=Phase.DONE, n=None, precision=Precision.UNKNOWN)]) == 4
    assert unfinished([*exact, Count(phase=Phase.HELD, n=9, precision=Precision.CAPPED)]) is None
    assert unfinished(()) is None


def test_a_rate_is_estimated_or_not_recorded() -> None:
    assert [formatting.rate(n) for n in (0, 0.2, 11.6, 25_000, None)] == ["≈0", "<1", "≈12", "≈25k", "?"]
