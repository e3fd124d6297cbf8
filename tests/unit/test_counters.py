"""Work per minute and its arrivals, from counters of the server."""

from __future__ import annotations

from console.text import formatting
from queries.read.counters import Arrivals, CounterHistory, Counters, Rates, RowCounters, unfinished
from queries.records.node import Count, Phase, Precision


def history(*reads: tuple[float, int, int, int | None], reset: str | None = None) -> CounterHistory:
    """Return a history of times, inserted and deleted rows, and unfinished nodes."""
    counters = CounterHistory()
    for at, inserted, deleted, open_ in reads:
        add(counters, at, RowCounters(inserted=inserted, deleted=deleted, unfinished=open_), reset)
    return counters


def add(counters: CounterHistory, at: float, rows: RowCounters | None, reset: str | None = None) -> None:
    """Add counters of the engine e, or of none."""
    of_table = {"e": rows} if rows else {}
    counters.add(
        at,
        Counters(deadlocks=0, commits=0, rollbacks=0, consoles=1, reset=reset, labels=("e",), rows=of_table),
    )


def measured(*reads: tuple[float, int, int, int | None], deletes: bool = False) -> Rates | None:
    """Return the rates of an engine."""
    return history(*reads).rates("e", deletes)


def test_finished_work_is_new_work_minus_the_growth_of_unfinished_work() -> None:
    assert measured((0, 100, 0, 10), (30, 112, 0, 16)) == Rates(inflow=24, outflow=12, minutes=0.5)


def test_deleted_rows_are_finished_work_where_the_engine_deletes_them() -> None:
    assert measured((0, 100, 50, None), (60, 103, 59, None), deletes=True) == Rates(inflow=3, outflow=9, minutes=1)


def test_without_exact_counts_finished_work_is_not_recorded() -> None:
    assert measured((0, 100, 0, 10), (60, 112, 0, None)) == Rates(inflow=12, outflow=None, minutes=1)


def test_nothing_is_known_before_the_second_read_or_about_another_engine() -> None:
    assert measured((0, 100, 0, 10)) is None
    assert measured((0, 100, 0, 10), (1, 100, 0, 10)) is None, "too close to each other"
    assert CounterHistory().rates("e", False) is None
    assert history((0, 100, 0, 10), (60, 112, 0, 10)).rates("e", None) is None, "work is not counted"
    assert measured((0, 100, 0, 10), (60, 112, 0, 10)) is not None


def test_only_the_last_minute_counts() -> None:
    reads = [(at, 100 + (1000 if at >= 20 else 0), 0, 0) for at in range(0, 101, 10)]
    assert measured(*reads) == Rates(inflow=0, outflow=0, minutes=1)


def test_a_reset_of_the_counters_begins_again() -> None:
    assert measured((0, 100, 0, 0), (30, 5, 0, 0)) is None, "of the table alone"
    assert measured((0, 100, 0, 0), (60, 5, 0, 0), (120, 6, 0, 0)) == Rates(inflow=1, outflow=1, minutes=1)
    counters = history((0, 100, 0, 0), (10, 110, 0, 0))
    add(counters, 20, RowCounters(inserted=120, deleted=0), reset="now")
    assert (len(counters.read), counters.arrivals) == (1, {})


def test_counters_that_are_no_longer_recorded_begin_again() -> None:
    counters = history((0, 1, 0, 0), (20, 5, 0, 0))
    add(counters, 40, None)
    add(counters, 60, RowCounters(inserted=9, deleted=0))
    assert counters.rates("e", False) is None
    assert counters.arrivals == {}


def test_arrivals_are_the_reads_after_which_more_rows_were_counted() -> None:
    counters = history((0, 7, 0, 0), (5, 7, 0, 0), (10, 8, 0, 0), (20, 9, 0, 0), (50, 30, 0, 0), (900, 30, 25, 0))
    assert counters.arrivals == {"e": Arrivals(first=10, last=50, longest=30, n=3)}
    counters = history((0, 7, 0, 0), (30, 17, 0, 0), (60, 17, 0, 0), (120, 47, 0, 0), (240, 47, 0, 0))
    assert [r and r.inflow for ago in (180, 120, 60, 0) if (r := counters.rates("e", False, ago)) or True] == [
        10,
        30,
        None,
        None,
    ]


def test_unfinished_work_is_counted_only_if_every_count_is_exact() -> None:
    exact = [Count(phase=phase, n=2, precision=Precision.EXACT) for phase in (Phase.READY, Phase.BLOCKED, Phase.DONE)]
    assert unfinished(exact) == 4
    assert unfinished([*exact, Count(phase=Phase.DONE, n=None, precision=Precision.UNKNOWN)]) == 4
    assert unfinished([*exact, Count(phase=Phase.HELD, n=9, precision=Precision.CAPPED)]) is None
    assert unfinished(()) is None
    counters = history((0, 100, 0, None), (30, 112, 0, None))
    counters.note("e", exact)
    assert counters.read[-1][1].rows["e"].unfinished == 4
    counters.note("other", exact)


def test_a_rate_is_estimated_or_not_recorded() -> None:
    assert [formatting.rate(n) for n in (0, 0.2, 11.6, 25_000, None)] == ["≈0", "<1", "≈12", "≈25k", "?"]
