"""Timer: passes at the interval if reads are cheap, else less often."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from console.model.timer import EVERYTHING, MAX_LOAD_SHARE, PASSES_AVERAGED, PASSES_PER_FINDINGS, THE_LIST, Timer
from console.tui.widgets.header import is_late, old, unchanged_for

COSTS = st.floats(0.0001, 5.0)


class Time:
    """Clock that moves only when a test sets it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def run(timer: Timer, time: Time, cost: float, findings: float = 0.0) -> bool:
    """Wait for a pass, and run it. Return True if findings joined it."""
    time.now += timer.wait()
    joined = timer.findings_due
    timer.begin(findings=joined)
    time.now += cost
    timer.end(cost)
    if joined:
        time.now += findings
        timer.end_findings(findings)
    return joined


def begun(interval: float = 2.0, cost: float = 0.01, findings: float = 0.0, passes: int = 0) -> tuple[Timer, Time]:
    """Return a timer after that many passes, and its clock."""
    timer = Timer(interval, time := Time())
    assert timer.wait() == 0, "the first pass is due at once"
    for _ in range(passes):
        run(timer, time, cost, findings)
    return timer, time


def test_cheap_passes_keep_the_interval_and_findings_join_every_fifth() -> None:
    timer, time = begun()
    joined, begins = [], []
    for _ in range(11):
        joined.append(run(timer, time, 0.01, 0.3))
        begins.append(time.now)
    assert [number for number, each in enumerate(joined) if each] == [0, 5, 10]
    assert {round(b - a) for a, b in pairwise(begins)} == {2}, "what a pass takes does not make the next one later"


def test_a_cost_that_remains_makes_passes_as_late_as_it_requires_and_wears_off() -> None:
    timer, time = begun(cost=1.0, passes=1 + PASSES_AVERAGED)
    assert round(timer.pace, 6) == 20.0
    run(timer, time, 0.0)
    assert round(timer.pace, 6) == 17.5, "one cheap pass shortens the pace by its part only"
    for _ in range(PASSES_AVERAGED):
        run(timer, time, 0.001)
    assert timer.pace == 2.0


def test_a_cost_that_comes_once_makes_passes_a_little_later() -> None:
    timer, time = begun(cost=5.0, findings=5.0, passes=1)
    assert timer.pace == 2.0, "the first one is not counted"
    run(timer, time, 1.0)
    assert round(timer.pace, 6) == 2.5


def test_expensive_findings_join_less_often_and_the_list_keeps_its_interval() -> None:
    timer, time = begun(cost=0.02, findings=4.0, passes=PASSES_PER_FINDINGS)
    joined = [run(timer, time, 0.02, 4.0) for _ in range(200)]
    assert joined.count(True) == 200 // 49, "4 s, at half of the load limit"
    assert timer.pace == 2.0


def test_findings_may_use_a_third_of_the_load_limit_beside_an_expensive_list() -> None:
    timer, time = begun(cost=0.3, findings=6.0, passes=PASSES_PER_FINDINGS)
    joined = [run(timer, time, 0.3, 6.0) for _ in range(200)]
    assert joined.count(True) == 200 // 41
    assert round(timer.pace) == 9


def test_a_key_brings_the_next_pass_but_no_findings_forward() -> None:
    timer, time = begun(passes=1)
    for _ in range(2 * PASSES_PER_FINDINGS):
        assert timer.wait() > 0
        timer.asked = THE_LIST
        assert timer.wait() == 0
        assert not run(timer, time, 0.0)
    timer.asked = EVERYTHING
    assert run(timer, time, 0.0)


@given(costs=st.lists(COSTS, min_size=5, max_size=50), findings=COSTS)
def test_passes_never_cost_more_than_their_share(costs: list[float], findings: float) -> None:
    """Each cost is paid for within the next PASSES_AVERAGED reads of its kind."""
    timer, time = begun(0.5, 1.0, findings, passes=1)
    while not run(timer, time, 0.0, findings):
        pass
    began, paid = time.now, 0.0
    for cost in costs:
        paid += cost + findings * run(timer, time, cost, findings)
    for _ in range(PASSES_AVERAGED):
        run(timer, time, 0.0)
    while not run(timer, time, 0.0):
        pass
    assert paid <= MAX_LOAD_SHARE * (time.now - began) * 1.000001


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
