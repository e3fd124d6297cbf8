"""Refresh clock: polls at the interval if reads are cheap, else less often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.model.refresh_clock import RefreshClock


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


def test_cheap_looks_keep_the_interval() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    poll(clock, time, 0.01)
    assert clock.pace == 2.0
    assert 1.98 < clock.wait() < 2.0


def test_a_dear_poll_makes_the_next_one_late_and_that_wears_off() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    poll(clock, time, 1.0)
    assert round(clock.pace, 6) == 20.0
    poll(clock, time, 0.001)
    assert round(clock.pace, 6) == 10.0
    for _ in range(5):
        poll(clock, time, 0.001)
    assert clock.pace == 2.0


def test_a_requested_refresh_does_not_wait() -> None:
    time = Time()
    clock = RefreshClock(2.0, 0.05, time)
    poll(clock, time, 1.0)
    clock.run_now()
    assert clock.wait() == 0


@given(st.lists(st.floats(0.0001, 5.0), min_size=5, max_size=50))
def test_looks_never_take_more_than_their_share(costs: list[float]) -> None:
    time = Time()
    clock = RefreshClock(0.5, 0.05, time)
    began = time.now
    for cost in costs:
        time.now += clock.wait()
        poll(clock, time, cost)
    time.now += clock.wait()
    assert sum(costs) <= 0.05 * (time.now - began) * 1.000001
