"""Refresh clock: polls at the interval if reads are cheap, else less often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.model.refresh_clock import POLLS, RefreshClock


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
    for _ in range(1 + POLLS):
        poll(clock, time, 1.0)
    assert round(clock.pace, 6) == 20.0
    poll(clock, time, 0.0)
    assert round(clock.pace, 6) == 17.5, "one cheap poll shortens the pace by its part only"
    for _ in range(POLLS):
        poll(clock, time, 0.001)
    assert clock.pace == 2.0


def test_a_cost_that_comes_once_makes_polls_a_little_later() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    poll(clock, time, 5.0)
    assert clock.pace == 2.0, "the first poll is not counted"
    poll(clock, time, 1.0)
    assert round(clock.pace, 6) == 2.5


def test_a_requested_refresh_does_not_wait() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    for _ in range(5):
        poll(clock, time, 1.0)
    assert clock.wait() > 0
    clock.run_now()
    assert clock.wait() == 0


@given(st.lists(st.floats(0.0001, 5.0), min_size=5, max_size=50))
def test_polls_never_cost_more_than_their_share(costs: list[float]) -> None:
    """Each cost is paid for within the next POLLS intervals."""
    time = Time()
    clock = RefreshClock(0.5, 0.05, time)
    poll(clock, time, 1.0)
    began = time.now
    for cost in (*costs, *[0.0] * POLLS):
        time.now += clock.wait()
        poll(clock, time, cost)
    assert sum(costs) <= 0.05 * (time.now - began) * 1.000001
