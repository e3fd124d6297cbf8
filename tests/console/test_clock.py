"""Refresh clock: polls at the interval if reads are cheap, else less often."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from console.model.refresh_clock import POLLS_AVERAGED, RefreshClock, RefreshClocks
from console.tui.widgets.header import is_late, old, unchanged_for


class Time:
    """Clock that moves only when a test sets it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def poll(clock: RefreshClock, time: Time, cost: float) -> None:
    clock.begin()
    time.now += cost
    clock.end(cost)


def test_the_first_poll_is_due_at_once() -> None:
    assert RefreshClock(2.0, 0.05, Time()).wait() == 0


def test_cheap_polls_keep_the_interval() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    poll(clock, time, 0.01)
    assert clock.pace == 2.0
    assert 1.98 < clock.wait() < 2.0


def test_a_cost_that_remains_makes_polls_as_late_as_it_requires_and_wears_off() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    for _ in range(1 + POLLS_AVERAGED):
        poll(clock, time, 1.0)
    assert round(clock.pace, 6) == 20.0
    poll(clock, time, 0.0)
    assert round(clock.pace, 6) == 17.5, "one cheap poll shortens the pace by its part only"
    for _ in range(POLLS_AVERAGED):
        poll(clock, time, 0.001)
    assert clock.pace == 2.0


def test_a_cost_that_comes_once_makes_polls_a_little_later() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    poll(clock, time, 5.0)
    assert clock.pace == 2.0, "the first poll is not counted"
    poll(clock, time, 1.0)
    assert round(clock.pace, 6) == 2.5


def test_what_a_clock_leaves_of_its_share_is_used_by_those_beside_it() -> None:
    time = Time()
    busy, idle = RefreshClock(2.0, 0.02, time), RefreshClock(2.0, 0.03, time)
    busy.beside, idle.beside = [idle], [busy]
    for _ in range(1 + POLLS_AVERAGED):
        poll(busy, time, 0.2)
        poll(idle, time, 0.02)
    assert round(busy.pace, 6) == 0.2 / (0.02 + 0.03 - 0.02 / 2)
    for _ in range(POLLS_AVERAGED):
        poll(idle, time, 1.0)
    assert (round(busy.pace, 6), round(idle.pace, 6)) == (0.2 / 0.02, round(1.0 / 0.03, 6)), "then each has its own"


def test_a_requested_refresh_does_not_wait() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    for _ in range(5):
        poll(clock, time, 1.0)
    assert clock.wait() > 0
    clock.run_now()
    assert clock.wait() == 0


@given(st.lists(st.floats(0.0, 2.0), min_size=2, max_size=3))
def test_clocks_beside_each_other_cost_no_more_than_their_shares_together(costs: list[float]) -> None:
    time = Time()
    clocks = [RefreshClock(0.5 + n, 0.02, time) for n in range(len(costs))]
    for clock, cost in zip(clocks, costs, strict=True):
        clock.beside = [other for other in clocks if other is not clock]
        for _ in range(1 + POLLS_AVERAGED):
            poll(clock, time, cost)
    shares = [cost / clock.pace for clock, cost in zip(clocks, costs, strict=True)]
    assert sum(shares) <= 0.02 * len(costs) * 1.000001


@given(st.lists(st.floats(0.0001, 5.0), min_size=5, max_size=50))
def test_polls_never_cost_more_than_their_share(costs: list[float]) -> None:
    """Each cost is paid for within the next POLLS_AVERAGED intervals."""
    time = Time()
    clock = RefreshClock(0.5, 0.05, time)
    poll(clock, time, 1.0)
    began = time.now
    for cost in (*costs, *[0.0] * POLLS_AVERAGED):
        time.now += clock.wait()
        poll(clock, time, cost)
    assert sum(costs) <= 0.05 * (time.now - began) * 1.000001


def test_reads_that_are_due_about_the_same_time_are_made_together() -> None:
    time = Time()
    clocks = RefreshClocks(2.0, time)
    clocks.samples.interval = 2.0
    wakes: dict[str, list[float]] = {"screen": [], "findings": [], "samples": []}
    for at, clock in ((0.0, clocks.screen), (0.7, clocks.samples), (1.4, clocks.findings)):
        time.now = 100.0 + at
        poll(clock, time, 0.001)
    while time.now < 160:
        time.now += min(clocks.waits)
        due = clocks.due
        for name, times in wakes.items():
            if getattr(clocks, name) in due:
                times.append(round(time.now - 100, 1))
                poll(getattr(clocks, name), time, 0.001)
    assert {round(b - a, 1) for a, b in pairwise(wakes["samples"])} == {2.0}
    assert {round(b - a, 1) for a, b in pairwise(wakes["findings"])} == {10.0}
    assert len({*wakes["screen"], *wakes["samples"], *wakes["findings"]}) == len(wakes["screen"])


def test_reads_that_are_made_together_do_not_make_each_other_later() -> None:
    time = Time()
    clocks = RefreshClocks(2.0, time)
    clocks.samples.interval = 2.0
    passes = []
    for _ in range(10):
        time.now += min(clocks.waits)
        passes.append(time.now)
        due, at = clocks.due, time.now
        for clock in (clocks.samples, clocks.screen, clocks.findings):
            if clock in due:
                clock.begin(at)
                time.now += 0.3  # as long as a distant server takes
                clock.end(0.001)
    assert [round(b - a, 3) for a, b in pairwise(passes)] == [2.0] * 9


def test_a_read_that_the_load_delays_is_not_made_earlier() -> None:
    time = Time()
    clocks = RefreshClocks(2.0, time)
    for _ in range(1 + POLLS_AVERAGED):
        poll(clocks.findings, time, 0.6)
    assert clocks.findings.pace > 10.0
    poll(clocks.screen, time, 0.001)
    time.now += clocks.findings.wait() - 0.5
    poll(clocks.screen, time, 0.001)
    assert round(clocks.findings.wait(), 1) == 0.5


@example(age=2.0, interval=0.2)
@example(age=12.0, interval=7.0)
@given(age=st.floats(0, 1e5), interval=st.sampled_from([0.2, 2.0, 7.0, 30.0]))
def test_a_header_is_painted_again_as_soon_as_its_age_reads_otherwise(age: float, interval: float) -> None:
    def said(seconds: float) -> tuple[str, bool]:
        late = is_late(seconds, interval)
        return old(seconds, exact=late), late

    same = unchanged_for(age, interval, live=True)
    assert 0 < same <= 5.0
    assert {said(age + same * part) for part in (0.25, 0.5, 0.99)} == {said(age)}
